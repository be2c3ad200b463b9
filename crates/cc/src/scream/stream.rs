//! A stream of either version: its RTP queue, its packets in flight, its rates and its target.

use super::flight::Flight;
use super::queue::RtpQueue;
use super::rates::{Rates, Window};
use super::schedule::Turn;
use super::{Stream, Ticks};

/// Packets in the RTP queue: the originals', and enough for 1 Gbit/s at 25 frames per second.
const ORIGINAL_QUEUE: usize = 1 << 10;
const QUEUE: usize = 1 << 13;
/// Packets in the table of those sent: enough for 1 Gbit/s and an RTT of 100 ms.
const FLIGHT: usize = 1 << 14;

/// A stream, and what its version keeps of it beside.
#[derive(Debug)]
pub(super) struct Media<S> {
    pub(super) about: Stream,
    pub(super) queue: RtpQueue,
    pub(super) flight: Flight,
    pub(super) turn: Turn,
    /// Counts for the rates, and the rates as the version smooths them.
    pub(super) window: Window,
    pub(super) rates: Rates,
    /// Has media.
    pub(super) active: bool,
    /// Target, bit/s, and the same with hysteresis.
    pub(super) target: f32,
    pub(super) steady_target: f32,
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
    pub(super) own: S,
}

impl<S> Media<S> {
    /// With `parity` queue and table have the original's sizes.
    pub(super) fn new(
        about: Stream,
        parity: bool,
        original_flight: usize,
        own: S,
        now: Ticks,
    ) -> Self {
        let (queue, flight) =
            if parity { (ORIGINAL_QUEUE, original_flight) } else { (QUEUE, FLIGHT) };
        Self {
            about,
            queue: RtpQueue::new(queue),
            flight: Flight::new(flight),
            turn: Turn::new(now),
            window: Window::new(now),
            rates: Rates::default(),
            active: false,
            target: about.init_rate,
            steady_target: about.init_rate,
            repair: false,
            skipped: false,
            loss_epoch: false,
            last_discard: now,
            acked_queue_delay: 0.0,
            packets_lost: 0,
            packets_discarded: 0,
            own,
        }
    }

    /// Empties the queue if its oldest packet is too old, at most once in `interval` ticks. True: it
    /// did, and the decoder will miss something.
    pub(super) fn discard_old(&mut self, now: Ticks, interval: u32) -> bool {
        let is_old = self.queue.delay(now) > self.about.max_queue_delay
            && now.since(self.last_discard) > interval;
        if is_old {
            self.last_discard = now;
            self.empty_queue();
            self.miss();
        }
        is_old
    }

    pub(super) fn empty_queue(&mut self) {
        self.packets_discarded += u64::from(self.queue.clear());
    }

    pub(super) fn lost(&mut self, bytes: u32) {
        self.window.lost = self.window.lost.saturating_add(bytes);
        self.packets_lost += 1;
        self.miss();
    }

    fn miss(&mut self) {
        (self.repair, self.loss_epoch) = (true, true);
    }

    /// Announces this target, bit/s, unless it hardly changed.
    pub(super) fn announce(&mut self, target: f32) {
        let change = (target - self.steady_target) / self.steady_target;
        if change > self.about.hysteresis || change < -self.about.hysteresis / 4.0 {
            self.steady_target = target;
        }
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
