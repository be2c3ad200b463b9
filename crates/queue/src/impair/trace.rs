//! Traces of links: when a link may deliver (mahimahi), how fast it is or how long it takes
//! (piecewise constant).
//! Text is parsed here; whoever builds an element reads the file and hands it over in
//! [`Env::traces`](crate::aqm::Env::traces).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::units::{Dur, Rate, Time};

/// What is wrong with a trace, and in which line (from 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// Line of the file, from 1.
    pub line: usize,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.message)
    }
}

impl std::error::Error for TraceError {}

fn wrong<T>(line: usize, message: impl Into<String>) -> Result<T, TraceError> {
    Err(TraceError { line, message: message.into() })
}

/// FNV-1a over a trace's text: stable over compiler and library versions.
fn digest(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// A mahimahi trace: instants at which a link may deliver, in milliseconds from its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities {
    digest: String,
    ms: Arc<[u64]>,
}

impl Opportunities {
    /// Reads mahimahi's format: one whole number of milliseconds per line, never less than the one
    /// before, the last more than zero, no empty line.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut ms: Vec<u64> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let expected = || format!("expected a whole number of milliseconds, got {line:?}");
            let Some(at) = line.parse().ok().filter(|at| *at <= LAST_MS) else {
                return wrong(index + 1, expected());
            };
            if let Some(before) = ms.last().filter(|before| **before > at) {
                return wrong(index + 1, format!("{at} is before {before} in the line above"));
            }
            ms.push(at);
        }
        match ms.last() {
            None => wrong(1, "expected at least one line"),
            Some(0) => wrong(ms.len(), "the last line must be more than zero: it is the period"),
            Some(_) => Ok(Self { digest: digest(text), ms: ms.into() }),
        }
    }

    /// Milliseconds of each opportunity.
    pub(crate) fn ms(&self) -> &[u64] {
        &self.ms
    }
}

/// Beyond any run, and far from overflow in nanoseconds.
const LAST_MS: u64 = 1_000_000_000;

/// A piecewise constant bandwidth: steps with their start and their number in the file's unit.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSteps {
    digest: String,
    steps: Vec<(Dur, f64)>,
}

impl RateSteps {
    /// Reads lines of a time in seconds and a bandwidth, separated by spaces, a tab or a comma;
    /// lines that are empty or begin with `#` are skipped. Times increase, and count from the
    /// first.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let steps = read_steps(text, "a bandwidth such as `0.5 12000`", 1e12)?;
        if steps.iter().all(|(_, bandwidth)| *bandwidth == 0.0) {
            return wrong(1, "expected at least one line with a bandwidth above zero");
        }
        Ok(Self { digest: digest(text), steps })
    }
}

/// A piecewise constant delay: steps with their start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelaySteps {
    digest: String,
    steps: Arc<[(Dur, Dur)]>,
}

/// Milliseconds; the longest queue that anybody has reported is 40 s.
const LONGEST_DELAY_MS: f64 = 100_000.0;

impl DelaySteps {
    /// Reads lines of a time in seconds and a delay in milliseconds, in the format of [`RateSteps`].
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let steps =
            read_steps(text, "a delay in milliseconds such as `0.2 31.5`", LONGEST_DELAY_MS)?;
        if steps.is_empty() {
            return wrong(1, "expected at least one line with a time and a delay");
        }
        let delay = |ms: f64| Dur((ms * 1e6).round() as u64);
        let steps = steps.iter().map(|(at, ms)| (*at, delay(*ms))).collect();
        Ok(Self { digest: digest(text), steps })
    }
}

/// Lines of a time in seconds and a number up to `most`; times increase, and count from the first.
fn read_steps(text: &str, what: &str, most: f64) -> Result<Vec<(Dur, f64)>, TraceError> {
    let mut steps: Vec<(Dur, f64)> = Vec::new();
    let mut first = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut words = line.split([' ', '\t', ',']).filter(|word| !word.is_empty());
        let mut number = |most| words.next()?.parse().ok().filter(|n| (0.0..=most).contains(n));
        let (Some(at), Some(value), None) = (number(1e12), number(most), words.next()) else {
            let got = format!("expected a time in seconds and {what}, got {line:?}");
            return wrong(index + 1, got);
        };
        let start = *first.get_or_insert(at);
        let since = Dur(((at - start).max(0.0) * 1e9).round() as u64);
        if at < start || steps.last().is_some_and(|(before, _)| *before >= since) {
            return wrong(index + 1, format!("{at} s is not after the time in the line above"));
        }
        steps.push((since, value));
    }
    Ok(steps)
}

/// The traces that elements may name, by the word after their `file`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traces {
    opportunities: Arc<BTreeMap<String, Opportunities>>,
    rates: Arc<BTreeMap<String, RateSteps>>,
    delays: Arc<BTreeMap<String, DelaySteps>>,
}

impl Traces {
    /// Adds a trace for `mahimahi` under `name`.
    pub fn add_opportunities(&mut self, name: &str, trace: Opportunities) {
        Arc::make_mut(&mut self.opportunities).insert(name.to_owned(), trace);
    }

    /// Adds a trace for `rate_trace` and `grant` under `name`.
    pub fn add_rates(&mut self, name: &str, trace: RateSteps) {
        Arc::make_mut(&mut self.rates).insert(name.to_owned(), trace);
    }

    /// Adds a trace for `netem delay trace` under `name`.
    pub fn add_delays(&mut self, name: &str, trace: DelaySteps) {
        Arc::make_mut(&mut self.delays).insert(name.to_owned(), trace);
    }

    /// The digest of the delay trace called `name`, as its `digest` word has it.
    pub fn digest_of_delays(&self, name: &str) -> Option<String> {
        self.delays.get(name).map(|trace| trace.digest.clone())
    }

    /// The digest of the mahimahi trace called `name`, as its `digest` word has it.
    pub fn digest_of_opportunities(&self, name: &str) -> Option<String> {
        self.opportunities.get(name).map(|trace| trace.digest.clone())
    }

    /// The digest of the rate trace called `name`, as its `digest` word has it.
    pub fn digest_of_rates(&self, name: &str) -> Option<String> {
        self.rates.get(name).map(|trace| trace.digest.clone())
    }

    /// The mahimahi trace that `words` names, which state its digest from then on.
    pub(crate) fn opportunities(
        &self,
        words: &mut FileWords,
        args: &Args<'_>,
    ) -> Result<Opportunities, GrammarError> {
        let trace = self.opportunities.get(&words.file).ok_or_else(|| words.absent(args))?;
        words.settle(&trace.digest, args)?;
        Ok(trace.clone())
    }

    /// The rate trace that `words` names, which state its digest from then on, with rates in `unit`
    /// and served from `start` on.
    pub(crate) fn rates(
        &self,
        words: &mut FileWords,
        unit: Rate,
        args: &Args<'_>,
        start: Time,
    ) -> Result<RateCursor, GrammarError> {
        let trace = self.rates.get(&words.file).ok_or_else(|| words.absent(args))?;
        words.settle(&trace.digest, args)?;
        let rate = |bandwidth: f64| Rate((bandwidth * unit.0 as f64).round() as u64);
        let steps: Vec<_> = trace.steps.iter().map(|(at, b)| (*at, rate(*b))).collect();
        if steps.iter().all(|(_, rate)| *rate == Rate(0)) {
            return Err(args.invalid("the trace has no rate of at least 1bit"));
        }
        if words.repeats && steps.len() < 2 {
            return Err(args.invalid("`repeat` needs a trace of at least two steps"));
        }
        Ok(RateCursor::new(steps.into(), words.repeats, start))
    }

    /// The delay trace that `words` names, which state its digest from then on, from `start` on and
    /// over again.
    pub(crate) fn delays(
        &self,
        words: &mut FileWords,
        args: &Args<'_>,
        start: Time,
    ) -> Result<DelayCursor, GrammarError> {
        let trace = self.delays.get(&words.file).ok_or_else(|| words.absent(args))?;
        words.settle(&trace.digest, args)?;
        Ok(DelayCursor::new(trace.steps.clone(), trace.steps.len() > 1, start))
    }
}

/// The words that name a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileWords {
    pub(crate) file: String,
    digest: String,
    pub(crate) repeats: bool,
}

pub(crate) const FILE: Param = Param {
    name: "file",
    value: "NAME",
    default: "(required)",
    doc: "Trace file, relative to the scenario file; a space in its name is written `%20`.",
};

pub(crate) const DIGEST: Param = Param {
    name: "digest",
    value: "HEX",
    default: "that of the file",
    doc: "What the file's content must give; the resolved scenario states it.",
};

pub(crate) const UNIT: Param = Param {
    name: "unit",
    value: "RATE",
    default: "1Kbit",
    doc: "What a bandwidth of 1 in the file means.",
};

pub(crate) fn read_unit(args: &mut Args<'_>) -> Result<Rate, GrammarError> {
    let rate = |w| Rate::parse_tc(w).filter(|r| (1..=1 << 30).contains(&r.0));
    args.value("a rate from 1bit to 1Gbit", rate)
}

impl FileWords {
    pub(crate) fn new(repeats: bool) -> Self {
        Self { file: String::new(), digest: String::new(), repeats }
    }

    /// Reads the current word, which must be one of these; `once` is the word for not repeating.
    pub(crate) fn read(
        &mut self,
        key: &str,
        once: &str,
        args: &mut Args<'_>,
    ) -> Result<(), GrammarError> {
        match key {
            "file" => args.word()?.clone_into(&mut self.file),
            "digest" => {
                let hex = |word: &&str| {
                    word.len() == 16 && word.bytes().all(|b| b"0123456789abcdef".contains(&b))
                };
                self.digest = args.value("16 hexadecimal digits", |w| Some(w).filter(hex))?.into();
            }
            "repeat" => self.repeats = true,
            word if word == once => self.repeats = false,
            _ => return Err(args.unknown()),
        }
        Ok(())
    }

    /// Whether `other` names the same content.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        self.file == other.file && self.digest == other.digest
    }

    /// The name and the digest.
    pub(crate) fn stated(&self) -> String {
        format!("{} digest {}", self.file, self.digest)
    }

    /// The words, with `once` for not repeating.
    pub(crate) fn describe(&self, once: &str) -> String {
        let repeats = if self.repeats { "repeat" } else { once };
        format!("file {} digest {} {repeats}", self.file, self.digest)
    }

    fn absent(&self, args: &Args<'_>) -> GrammarError {
        if self.file.is_empty() {
            args.invalid("`file` is required")
        } else {
            args.invalid(format_args!("`file {}`: no trace of this name was read", self.file))
        }
    }

    /// States the digest, and refuses a file that is not the stated one.
    fn settle(&mut self, digest: &str, args: &Args<'_>) -> Result<(), GrammarError> {
        if self.digest.is_empty() || self.digest == digest {
            digest.clone_into(&mut self.digest);
            return Ok(());
        }
        let (file, stated) = (&self.file, &self.digest);
        Err(args.invalid(format_args!(
            "`file {file}` has changed: its digest is {digest}, not {stated}"
        )))
    }
}

pub(crate) type RateCursor = StepCursor<Rate>;
pub(crate) type DelayCursor = StepCursor<Dur>;

/// The value in force, walked forwards.
#[derive(Clone, Debug)]
pub(crate) struct StepCursor<T> {
    steps: Arc<[(Dur, T)]>,
    /// Length of the trace if it repeats: its last step lasts as long as the one before.
    period: Option<Dur>,
    /// Start of the current repetition.
    base: Time,
    index: usize,
}

impl<T: Copy> StepCursor<T> {
    fn new(steps: Arc<[(Dur, T)]>, repeats: bool, start: Time) -> Self {
        let last = steps.len() - 1;
        let period = repeats.then(|| steps[last].0 * 2 - steps[last - 1].0);
        Self { steps, period, base: start, index: 0 }
    }

    #[inline]
    pub(crate) fn value(&self) -> T {
        self.steps[self.index].1
    }

    /// End of the current step.
    #[inline]
    fn until(&self) -> Time {
        match (self.steps.get(self.index + 1), self.period) {
            (Some((at, _)), _) => self.base + *at,
            (None, Some(period)) => self.base + period,
            (None, None) => Time::NEVER,
        }
    }

    fn step(&mut self) {
        self.index += 1;
        if self.index == self.steps.len() {
            self.base += self.period.unwrap_or(Dur::ZERO);
            self.index = 0;
        }
    }

    /// Moves to the step at `now`, which does not go backwards.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        while self.until() <= now && self.until() != Time::NEVER {
            self.step();
        }
    }
}

impl RateCursor {
    #[inline]
    pub(crate) fn rate(&self) -> Rate {
        self.value()
    }

    /// When `bytes` that start at `from` are through; [`Time::NEVER`] if the trace ends at zero.
    pub(crate) fn serve(&mut self, from: Time, bytes: u64) -> Time {
        // In bits times nanoseconds per second.
        let mut work = u128::from(bytes) * 8_000_000_000;
        let mut from = from;
        self.advance(from);
        loop {
            let (rate, until) = (u128::from(self.rate().0), self.until());
            let most = rate * u128::from(until.since(from).0);
            if until == Time::NEVER && rate == 0 {
                return Time::NEVER;
            }
            if until == Time::NEVER || most >= work {
                return from + Dur(work.div_ceil(rate.max(1)).min(u128::from(u64::MAX)) as u64);
            }
            work -= most;
            from = until;
            self.step();
        }
    }
}

#[cfg(test)]
mod tests;
