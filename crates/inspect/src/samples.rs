//! Many samples of one quantity in little memory: moments exactly, percentiles from buckets.

use crate::report::Distribution;

/// Leading bits of a sample's fraction that buckets distinguish: they are 2^-6 of their lower edge wide, so that
/// their middle is within 0.8 % of every sample in them.
const FINE_BITS: u32 = 6;
/// Bits of a double's fraction that buckets do not distinguish.
const COARSE: u32 = f64::MANTISSA_DIGITS - 1 - FINE_BITS;
/// Samples below this, and negative ones, share the lowest bucket: a picosecond where the unit is ms.
const LEAST: f64 = 1e-9;
/// As those above this share the highest.
const MOST: f64 = 1e15;
/// The bits of the lowest bucket.
const LOWEST: u32 = (LEAST.to_bits() >> COARSE) as u32;

/// Samples of one quantity. Empty, it owns no memory; else 4 bytes for each bucket between the smallest and the
/// largest sample, 64 for each factor of two and at most 21 kB.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    n: u64,
    /// The first sample. Distances to it are summed, which needs no division for each of them and, unlike sums of the
    /// samples, loses no digits where they are close together (Chan, Golub and LeVeque 1983).
    origin: f64,
    /// Sum of the distances, and of their squares.
    sum: f64,
    squares: f64,
    min: f64,
    max: f64,
    /// Bucket of `counts[0]`.
    first: u32,
    counts: Vec<u32>,
}

impl Samples {
    /// Adds a sample; what is no number is none.
    #[inline]
    pub fn record(&mut self, value: f64) {
        // A sample in a bucket that there is needs no other test: the sign and the exponents of what has none of its own
        // lie outside of all.
        let positive = if value == 0.0 { LEAST } else { value };
        let at = bits(positive).wrapping_sub(LOWEST).wrapping_sub(self.first) as usize;
        match self.counts.get_mut(at) {
            Some(count) => *count = count.saturating_add(1),
            None if value.is_finite() => *self.room(value) += 1,
            None => return,
        }
        self.n += 1;
        let distance = value - self.origin;
        self.sum += distance;
        self.squares += distance * distance;
        if value < self.min {
            self.min = value;
        }
        if value > self.max {
            self.max = value;
        }
    }

    /// Adds a time in ns as one in ms.
    #[inline]
    pub(crate) fn record_ms(&mut self, ns: u64) {
        // Times have 60 bits, and a signed number is a double with one instruction.
        self.record(ns.cast_signed() as f64 / 1e6);
    }

    /// Adds a number of bytes or packets.
    #[inline]
    pub(crate) fn record_number(&mut self, n: u64) {
        self.record(n.cast_signed() as f64);
    }

    /// The count of a sample outside of the buckets that there are, or beyond the lowest or highest; of the first one, where
    /// the distances begin.
    #[inline(never)]
    fn room(&mut self, value: f64) -> &mut u32 {
        let bucket = bucket(value);
        if self.n == 0 {
            (self.origin, self.min, self.max) = (value, value, value);
            self.first = bucket;
        }
        if bucket < self.first {
            let missing = (self.first - bucket) as usize;
            self.counts.splice(..0, std::iter::repeat_n(0, missing));
            self.first = bucket;
        }
        let at = (bucket - self.first) as usize;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        &mut self.counts[at]
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.n
    }

    /// Arithmetic mean; 0 of none.
    pub fn mean(&self) -> f64 {
        self.origin + self.sum / self.n.max(1) as f64
    }

    /// Standard deviation, of n - 1; 0 of fewer than two.
    fn deviation(&self) -> f64 {
        let n = self.n as f64;
        let squares = (self.squares - self.sum * self.sum / n).max(0.0);
        if self.n > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 }
    }

    /// The value that this share of the samples does not exceed, within 1 %; 0 of none.
    pub fn quantile(&self, share: f64) -> f64 {
        let wanted = ((share * self.n as f64).ceil() as u64).max(1);
        let mut within = 0;
        let reaches = |n: &u32| {
            within += u64::from(*n);
            within >= wanted
        };
        let at = self.counts.iter().position(reaches).unwrap_or(self.counts.len());
        middle(self.first + at as u32).clamp(self.min, self.max)
    }

    /// All that is reported; none without samples.
    pub fn distribution(&self) -> Option<Distribution> {
        (self.n > 0).then(|| Distribution {
            n: self.n,
            min: self.min,
            mean: self.mean(),
            stddev: self.deviation(),
            p50: self.quantile(0.5),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            max: self.max,
        })
    }
}

/// Sign, exponent and leading bits of the fraction: a number that grows with samples that are not negative.
#[inline]
fn bits(value: f64) -> u32 {
    (value.to_bits() >> COARSE) as u32
}

fn bucket(value: f64) -> u32 {
    bits(value.clamp(LEAST, MOST)) - LOWEST
}

/// What a bucket's samples are taken for.
fn middle(bucket: u32) -> f64 {
    if bucket == 0 {
        return 0.0;
    }
    let bits = u64::from(bucket) + u64::from(LOWEST);
    f64::midpoint(f64::from_bits(bits << COARSE), f64::from_bits((bits + 1) << COARSE))
}

#[cfg(test)]
mod tests;
