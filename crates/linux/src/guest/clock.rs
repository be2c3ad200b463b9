//! The time of the run.

use rustix::time::Timespec;
use sojourn_core::{Dur, Time};
use sojourn_live::clock;

const SECOND: u64 = 1_000_000_000;

/// Time since the start of the run, ns.
#[derive(Clone, Copy)]
pub(super) struct Clock(pub(super) clock::Clock);

impl Clock {
    /// The run starts `ns` from now.
    pub(super) fn starting_in(ns: u64) -> Self {
        Self(clock::Clock::starting_in(Dur(ns)))
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
