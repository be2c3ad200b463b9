//! Two clocks, known by the times that packets show in both: their skew and offset, and what of a delay is the
//! queues'.
//!
//! Between two points the delay of a packet is that of the empty path, and more. So the delays of many packets,
//! over time, lie above a line whose slope is the skew of the clocks: the highest such line at the mean time
//! (Moon, Skelly and Towsley, "Estimation and removal of clock skew from network delay measurements", INFOCOM
//! 1999). Packets of the other direction see the same skew with the other sign, so that one slope has to fit both.

use crate::report::{Clocks, Distribution};
use crate::samples::Samples;

/// Intervals of which the lowest delay is kept.
const INTERVALS: usize = 1024;
/// Their length at first, s; it doubles when the capture outgrows them.
const FIRST_INTERVAL: f64 = 0.01;
/// Differences that are kept for percentiles; beyond, every second one, and so on.
pub(crate) const KEPT: usize = 1 << 15;
/// Parts of the capture of which half are left out, each half in turn, for the standard error.
const BLOCKS: usize = 10;
/// Shorter than this, s, a session shows no skew that is larger than its error.
const SHORTEST: f64 = 10.0;
/// No clock of a computer is this wrong (1 000 ppm).
const LARGEST_SKEW: f64 = 1e-3;

/// Of both directions: whether a second clock that gains makes delays grow, or shrink.
const SIGNS: [f64; 2] = [1.0, -1.0];

/// A time and the delay seen then, s.
type Point = (f64, f64);

/// The lowest delay of each interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct Floor {
    /// First time; its fraction of an interval is nothing special.
    start: f64,
    interval: f64,
    lowest: Vec<Option<Point>>,
    n: u64,
}

impl Floor {
    /// Times may go back a little.
    pub(crate) fn record(&mut self, at: f64, delay: f64) {
        if !at.is_finite() || !delay.is_finite() {
            return;
        }
        if self.n == 0 {
            (self.start, self.interval) = (at, FIRST_INTERVAL);
        }
        self.n += 1;
        while (at - self.start) / self.interval >= INTERVALS as f64 {
            self.coarsen();
        }
        let index = ((at - self.start) / self.interval).max(0.0) as usize;
        if index >= self.lowest.len() {
            self.lowest.resize(index + 1, None);
        }
        let slot = &mut self.lowest[index];
        if slot.is_none_or(|(_, lowest)| delay < lowest) {
            *slot = Some((at, delay));
        }
    }

    /// Adds what another has seen.
    pub(crate) fn add(&mut self, other: &Self) {
        other.points().into_iter().for_each(|(at, delay)| self.record(at, delay));
    }

    /// The lowest delay of all.
    pub(crate) fn lowest(&self) -> Option<f64> {
        self.lowest.iter().flatten().map(|point| point.1).min_by(f64::total_cmp)
    }

    /// Joins intervals two by two.
    fn coarsen(&mut self) {
        self.interval *= 2.0;
        let lower = |pair: &[Option<Point>]| {
            pair.iter().flatten().copied().min_by(|a, b| a.1.total_cmp(&b.1))
        };
        self.lowest = self.lowest.chunks(2).map(lower).collect();
    }

    /// The points by time.
    fn points(&self) -> Vec<Point> {
        let mut points: Vec<Point> = self.lowest.iter().flatten().copied().collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }
}

/// Corners of the convex hull below points that are sorted by time (Andrew's monotone chain).
fn lower_hull(points: &[Point]) -> Vec<Point> {
    let mut hull: Vec<Point> = Vec::new();
    for &point in points {
        while let [.., a, b] = hull[..] {
            let turn = (b.0 - a.0) * (point.1 - a.1) - (b.1 - a.1) * (point.0 - a.0);
            if turn > 0.0 {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

/// One direction, prepared: corners of its hull, and the mean of its times.
struct Side {
    hull: Vec<Point>,
    mean: f64,
    /// 1 if the skew makes its delays grow, else -1.
    sign: f64,
}

impl Side {
    fn new(points: &[Point], sign: f64) -> Option<Self> {
        let mean = points.iter().map(|point| point.0).sum::<f64>() / points.len() as f64;
        (!points.is_empty()).then(|| Self { hull: lower_hull(points), mean, sign })
    }

    /// Of parts in the order of time: corners of the whole are corners of the part that they are in.
    fn join<'a>(parts: impl Iterator<Item = &'a Part> + Clone, sign: f64) -> Option<Self> {
        let n: usize = parts.clone().map(|part| part.n).sum();
        let mean = parts.clone().map(|part| part.times).sum::<f64>() / n as f64;
        let corners: Vec<Point> = parts.flat_map(|part| &part.hull).copied().collect();
        (n > 0).then(|| Self { hull: lower_hull(&corners), mean, sign })
    }

    /// Height at time zero of the highest line with this skew that no point is below.
    fn intercept(&self, skew: f64) -> f64 {
        let heights = self.hull.iter().map(|(at, delay)| delay - self.sign * skew * at);
        heights.fold(f64::INFINITY, f64::min)
    }

    /// That line at the mean time.
    fn height(&self, skew: f64) -> f64 {
        self.intercept(skew) + self.sign * skew * self.mean
    }

    /// Skews at which the line turns from one corner to the next.
    fn skews(&self) -> impl Iterator<Item = f64> + '_ {
        let slopes =
            self.hull.windows(2).map(|pair| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0));
        slopes.map(|slope| self.sign * slope).filter(|skew| skew.abs() <= LARGEST_SKEW)
    }
}

/// A part of a direction's points: corners of its hull, how many there are, and the sum of their times.
struct Part {
    hull: Vec<Point>,
    n: usize,
    times: f64,
}

impl Part {
    fn new(points: &[Point]) -> Self {
        let times = points.iter().map(|point| point.0).sum();
        Self { hull: lower_hull(points), n: points.len(), times }
    }
}

/// Skews that fit best: from, to. The sum of heights is concave and made of straight pieces, so that its highest
/// points are corners, or all between two of them.
fn best_skews(sides: &[Side]) -> (f64, f64) {
    let height = |skew: f64| sides.iter().map(|side| side.height(skew)).sum::<f64>();
    let mut skews: Vec<f64> = sides.iter().flat_map(Side::skews).chain([0.0]).collect();
    skews.sort_by(f64::total_cmp);
    let heights: Vec<f64> = skews.iter().map(|skew| height(*skew)).collect();
    let top = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Doubles of delays of seconds are exact to 1e-15 s or so.
    let best = |at: &usize| heights[*at] >= top - 1e-12;
    let first = (0..skews.len()).find(best).unwrap_or(0);
    let last = (0..skews.len()).rev().find(best).unwrap_or(0);
    (skews[first], skews[last])
}

/// Of the skews that fit best, the smallest: a queue that stands for the rest of a capture looks like one in its
/// direction, but no direction then speaks against none.
fn skew_of(sides: &[Side]) -> f64 {
    let (from, to) = best_skews(sides);
    if from <= 0.0 && to >= 0.0 {
        0.0
    } else if from > 0.0 {
        from
    } else {
        to
    }
}

/// How one clock runs against another, and the delays of an empty path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Fit {
    /// The second clock gains this much, s/s.
    pub(crate) skew: f64,
    /// Standard error of it.
    pub(crate) skew_error: f64,
    /// Height of the lines at time zero, s: forward and backward delay of the empty path, plus and minus the
    /// offset.
    pub(crate) intercepts: [Option<f64>; 2],
}

impl Fit {
    /// From the lowest delays of both directions, as the clocks show them. None without any.
    pub(crate) fn new(forward: &Floor, backward: &Floor) -> Option<Self> {
        let points = [forward.points(), backward.points()];
        let sides: Vec<Side> =
            points.iter().zip(SIGNS).filter_map(|(points, sign)| Side::new(points, sign)).collect();
        let all = || points.iter().flatten().map(|point| point.0);
        let (first, last) =
            (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        if sides.is_empty() {
            return None;
        }
        let mut fit = Self::default();
        if last - first >= SHORTEST {
            fit.skew = skew_of(&sides);
            fit.skew_error = skew_error(&points, &sides);
        }
        let intercept =
            |points: &[Point], sign| Side::new(points, sign).map(|side| side.intercept(fit.skew));
        fit.intercepts = [intercept(&points[0], 1.0), intercept(&points[1], -1.0)];
        Some(fit)
    }

    /// How much longer than over the empty path a packet took, s: it was at the second point `difference` after, or
    /// before, it was at the first, as their clocks show.
    pub(crate) fn queue_delay(&self, way: usize, (at, difference): Point) -> f64 {
        let sign = if way == 0 { 1.0 } else { -1.0 };
        let delay = sign * (difference - self.skew * at) - self.intercepts[way].unwrap_or_default();
        // Doubles of a day in seconds are exact to 0.1 ns.
        if delay.abs() < 1e-9 { 0.0 } else { delay }
    }

    /// Offset and skew; the former needs both directions, and is what it is if their empty delays are the same.
    pub(crate) fn clocks(&self) -> Clocks {
        let both = self.intercepts[0].zip(self.intercepts[1]);
        Clocks {
            skew_ppm: self.skew * 1e6,
            skew_error_ppm: self.skew_error * 1e6,
            offset_s: both.map(|(forward, backward)| (forward - backward) / 2.0),
            offset_error_s: both.map(|(forward, backward)| forward.midpoint(backward).max(0.0)),
            base_rtt_ms: both.map(|(forward, backward)| (forward + backward) * 1e3),
        }
    }
}

/// Standard error: how the skews of halves of the capture differ, and how far the skews that fit equally well are apart
/// (of equal probability).
///
/// A skew rests on few corners. To leave out one part of the capture says nothing where what is wrong rests on
/// two of them; to leave out half of all parts, in every way, does (the delete-d jackknife; Shao and Wu, "A general theory
/// for jackknife variance estimation", Annals of Statistics 17, 1989, which with half left out is the variance of the halves'
/// estimates). What is determined by the lowest of n delays gets better with n, not its root, so that this is too much
/// rather than too little.
fn skew_error(points: &[Vec<Point>; 2], all: &[Side]) -> f64 {
    let mut times: Vec<f64> = points.iter().flatten().map(|point| point.0).collect();
    times.sort_by(f64::total_cmp);
    let edges: Vec<f64> = (1..BLOCKS).map(|edge| times[times.len() * edge / BLOCKS]).collect();
    let parts = points.each_ref().map(|points| {
        let at: Vec<usize> =
            edges.iter().map(|edge| points.partition_point(|point| point.0 < *edge)).collect();
        let from = std::iter::once(0).chain(at.iter().copied());
        let to = at.iter().copied().chain([points.len()]);
        from.zip(to).map(|(from, to)| Part::new(&points[from..to])).collect::<Vec<_>>()
    });
    let halves = (0_u32..1 << BLOCKS).filter(|kept| kept.count_ones() as usize == BLOCKS / 2);
    let skews: Vec<f64> = halves
        .map(|kept| {
            let sides = parts.iter().zip(SIGNS).filter_map(|(parts, sign)| {
                let parts = parts.iter().enumerate().filter(|(at, _)| kept >> at & 1 == 1);
                Side::join(parts.map(|(_, part)| part), sign)
            });
            skew_of(&sides.collect::<Vec<_>>())
        })
        .collect();
    let n = skews.len() as f64;
    let mean = skews.iter().sum::<f64>() / n;
    let variance = skews.iter().map(|skew| (skew - mean) * (skew - mean)).sum::<f64>() / n;
    let (from, to) = best_skews(all);
    let width = to - from;
    (variance + width * width / 12.0).sqrt()
}

/// Differences between two clocks: their mean exactly, for percentiles up to [`KEPT`] of them at equal distances.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delays {
    n: u64,
    sum: Point,
    /// Of each 2^`thinning` packets, one is kept.
    thinning: u32,
    kept: Vec<Point>,
}

impl Delays {
    /// Adds one, and keeps no more than `most`.
    pub(crate) fn record(&mut self, at: f64, delay: f64, most: usize) {
        self.n += 1;
        self.sum = (self.sum.0 + at, self.sum.1 + delay);
        while self.kept.len() >= most.clamp(1, KEPT) {
            let mut index = 0_usize;
            self.kept.retain(|_| {
                index += 1;
                index.is_multiple_of(2)
            });
            self.thinning += 1;
        }
        if self.n.is_multiple_of(1 << self.thinning) {
            self.kept.push((at, delay));
        }
    }

    /// Mean of all delays that they are, over the empty path's, ms.
    pub(crate) fn mean_ms(&self, fit: &Fit, way: usize) -> Option<f64> {
        let n = self.n as f64;
        (self.n > 0).then(|| fit.queue_delay(way, (self.sum.0 / n, self.sum.1 / n)) * 1e3)
    }

    /// Delays over the empty path's, and `more`, ms.
    pub(crate) fn over_ms(&self, fit: &Fit, way: usize, more: f64) -> Option<Distribution> {
        let mut samples = Samples::default();
        let delays = self.kept.iter().map(|point| fit.queue_delay(way, *point));
        delays.for_each(|delay| samples.record((more + delay) * 1e3));
        let of = samples.distribution()?;
        // Percentiles are of those that were kept; how many there are, and their mean, is known of all.
        let mean = self.mean_ms(fit, way).map_or(of.mean, |mean| mean + more * 1e3);
        Some(Distribution { n: self.n, mean, ..of })
    }
}

#[cfg(test)]
mod tests;
