//! Where the queue delay is going: the correlation of neighbouring samples, weighted by how near the
//! delay is to its target (RFC 8298 4.1.2; the tool of 2020-03-20), so that a queue shows
//! while it grows and before it is long.

use super::super::Ticks;

/// Time between samples, ticks: 50 ms.
pub(super) const INTERVAL: u32 = 3277;
const SAMPLES: usize = 20;
const MEMORY: f32 = 0.9;
const LASTING: f32 = 0.99;
/// Squares below are not of the delay, whose steps are larger, but of the mean's last bit.
const ROUNDING: f32 = 1e-10;

/// Samples of queue delay over target and what follows from them.
#[derive(Clone, Debug)]
pub(super) struct Trend {
    samples: [f32; SAMPLES],
    at: usize,
    last: Ticks,
    /// Smoothed queue delay over target.
    pub(super) fraction: f32,
    /// 0: no congestion ahead, to 1.
    pub(super) now: f32,
    /// Its greatest value, slowly forgotten.
    pub(super) lasting: f32,
}

impl Trend {
    pub(super) fn new(now: Ticks) -> Self {
        Self { samples: [0.0; SAMPLES], at: 0, last: now, fraction: 0.0, now: 0.0, lasting: 0.0 }
    }

    /// Takes a queue delay over its target.
    pub(super) fn smooth(&mut self, fraction: f32) {
        self.fraction = MEMORY * self.fraction + (1.0 - MEMORY) * fraction;
    }

    /// Whether a sample is due.
    pub(super) fn is_due(&self, now: Ticks) -> bool {
        now.since(self.last) >= INTERVAL
    }

    /// Takes the sample that is due; one that is late counts for those that were left out.
    pub(super) fn sample(&mut self, now: Ticks, fraction: f32) {
        let count = (now.since(self.last) / INTERVAL).clamp(1, SAMPLES as u32);
        self.last = now;
        for _ in 0..count {
            self.samples[self.at] = fraction;
            self.at = (self.at + 1) % SAMPLES;
        }
    }

    /// Autocorrelation at a lag of one sample times the smoothed fraction: `qdelay_trend` and
    /// `qdelay_trend_mem` of RFC 8298 4.1.2.
    pub(super) fn update(&mut self) {
        let mean = self.samples.iter().sum::<f32>() / SAMPLES as f32;
        let (mut square, mut product, mut before) = (0.0, 0.0, 0.0);
        for offset in 0..SAMPLES {
            let sample = self.samples[(self.at + offset) % SAMPLES] - mean;
            square += sample * sample;
            product += sample * before;
            before = sample;
        }
        self.now = if square > ROUNDING {
            (product / square * self.fraction).clamp(0.0, 1.0)
        } else {
            0.0
        };
        self.lasting = (LASTING * self.lasting).max(self.now);
    }
}

#[cfg(test)]
mod tests;
