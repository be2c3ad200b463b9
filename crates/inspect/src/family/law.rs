//! The law of scalable controllers itself (RFC 8257 3.3, RFC 9331 4.3): in each round trip with marks the window falls by
//! half of their moving average, and the change over several is what that adds up to, and the growth.

use super::episodes::{self, median};
use super::{LEAST_ROUNDS, Seen, slope};
use crate::report::{Answer, Family};
use crate::rounds::Round;

/// Rounds over which it adds up, so that it does not matter in which the answer is seen; and how many times.
const BLOCK: usize = 6;
const LEAST_BLOCKS: usize = 8;
/// What is measured by what the law says. A constant cut is a multiple at so small an average, and a constant window 0.
const AS_LAW: std::ops::RangeInclusive<f64> = 0.6..=1.4;
const SMALL_AVERAGE: f64 = 0.06;
/// t of that slope: chance, which has many flows, does not make it.
const BEYOND_DOUBT: f64 = -8.0;

impl Seen<'_> {
    pub(super) fn follows_the_law(&self) -> Option<Answer> {
        let settled = self.settled()?;
        let averages = episodes::averages(self.rounds);
        let marked: Vec<f64> = (settled..self.rounds.len())
            .filter(|&at| self.rounds[at].has_ce())
            .map(|at| averages[at])
            .collect();
        if marked.len() < LEAST_ROUNDS || median(&marked) > SMALL_AVERAGE {
            return None;
        }
        let points = self.blocks(settled, &averages);
        let slope = slope::fit(&points, points.len() as f64)
            .filter(|_| points.len() >= LEAST_BLOCKS)
            .filter(|slope| slope.t <= BEYOND_DOUBT && AS_LAW.contains(&-slope.gain))?;
        Some(Answer {
            family: Family::Scalable,
            kept: None,
            evidence: format!(
                "over {} times {BLOCK} round trips the window changes by {:+.2} segments in each, less {:.2} times half of the average of marks (t {:.1})",
                slope.n,
                slope.at(0.0),
                -slope.gain,
                slope.t
            ),
        })
    }

    /// Of blocks without losses and limits: segments a round trip that the law takes, and by which the window changes.
    fn blocks(&self, from: usize, averages: &[f64]) -> Vec<(f64, f64)> {
        let is_other = |round: &Round| round.lost > 0 || round.is_limited();
        let mut points = Vec::new();
        let mut at = from;
        while at + BLOCK + 1 < self.rounds.len() {
            if self.rounds[at - 1..=at + BLOCK].iter().any(is_other) {
                at += 1;
                continue;
            }
            let taken: f64 = (at..at + BLOCK)
                .filter(|&at| self.rounds[at].has_ce())
                .map(|at| self.windows[at] * averages[at] / 2.0)
                .sum();
            let window = |at: usize| median(&self.windows[at - 1..=at + 1]);
            let change = window(at + BLOCK) - window(at);
            points.push((taken / BLOCK as f64, change / BLOCK as f64));
            at += BLOCK;
        }
        points
    }
}
