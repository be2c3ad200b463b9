//! Goodput of flows from their series of delivered bytes: over any time, and in bins of a second.

use sojourn_core::{Dur, Time};

use crate::metrics::Statistics;
use crate::record::Column;
use crate::rfc5166::Bins;
use crate::running::Running;

/// Width of the bins in which rates are compared.
pub(crate) const BIN: Dur = Dur::from_millis(1000);
/// Least width of the bins of a rate over time: that of netperf's interim results.
const SHORT: Dur = Dur::from_millis(100);

/// Bytes that a flow has delivered, as they were sampled.
#[derive(Clone, Copy, Debug)]
pub struct Goodput<'c>(Source<'c>);

#[derive(Clone, Copy, Debug)]
enum Source<'c> {
    /// Every sample, if there are any.
    Column(Option<&'c Column>),
    /// What was made of each as it passed.
    Running(&'c Running),
}

impl<'c> From<&'c Running> for Goodput<'c> {
    fn from(running: &'c Running) -> Self {
        Self(Source::Running(running))
    }
}

impl<'c> Goodput<'c> {
    /// From the columns of a flow's group.
    pub fn of(columns: &'c [Column]) -> Self {
        Self(Source::Column(columns.iter().find(|c| c.name.ends_with(".goodput_bytes"))))
    }

    /// Bytes delivered until `time`, to the sample before it.
    fn bytes(self, time: Time) -> f64 {
        let Source::Column(Some(bytes)) = self.0 else { return 0.0 };
        let after = bytes.t.partition_point(|t| *t <= time.as_secs_f64() + 1e-9);
        if after == 0 { 0.0 } else { bytes.v[after - 1] }
    }

    /// Mbit/s from one instant to another.
    pub fn mbps(self, from: Time, to: Time) -> f64 {
        let length = to.since(from);
        if length == Dur::ZERO {
            return 0.0;
        }
        let bytes = self.bytes(to) - self.bytes(from);
        bytes * 8.0 / length.as_secs_f64() / 1e6
    }

    /// Mbit/s in bins; a last bin that is not full is left away.
    fn bins(self, width: Dur, from: Time, to: Time) -> impl Iterator<Item = f64> {
        let edge = move |i: u64| from + width * i;
        let whole = to.since(from).0 / width.0;
        (0..whole).map(move |i| self.mbps(edge(i), edge(i + 1)))
    }

    /// Statistics of the rate in bins of 0.1 s, or the least multiple of the sampling `step` above that.
    pub fn over_time(self, from: Time, to: Time, step: Dur) -> Option<Statistics> {
        Statistics::of(self.bins(short_bin(step), from, to))
    }

    /// Mbit/s in bins of a second.
    fn seconds(self, from: Time, to: Time) -> Vec<f64> {
        match self.0 {
            Source::Running(running) => running.seconds(from, to),
            Source::Column(_) => self.bins(BIN, from, to).collect(),
        }
    }
}

pub(crate) fn short_bin(step: Dur) -> Dur {
    step * SHORT.0.div_ceil(step.0)
}

/// A flow, for its shares of time.
#[derive(Clone, Copy, Debug)]
pub struct Share<'c> {
    /// What it delivered.
    pub goodput: Goodput<'c>,
    /// When it starts.
    pub start: Time,
    /// When it stops, if before the end.
    pub stop: Option<Time>,
    /// Whether its share counts for fairness: it wants all that it can get.
    pub is_compared: bool,
}

impl Bins {
    /// The bins of flows, in the order of the summary, within a window and up to the `end` of the run. Those
    /// of all together lack the flows whose samples are not kept.
    pub fn of(flows: &[Share<'_>], (from, to): (Time, Time), end: Time, step: Dur) -> Self {
        let to = to.min(end);
        let windowed = flows.iter().map(|f| f.goodput.seconds(from, to)).collect();
        let mut together: Vec<f64> = Vec::new();
        let kept = flows.iter().filter(|f| matches!(f.goodput.0, Source::Column(_)));
        for flow in kept {
            let rates = flow.goodput.bins(short_bin(step), from, to);
            if together.is_empty() {
                together.extend(rates);
            } else {
                together.iter_mut().zip(rates).for_each(|(sum, rate)| *sum += rate);
            }
        }
        let compared: Vec<usize> =
            flows.iter().enumerate().filter(|(_, f)| f.is_compared).map(|(n, _)| n).collect();
        let of = |n: &usize| &flows[*n];
        let from = compared.iter().map(|n| of(n).start).max().unwrap_or(end);
        let to = compared.iter().filter_map(|n| of(n).stop).min().unwrap_or(end).min(end);
        let rates: Vec<Vec<f64>> =
            compared.iter().map(|n| of(n).goodput.seconds(from, to)).collect();
        let length = rates.first().map_or(0, Vec::len);
        let since_last_start =
            (0..length).map(|bin| rates.iter().map(|r| r[bin]).collect()).collect();
        Self { windowed, together, compared, since_last_start }
    }
}

#[cfg(test)]
mod tests;
