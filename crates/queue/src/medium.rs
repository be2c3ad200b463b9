//! A medium that several senders share: one sends at a time, and a wait for access counts only the
//! time in which nobody does, as a frozen backoff (IEEE Std 802.11-2020 10.23.2.4).

use std::sync::{Arc, Mutex, PoisonError};

use sojourn_core::units::{Dur, Time};

/// The state that all clones share.
#[derive(Clone, Debug, Default)]
pub struct Medium(Arc<Mutex<Shared>>);

#[derive(Clone, Copy, Debug, Default)]
struct Shared {
    free_at: Time,
    /// Airtime of all transmissions up to now, the current one in full.
    busy: Dur,
}

/// A sender's wait for access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    begin: Time,
    length: Dur,
    busy_before: Dur,
}

impl Wait {
    /// When it is over if nobody sends meanwhile.
    pub(crate) fn earliest(&self) -> Time {
        self.begin + self.length
    }
}

impl Medium {
    fn with<T>(&self, act: impl FnOnce(&mut Shared) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A wait for `length` of free medium from `now` on.
    pub(crate) fn wait(&self, now: Time, length: Dur) -> Wait {
        self.with(|m| Wait { begin: now.max(m.free_at), length, busy_before: m.busy })
    }

    /// What is left of `wait` at `now`, with the transmission that is on the air.
    pub(crate) fn remaining(&self, wait: Wait, now: Time) -> Dur {
        let busy = self.with(|m| m.busy) - wait.busy_before;
        (wait.length + busy).saturating_sub(now.since(wait.begin))
    }

    /// Somebody sends for `airtime` from `now` on.
    pub(crate) fn occupy(&self, now: Time, airtime: Dur) {
        self.with(|m| {
            debug_assert!(m.free_at <= now, "one sender at a time");
            m.free_at = now + airtime;
            m.busy += airtime;
        });
    }
}
