//! What real hosts do to timing: how late they handle what arrives and what falls due.
//!
//! Each lateness has two distributions, of a host that was at work just before and of one that was idle: a
//! processor leaves its idle state in up to some tens of microseconds (`exit_latency` of Linux's
//! cpuidle drivers), and how deep it sleeps is chosen by the distances of its last eight wake-ups (the menu
//! governor's `get_typical_interval`). A distribution is given by quantiles, between which it is linear, so that a draw
//! needs nothing but additions and multiplications and is the same on every machine.

use std::fmt;

use sojourn_core::grammar::forms::{Form, custom};
use sojourn_core::grammar::{Args, GrammarError, read, table, text, written};
use sojourn_core::{Dur, Rng, parameters};

/// The shares at which a distribution is known.
const SHARES: [f64; 5] = [0.0, 0.5, 0.9, 0.99, 0.999];

/// A distribution of times: least, median, and those that 90, 99 and 99.9 % are below. The last is drawn in
/// place of what is beyond: how late the latest in a thousand is varies too much between captures to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantiles(pub [Dur; 5]);

impl Quantiles {
    /// In microseconds.
    const fn micros(of: [u64; 5]) -> Self {
        let [least, median, p90, p99, p999] = of;
        Self([
            Dur::from_micros(least),
            Dur::from_micros(median),
            Dur::from_micros(p90),
            Dur::from_micros(p99),
            Dur::from_micros(p999),
        ])
    }

    /// A draw.
    pub fn draw(&self, rng: &mut Rng) -> Dur {
        let unit = rng.unit().min(SHARES[4]);
        let above = SHARES.iter().position(|share| unit < *share).unwrap_or(SHARES.len() - 1);
        let (from, to) = (SHARES[above - 1], SHARES[above]);
        let (low, high) = (self.0[above - 1].0, self.0[above].0);
        Dur(low + ((high - low) as f64 * ((unit - from) / (to - from))) as u64)
    }

    fn parse(word: &str) -> Option<Self> {
        let times: Option<Vec<Dur>> = word.split('/').map(Dur::parse_tc).collect();
        let times: [Dur; 5] = times?.try_into().ok()?;
        (times.is_sorted() && times[4] <= Dur::from_secs(1)).then_some(Self(times))
    }
}

impl fmt::Display for Quantiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [least, median, p90, p99, p999] = self.0;
        write!(f, "{least}/{median}/{p90}/{p99}/{p999}")
    }
}

fn quantiles() -> impl Form<Quantiles> {
    const EXPECTED: &str = "five times in rising order, at most 1s, such as `1us/3us/5us/20us/200us`: least, median, 90 %, 99 %, 99.9 %";
    let read = |args: &mut Args<'_>| args.value(EXPECTED, Quantiles::parse);
    custom("QUANTILES", read, Quantiles::to_string)
}

parameters! {
    /// What hosts do to timing. The defaults are fitted to the packet timing of two captured runs of the
    /// ect1 testbed (docs/results/noise.md).
    #[derive(Copy, PartialEq)]
    pub struct Noise {
        /// From a packet's arrival to what the host does about it, of a host that is at work.
        pub turn: Quantiles = Quantiles::micros([1, 3, 5, 10, 22]) => quantiles();
        /// The same of a host that was idle.
        pub turn_idle: Quantiles = Quantiles::micros([2, 21, 28, 37, 53]) => quantiles();
        /// How late a timer is, of a host that is at work.
        pub timer: Quantiles = Quantiles::micros([2, 5, 7, 13, 44]) => quantiles();
        /// The same of a host that was idle.
        pub timer_idle: Quantiles = Quantiles::micros([4, 28, 84, 103, 117]) => quantiles();
        /// A host whose last eight wake-ups were on average further apart than this is idle.
        pub idle_after: Dur = Dur::from_micros(300);
        /// Least time between two interrupts of the network card; what arrives before is handled together.
        pub coalesce: Dur = Dur::ZERO;
        /// The path is emulated by the machine that all hosts share, as between network namespaces: queues, shapers
        /// and delays have its timers, and are late, too.
        pub emulated: bool = false, name "emulated|real";
    }
}

/// Name of the model in texts, and what means that there is none.
const NAME: &str = "linux";
pub(crate) const NONE: &str = "none";

impl Noise {
    /// Reads `none`, or `linux` with parameters.
    pub(crate) fn read(of: &str) -> Result<Option<Self>, GrammarError> {
        let of = of.trim();
        if of == NONE {
            return Ok(None);
        }
        let (name, rest) = of.split_once(char::is_whitespace).unwrap_or((of, ""));
        if name != NAME {
            let expected = format!(
                "`{of}`: expected `none` or `linux`, with parameters such as `coalesce 50us`"
            );
            return Err(GrammarError(expected));
        }
        let mut noise = Self::default();
        read(&mut noise, &mut Args::of(NAME, &table::<Self>, rest))?;
        Ok(Some(noise))
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME} {}", text(&written(self)))
    }
}

#[cfg(test)]
mod tests;
