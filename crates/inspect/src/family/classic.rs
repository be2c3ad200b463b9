//! Cuts at losses, and growth between them (RFC 5681 3.1, RFC 9438 4).

use super::bbr::LEAST_EXCURSIONS;
use super::episodes::median;
use super::{AGREE, LEAST_EPISODES, LEAST_HELD, LEAST_ROUNDS, NOT_HALF, Seen, episodes, growth};
use crate::report::{Answer, Family};
use crate::rounds::Round;

/// Median window, segments, below which more losses must agree: a packet more or less is much.
const COARSE: f64 = 16.0;
/// Window of a first climb, of that before the losses.
const FELL: f64 = 0.85;
/// Round trips in which it stands, where Reno grows by twelve segments or more.
const STANDS_ROUNDS: usize = 24;
/// A cut of so much more than the marks explain, of a window of many packets, tells alone.
const DEEP: f64 = 0.25;

impl Seen<'_> {
    /// The only episode of marks ends a long climb, and takes far more of the window than so few marks explain.
    pub(super) fn one_deep_cut(&self) -> bool {
        let &[episode] = &self.marks[..] else { return false };
        let is_deep = episode.is_constant_cut()
            && episode.before >= episodes::LARGE_WINDOW
            && episode.scalable - episode.ratio >= DEEP;
        let ends = |climb: &growth::Climb| episode.at.abs_diff(climb.at + climb.rounds) <= 1;
        is_deep && growth::climbs(self.rounds, self.windows, 1).iter().any(ends)
    }

    pub(super) fn by_losses(&self) -> Option<Answer> {
        let (ratios, cut, held) = self.losses();
        let mild = self.marks.iter().filter(|episode| episode.is_mild()).count();
        let before: Vec<f64> = self.losses.iter().map(|episode| episode.before).collect();
        // BBRv3 takes 0.7 at a loss too, and then leaves and comes back to a level (draft-ietf-ccwg-bbr 5.5.10).
        if self.excursions >= LEAST_EXCURSIONS {
            return None;
        }
        let is_coarse = median(&before) < COARSE;
        let least = if is_coarse { 3 * LEAST_EPISODES } else { LEAST_EPISODES };
        if cut >= least && cut >= AGREE * held && mild == 0 {
            // At a few segments BBR falls from twice its least window to that; but then it stands there, where others grow.
            if is_coarse && self.stands_without_a_signal() {
                return None;
            }
            let ratio = median(&ratios);
            // Reno's answer to a loss is a scalable controller's too: with marks about, only those would tell.
            let is_half = ratio < NOT_HALF || is_coarse;
            let may_be_scalable = self.is_ect && self.has_ce() && is_half;
            return (!may_be_scalable).then(|| Answer {
                family: Family::Classic,
                kept: Some(ratio),
                evidence: format!("window {ratio:.2} of before after {} losses", ratios.len()),
            });
        }
        if held >= LEAST_HELD && held >= AGREE * cut {
            return self.unresponsive(held, "losses");
        }
        None
    }

    /// A stretch of round trips behind the first signal in which the window is the same and nothing is signalled.
    fn stands_without_a_signal(&self) -> bool {
        let behind = self.rounds.iter().position(Round::has_signal).unwrap_or(0);
        growth::free(self.rounds, behind).any(|free| {
            let windows = &self.windows[free];
            windows.windows(STANDS_ROUNDS).any(|some| {
                let (low, high) =
                    some.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &window| {
                        (low.min(window), high.max(window))
                    });
                high - low < 1.0
            })
        })
    }

    /// A fall at losses and then growth as of Reno or CUBIC, with nothing that could mark or without ECT.
    pub(super) fn by_growth(&self) -> Option<Answer> {
        let (ratios, _, held) = self.losses();
        let lost = self.rounds.iter().position(|round| round.lost > 0)?;
        let climbs = growth::climbs(self.rounds, self.windows, lost);
        let grows: usize = climbs.iter().map(|climb| climb.rounds).sum();
        let first = climbs.first()?;
        let before = self.windows[..=lost].iter().copied().fold(0.0, f64::max);
        let fell = first.from / before.max(1.0);
        // Of a scalable controller half is left after a loss.
        let not_half = ratios.iter().any(|ratio| *ratio >= NOT_HALF)
            && grows >= 2 * LEAST_ROUNDS
            && before >= COARSE;
        let may_be_scalable = self.is_ect && self.has_ce() && !not_half;
        let fits = !may_be_scalable
            && held == 0
            && fell <= FELL
            && grows >= LEAST_ROUNDS
            && self.pulses + self.excursions + self.probes == 0;
        fits.then(|| Answer {
            family: Family::Classic,
            kept: (!ratios.is_empty()).then(|| median(&ratios)),
            evidence: format!(
                "window {fell:.2} of before after the first losses; {} climbs of {grows} round trips, the first from {:.0} to {:.0} segments{}",
                climbs.len(),
                first.from,
                first.to,
                if ratios.is_empty() { String::new() } else { format!("; {:.2} of before after {} more", median(&ratios), ratios.len()) }
            ),
        })
    }
}
