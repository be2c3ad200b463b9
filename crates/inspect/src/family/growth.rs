//! Growth between signals: about a segment a round trip (RFC 5681 3.1), or along CUBIC's curve (RFC 9438 4.2). A sender
//! that is paced by a model of the path keeps its window or pulses, and one that answers nothing keeps it.

use std::ops::Range;

use crate::rounds::Round;

/// Rounds of a climb at the least.
const LEAST_ROUNDS: usize = 16;
/// It grows by this many segments, and by this part, at the least.
const LEAST_SEGMENTS: f64 = 4.0;
const LEAST_PART: f64 = 0.1;
/// Least growth a round, segments: of one for two rounds with delayed ACKs that are counted by packets, less what is cut off
/// rounds by the clock of timestamps.
const SLOWEST: f64 = 0.25;
/// Greatest, segments or part of the window: Reno's is one, CUBIC's more where its curve is steep.
const FASTEST: f64 = 1.6;
const FASTEST_PART: f64 = 0.03;
/// Deepest fall below the highest window before it, part and segments: a round may be cut short.
const DIP: f64 = 0.04;
const DIP_SEGMENTS: f64 = 1.5;
/// Part of the growth that each half has at the least: a single step is no climb.
const HALF: f64 = 0.12;

/// Rounds on end in which the window grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Climb {
    /// First round.
    pub(super) at: usize,
    pub(super) rounds: usize,
    /// Windows at its ends.
    pub(super) from: f64,
    pub(super) to: f64,
}

/// Rounds on end behind this one without a signal, whose windows are the congestion controller's.
pub(super) fn free(rounds: &[Round], behind: usize) -> impl Iterator<Item = Range<usize>> {
    let is_free = |round: &Round| !round.has_signal() && !round.is_limited();
    let mut at = behind;
    rounds[behind..].chunk_by(move |one, next| is_free(one) == is_free(next)).filter_map(
        move |run| {
            at += run.len();
            is_free(&run[0]).then_some(at - run.len()..at)
        },
    )
}

/// All climbs behind this round, without signals in them.
pub(super) fn climbs(rounds: &[Round], windows: &[f64], behind: usize) -> Vec<Climb> {
    let is_free = |at: usize| !rounds[at].has_signal() && !rounds[at].is_limited();
    let mut found = Vec::new();
    let mut at = behind;
    while at < rounds.len() {
        let mut top: f64 = 0.0;
        let mut end = at;
        while end < rounds.len() && is_free(end) && windows[end] >= top * (1.0 - DIP) - DIP_SEGMENTS
        {
            top = top.max(windows[end]);
            end += 1;
        }
        found.extend(climb(at, &windows[at..end]));
        at = end.max(at + 1);
    }
    found
}

fn climb(at: usize, windows: &[f64]) -> Option<Climb> {
    let n = windows.len();
    if n < LEAST_ROUNDS {
        return None;
    }
    let mean = |some: &[f64]| some.iter().sum::<f64>() / some.len() as f64;
    let (from, middle, to) =
        (mean(&windows[..3]), mean(&windows[n / 2 - 1..n / 2 + 2]), mean(&windows[n - 3..]));
    let (grown, pace) = (to - from, (to - from) / (n - 3) as f64);
    let fits = grown >= LEAST_SEGMENTS.max(LEAST_PART * from)
        && pace >= SLOWEST
        && pace <= FASTEST.max(FASTEST_PART * from)
        && middle - from >= HALF * grown
        && to - middle >= HALF * grown;
    fits.then_some(Climb { at, rounds: n, from, to })
}
