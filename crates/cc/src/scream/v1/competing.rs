//! Beside flows that fill the queue the delay target rises (RFC 8298 4.1.2.2). Off in the tool of 2020.

use super::super::Ticks;

const LONG: usize = 200;
const SHORT: usize = 50;
/// Greatest target, s.
const MOST: f32 = 0.4;
/// Share of round trips with a loss that means competition, and its memory.
const LOSSY: f32 = 0.002;
const MEMORY: f32 = 0.98;
/// Variance of the delay over its least target that is still a queue, not noise.
const STEADY: f32 = 0.2;

#[derive(Clone, Debug)]
pub(super) struct Competing {
    ring: [f32; LONG],
    at: usize,
    losses: f32,
    lost: bool,
    last_rtt: Ticks,
}

impl Competing {
    pub(super) fn new(now: Ticks) -> Self {
        Self { ring: [0.0; LONG], at: 0, losses: 0.0, lost: false, last_rtt: now }
    }

    /// Counts round trips with losses.
    pub(super) fn count(&mut self, now: Ticks, srtt: u32, lost: bool) {
        self.lost |= lost;
        if now.since(self.last_rtt) > srtt {
            self.last_rtt = now;
            self.losses *= MEMORY;
            if std::mem::take(&mut self.lost) {
                self.losses += 1.0 - MEMORY;
            }
        }
    }

    /// The new target after a sample of the queue delay; `least` is the target without competition, s.
    pub(super) fn target(&mut self, queue_delay: f32, least: f32, target: f32) -> f32 {
        self.ring[self.at] = queue_delay / least;
        self.at = (self.at + 1) % LONG;
        let mean = self.ring.iter().sum::<f32>() / LONG as f32;
        let variance = self.ring.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / LONG as f32;
        let newest = (1..=SHORT).map(|back| self.ring[(self.at + LONG - back) % LONG]);
        let other = least * (newest.sum::<f32>() / SHORT as f32 + variance.sqrt());
        let next = if self.losses > LOSSY {
            1.5 * other
        } else if variance < STEADY {
            other
        } else if other < least {
            (0.5 * target).max(other)
        } else {
            0.9 * target
        };
        next.min(MOST).max(least)
    }
}

#[cfg(test)]
mod tests;
