//! The linear PI controller of `dualpi2` and `pi2`, whose output is squared for Classic traffic and
//! multiplied for L4S. Linux 6.17 `sch_dualpi2`.

use super::super::Reason;
use sojourn_core::grammar::forms::{Form, custom, number, time_from};
use sojourn_core::grammar::{Args, GrammarError};
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::Dur;

parameters! {
    /// Parameters of the controller.
    #[derive(Copy, PartialEq, Eq)]
    pub(in super::super) struct Law {
        /// Ratio of the coupled L4S probability to the controller's, 1 to 255.
        pub(in super::super) coupling_factor: u8 = 2 => number(1..=255);
        /// Delay aimed at.
        pub(in super::super) target: Dur = Dur::from_millis(15);
        /// Period of the controller.
        pub(in super::super) tupdate: Dur = Dur::from_millis(16) => time_from(Dur::from_micros(1));
        /// Integral gain per update; tc truncates it to 1/256.
        pub(in super::super) alpha: u32 = 41 => gain();
        /// Proportional gain per update; tc truncates it to 1/256.
        pub(in super::super) beta: u32 = 819 => gain();
    }
}

/// A gain in Hz, kept in 1/256 Hz.
fn gain() -> impl Form<u32> {
    let read = |args: &mut Args<'_>| -> Result<u32, GrammarError> {
        Ok(to_gain(args.decimal(0.0..=16_777_215.0)?))
    };
    custom("HZ", read, |gain: &u32| (f64::from(*gain) / 256.0).to_string())
}

/// tc truncates, so that its `alpha 0.16` is 40/256 although the kernel's default is 41/256.
pub(super) fn to_gain(hz: f64) -> u32 {
    (hz * 256.0) as u32
}

/// A gain times 2^32 per 2^6 ns of delay, with the loss of the kernel's integers.
/// Linux 6.17 `dualpi2_scale_alpha_beta`.
pub(super) const fn scaled(gain: u32) -> i64 {
    (gain as u64 * MAX_PROB as u64 / 4 / 1_000_000_000) as i64
}

/// Probability 1, the unit of `prob`.
pub(in super::super) const MAX_PROB: u32 = u32::MAX;

/// What is to become of a packet; one that cannot be marked is dropped instead.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Verdict {
    Pass,
    Mark(Reason),
    Drop(Reason),
}

/// State of the controller.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Controller {
    pub(in super::super) prob: u32,
    pub(in super::super) last_delay: Dur,
}

impl Controller {
    /// Linux 6.17 `calculate_probability`: the step with this delay, to at most `most`.
    pub(in super::super) fn update(&mut self, law: &Law, delay: Dur, most: u32) {
        let [error, growth] = self.terms(law, delay);
        self.add(error.saturating_add(growth) / 64, most);
    }

    /// DEVIATION: the tree of 2019 divides each term by 2^7 - 1, which halves the gains.
    pub(super) fn update_of_2019(&mut self, law: &Law, delay: Dur, most: u32) {
        let [error, growth] = self.terms(law, delay);
        self.add(error / 127 + growth / 127, most);
    }

    // RFC 9332 A.1 (`dualpi2_update`).
    fn terms(&mut self, law: &Law, delay: Dur) -> [i64; 2] {
        let error = delay.0 as i64 - law.target.0 as i64;
        let growth = delay.0 as i64 - self.last_delay.0 as i64;
        self.last_delay = delay;
        [error.saturating_mul(scaled(law.alpha)), growth.saturating_mul(scaled(law.beta))]
    }

    fn add(&mut self, delta: i64, most: u32) {
        let prob = i64::from(self.prob).saturating_add(delta);
        self.prob = prob.clamp(0, i64::from(most)) as u32;
    }

    // Linux 6.17 `dualpi2_roll`: 0 signals one packet in 2^32.
    #[inline]
    fn roll(&self, rng: &mut Rng) -> bool {
        rng.u32() <= self.prob
    }

    /// The coupled signal. In overload, where the L4S probability would exceed 1, L4S packets are
    /// dropped as Classic ones are if `drops_l4s`.
    /// Linux 6.17 `dualpi2_classic_marking`, `dualpi2_scalable_marking`.
    #[inline]
    pub(in super::super) fn judge(
        &self,
        law: &Law,
        is_l4s: bool,
        drops_l4s: bool,
        rng: &mut Rng,
    ) -> Verdict {
        let coupled = u64::from(self.prob) * u64::from(law.coupling_factor);
        let overload = coupled > u64::from(MAX_PROB);
        if is_l4s && !overload {
            let hit = rng.u32() <= coupled as u32;
            return if hit { Verdict::Mark(Reason::Coupled) } else { Verdict::Pass };
        }
        // The square as two draws, the second only after a hit.
        let hit = (!is_l4s || drops_l4s) && self.roll(rng) && self.roll(rng);
        match (hit, is_l4s) {
            (true, _) if overload => Verdict::Drop(Reason::Overload),
            (true, _) => Verdict::Mark(Reason::Pi),
            (false, true) => Verdict::Mark(Reason::Overload),
            (false, false) => Verdict::Pass,
        }
    }

    /// The output as a share of 1.
    pub(in super::super) fn probability(&self) -> f64 {
        f64::from(self.prob) / f64::from(MAX_PROB)
    }

    pub(in super::super) fn probe(&self, law: &Law, out: &mut Probe<'_>) {
        let prob = self.probability();
        out.put("prob", "1", prob);
        out.put("prob_c", "1", prob * prob);
        out.put("prob_l", "1", (prob * f64::from(law.coupling_factor)).min(1.0));
    }
}
