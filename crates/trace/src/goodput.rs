//! Goodput of flows from their series of delivered bytes: over any time, and in bins of a second.

use sojourn_core::{Dur, Time};

use crate::record::Column;
use crate::rfc5166::Bins;

/// Width of the bins in which rates are compared.
const BIN: Dur = Dur::from_millis(1000);

/// Bytes that a flow has delivered, as they were sampled.
#[derive(Clone, Copy, Debug)]
pub struct Goodput<'c>(Option<&'c Column>);

impl<'c> Goodput<'c> {
    /// From the columns of a flow's group.
    pub fn of(columns: &'c [Column]) -> Self {
        Self(columns.iter().find(|c| c.name.ends_with(".goodput_bytes")))
    }

    /// Bytes delivered until `time`, to the sample before it.
    fn bytes(self, time: Time) -> f64 {
        let Some(bytes) = self.0 else { return 0.0 };
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

    /// Mbit/s in bins of a second; a last bin that is not full is left away.
    fn bins(self, from: Time, to: Time) -> Vec<f64> {
        let edges = |i: u64| from + BIN * i;
        let whole = to.since(from).0 / BIN.0;
        (0..whole).map(|i| self.mbps(edges(i), edges(i + 1))).collect()
    }
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
    /// Whether its share tells of fairness: it wants all that it can get.
    pub is_compared: bool,
}

impl Bins {
    /// The bins of flows, in the order of the summary, within a window and up to the `end` of the run.
    pub fn of(flows: &[Share<'_>], (from, to): (Time, Time), end: Time) -> Self {
        let to = to.min(end);
        let windowed = flows.iter().map(|f| f.goodput.bins(from, to)).collect();
        let compared: Vec<usize> =
            flows.iter().enumerate().filter(|(_, f)| f.is_compared).map(|(n, _)| n).collect();
        let of = |n: &usize| &flows[*n];
        let from = compared.iter().map(|n| of(n).start).max().unwrap_or(end);
        let to = compared.iter().filter_map(|n| of(n).stop).min().unwrap_or(end).min(end);
        let rates: Vec<Vec<f64>> = compared.iter().map(|n| of(n).goodput.bins(from, to)).collect();
        let length = rates.first().map_or(0, Vec::len);
        let since_last_start =
            (0..length).map(|bin| rates.iter().map(|r| r[bin]).collect()).collect();
        Self { windowed, compared, since_last_start }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(mbps: &[f64]) -> Vec<Column> {
        let sums = mbps.iter().scan(0.0, |sum, rate| {
            *sum += rate * 1e6 / 8.0;
            Some(*sum)
        });
        let v: Vec<f64> = std::iter::once(0.0).chain(sums).collect();
        let t = (0..v.len()).map(|n| n as f64).collect();
        vec![Column { name: "flow.f.goodput_bytes".into(), unit: "bytes", t, v }]
    }

    fn at(seconds: u64) -> Time {
        Time(seconds * 1_000_000_000)
    }

    #[test]
    fn bins_are_whole_seconds_of_the_window() {
        let columns = column(&[8.0, 2.0, 4.0, 6.0]);
        let goodput = Goodput::of(&columns);
        assert_eq!(goodput.mbps(at(1), at(3)), 3.0);
        assert_eq!(goodput.mbps(at(1), at(1)), 0.0);
        assert_eq!(goodput.bins(at(1), Time(3_900_000_000)), [2.0, 4.0]);
        assert_eq!(Goodput::of(&[]).mbps(at(0), at(1)), 0.0, "nothing was sampled");
    }

    #[test]
    fn shares_are_compared_from_the_last_start_to_the_first_stop() {
        let columns = [column(&[9.0, 8.0, 7.0, 6.0]), column(&[0.0, 2.0, 3.0, 4.0])];
        let share = |n: usize, start, stop, is_compared| {
            let goodput = Goodput::of(&columns[n]);
            Share { goodput, start: at(start), stop, is_compared }
        };
        let flows =
            [share(0, 0, Some(at(3)), true), share(1, 0, None, false), share(1, 1, None, true)];
        let bins = Bins::of(&flows, (at(2), at(9)), at(4));
        assert_eq!(bins.windowed, [[7.0, 6.0], [3.0, 4.0], [3.0, 4.0]]);
        assert_eq!(bins.compared, [0, 2]);
        assert_eq!(bins.since_last_start, [[8.0, 2.0], [7.0, 3.0]]);
    }
}
