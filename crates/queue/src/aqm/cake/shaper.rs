//! Virtual clocks: rates as time per byte, the shaper's two clocks, and the estimate of the
//! incoming rate.

use crate::aqm::PSCHED_MTU;
use crate::aqm::virtual_clock::ByteTime;
use sojourn_core::units::{Dur, Time};

/// Moves `average` by `2^-shift` of the way to `sample`, rounded down on both sides.
#[inline]
pub(super) const fn ewma(average: u64, sample: u64, shift: u32) -> u64 {
    average - (average >> shift) + (sample >> shift)
}

/// The clock of the whole shaper, and a slower one of what was delivered, which lets packets out
/// when drops have been charged for long.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shaper {
    pub(super) rate: ByteTime,
    pub(super) next: Time,
    failsafe: Time,
}

impl Shaper {
    /// Until when nothing may leave at `now`.
    /// Linux 6.12 `cake_dequeue`: both clocks must lie ahead.
    #[inline]
    pub(super) fn blocked(&self, now: Time) -> Option<Time> {
        (self.next > now && self.failsafe > now).then(|| self.due())
    }

    /// When the next packet may leave.
    #[inline]
    pub(super) fn due(&self) -> Time {
        self.next.min(self.failsafe)
    }

    /// Forgets unused time: the first packet after a pause gives no credit to the second.
    /// Linux 6.12 `cake_enqueue`.
    #[inline]
    pub(super) fn refresh(&mut self, now: Time) {
        if self.next < now {
            (self.next, self.failsafe) = (now, now);
        }
    }

    /// Charges `len` bytes; `dropped` ones, as `ingress` does, to the first clock only.
    /// Linux 6.12 `cake_advance_shaper`: the second clock advances by half as much again, and
    /// not for drops.
    #[inline]
    pub(super) fn charge(&mut self, len: u32, dropped: bool) {
        let time = self.rate.of(len);
        self.next += Dur(time);
        if !dropped {
            self.failsafe += Dur(time + (time >> 1));
        }
    }
}

/// `autorate-ingress`: what arrives, judged over windows that end with an unusually long gap.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Autorate {
    avg_interval: u64,
    last_packet: Time,
    window_begin: Time,
    window_bytes: u64,
    /// Bytes per second.
    pub(super) peak: u64,
    last_change: Time,
}

impl Autorate {
    pub(super) fn new(now: Time, rate: u64) -> Self {
        Self {
            peak: rate,
            last_packet: now,
            window_begin: now,
            last_change: now,
            ..Self::default()
        }
    }

    /// Without the estimate, only the window is kept from growing.
    #[inline]
    pub(super) fn idle(&mut self, now: Time) {
        (self.window_bytes, self.last_packet) = (0, now);
    }

    /// Counts an arrival that added `bytes` to the queue. The rate to shape to, in bytes per
    /// second, at most every 250 ms. Linux 6.12 `cake_enqueue`, `autorate-ingress`.
    pub(super) fn arrival(&mut self, now: Time, bytes: u64) -> Option<u64> {
        self.window_bytes += bytes;
        let gap = now.since(self.last_packet).0.min(1_000_000_000);
        let shift = if gap > self.avg_interval { 2 } else { 8 };
        self.avg_interval = ewma(self.avg_interval, gap, shift);
        self.last_packet = now;
        if gap <= self.avg_interval {
            return None;
        }
        let window = u128::from(now.since(self.window_begin).0.max(1));
        let rate = (u128::from(self.window_bytes) * 1_000_000_000 / window) as u64;
        let shift = if rate > self.peak { 2 } else { 8 };
        self.peak = ewma(self.peak, rate, shift);
        (self.window_bytes, self.window_begin) = (0, now);
        if now.since(self.last_change) <= Dur::from_millis(250) {
            return None;
        }
        self.last_change = now;
        Some((self.peak * 15) >> 4)
    }
}

/// COBALT's parameters in one tin, as they follow from its rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateTargets {
    pub(super) time: ByteTime,
    pub(super) mtu_time: u64,
    pub(super) target: u64,
    pub(super) interval: u64,
    pub(super) flow_quantum: u32,
}

impl RateTargets {
    /// For `rate` in bytes per second: at least one and a half full frames are no delay.
    /// Linux 6.12 `cake_set_rate`.
    pub(super) fn new(rate: u64, target: u64, rtt: u64) -> Self {
        let time = ByteTime::new(rate);
        let mtu_time = time.of(PSCHED_MTU);
        let least = target;
        let target = target.max(mtu_time * 3 / 2);
        Self {
            time,
            mtu_time,
            target,
            interval: (rtt + target - least).max(2 * target),
            flow_quantum: if rate == 0 { 1514 } else { (rate >> 12).clamp(300, 1514) as u32 },
        }
    }
}
