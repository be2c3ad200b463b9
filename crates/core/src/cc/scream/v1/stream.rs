//! A stream of version 1: its RTP queue, its packets in flight, its rates and its target. How the
//! target moves is in [`super::y2020`] and [`super::rfc8298`].

use super::super::flight::Flight;
use super::super::queue::RtpQueue;
use super::super::schedule::Turn;
use super::super::{Config, Rtp, Stream, Ticks};
use super::Law;
use super::means::Means;
use super::rfc8298::RateHistory;

/// At most one discard of the queue in this time, ticks.
const DISCARD_INTERVAL: u32 = 65_536;
/// Time between adjustments of the target, ticks and s.
const ADJUST_INTERVAL: u32 = 13_107;
pub(super) const ADJUST_SECONDS: f32 = 0.2;
/// Packets in the RTP queue and in the table of those sent: the original's, and enough for 1 Gbit/s at
/// 25 frames per second or an RTT of 100 ms.
const ORIGINAL_SIZES: (usize, usize) = (1 << 10, 1 << 11);
const SIZES: (usize, usize) = (1 << 13, 1 << 14);

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

#[derive(Debug)]
pub(super) struct Media {
    pub(super) about: Stream,
    pub(super) queue: RtpQueue,
    pub(super) flight: Flight,
    pub(super) rates: Means,
    pub(super) turn: Turn,
    /// Credit that was lost for want of media since priorities were last looked at, bytes.
    pub(super) lost_credit: f32,
    /// Has media.
    pub(super) active: bool,
    /// Target, bit/s, and the same with hysteresis.
    pub(super) target: f32,
    pub(super) steady_target: f32,
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
    pub(super) last_frame: u32,
    frame_ended: bool,
    /// A loss or a discard since the last frame, and whether that was skipped.
    repair: bool,
    skipped: bool,
    /// The decoder misses something since the driver last asked.
    loss_epoch: bool,
    last_discard: Ticks,
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
            rates: Means::new(now),
            turn: Turn::new(now),
            lost_credit: 0.0,
            active: false,
            target,
            steady_target: target,
            loss_event: false,
            ce_event: false,
            inflection: None,
            inflections: [0.0; 3],
            last_inflection: now,
            last_adjustment: now,
            queue_bits: 0.0,
            history: RateHistory::default(),
            last_frame: 0,
            frame_ended: true,
            repair: false,
            skipped: false,
            loss_epoch: false,
            last_discard: now,
            acked_queue_delay: 0.0,
            packets_lost: 0,
            packets_discarded: 0,
        }
    }

    /// A packet was queued.
    pub(super) fn queued(&mut self, rtp: &Rtp, parity: bool) {
        self.active = true;
        self.rates.window.media = self.rates.window.media.saturating_add(rtp.bytes);
        // The original's tool calls each packet a frame.
        let first = std::mem::replace(&mut self.frame_ended, rtp.marker || parity);
        let before = if first { 0 } else { self.last_frame };
        self.last_frame = before.saturating_add(rtp.bytes);
    }

    /// Bits in the queue that are not of the newest frame.
    pub(super) fn older_bits(&self) -> f32 {
        self.queue.bytes().saturating_sub(self.last_frame) as f32 * 8.0
    }

    pub(super) fn update_target(&mut self, now: Ticks, law: Law, config: &Config, cues: Cues) {
        if self.loss_event || self.ce_event {
            match law {
                Law::Y2020 => self.back_off_2020(now, config, cues.alpha),
                Law::Rfc8298 => self.back_off_rfc8298(),
            }
            (self.loss_event, self.ce_event) = (false, false);
            self.discard_old(now);
        } else if now.since(self.last_adjustment) >= ADJUST_INTERVAL {
            self.last_adjustment = now;
            self.discard_old(now);
            match law {
                Law::Y2020 => self.adjust_2020(now, config, cues),
                Law::Rfc8298 => self.adjust_rfc8298(now, config, cues),
            }
        }
    }

    /// Keeps the target within its rates, and the one that is told unless it hardly changed.
    pub(super) fn bound_target(&mut self) {
        self.target = self.target.max(self.about.min_rate).min(self.about.max_rate);
        let change = (self.target - self.steady_target) / self.steady_target;
        if change > self.about.hysteresis || change < -self.about.hysteresis / 4.0 {
            self.steady_target = self.target;
        }
    }

    fn discard_old(&mut self, now: Ticks) {
        if self.queue.delay(now) > self.about.max_queue_delay
            && now.since(self.last_discard) > DISCARD_INTERVAL
        {
            self.last_discard = now;
            self.packets_discarded += u64::from(self.queue.clear());
            self.repair = true;
            self.loss_epoch = true;
        }
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
}
