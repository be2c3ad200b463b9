//! The time of the run.

use rustix::time::Timespec;
use sojourn_core::{Dur, Time};
use sojourn_live::clock;

const SECOND: u64 = 1_000_000_000;

/// Time since the start of the run, ns.
#[derive(Clone, Copy)]
pub(super) struct Clock(pub(super) clock::Clock);

/// Whole ticks of kernels with 1000, 250 or 100 Hz, and whole milliseconds of TCP's timestamps.
const TICKS: Dur = Dur::from_millis(20);

impl Clock {
    /// The run starts `ns` from now, or at the tick after it: the simulator's begins with a tick, too, and what is
    /// measured in milliseconds depends on where in one it begins.
    pub(super) fn starting_in(ns: u64) -> Self {
        Self(clock::Clock::starting_in(Dur(ns)).aligned(TICKS))
    }

    pub(super) fn now(self) -> u64 {
        self.0.now().0
    }

    pub(super) fn sleep_until(self, at: u64) {
        self.0.sleep_until(Time(at));
    }
}

pub(super) fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / SECOND) as i64, tv_nsec: (ns % SECOND) as i64 }
}
