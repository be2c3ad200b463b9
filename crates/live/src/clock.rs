//! The machine's clocks. A session's time is `CLOCK_MONOTONIC`: steps of the wall clock, which the
//! original measures with, do not disturb it.

use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use sojourn_core::{Dur, Time};

use crate::wait::timespec;

/// Time since the start of this clock's owner.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: u64,
}

impl Clock {
    /// A clock that shows zero now.
    pub fn start() -> Self {
        Self { epoch: nanoseconds(clock_gettime(ClockId::Monotonic)) }
    }

    /// A clock that begins to run after this time, and shows zero before.
    pub fn starting_in(delay: Dur) -> Self {
        Self { epoch: nanoseconds(clock_gettime(ClockId::Monotonic)).saturating_add(delay.0) }
    }

    /// The same, begun at the next whole multiple of `unit` since the machine's clock began.
    #[must_use]
    pub fn aligned(self, unit: Dur) -> Self {
        Self { epoch: self.epoch.next_multiple_of(unit.0.max(1)) }
    }

    /// Sleeps until it shows `at`; how exactly is the thread's timer slack.
    pub fn sleep_until(&self, at: Time) {
        let at = Dur(self.epoch.saturating_add(at.0));
        while clock_nanosleep_absolute(ClockId::Monotonic, &timespec(at)) == Err(Errno::INTR) {}
    }

    /// The time.
    #[inline]
    pub fn now(&self) -> Time {
        Time(nanoseconds(clock_gettime(ClockId::Monotonic)).saturating_sub(self.epoch))
    }
}

impl Clock {
    /// Nanoseconds since it shows zero, negative before.
    pub fn since_start(&self) -> i64 {
        nanoseconds(clock_gettime(ClockId::Monotonic)).wrapping_sub(self.epoch).cast_signed()
    }
}

/// Nanoseconds of Unix time.
pub fn unix_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Realtime))
}

/// User and system time of this process, s.
pub fn cpu_seconds() -> f64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime)) as f64 / 1e9
}

/// Neither clock shows a time before its zero.
fn nanoseconds(at: Timespec) -> u64 {
    (at.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(at.tv_nsec as u64)
}
