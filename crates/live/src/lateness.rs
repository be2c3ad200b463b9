//! How late packets left: the time between the moment at which one was due and its departure.

use serde::{Serialize, Serializer};
use sojourn_core::Dur;
use sojourn_trace::DelayHistogram;
use sojourn_trace::metrics::DelayStatistics;

/// Departure errors, counted in the buckets of the delays: exact count and maximum, quantiles to
/// 0.1 %. It is as large at its end as at its start, 124 kB; nothing is allocated per record.
///
/// It serializes as the statistics of a delay, in milliseconds; as null if nothing was recorded.
#[derive(Clone, Debug, Default)]
pub struct Lateness(DelayHistogram);

impl Lateness {
    /// Counts a departure that was `error` late.
    #[inline]
    pub fn record(&mut self, error: Dur) {
        self.0.record(error);
    }

    /// Departures.
    pub fn count(&self) -> u64 {
        self.0.count()
    }

    /// What this share of the departures, 0 to 1, does not exceed; `None` without one.
    pub fn quantile(&self, share: f64) -> Option<Dur> {
        self.0.quantile(share)
    }

    /// The latest one, `None` without one.
    pub fn max(&self) -> Option<Dur> {
        self.0.max()
    }

    /// Departures that were later than `limit`, to the resolution of the quantiles.
    pub fn above(&self, limit: Dur) -> u64 {
        self.0.above(limit)
    }

    /// As statistics, ms; `None` without a departure.
    pub fn statistics(&self) -> Option<DelayStatistics> {
        self.0.statistics()
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Self) {
        self.0.add(&other.0);
    }
}

impl Serialize for Lateness {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.statistics().serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
