//! The shaper inside CAKE's relatives: a clock that runs ahead by each packet's time on the wire,
//! and the framing by which that time is reckoned. chromi/sce, trees of 2019 to 2024.

use super::framing::Framing;
use sojourn_core::grammar::forms::{Value as _, or_off};
use sojourn_core::parameters;
use sojourn_core::units::{Rate, Time};

parameters! {
    /// Parameters of the built-in shaper.
    #[derive(Copy, PartialEq, Eq)]
    pub(super) struct Shaping {
        /// Rate of the built-in shaper.
        pub(super) bandwidth: Option<Rate> = None => or_off(Rate::FORM, "unlimited");
    }
    groups { pub(super) framing: Framing = Framing::default(); }
    also {
        /// No shaper.
        "unlimited" => |shaping, _, _| {
            shaping.bandwidth = None;
            Ok(())
        };
    }
}

impl Shaping {
    pub(super) fn capacity(&self) -> Option<Rate> {
        self.bandwidth.filter(|rate| rate.0 > 0)
    }
}

/// Nanoseconds per byte as a fraction of a power of two; zero is no rate at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ByteTime {
    pub(super) ns: u64,
    pub(super) shift: u32,
}

impl ByteTime {
    /// Of a rate in bytes per second; 0 is unlimited, and less than 64 counts as 64.
    pub(super) fn new(rate: u64) -> Self {
        if rate == 0 {
            return Self::default();
        }
        let mut time = Self { ns: (1_000_000_000 << 34) / rate.max(64), shift: 34 };
        while time.ns >> 34 != 0 {
            time.ns >>= 1;
            time.shift -= 1;
        }
        time
    }

    /// Time that `len` bytes take.
    #[inline]
    pub(super) const fn of(self, len: u32) -> u64 {
        (len as u64 * self.ns) >> self.shift
    }
}

/// A shaper without burst: after an idle time one packet leaves at once, the next when the first
/// is through. While there is a backlog the clock runs by its own past, so that a late service is
/// made up for in full.
#[derive(Debug, Default)]
pub(super) struct VirtualClock {
    byte_time: ByteTime,
    framing: Framing,
    time_next: Time,
    watchdog: Time,
    pub(super) overlimits: u64,
}

impl VirtualClock {
    pub(super) fn new(shaping: &Shaping) -> Self {
        let mut clock = Self { framing: shaping.framing, watchdog: Time::NEVER, ..Self::default() };
        clock.set(shaping);
        clock
    }

    /// Another rate and framing from now on; what was charged stays charged.
    pub(super) fn set(&mut self, shaping: &Shaping) {
        self.framing = shaping.framing;
        let rate = shaping.capacity().map_or(0, |rate| rate.bytes_per_sec().max(1));
        self.byte_time = ByteTime::new(rate);
    }

    /// A packet arrives at an empty queue.
    #[inline]
    pub(super) fn restart(&mut self, now: Time) {
        self.time_next = self.time_next.max(now);
    }

    /// Whether the wire is still busy at `now`; then the watchdog is set.
    /// chromi/sce: CAKE's virtual clock without its second one.
    #[inline]
    pub(super) fn is_blocked(&mut self, now: Time) -> bool {
        let blocked = self.time_next > now;
        if blocked {
            self.overlimits += 1;
            self.watchdog = self.time_next;
        }
        blocked
    }

    /// A packet of `len` bytes leaves. chromi/sce, after Linux 6.12 `cake_advance_shaper`.
    #[inline]
    pub(super) fn charge(&mut self, len: u32) {
        let len = self.framing.on_wire(self.framing.counted(len));
        self.time_next.0 += self.byte_time.of(len);
    }

    #[inline]
    pub(super) const fn wake(&self) -> Time {
        self.watchdog
    }

    #[inline]
    pub(super) fn on_wake(&mut self, now: Time) {
        if self.watchdog <= now {
            self.watchdog = Time::NEVER;
        }
    }
}

#[cfg(test)]
mod tests;
