//! Queue delay from one-way delays with an arbitrary offset: what is above the least of the last
//! 500 s (EricssonResearch/scream c8f84c3, ScreamV2Tx.cpp), and the compensation of a receiver's
//! clock that runs faster. The times of arrival are the receiver's claim; what the sender's own
//! clock rules out is not believed.

use super::Ticks;

/// Length of a slot of the history, ticks, and slots.
const SLOT: u32 = 655_360;
const SLOTS: usize = 50;
/// No sample.
const NONE: u32 = u32::MAX;
/// Where the first one-way delay is put, so that later ones do not wrap around zero.
const CENTRE: u32 = 1 << 30;
/// Differences above are negative ones.
const NEGATIVE: u32 = 0xFFFF_0000;
/// Greatest drift, ticks per second: 0.05 %.
const MAX_DRIFT: u32 = 33;
const SLOT_SECONDS: u32 = 10;
/// The queue on the way there is part of the RTT: its delay is not above what the RTT is above its
/// least by more than this, ticks (10 ms: reports wait, and queues on the way back change).
const SLACK: u32 = 655;
/// Time for which a base has to contradict the RTT to be wrong, ticks.
const WRONG: u32 = 65_536;

/// What a sample asks of its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sample {
    /// Queue delay, ticks.
    Delay(u32),
    /// The compensation was wrong and everything is forgotten.
    Restarted,
}

/// What the sender's own clock says, ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trip {
    /// RTT of the packet.
    pub(super) rtt: u32,
    /// Smoothed over the last reports, so that no single one decides.
    pub(super) smoothed: u32,
}

/// The base and its history.
#[derive(Debug)]
pub(super) struct BaseDelay {
    compensates: bool,
    offset: Option<u32>,
    /// Least of this slot.
    current: u32,
    /// Least of the history.
    least: u32,
    history: [u32; SLOTS],
    at: usize,
    last_slot: Ticks,
    drift: u32,
    per_second: u32,
    /// Least smoothed RTT of this slot, and of each in the history.
    least_rtt: u32,
    rtts: [u32; SLOTS],
    /// Since when each sample has contradicted the RTT.
    contradicts: Option<Ticks>,
}

impl BaseDelay {
    pub(super) fn new(now: Ticks, compensates: bool) -> Self {
        Self {
            compensates,
            offset: None,
            current: NONE,
            least: NONE,
            history: [NONE; SLOTS],
            at: 0,
            last_slot: now,
            drift: 0,
            per_second: 0,
            least_rtt: NONE,
            rtts: [NONE; SLOTS],
            contradicts: None,
        }
    }

    /// Whether `sample` at `now` closes a slot of the history.
    pub(super) fn slot_ends(&self, now: Ticks) -> bool {
        now.since(self.last_slot) >= SLOT
    }

    /// Takes a one-way delay (receiver's clock minus sender's), ticks. The queue delay is what is above
    /// the least of the history, as in LEDBAT (RFC 6817 2.4.2). Without a `trip` all delays are
    /// accepted, as the original does.
    pub(super) fn sample(&mut self, now: Ticks, one_way: u32, trip: Option<Trip>) -> Sample {
        let offset = *self.offset.get_or_insert_with(|| CENTRE.wrapping_sub(one_way));
        let one_way = one_way.wrapping_add(offset);
        self.current = self.current.min(one_way);
        if self.slot_ends(now) {
            self.last_slot = now;
            if self.compensates {
                self.estimate_drift();
            }
            self.at = (self.at + 1) % SLOTS;
            self.history[self.at] = self.current;
            self.rtts[self.at] = std::mem::replace(&mut self.least_rtt, NONE);
            self.least = self.history.iter().copied().min().unwrap_or(NONE);
            self.current = NONE;
        }
        let base = self.current.min(self.least);
        let above = one_way.wrapping_sub(self.drift).wrapping_sub(base);
        if above <= NEGATIVE {
            let bounded = trip.map(|trip| self.bound(now, one_way, above, trip));
            return Sample::Delay(bounded.unwrap_or(above));
        }
        let excess = above.wrapping_neg();
        if excess <= self.drift {
            self.drift -= excess;
            return Sample::Delay(0);
        }
        self.restart();
        Sample::Restarted
    }

    /// The queue delay as far as the RTT allows it. Otherwise forged times of arrival, and steps of the
    /// receiver's clock, would look like a queue for as long as the history lasts.
    fn bound(&mut self, now: Ticks, one_way: u32, above: u32, trip: Trip) -> u32 {
        self.least_rtt = self.least_rtt.min(trip.smoothed);
        let least = self.rtts.iter().fold(self.least_rtt, |least, &rtt| least.min(rtt));
        let queued = trip.rtt.saturating_sub(least);
        let most = (queued + SLACK).min(trip.rtt);
        if above <= most {
            self.contradicts = None;
            return above;
        }
        let since = *self.contradicts.get_or_insert(now);
        if now.since(since) < WRONG {
            return most;
        }
        self.restart();
        self.current = one_way.wrapping_sub(queued);
        queued
    }

    /// Compares the slot that ends with the oldest of the history.
    fn estimate_drift(&mut self) {
        let valid = (0..SLOTS - 1)
            .map(|back| self.history[(self.at + SLOTS - back) % SLOTS])
            .take_while(|&delay| delay != NONE);
        let (count, oldest) = valid.fold((0, NONE), |(count, _), delay| (count + 1, delay));
        self.per_second = if count > 0 && self.current > oldest {
            ((self.current - oldest) / (SLOT_SECONDS * count)).min(MAX_DRIFT)
        } else {
            0
        };
        if self.drift == 0 {
            self.drift = self.per_second * SLOT_SECONDS;
        }
    }

    /// A second passed.
    pub(super) fn drifts(&mut self) {
        self.drift += self.per_second;
    }

    /// Forgets the base and the drift.
    pub(super) fn restart(&mut self) {
        self.history = [NONE; SLOTS];
        (self.current, self.least) = (NONE, NONE);
        (self.drift, self.per_second) = (0, 0);
        self.contradicts = None;
    }
}

#[cfg(test)]
mod tests;
