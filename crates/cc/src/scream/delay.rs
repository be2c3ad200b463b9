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
/// A base that contradicts the RTT for so long is wrong, ticks.
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

    /// Takes a one-way delay (receiver's clock minus sender's), ticks. Without a `trip` all delays are
    /// believed, as the original does.
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

    /// The queue delay as far as the RTT allows it. Forged times of arrival, and steps of the
    /// receiver's clock, would else stand as a queue for as long as the history lasts.
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
mod tests {
    use super::*;

    const SECOND: u32 = 65_536;

    /// Queue delays at 10 per second for so many seconds with an empty queue and a clock that runs
    /// faster by this share, ticks.
    fn delays(base: &mut BaseDelay, seconds: u32, drift: f64) -> Vec<u32> {
        (0..seconds * 10)
            .map(|n| {
                let now = n * (SECOND / 10);
                if n % 10 == 0 {
                    base.drifts();
                }
                let one_way = (f64::from(now) * drift) as u32;
                match base.sample(Ticks(now), one_way.wrapping_sub(100), None) {
                    Sample::Delay(delay) => delay,
                    Sample::Restarted => panic!("a drift of one sign"),
                }
            })
            .collect()
    }

    // KAT scream2 11: a clock that is 0.02 % fast reads as 100 ms after 500 s
    #[test]
    fn a_fast_clock_is_compensated_for() {
        let mut plain = BaseDelay::new(Ticks(0), false);
        let standing = delays(&mut plain, 700, 0.0002);
        assert!(standing[6990].abs_diff(SECOND / 10) < SECOND / 200, "{}", standing[6990]);
        let mut compensating = BaseDelay::new(Ticks(0), true);
        let delays = delays(&mut compensating, 700, 0.0002);
        assert!(delays[6990] < SECOND / 200, "{}", delays[6990]);
    }

    // KAT scream2 7: a slow clock lowers the base all the time
    #[test]
    fn a_slow_clock_and_one_that_started_later_show_no_queue() {
        let mut base = BaseDelay::new(Ticks(0), false);
        assert!(delays(&mut base, 100, -0.0002).iter().all(|&delay| delay == 0));
        let mut base = BaseDelay::new(Ticks(0), false);
        // Around the wrap of the difference of the two clocks.
        assert_eq!(base.sample(Ticks(1), 5, None), Sample::Delay(0));
        assert_eq!(base.sample(Ticks(2), 5_u32.wrapping_sub(10), None), Sample::Delay(0));
        assert_eq!(base.sample(Ticks(3), 5, None), Sample::Delay(10));
    }

    /// Queue delays, ms, at 100 per second for this many seconds on a path of 100 ms there and back, half
    /// of it each way, with `queue` ms there; one-way delays are off by `step` ms from `at` s on for
    /// `length` s.
    fn lied_to(seconds: u32, queue: u32, step: i32, at: f32, length: f32) -> Vec<u32> {
        let ticks = |ms: u32| ms * SECOND / 1000;
        let mut base = BaseDelay::new(Ticks(0), false);
        (0..seconds * 100)
            .map(|n| {
                let now = n as f32 / 100.0;
                // The first second finds the queue empty.
                let queue = if n < 100 { 0 } else { queue };
                let lie = if (at..at + length).contains(&now) { step } else { 0 };
                let one_way = i64::from(50 + queue as i32 + lie) * i64::from(SECOND) / 1000;
                let rtt = ticks(100 + queue);
                let trip = Trip { rtt, smoothed: rtt };
                match base.sample(Ticks(n * (SECOND / 100)), one_way as u32, Some(trip)) {
                    Sample::Delay(delay) => (delay * 1000).div_ceil(SECOND),
                    Sample::Restarted => panic!("no drift"),
                }
            })
            .collect()
    }

    #[test]
    fn forged_times_of_arrival_are_no_queue_for_the_rest_of_the_run() {
        for step in [-10_000, -90, -30, 30, 90, 10_000] {
            let delays = lied_to(20, 0, step, 5.0, 0.2);
            assert!(delays.iter().all(|&ms| ms <= 11), "{step} ms: {:?}", delays.iter().max());
            assert!(delays[800..].iter().all(|&ms| ms <= 1), "{step} ms: healed after 3 s");
        }
        // A queue that is there stays seen, before, during and after.
        for step in [-10_000, -90, 90, 10_000] {
            let delays = lied_to(20, 80, step, 5.0, 0.2);
            assert!(delays[100..500].iter().all(|&ms| ms.abs_diff(80) <= 1), "{step} ms");
            assert!(delays[530..].iter().all(|&ms| (79..=91).contains(&ms)), "{step} ms");
        }
    }

    #[test]
    fn a_step_of_the_receivers_clock_is_no_queue() {
        for step in [-60_000, -1000, 1000, 60_000] {
            let delays = lied_to(20, 40, step, 5.0, 100.0);
            assert!(delays.iter().all(|&ms| ms <= 51), "{step} ms: {:?}", delays.iter().max());
            let late = &delays[800..];
            assert!(step < 0 || late.iter().all(|&ms| ms.abs_diff(40) <= 1), "{step} ms: {late:?}");
        }
    }

    // KAT scream2 2: fifty slots of ten seconds
    #[test]
    fn the_base_is_forgotten_after_500_seconds() {
        let mut base = BaseDelay::new(Ticks(0), false);
        base.sample(Ticks(1), 0, None);
        let later =
            |base: &mut BaseDelay, second: u32| base.sample(Ticks(second * SECOND), 1000, None);
        for second in 1..500 {
            assert_eq!(later(&mut base, second), Sample::Delay(1000));
        }
        for second in 500..520 {
            later(&mut base, second);
        }
        assert_eq!(later(&mut base, 520), Sample::Delay(0));
    }
}
