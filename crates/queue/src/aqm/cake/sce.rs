//! SCE marking as a ramp over the sojourn time. chromi/sce `sch_cake`, 2019 to 2024.

use super::super::cobalt::Verdict;
use sojourn_core::rng::Rng;

/// `sce-single`: the ramp from the target to twice the target.
pub(super) const SINGLE: u16 = u16::MAX;

/// Probability of a mark in 2^-32: up to `knee` at the target `T`, from there to one at `2 T`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ramp {
    target: u64,
    knee: u32,
    /// Slopes per nanosecond below and above the target.
    lo: u32,
    hi: u32,
}

impl Ramp {
    /// For `divisor` 1 to 1024 the probability at the target is its reciprocal; above 1024 it is
    /// zero; 0 marks nothing.
    pub(super) fn new(divisor: u16, target: u64) -> Self {
        let slope = |rise: u32, run: u64| (u64::from(rise) / run.max(1)) as u32;
        match divisor {
            0 => Self { target, ..Self::default() },
            1..=1024 => {
                let knee = u32::MAX / u32::from(divisor);
                let (lo, hi) = (slope(knee, target / 2), slope(u32::MAX - knee, target));
                Self { target, knee, lo, hi }
            }
            _ => Self { target, knee: 0, lo: 0, hi: slope(u32::MAX, target) },
        }
    }

    /// Probability after waiting `sojourn`, 2^32 and more being certain. Where COBALT's guard
    /// still denies that the delay is above the target, the lower slope goes on.
    /// chromi/sce sch_cake.
    #[inline]
    pub(super) fn probability(&self, sojourn: u64, over: bool) -> u64 {
        if sojourn <= self.target / 2 {
            0
        } else if over {
            (sojourn - self.target).saturating_mul(self.hi.into()) + u64::from(self.knee)
        } else {
            (sojourn - self.target / 2).saturating_mul(self.lo.into())
        }
    }

    /// Whether to mark a packet that COBALT has judged. Draws unless the answer is certain.
    #[inline]
    pub(super) fn roll(&self, sojourn: u64, verdict: Verdict, rng: &mut Rng) -> bool {
        let p = self.probability(sojourn, verdict.over);
        p > u64::from(u32::MAX) || (p > 0 && u64::from(rng.u32()) < p)
    }
}
