//! Whether a packet is the one to signal at a given probability: RFC 9332 A.1's deterministic
//! `recur`, or a random draw as in Linux.

use sojourn_core::rng::Rng;
use sojourn_core::{choices, parameters};

parameters! {
    /// When a probability is a signal.
    #[derive(Copy, PartialEq, Eq)]
    pub(super) struct Signal {
        /// Evenly spaced signals by the RFC's counter, or independent draws as in Linux.
        signal: Draw = Draw::Recur;
    }
}

choices! {
    enum Draw {
        Recur = "recur",
        Random = "random",
    }
}

impl Signal {
    /// Whether it is this packet's turn at `probability`; `count` is the queue's counter.
    /// RFC 9332 A.1 (`recur`): even gaps, for less variation than random draws.
    #[inline]
    pub(super) fn turn(self, count: &mut f64, probability: f64, rng: &mut Rng) -> bool {
        if self.signal == Draw::Random {
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

    // KAT dualpi2 8
    #[test]
    fn recur_signals_when_its_counter_exceeds_one() {
        let (mut count, mut rng) = (0.0, Rng::named(1, "t"));
        let turns: Vec<u32> =
            (1..=17).filter(|_| Signal::default().turn(&mut count, 0.3125, &mut rng)).collect();
        assert_eq!(turns, [4, 7, 10, 13, 17]);
    }

    #[test]
    fn random_draws_have_the_same_mean_and_no_memory() {
        let random = Signal { signal: Draw::Random };
        let (mut count, mut rng) = (0.0, Rng::named(1, "t"));
        let hits = (0..100_000).filter(|_| random.turn(&mut count, 0.3, &mut rng)).count();
        assert!(hits.abs_diff(30_000) < 5 * 145, "{hits}");
        assert_eq!(count, 0.0);
        assert!(!random.turn(&mut count, 0.0, &mut rng));
        assert!(random.turn(&mut count, 1.0, &mut rng));
    }
}
