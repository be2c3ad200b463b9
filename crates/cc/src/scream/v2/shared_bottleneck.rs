//! Shared bottleneck detection: beside flows that fill the queue the delay target rises, so that the
//! window survives (EricssonResearch/scream c8f84c3, ScreamV2Tx.cpp). Off in the tools.

use super::super::Ticks;
use super::rules::{Law, Rules};

const SAMPLES: usize = 200;
const SHORT: usize = 50;
const LOSSY: f32 = 0.002;
const STEADY: f32 = 0.2;
const SYMMETRIC: f32 = 0.05;
const LOSS_MEMORY: f32 = 0.98;

/// Normalised delays, newest last in ring order.
#[derive(Clone, Debug)]
pub(super) struct Bottleneck {
    ring: [f32; SAMPLES],
    at: usize,
    skew: f32,
    /// Share of round trips with a loss.
    loss_events: f32,
    lost: bool,
    last_rtt: Ticks,
}

impl Bottleneck {
    pub(super) fn new(now: Ticks) -> Self {
        Self {
            ring: [0.0; SAMPLES],
            at: 0,
            skew: 0.0,
            loss_events: 0.0,
            lost: false,
            last_rtt: now,
        }
    }

    /// At each update of the window.
    pub(super) fn count(&mut self, now: Ticks, srtt: u32, lost: bool) {
        self.lost |= lost;
        if now.since(self.last_rtt) > srtt {
            self.last_rtt = now;
            self.loss_events *= LOSS_MEMORY;
            if std::mem::take(&mut self.lost) {
                self.loss_events += 1.0 - LOSS_MEMORY;
            }
        }
    }

    /// The new target of the queue delay after a sample of 50 ms, s.
    pub(super) fn target(
        &mut self,
        rules: &Rules,
        parity: bool,
        queue_delay: f32,
        least: f32,
        target: f32,
    ) -> f32 {
        self.ring[self.at] = queue_delay / least;
        self.at = (self.at + 1) % SAMPLES;
        let count = SAMPLES as f32;
        let mean = self.ring.iter().sum::<f32>() / count;
        let off = self.ring.iter().map(|x| x - mean);
        let variance = off.clone().map(|x| x * x).sum::<f32>() / count;
        // The original adds this sample's skew to that of all before.
        self.skew =
            off.map(|x| x * x * x).sum::<f32>() / count + if parity { self.skew } else { 0.0 };
        let newest = (1..=SHORT).map(|back| self.ring[(self.at + SAMPLES - back) % SAMPLES]);
        let short = newest.sum::<f32>() / SHORT as f32;
        let other = least * (short + variance.sqrt());
        let most = rules.max_delay_target;
        if rules.law == Law::Draft {
            let next = if self.loss_events > LOSSY {
                1.5 * other
            } else if variance < STEADY {
                other
            } else if other < target {
                0.5 * target
            } else {
                0.9 * target
            };
            return next.clamp(least, most.max(least));
        }
        let mut next = target;
        let mut settled = true;
        if self.loss_events > LOSSY && short > 0.5 && variance < STEADY {
            next = (1.5 * other).min(most);
        } else if variance < STEADY && self.skew < SYMMETRIC {
            next = other.min(most);
        } else {
            settled = false;
        }
        if rules.law == Law::Y2026 || !settled {
            next = if other < next { (0.99 * next).max(other) } else { 0.999 * next };
        }
        next.max(least)
    }
}

#[cfg(test)]
mod tests;
