//! The time of the run.

use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

const SECOND: u64 = 1_000_000_000;

/// Time since the start of the run, ns.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    start: u64,
}

impl Clock {
    /// The run starts `ns` from now.
    pub(super) fn starting_in(ns: u64) -> Self {
        Self { start: monotonic() + ns }
    }

    pub(super) fn now(self) -> u64 {
        monotonic().saturating_sub(self.start)
    }

    pub(super) fn sleep_until(self, at: u64) {
        let at = timespec(self.start.saturating_add(at));
        while clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(Errno::INTR) {}
    }
}

fn monotonic() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * SECOND + t.tv_nsec as u64
}

pub(super) fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / SECOND) as i64, tv_nsec: (ns % SECOND) as i64 }
}
