//! netem's parameters.

use super::dist::Shape;
use super::loss::Loss;
use crate::traces::{DelaySteps, digest};
use sojourn_core::grammar::forms::{Form, Value, custom, maybe, number, whole};
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::parameters;
use sojourn_core::units::{Bytes, Dur, Rate};

pub(super) const DELAY: &str = "delay|latency";
pub(super) const LOSS: &str = "loss|drop";
pub(super) const CORRUPT: &str = "corrupt";
pub(super) const REORDER: &str = "reorder";
pub(super) const SLOT: &str = "slot";

/// Of every packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Delay {
    /// A mean, its spread and the correlation of successive ones.
    Drawn { time: Dur, jitter: i32, correlation: Option<u32> },
    /// A measured series, by its name.
    Trace(String),
}

/// How often something happens to a packet, and the correlation of successive draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chance {
    pub(super) share: u32,
    pub(super) correlation: Option<u32>,
}

/// When the next burst may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spacing {
    Between(Dur, Dur),
    Drawn(Shape, Dur, Dur),
}

/// Bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) spacing: Spacing,
    /// Most packets in one burst; zero means no limit.
    pub(super) packets: u32,
    /// Most bytes in one burst; zero means no limit.
    pub(super) bytes: u64,
}

/// Serialisation; a rate of zero means none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wire {
    pub(super) rate: Rate,
    pub(super) overhead: i32,
    pub(super) cell: u32,
    pub(super) cell_overhead: i32,
}

impl Wire {
    /// Nanoseconds that a packet of `len` bytes takes. Linux 6.12 `packet_time_ns`.
    #[inline]
    pub(super) fn time_for(&self, len: u32) -> u64 {
        let mut bytes = i64::from(len) + i64::from(self.overhead);
        if self.cell != 0 {
            let cells = bytes.max(0).cast_unsigned().div_ceil(u64::from(self.cell)) as i64;
            bytes = cells * (i64::from(self.cell) + i64::from(self.cell_overhead));
        }
        let rate = Rate(self.rate.bytes_per_sec().max(1) * 8);
        rate.time_for(bytes.max(0).cast_unsigned()).0
    }
}

parameters! {
    /// Parameters of `netem`. Probabilities and correlations are 32-bit fractions.
    pub(crate) struct Params {
        /// Packets inside, delayed ones included.
        pub(super) limit: u32 = 1000 => whole("PACKETS", 0..=u32::MAX.into(), "");
        /// Delay of every packet, its spread, and the correlation of successive delays; a bare
        /// number is nanoseconds, as in tc. Or a measured series that it follows: a file of
        /// times in seconds and delays in milliseconds, which tc does not have.
        pub(super) delay: Option<Delay> = None =>
            maybe(custom("TIME [JITTER [CORRELATION]] | trace NAME", read_delay, write_delay)),
            name DELAY, default "0ns";
        /// What the trace's content must give; the resolved scenario states it.
        pub(super) digest: Option<String> = None => maybe(digest()),
            default "that of the trace", tc false;
        /// Distribution of the jitter.
        pub(super) distribution: Option<Shape> = None, default "uniform";
        /// Random loss, a four-state Markov chain, or Gilbert-Elliott.
        pub(super) loss: Option<Loss> = None => maybe(custom(LOSS_VALUE, read_loss, write_loss)),
            name LOSS, default "0%";
        /// CE mark instead of loss, if ECT.
        pub(super) ecn: bool = false;
        /// Packets sent twice.
        pub(super) duplicate: Option<Chance> = None => maybe(chance()), default "0%";
        /// Packets that get a bit error, for the receiver to discard.
        pub(super) corrupt: Option<Chance> = None => maybe(chance()), name CORRUPT, default "0%";
        /// Packets sent at once, ahead of the delayed ones.
        pub(super) reorder: Option<Chance> = None => maybe(chance()), name REORDER, default "0%";
        /// Distance in packets between those that may be reordered; alone it means `reorder 100%`.
        pub(super) gap: Option<u32> = None => maybe(number(0..=u32::MAX.into())),
            default "1 with reorder";
        /// Serialisation after the delay, with bytes added per packet, cells, and bytes per cell.
        pub(super) rate: Option<Wire> = None => maybe(custom(
            "RATE [PACKET_OVERHEAD [CELL_SIZE [CELL_OVERHEAD]]]", read_wire, write_wire)),
            default "none";
        /// Packets leave in bursts of at most `packets` and `bytes`, this long after each other.
        pub(super) slot: Option<Slot> = None => maybe(custom(
            "MIN [MAX] | distribution NAME DELAY JITTER [packets N] [bytes N]", read_slot, write_slot)),
            name SLOT, default "none";
        /// A stream of random numbers of its own.
        pub(super) seed: Option<u64> = None => maybe(number(0..=u64::MAX)),
            default "the element's stream";
    }
    transient {
        /// Whether the text states a correlation of delay, loss or duplication, which are set together.
        is_correlated: bool = false;
    }
    keeps {
        /// Of delay, loss and duplication.
        pub(super) correlations: [u32; 3] = [0; 3];
        /// What was last asked for, also while it has no effect.
        shape: Option<Shape> = None;
        marks: bool = false;
        pub(super) ahead: Chance = Chance::default();
        /// The trace's content, once checked.
        pub(super) trace: Option<DelaySteps> = None;
    }
    begin set_anew;
    derive combine;
    settle combines;
}

impl Params {
    /// As the kernel takes a change: delay, jitter, loss, duplication, limit and gap are always set
    /// anew, everything else only if it is there (Linux 6.12 `netem_change`).
    fn set_anew(&mut self) {
        let Self { limit, delay, loss, duplicate, gap, .. } = Self::default();
        (self.limit, self.delay, self.loss) = (limit, delay, loss);
        (self.duplicate, self.gap) = (duplicate, gap);
    }

    fn combine(&mut self, given: &Given) {
        let mut stated = [None; 3];
        if let Some(Delay::Drawn { correlation, .. }) = self.delay {
            stated[0] = correlation;
        }
        if let Some(Loss::Random(Chance { correlation, .. })) = self.loss {
            stated[1] = correlation;
        }
        stated[2] = self.duplicate.and_then(|chance| chance.correlation);
        self.is_correlated = stated.iter().any(Option::is_some);
        if self.is_correlated {
            self.correlations = stated.map(Option::unwrap_or_default);
        }
        let [of_delay, of_loss, of_duplicate] = self.correlations;
        if self.trace_name().is_none() {
            let (time, jitter) = self.drawn();
            let correlation = Some(of_delay);
            let is_there = time > Dur::ZERO || jitter != 0 || of_delay != 0;
            self.delay = is_there.then_some(Delay::Drawn { time, jitter, correlation });
            (self.digest, self.trace) = (self.digest.take().filter(|_| given.has("digest")), None);
        }
        if matches!(self.loss, None | Some(Loss::Random(_))) {
            let share = self.loss.map_or(0, Loss::share);
            self.loss = Chance::of(share, of_loss).map(Loss::Random);
        }
        self.duplicate = Chance::of(share(self.duplicate), of_duplicate);
        let of_corrupt = self.corrupt.and_then(|chance| chance.correlation);
        self.corrupt = Chance::of(share(self.corrupt), of_corrupt.unwrap_or(0));
        let mut gap = self.gap.unwrap_or(0);
        if given.has(REORDER) {
            self.ahead = self.reorder.unwrap_or_default();
            gap += u32::from(gap == 0 && self.ahead.share > 0);
        } else if gap > 0 {
            self.ahead = Chance { share: u32::MAX, correlation: None };
        }
        self.gap = (gap > 0).then_some(gap);
        // Even of 0%: a gap without it would be read as `reorder 100%`.
        self.reorder = self.gap.map(|_| self.ahead);
        self.rate = self.rate.filter(|wire| wire.rate > Rate(0));
        self.slot = self.slot.filter(Slot::is_active);
        let (time, jitter) = self.drawn();
        self.shape = if given.has("distribution") { self.distribution } else { self.shape };
        self.distribution = self.shape.filter(|_| time > Dur::ZERO && jitter != 0);
        self.marks |= self.ecn;
        self.ecn = self.marks && self.loses();
    }

    fn combines(&self, given: &Given) -> Result<(), String> {
        let is_delayed = self.drawn().0 > Dur::ZERO || self.trace_name().is_some();
        let wrong = if self.gap.is_some() && !is_delayed {
            "`reorder` is not possible without some `delay`"
        } else if given.has("ecn") && !self.ecn {
            "`ecn` needs a `loss` model"
        } else if given.has("distribution") && self.distribution.is_none() {
            "`distribution` needs `delay` with a time and a jitter"
        } else if self.digest.is_some() && self.trace_name().is_none() {
            "`digest` needs `delay trace`"
        } else {
            return Ok(());
        };
        Err(wrong.to_owned())
    }

    /// Mean and spread of the delay.
    pub(super) fn drawn(&self) -> (Dur, i32) {
        match self.delay {
            Some(Delay::Drawn { time, jitter, .. }) => (time, jitter),
            _ => (Dur::ZERO, 0),
        }
    }

    /// The name of the series that the delay follows.
    pub(super) fn trace_name(&self) -> Option<&str> {
        match &self.delay {
            Some(Delay::Trace(name)) => Some(name),
            _ => None,
        }
    }

    fn loses(&self) -> bool {
        self.loss.is_some_and(|loss| !matches!(loss, Loss::Random(Chance { share: 0, .. })))
    }

    /// Whether more than delay can happen to a packet.
    pub(super) fn perturbs(&self) -> bool {
        self.loses() || share(self.duplicate) != 0 || share(self.corrupt) != 0
    }

    /// Whether the text that was read last restarts the correlated random sequences.
    pub(super) fn is_correlated(&self) -> bool {
        self.is_correlated
    }
}

impl Chance {
    /// None if both are 0.
    fn of(share: u32, correlation: u32) -> Option<Self> {
        let is_there = share != 0 || correlation != 0;
        is_there.then_some(Self { share, correlation: Some(correlation) })
    }

    pub(super) fn correlation(self) -> u32 {
        self.correlation.unwrap_or(0)
    }
}

/// How often it happens.
#[inline]
pub(super) fn share(chance: Option<Chance>) -> u32 {
    chance.map_or(0, |chance| chance.share)
}

impl Slot {
    /// The kernel switches slots off if neither bound nor the jitter is set.
    fn is_active(&self) -> bool {
        match self.spacing {
            Spacing::Between(_, max) => max > Dur::ZERO,
            Spacing::Drawn(_, _, jitter) => jitter > Dur::ZERO,
        }
    }
}

fn read_delay(args: &mut Args<'_>) -> Result<Delay, GrammarError> {
    if args.peek() == Some("trace") {
        args.word()?;
        return args.word().map(|name| Delay::Trace(name.to_owned()));
    }
    let (time, mut jitter, mut correlation) = (args.time64()?, 0, None);
    if is_number(args) {
        // The kernel keeps 31 bits of nanoseconds.
        jitter = args.time64()?.0.min(i32::MAX as u64) as i32;
        correlation = optional(args)?;
    }
    Ok(Delay::Drawn { time, jitter, correlation })
}

fn write_delay(delay: &Delay) -> String {
    match delay {
        Delay::Trace(name) => format!("trace {name}"),
        Delay::Drawn { time, jitter: 0, correlation: None | Some(0) } => time.to_string(),
        Delay::Drawn { time, jitter, correlation } => {
            let correlation = shares(&[correlation.unwrap_or(0)], 0);
            format!("{time} {} {correlation}", Dur(*jitter as u64)).trim_end().to_owned()
        }
    }
}

fn chance() -> impl Form<Chance> {
    custom("PERCENT [CORRELATION]", read_chance, write_chance)
}

fn read_chance(args: &mut Args<'_>) -> Result<Chance, GrammarError> {
    Ok(Chance { share: read_share(args)?, correlation: optional(args)? })
}

fn write_chance(chance: &Chance) -> String {
    shares(&[chance.share, chance.correlation()], 1)
}

const LOSS_VALUE: &str = "[random] PERCENT [CORRELATION] | state P13 [P31 [P32 [P23 [P14]]]] | \
                          gemodel P [R [1-H [1-K]]]";

fn read_loss(args: &mut Args<'_>) -> Result<Loss, GrammarError> {
    let kind = args.peek().filter(|w| ["random", "state", "gemodel"].contains(w));
    if kind.is_some() {
        args.word()?;
    }
    let Chance { share: first, correlation } = match kind {
        Some("state" | "gemodel") => Chance { share: read_share(args)?, correlation: None },
        _ => read_chance(args)?,
    };
    let mut or = |default: u32| Ok(optional(args)?.unwrap_or(default));
    Ok(match kind {
        Some("state") => Loss::State {
            p13: first,
            p31: or(u32::MAX - first)?,
            p32: or(0)?,
            p23: or(u32::MAX)?,
            p14: or(0)?,
        },
        Some("gemodel") => {
            Loss::Gilbert { p: first, r: or(u32::MAX - first)?, bad: or(u32::MAX)?, good: or(0)? }
        }
        _ => Loss::Random(Chance { share: first, correlation }),
    })
}

fn write_loss(loss: &Loss) -> String {
    match *loss {
        Loss::Random(chance) => write_chance(&chance),
        Loss::State { p13, p31, p32, p23, p14 } => {
            format!("state {}", shares(&[p13, p31, p32, p23, p14], 5))
        }
        Loss::Gilbert { p, r, bad, good } => format!("gemodel {}", shares(&[p, r, bad, good], 4)),
    }
}

fn read_wire(args: &mut Args<'_>) -> Result<Wire, GrammarError> {
    let mut wire = Wire { rate: args.rate()?, ..Wire::default() };
    if wire.rate > Rate(0) && wire.rate < Rate(8) {
        return Err(args.invalid("`rate` must be at least 8bit"));
    }
    let signed = |args: &mut Args<'_>| -> Result<i32, GrammarError> {
        let is_there = args
            .peek()
            .is_some_and(|w| w.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()));
        if is_there { args.value("a whole number of bytes", |w| w.parse().ok()) } else { Ok(0) }
    };
    wire.overhead = signed(args)?;
    if is_number(args) {
        wire.cell = args.number(0..=u64::from(u16::MAX))? as u32;
        wire.cell_overhead = signed(args)?;
    }
    Ok(wire)
}

fn write_wire(wire: &Wire) -> String {
    let Wire { rate, overhead, cell, cell_overhead } = wire;
    format!("{rate} {overhead} {cell} {cell_overhead}")
}

fn read_slot(args: &mut Args<'_>) -> Result<Slot, GrammarError> {
    let spacing = if args.peek() == Some("distribution") {
        args.word()?;
        let shape = Shape::FORM.read("", "", args)?;
        Spacing::Drawn(shape, args.time64()?, args.time64()?)
    } else {
        let min = args.time64()?;
        let max = if is_number(args) { args.time64()? } else { min };
        if max < min {
            return Err(args.invalid("`slot` needs a greatest delay not below the least"));
        }
        Spacing::Between(min, max)
    };
    let mut slot = Slot { spacing, packets: 0, bytes: 0 };
    loop {
        match args.peek() {
            Some("packets") => {
                args.word()?;
                slot.packets = args.number(0..=i32::MAX as u64)? as u32;
            }
            Some("bytes") => {
                args.word()?;
                slot.bytes = args.size()?.0.min(i32::MAX as u64);
            }
            _ => break,
        }
    }
    Ok(slot)
}

fn write_slot(slot: &Slot) -> String {
    let mut text = match slot.spacing {
        Spacing::Between(min, max) => format!("{min} {max}"),
        Spacing::Drawn(shape, delay, jitter) => {
            format!("distribution {} {delay} {jitter}", shape.text())
        }
    };
    if slot.packets != 0 {
        text += &format!(" packets {}", slot.packets);
    }
    if slot.bytes != 0 {
        text += &format!(" bytes {}", Bytes(slot.bytes));
    }
    text
}

/// Whether the next token is a number, and so belongs to the current keyword.
fn is_number(args: &mut Args<'_>) -> bool {
    args.peek().is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}

fn optional(args: &mut Args<'_>) -> Result<Option<u32>, GrammarError> {
    if is_number(args) { read_share(args).map(Some) } else { Ok(None) }
}

/// A percentage as a 32-bit fraction; the sign may be left out, as in tc.
fn read_share(args: &mut Args<'_>) -> Result<u32, GrammarError> {
    args.value("a percentage such as `10%`", |w| fraction(w.strip_suffix('%').unwrap_or(w)))
}

fn fraction(percent: &str) -> Option<u32> {
    let percent: f64 = percent.parse().ok()?;
    let valid = (0.0..=100.0).contains(&percent);
    valid.then(|| (percent / 100.0 * f64::from(u32::MAX)).round() as u32)
}

/// The shortest percentage that is read as `share`.
fn percent(share: u32) -> String {
    let exact = f64::from(share) / f64::from(u32::MAX) * 100.0;
    let texts = (0..12).map(|places| format!("{exact:.places$}"));
    let mut right = texts.filter(|text| fraction(text) == Some(share));
    right.next().unwrap_or_else(|| exact.to_string()) + "%"
}

/// The shares; those at the end that are zero are left out beyond `least`.
fn shares(shares: &[u32], least: usize) -> String {
    let used = shares.iter().rposition(|share| *share != 0).map_or(0, |last| last + 1);
    let texts: Vec<String> = shares[..used.max(least)].iter().map(|s| percent(*s)).collect();
    texts.join(" ")
}
