//! A window that falls although nothing was marked or lost: only a sender with a model of the path does that, BBR when it
//! drains what a probe of bandwidth has left in the queue, and when it probes the round trip (draft-ietf-ccwg-bbr 5.3).

use super::episodes::median;
use super::{Seen, pulses};
use crate::report::{Answer, Family};
use crate::rounds::Round;

/// Rounds in which it falls, and before them without a signal: what is marked or lost is answered within two.
const ROUNDS: usize = 5;
const QUIET: usize = 4;
/// Window behind the fall, of that before, and the least difference, segments: Vegas takes one in a round trip.
const LEFT: f64 = 0.8;
const SEGMENTS: f64 = 6.0;
/// Rounds behind the first signal that may be of slow start.
const SETTLED: usize = 12;
/// Falls that no damage to the capture makes.
const LEAST_FALLS: usize = 2;

impl Seen<'_> {
    pub(super) fn bbr_by_falls(&self) -> Option<Answer> {
        (self.falls >= LEAST_FALLS).then(|| Answer {
            family: Family::BbrLike,
            kept: None,
            evidence: format!(
                "the window falls {} times by a fifth or more within {ROUNDS} round trips, with neither CE nor a loss in these or the {QUIET} before; {} probes with a few packets for 200 ms",
                self.falls, self.probes
            ),
        })
    }
}

/// How often the window falls so.
pub(super) fn falls(rounds: &[Round], windows: &[f64]) -> usize {
    let first = rounds.iter().position(pulses::is_signalled).unwrap_or(0);
    let mut at = QUIET.max(first) + SETTLED;
    let mut count = 0;
    while let Some(about) = rounds.get(at - QUIET..=at + ROUNDS) {
        let is_free = !about.iter().any(|round| pulses::is_signalled(round) || round.is_limited());
        let before = median(&windows[at - 2..=at]);
        let behind = windows[at + ROUNDS - 1].max(windows[at + ROUNDS]);
        let is_fall = is_free && behind <= LEFT * before && before - behind >= SEGMENTS;
        count += usize::from(is_fall);
        at += if is_fall { ROUNDS } else { 1 };
    }
    count
}
