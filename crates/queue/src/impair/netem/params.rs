//! netem's grammar: what may be written, and how it is written again.

use std::fmt::Write as _;

use super::dist::Shape;
use super::loss::Loss;
use crate::impair::trace::FileWords;
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::units::{Bytes, Dur, Rate};

pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "limit",
        value: "PACKETS",
        default: "1000",
        doc: "Packets inside, delayed ones included.",
    },
    Param {
        name: "delay|latency",
        value: "TIME [JITTER [CORRELATION]] | trace NAME",
        default: "0ns",
        doc: "Delay of every packet, its spread, and the correlation of successive delays; a bare \
              number is nanoseconds, as in tc. Or a measured series that it follows: a file of \
              times in seconds and delays in milliseconds, which tc does not have.",
    },
    Param {
        name: "digest",
        value: "HEX",
        default: "that of the trace",
        doc: "What the trace's content must give; the resolved scenario states it. It is not a word of tc.",
    },
    Param {
        name: "distribution",
        value: "normal|pareto|paretonormal",
        default: "uniform",
        doc: "Distribution of the jitter.",
    },
    Param {
        name: "loss|drop",
        value: "[random] PERCENT [CORRELATION] | state P13 [P31 [P32 [P23 [P14]]]] | gemodel P [R [1-H [1-K]]]",
        default: "0%",
        doc: "Random loss, a four-state Markov chain, or Gilbert-Elliott.",
    },
    Param { name: "ecn", value: "", default: "off", doc: "CE mark instead of loss, if ECT." },
    Param {
        name: "duplicate",
        value: "PERCENT [CORRELATION]",
        default: "0%",
        doc: "Packets sent twice.",
    },
    Param {
        name: "corrupt",
        value: "PERCENT [CORRELATION]",
        default: "0%",
        doc: "Packets that get a bit error, for the receiver to discard.",
    },
    Param {
        name: "reorder",
        value: "PERCENT [CORRELATION]",
        default: "0%",
        doc: "Packets sent at once, ahead of the delayed ones.",
    },
    Param {
        name: "gap",
        value: "NUMBER",
        default: "1 with reorder",
        doc: "Only every so many packets may be reordered; alone it means `reorder 100%`.",
    },
    Param {
        name: "rate",
        value: "RATE [PACKET_OVERHEAD [CELL_SIZE [CELL_OVERHEAD]]]",
        default: "none",
        doc: "Serialisation after the delay, with bytes added per packet, cells, and bytes per cell.",
    },
    Param {
        name: "slot",
        value: "MIN [MAX] | distribution NAME DELAY JITTER [packets N] [bytes N]",
        default: "none",
        doc: "Packets leave in bursts of at most `packets` and `bytes`, this long after each other.",
    },
    Param {
        name: "seed",
        value: "NUMBER",
        default: "the element's stream",
        doc: "A stream of random numbers of its own.",
    },
];

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
    /// Nanoseconds that a packet of `len` bytes takes.
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

/// Probabilities and correlations are 32-bit fractions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Params {
    pub(super) limit: u32,
    pub(super) delay: Dur,
    pub(super) jitter: i32,
    pub(super) delay_correlation: u32,
    pub(super) shape: Option<Shape>,
    pub(super) loss: Loss,
    pub(super) loss_correlation: u32,
    pub(super) ecn: bool,
    pub(super) duplicate: u32,
    pub(super) duplicate_correlation: u32,
    pub(super) corrupt: u32,
    pub(super) corrupt_correlation: u32,
    pub(super) reorder: u32,
    pub(super) reorder_correlation: u32,
    pub(super) gap: u32,
    pub(super) wire: Wire,
    pub(super) slot: Option<Slot>,
    pub(super) seed: Option<u64>,
}

/// Which groups of words were there, and so restart their random sequence or slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Given {
    pub(super) correlation: bool,
    pub(super) reorder: bool,
    pub(super) corrupt: bool,
    pub(super) loss: bool,
    pub(super) slot: bool,
    pub(super) trace: Option<FileWords>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            limit: 1000,
            delay: Dur::ZERO,
            jitter: 0,
            delay_correlation: 0,
            shape: None,
            loss: Loss::Random(0),
            loss_correlation: 0,
            ecn: false,
            duplicate: 0,
            duplicate_correlation: 0,
            corrupt: 0,
            corrupt_correlation: 0,
            reorder: 0,
            reorder_correlation: 0,
            gap: 0,
            wire: Wire::default(),
            slot: None,
            seed: None,
        }
    }
}

impl Params {
    /// Reads the words as the kernel takes them: limit, delay, jitter, loss, duplication and gap
    /// are always set anew, everything else only if it is there.
    pub(super) fn read(&self, args: &mut Args<'_>) -> Result<(Self, Given), GrammarError> {
        let fresh = Self::default();
        let mut p = Self {
            limit: fresh.limit,
            delay: fresh.delay,
            jitter: fresh.jitter,
            loss: fresh.loss,
            duplicate: fresh.duplicate,
            gap: fresh.gap,
            ..*self
        };
        let (mut given, mut correlations) = (Given::default(), [None; 3]);
        let (mut shaped, mut marks) = (false, false);
        while let Some(key) = args.key() {
            match key {
                "limit" => p.limit = args.number(0..=u64::from(u32::MAX))? as u32,
                "delay" | "latency" if args.peek() == Some("trace") => {
                    args.word()?;
                    let mut words = FileWords::new(true);
                    words.read("file", "", args)?;
                    given.trace = Some(words);
                }
                "digest" => match &mut given.trace {
                    Some(words) => words.read("digest", "", args)?,
                    None => return Err(args.invalid("`digest` needs `delay trace` before it")),
                },
                "delay" | "latency" => {
                    p.delay = args.time64()?;
                    if is_number(args) {
                        // The kernel keeps 31 bits of nanoseconds.
                        p.jitter = args.time64()?.0.min(i32::MAX as u64) as i32;
                        correlations[0] = optional(args)?.or(correlations[0]);
                    }
                }
                "distribution" => {
                    shaped = true;
                    p.shape = Some(Shape::from_index(args.choice(&Shape::WORDS)?));
                }
                "loss" | "drop" => {
                    given.loss = true;
                    p.loss = read_loss(args, &mut correlations[1])?;
                }
                "ecn" => (p.ecn, marks) = (true, true),
                "duplicate" => {
                    p.duplicate = share(args)?;
                    correlations[2] = optional(args)?.or(correlations[2]);
                }
                "corrupt" => {
                    given.corrupt = true;
                    p.corrupt = share(args)?;
                    p.corrupt_correlation = optional(args)?.unwrap_or(0);
                }
                "reorder" => {
                    given.reorder = true;
                    p.reorder = share(args)?;
                    p.reorder_correlation = optional(args)?.unwrap_or(0);
                }
                "gap" => p.gap = args.number(0..=u64::from(u32::MAX))? as u32,
                "rate" => p.wire = read_wire(args)?,
                "slot" => {
                    given.slot = true;
                    p.slot = read_slot(args)?;
                }
                "seed" => p.seed = Some(args.number(0..=u64::MAX)?),
                _ => return Err(args.unknown()),
            }
        }
        if correlations.iter().any(Option::is_some) {
            given.correlation = true;
            [p.delay_correlation, p.loss_correlation, p.duplicate_correlation] =
                correlations.map(|c| c.unwrap_or(0));
        }
        if given.reorder && p.reorder > 0 && p.gap == 0 {
            p.gap = 1;
        }
        if p.gap > 0 && !given.reorder {
            (p.reorder, p.reorder_correlation) = (u32::MAX, 0);
        }
        let is_delayed = p.delay > Dur::ZERO || given.trace.is_some();
        if (p.gap > 0 || given.reorder && p.reorder > 0) && !is_delayed {
            return Err(args.invalid("`reorder` is not possible without some `delay`"));
        }
        if marks && p.loss == Loss::Random(0) {
            return Err(args.invalid("`ecn` needs a `loss` model"));
        }
        if shaped && (p.delay == Dur::ZERO || p.jitter == 0) {
            return Err(args.invalid("`distribution` needs `delay` with a time and a jitter"));
        }
        if given.trace.is_some() && p.delay > Dur::ZERO {
            return Err(args.invalid("`delay` is a time or a trace, not both"));
        }
        Ok((p, given))
    }

    /// Whether more than delay can happen to a packet.
    pub(super) fn perturbs(&self) -> bool {
        self.loss != Loss::Random(0) || self.duplicate != 0 || self.corrupt != 0
    }

    /// The words after the name.
    pub(super) fn words(&self) -> String {
        let mut text = format!("limit {}", self.limit);
        let jitter = Dur(self.jitter as u64);
        if self.delay > Dur::ZERO || self.jitter != 0 || self.delay_correlation != 0 {
            text += &format!(" delay {}", self.delay);
            if self.jitter != 0 || self.delay_correlation != 0 {
                text += &format!(" {jitter}");
                put(&mut text, "", &[self.delay_correlation], 0);
            }
        }
        if let (Some(shape), true) = (self.shape, self.delay > Dur::ZERO && self.jitter != 0) {
            text += &format!(" distribution {}", shape.name());
        }
        match self.loss {
            Loss::Random(0) if self.loss_correlation == 0 => {}
            Loss::Random(p) => put(&mut text, " loss", &[p, self.loss_correlation], 1),
            Loss::State { p13, p31, p32, p23, p14 } => {
                put(&mut text, " loss state", &[p13, p31, p32, p23, p14], 5);
            }
            Loss::Gilbert { p, r, bad, good } => {
                put(&mut text, " loss gemodel", &[p, r, bad, good], 4);
            }
        }
        if self.ecn && self.loss != Loss::Random(0) {
            text += " ecn";
        }
        let mut pair = |name: &str, p: u32, correlation: u32| {
            if p != 0 || correlation != 0 {
                put(&mut text, name, &[p, correlation], 1);
            }
        };
        pair(" duplicate", self.duplicate, self.duplicate_correlation);
        pair(" corrupt", self.corrupt, self.corrupt_correlation);
        if self.gap != 0 {
            // Even of 0%: a gap without it would read as `reorder 100%`.
            put(&mut text, " reorder", &[self.reorder, self.reorder_correlation], 1);
            text += &format!(" gap {}", self.gap);
        }
        if self.wire.rate > Rate(0) {
            let Wire { rate, overhead, cell, cell_overhead } = self.wire;
            text += &format!(" rate {rate} {overhead} {cell} {cell_overhead}");
        }
        if let Some(slot) = self.slot {
            text += &match slot.spacing {
                Spacing::Between(min, max) => format!(" slot {min} {max}"),
                Spacing::Drawn(shape, delay, jitter) => {
                    format!(" slot distribution {} {delay} {jitter}", shape.name())
                }
            };
            if slot.packets != 0 {
                text += &format!(" packets {}", slot.packets);
            }
            if slot.bytes != 0 {
                text += &format!(" bytes {}", Bytes(slot.bytes));
            }
        }
        if let Some(seed) = self.seed {
            text += &format!(" seed {seed}");
        }
        text
    }
}

fn read_loss(args: &mut Args<'_>, correlation: &mut Option<u32>) -> Result<Loss, GrammarError> {
    let kind = args.peek().filter(|w| ["random", "state", "gemodel"].contains(w));
    if kind.is_some() {
        args.word()?;
    }
    let first = share(args)?;
    let or = |given: Option<u32>, default: u32| given.unwrap_or(default);
    match kind {
        Some("state") => Ok(Loss::State {
            p13: first,
            p31: or(optional(args)?, u32::MAX - first),
            p32: or(optional(args)?, 0),
            p23: or(optional(args)?, u32::MAX),
            p14: or(optional(args)?, 0),
        }),
        Some("gemodel") => Ok(Loss::Gilbert {
            p: first,
            r: or(optional(args)?, u32::MAX - first),
            bad: or(optional(args)?, u32::MAX),
            good: or(optional(args)?, 0),
        }),
        _ => {
            *correlation = optional(args)?.or(*correlation);
            Ok(Loss::Random(first))
        }
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

fn read_slot(args: &mut Args<'_>) -> Result<Option<Slot>, GrammarError> {
    let spacing = if args.peek() == Some("distribution") {
        args.word()?;
        let shape = Shape::from_index(args.choice(&Shape::WORDS)?);
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
    // The kernel switches slots off if neither bound nor the jitter is set.
    let active = match spacing {
        Spacing::Between(_, max) => max > Dur::ZERO,
        Spacing::Drawn(_, _, jitter) => jitter > Dur::ZERO,
    };
    Ok(active.then_some(slot))
}

/// Whether the next word is a number, and so belongs to the current keyword.
fn is_number(args: &mut Args<'_>) -> bool {
    args.peek().is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}

fn optional(args: &mut Args<'_>) -> Result<Option<u32>, GrammarError> {
    if is_number(args) { share(args).map(Some) } else { Ok(None) }
}

/// A percentage as a 32-bit fraction; the sign may be left out, as in tc.
fn share(args: &mut Args<'_>) -> Result<u32, GrammarError> {
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

/// Appends `name` and the shares; those at the end that are zero are left out beyond `least`.
fn put(text: &mut String, name: &str, shares: &[u32], least: usize) {
    text.push_str(name);
    let used = shares.iter().rposition(|s| *s != 0).map_or(0, |last| last + 1);
    for share in &shares[..used.max(least)] {
        write!(text, " {}", percent(*share)).expect("text grows");
    }
}
