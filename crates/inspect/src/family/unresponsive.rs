//! A constant window through all signals.

use super::episodes::median;
use super::{BALANCE, CONSTANT, HEAVY, LEAST_ROUNDS, STANDS_ROUNDS, Seen, episodes};
use crate::report::{Answer, Family};
use crate::rounds::Round;

/// Smallest constant window, segments: Linux reduces none below two.
const LEAST_CONSTANT: f64 = 3.0;
/// And how constant it is where nothing else tells: DCTCP's at a steady queue moves by more.
const STRICTLY: f64 = 0.025;
/// Mean change from a round to the next, of the window, of which BBR's cycle makes more.
const SMOOTH: f64 = 0.03;
/// Part of the packets with marks, in rounds with many.
const MANY: f64 = 0.1;

impl Seen<'_> {
    /// The same window while the part of the packets that is marked becomes another one.
    pub(super) fn constant_through_marks(&self) -> Option<Answer> {
        let first = self.rounds.iter().position(Round::has_ce)?;
        let from = (first + 2).min(self.rounds.len());
        let sees = self.rounds.iter().any(|round| round.ce_seen > 0);
        let marked: Vec<f64> = self.rounds[from..]
            .iter()
            .filter(|round| round.has_ce())
            .map(|round| round.marked(sees))
            .collect();
        if marked.len() < STANDS_ROUNDS || median(&self.windows[from..]) < LEAST_CONSTANT {
            return None;
        }
        let mut sorted = marked;
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted[sorted.len() / 10], sorted[sorted.len() * 9 / 10]);
        // What a scalable controller would take in a round with marks.
        let averages = episodes::averages(self.rounds);
        let cuts = (from..self.rounds.len()).filter(|&at| self.rounds[at].has_ce());
        let cut = cuts.map(|at| averages[at] / 2.0).sum::<f64>() / sorted.len() as f64;
        let segments = cut * median(&self.windows[from..]);
        let would_fall = cut > HEAVY || cut > HEAVY / 2.0 && segments > *BALANCE.end();
        let is_other = would_fall && high >= MANY && high >= 2.0 * low;
        let is_one = self.distance(from) <= STRICTLY;
        if is_other && is_one {
            self.unresponsive(sorted.len(), "round trips with CE")
        } else {
            None
        }
    }

    /// A constant window through all signals.
    pub(super) fn unresponsive(&self, episodes: usize, what: &str) -> Option<Answer> {
        let from = self.rounds.iter().position(Round::has_signal)?;
        let windows = &self.windows[from..];
        let (middle, distance) = (median(windows), self.distance(from));
        let is_limited = self.rounds[from..].iter().filter(|round| round.is_limited()).count();
        (distance <= CONSTANT && is_limited * 4 < windows.len()).then(|| Answer {
            family: Family::Unresponsive,
            kept: None,
            evidence: format!(
                "window of {middle:.0} segments within {:.1} % through {episodes} {what}",
                100.0 * distance
            ),
        })
    }

    /// It neither follows losses nor moves by itself.
    pub(super) fn smooth_through_losses(&self, losses: usize) -> Option<Answer> {
        let step = self.step();
        (step <= SMOOTH).then(|| Answer {
            family: Family::Unresponsive,
            kept: None,
            evidence: format!(
                "window of {:.0} segments, which changes by {:.1} % from a round trip to the next through losses in {losses} of them",
                median(self.windows),
                100.0 * step
            ),
        })
    }

    /// Mean change from a round to the next behind the first losses, of the median window.
    fn step(&self) -> f64 {
        let from = self.rounds.iter().position(|round| round.lost > 0).unwrap_or(0);
        let windows = &self.windows[(from + LEAST_ROUNDS).min(self.windows.len() / 2)..];
        let steps: f64 = windows.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum();
        steps / (windows.len() as f64 * median(windows))
    }

    /// Mean distance of windows from their median, of it.
    pub(super) fn distance(&self, from: usize) -> f64 {
        let windows = &self.windows[from..];
        let middle = median(windows);
        windows.iter().map(|w| (w - middle).abs()).sum::<f64>() / (windows.len() as f64 * middle)
    }
}
