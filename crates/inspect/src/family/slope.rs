//! How the change of the window depends on the part of packets that is marked: a regression over rounds.

use crate::rounds::Round;

/// Rounds without which it says nothing.
const LEAST: usize = 24;
/// A round's answer is in that round where the capture was made at the sender, and in the next one elsewhere: the change is
/// taken from the round before to this many behind.
const LAG: usize = 1;
/// Rounds of that.
const SPAN: f64 = (LAG + 1) as f64;

/// A line through changes of the window in segments, over the marked part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slope {
    level: f64,
    pub(super) gain: f64,
    /// The slope in its standard errors.
    pub(super) t: f64,
    /// Points.
    pub(super) n: usize,
    /// Root mean square distance of the points from it.
    pub(super) distance: f64,
}

impl Slope {
    /// The change at this marked part.
    pub(super) fn at(&self, fraction: f64) -> f64 {
        self.level + self.gain * fraction
    }
}

/// Of rounds without losses, limits and what `is_other` says is another signal; None if the marked part never varies.
pub(super) fn of(
    rounds: &[Round],
    windows: &[f64],
    fractions: &[f64],
    is_other: fn(&Round) -> bool,
) -> Option<Slope> {
    let last = rounds.len().checked_sub(LAG)?;
    let points: Vec<(f64, f64)> = (1..last)
        .filter(|&at| {
            !rounds[at - 1..=at + LAG]
                .iter()
                .any(|round| round.lost > 0 || round.is_limited() || is_other(round))
        })
        .map(|at| (fractions[at], (windows[at + LAG] - windows[at - 1]) / SPAN))
        .collect();
    if points.len() < LEAST {
        return None;
    }
    // Changes over several rounds overlap: fewer are independent by that number.
    fit(&points, points.len() as f64 / SPAN)
}

/// The line of least squares, where this number of points are independent; None if all have one x.
pub(super) fn fit(points: &[(f64, f64)], independent: f64) -> Option<Slope> {
    let n = points.len();
    let mean = |part: fn(&(f64, f64)) -> f64| points.iter().map(part).sum::<f64>() / n as f64;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for point in points {
        let (dx, dy) = (point.0 - x, point.1 - y);
        (xx, xy, yy) = (xx + dx * dx, xy + dx * dy, yy + dy * dy);
    }
    if xx <= 0.0 {
        return None;
    }
    let gain = xy / xx;
    let squares = (yy - gain * xy).max(0.0);
    let error = (squares / (independent - 2.0).max(1.0) / xx).sqrt();
    let t = if error > 0.0 { gain / error } else { gain.signum() * f64::INFINITY };
    let distance = (squares / n as f64).sqrt();
    Some(Slope { level: y - gain * x, gain, t, n, distance })
}
