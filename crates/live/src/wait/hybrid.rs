//! Waiting for a moment more exactly than by sleep: sleep until shortly before, then look at the clock.
//!
//! How long before is as long as the wake-ups of this machine take lately. At 100 Mbit/s a thread with all of
//! [`crate::realtime`] that spins for the last 25 us departs 0.3 us late (median; 1.7 us at the 99th
//! percentile) for 36 % of a CPU where a wake-up takes 13 us; without, 15 us (33 us) for 30 %.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use sojourn_core::{Dur, Time};

use super::timespec;
use crate::clock::Clock;

/// The longest busy wait of a thread that is on time where wake-ups take tens of microseconds, as those of
/// virtual machines do.
pub const LONGEST_SPIN: Dur = Dur::from_micros(60);

/// A thread that waits for departures and for packets.
#[derive(Debug)]
pub struct Hybrid {
    clock: Clock,
    /// The longest busy wait.
    longest: Dur,
    wake_ups: WakeUps,
    /// The last moment that was waited for.
    departed: Option<Time>,
    awake: Awake,
}

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready<const N: usize> {
    /// The moment.
    pub is_due: bool,
    /// Something to read, or an error that reading reports, of each that was waited for.
    pub is_readable: [bool; N],
}

impl Hybrid {
    /// Wakes up before a moment by what wake-ups take, at most by `longest`, and spins from then on; zero:
    /// never. It has to be zero in a kernel in virtual time, where a program that does not sleep stops the
    /// time.
    ///
    /// It does not spin for a moment less than twice that time after the one before, nor while the thread
    /// has been awake for 80 of the last 100 ms: it would never sleep, for which the kernel takes the CPU
    /// from a thread with FIFO scheduling, for 50 ms of each second.
    pub fn new(clock: Clock, longest: Dur) -> Self {
        let wake_ups = WakeUps::within(longest);
        Self { clock, longest, wake_ups, departed: None, awake: Awake::at(clock.now()) }
    }

    /// Waits until one of `fds` has something to read or it is `due`; `None` is never. It is never early;
    /// a signal may end it with nothing ready.
    ///
    /// # Errors
    /// Those of `poll`.
    pub fn wait<const N: usize>(
        &mut self,
        fds: [BorrowedFd<'_>; N],
        due: Option<Time>,
    ) -> io::Result<Ready<N>> {
        let mut fds = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let now = self.clock.now();
        self.awake.count(now);
        let spin = due.map_or(Dur::ZERO, |due| self.spin_before(due));
        let asleep = due.map(|due| {
            let left = due.since(now);
            // `poll` may be late by a thousandth of its timeout (`select_estimate_accuracy`, Linux 6.18),
            // unless the thread has FIFO scheduling: a long wait is one to shortly before, and the rest.
            let early = if spin > Dur::ZERO { spin.max(Dur(left.0 / 1000)) } else { spin };
            left.saturating_sub(early)
        });
        let mut wanted = asleep.map(|asleep| now + asleep);
        let mut is_readable = look(&mut fds, asleep)?;
        let mut now = self.clock.now();
        if let Some(left) = due.map(|due| due.since(now))
            && spin > Dur::ZERO
            && left > spin
            && is_readable == [false; N]
        {
            let asleep = left.saturating_sub(spin);
            wanted = Some(now + asleep);
            is_readable = look(&mut fds, Some(asleep))?;
            now = self.clock.now();
        }
        if asleep != Some(Dur::ZERO) {
            self.awake.wake(now);
            if let Some(wanted) = wanted.filter(|_| is_readable == [false; N]) {
                self.wake_ups.note(now.since(wanted));
            }
        }
        let is_due = |now| due.is_some_and(|due| due <= now);
        while spin > Dur::ZERO && !is_due(now) && is_readable == [false; N] {
            is_readable = look(&mut fds, Some(Dur::ZERO))?;
            now = self.clock.now();
        }
        let is_due = is_due(now);
        if is_due {
            self.departed = due;
        }
        Ok(Ready { is_due, is_readable })
    }

    /// How long to spin before `due`.
    fn spin_before(&self, due: Time) -> Dur {
        let spin = self.wake_ups.expected().min(self.longest);
        let is_close = |last| due.since(last).0 < 2 * spin.0;
        let spins = !self.departed.is_some_and(is_close) && self.awake.allows(spin);
        if spins { spin } else { Dur::ZERO }
    }
}

/// How long it takes until a thread runs whose time has come: mean and mean deviation, smoothed as round-trip
/// times are (RFC 6298, section 2), in ns.
#[derive(Debug)]
struct WakeUps {
    mean: u64,
    deviation: u64,
    /// Longer ones are pauses of the machine, which no spin makes up for.
    longest: u64,
}

impl WakeUps {
    /// Before the first one it is thought to take this long.
    fn within(longest: Dur) -> Self {
        Self { mean: longest.0, deviation: 0, longest: longest.0 }
    }

    fn note(&mut self, Dur(took): Dur) {
        let took = took.min(self.longest);
        self.deviation = (3 * self.deviation + self.mean.abs_diff(took)) / 4;
        self.mean = (7 * self.mean + took) / 8;
    }

    /// What most do not exceed. With two deviations the spins took 10 % of a CPU at 8,200 departures a second
    /// whose wake-ups took 27 us, and the median of the lateness was the same.
    fn expected(&self) -> Dur {
        Dur(self.mean + self.deviation)
    }
}

/// Which are readable, or become it within `timeout`.
fn look<const N: usize>(fds: &mut [PollFd<'_>; N], timeout: Option<Dur>) -> io::Result<[bool; N]> {
    match poll(fds, timeout.map(timespec).as_ref()) {
        Ok(0) | Err(Errno::INTR) => Ok([false; N]),
        Ok(_) => Ok(fds.each_ref().map(|fd| !fd.revents().is_empty())),
        Err(error) => Err(error.into()),
    }
}

/// Nanoseconds over which the time awake is bounded, and what they are counted by.
const WINDOW: u64 = 100_000_000;
const SLOT: u64 = WINDOW / 10;
/// Those that a window has a part of.
const SLOTS: usize = 11;
/// Nanoseconds of a window that spinning may bring the time awake to.
const BUDGET: u64 = 80_000_000;

/// How long a thread was awake lately.
#[derive(Debug)]
struct Awake {
    /// Nanoseconds awake, by slot of the time.
    slots: [u64; SLOTS],
    /// The number of the latest slot since time zero.
    latest: u64,
    /// Awake since then, and not yet counted.
    since: Time,
}

impl Awake {
    fn at(now: Time) -> Self {
        Self { slots: [0; SLOTS], latest: now.0 / SLOT, since: now }
    }

    /// Counts the time until now.
    fn count(&mut self, now: Time) {
        let slot = now.0 / SLOT;
        let passed = slot.saturating_sub(self.latest).min(SLOTS as u64);
        for old in 0..passed {
            self.slots[((slot - old) % SLOTS as u64) as usize] = 0;
        }
        self.latest = slot;
        self.slots[(slot % SLOTS as u64) as usize] += now.since(self.since).0;
        self.since = now;
    }

    /// It was asleep until now.
    fn wake(&mut self, now: Time) {
        self.since = now;
    }

    fn allows(&self, spin: Dur) -> bool {
        self.slots.iter().sum::<u64>() + spin.0 <= BUDGET
    }
}

#[cfg(test)]
mod tests;
