//! The answer to SCE (draft-morton-tsvwg-sce 5).

use super::episodes::median;
use super::{AGREE, CERTAIN, STANDS_GROWTH, STANDS_NS, STANDS_ROUNDS, Seen, slope};
use crate::report::{Answer, Family};
use crate::rounds::Round;

/// Before it stands it has fallen by this factor, or grown by two: a constant says nothing.
const MOVED: f64 = 1.25;
/// One of this number of rounds on end has ESCE.
const STANDS_NEAR: usize = 4;
/// Rounds behind the first ESCE that slow start's overshoot lasts.
const FORGOTTEN: usize = 16;
/// Rounds about ESCE without another signal, segments by which the window falls then, and how often at least.
const SCE_AFTER: usize = 3;
/// Rounds on end with ESCE behind which a fall may have another reason.
const LONGEST_SCE: usize = 6;
const SCE_FALL: f64 = 2.0;
const LEAST_FALLS: usize = 6;

impl Seen<'_> {
    /// Mean part of the payload acknowledged with ESCE.
    pub(super) fn esce(&self) -> f64 {
        self.rounds.iter().map(Round::sce_fraction).sum::<f64>() / self.rounds.len() as f64
    }

    /// ESCE that brings the window down.
    pub(super) fn sce(&self) -> Option<Answer> {
        self.sce_by_slope().or_else(|| self.falls_at_esce()).or_else(|| self.turns_at_esce())
    }

    /// The window grows in round trips without ESCE, and falls in those with any, neither of which chance explains.
    pub(super) fn turns_at_esce(&self) -> Option<Answer> {
        let from = self.rounds.iter().position(|round| round.esce_bytes > 0)? + FORGOTTEN;
        let (rounds, windows) = (self.rounds.get(from..)?, &self.windows[from..]);
        let any: Vec<f64> =
            rounds.iter().map(|round| f64::from(u8::from(round.esce_bytes > 0))).collect();
        let slope = slope::of(rounds, windows, &any, Round::has_ce)
            .filter(|slope| slope.t <= CERTAIN && slope.at(0.0) > 0.0 && slope.at(1.0) < 0.0)?;
        Some(Answer {
            family: Family::Sce,
            kept: None,
            evidence: format!(
                "in a round trip without ESCE the window changes by {:+.1} segments, in one with any by {:+.1} (t {:.1}, {} rounds)",
                slope.at(0.0),
                slope.at(1.0),
                slope.t,
                slope.n
            ),
        })
    }

    /// The window falls each time that ESCE comes, with neither CE nor a loss about.
    pub(super) fn falls_at_esce(&self) -> Option<Answer> {
        let (mut falls, mut others, mut at) = (0, 0, SCE_AFTER);
        let mut changes = Vec::new();
        while at + SCE_AFTER < self.rounds.len() {
            if self.rounds[at].esce_bytes == 0 || self.rounds[at - 1].esce_bytes > 0 {
                at += 1;
                continue;
            }
            let len = self.rounds[at..].iter().take_while(|round| round.esce_bytes > 0).count();
            let end = at + len;
            let Some(after) = self.windows.get(end..end + SCE_AFTER) else { break };
            let about = &self.rounds[at - SCE_AFTER..end + SCE_AFTER];
            let is_disturbed = about.iter().any(|round| round.has_signal() || round.is_limited());
            if len <= LONGEST_SCE && !is_disturbed {
                let before = self.windows[at - 1..=at].iter().copied().fold(0.0, f64::max);
                let change = after.iter().copied().fold(f64::INFINITY, f64::min) - before;
                changes.push(change);
                if change <= -SCE_FALL { falls += 1 } else { others += 1 }
            }
            at = end;
        }
        (falls >= LEAST_FALLS && falls >= AGREE * others).then(|| Answer {
            family: Family::Sce,
            kept: None,
            evidence: format!(
                "{falls} of {} times that ESCE comes, with neither CE nor losses about, the window falls, by {:.1} segments in the median",
                falls + others,
                -median(&changes)
            ),
        })
    }

    pub(super) fn sce_by_slope(&self) -> Option<Answer> {
        let fractions: Vec<f64> = self.rounds.iter().map(Round::sce_fraction).collect();
        let slope = slope::of(self.rounds, self.windows, &fractions, Round::has_ce)
            .filter(|slope| slope.t <= CERTAIN && slope.at(1.0) < 0.0);
        let Some(slope) = slope else { return self.stands_at_esce() };
        Some(Answer {
            family: Family::Sce,
            kept: None,
            evidence: format!(
                "{:.0} % of the payload acknowledged with ESCE; in a round trip without any the window changes by {:+.1} segments, with all by {:+.1} (t {:.1}, {} rounds)",
                100.0 * self.esce(),
                slope.at(0.0),
                slope.at(1.0),
                slope.t,
                slope.n
            ),
        })
    }

    /// ESCE in one of four rounds or more at which the window stands, after it had grown.
    pub(super) fn stands_at_esce(&self) -> Option<Answer> {
        let has_esce = |at: usize| {
            let near = &self.rounds[at.saturating_sub(STANDS_NEAR - 1)..=at];
            let round = &self.rounds[at];
            near.iter().any(|round| round.esce_bytes > 0)
                && !round.has_signal()
                && !round.is_limited()
        };
        let mut longest = 0..0;
        let mut from = 0;
        for at in 0..self.rounds.len() {
            if !has_esce(at) {
                from = at + 1;
            } else if at + 1 - from > longest.len() {
                longest = from..at + 1;
            }
        }
        // The first of them are still the overshoot.
        let settled = longest.start + longest.len() / 4..longest.end;
        let time: u64 = self.rounds[settled.clone()].iter().map(|round| round.duration).sum();
        if settled.len() < STANDS_ROUNDS || time < STANDS_NS {
            return None;
        }
        let eighth = settled.len() / 8;
        let first = median(&self.windows[settled.start..settled.start + eighth]);
        let last = median(&self.windows[settled.end - eighth..settled.end]);
        let growth = (last - first) / (settled.len() - eighth) as f64;
        let before = &self.windows[..longest.start.max(1)];
        let (low, high) = before.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &window| {
            (low.min(window), high.max(window))
        });
        let has_moved = low < first / 2.0 || high >= MOVED * first;
        (growth.abs() <= STANDS_GROWTH && has_moved).then(|| Answer {
            family: Family::Sce,
            kept: None,
            evidence: format!(
                "{:.0} % of the payload acknowledged with ESCE; with it in one of {STANDS_NEAR} of {} round trips ({:.1} s) the window of {first:.0} segments changes by {growth:+.2} a round trip",
                100.0 * self.esce(),
                settled.len(),
                time as f64 / 1e9
            ),
        })
    }
}
