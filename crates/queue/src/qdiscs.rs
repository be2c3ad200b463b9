//! The queue disciplines and impairments by tc name. It is above both; those that name others in their
//! own parameters find them as every `Spec` does.

use crate::aqm::{self, Entry, Env, Log, Qdisc, Spec};
use crate::impair;
use sojourn_core::Rng;
use sojourn_core::grammar::{Given, GrammarError, split_name};
use sojourn_core::registry::Lines;
use sojourn_core::units::{Rate, Time};

/// The queue disciplines of this crate, sorted by name.
pub static REGISTRY: &[Entry] = &[
    impair::ackthin::ENTRY,
    aqm::fifo::BFIFO,
    aqm::blue::ENTRY,
    aqm::brickwall::ENTRY,
    aqm::cake::ENTRY,
    aqm::cnq_cobalt::ENTRY,
    aqm::cnq_codel_af::ENTRY,
    aqm::sch_cobalt::ENTRY,
    aqm::codel::ENTRY,
    aqm::curvy_red::ENTRY,
    aqm::deltic::ENTRY,
    aqm::deltic_boroshne::ENTRY,
    aqm::deltic_polya::ENTRY,
    aqm::deltim::ENTRY,
    aqm::docsis_ll::ENTRY,
    aqm::docsis_pie::ENTRY,
    impair::drop::ENTRY,
    aqm::dualpi2::ENTRY,
    aqm::dualq::ENTRY,
    aqm::fq::ENTRY,
    aqm::fq_codel::ENTRY,
    aqm::fq_pie::ENTRY,
    impair::grant::ENTRY,
    aqm::htb::ENTRY,
    aqm::lfq_cobalt::ENTRY,
    impair::mahimahi::ENTRY,
    impair::mangle::ENTRY,
    impair::netem::ENTRY,
    aqm::fifo::PFIFO,
    aqm::pfifo_fast::ENTRY,
    aqm::fifo::PFIFO_HEAD_DROP,
    aqm::pi2::ENTRY,
    aqm::pie::ENTRY,
    impair::police::ENTRY,
    aqm::quartz::ENTRY,
    aqm::ramp::ENTRY,
    impair::rate_trace::ENTRY,
    aqm::red::ENTRY,
    aqm::red_classic::ENTRY,
    aqm::sfb::ENTRY,
    aqm::sfq::ENTRY,
    aqm::stab::ENTRY,
    aqm::tbf::ENTRY,
    aqm::twin_codel_af::ENTRY,
    impair::wifi::ENTRY,
];

pub(crate) static LINES: Lines<Entry> = Lines::new("qdisc", REGISTRY);

/// Adds a discipline to those of the registry, for every scenario that is read from now on. Refuses
/// a name that is taken.
pub fn register(entry: Entry) -> Result<(), GrammarError> {
    LINES.register(entry)
}

/// As [`register`], but replaces an earlier definition from outside.
pub fn redefine(entry: Entry) -> Result<(), GrammarError> {
    LINES.redefine(entry)
}

/// The disciplines of the registry and the added ones, sorted by name.
pub fn entries() -> Vec<&'static Entry> {
    LINES.all()
}

/// The line for `name`; the error lists the names and the nearest.
pub fn entry(name: &str) -> Result<&'static Entry, GrammarError> {
    LINES.entry(name)
}

/// Reads the discipline that `text` describes, such as `fq_codel flows 1 target 1ms ecn`, and checks it
/// against its surroundings.
pub fn read(text: &str, env: &Env) -> Result<Spec, GrammarError> {
    checked(text.parse()?, env, false)
}

/// Reads the shaper that `text` describes (`htb rate 50Mbit`), as [`read`].
pub fn read_shaper(text: &str, env: &Env) -> Result<Spec, GrammarError> {
    let name = split_name(text).0;
    if !entry(name)?.default().get().is_shaper() {
        let shapers = entries().into_iter().filter(|entry| entry.default().get().is_shaper());
        let valid = shapers.map(|entry| entry.name).collect::<Vec<_>>().join(", ");
        return Err(GrammarError(format!("`{name}` shapes nothing; valid shapers: {valid}")));
    }
    checked(text.parse()?, env, true)
}

/// Reads a size table, such as `overhead 38 mpu 84`.
pub fn read_size_table(parameters: &str, env: &Env) -> Result<Spec, GrammarError> {
    checked(format!("stab {parameters}").parse()?, env, true)
}

fn checked(mut spec: Spec, env: &Env, around: bool) -> Result<Spec, GrammarError> {
    let checked = spec.suits(around).and_then(|()| spec.check(env));
    checked.map_err(|why| GrammarError(format!("{}: {why}", spec.name())))?;
    Ok(spec)
}

/// Builds the discipline that `text` describes.
pub fn build(text: &str, env: Env) -> Result<Box<dyn Qdisc>, GrammarError> {
    Ok(read(text, &env)?.build(env))
}

/// Builds the shaper that `shaper` describes around an existing `leaf`.
pub fn build_shaped(
    shaper: &str,
    leaf: Box<dyn Qdisc>,
    env: &Env,
) -> Result<Box<dyn Qdisc>, GrammarError> {
    Ok(read_shaper(shaper, env)?.around(env.clone(), leaf))
}

/// What `spec` becomes by `tc qdisc change` with `text`, which names the same discipline, and which
/// parameters that states.
pub fn changed(spec: &Spec, text: &str, env: &Env) -> Result<(Spec, Given), GrammarError> {
    let (mut to, given) = aqm::changed(spec, text)?;
    to.check(env).map_err(|why| GrammarError(format!("{}: {why}", to.name())))?;
    Ok((to, given))
}

/// Applies `text` to a live discipline of the same name. Packets that it discards are in `log`.
pub fn change(
    qdisc: &mut dyn Qdisc,
    now: Time,
    text: &str,
    log: &mut Log,
) -> Result<(), GrammarError> {
    let spec = qdisc.spec();
    // As Linux's `qdisc_change`, which does nothing without options.
    if split_name(text) == (spec.name(), "") {
        return Ok(());
    }
    let env = Env { now, ..Env::ethernet(Rng::named(0, "change")) };
    let (to, given) = changed(&spec, text, &env)?;
    qdisc.change(now, &to, &given, log);
    Ok(())
}

/// [`Qdisc::change`] of the discipline that is `depth` wrappers below `qdisc` (1 is its leaf).
pub fn change_at(
    qdisc: &mut Box<dyn Qdisc>,
    depth: usize,
    now: Time,
    to: &Spec,
    given: &Given,
    log: &mut Log,
) {
    reach(qdisc, depth, log, &mut |it, log| it.change(now, to, given, log));
}

/// Puts `fresh` in the place of the discipline that is `depth` wrappers below `qdisc` (1 is its
/// leaf), and purges the old one.
pub fn replace_at(qdisc: &mut Box<dyn Qdisc>, depth: usize, fresh: Box<dyn Qdisc>, log: &mut Log) {
    let mut fresh = Some(fresh);
    reach(qdisc, depth, log, &mut |it, log| {
        if let Some(fresh) = fresh.take() {
            std::mem::replace(it, fresh).purge(log);
        }
    });
}

fn reach(
    qdisc: &mut Box<dyn Qdisc>,
    depth: usize,
    log: &mut Log,
    act: &mut dyn FnMut(&mut Box<dyn Qdisc>, &mut Log),
) {
    match depth {
        0 => act(qdisc, log),
        _ => qdisc.reach_in(log, &mut |leaf, log| reach(leaf, depth - 1, log, act)),
    }
}

/// Gives a live shaper another rate (and ceiling), and keeps its other parameters. Packets that it
/// discards are in `log`. The error says why there is no single rate to change.
pub fn change_rate(
    qdisc: &mut dyn Qdisc,
    now: Time,
    rate: Rate,
    log: &mut Log,
) -> Result<(), GrammarError> {
    let mut to = qdisc.spec();
    to.set_rate(rate).map_err(|why| GrammarError(format!("{}: {why}", to.name())))?;
    let mut given = Given::default();
    given.add("rate");
    qdisc.change(now, &to, &given, log);
    Ok(())
}
