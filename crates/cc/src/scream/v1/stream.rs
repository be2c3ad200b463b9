//! What version 1 keeps of a stream. How the target moves is in [`super::y2020`] and
//! [`super::rfc8298`].

use super::super::{Config, Rtp, Ticks};
use super::Law;
use super::history::RateHistory;
use super::means::Means;

/// At most one discard of the queue in this time, ticks.
const DISCARD_INTERVAL: u32 = 65_536;
/// Time between adjustments of the target, ticks and s.
const ADJUST_INTERVAL: u32 = 13_107;
pub(super) const ADJUST_SECONDS: f32 = 0.2;

/// What the target depends on beside the stream's own state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cues {
    pub(super) fast_increase: bool,
    pub(super) trend: f32,
    pub(super) lasting_trend: f32,
    pub(super) alpha: f32,
    /// The delay target is raised beside other flows.
    pub(super) competes: bool,
}

pub(super) type Media = super::super::stream::Media<Own>;

#[derive(Debug, Default)]
pub(in super::super) struct Own {
    pub(super) means: Means,
    /// Events since the target was last updated.
    pub(super) loss_event: bool,
    pub(super) ce_event: bool,
    /// Target at the last congestion, bit/s.
    pub(super) inflection: Option<f32>,
    pub(super) inflections: [f32; 3],
    pub(super) last_inflection: Ticks,
    last_adjustment: Ticks,
    /// Smoothed bits in the queue behind the last frame.
    pub(super) queue_bits: f32,
    /// Media rates of the last 10 s.
    pub(super) history: RateHistory,
    /// Bytes of the newest frame, and whether it is whole.
    last_frame: u32,
    frame_ended: bool,
}

impl Own {
    pub(super) fn new(now: Ticks) -> Self {
        Self { last_inflection: now, last_adjustment: now, frame_ended: true, ..Self::default() }
    }
}

impl Media {
    /// A packet was queued.
    pub(super) fn queued(&mut self, rtp: &Rtp, parity: bool) {
        self.window.media = self.window.media.saturating_add(rtp.bytes);
        // The original's tool calls each packet a frame.
        let first = std::mem::replace(&mut self.own.frame_ended, rtp.marker || parity);
        let before = if first { 0 } else { self.own.last_frame };
        self.own.last_frame = before.saturating_add(rtp.bytes);
    }

    /// Bits in the queue that are not of the newest frame.
    pub(super) fn older_bits(&self) -> f32 {
        self.queue.bytes().saturating_sub(self.own.last_frame) as f32 * 8.0
    }

    /// RFC 8298 4.1.3: events act at once, growth at intervals of 200 ms.
    pub(super) fn update_target(&mut self, now: Ticks, law: Law, config: &Config, cues: Cues) {
        if self.own.loss_event || self.own.ce_event {
            match law {
                Law::Y2020 => self.back_off_2020(now, config, cues.alpha),
                Law::Rfc8298 => self.back_off_rfc8298(),
            }
            (self.own.loss_event, self.own.ce_event) = (false, false);
            self.discard_old(now, DISCARD_INTERVAL);
        } else if now.since(self.own.last_adjustment) >= ADJUST_INTERVAL {
            self.own.last_adjustment = now;
            self.discard_old(now, DISCARD_INTERVAL);
            match law {
                Law::Y2020 => self.adjust_2020(now, config, cues),
                Law::Rfc8298 => self.adjust_rfc8298(now, config, cues),
            }
        }
    }

    /// Keeps the target within its rates.
    pub(super) fn bound_target(&mut self) {
        self.target = self.target.max(self.about.min_rate).min(self.about.max_rate);
        self.announce(self.target);
    }
}
