//! PIE's controller, for every discipline that uses it. Linux 6.12 `pie.h`, `sch_pie`.

use super::super::PSCHED_MTU;
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::{number, time_from};
use sojourn_core::packet::Packet;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};
use sojourn_core::{choices, parameters};

parameters! {
    /// Parameters of the controller, in every discipline that uses it.
    #[derive(Copy, PartialEq, Eq)]
    pub(in super::super) struct Law {
        /// Delay aimed at.
        pub(super) target: Dur = Dur::from_millis(15) => time_from(Dur::from_micros(1));
        /// Period of the controller, in jiffies rounded up and one more.
        pub(in super::super) tupdate: Dur = Dur::from_millis(15) => time_from(Dur::from_micros(1));
        /// Integral gain in 1/16 Hz per update, 1 to 32.
        pub(super) alpha: u32 = 2 => number(1..=32);
        /// Proportional gain in 1/16 Hz per update, 1 to 32.
        pub(super) beta: u32 = 20 => number(1..=32);
        /// Whether ECN-capable packets are marked instead of dropped at low probability.
        pub(in super::super) ecn: bool = false, name "ecn|noecn";
        /// Whether the probability is in proportion to the packet's length.
        pub(super) bytemode: bool = false, name "bytemode|nobytemode";
        /// Delay from backlog and departure rate, or from the packets' timestamps.
        pub(super) estimates: bool = false, name ESTIMATOR;
        /// Linux 6.12, or 5.1 to 5.4, which only has the rate estimator.
        pub(super) version: Version = Version::Mainline, tc false;
    }
    derive choose_estimator;
    settle refuse;
}

choices! {
    /// Which kernel's.
    pub(super) enum Version {
        /// Linux 5.1 to 5.4.
        Old = "5.4",
        Mainline = "mainline",
    }
}

const ESTIMATOR: &str = "dq_rate_estimator|no_dq_rate_estimator";

/// Probability 1.
pub(in super::super) const MAX_PROB: u64 = u64::MAX >> 8;
/// Ticks of 64 ns per second.
const TICKS_PER_SEC: u64 = 15_625_000;
/// Bytes that a measurement of the departure rate takes.
const QUEUE_THRESHOLD: u64 = 16384;
const BURST: u64 = ticks(Dur::from_millis(150).0);
const LONG_DELAY: u64 = ticks(Dur::from_millis(250).0);

const fn ticks(ns: u64) -> u64 {
    ns >> 6
}

impl Law {
    fn choose_estimator(&mut self, given: &Given) {
        if given.has("version") && !given.has(ESTIMATOR) {
            self.estimates = self.version == Version::Old;
        }
    }

    fn refuse(&self, _given: &Given) -> Result<(), String> {
        if self.version == Version::Old && !self.estimates {
            return Err("version 5.4 has only `dq_rate_estimator`".to_owned());
        }
        Ok(())
    }

    /// The kernel's target: whole microseconds in ticks.
    const fn target_ticks(&self) -> u64 {
        ticks(self.target.as_micros() * 1000)
    }

    /// A gain per tick of delay.
    pub(super) const fn gain(sixteenths: u32) -> u64 {
        (sixteenths as u64 * (MAX_PROB / TICKS_PER_SEC)) >> 4
    }
}

/// State of one controller. Delays are in ticks of 64 ns.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Control {
    pub(in super::super) prob: u64,
    /// Probability since the last drop, which takes the chance out of the distances.
    pub(super) accu_prob: u64,
    burst_time: u64,
    pub(super) qdelay: u64,
    qdelay_old: u64,
    /// Bytes per tick, times 256; 0 without an estimate.
    pub(super) avg_dq_rate: u32,
    /// Start of the measurement, or the last departure.
    dq_tstamp: Option<u64>,
    dq_count: Option<u64>,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            prob: 0,
            accu_prob: 0,
            burst_time: BURST,
            qdelay: 0,
            qdelay_old: 0,
            avg_dq_rate: 0,
            dq_tstamp: None,
            dq_count: None,
        }
    }
}

impl Control {
    /// Whether an arrival of `len` bytes at a queue of `backlog` bytes is to be signalled.
    /// RFC 8033 4.1, 4.4 and 5.4; Linux 6.12 `pie_drop_early`.
    #[inline]
    pub(in super::super) fn drop_early(
        &mut self,
        law: &Law,
        backlog: u64,
        len: u32,
        rng: &mut Rng,
    ) -> bool {
        // RFC 8033 4.1: nothing is dropped while the delay is well below the target, or fewer than two
        // frames wait; 4.4: nor in a burst.
        let calm = self.qdelay < law.target_ticks() / 2 && self.prob < MAX_PROB / 5;
        if self.burst_time > 0 || calm || backlog < 2 * u64::from(PSCHED_MTU) {
            return false;
        }
        let prob = if law.bytemode && len <= PSCHED_MTU {
            u64::from(len) * (self.prob / u64::from(PSCHED_MTU))
        } else {
            self.prob
        };
        // RFC 8033 5.4: the accrued probability keeps drops from coming too close (0.85) or too far
        // apart (8.5).
        self.accu_prob = if prob == 0 { 0 } else { self.accu_prob.wrapping_add(prob) };
        if self.accu_prob < MAX_PROB / 100 * 85 {
            return false;
        }
        if self.accu_prob >= MAX_PROB / 2 * 17 {
            return true;
        }
        if rng.u64() >> 8 < prob {
            self.accu_prob = 0;
            return true;
        }
        false
    }

    /// A packet was dropped, for whatever reason.
    #[inline]
    pub(in super::super) fn dropped(&mut self) {
        self.accu_prob = 0;
    }

    /// A packet left and `backlog` bytes remain.
    /// RFC 8033 4.3 and 5.2; Linux 6.12 `pie_process_dequeue`.
    #[inline]
    pub(in super::super) fn departed(&mut self, law: &Law, now: Time, pkt: &Packet, backlog: u64) {
        let now = ticks(now.0);
        let elapsed = if law.estimates {
            let Some(elapsed) = self.measure(now, u64::from(pkt.len), backlog) else { return };
            elapsed
        } else {
            self.qdelay = if backlog == 0 { 0 } else { now - ticks(pkt.stamp.0) };
            self.dq_tstamp.replace(now).map_or(0, |last| now - last)
        };
        self.burst_time = self.burst_time.saturating_sub(elapsed);
    }

    /// Counts a departure; gives the duration of a measurement that it completes.
    /// RFC 8033 5.2; Linux 6.12 `pie_process_dequeue`.
    #[inline]
    fn measure(&mut self, now: u64, len: u64, backlog: u64) -> Option<u64> {
        if backlog >= QUEUE_THRESHOLD && self.dq_count.is_none() {
            (self.dq_tstamp, self.dq_count) = (Some(now), Some(0));
        }
        let count = self.dq_count.as_mut()?;
        *count += len;
        if *count < QUEUE_THRESHOLD {
            return None;
        }
        let elapsed = now - self.dq_tstamp?;
        let rate = (*count << 8).checked_div(elapsed)? as u32;
        self.avg_dq_rate = match self.avg_dq_rate {
            0 => rate,
            avg => avg - (avg >> 3) + (rate >> 3),
        };
        if backlog < QUEUE_THRESHOLD {
            self.dq_count = None;
        } else {
            (self.dq_tstamp, self.dq_count) = (Some(now), Some(0));
        }
        Some(elapsed)
    }

    /// The controller's step, with `backlog` bytes waiting.
    /// RFC 8033 4.2; Linux 6.12 `pie_calculate_probability`.
    pub(in super::super) fn update(&mut self, law: &Law, backlog: u64) {
        let estimates = law.estimates;
        let (delay, old) = if estimates {
            let rate = u64::from(self.avg_dq_rate);
            ((backlog << 8).checked_div(rate).unwrap_or(0), self.qdelay)
        } else {
            (self.qdelay, self.qdelay_old)
        };
        // No delay with a backlog is a backlog too small to measure.
        let mut may_decay = delay != 0 || backlog == 0;
        let (mut alpha, mut beta) = (Law::gain(law.alpha), Law::gain(law.beta));
        // RFC 8033 4.2: gains follow the magnitude of the probability, since the loop's gain falls
        // with it.
        if self.prob < MAX_PROB / 10 {
            (alpha, beta) = (alpha >> 1, beta >> 1);
            let mut power = 100;
            while power <= 1_000_000 && self.prob < MAX_PROB / power {
                (alpha, beta) = (alpha >> 2, beta >> 2);
                power *= 10;
            }
        }
        let error = (delay as i64).wrapping_sub(law.target_ticks() as i64);
        let growth = (delay as i64).wrapping_sub(old as i64);
        let mut delta =
            (alpha as i64).wrapping_mul(error).wrapping_add((beta as i64).wrapping_mul(growth));
        // RFC 8033 5.5: cautious steps once a tenth is dropped.
        if delta > (MAX_PROB / 50) as i64 && self.prob >= MAX_PROB / 10 {
            delta = (MAX_PROB / 100 * 2) as i64;
        }
        // Linux only: above 250 ms the probability rises by another 2 %.
        if delay > LONG_DELAY {
            delta = delta.wrapping_add((MAX_PROB / 50) as i64);
        }
        if delta > 0 {
            // DEVIATION: mainline tests for overflow of 64 bits, while its probability 1 is 2^56:
            // the probability winds up to 256.
            let most = if law.version == Version::Old { MAX_PROB } else { u64::MAX };
            let sum = self.prob.saturating_add(delta as u64);
            if sum > most || sum == u64::MAX {
                (self.prob, may_decay) = (MAX_PROB, false);
            } else {
                self.prob = sum;
            }
        } else {
            self.prob = self.prob.saturating_sub(delta.unsigned_abs());
        }
        // RFC 8033 4.2; Linux decays by 1/64, the RFC by 0.02.
        if delay == 0 && old == 0 && may_decay {
            self.prob -= self.prob / 64;
        }
        (self.qdelay, self.qdelay_old) = (delay, if estimates { old } else { delay });
        // RFC 8033 4.4: a controller at rest grants another burst.
        let half = law.target_ticks() / 2;
        if delay < half && old < half && self.prob == 0 && (!estimates || self.avg_dq_rate > 0) {
            let (qdelay, qdelay_old) = (self.qdelay, self.qdelay_old);
            *self = Self { qdelay, qdelay_old, ..Self::default() };
        }
    }

    /// Whether an update with nothing waiting would change nothing.
    pub(in super::super) const fn rests(&self) -> bool {
        self.prob == 0 && self.qdelay == 0 && self.qdelay_old == 0
    }

    /// The probability, which may exceed 1.
    pub(in super::super) fn probability(&self) -> f64 {
        self.prob as f64 / MAX_PROB as f64
    }

    /// The delay that the controller sees.
    pub(in super::super) const fn delay(&self) -> Dur {
        Dur(self.qdelay << 6)
    }

    /// The estimated departure rate in bytes per second.
    pub(in super::super) fn rate(&self) -> f64 {
        ((u64::from(self.avg_dq_rate) * TICKS_PER_SEC) >> 8) as f64
    }
}
