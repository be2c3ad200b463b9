//! When a kernel timer set in jiffies fires. Linux 6.12 `kernel/time/timer.c`.

use crate::units::{Dur, Time};

/// The kernel's tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jiffies {
    hz: u64,
    tick_ns: u64,
}

impl Jiffies {
    /// At `hz` of them per second (`CONFIG_HZ`).
    pub fn new(hz: u32) -> Self {
        let hz = u64::from(hz.max(1));
        Self { hz, tick_ns: 1_000_000_000 / hz }
    }

    /// Jiffies that have passed at `now`.
    pub const fn at(self, now: Time) -> u64 {
        now.0 / self.tick_ns
    }

    /// Jiffies in a second.
    pub const fn second(self) -> u64 {
        self.hz
    }

    /// `d` in jiffies, rounded up.
    pub const fn of(self, d: Dur) -> u64 {
        d.0.div_ceil(self.tick_ns)
    }

    /// `jiffies` as a duration.
    pub const fn dur(self, jiffies: u64) -> Dur {
        Dur(jiffies * self.tick_ns)
    }

    /// Half a second in jiffies, rounded down.
    pub const fn half_second(self) -> u64 {
        self.hz / 2
    }

    /// When a timer that is set at `now` to fire `jiffies` later does fire. So as never to fire
    /// early, the timer wheel adds a jiffy to delays below 64, and rounds longer ones up to the
    /// next multiple of 8, 64, ... jiffies. Linux 6.12 `calc_wheel_index`.
    #[inline]
    pub fn expiry(self, now: Time, jiffies: u64) -> Time {
        if jiffies < 64 {
            return Time((self.at(now) + jiffies + 1) * self.tick_ns);
        }
        self.rounded_expiry(now, jiffies)
    }

    fn rounded_expiry(self, now: Time, jiffies: u64) -> Time {
        let (mut shift, mut most) = (0, 63);
        while jiffies > most && shift < 24 {
            shift += 3;
            most <<= 3;
        }
        // The count of jiffies starts 300 s before it wraps (INITIAL_JIFFIES), which shows from 64 on.
        let before = (300 * self.hz).wrapping_neg() & ((1 << shift) - 1);
        let expires = self.at(now) + jiffies + before;
        Time(((((expires >> shift) + 1) << shift) - before) * self.tick_ns)
    }
}

#[cfg(test)]
mod tests;
