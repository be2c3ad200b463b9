//! Statistics with their definitions: arithmetic mean; percentiles by linear interpolation between
//! closest ranks (numpy's default, Hyndman and Fan type 7).

use serde::{Deserialize, Serialize};
use sojourn_core::Dur;

/// Summary of a set of samples, in the samples' unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Statistics {
    /// Number of samples.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// 5th percentile.
    pub p05: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest sample.
    pub max: f64,
}

impl Statistics {
    /// Statistics of the finite values; `None` if there is none.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let last = *sorted.last()?;
        Some(Self {
            n: sorted.len(),
            mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
            p05: percentile(&sorted, 0.05),
            p50: percentile(&sorted, 0.50),
            p95: percentile(&sorted, 0.95),
            p99: percentile(&sorted, 0.99),
            max: last,
        })
    }
}

/// The `q` quantile of sorted values.
fn percentile(sorted: &[f64], q: f64) -> f64 {
    let rank = q * (sorted.len() - 1) as f64;
    let below = rank.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (rank - below as f64)
}

/// Delays are distinguished up to 2^40 ns, 18 minutes.
const RANGE_BITS: u32 = 40;

/// Buckets of a histogram that distinguishes delays by 2^-`fine` of their size.
pub(crate) const fn buckets(fine: u32) -> usize {
    ((RANGE_BITS - fine + 1) as usize) << fine
}

/// The bucket of a delay: its leading `fine` + 1 bits, and how many more it has. Below 2^(`fine` + 1) ns
/// each has its own, but none counts as one nanosecond.
#[inline]
pub(crate) fn bucket(fine: u32, delay: Dur) -> usize {
    let ns = delay.0.max(1);
    let more = 63 - fine - (ns | 1 << fine).leading_zeros();
    (((more as usize) << fine) + (ns >> more) as usize).min(buckets(fine) - 1)
}

/// The longest delay in a bucket.
fn upper_edge(fine: u32, bucket: usize) -> Dur {
    let more = (bucket >> fine).saturating_sub(1);
    Dur((((bucket - (more << fine)) as u64 + 1) << more) - 1)
}

/// Packets per bucket, and what is known of them exactly.
pub(crate) struct Counted<'c> {
    pub(crate) fine: u32,
    pub(crate) counts: &'c [u32],
    pub(crate) packets: u64,
    pub(crate) total: u128,
    pub(crate) max: Dur,
}

impl Counted<'_> {
    /// The delay that this share of the packets does not exceed.
    fn quantile(&self, share: f64) -> Dur {
        let wanted = (share * self.packets as f64).ceil() as u64;
        let mut within = 0;
        let reaches = |n: &u32| {
            within += u64::from(*n);
            within >= wanted.max(1)
        };
        let bucket = self.counts.iter().position(reaches).unwrap_or(self.counts.len() - 1);
        // A bucket's upper edge may lie above the largest delay.
        upper_edge(self.fine, bucket).min(self.max)
    }

    /// The statistics, `None` without packets.
    pub(crate) fn statistics(&self) -> Option<DelayStatistics> {
        let quantile = |share: f64| self.quantile(share).as_millis_f64();
        (self.packets > 0).then(|| DelayStatistics {
            n: self.packets,
            mean: self.total as f64 / self.packets as f64 / 1e6,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: self.max.as_millis_f64(),
        })
    }
}

/// Low bits of a delay that a bucket distinguishes: 2^-10 of it.
const FINE_BITS: u32 = 10;
const BUCKETS: usize = buckets(FINE_BITS);
/// Buckets of a row: delays of one stream fall into few of these, and those alone take memory.
const ROW: usize = 128;

/// Delays of individual packets: exact count, mean and maximum, percentiles with a relative
/// resolution of 0.1 %.
#[derive(Clone, Debug)]
pub struct DelayHistogram {
    /// Number of each row, from 1 on; 0 if it is empty. Nothing before the first packet.
    places: Vec<u16>,
    /// Packets per bucket.
    rows: Vec<[u32; ROW]>,
    packets: u64,
    total: u128,
    min: Dur,
    max: Dur,
}

/// Statistics of packet delays in milliseconds.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct DelayStatistics {
    /// Packets.
    pub n: u64,
    /// Mean over packets.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Maximum.
    pub max: f64,
}

impl Default for DelayHistogram {
    fn default() -> Self {
        let (places, rows) = (Vec::new(), Vec::new());
        Self { places, rows, packets: 0, total: 0, min: Dur(u64::MAX), max: Dur::ZERO }
    }
}

impl DelayHistogram {
    /// Counts one packet.
    #[inline]
    pub fn record(&mut self, delay: Dur) {
        let bucket = bucket(FINE_BITS, delay);
        let row = self.row(bucket / ROW);
        self.rows[row][bucket % ROW] += 1;
        self.packets += 1;
        self.total += u128::from(delay.0);
        self.min = self.min.min(delay);
        self.max = self.max.max(delay);
    }

    /// The place of a row, which is added if it is not there.
    #[inline]
    fn row(&mut self, row: usize) -> usize {
        match self.places.get(row) {
            Some(&place) if place > 0 => usize::from(place) - 1,
            _ => self.add_row(row),
        }
    }

    #[cold]
    fn add_row(&mut self, row: usize) -> usize {
        self.places.resize(BUCKETS / ROW, 0);
        self.rows.push([0; ROW]);
        self.places[row] = self.rows.len() as u16;
        self.rows.len() - 1
    }

    /// Packets per bucket, of all buckets.
    fn counts(&self) -> Vec<u32> {
        let row =
            |place: &u16| usize::from(*place).checked_sub(1).map_or([0; ROW], |at| self.rows[at]);
        self.places.iter().flat_map(row).collect()
    }

    /// Packets.
    pub fn count(&self) -> u64 {
        self.packets
    }

    /// The delay that this share of the packets, 0 to 1, does not exceed: at most 0.1 % above the
    /// exact one. `None` without packets.
    pub fn quantile(&self, share: f64) -> Option<Dur> {
        (self.packets > 0).then(|| self.counted(&self.counts()).quantile(share))
    }

    /// The longest delay, `None` without packets.
    pub fn max(&self) -> Option<Dur> {
        (self.packets > 0).then_some(self.max)
    }

    /// The smallest delay, `None` without packets.
    pub fn min(&self) -> Option<Dur> {
        (self.min.0 < u64::MAX).then_some(self.min)
    }

    /// Packets with a longer delay, to the resolution of the percentiles.
    pub fn above(&self, limit: Dur) -> u64 {
        if self.max <= limit {
            return 0;
        }
        let counts = self.counts();
        let within: u64 = counts[..=bucket(FINE_BITS, limit)].iter().map(|n| u64::from(*n)).sum();
        self.packets - within
    }

    /// Adds what another has counted.
    pub fn add(&mut self, other: &Self) {
        if other.packets == 0 {
            return;
        }
        for (row, place) in other.places.iter().enumerate().filter(|(_, place)| **place > 0) {
            let own = self.row(row);
            // A run of weeks may fill a bucket.
            for (sum, n) in self.rows[own].iter_mut().zip(&other.rows[usize::from(*place) - 1]) {
                *sum = sum.saturating_add(*n);
            }
        }
        self.packets += other.packets;
        self.total += other.total;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        if self.packets > 0 {
            self.rows.iter_mut().for_each(|row| row.fill(0));
            (self.packets, self.total) = (0, 0);
            (self.min, self.max) = (Dur(u64::MAX), Dur::ZERO);
        }
    }

    /// The statistics, `None` without packets.
    pub fn statistics(&self) -> Option<DelayStatistics> {
        self.counted(&self.counts()).statistics()
    }

    fn counted<'c>(&self, counts: &'c [u32]) -> Counted<'c> {
        let Self { packets, total, max, .. } = self;
        let (packets, total, max) = (*packets, *total, *max);
        Counted { fine: FINE_BITS, counts, packets, total, max }
    }
}

#[cfg(test)]
mod tests;
