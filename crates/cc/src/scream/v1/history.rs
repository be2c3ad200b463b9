//! The media rates of which RFC 8298 takes the median.

const RATES: usize = 50;

/// The media rate at the last fifty adjustments: 10 s.
#[derive(Clone, Debug)]
pub(super) struct RateHistory {
    ring: [f32; RATES],
    at: usize,
    count: usize,
}

impl Default for RateHistory {
    fn default() -> Self {
        Self { ring: [0.0; RATES], at: 0, count: 0 }
    }
}

impl RateHistory {
    pub(super) fn add(&mut self, rate: f32) {
        self.ring[self.at] = rate;
        self.at = (self.at + 1) % RATES;
        self.count = (self.count + 1).min(RATES);
    }

    /// bit/s.
    pub(super) fn median(&self) -> f32 {
        let mut sorted = self.ring;
        let known = &mut sorted[..self.count];
        known.sort_unstable_by(f32::total_cmp);
        known.get(self.count / 2).copied().unwrap_or(0.0)
    }
}
