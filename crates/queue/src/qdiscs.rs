//! The queue disciplines and impairments by tc name. It stands above both, and is handed down to
//! the few that build others by name ([`Env::registry`]).

use crate::aqm::legacy::Legacy;
use crate::aqm::{self, Entry, Env, Htb, Log, OldEntry, Qdisc, Registry, Spec, Stab, Tbf};
use crate::impair::{self, Grant, Mahimahi, Netem, Police, RateTrace, Wifi};
use crate::legacy;
use sojourn_core::Rng;
use sojourn_core::grammar::{Given, GrammarError, split_name};
use sojourn_core::registry::Lines;
use sojourn_core::units::{Rate, Time};

/// The queue disciplines of this crate, sorted by name.
pub const REGISTRY: &[Entry] = &[
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
    legacy!(impair::grant::ENTRY),
    legacy!(aqm::htb::ENTRY),
    aqm::lfq_cobalt::ENTRY,
    legacy!(impair::mahimahi::ENTRY),
    impair::mangle::ENTRY,
    legacy!(impair::netem::ENTRY),
    aqm::fifo::PFIFO,
    aqm::pfifo_fast::ENTRY,
    aqm::fifo::PFIFO_HEAD_DROP,
    aqm::pi2::ENTRY,
    aqm::pie::ENTRY,
    legacy!(impair::police::ENTRY),
    aqm::quartz::ENTRY,
    aqm::ramp::ENTRY,
    legacy!(impair::rate_trace::ENTRY),
    aqm::red::ENTRY,
    aqm::red_classic::ENTRY,
    aqm::sfb::ENTRY,
    aqm::sfq::ENTRY,
    legacy!(aqm::stab::ENTRY),
    legacy!(aqm::tbf::ENTRY),
    aqm::twin_codel_af::ENTRY,
    legacy!(impair::wifi::ENTRY),
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
    let mut spec: Spec = text.parse()?;
    spec.check(env).map_err(GrammarError)?;
    Ok(spec)
}

/// Builds the discipline that `text` describes.
pub fn build(text: &str, env: Env) -> Result<Box<dyn Qdisc>, GrammarError> {
    Ok(read(text, &env)?.build(env))
}

/// Reads the shaper that `text` describes (`htb rate 50Mbit`), as [`read`].
pub fn read_shaper(text: &str, env: &Env) -> Result<Spec, GrammarError> {
    let mut spec: Spec = text.parse()?;
    if !spec.is_shaper() {
        return Err(GrammarError(format!(
            "`{}` shapes nothing; valid shapers: ackthin, grant, htb, mahimahi, netem, police, \
             rate_trace, tbf, wifi",
            spec.name()
        )));
    }
    if spec.held::<Legacy>().is_some() {
        old_shaped(text, Box::new(crate::aqm::Fifo::pfifo(1)), env)?;
        return Ok(spec);
    }
    spec.check(env).map_err(GrammarError)?;
    Ok(spec)
}

/// Reads a size table, such as `overhead 38 mpu 84`.
pub fn read_size_table(parameters: &str, env: &Env) -> Result<Spec, GrammarError> {
    let mut spec: Spec = format!("stab {parameters}").parse()?;
    if spec.held::<Legacy>().is_some() {
        build_sized(parameters, Box::new(crate::aqm::Fifo::pfifo(1)))?;
        return Ok(spec);
    }
    spec.check(env).map_err(GrammarError)?;
    Ok(spec)
}

/// Builds the shaper that `shaper` describes around an existing `leaf`.
pub fn build_shaped(
    shaper: &str,
    leaf: Box<dyn Qdisc>,
    env: &Env,
) -> Result<Box<dyn Qdisc>, GrammarError> {
    Ok(read_shaper(shaper, env)?.around(env.clone(), leaf))
}

/// [`entry`] of old ones, for whoever takes a registry.
pub const BY_NAME: Registry = Registry { entry, build, change };

pub(crate) const OLD_SHAPERS: [&str; 8] =
    ["grant", "htb", "mahimahi", "netem", "police", "rate_trace", "tbf", "wifi"];

pub(crate) fn old_shaped(
    shaper: &str,
    leaf: Box<dyn Qdisc>,
    env: &Env,
) -> Result<Box<dyn Qdisc>, GrammarError> {
    let (name, rest) = split_name(shaper);
    let spec: Spec = shaper.parse()?;
    let entry: &OldEntry = spec.held::<Legacy>().expect("old").entry;
    let mut args = entry.args(rest);
    match name {
        "grant" => Ok(Box::new(Grant::around(&mut args, env, leaf)?)),
        "htb" => Ok(Box::new(Htb::around(&mut args, env, leaf)?)),
        "mahimahi" => Ok(Box::new(Mahimahi::around(&mut args, env, leaf)?)),
        "police" => Ok(Box::new(Police::around(&mut args, env, leaf)?)),
        "rate_trace" => Ok(Box::new(RateTrace::around(&mut args, env, leaf)?)),
        "tbf" => Ok(Box::new(Tbf::around(&mut args, env, leaf)?)),
        "netem" => Ok(Box::new(Netem::parse(&mut args, env.clone(), Some(leaf))?)),
        "wifi" => Ok(Box::new(Wifi::around(&mut args, env, leaf)?)),
        "stab" => build_sized(rest, leaf),
        _ => Err(GrammarError(format!(
            "`{name}` shapes nothing; valid shapers: ackthin, grant, htb, mahimahi, netem, police, \
             rate_trace, tbf, wifi"
        ))),
    }
}

/// Puts the size table that `words` describe (`overhead 38 mpu 84`) around `inner`.
pub fn build_sized(words: &str, inner: Box<dyn Qdisc>) -> Result<Box<dyn Qdisc>, GrammarError> {
    let entry = aqm::stab::ENTRY;
    Ok(Box::new(Stab::around(&mut entry.args(words), BY_NAME, inner)?))
}

/// What `spec` becomes by `tc qdisc change` with `text`, which names the same discipline, and which
/// parameters that states.
pub fn changed(spec: &Spec, text: &str, env: &Env) -> Result<(Spec, Given), GrammarError> {
    let (name, rest) = split_name(text);
    entry(name)?;
    if spec.name() != name {
        let of = spec.name();
        return Err(GrammarError(format!("cannot change `{of}` into `{name}`; use replace")));
    }
    if spec.held::<Legacy>().is_some() {
        let mut built = spec.build(env.clone());
        let entry = spec.held::<Legacy>().expect("old").entry;
        built.old_change(env.now, &mut entry.args(rest), &mut Log::default())?;
        return spec.changed(rest);
    }
    let (mut to, given) = spec.changed(rest)?;
    to.check(env).map_err(|why| GrammarError(format!("{name}: {why}")))?;
    spec.accepts(&to).map_err(|why| GrammarError(format!("{name}: {why}")))?;
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
    if let Some(old) = spec.held::<Legacy>().filter(|_| split_name(text).0 == spec.name()) {
        return qdisc.old_change(now, &mut old.entry.args(split_name(text).1), log);
    }
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

/// Gives a live shaper another rate (and ceiling), and keeps its other words. Packets that it
/// discards are in `log`. A tree of classes has no single rate: that is an error.
pub fn change_rate(
    qdisc: &mut dyn Qdisc,
    now: Time,
    rate: Rate,
    log: &mut Log,
) -> Result<(), GrammarError> {
    let described = qdisc.describe();
    if described.split_whitespace().any(|word| word == "class") {
        let name = split_name(&described).0;
        let hint = format!("`{name} class 1:1 rate {rate}`");
        return Err(GrammarError(format!(
            "{name}: a tree has no single rate; change the queue's classes, such as {hint}"
        )));
    }
    let mut text = String::new();
    let mut is_rate = false;
    for word in described.split_whitespace() {
        text += &if is_rate { rate.to_string() } else { word.to_string() };
        text.push(' ');
        is_rate = matches!(word, "rate" | "ceil");
    }
    change(qdisc, now, &text, log)
}
