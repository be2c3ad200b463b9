//! Rates over windows: what a stream made, sent, and heard of.

use super::Ticks;
use super::ticks::seconds;

/// bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rates {
    pub(super) media: f32,
    pub(super) sent: f32,
    pub(super) acked: f32,
    pub(super) lost: f32,
    pub(super) ce: f32,
}

/// Bytes since the window began.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) media: u32,
    pub(super) sent: u32,
    pub(super) acked: u32,
    pub(super) lost: u32,
    pub(super) ce: u32,
    since: Ticks,
}

impl Window {
    pub(super) fn new(since: Ticks) -> Self {
        Self { media: 0, sent: 0, acked: 0, lost: 0, ce: 0, since }
    }

    /// Begins the next window; gives the rates of this one, if it had any length.
    pub(super) fn close(&mut self, now: Ticks) -> Option<Rates> {
        let counted = std::mem::replace(self, Self::new(now));
        let length = seconds(now.since(counted.since));
        let rate = |bytes: u32| bytes as f32 * 8.0 / length;
        (length > 0.0).then(|| Rates {
            media: rate(counted.media),
            sent: rate(counted.sent),
            acked: rate(counted.acked),
            lost: rate(counted.lost),
            ce: rate(counted.ce),
        })
    }
}
