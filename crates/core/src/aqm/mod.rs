//! Queue disciplines: the interface, the log of what they do to packets, and the registry by tc
//! name. One discipline, one file.

mod blue;
mod brickwall;
mod cake;
mod cnq;
mod cnq_cobalt;
mod cnq_codel_af;
mod cobalt;
mod cobalt2;
mod codel;
mod curvy_red;
mod deltic;
mod deltic_boroshne;
mod deltic_polya;
mod deltim;
mod docsis_ll;
mod docsis_pie;
mod drr;
mod dual_queue;
mod dualpi2;
mod dualq;
mod fifo;
mod fq;
mod fq_codel;
mod fq_pie;
mod htb;
mod jiffies;
mod lfq_cobalt;
mod pfifo_fast;
mod pi2;
mod pie;
mod plain_queue;
pub mod psched;
mod quartz;
mod queue_protection;
mod ramp;
mod recur;
mod red;
mod red_classic;
mod sce_shell;
mod sch_cobalt;
mod sfb;
pub mod stab;
mod tally;
mod tbf;
mod twin_codel_af;
mod update_timer;
mod virtual_clock;

use std::borrow::Cow;
use std::fmt;

pub use blue::Blue;
pub use brickwall::Brickwall;
pub use cake::Cake;
pub use cnq_cobalt::CnqCobalt;
pub use cnq_codel_af::CnqCodelAf;
pub use codel::Codel;
pub use curvy_red::CurvyRed;
pub use deltic::Deltic;
pub use deltic_boroshne::DelticBoroshne;
pub use deltic_polya::DelticPolya;
pub use deltim::Deltim;
pub use docsis_ll::DocsisLl;
pub use docsis_pie::DocsisPie;
pub use dualpi2::DualPi2;
pub use dualq::DualQ;
pub use fifo::Fifo;
pub use fq::Fq;
pub use fq_codel::FqCodel;
pub use fq_pie::FqPie;
pub use htb::Htb;
pub use lfq_cobalt::LfqCobalt;
pub use pfifo_fast::PfifoFast;
pub use pi2::Pi2;
pub use pie::Pie;
pub use quartz::Quartz;
pub use ramp::Ramp;
pub use red::Red;
pub use red_classic::RedClassic;
pub use sch_cobalt::SchCobalt;
pub use sfb::Sfb;
pub use stab::Stab;
pub use tbf::Tbf;
pub use twin_codel_af::TwinCodelAf;

use crate::ecn::Ecn;
use crate::grammar::{Args, GrammarError, Param, nearest, split_name};
use crate::impair::trace::Traces;
use crate::impair::{
    AckThin, Grant, Mahimahi, Medium, Netem, Police, RateTrace, Wifi, ackthin, drop, grant,
    mahimahi, mangle, netem, police, rate_trace, wifi,
};
use crate::packet::Packet;
use crate::probe::Probe;
use crate::rng::Rng;
use crate::units::{Rate, Time};

/// A queue discipline: owns packets between `enqueue` and `dequeue`, never a clock.
///
/// The port that drives it calls `dequeue` until it returns `None` (or the wire is busy) after
/// each `enqueue` and each `on_wake`.
pub trait Qdisc: Send {
    /// Takes `pkt`, or drops it and says so in `log`.
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log);

    /// The next packet that may leave at `now`. Packets dropped on the way are in `log`.
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet>;

    /// Bytes of the packet that the next `dequeue` gives, if that can be told without taking it.
    fn next_len(&self) -> Option<u32> {
        None
    }

    /// When the discipline next needs [`Qdisc::on_wake`] and another `dequeue`: a shaper's
    /// watchdog or a control law's timer. [`Time::NEVER`] if only an arrival can change anything.
    fn wake(&self) -> Time {
        Time::NEVER
    }

    /// The instant from [`Qdisc::wake`] has come.
    fn on_wake(&mut self, _now: Time, _log: &mut Log) {}

    /// What is held now, children included.
    fn backlog(&self) -> Backlog;

    /// The rate that bounds what leaves, for the utilisation: by default the first `rate` of the
    /// description, if it has one.
    fn capacity(&self) -> Option<Rate> {
        let text = self.describe();
        let mut words = text.split_whitespace();
        words.find(|w| *w == "rate")?;
        words.next().and_then(Rate::parse_tc)
    }

    /// `tc qdisc change`: new parameters, same packets and control state. A word that is absent
    /// keeps its value. Where Linux discards packets on the occasion, they are in `log`. After an
    /// error nothing has changed.
    fn change(&mut self, now: Time, args: &mut Args<'_>, log: &mut Log)
    -> Result<(), GrammarError>;

    /// Name and parameters in tc's grammar; parsing it gives an equal discipline.
    fn describe(&self) -> String;

    /// Counters under the names of `tc -s`, beyond those that [`Port statistics`](Stats) hold.
    fn stats(&self, out: &mut Stats);

    /// Control state for the trace.
    fn probe(&self, _out: &mut Probe<'_>) {}

    /// Whether the segments of a super-packet are queued one by one: the owner splits it before
    /// [`Qdisc::enqueue`]. A shaper does as the discipline inside does.
    fn splits(&self, pkt: &Packet) -> bool {
        self.leaf().is_some_and(|leaf| leaf.splits(pkt))
    }

    /// Discards everything held, children included, with [`Reason::Purge`]: what `tc qdisc
    /// replace` does to the packets of the old discipline.
    fn purge(&mut self, log: &mut Log);

    /// The discipline inside a shaper, if any.
    fn leaf(&self) -> Option<&dyn Qdisc> {
        None
    }

    /// The discipline inside a shaper, if any: the target of a `change` or `replace` of the leaf.
    fn leaf_mut(&mut self) -> Option<&mut Box<dyn Qdisc>> {
        None
    }

    /// Puts `fresh` in the place of the discipline that is `depth` wrappers down (1 is
    /// [`Qdisc::leaf`]), and purges the old one.
    fn replace_leaf(&mut self, depth: usize, fresh: Box<dyn Qdisc>, log: &mut Log) {
        let leaf = self.leaf_mut().expect("a wrapper");
        if depth > 1 {
            leaf.replace_leaf(depth - 1, fresh, log);
        } else {
            std::mem::replace(leaf, fresh).purge(log);
        }
    }

    /// Changes the discipline that is `depth` wrappers down (1 is [`Qdisc::leaf`]).
    fn change_leaf(
        &mut self,
        depth: usize,
        now: Time,
        text: &str,
        log: &mut Log,
    ) -> Result<(), GrammarError> {
        let leaf = self.leaf_mut().expect("a wrapper");
        if depth > 1 {
            leaf.change_leaf(depth - 1, now, text, log)
        } else {
            change(leaf.as_mut(), now, text, log)
        }
    }
}

/// Packets and bytes held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u32,
    /// Layer-2 bytes.
    pub bytes: u64,
}

impl Backlog {
    /// Adds one packet.
    #[inline]
    pub fn add(&mut self, pkt: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(pkt.len);
    }

    /// Removes one packet.
    #[inline]
    pub fn remove(&mut self, pkt: &Packet) {
        self.packets -= 1;
        self.bytes -= u64::from(pkt.len);
    }
}

/// Why a packet was marked or dropped. One enum for all disciplines, so that the trace can compare
/// them; a discipline uses the few that its specification names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Reason {
    /// Arrival at a full queue.
    TailLimit,
    /// The oldest packet, to make room.
    HeadLimit,
    /// Batch drop from the fattest flow on overflow (fq_codel, CAKE).
    FlowOverlimit,
    /// Memory limit.
    MemoryLimit,
    /// Larger than the shaper's bucket.
    TooLarge,
    /// CoDel's control law.
    Codel,
    /// Sojourn above `ce_threshold`.
    CeThreshold,
    /// Probabilistic signal of a PI controller (PIE, PI2).
    Pi,
    /// Coupled probability of a dual queue's L4S side.
    Coupled,
    /// Step or ramp threshold of an L4S queue.
    Step,
    /// Saturation rule: the controller is overloaded.
    Overload,
    /// RED between its thresholds.
    RedEarly,
    /// RED above its maximum, or an ECT packet that it may not mark.
    RedForced,
    /// BLUE's probability.
    Blue,
    /// SCE marking law.
    Sce,
    /// Random loss of an impairment.
    Loss,
    /// Queue protection's sanction.
    Protection,
    /// ACK filter.
    AckFilter,
    /// Policer.
    Police,
    /// Discarded because the discipline was replaced.
    Purge,
    /// DelTiC's oscillators.
    Deltic,
    /// Decapsulation rule of RFC 6040, replay window and other middlebox rules.
    Middlebox,
}

impl Reason {
    /// How many reasons there are, for tables indexed by `reason as usize`.
    pub const COUNT: usize = Self::Middlebox as usize + 1;

    /// All reasons in order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::TailLimit,
        Self::HeadLimit,
        Self::FlowOverlimit,
        Self::MemoryLimit,
        Self::TooLarge,
        Self::Codel,
        Self::CeThreshold,
        Self::Pi,
        Self::Coupled,
        Self::Step,
        Self::Overload,
        Self::RedEarly,
        Self::RedForced,
        Self::Blue,
        Self::Sce,
        Self::Loss,
        Self::Protection,
        Self::AckFilter,
        Self::Police,
        Self::Purge,
        Self::Deltic,
        Self::Middlebox,
    ];

    /// The name in traces and `queue.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TailLimit => "tail_limit",
            Self::HeadLimit => "head_limit",
            Self::FlowOverlimit => "flow_overlimit",
            Self::MemoryLimit => "memory_limit",
            Self::TooLarge => "too_large",
            Self::Codel => "codel",
            Self::CeThreshold => "ce_threshold",
            Self::Pi => "pi",
            Self::Coupled => "coupled",
            Self::Step => "step",
            Self::Overload => "overload",
            Self::RedEarly => "red_early",
            Self::RedForced => "red_forced",
            Self::Blue => "blue",
            Self::Sce => "sce",
            Self::Loss => "loss",
            Self::Protection => "protection",
            Self::AckFilter => "ack_filter",
            Self::Police => "police",
            Self::Purge => "purge",
            Self::Deltic => "deltic",
            Self::Middlebox => "middlebox",
        }
    }
}

/// What happened to a packet inside a queue.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The ECN field of the packet (still queued or about to leave) was changed.
    Mark(Packet, Reason),
    /// The packet is gone.
    Drop(Packet, Reason),
    /// From now on there is one more packet with this id, which shares header and payload with
    /// the first; each of them will be sent or dropped.
    Duplicate(Packet),
}

/// Marks, drops and duplicates of one call, read and emptied by the port that made it. The buffer is reused.
#[derive(Debug, Default)]
pub struct Log {
    events: Vec<Event>,
}

impl Log {
    /// Notes that `pkt` now carries another ECN codepoint.
    #[inline]
    pub fn mark(&mut self, pkt: &Packet, reason: Reason) {
        self.events.push(Event::Mark(*pkt, reason));
    }

    /// Notes that `pkt` was discarded.
    #[inline]
    pub fn drop(&mut self, pkt: &Packet, reason: Reason) {
        self.events.push(Event::Drop(*pkt, reason));
    }

    /// Notes that the discipline holds a second packet with the id of `pkt`.
    #[inline]
    pub fn duplicate(&mut self, pkt: &Packet) {
        self.events.push(Event::Duplicate(*pkt));
    }

    /// Whether nothing happened.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Tries to set CE on `pkt`; false if it is Not-ECT and must be dropped instead. The event is
    /// logged only if the codepoint changed, while Linux counts a CE packet as marked again.
    #[inline]
    #[must_use]
    pub fn set_ce(&mut self, pkt: &mut Packet, reason: Reason) -> bool {
        if pkt.ecn() == Ecn::Ce {
            return true;
        }
        let capable = pkt.set_ce();
        if capable {
            self.mark(pkt, reason);
        }
        capable
    }

    /// Tries to set SCE on `pkt`, ECT(0) to ECT(1); false, without event, for every other codepoint.
    #[inline]
    #[must_use]
    pub fn set_sce(&mut self, pkt: &mut Packet, reason: Reason) -> bool {
        let markable = pkt.set_sce();
        if markable {
            self.mark(pkt, reason);
        }
        markable
    }

    /// The events in order; keeps the buffer.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Event> {
        self.events.drain(..)
    }

    /// The events after the first `count`, for a wrapper that sees packets otherwise.
    pub(crate) fn since_mut(&mut self, count: usize) -> &mut [Event] {
        &mut self.events[count..]
    }

    /// The events in order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }
}

/// Counters by `tc -s` name, in the order in which they are put.
#[derive(Clone, Debug, Default)]
pub struct Stats(pub Vec<(Cow<'static, str>, f64)>);

impl Stats {
    /// Adds a counter or gauge.
    pub fn put(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<f64>) {
        self.0.push((name.into(), value.into()));
    }

    /// The value called `name`.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }
}

/// What a discipline may know of its surroundings when it is built.
#[derive(Clone, Debug)]
pub struct Env {
    /// This element's own random stream.
    pub rng: Rng,
    /// Kernel tick rate (jiffies per second), for timers that Linux counts in jiffies.
    pub hz: u32,
    /// MTU plus layer-2 header: `psched_mtu`, 1514 on Ethernet.
    pub psched_mtu: u32,
    /// Transmit queue length of the device, the default limit of FIFOs, in packets.
    pub txqueuelen: u32,
    /// Instant of creation.
    pub now: Time,
    /// The link traces that texts may name.
    pub traces: Traces,
    /// What the two directions of a half-duplex link share.
    pub medium: Medium,
}

impl Env {
    /// An Ethernet device (MTU 1500, txqueuelen 1000, HZ 1000) with the given random stream.
    pub fn ethernet(rng: Rng) -> Self {
        Self {
            rng,
            hz: 1000,
            psched_mtu: 1514,
            txqueuelen: 1000,
            now: Time::ZERO,
            traces: Traces::default(),
            medium: Medium::default(),
        }
    }
}

/// Builds a discipline from the words after its name.
pub type Build = fn(&mut Args<'_>, Env) -> Result<Box<dyn Qdisc>, GrammarError>;

/// Which Linux has a discipline, so that a scenario can be built on real machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Mainline since this version.
    Mainline(&'static str),
    /// A tree beside mainline, by its name on GitHub.
    Tree(&'static str),
    /// None: it is published, but only Sojourn runs it.
    Nowhere,
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mainline(since) => write!(f, "mainline since {since}"),
            Self::Tree(tree) => write!(f, "only the tree {tree}"),
            Self::Nowhere => f.write_str("no kernel, only Sojourn"),
        }
    }
}

/// One line of the registry.
#[derive(Clone, Copy)]
pub struct Entry {
    /// tc's name.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Specification or kernel file, with version.
    pub reference: &'static str,
    /// The kernels that have it under this name.
    pub kernel: Kernel,
    /// The words it accepts.
    pub params: &'static [Param],
    /// Builds it from the words after its name.
    pub build: Build,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All queue disciplines, sorted by name.
pub const REGISTRY: &[Entry] = &[
    ackthin::ENTRY,
    fifo::BFIFO,
    blue::ENTRY,
    brickwall::ENTRY,
    cake::ENTRY,
    cnq_cobalt::ENTRY,
    cnq_codel_af::ENTRY,
    sch_cobalt::ENTRY,
    codel::ENTRY,
    curvy_red::ENTRY,
    deltic::ENTRY,
    deltic_boroshne::ENTRY,
    deltic_polya::ENTRY,
    deltim::ENTRY,
    docsis_ll::ENTRY,
    docsis_pie::ENTRY,
    drop::ENTRY,
    dualpi2::ENTRY,
    dualq::ENTRY,
    fq::ENTRY,
    fq_codel::ENTRY,
    fq_pie::ENTRY,
    grant::ENTRY,
    htb::ENTRY,
    lfq_cobalt::ENTRY,
    mahimahi::ENTRY,
    mangle::ENTRY,
    netem::ENTRY,
    fifo::PFIFO,
    pfifo_fast::ENTRY,
    fifo::PFIFO_HEAD_DROP,
    pi2::ENTRY,
    pie::ENTRY,
    police::ENTRY,
    quartz::ENTRY,
    ramp::ENTRY,
    rate_trace::ENTRY,
    red::ENTRY,
    red_classic::ENTRY,
    sfb::ENTRY,
    stab::ENTRY,
    tbf::ENTRY,
    twin_codel_af::ENTRY,
    wifi::ENTRY,
];

/// The registry's line for `name`; the error lists the names and the nearest.
pub fn entry(name: &str) -> Result<&'static Entry, GrammarError> {
    REGISTRY.iter().find(|e| e.name == name).ok_or_else(|| {
        let near = nearest(name, REGISTRY.iter().map(|e| e.name))
            .map_or(String::new(), |n| format!(" (did you mean `{n}`?)"));
        let all: Vec<&str> = REGISTRY.iter().map(|e| e.name).collect();
        GrammarError(format!("unknown qdisc `{name}`{near}; valid: {}", all.join(", ")))
    })
}

/// Builds the discipline that `text` describes, such as `fq_codel flows 1 target 1ms ecn`.
pub fn build(text: &str, env: Env) -> Result<Box<dyn Qdisc>, GrammarError> {
    let (name, rest) = split_name(text);
    let entry = entry(name)?;
    (entry.build)(&mut Args::new(entry.name, entry.params, rest), env)
}

/// Builds the shaper that `shaper` describes (`htb rate 50Mbit`) around an existing `leaf`.
pub fn build_shaped(
    shaper: &str,
    leaf: Box<dyn Qdisc>,
    env: &Env,
) -> Result<Box<dyn Qdisc>, GrammarError> {
    let (name, rest) = split_name(shaper);
    let entry = entry(name)?;
    let mut args = Args::new(entry.name, entry.params, rest);
    match name {
        "ackthin" => Ok(Box::new(AckThin::around(&mut args, leaf)?)),
        "grant" => Ok(Box::new(Grant::around(&mut args, env, leaf)?)),
        "htb" => Ok(Box::new(Htb::around(&mut args, env, leaf)?)),
        "mahimahi" => Ok(Box::new(Mahimahi::around(&mut args, env, leaf)?)),
        "police" => Ok(Box::new(Police::around(&mut args, env, leaf)?)),
        "rate_trace" => Ok(Box::new(RateTrace::around(&mut args, env, leaf)?)),
        "tbf" => Ok(Box::new(Tbf::around(&mut args, env, leaf)?)),
        "netem" => Ok(Box::new(Netem::parse(&mut args, env.clone(), Some(leaf))?)),
        "wifi" => Ok(Box::new(Wifi::around(&mut args, env, leaf)?)),
        _ => Err(GrammarError(format!(
            "`{name}` shapes nothing; valid shapers: ackthin, grant, htb, mahimahi, netem, police, \
             rate_trace, tbf, wifi"
        ))),
    }
}

/// Puts the size table that `words` describe (`overhead 38 mpu 84`) around `inner`.
pub fn build_sized(words: &str, inner: Box<dyn Qdisc>) -> Result<Box<dyn Qdisc>, GrammarError> {
    let entry = stab::ENTRY;
    Ok(Box::new(Stab::around(&mut Args::new(entry.name, entry.params, words), inner)?))
}

/// Applies `text` to a live discipline of the same name. Packets that it discards are in `log`.
pub fn change(
    qdisc: &mut dyn Qdisc,
    now: Time,
    text: &str,
    log: &mut Log,
) -> Result<(), GrammarError> {
    let (name, rest) = split_name(text);
    let entry = entry(name)?;
    let described = qdisc.describe();
    if split_name(&described).0 != name {
        return Err(GrammarError(format!(
            "cannot change `{}` into `{name}`; use replace",
            split_name(&described).0
        )));
    }
    qdisc.change(now, &mut Args::new(entry.name, entry.params, rest), log)
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
