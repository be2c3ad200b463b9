//! PIE's controller, for every discipline that uses it. Linux 6.12 `pie.h`, `sch_pie`.

use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

pub(in super::super) const TARGET: Param =
    Param { name: "target", value: "TIME", default: "15ms", doc: "Delay aimed at." };
pub(in super::super) const TUPDATE: Param = Param {
    name: "tupdate",
    value: "TIME",
    default: "15ms",
    doc: "Period of the controller, in jiffies rounded up and one more.",
};
pub(in super::super) const ALPHA: Param = Param {
    name: "alpha",
    value: "NUMBER",
    default: "2",
    doc: "Integral gain in 1/16 Hz per update, 1 to 32.",
};
pub(in super::super) const BETA: Param = Param {
    name: "beta",
    value: "NUMBER",
    default: "20",
    doc: "Proportional gain in 1/16 Hz per update, 1 to 32.",
};
pub(in super::super) const ECN: Param = Param {
    name: "ecn|noecn",
    value: "",
    default: "noecn",
    doc: "Whether ECN-capable packets are marked instead of dropped at low probability.",
};
pub(in super::super) const BYTEMODE: Param = Param {
    name: "bytemode|nobytemode",
    value: "",
    default: "nobytemode",
    doc: "Whether the probability is in proportion to the packet's length.",
};
pub(in super::super) const ESTIMATOR: Param = Param {
    name: "dq_rate_estimator|no_dq_rate_estimator",
    value: "",
    default: "no_dq_rate_estimator",
    doc: "Delay from backlog and departure rate, or from the packets' timestamps.",
};
pub(in super::super) const VERSION: Param = Param {
    name: "version",
    value: "5.4|mainline",
    default: "mainline",
    doc: "Linux 6.12, or 5.1 to 5.4, which only has the rate estimator; not a word of tc.",
};

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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Version {
    /// Linux 5.1 to 5.4.
    Old,
    #[default]
    Mainline,
}

/// What the controller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Law {
    pub(in super::super) target: Dur,
    pub(in super::super) tupdate: Dur,
    pub(in super::super) alpha: u32,
    pub(in super::super) beta: u32,
    pub(in super::super) ecn: bool,
    pub(in super::super) bytemode: bool,
    /// Given by the user, otherwise by the version.
    pub(super) estimator: Option<bool>,
    pub(in super::super) version: Version,
    pub(in super::super) mtu: u32,
}

impl Law {
    pub(in super::super) fn new(mtu: u32) -> Self {
        Self {
            target: Dur::from_millis(15),
            tupdate: Dur::from_millis(15),
            alpha: 2,
            beta: 20,
            ecn: false,
            bytemode: false,
            estimator: None,
            version: Version::Mainline,
            mtu,
        }
    }

    /// Reads one of the words that all PIE disciplines share; false if it is none of them.
    pub(in super::super) fn read(
        &mut self,
        key: &str,
        args: &mut Args<'_>,
    ) -> Result<bool, GrammarError> {
        match key {
            "target" => self.target = time(args)?,
            "tupdate" => self.tupdate = time(args)?,
            "alpha" => self.alpha = args.number(1..=32)? as u32,
            "beta" => self.beta = args.number(1..=32)? as u32,
            "ecn" => self.ecn = true,
            "noecn" => self.ecn = false,
            "bytemode" => self.bytemode = true,
            "nobytemode" => self.bytemode = false,
            "dq_rate_estimator" => self.estimator = Some(true),
            "no_dq_rate_estimator" => self.estimator = Some(false),
            "version" => {
                let old = args.choice(&["5.4", "mainline"])? == 0;
                self.version = if old { Version::Old } else { Version::Mainline };
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(in super::super) fn check(&self, args: &Args<'_>) -> Result<(), GrammarError> {
        if self.version == Version::Old && self.estimator == Some(false) {
            return Err(args.invalid("version 5.4 has only `dq_rate_estimator`"));
        }
        Ok(())
    }

    /// Whether the delay comes from the departure rate.
    #[inline]
    pub(in super::super) fn estimates(&self) -> bool {
        self.estimator.unwrap_or(self.version == Version::Old)
    }

    pub(in super::super) fn describe(&self) -> String {
        let mut text = format!(
            "target {} tupdate {} alpha {} beta {}",
            self.target, self.tupdate, self.alpha, self.beta
        );
        text += if self.ecn { " ecn" } else { " noecn" };
        text += if self.bytemode { " bytemode" } else { "" };
        match self.estimator {
            Some(true) => text += " dq_rate_estimator",
            Some(false) => text += " no_dq_rate_estimator",
            None => {}
        }
        text + if self.version == Version::Old { " version 5.4" } else { "" }
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

fn time(args: &mut Args<'_>) -> Result<Dur, GrammarError> {
    args.value("a time from 1us such as `5ms`", |w| {
        Dur::parse_tc(w).filter(|d| d.0 >= 1000 && u32::try_from(d.as_micros()).is_ok())
    })
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
    #[inline]
    pub(in super::super) fn drop_early(
        &mut self,
        law: &Law,
        backlog: u64,
        len: u32,
        rng: &mut Rng,
    ) -> bool {
        let calm = self.qdelay < law.target_ticks() / 2 && self.prob < MAX_PROB / 5;
        if self.burst_time > 0 || calm || backlog < 2 * u64::from(law.mtu) {
            return false;
        }
        let prob = if law.bytemode && len <= law.mtu {
            u64::from(len) * (self.prob / u64::from(law.mtu))
        } else {
            self.prob
        };
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
    #[inline]
    pub(in super::super) fn departed(&mut self, law: &Law, now: Time, pkt: &Packet, backlog: u64) {
        let now = ticks(now.0);
        let elapsed = if law.estimates() {
            let Some(elapsed) = self.measure(now, u64::from(pkt.len), backlog) else { return };
            elapsed
        } else {
            self.qdelay = if backlog == 0 { 0 } else { now - ticks(pkt.stamp.0) };
            self.dq_tstamp.replace(now).map_or(0, |last| now - last)
        };
        self.burst_time = self.burst_time.saturating_sub(elapsed);
    }

    /// Counts a departure; gives the duration of a measurement that it completes.
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
    pub(in super::super) fn update(&mut self, law: &Law, backlog: u64) {
        let estimates = law.estimates();
        let (delay, old) = if estimates {
            let rate = u64::from(self.avg_dq_rate);
            ((backlog << 8).checked_div(rate).unwrap_or(0), self.qdelay)
        } else {
            (self.qdelay, self.qdelay_old)
        };
        // No delay with a backlog is a backlog too small to measure.
        let mut may_decay = delay != 0 || backlog == 0;
        let (mut alpha, mut beta) = (Law::gain(law.alpha), Law::gain(law.beta));
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
        if delta > (MAX_PROB / 50) as i64 && self.prob >= MAX_PROB / 10 {
            delta = (MAX_PROB / 100 * 2) as i64;
        }
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
        if delay == 0 && old == 0 && may_decay {
            self.prob -= self.prob / 64;
        }
        (self.qdelay, self.qdelay_old) = (delay, if estimates { old } else { delay });
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
