//! Growth along CUBIC's curve (RFC 9438 4.2), which no other controller has: fast, then hardly at all near the window of
//! the last reduction, then fast again, by the clock and not by the round trip.

use super::episodes::median;
use super::{Seen, growth, slope};
use crate::report::{Answer, Family};
use crate::rounds::Round;

/// RFC 9438 4.6, and Linux: segments per second to the third.
const C: f64 = 0.4;
/// Rounds of a stretch at the least, without those in which the window is still on its way down.
const LEAST_ROUNDS: usize = 18;
const SETTLES: usize = 2;
/// Segments that it grows by, at the least: a packet more or less is no curve.
const LEAST_GROWTH: f64 = 12.0;
/// Root mean square distance from the curve, of the growth, and of the same from the line that fits best: Reno's growth
/// is one.
const CLOSE: f64 = 0.045;
const THAN_LINE: f64 = 0.45;
/// Seconds from the reduction to the plateau that are tried, first in large steps: 20 of a window of 10 000 segments.
const LONGEST: f64 = 20.0;
const STEP: f64 = 0.5;
const FINE_STEP: f64 = 0.05;
/// Part of the stretch in which growth slows down: where a queue grows, that of Prague becomes faster with the round trip.
const LEAST_SLOWING: f64 = 0.25;

/// A stretch that follows the curve.
struct Curve {
    rounds: usize,
    from: f64,
    to: f64,
    /// Window of the plateau, segments.
    plateau: f64,
    /// Distances, segments.
    error: f64,
    line: f64,
}

impl Seen<'_> {
    /// The stretch of most rounds that follows the curve.
    pub(super) fn cubic(&self) -> Option<Answer> {
        let behind = self.rounds.iter().position(Round::has_signal)?;
        let curve = growth::free(self.rounds, behind)
            .filter_map(|free| curve(&self.rounds[free.clone()], &self.windows[free]))
            .max_by_key(|curve| curve.rounds)?;
        Some(Answer {
            family: Family::Classic,
            kept: None,
            evidence: format!(
                "window from {:.0} to {:.0} segments in {} round trips along CUBIC's curve with its plateau at {:.0}: {:.1} segments from it, and {:.1} from a line",
                curve.from, curve.to, curve.rounds, curve.plateau, curve.error, curve.line
            ),
        })
    }
}

fn curve(rounds: &[Round], windows: &[f64]) -> Option<Curve> {
    let (rounds, windows) = (rounds.get(SETTLES..)?, windows.get(SETTLES..)?);
    if rounds.len() < LEAST_ROUNDS {
        return None;
    }
    // A round may be cut short by the clock of timestamps.
    let middle = |at: usize| median(&windows[at.saturating_sub(1)..(at + 2).min(windows.len())]);
    let points: Vec<(f64, f64)> = (0..rounds.len())
        .map(|at| ((rounds[at].start - rounds[0].start) as f64 / 1e9, middle(at)))
        .collect();
    let (low, high) = points
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), point| (low.min(point.1), high.max(point.1)));
    // Reno's line is one over round trips, which a queue makes longer.
    let over_rounds: Vec<(f64, f64)> =
        points.iter().enumerate().map(|(at, point)| (at as f64, point.1)).collect();
    let line = slope::fit(&over_rounds, points.len() as f64)?.distance;
    let (grown, bound) = (high - low, (high - low) * CLOSE);
    if grown < LEAST_GROWTH {
        return None;
    }
    let earliest = LEAST_SLOWING * points[points.len() - 1].0;
    let best = |from: f64, to: f64, step: f64| {
        let tries = (0..=((to - from) / step).max(0.0) as usize).map(|n| from + n as f64 * step);
        tries
            .map(|k| (k, distance_from_curve(&points, k)))
            .min_by(|one, other| one.1.0.total_cmp(&other.1.0))
    };
    let (near, _) = best(earliest, LONGEST, STEP)?;
    let (_, (error, plateau)) = best((near - STEP).max(earliest), near + STEP, FINE_STEP)?;
    let (from, to) = (points[0].1, points[points.len() - 1].1);
    (error <= bound && error <= THAN_LINE * line).then_some(Curve {
        rounds: rounds.len(),
        from,
        to,
        plateau,
        error,
        line,
    })
}

/// Of windows over seconds from the curve whose plateau comes after `k` seconds; and the window of that plateau.
fn distance_from_curve(points: &[(f64, f64)], k: f64) -> (f64, f64) {
    let rest = |&(t, window): &(f64, f64)| window - C * (t - k) * (t - k) * (t - k);
    let n = points.len() as f64;
    let plateau = points.iter().map(rest).sum::<f64>() / n;
    let squares: f64 = points.iter().map(|point| rest(point) - plateau).map(|d| d * d).sum();
    ((squares / n).sqrt(), plateau)
}
