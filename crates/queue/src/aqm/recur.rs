//! Whether a packet is the one to signal at a given probability: RFC 9332 A.1's deterministic
//! `recur`, or a random draw as in Linux.

use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::rng::Rng;

pub(super) const SIGNAL: Param = Param {
    name: "signal",
    value: "recur|random",
    default: "recur",
    doc: "Evenly spaced signals by the RFC's counter, or independent draws as in Linux.",
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Signal {
    #[default]
    Recur,
    Random,
}

impl Signal {
    pub(super) fn read(args: &mut Args<'_>) -> Result<Self, GrammarError> {
        Ok([Self::Recur, Self::Random][args.choice(&["recur", "random"])?])
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Recur => "recur",
            Self::Random => "random",
        }
    }

    /// Whether it is this packet's turn at `probability`; `count` is the queue's counter.
    #[inline]
    pub(super) fn turn(self, count: &mut f64, probability: f64, rng: &mut Rng) -> bool {
        if self == Self::Random {
            return rng.unit() < probability;
        }
        *count += probability;
        let turn = *count > 1.0;
        if turn {
            *count -= 1.0;
        }
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // KAT aqm.md 8.8 (8)
    #[test]
    fn recur_signals_when_its_counter_exceeds_one() {
        let (mut count, mut rng) = (0.0, Rng::named(1, "t"));
        let turns: Vec<u32> =
            (1..=17).filter(|_| Signal::Recur.turn(&mut count, 0.3125, &mut rng)).collect();
        assert_eq!(turns, [4, 7, 10, 13, 17]);
    }

    #[test]
    fn random_draws_have_the_same_mean_and_no_memory() {
        let (mut count, mut rng) = (0.0, Rng::named(1, "t"));
        let hits = (0..100_000).filter(|_| Signal::Random.turn(&mut count, 0.3, &mut rng)).count();
        assert!(hits.abs_diff(30_000) < 5 * 145, "{hits}");
        assert_eq!(count, 0.0);
        assert!(!Signal::Random.turn(&mut count, 0.0, &mut rng));
        assert!(Signal::Random.turn(&mut count, 1.0, &mut rng));
    }
}
