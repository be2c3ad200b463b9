//! Rates over windows: what a stream made, sent, and heard of.

use super::Ticks;
use super::ticks::seconds;

const MEDIA_WINDOWS: usize = 4;

/// Counters of this window, in bytes, and the rates of the last one, bit/s.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    /// Bytes of this window.
    pub(super) window: Counters,
    since: Ticks,
    media: [f32; MEDIA_WINDOWS],
    at: usize,
    begun: bool,
    /// Rates of the last window.
    pub(super) last: Last,
    /// EWMA of the transmitted rate.
    pub(super) sent_mean: f32,
    /// Mean of the media rate over four windows.
    pub(super) media_mean: f32,
}

/// Bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub(super) media: u32,
    pub(super) sent: u32,
    pub(super) acked: u32,
    pub(super) lost: u32,
    pub(super) ce: u32,
}

/// Rates of a window, bit/s.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Last {
    pub(super) sent: f32,
    pub(super) acked: f32,
    pub(super) lost: f32,
    pub(super) ce: f32,
}

impl Rates {
    pub(super) fn new(now: Ticks) -> Self {
        Self {
            window: Counters::default(),
            since: now,
            media: [0.0; MEDIA_WINDOWS],
            at: 0,
            begun: false,
            last: Last::default(),
            sent_mean: 0.0,
            media_mean: 0.0,
        }
    }

    /// Closes the window. The weights are those of the past and of this window in the mean of the transmitted rate. The
    /// first window begins with the session, not with its first packet, and is not used.
    pub(super) fn close(&mut self, now: Ticks, (memory, gain): (f32, f32)) {
        let counted = std::mem::take(&mut self.window);
        let length = seconds(now.since(self.since));
        self.since = now;
        if !std::mem::replace(&mut self.begun, true) || length <= 0.0 {
            return;
        }
        let rate = |bytes: u32| bytes as f32 * 8.0 / length;
        self.last = Last {
            sent: rate(counted.sent),
            acked: rate(counted.acked),
            lost: rate(counted.lost),
            ce: rate(counted.ce),
        };
        self.sent_mean = memory * self.sent_mean + gain * self.last.sent;
        self.media[self.at] = rate(counted.media);
        self.at = (self.at + 1) % MEDIA_WINDOWS;
        self.media_mean = self.media.iter().sum::<f32>() / MEDIA_WINDOWS as f32;
    }
}
