//! Rates of a stream over the last eight windows of 50 or 100 ms (`scream.md` 5.2).

use super::super::Ticks;
use super::super::rates::Counters;
use super::super::ticks::seconds;

const WINDOWS: usize = 8;

/// bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Mean {
    pub(super) media: f32,
    pub(super) sent: f32,
    pub(super) acked: f32,
    pub(super) lost: f32,
    pub(super) ce: f32,
}

impl Mean {
    /// What the path is known to carry.
    pub(super) fn carried(&self) -> f32 {
        self.sent.max(self.acked)
    }
}

/// Counters of this window, and the means.
#[derive(Clone, Debug)]
pub(super) struct Means {
    pub(super) window: Counters,
    since: Ticks,
    ring: [Mean; WINDOWS],
    at: usize,
    pub(super) mean: Mean,
}

impl Means {
    pub(super) fn new(now: Ticks) -> Self {
        Self {
            window: Counters::default(),
            since: now,
            ring: [Mean::default(); WINDOWS],
            at: 0,
            mean: Mean::default(),
        }
    }

    /// Closes the window.
    pub(super) fn close(&mut self, now: Ticks) {
        let length = seconds(now.since(self.since));
        if length <= 0.0 {
            return;
        }
        self.since = now;
        let Counters { media, sent, acked, lost, ce } = std::mem::take(&mut self.window);
        let rate = |bytes: u32| bytes as f32 * 8.0 / length;
        self.ring[self.at] = Mean {
            media: rate(media),
            sent: rate(sent),
            acked: rate(acked),
            lost: rate(lost),
            ce: rate(ce),
        };
        self.at = (self.at + 1) % WINDOWS;
        let mean = |part: fn(&Mean) -> f32| self.ring.iter().map(part).sum::<f32>() / 8.0;
        self.mean = Mean {
            media: mean(|m| m.media),
            sent: mean(|m| m.sent),
            acked: mean(|m| m.acked),
            lost: mean(|m| m.lost),
            ce: mean(|m| m.ce),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // KAT scream.md 5.2: ring of 8 -> means
    #[test]
    fn a_rate_is_whole_after_eight_windows() {
        let mut means = Means::new(Ticks(0));
        for n in 1..=8 {
            means.window.sent = 1000;
            means.close(Ticks(4096 * n));
            assert_eq!(means.mean.sent, 8000.0 * 16.0 * n as f32 / 8.0);
        }
        means.close(Ticks(4096 * 9));
        assert_eq!(means.mean.sent, 8000.0 * 16.0 * 7.0 / 8.0);
    }
}
