//! Traces of links: when a link may deliver (mahimahi), how fast it is or how long it takes
//! (piecewise constant).
//! Text is parsed here; whoever builds an element reads the file and hands it over in
//! [`Env::traces`](crate::aqm::Env::traces), where its discipline finds it when it is checked.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sojourn_core::grammar::Args;
use sojourn_core::grammar::forms::{Form, custom};
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
fn fnv(text: &str) -> String {
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
            Some(_) => Ok(Self { digest: fnv(text), ms: ms.into() }),
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
        Ok(Self { digest: fnv(text), steps })
    }
}

/// A piecewise constant delay: steps with their start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelaySteps {
    digest: String,
    steps: Steps<Dur>,
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
        Ok(Self { digest: fnv(text), steps })
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

/// A sort of trace.
pub trait Trace: Clone {
    /// Of the text.
    fn digest(&self) -> &str;
    /// Those of this sort.
    fn of(traces: &Traces) -> &BTreeMap<String, Self>;
    /// Those of this sort.
    fn of_mut(traces: &mut Traces) -> &mut BTreeMap<String, Self>;
}

macro_rules! traces {
    ($($field:ident: $sort:ty),*) => {
        /// The traces that elements may name, by the name after their `file`.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Traces {
            $($field: Arc<BTreeMap<String, $sort>>),*
        }

        $(impl Trace for $sort {
            fn digest(&self) -> &str {
                &self.digest
            }

            fn of(traces: &Traces) -> &BTreeMap<String, Self> {
                &traces.$field
            }

            fn of_mut(traces: &mut Traces) -> &mut BTreeMap<String, Self> {
                Arc::make_mut(&mut traces.$field)
            }
        })*
    };
}

traces!(opportunities: Opportunities, rates: RateSteps, delays: DelaySteps);

impl Traces {
    /// Adds a trace under `name`.
    pub fn add<T: Trace>(&mut self, name: &str, trace: T) {
        T::of_mut(self).insert(name.to_owned(), trace);
    }

    /// The digest of the trace called `name`, as the parameter `digest` has it.
    pub fn digest<T: Trace>(&self, name: &str) -> Option<String> {
        T::of(self).get(name).map(|trace| trace.digest().to_owned())
    }

    /// The trace that the parameter `key` names, whose digest is stated from then on.
    pub(crate) fn find<T: Trace>(
        &self,
        key: &str,
        file: Option<&str>,
        digest: &mut Option<String>,
    ) -> Result<T, String> {
        let file = file.ok_or_else(|| format!("`{key}` is required"))?;
        let trace = T::of(self).get(file);
        let trace =
            trace.ok_or_else(|| format!("`{key} {file}`: no trace of this name was read"))?;
        let (is, stated) =
            (trace.digest(), digest.get_or_insert_with(|| trace.digest().to_owned()));
        if stated == is {
            Ok(trace.clone())
        } else {
            Err(format!("`{key} {file}` has changed: its digest is {is}, not {stated}"))
        }
    }
}

/// The name of a trace.
pub(crate) fn file() -> impl Form<String> {
    custom("NAME", |args: &mut Args<'_>| args.word().map(str::to_owned), String::clone)
}

/// What a trace's content must give.
pub(crate) fn digest() -> impl Form<String> {
    let is_hex =
        |word: &&str| word.len() == 16 && word.bytes().all(|b| b"0123456789abcdef".contains(&b));
    let read = move |args: &mut Args<'_>| {
        args.value("16 hexadecimal digits", |word| Some(word).filter(is_hex)).map(str::to_owned)
    };
    custom("HEX", read, String::clone)
}

/// What a bandwidth of 1 means.
pub(crate) fn unit() -> impl Form<Rate> {
    let read = |args: &mut Args<'_>| {
        let rate = |word| Rate::parse_tc(word).filter(|rate| (1..=1 << 30).contains(&rate.0));
        args.value("a rate from 1bit to 1Gbit", rate)
    };
    custom("RATE", read, Rate::to_string)
}

impl RateSteps {
    /// The steps with a bandwidth of 1 being `unit`.
    pub(crate) fn in_unit(&self, unit: Rate, repeats: bool) -> Result<Steps<Rate>, String> {
        let rate = |bandwidth: f64| Rate((bandwidth * unit.0 as f64).round() as u64);
        let steps: Steps<Rate> = self.steps.iter().map(|(at, b)| (*at, rate(*b))).collect();
        if steps.iter().all(|(_, rate)| *rate == Rate(0)) {
            return Err("the trace has no rate of at least 1bit".to_owned());
        }
        if repeats && steps.len() < 2 {
            return Err("`repeat` needs a trace of at least two steps".to_owned());
        }
        Ok(steps)
    }
}

impl DelaySteps {
    /// The delay from `start` on, and over again.
    pub(crate) fn cursor(&self, start: Time) -> DelayCursor {
        DelayCursor::new(self.steps.clone(), self.steps.len() > 1, start)
    }
}

/// Values with the time since the start from which they hold.
pub(crate) type Steps<T> = Arc<[(Dur, T)]>;
pub(crate) type RateCursor = StepCursor<Rate>;
pub(crate) type DelayCursor = StepCursor<Dur>;

/// The value in force, walked forwards.
#[derive(Clone, Debug)]
pub(crate) struct StepCursor<T> {
    steps: Steps<T>,
    /// Length of the trace if it repeats: its last step lasts as long as the one before.
    period: Option<Dur>,
    /// Start of the current repetition.
    base: Time,
    index: usize,
}

impl<T: Copy> StepCursor<T> {
    pub(crate) fn new(steps: Steps<T>, repeats: bool, start: Time) -> Self {
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
