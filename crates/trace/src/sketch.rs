//! Statistics of samples that are not kept: how many fell into each bucket of a logarithmic scale.

use crate::metrics::Statistics;

/// A bucket is 2^-6 of its value wide: its middle is within 0.8 % of every sample in it.
const FINE_BITS: u32 = 6;
/// Bits of a number below those that a bucket distinguishes.
const BELOW: u32 = f64::MANTISSA_DIGITS - 1 - FINE_BITS;

/// Samples of which the mean and the largest are exact and the percentiles within 1 %. It takes 8 bytes for
/// each bucket that has any: those of an RTT are some tens.
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    /// Buckets with their samples, by value. Samples below the smallest normal number share the first.
    buckets: Vec<(u32, u32)>,
    total: f64,
    least: f64,
    greatest: f64,
    n: u64,
}

impl Sketch {
    /// Counts a sample; what is not finite does not count.
    pub fn record(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        if self.n == 0 {
            (self.least, self.greatest) = (value, value);
        }
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
        self.total += value;
        self.n += 1;
        let bucket = bucket(value);
        match self.buckets.binary_search_by_key(&bucket, |(bucket, _)| *bucket) {
            Ok(at) => self.buckets[at].1 += 1,
            Err(at) => {
                if self.buckets.len() == self.buckets.capacity() {
                    self.buckets.reserve_exact(self.buckets.len() / 4 + 4);
                }
                self.buckets.insert(at, (bucket, 1));
            }
        }
    }

    /// The statistics; `None` without samples.
    pub fn statistics(&self) -> Option<Statistics> {
        (self.n > 0).then(|| Statistics {
            n: self.n as usize,
            mean: self.total / self.n as f64,
            p05: self.quantile(0.05),
            p50: self.quantile(0.50),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            max: self.greatest,
        })
    }

    /// The sample whose rank is nearest.
    fn quantile(&self, share: f64) -> f64 {
        let rank = (share * (self.n - 1) as f64).round() as u64;
        let mut within = 0;
        let reaches = |(_, n): &&(u32, u32)| {
            within += u64::from(*n);
            within > rank
        };
        let found = self.buckets.iter().find(reaches).map_or(0, |(bucket, _)| *bucket);
        middle(found).clamp(self.least, self.greatest)
    }
}

/// The leading bits of a value, which order as the values do; one for all that is not positive.
fn bucket(value: f64) -> u32 {
    if value < f64::MIN_POSITIVE { 0 } else { (value.to_bits() >> BELOW) as u32 }
}

fn middle(bucket: u32) -> f64 {
    if bucket == 0 {
        return 0.0;
    }
    let low = u64::from(bucket) << BELOW;
    f64::from_bits(low | 1 << (BELOW - 1))
}

#[cfg(test)]
mod tests;
