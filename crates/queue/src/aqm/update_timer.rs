//! The periodic timer of a controller, which sleeps while an update could change nothing.

use sojourn_core::units::{Dur, Time};

#[derive(Clone, Copy, Debug)]
pub(super) struct UpdateTimer {
    period: Dur,
    next: Time,
    /// `next`, or never while asleep.
    wake: Time,
}

impl UpdateTimer {
    /// Asleep; fires at multiples of `period` (above zero) after `now`.
    pub(super) fn new(now: Time, period: Dur) -> Self {
        Self { period, next: now + period, wake: Time::NEVER }
    }

    /// The next instant of the old period stays, as that of a running timer does.
    pub(super) fn set_period(&mut self, period: Dur) {
        self.period = period;
    }

    /// When it fires.
    #[inline]
    pub(super) fn wake(&self) -> Time {
        self.wake
    }

    /// A packet has come. An update that coincides with the first arrival sees no delay yet, so
    /// that skipping up to and including `now` is exact.
    #[inline]
    pub(super) fn arm(&mut self, now: Time) {
        if self.wake == Time::NEVER {
            self.skip_to_after(now);
            self.wake = self.next;
        }
    }

    /// It has fired; sleeps if the controller rests.
    pub(super) fn fired(&mut self, now: Time, rests: bool) {
        self.skip_to_after(now);
        self.wake = if rests { Time::NEVER } else { self.next };
    }

    pub(super) fn sleep(&mut self) {
        self.wake = Time::NEVER;
    }

    #[inline]
    fn skip_to_after(&mut self, now: Time) {
        if self.next <= now {
            self.next += self.period * (now.since(self.next).0 / self.period.0 + 1);
        }
    }
}
