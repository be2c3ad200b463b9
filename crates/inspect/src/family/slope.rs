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
    gain: f64,
    /// The slope in its standard errors.
    pub(super) t: f64,
    /// Rounds.
    pub(super) n: usize,
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
    let n = points.len();
    if n < LEAST {
        return None;
    }
    let mean = |part: fn(&(f64, f64)) -> f64| points.iter().map(part).sum::<f64>() / n as f64;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for point in &points {
        let (dx, dy) = (point.0 - x, point.1 - y);
        (xx, xy, yy) = (xx + dx * dx, xy + dx * dy, yy + dy * dy);
    }
    if xx <= 0.0 {
        return None;
    }
    let slope = xy / xx;
    // Changes over several rounds overlap: fewer are independent by that number.
    let free = (n as f64 / SPAN - 2.0).max(1.0);
    let error = ((yy - slope * xy).max(0.0) / free / xx).sqrt();
    let t = if error > 0.0 { slope / error } else { slope.signum() * f64::INFINITY };
    Some(Slope { level: y - slope * x, gain: slope, t, n })
}
