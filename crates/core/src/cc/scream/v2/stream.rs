//! A stream of version 2: its RTP queue, its packets in flight, its rates and its target.

use super::super::flight::Flight;
use super::super::queue::RtpQueue;
use super::super::rates::Rates;
use super::super::schedule::Turn;
use super::super::{Config, Rtp, Stream, Ticks};
use super::frames::{FrameEnd, Frames};
use super::rules::Rules;

/// At most one discard of the queue in this time, ticks.
const DISCARD_INTERVAL: u32 = 16_384;
/// Packets in the RTP queue and in the table of those sent: the originals', and enough for 1 Gbit/s at
/// 25 frames per second or an RTT of 100 ms.
const ORIGINAL_SIZES: (usize, usize) = (1 << 10, 1 << 12);
const SIZES: (usize, usize) = (1 << 13, 1 << 14);

#[derive(Debug)]
pub(super) struct Media {
    pub(super) about: Stream,
    pub(super) queue: RtpQueue,
    pub(super) flight: Flight,
    pub(super) rates: Rates,
    pub(super) frames: Frames,
    pub(super) turn: Turn,
    /// Has media.
    pub(super) active: bool,
    /// Share of the whole rate, bit/s.
    pub(super) share: f32,
    /// Target, bit/s, and the same with hysteresis.
    pub(super) target: f32,
    pub(super) steady_target: f32,
    /// A loss or a discard since the last frame, and whether that was skipped.
    repair: bool,
    skipped: bool,
    /// The decoder misses something since the driver last asked.
    loss_epoch: bool,
    last_discard: Ticks,
    /// What makes up for an encoder that misses its target.
    scale: f32,
    /// Of the last acknowledged packet: delay in the RTP queue, s.
    pub(super) acked_queue_delay: f32,
    pub(super) packets_lost: u64,
    pub(super) packets_discarded: u64,
}

impl Media {
    pub(super) fn new(about: Stream, config: &Config, now: Ticks) -> Self {
        let target = about.init_rate.max(about.min_rate).min(about.max_rate);
        let (queued, sent) = if config.parity { ORIGINAL_SIZES } else { SIZES };
        Self {
            about,
            queue: RtpQueue::new(queued),
            flight: Flight::new(sent),
            rates: Rates::new(now),
            frames: Frames::new(),
            turn: Turn::new(now),
            active: false,
            // The original forgets the first rate with the first packet.
            share: if config.parity { about.min_rate } else { target },
            target,
            steady_target: target,
            repair: false,
            skipped: false,
            loss_epoch: false,
            last_discard: now,
            scale: 1.0,
            acked_queue_delay: 0.0,
            packets_lost: 0,
            packets_discarded: 0,
        }
    }

    /// A packet was queued.
    pub(super) fn queued(&mut self, now: Ticks, rules: &Rules, config: &Config, rtp: &Rtp) {
        self.frames.packet(rtp.bytes);
        if rtp.marker {
            let end = FrameEnd {
                queue_bytes: self.queue.bytes(),
                queue_delay: self.queue.delay(now),
                target: self.target,
                max_pace_scale: config.adaptive_pace_headroom,
            };
            self.frames.end(now, rules, config.parity, end);
            self.update_target(now, rules);
        }
        self.update_target(now, rules);
    }

    pub(super) fn update_target(&mut self, now: Ticks, rules: &Rules) {
        self.active = true;
        if self.queue.delay(now) > self.about.max_queue_delay
            && now.since(self.last_discard) > DISCARD_INTERVAL
        {
            self.last_discard = now;
            self.discard();
        }
        let adjusted = if rules.adjusts_to_queue {
            self.share / (1.0 + self.frames.adjust)
        } else {
            self.share
        };
        self.target = adjusted.max(self.about.min_rate).min(self.about.max_rate);
        let scaled = self.target * self.scale;
        let change = (scaled - self.steady_target) / self.steady_target;
        if change > self.about.hysteresis || change < -self.about.hysteresis / 4.0 {
            self.steady_target = scaled;
        }
    }

    /// Empties the queue; the decoder will miss something.
    pub(super) fn discard(&mut self) {
        self.packets_discarded += u64::from(self.queue.clear());
        self.repair = true;
        self.loss_epoch = true;
        self.scale = 1.0;
    }

    /// Empties the queue for the sake of the base delay.
    pub(super) fn drain(&mut self) {
        self.packets_discarded += u64::from(self.queue.clear());
    }

    pub(super) fn lost(&mut self, bytes: u32) {
        self.rates.window.lost = self.rates.window.lost.saturating_add(bytes);
        self.packets_lost += 1;
        self.repair = true;
        self.loss_epoch = true;
    }

    /// The target for the next frame. The original has none after a loss or a discard, but never
    /// twice in a row, so that its source skips a frame.
    pub(super) fn next_target(&mut self, parity: bool) -> Option<f32> {
        let skips = std::mem::take(&mut self.repair) && !self.skipped && parity;
        self.skipped = skips;
        (!skips).then_some(self.steady_target)
    }

    pub(super) fn take_loss_epoch(&mut self) -> bool {
        std::mem::take(&mut self.loss_epoch)
    }

    /// Ends a window of the rates.
    pub(super) fn close_window(&mut self, now: Ticks, weights: (f32, f32)) {
        self.rates.close(now, weights);
        if self.about.scale_target && self.rates.media_mean > 0.0 {
            let over = self.target * self.scale / self.rates.media_mean;
            self.scale = (0.98 * self.scale + 0.02 * over).clamp(0.8, 1.1);
        }
    }
}
