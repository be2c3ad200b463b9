//! GCC's view of delay: groups of packets, the estimate of their delay variation by a trendline or
//! a Kalman filter, and the detector with its adaptive threshold. Milliseconds in floating point,
//! as in the draft.

use std::collections::VecDeque;

use sojourn_core::math;
use sojourn_core::units::{Dur, Time};

/// The estimate is compared with the threshold after multiplication by the number of groups so far,
/// at most this many.
///
/// DEVIATION: draft 5.4 compares m(i) itself, the variation from one group to the next. At 12.5 ms
/// per group of 5 ms the rate would have to be 3.5 times the capacity. The implementation that the
/// draft describes multiplies as here.
const MAX_GROUPS: u32 = 60;
/// A group ends after this time, however dense its packets arrive.
const MAX_BURST_MS: f64 = 100.0;
/// An estimate this far above the threshold does not move it.
const MAX_EXCESS_MS: f64 = 15.0;
const MIN_THRESHOLD_MS: f64 = 6.0;
const MAX_THRESHOLD_MS: f64 = 600.0;
/// A pause counts as no more than this for the threshold.
const MAX_STEP_MS: f64 = 100.0;

/// `a - b`, which are clocks of one end.
pub(super) fn ms_between(a: Time, b: Time) -> f64 {
    a.0.wrapping_sub(b.0) as i64 as f64 / 1e6
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Time,
    last_sent: Time,
    first_arrival: Time,
    last_arrival: Time,
}

/// How two neighbouring groups differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Delta {
    /// Inter-departure time, ms.
    pub(super) sent: f64,
    /// Inter-arrival time, ms.
    pub(super) arrived: f64,
    /// Arrival of the later group.
    pub(super) at: Time,
}

/// Draft 5.2: packets of one burst are one group.
#[derive(Debug)]
pub(super) struct Groups {
    burst_ms: f64,
    current: Option<Group>,
    previous: Option<Group>,
}

impl Groups {
    pub(super) const fn new(burst: Dur) -> Self {
        Self { burst_ms: burst.0 as f64 / 1e6, current: None, previous: None }
    }

    /// A packet; the first of a new group completes the one before and gives its difference to its
    /// predecessor.
    pub(super) fn add(&mut self, sent: Time, arrival: Time) -> Option<Delta> {
        let fresh = Group {
            first_sent: sent,
            last_sent: sent,
            first_arrival: arrival,
            last_arrival: arrival,
        };
        let Some(group) = &mut self.current else {
            self.current = Some(fresh);
            return None;
        };
        if sent < group.last_sent {
            return None; // 5.1: out of order
        }
        let apart = ms_between(arrival, group.last_arrival);
        let later = apart - ms_between(sent, group.last_sent) >= 0.0;
        let drained = !later
            && apart < self.burst_ms
            && ms_between(arrival, group.first_arrival) < MAX_BURST_MS;
        if ms_between(sent, group.first_sent) <= self.burst_ms || drained {
            group.last_sent = sent;
            group.last_arrival = group.last_arrival.max(arrival);
            return None;
        }
        let complete = *group;
        self.current = Some(fresh);
        let before = self.previous.replace(complete)?;
        Some(Delta {
            sent: ms_between(complete.last_sent, before.last_sent),
            arrived: ms_between(complete.last_arrival, before.last_arrival),
            at: complete.last_arrival,
        })
    }
}

/// Slope of the accumulated delay over time, by least squares over the last groups (libwebrtc,
/// TrendlineEstimator).
#[derive(Debug, Default)]
pub(super) struct Trendline {
    samples: usize,
    smoothing: f64,
    gain: f64,
    groups: u32,
    began: Option<Time>,
    /// Sum of all variations, and that sum smoothed.
    delay: f64,
    smoothed: f64,
    /// Arrival since the beginning and smoothed delay.
    points: VecDeque<(f64, f64)>,
    slope: f64,
}

impl Trendline {
    pub(super) fn new(samples: usize, smoothing: f64, gain: f64) -> Self {
        Self {
            samples,
            smoothing,
            gain,
            points: VecDeque::with_capacity(samples),
            ..Self::default()
        }
    }

    fn update(&mut self, delta: &Delta) -> f64 {
        self.groups = (self.groups + 1).min(MAX_GROUPS);
        let began = *self.began.get_or_insert(delta.at);
        self.delay += delta.arrived - delta.sent;
        self.smoothed = self.smoothing * self.smoothed + (1.0 - self.smoothing) * self.delay;
        if self.points.len() == self.samples {
            self.points.pop_front();
        }
        self.points.push_back((ms_between(delta.at, began), self.smoothed));
        if self.points.len() == self.samples {
            self.slope = slope(&self.points).unwrap_or(self.slope);
        }
        f64::from(self.groups) * self.slope * self.gain
    }
}

/// Slope of the least-squares line, `None` if all points stand above one another.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let (xy, xx) = points.iter().fold((0.0, 0.0), |(xy, xx), (px, py)| {
        (xy + (px - x) * (py - y), xx + (px - x) * (px - x))
    });
    (xx > 0.0).then(|| xy / xx)
}

/// Draft 5.3: a scalar Kalman filter of the variation.
#[derive(Debug)]
pub(super) struct Kalman {
    chi: f64,
    groups: u32,
    /// Estimate, ms per group.
    m: f64,
    /// Its error covariance.
    error: f64,
    /// Variance of the measurement noise, ms².
    noise: f64,
    /// Inter-departure times of the last groups.
    periods: VecDeque<f64>,
}

/// q, variance of the state noise.
const STATE_NOISE: f64 = 1e-3;
/// e(0).
const FIRST_ERROR: f64 = 0.1;
/// var_v(0), which the draft leaves open.
const FIRST_NOISE: f64 = 50.0;
/// K, groups over which the highest rate counts.
const PERIODS: usize = 60;

impl Kalman {
    pub(super) fn new(chi: f64) -> Self {
        Self {
            chi,
            groups: 0,
            m: 0.0,
            error: FIRST_ERROR,
            noise: FIRST_NOISE,
            periods: VecDeque::with_capacity(PERIODS),
        }
    }

    fn update(&mut self, delta: &Delta) -> f64 {
        self.groups = (self.groups + 1).min(MAX_GROUPS);
        if self.periods.len() == PERIODS {
            self.periods.pop_front();
        }
        self.periods.push_back(delta.sent);
        let z = delta.arrived - delta.sent - self.m;
        // 5.3, outlier filter; what is far off counts as three deviations either way.
        let bounded = z.abs().min(3.0 * self.noise.sqrt());
        let shortest = self.periods.iter().copied().fold(f64::INFINITY, f64::min).max(0.001);
        // 30 / (1000 f_max) with f_max in groups per millisecond.
        let alpha = math::pow(1.0 - self.chi, 30.0 * shortest / 1000.0);
        self.noise = (alpha * self.noise + (1.0 - alpha) * bounded * bounded).max(1.0);
        let predicted = self.error + STATE_NOISE;
        let k = predicted / (self.noise + predicted);
        self.m += z * k;
        self.error = (1.0 - k) * predicted;
        f64::from(self.groups) * self.m
    }
}

/// What makes the estimate.
#[derive(Debug)]
pub(super) enum Estimator {
    Trendline(Trendline),
    Kalman(Kalman),
}

impl Estimator {
    /// What is compared with the threshold, ms.
    pub(super) fn update(&mut self, delta: &Delta) -> f64 {
        match self {
            Self::Trendline(line) => line.update(delta),
            Self::Kalman(filter) => filter.update(delta),
        }
    }
}

/// What the detector says of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Signal {
    #[default]
    Normal,
    OverUse,
    UnderUse,
}

/// Draft 5.4.
#[derive(Debug)]
pub(super) struct Detector {
    pub(super) threshold: f64,
    k_up: f64,
    k_down: f64,
    overuse_ms: f64,
    pub(super) estimate: f64,
    /// How long, and in how many groups in a row, the estimate was above the threshold.
    over: (f64, u32),
    pub(super) signal: Signal,
    updated: Option<Time>,
}

impl Detector {
    pub(super) const fn new(threshold: f64, k_up: f64, k_down: f64, overuse_ms: f64) -> Self {
        Self {
            threshold,
            k_up,
            k_down,
            overuse_ms,
            estimate: 0.0,
            over: (0.0, 0),
            signal: Signal::Normal,
            updated: None,
        }
    }

    /// A new estimate, `sent` milliseconds after the one before.
    pub(super) fn update(&mut self, estimate: f64, sent: f64, at: Time) {
        if estimate > self.threshold {
            // Somewhere between the two groups it began.
            let step = if self.over.1 == 0 { sent / 2.0 } else { sent };
            self.over = (self.over.0 + step, self.over.1 + 1);
            let lasting = self.over.0 > self.overuse_ms && self.over.1 > 1;
            if lasting && estimate >= self.estimate {
                self.signal = Signal::OverUse;
                self.over = (0.0, 0);
            }
        } else {
            self.over = (0.0, 0);
            let under = estimate < -self.threshold;
            self.signal = if under { Signal::UnderUse } else { Signal::Normal };
        }
        self.estimate = estimate;
        self.adapt(estimate.abs(), at);
    }

    /// Draft 5.4: a threshold that follows the estimate, so that GCC holds its own beside flows
    /// that fill the queue.
    fn adapt(&mut self, size: f64, at: Time) {
        let since = self.updated.replace(at);
        if size - self.threshold > MAX_EXCESS_MS {
            return;
        }
        let step = since.map_or(0.0, |since| ms_between(at, since).clamp(0.0, MAX_STEP_MS));
        let k = if size < self.threshold { self.k_down } else { self.k_up };
        // At most the whole distance, whatever k is.
        self.threshold += (step * k).min(1.0) * (size - self.threshold);
        self.threshold = self.threshold.clamp(MIN_THRESHOLD_MS, MAX_THRESHOLD_MS);
    }
}
