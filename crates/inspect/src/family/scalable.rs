//! Reductions in proportion to the marks (RFC 8257 3.3, RFC 9331 4.3).

use super::episodes::median;
use super::{
    BALANCE, CERTAIN, CONSTANT, LEAST_EPISODES, LEAST_HELD, LEAST_ROUNDS, NOT_HALF, Seen, episodes,
    growth, slope,
};
use crate::report::{Answer, Family};
use crate::rounds::Round;

/// Rounds of a stretch, and answers to marks in it that leave a third of a classic window of eight segments or more:
/// Reno regrows half a window between two.
const STRETCH: usize = 16;
const ANSWERS: usize = 6;
/// The window behind such a stretch, of that before.
const STOOD: f64 = 0.8;
/// Median part of packets acknowledged with ECE, in rounds with it, from which on it lasts longer than the marks.
const STICKY: f64 = 0.5;
/// Rounds before the first episode in which growth without marks is looked at.
const BEFORE: usize = 24;
/// Growth in rounds with marks, of that in rounds without, from which on it has stopped.
const STOPPED: f64 = 0.3;
/// Marks a round trip of a scalable controller, in each of this number of parts of the time.
const TWO_MARKS: std::ops::RangeInclusive<f64> = 0.7..=4.0;
const PARTS: usize = 4;
/// t of a slope beside other evidence: one in fifty.
const LIKELY: f64 = -2.0;

impl Seen<'_> {
    /// Stretches of rounds without losses in which a classic controller would have answered marks at least six times, if
    /// only every second round in a row, and this window is what it was: Reno's is at most a sixth of itself after
    /// that, and regrows a segment a round.
    pub(super) fn standing(&self) -> usize {
        let mut count = 0;
        let first = self.told.first().map_or(0, |episode| episode.at);
        let mut at = self.settled().map_or(first, |settled| first.min(settled));
        while let Some(stretch) = self.rounds.get(at..at + STRETCH) {
            let runs = stretch.chunk_by(|one, next| one.has_ce() == next.has_ce());
            let answers: usize =
                runs.filter(|run| run[0].has_ce()).map(|run| run.len().div_ceil(2)).sum();
            let (from, to) = (
                median(&self.windows[at..at + 3]),
                median(&self.windows[at + STRETCH - 3..at + STRETCH]),
            );
            let is_disturbed = stretch.iter().any(|round| round.lost > 0 || round.is_limited());
            let is_one = answers >= ANSWERS && from >= episodes::LEAST_WINDOW && to >= STOOD * from;
            count += usize::from(is_one && !is_disturbed);
            at += if is_one { STRETCH } else { 1 };
        }
        count
    }

    /// From this round on the moving average of marks has forgotten its start: its time constant is 16 rounds.
    pub(super) fn settled(&self) -> Option<usize> {
        let settled = self.rounds.iter().position(Round::has_ce)? + 32;
        (settled + LEAST_ROUNDS <= self.rounds.len()).then_some(settled)
    }

    /// The capture has the marks, or feedback that counts them. ECE that lasts until CWR comes (RFC 3168 6.1.3) does not say how many
    /// there were; DCTCP's does.
    pub(super) fn counts_marks(&self) -> bool {
        let sees = self.rounds.iter().any(|round| round.ce_seen > 0);
        let rounds = &self.rounds[self.settled().unwrap_or(0)..];
        let by_ece: Vec<f64> =
            rounds.iter().filter(|round| round.ece > 0).map(|round| round.marked(false)).collect();
        sees || by_ece.is_empty() || median(&by_ece) < STICKY
    }

    /// Segments by which a scalable controller would reduce a round.
    pub(super) fn balance(&self) -> Option<f64> {
        let settled = self.settled()?;
        let averages = episodes::averages(self.rounds);
        let reductions: f64 = (settled..self.rounds.len())
            .filter(|&at| self.rounds[at].has_ce())
            .map(|at| self.windows[at] * averages[at] / 2.0)
            .sum();
        Some(reductions / (self.rounds.len() - settled) as f64)
    }

    /// Reductions in proportion: as much as the growth, and deeper the more is marked.
    pub(super) fn scalable(&self, ratios: &[f64], balance: f64) -> Option<Answer> {
        let sees = self.rounds.iter().any(|round| round.ce_seen > 0);
        let settled = self.settled()?;
        let after = self.told.first().map_or(settled, |episode| episode.at.saturating_sub(BEFORE));
        let rounds = &self.rounds[settled..];
        let marked =
            rounds.iter().filter(|round| round.has_ce()).count() as f64 / rounds.len() as f64;
        let fractions: Vec<f64> = self.rounds.iter().map(|round| round.marked(sees)).collect();
        let slope = slope::of(rounds, &self.windows[settled..], &fractions[settled..], |_| false);
        let deeper = slope.filter(|slope| slope.t <= CERTAIN && slope.at(1.0) < 0.0);
        // Where every round has about as many marks, it shows by what it does in rounds without any.
        let after = after.min(settled);
        let any: Vec<f64> =
            self.rounds.iter().map(|round| f64::from(u8::from(round.has_ce()))).collect();
        let at_all =
            slope::of(&self.rounds[after..], &self.windows[after..], &any[after..], |_| false)
                .filter(|slope| slope.t <= CERTAIN && slope.at(0.0) > 0.0)
                .filter(|slope| slope.at(1.0) <= STOPPED * slope.at(0.0));
        let slope = deeper.or(at_all)?;
        let fits = BALANCE.contains(&balance);
        fits.then(|| Answer {
            family: Family::Scalable,
            kept: None,
            evidence: format!(
                "window {:.2} of before after {} episodes of CE; marks in {:.0} % of the round trips, of which half the average share would take {balance:.2} segments a round trip (t {:.1})",
                median(ratios), ratios.len(), 100.0 * marked, slope.t
            ),
        })
    }

    /// Half at losses, as Reno, and next to nothing at marks that it was told of: RFC 9331 4.3.
    pub(super) fn halves_at_losses_alone(
        &self,
        marks: &[f64],
        mild: usize,
        cut: usize,
    ) -> Option<Answer> {
        let (ratios, cut_by_losses, held) = self.losses();
        let is_reported = self.rounds.iter().any(|round| round.ce_fed > 0);
        let fits = is_reported
            && mild >= LEAST_HELD
            && cut == 0
            && cut_by_losses >= LEAST_EPISODES
            && held == 0
            && median(&ratios) < NOT_HALF;
        fits.then(|| Answer {
            family: Family::Scalable,
            kept: None,
            evidence: format!(
                "window {:.2} of before after {} episodes of CE and {:.2} after {} losses",
                median(marks),
                marks.len(),
                median(&ratios),
                ratios.len()
            ),
        })
    }

    /// It grew until marks came, and stands since then, with no more of them than it can make up for.
    pub(super) fn stops_at_marks(&self, balance: f64) -> Option<Answer> {
        let standing = self.standing();
        let has_ended = |climb: &&growth::Climb| {
            let end = climb.at + climb.rounds;
            self.rounds.get(end..end + 2).is_some_and(|two| two.iter().any(Round::has_ce))
        };
        let climbs = growth::climbs(self.rounds, self.windows, 1);
        let climb = climbs.iter().find(has_ended)?;
        (standing >= LEAST_EPISODES && BALANCE.contains(&balance)).then(|| Answer {
            family: Family::Scalable,
            kept: None,
            evidence: format!(
                "window from {:.0} to {:.0} segments in {} round trips without marks, and with them it stands in {standing} stretches of {STRETCH}; half the average share of marks would take {balance:.2} segments a round trip",
                climb.from, climb.to, climb.rounds
            ),
        })
    }

    /// About two marks a round trip all the time, at a window that stands: what scalable controllers settle at (RFC 9331 4.3,
    /// draft-briscoe-iccrg-prague-congestion-control 2.4.4).
    pub(super) fn scalable_by_balance(&self) -> Option<Answer> {
        let settled = self.settled()?;
        let sees = self.rounds.iter().any(|round| round.ce_seen > 0);
        let part = (self.rounds.len() - settled) / PARTS;
        let marks = |rounds: &[Round]| {
            let sum: f64 =
                rounds.iter().map(|round| round.marked(sees) * f64::from(round.packets)).sum();
            sum / rounds.len() as f64
        };
        let parts: Vec<f64> =
            self.rounds[settled..].chunks_exact(part.max(1)).take(PARTS).map(marks).collect();
        let is_even = parts.iter().all(|marks| TWO_MARKS.contains(marks));
        // It moves with the marks, and is no constant.
        let moves = self.distance(settled) > CONSTANT;
        let fractions: Vec<f64> = self.rounds.iter().map(|round| round.marked(sees)).collect();
        let slope = slope::of(
            &self.rounds[settled..],
            &self.windows[settled..],
            &fractions[settled..],
            |_| false,
        )?;
        (is_even && moves && slope.t <= LIKELY).then(|| Answer {
            family: Family::Scalable,
            kept: None,
            evidence: format!(
                "{:.1} marks a round trip on average, in each quarter of the time from {:.1} to {:.1}; the window stands, and falls with the marks (t {:.1})",
                parts.iter().sum::<f64>() / parts.len() as f64,
                parts.iter().copied().fold(f64::INFINITY, f64::min),
                parts.iter().copied().fold(0.0, f64::max),
                slope.t
            ),
        })
    }
}
