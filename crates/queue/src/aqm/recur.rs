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
mod tests;
