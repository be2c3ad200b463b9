//! What version 2 keeps of a stream, and how its target follows its share of the whole rate.

use super::super::rates::Rates;
use super::super::{Config, Rtp, Ticks};
use super::frames::{FrameEnd, Frames};
use super::rules::Rules;

/// At most one discard of the queue in this time, ticks.
const DISCARD_INTERVAL: u32 = 16_384;
const MEDIA_WINDOWS: usize = 4;

pub(super) type Media = super::super::stream::Media<Own>;

#[derive(Debug)]
pub(in super::super) struct Own {
    pub(super) frames: Frames,
    /// Share of the whole rate, bit/s.
    pub(super) share: f32,
    /// What makes up for an encoder that misses its target.
    scale: f32,
    /// Media rates of the last windows, bit/s.
    media_rates: [f32; MEDIA_WINDOWS],
    at: usize,
    /// The first window of the rates is over.
    begun: bool,
}

impl Own {
    pub(super) fn new(share: f32) -> Self {
        Self {
            frames: Frames::new(),
            share,
            scale: 1.0,
            media_rates: [0.0; MEDIA_WINDOWS],
            at: 0,
            begun: false,
        }
    }
}

impl Media {
    /// A packet was queued.
    pub(super) fn queued(&mut self, now: Ticks, rules: &Rules, config: &Config, rtp: &Rtp) {
        self.own.frames.packet(rtp.bytes);
        if rtp.marker {
            let end = FrameEnd {
                queue_bytes: self.queue.bytes(),
                queue_delay: self.queue.delay(now),
                target: self.target,
                max_pace_scale: config.adaptive_pace_headroom,
            };
            self.own.frames.end(now, rules, config.parity, end);
            self.update_target(now, rules);
        }
        self.update_target(now, rules);
    }

    pub(super) fn update_target(&mut self, now: Ticks, rules: &Rules) {
        if self.discard_old(now, DISCARD_INTERVAL) {
            self.own.scale = 1.0;
        }
        let adjusted = if rules.adjusts_to_queue {
            self.own.share / (1.0 + self.own.frames.adjust)
        } else {
            self.own.share
        };
        self.target = adjusted.max(self.about.min_rate).min(self.about.max_rate);
        self.announce(self.target * self.own.scale);
    }

    /// Takes the rates of a window: the media's is averaged, the transmitted one is smoothed with these
    /// weights of past and present. The first window begins with the session, not with its first
    /// packet, and is not used. Gives the window's transmitted rate, bit/s.
    pub(super) fn smooth_rates(&mut self, window: Rates, (memory, gain): (f32, f32)) -> f32 {
        let own = &mut self.own;
        if !std::mem::replace(&mut own.begun, true) {
            return 0.0;
        }
        own.media_rates[own.at] = window.media;
        own.at = (own.at + 1) % MEDIA_WINDOWS;
        let media = own.media_rates.iter().sum::<f32>() / MEDIA_WINDOWS as f32;
        let sent = memory * self.rates.sent + gain * window.sent;
        self.rates = Rates { media, sent, ..window };
        if self.about.scale_target && media > 0.0 {
            let over = self.target * own.scale / media;
            own.scale = (0.98 * own.scale + 0.02 * over).clamp(0.8, 1.1);
        }
        window.sent
    }
}
