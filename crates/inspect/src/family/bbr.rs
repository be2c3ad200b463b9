//! Pulses, probes and windows that signals do not change: what looks like BBR (draft-ietf-ccwg-bbr 5.3).

use sojourn_core::math;

use super::episodes::median;
use super::{AGREE, CONSTANT, LEAST_HELD, Seen, pulses};
use crate::report::{Answer, Family};
use crate::rounds::Round;

/// Pulses in BBR's rhythm that no chance makes.
const LEAST_PULSES: usize = 4;
/// Excursions from a level and back to it.
pub(super) const LEAST_EXCURSIONS: usize = 2;
/// Part of the quiet rounds that the cycles of these pulses make up.
const PULSED: f64 = 0.25;
/// Rounds of a pulse's cycle.
const CYCLE: f64 = 8.0;
/// Rounds behind the recovery from the first losses, which are slow start's.
const SETTLED: usize = 12;
/// Part of what is sent that are copies, in a round trip of such a recovery.
const COPIES: f64 = 0.25;
/// Round trips with losses, and mean window in packets, below which nothing is said of a law of losses.
const LEAST_LOSSES: usize = 16;
const LEAST_AVERAGE: f64 = 16.0;
/// Window by that of Reno or CUBIC at this rate of losses, below which somebody may have been answered.
const NOT_BELOW_RENO: f64 = 0.8;
/// Window after a loss by that before, of which nothing was taken: Scalable TCP and Illinois take 1/8.
const KEPT: f64 = 0.95;

impl Seen<'_> {
    /// Pulses or probes, while losses and marks are not answered.
    pub(super) fn bbr(&self) -> Option<Answer> {
        self.bbr_by_falls()
            .or_else(|| self.bbr_by_rhythm())
            .or_else(|| self.bbr_by_shape())
            .or_else(|| self.bbr_by_losses())
    }

    /// Pulses that keep time whatever is marked.
    pub(super) fn bbr_by_rhythm(&self) -> Option<Answer> {
        let (pulses, cycle) = pulses::regular(self.rounds, self.windows)?;
        Some(Answer {
            family: Family::BbrLike,
            kept: None,
            evidence: format!(
                "{pulses} pulses of the window, one every {cycle} round trips or one more or less, whatever is marked"
            ),
        })
    }

    /// A window not below that of Reno and CUBIC at this rate of losses, which a loss does not change, and which is no constant.
    pub(super) fn bbr_by_losses(&self) -> Option<Answer> {
        let (times, kept, losses) = self.held_at_losses()?;
        if kept >= KEPT
            && let answer @ Some(_) = self.smooth_through_losses(losses)
        {
            return answer;
        }
        let is_constant = self.distance(0) <= CONSTANT;
        (times >= NOT_BELOW_RENO && kept >= KEPT && !is_constant).then(|| Answer {
            family: Family::BbrLike,
            kept: None,
            evidence: format!(
                "window {times:.1} times that of Reno or CUBIC at this rate of losses, and {kept:.2} of before after {losses} of them"
            ),
        })
    }

    /// The mean window behind the first losses by that which RFC 5681's or RFC 9438's law gives for losses in this share of round trips, the
    /// window after a loss by that before, and in how many round trips there were losses.
    pub(super) fn held_at_losses(&self) -> Option<(f64, f64, usize)> {
        let first = self.rounds.iter().position(|round| round.lost > 0)?;
        // Where slow start lost half a window or more, its recovery (RFC 6675 5) takes dozens of round trips, all of
        // them one answer.
        let recovery = self.rounds[first..].split(|round| round.lost == 0).next()?;
        let overshoot = recovery
            .iter()
            .rposition(|round| f64::from(round.lost) >= COPIES * f64::from(round.packets));
        let from = first + overshoot.unwrap_or(0) + SETTLED;
        let rounds = self.rounds.get(from..self.rounds.len().saturating_sub(2))?;
        let at: Vec<usize> = (from + 2..from + rounds.len())
            .filter(|&at| self.rounds[at].lost > 0 && self.rounds[at].timeouts == 0)
            .collect();
        // A controller answers losses once in a round trip, and the next one may still be of the same.
        let runs = rounds.chunk_by(|one, next| (one.lost > 0) == (next.lost > 0));
        let events: usize =
            runs.filter(|run| run[0].lost > 0).map(|run| run.len().div_ceil(2)).sum();
        let mean = |of: &dyn Fn(&Round) -> f64| {
            rounds.iter().map(of).sum::<f64>() / rounds.len().max(1) as f64
        };
        let window = mean(&|round| f64::from(round.packets));
        if events < LEAST_LOSSES || window < LEAST_AVERAGE {
            return None;
        }
        let packets_per_loss = window * rounds.len() as f64 / events as f64;
        let rtt_s = mean(&|round| round.duration as f64) / 1e9;
        let reno = 1.22 * packets_per_loss.sqrt();
        let cubic = 1.054 * math::pow(rtt_s * packets_per_loss, 0.75);
        let kept: Vec<f64> =
            at.iter().map(|&at| self.windows[at + 2] / self.windows[at - 1].max(1.0)).collect();
        Some((window / reno.max(cubic), median(&kept), at.len()))
    }

    pub(super) fn bbr_by_shape(&self) -> Option<Answer> {
        let (ratios, cut, held) = self.losses();
        let cuts_by_marks = self.marks.iter().filter(|e| e.is_cut()).count();
        let answered = cut + cuts_by_marks;
        let is_answered = answered > (held + self.marks.len() - cuts_by_marks) / 2 + 1;
        // BBRv3 takes a loss as a bound, so that answers beside its excursions do not speak against it.
        if is_answered && self.excursions * 2 < answered.max(2 * LEAST_EXCURSIONS) {
            return None;
        }
        let quiet = self.rounds.iter().filter(|round| !round.has_signal()).count();
        let is_pulsed =
            self.pulses >= LEAST_PULSES && self.pulses as f64 * CYCLE >= PULSED * quiet as f64;
        let is_held = held >= LEAST_HELD && held >= AGREE * cut;
        let shapes = self.pulses + self.excursions;
        if !(is_pulsed
            || self.excursions >= LEAST_EXCURSIONS
            || self.probes > 0
            || is_held && shapes > 1)
        {
            return None;
        }
        let losses = match ratios.len() {
            0 => String::new(),
            n => format!("; window {:.2} of before after {n} losses", median(&ratios)),
        };
        let evidence = format!(
            "{} pulses of the window in a rhythm of 4 to 12 round trips without a signal, {} rises by 15 % and back to the same level, {} probes with a few packets for 200 ms{losses}",
            self.pulses, self.excursions, self.probes
        );
        Some(Answer { family: Family::BbrLike, kept: None, evidence })
    }
}
