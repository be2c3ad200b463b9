//! The parameters of `red`, and what tc derives from them.

use super::super::psched::{TICK_NS, burst_time};
use sojourn_core::grammar::forms::{Form, bytes, custom, maybe, rate_from, whole};
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::math;
use sojourn_core::units::{Bytes, Rate};
use sojourn_core::{choices, parameters};

choices! {
    /// How the average decays while the queue is idle.
    pub(super) enum Idle {
        Linux = "linux",
        Exact = "exact",
    }
}

parameters! {
    /// Parameters of `red`. As in tc, nothing is taken over from an earlier configuration, and what is 0
    /// follows from the others.
    #[derive(Copy, PartialEq)]
    pub(super) struct Params {
        /// Bytes that may wait.
        pub(super) limit: u32 = 0 => bytes(1..=u32::MAX), default "(required)";
        /// Average below which nothing is signalled.
        pub(super) min: u32 = 0 => bytes(0..=u32::MAX), default "max/3";
        /// Average from which every packet is signalled.
        pub(super) max: u32 = 0 => bytes(0..=u32::MAX), default "3*min, or limit/4";
        /// Usual packet size.
        avpkt: u32 = 0 => bytes(1..=u32::MAX), default "(required)";
        /// Burst that the average lets through from an empty queue.
        pub(super) burst: u32 = 0 => whole("PACKETS", 1..=u32::MAX.into(), ""),
            default "(2*min+max)/(3*avpkt)";
        /// Adapt the probability to the load.
        pub(super) adaptive: bool = false;
        /// Signal probability just below max, above 0 and below 1.
        probability: f64 = 0.02 => probability();
        /// Link rate, by which the average decays while the queue is idle.
        bandwidth: Rate = BANDWIDTH => rate_from(Rate(8));
        /// Mark ECN-capable packets.
        pub(super) ecn: bool = false;
        /// Drop instead of marking when the average is above max.
        pub(super) harddrop: bool = false;
        /// Queue packets that cannot be marked instead of dropping them; needs ecn.
        pub(super) nodrop: bool = false;
        /// From max to 2*max the probability rises to 1 in place of a step.
        pub(super) gentle: bool = false, tc false;
        /// Decay while idle: 22.5 times too slow as on Linux, or as designed.
        idle: Idle = Idle::Linux, tc false;
        /// Mark ECT(0) packets SCE on a lower ramp, as does each of the parameters below.
        sce: bool = false, tc false;
        /// Average below which nothing is marked SCE, less than min.
        sce_min: Option<u32> = None => maybe(bytes(0..=u32::MAX)), default "sce_max/3", tc false;
        /// Average from which every packet is marked SCE, at most max.
        sce_max: Option<u32> = None => maybe(bytes(1..=u32::MAX)), default "min", tc false;
        /// Probability of SCE just below sce_max, above 0 and at most 1.
        sce_probability: Option<f64> = None =>
            maybe(custom("PROBABILITY", positive_share, f64::to_string)), default "1", tc false;
    }
    begin forget;
    derive complete;
    settle check;
}

/// tc's default.
const BANDWIDTH: Rate = Rate(10_000_000);

/// What the law takes from the parameters of `red`, or of `sfq`.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Curve {
    pub(in super::super) min: u32,
    pub(in super::super) max: u32,
    pub(in super::super) avpkt: u32,
    pub(in super::super) burst: u32,
    /// Of a signal just below `max`.
    pub(in super::super) probability: f64,
    pub(super) bandwidth: Rate,
    pub(super) idle: Idle,
    pub(super) gentle: bool,
}

impl Params {
    fn forget(&mut self) {
        *self = Self::default();
    }

    /// tc's derivations (iproute2 7.3, `red_parse_opt`).
    fn complete(&mut self, given: &Given) {
        if self.max == 0 {
            let tripled = self.min.saturating_mul(3);
            self.max = if self.min > 0 { tripled } else { self.limit / 4 };
        }
        if self.min == 0 {
            self.min = self.max / 3;
        }
        if self.burst == 0 {
            self.burst = default_burst(self.min, self.max, self.avpkt);
        }
        self.sce |= ["sce_min", "sce_max", "sce_probability"].iter().any(|name| given.has(name));
        if self.sce {
            let max = *self.sce_max.get_or_insert(self.min);
            self.sce_min.get_or_insert(max / 3);
            self.sce_probability.get_or_insert(1.0);
        }
    }

    fn check(&self, _given: &Given) -> Result<(), String> {
        if self.limit == 0 || self.avpkt == 0 {
            return Err("`limit` and `avpkt` are required".to_owned());
        }
        if self.nodrop && !self.ecn {
            return Err("`nodrop` needs `ecn`".to_owned());
        }
        self.curve().check()?;
        if let Some((sce_min, sce_max, _)) = self.sce_ramp() {
            let Self { min, max, .. } = *self;
            if sce_min >= min {
                return Err(format!("`sce_min` {sce_min} is not below `min` {min}"));
            }
            if !(sce_min..=max).contains(&sce_max) {
                return Err(format!("`sce_max` {sce_max} is not from {sce_min} to {max}"));
            }
        }
        Ok(())
    }

    pub(super) fn curve(&self) -> Curve {
        let Self { min, max, avpkt, burst, probability, bandwidth, idle, gentle, .. } = *self;
        Curve { min, max, avpkt, burst, probability, bandwidth, idle, gentle }
    }

    /// SCE's thresholds in bytes, and its probability just below the upper one.
    pub(super) fn sce_ramp(&self) -> Option<(u32, u32, f64)> {
        Some((self.sce_min?, self.sce_max?, self.sce_probability?))
    }
}

impl Curve {
    /// For a flow of `sfq`, whose link and decay cannot be chosen.
    pub(in super::super) fn of_flow([min, max, avpkt, burst]: [u32; 4], probability: f64) -> Self {
        let (bandwidth, idle) = (BANDWIDTH, Idle::Linux);
        Self { min, max, avpkt, burst, probability, bandwidth, idle, gentle: false }
    }

    /// What tc and the kernel refuse (`red_check_params`, Linux 6.12).
    pub(in super::super) fn check(&self) -> Result<(), String> {
        let Self { min, max, avpkt, burst, probability, bandwidth, .. } = *self;
        if max < min {
            return Err(format!("`max` {max} is below `min` {min}"));
        }
        let weight_log = self.weight_log();
        if weight_log > 31 {
            let least = min / avpkt + 1;
            return Err(format!("burst {burst} is too small; at least {least}"));
        }
        if self.idle_table(weight_log).0 > 31 {
            return Err(format!("`bandwidth {bandwidth}` is too low"));
        }
        let bits = 32 - max.leading_zeros();
        if bits + weight_log >= 32 {
            return Err(format!("`max` {max} is too large for burst {burst}"));
        }
        if probability / f64::from((max - min).max(1)) <= math::powi(2.0, -31) {
            return Err("`probability` is too small".to_owned());
        }
        Ok(())
    }

    /// The least weight exponent with which a burst from an empty queue keeps the average at `min`
    /// (Floyd and Jacobson 1993, section 6; iproute2 7.3 `tc_red_eval_ewma`); 32 if there is none.
    pub(super) fn weight_log(&self) -> u32 {
        let burst = f64::from(self.burst);
        let excess = burst + 1.0 - f64::from(self.min) / f64::from(self.avpkt);
        let fits = |log: &u32| {
            let w = math::exp2(-f64::from(*log));
            excess >= 1.0 && excess <= (1.0 - math::pow(1.0 - w, burst)) / w
        };
        (1..32).find(fits).unwrap_or(32)
    }

    /// Decay while idle: microseconds per step as a power of two, 32 if it is too slow, and right shifts
    /// of the average by steps.
    pub(super) fn idle_table(&self, weight_log: u32) -> (u32, [u8; 256]) {
        let ns = burst_time(Bytes(u64::from(self.avpkt)), self.bandwidth).0 as f64;
        let nats = -math::ln(1.0 - math::exp2(-f64::from(weight_log)));
        // DEVIATION: tc takes the packet time in 64 ns ticks, where the kernel indexes by
        // microseconds, and natural logarithms for shifts.
        let decay = match self.idle {
            Idle::Exact => nats / std::f64::consts::LN_2 / (ns / 1000.0),
            Idle::Linux => nats / (ns / TICK_NS as f64),
        };
        let longest = 31.0 / decay;
        let log = (0..32).find(|log| longest / math::exp2(f64::from(*log)) < 512.0).unwrap_or(32);
        let mut stab = [0; 256];
        for (i, shift) in stab.iter_mut().enumerate() {
            *shift = (((i as u64) << log) as f64 * decay).min(31.0) as u8;
        }
        stab[255] = 31;
        (log, stab)
    }
}

/// tc's burst for thresholds, in packets (iproute2 7.3, `red_parse_opt`).
pub(in super::super) fn default_burst(min: u32, max: u32, avpkt: u32) -> u32 {
    let burst = (2 * u64::from(min) + u64::from(max)) / (3 * u64::from(avpkt.max(1)));
    burst as u32
}

/// A probability of which neither never nor always makes sense.
pub(in super::super) fn probability() -> impl Form<f64> {
    let read = |args: &mut Args<'_>| {
        args.value("a number above 0 and below 1", |word| {
            word.parse().ok().filter(|share| *share > 0.0 && *share < 1.0)
        })
    };
    custom("PROBABILITY", read, f64::to_string)
}

fn positive_share(args: &mut Args<'_>) -> Result<f64, GrammarError> {
    args.value("a number above 0 and at most 1", |word| {
        word.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0)
    })
}
