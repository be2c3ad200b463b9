//! Episodes: signals of congestion, and what the sender's window did about them.

use sojourn_core::math;

use crate::rounds::Round;

/// Rounds without a signal before one with it begins an episode.
const QUIET: usize = 3;
/// An episode of more rounds is cut: what follows is another one, before which it was not quiet.
const LONGEST: usize = 6;
/// Rounds after an episode in which the window is at its new value: PRR takes one to get there (RFC 6937), and where the
/// capture is behind the sender the response is another half later.
const AFTER: usize = 4;
/// Smallest window, segments, of which a factor of 0.7 and of 1 differ by more than two segments; of smaller ones, down
/// to [`SMALLEST_WINDOW`], only a cut by so much tells.
pub(super) const LEAST_WINDOW: f64 = 8.0;
const SMALLEST_WINDOW: f64 = 4.5;
const SEGMENTS: f64 = 2.0;
/// What a scalable controller would have done less what happened: from this on it is not one.
const CONTRADICTS: f64 = 0.1;
/// The same where marks last for longer than one answer, and in segments.
const FAR_DEEPER: f64 = 0.15;
const MANY_SEGMENTS: f64 = 4.0;
/// Smallest window, segments, of which that difference is four of them.
pub(super) const LARGE_WINDOW: f64 = 40.0;
/// Part of the packets with marks from which on a quicker average than that of 16 rounds takes half, too.
const MOST: f64 = 0.5;
/// Gain of the moving average of marks of DCTCP and Prague (RFC 8257 3.3).
const GAIN: f64 = 1.0 / 16.0;
/// Growth within three rounds that is slow start's.
const SLOW_START: f64 = 2.0;

/// What was signalled, and the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Episode {
    /// First round.
    pub(super) at: usize,
    /// Rounds.
    pub(super) len: usize,
    /// Something was lost; else there are marks alone.
    pub(super) has_loss: bool,
    /// Window before it, segments.
    pub(super) before: f64,
    /// Window after it by window before.
    pub(super) ratio: f64,
    /// The same of a controller that reduces once in each round by half of the moving average of marks.
    pub(super) scalable: f64,
    /// Part of the packets with marks in the round that has most.
    pub(super) marked: f64,
    /// The capture has the marks, or feedback that counts them: ECE of RFC 3168 lasts for a round trip whatever they are.
    pub(super) is_counted: bool,
    /// It ends a slow start, whose overshoot hides the answer.
    pub(super) ends_slow_start: bool,
}

impl Episode {
    /// The mildest answer of a classic controller to marks in this many rounds: CUBIC's 0.7 (RFC 9438 4.6), with its
    /// regrowth until it is measured, once for every two rounds.
    pub(super) fn classic(&self) -> f64 {
        math::powi(0.75, self.len.div_ceil(2) as i32)
    }

    /// It was answered as a classic controller does.
    pub(super) fn is_cut(&self) -> bool {
        self.ratio <= self.classic() + 0.1 && self.before * (1.0 - self.ratio) >= SEGMENTS
    }

    /// The cut is much deeper than so few marks explain: one that does not depend on their number, if only by 0.875 as
    /// of Illinois and Scalable TCP, where the window is large enough to tell.
    pub(super) fn is_constant_cut(&self) -> bool {
        let is_deeper = self.scalable - self.ratio >= CONTRADICTS;
        let more = self.scalable - self.ratio;
        let is_far_deeper = more >= FAR_DEEPER && self.before * more >= MANY_SEGMENTS;
        let may_be_quick = self.is_counted && self.marked >= MOST;
        is_deeper
            && !may_be_quick
            && (self.is_cut() || is_far_deeper || self.before >= LARGE_WINDOW && self.len <= 2)
    }

    /// There was none like a classic one.
    pub(super) fn is_mild(&self) -> bool {
        self.ratio >= self.classic() + 0.14
            && self.before >= LEAST_WINDOW
            && self.scalable - self.ratio < CONTRADICTS
    }
}

/// Payload of each round in segments: the window, wherever the capture was made.
pub(super) fn windows(rounds: &[Round], mss: f64) -> Vec<f64> {
    rounds.iter().map(|round| round.bytes as f64 / mss).collect()
}

/// The moving average of marks before each round, 1 until the first mark (RFC 8257 3.3).
pub(super) fn averages(rounds: &[Round]) -> Vec<f64> {
    let sees = rounds.iter().any(|round| round.ce_seen > 0);
    let mut average: Option<f64> = None;
    rounds
        .iter()
        .map(|round| {
            let before = average.unwrap_or(1.0);
            if average.is_some() || round.has_ce() {
                average = Some(before + (round.marked(sees) - before) * GAIN);
            }
            before
        })
        .collect()
}

/// All that begin after a quiet time, with a window that is not the sender's application's or its receiver's.
pub(super) fn episodes(rounds: &[Round], windows: &[f64]) -> Vec<Episode> {
    let averages = averages(rounds);
    let sees = rounds.iter().any(|round| round.ce_seen > 0);
    let is_counted = sees || rounds.iter().all(|round| round.ece == 0);
    let mut found = Vec::new();
    let mut at = QUIET;
    while at + AFTER < rounds.len() {
        if !rounds[at].has_signal() || rounds[at - QUIET..at].iter().any(Round::has_signal) {
            at += 1;
            continue;
        }
        let len = rounds[at..].iter().take(LONGEST).take_while(|round| round.has_signal()).count();
        let end = at + len;
        let Some(after) = windows.get(end..end + AFTER) else { break };
        let before = median(&windows[at - 2..=at]);
        // The lowest but one: a round may be cut short by the clock of timestamps.
        let mut after: Vec<f64> = after.to_vec();
        after.sort_by(f64::total_cmp);
        let is_limited = rounds[at - 2..end + AFTER].iter().any(Round::is_limited);
        if before >= SMALLEST_WINDOW && !is_limited {
            found.push(Episode {
                at,
                len,
                before,
                has_loss: rounds[at..(end + 2).min(rounds.len())]
                    .iter()
                    .any(|round| round.lost > 0),
                ratio: after[1] / before,
                scalable: averages[at..end].iter().map(|average| 1.0 - average / 2.0).product(),
                is_counted,
                marked: rounds[at..end].iter().map(|round| round.marked(sees)).fold(0.0, f64::max),
                ends_slow_start: windows[at] >= SLOW_START * windows[at - QUIET],
            });
        }
        at = end;
    }
    found
}

/// The middle one, the upper of two; not a number of none.
pub(super) fn median(values: &[f64]) -> f64 {
    // Most are of a few rounds, at every round.
    let (mut few, mut many) = ([0.0; 8], Vec::new());
    let sorted = if let Some(few) = few.get_mut(..values.len()) {
        few.copy_from_slice(values);
        few
    } else {
        many.extend_from_slice(values);
        &mut many
    };
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
