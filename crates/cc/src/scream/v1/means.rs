//! Rates of a stream over the last eight windows of 50 or 100 ms (EricssonResearch/scream
//! f9deed2, ScreamTx.cpp).

use super::super::rates::Rates;

const WINDOWS: usize = 8;

impl Rates {
    /// What the path is known to carry, bit/s.
    pub(super) fn carried(&self) -> f32 {
        self.sent.max(self.acked)
    }
}

/// The last windows.
#[derive(Clone, Debug, Default)]
pub(super) struct Means {
    ring: [Rates; WINDOWS],
    at: usize,
}

impl Means {
    /// Takes the rates of a window; the means.
    pub(super) fn add(&mut self, window: Rates) -> Rates {
        self.ring[self.at] = window;
        self.at = (self.at + 1) % WINDOWS;
        let mean = |part: fn(&Rates) -> f32| self.ring.iter().map(part).sum::<f32>() / 8.0;
        Rates {
            media: mean(|rates| rates.media),
            sent: mean(|rates| rates.sent),
            acked: mean(|rates| rates.acked),
            lost: mean(|rates| rates.lost),
            ce: mean(|rates| rates.ce),
        }
    }
}

#[cfg(test)]
mod tests;
