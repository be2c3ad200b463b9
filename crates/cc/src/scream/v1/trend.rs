//! Where the queue delay is going: the correlation of neighbouring samples, weighted by how near the
//! delay is to its target (RFC 8298 4.1.2.1; the tool of 2020-03-20). A queue that grows
//! shows before it is long.

use super::super::Ticks;

/// Time between samples, ticks: 50 ms.
pub(super) const INTERVAL: u32 = 3277;
const SAMPLES: usize = 20;
const MEMORY: f32 = 0.9;
const LASTING: f32 = 0.99;
/// Squares below are not of the delay, whose steps are larger, but of the mean's last bit.
const ROUNDING: f32 = 1e-10;

/// Samples of queue delay over target and what follows from them.
#[derive(Clone, Debug)]
pub(super) struct Trend {
    samples: [f32; SAMPLES],
    at: usize,
    last: Ticks,
    /// Smoothed queue delay over target.
    pub(super) fraction: f32,
    /// 0: no congestion ahead, to 1.
    pub(super) now: f32,
    /// Its greatest value, slowly forgotten.
    pub(super) lasting: f32,
}

impl Trend {
    pub(super) fn new(now: Ticks) -> Self {
        Self { samples: [0.0; SAMPLES], at: 0, last: now, fraction: 0.0, now: 0.0, lasting: 0.0 }
    }

    /// Takes a queue delay over its target.
    pub(super) fn smooth(&mut self, fraction: f32) {
        self.fraction = MEMORY * self.fraction + (1.0 - MEMORY) * fraction;
    }

    /// Whether a sample is due.
    pub(super) fn is_due(&self, now: Ticks) -> bool {
        now.since(self.last) >= INTERVAL
    }

    /// Takes the sample that is due; one that is late counts for those that were left out.
    pub(super) fn sample(&mut self, now: Ticks, fraction: f32) {
        let count = (now.since(self.last) / INTERVAL).clamp(1, SAMPLES as u32);
        self.last = now;
        for _ in 0..count {
            self.samples[self.at] = fraction;
            self.at = (self.at + 1) % SAMPLES;
        }
    }

    /// What the samples say.
    pub(super) fn update(&mut self) {
        let mean = self.samples.iter().sum::<f32>() / SAMPLES as f32;
        let (mut square, mut product, mut before) = (0.0, 0.0, 0.0);
        for offset in 0..SAMPLES {
            let sample = self.samples[(self.at + offset) % SAMPLES] - mean;
            square += sample * sample;
            product += sample * before;
            before = sample;
        }
        self.now = if square > ROUNDING {
            (product / square * self.fraction).clamp(0.0, 1.0)
        } else {
            0.0
        };
        self.lasting = (LASTING * self.lasting).max(self.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trend(samples: impl Iterator<Item = f32>, fraction: f32) -> Trend {
        let mut trend = Trend::new(Ticks(0));
        for (index, sample) in (1..).zip(samples) {
            trend.sample(Ticks(INTERVAL * index), sample);
        }
        trend.fraction = fraction;
        trend.update();
        trend
    }

    // KAT scream1 6: a = R(1)/R(0), trend = a * fraction
    #[test]
    fn a_step_has_nearly_all_of_its_neighbours_on_its_side() {
        // Ten of -0.5 and ten of 0.5: of 19 products 18 are positive and one negative, and there are 20
        // squares of the same size.
        let step = (0..20).map(|n| if n < 10 { 0.0 } else { 1.0 });
        assert!((trend(step.clone(), 1.0).now - 17.0 / 20.0).abs() < 1e-6);
        assert!((trend(step, 0.4).now - 0.4 * 17.0 / 20.0).abs() < 1e-6);
    }

    #[test]
    fn noise_and_a_steady_queue_are_no_trend() {
        let zigzag = (0..20).map(|n| (n % 2) as f32);
        assert_eq!(trend(zigzag, 1.0).now, 0.0);
        assert_eq!(trend((0..20).map(|_| 0.7), 1.0).now, 0.0);
    }

    // KAT scream1 7: trend_mem
    #[test]
    fn the_lasting_trend_falls_by_a_hundredth() {
        let step = (0..20).map(|n| if n < 10 { 0.0 } else { 1.0 });
        let mut trend = trend(step, 1.0);
        let first = trend.lasting;
        trend.fraction = 0.0;
        trend.update();
        assert_eq!((trend.now, trend.lasting), (0.0, LASTING * first));
    }

    // KAT scream1 17: history of fractions (repeat if late)
    #[test]
    fn a_late_sample_stands_for_those_left_out() {
        let mut late = Trend::new(Ticks(0));
        late.sample(Ticks(10 * INTERVAL), 0.0);
        late.sample(Ticks(20 * INTERVAL), 1.0);
        late.fraction = 1.0;
        late.update();
        assert!((late.now - 17.0 / 20.0).abs() < 1e-6);
    }
}
