//! Correlated random numbers and the loss models that use them.

use super::params::Chance;
use sojourn_core::rng::Rng;

/// A uniform 32-bit number that remembers its predecessor.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Correlated {
    rho: u32,
    last: u32,
}

impl Correlated {
    /// A sequence with correlation `rho`, a 32-bit fraction.
    pub(super) fn new(rho: u32, rng: &mut Rng) -> Self {
        Self { rho, last: if rho == 0 { 0 } else { rng.u32() } }
    }

    // Linux 6.12 `get_crandom`.
    #[inline]
    pub(super) fn draw(&mut self, rng: &mut Rng) -> u32 {
        let fresh = rng.u32();
        if self.rho == 0 {
            return fresh;
        }
        let rho = u64::from(self.rho) + 1;
        let mixed = u64::from(fresh) * ((1 << 32) - rho) + u64::from(self.last) * rho;
        self.last = (mixed >> 32) as u32;
        self.last
    }

    /// Whether an event of this probability (32-bit fraction) happens; zero draws nothing.
    #[inline]
    pub(super) fn hits(&mut self, probability: u32, rng: &mut Rng) -> bool {
        probability != 0 && probability >= self.draw(rng)
    }
}

/// When packets are lost; all numbers are 32-bit fractions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// Independently, or with the correlation of the random numbers.
    Random(Chance),
    /// Markov chain: received in a gap (1), received in a burst (2), lost in a burst (3), lost
    /// alone (4).
    State { p13: u32, p31: u32, p32: u32, p23: u32, p14: u32 },
    /// Gilbert-Elliott: to bad `p`, to good `r`, lost when bad `1-h`, lost when good `1-k`.
    Gilbert { p: u32, r: u32, bad: u32, good: u32 },
}

/// Where a loss model is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// State 1, or GOOD.
    #[default]
    Gap,
    /// State 2.
    Burst,
    /// State 3, or BAD.
    LossBurst,
    /// State 4.
    LossGap,
}

impl Loss {
    /// Of random loss.
    pub(super) fn share(self) -> u32 {
        if let Self::Random(chance) = self { chance.share } else { 0 }
    }

    /// Whether the next packet is lost. Linux 6.12 `loss_event`, `loss_4state`, `loss_gilb_ell`.
    #[inline]
    pub(super) fn happens(
        &self,
        state: &mut State,
        correlated: &mut Correlated,
        rng: &mut Rng,
    ) -> bool {
        match *self {
            Self::Random(chance) => correlated.hits(chance.share, rng),
            Self::State { p13, p31, p32, p23, p14 } => {
                let rnd = rng.u32();
                let below = |a: u32, b: u32| u64::from(rnd) < u64::from(a) + u64::from(b);
                *state = match *state {
                    State::Gap if rnd < p14 => State::LossGap,
                    State::Gap if below(p14, p13) => State::LossBurst,
                    State::Burst if rnd < p23 => State::LossBurst,
                    State::LossBurst if rnd < p32 => State::Burst,
                    State::LossBurst if below(p32, p31) => State::Gap,
                    State::LossGap => State::Gap,
                    unchanged => unchanged,
                };
                matches!(state, State::LossBurst | State::LossGap)
            }
            Self::Gilbert { p, r, bad, good } => {
                // The move is drawn first, but the law of this packet is the old state's.
                let is_bad = *state == State::LossBurst;
                let moves = rng.u32() < if is_bad { r } else { p };
                if moves {
                    *state = if is_bad { State::Gap } else { State::LossBurst };
                }
                let rnd = rng.u32();
                if is_bad { rnd > u32::MAX - bad } else { rnd < good }
            }
        }
    }
}

#[cfg(test)]
mod tests;
