//! The periodic timer of a controller, which sleeps while an update could change nothing.

use sojourn_core::jiffies::Jiffies;
use sojourn_core::units::{Dur, Time};

/// How far apart updates are.
pub(super) trait Period: Copy {
    /// The update after the one at `update`.
    fn after(self, update: Time) -> Time;
}

impl Period for Dur {
    fn after(self, update: Time) -> Time {
        update + self
    }
}

/// A timer of the kernel's wheel that each update sets to this time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wheel(pub(super) Jiffies, pub(super) Dur);

impl Period for Wheel {
    fn after(self, update: Time) -> Time {
        self.0.expiry(update, self.0.of(self.1))
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct UpdateTimer<P = Dur> {
    period: P,
    next: Time,
    /// `next`, or never while asleep.
    wake: Time,
}

impl UpdateTimer<Wheel> {
    /// As [`Self::set_period`].
    pub(super) fn set_tupdate(&mut self, tupdate: Dur) {
        self.period.1 = tupdate;
    }
}

impl<P: Period> UpdateTimer<P> {
    /// Asleep; fires at `first` and then in steps of `period` (above zero).
    pub(super) fn new(first: Time, period: P) -> Self {
        Self { period, next: first, wake: Time::NEVER }
    }

    /// The next instant of the old period stays, as that of a running timer does.
    pub(super) fn set_period(&mut self, period: P) {
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
            let period = self.period.after(self.next).since(self.next);
            self.next += period * (now.since(self.next).0 / period.0 + 1);
        }
    }
}
