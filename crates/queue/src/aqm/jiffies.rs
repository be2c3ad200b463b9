//! When a kernel timer set in jiffies fires. Linux 6.12 `kernel/time/timer.c`.

use sojourn_core::units::{Dur, Time};

/// The kernel's tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Jiffies {
    hz: u64,
    tick_ns: u64,
}

impl Jiffies {
    pub(super) fn new(hz: u32) -> Self {
        let hz = u64::from(hz.max(1));
        Self { hz, tick_ns: 1_000_000_000 / hz }
    }

    /// Jiffies that have passed at `now`.
    pub(super) const fn at(self, now: Time) -> u64 {
        now.0 / self.tick_ns
    }

    /// Jiffies in a second.
    pub(super) const fn second(self) -> u64 {
        self.hz
    }

    /// `d` in jiffies, rounded up.
    pub(super) const fn of(self, d: Dur) -> u64 {
        d.0.div_ceil(self.tick_ns)
    }

    /// Half a second in jiffies, rounded down.
    pub(super) const fn half_second(self) -> u64 {
        self.hz / 2
    }

    /// When a timer that is set at `now` to fire `jiffies` later does fire. So as never to fire
    /// early, the timer wheel adds a jiffy to delays below 64, and rounds longer ones up to the
    /// next multiple of 8, 64, ... jiffies. Linux 6.12 `calc_wheel_index`.
    pub(super) fn expiry(self, now: Time, jiffies: u64) -> Time {
        let (mut shift, mut most) = (0, 63);
        while jiffies > most && shift < 24 {
            shift += 3;
            most <<= 3;
        }
        // The count of jiffies starts 300 s before it wraps (INITIAL_JIFFIES), which shows from 64 on.
        let before = (300 * self.hz).next_multiple_of(1 << shift) - 300 * self.hz;
        let expires = self.at(now) + jiffies + before;
        Time(((((expires >> shift) + 1) << shift) - before) * self.tick_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Linux 7.2 at HZ 1000: 125 updates of a PIE with `tupdate 15ms` in 2.001 s.
    #[test]
    fn short_timers_fire_one_jiffy_late() {
        let j = Jiffies::new(1000);
        assert_eq!(j.of(Dur::from_millis(15)), 15);
        assert_eq!(j.expiry(Time(0), 15), Time(16_000_000));
        assert_eq!(j.expiry(Time(16_999_999), 15), Time(32_000_000));
        let j = Jiffies::new(250);
        assert_eq!((j.of(Dur::from_millis(15)), j.of(Dur(16_000_001))), (4, 5));
        assert_eq!(j.expiry(Time(0), 4), Time(20_000_000));
    }

    #[test]
    fn long_timers_fire_at_multiples_of_eight_jiffies() {
        let j = Jiffies::new(1000);
        assert_eq!(j.half_second(), 500);
        for (now, fires) in [(0, 504), (3, 504), (4, 512), (504, 1008)] {
            assert_eq!(j.expiry(Time(now * 1_000_000), 500), Time(fires * 1_000_000), "{now}");
        }
    }

    // Linux 7.2 at HZ 1000: an sfq of `perturb 1` takes its packets to other buckets at these times since boot, to
    // the packet (docs/kernel-judge.md).
    #[test]
    fn multiples_of_sixty_four_jiffies_lie_half_way_between_those_since_boot() {
        let j = Jiffies::new(1000);
        assert_eq!(j.expiry(Time(0), 1000), Time(1_056_000_000));
        assert_eq!(j.expiry(Time(1_056_000_000), 1000), Time(2_080_000_000));
    }
}
