//! The numbers behind the 2 s line and the summary at the end (`scream.md` 2.8): one sample per
//! window of the rates.

use sojourn_core::cc::scream::Snapshot;
use sojourn_core::{Dur, Time};

use super::ecn_path::Arrived;
use super::generation::Generation;
use super::lines::{FinalSummary, SummaryLine};

/// Weight of a new sample in the means.
const WEIGHT: f32 = 0.02;
/// Samples behind one value of the short loss rate, and such values behind what is printed.
const GROUP: usize = 10;
/// Least and greatest rates and delays leave the start out.
const SETTLED: Dur = Dur::from_secs(5);
/// The shares of all the time are told once so much was sent, bit/s.
const TOLD: f64 = 100_000.0;

#[derive(Clone, Debug)]
pub(super) struct Stats {
    interval: Dur,
    due: Time,
    samples: u64,
    /// Means, kbit/s and s.
    rate_kbps: f32,
    rtt_s: f32,
    queue_delay_s: f32,
    loss: Share,
    ce: Share,
    rate_extremes: Extremes,
    rtt_extremes: Extremes,
    queue_delay_extremes: Extremes,
}

/// A share of the transmitted rate, over the last seconds and all the time.
#[derive(Clone, Debug, Default)]
struct Share {
    group: f32,
    ring: [f32; GROUP],
    at: usize,
    part: f64,
    whole: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Extremes {
    least: Option<f32>,
    greatest: f32,
    sum: f64,
    count: u64,
}

impl Stats {
    pub(super) fn new(generation: Generation, now: Time) -> Self {
        let interval = Dur::from_millis(if generation == Generation::V2026 { 100 } else { 50 });
        Self {
            interval,
            due: now + interval,
            samples: 0,
            rate_kbps: 0.0,
            rtt_s: 0.0,
            queue_delay_s: 0.0,
            loss: Share::default(),
            ce: Share::default(),
            rate_extremes: Extremes::default(),
            rtt_extremes: Extremes::default(),
            queue_delay_extremes: Extremes::default(),
        }
    }

    /// When the next sample is due.
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// A sample; `since_start` without those of a session that has ended.
    pub(super) fn sample(&mut self, now: Time, since_start: Dur, s: &Snapshot) {
        self.due = now + self.interval;
        let rate = s.sent_window / 1e3;
        let weight = if self.samples == 0 { 1.0 } else { WEIGHT };
        let mean = |old: &mut f32, new: f32| *old = (1.0 - weight) * *old + weight * new;
        mean(&mut self.rate_kbps, rate);
        mean(&mut self.rtt_s, s.srtt);
        mean(&mut self.queue_delay_s, s.queue_delay);
        self.samples += 1;
        let ends_group = self.samples.is_multiple_of(GROUP as u64);
        self.loss.add(s.lost_rate, s.sent_window, ends_group);
        self.ce.add(s.ce_rate, s.sent_window, ends_group);
        self.queue_delay_extremes.add(s.queue_delay);
        if since_start > SETTLED {
            self.rate_extremes.add(rate);
            self.rtt_extremes.add(s.srtt);
        }
    }

    pub(super) fn line(&self, now: Time, arrived: &Arrived, mtu: u32) -> SummaryLine {
        SummaryLine {
            time_s: now.as_secs_f64(),
            rate_kbps: self.rate_kbps,
            loss_pct: self.loss.percent(),
            ce_pct: self.ce.percent(),
            ecn_pct: arrived.percent(),
            rtt_s: self.rtt_s,
            queue_delay_s: self.queue_delay_s,
            mtu,
        }
    }

    pub(super) fn last(&self, arrived: &Arrived) -> FinalSummary {
        let (rate, rtt, delay) = (self.rate_extremes, self.rtt_extremes, self.queue_delay_extremes);
        FinalSummary {
            // A run of less than five seconds has its mean only.
            rate_kbps: rate.all().unwrap_or([self.rate_kbps; 3]),
            rtt_s: rtt.all().unwrap_or([self.rtt_s; 3]),
            queue_delay_s: delay.all().map_or([0.0; 2], |[_, greatest, mean]| [greatest, mean]),
            loss_pct: self.loss.percent()[1],
            ecn_pct: arrived.percent(),
        }
    }
}

impl Share {
    fn add(&mut self, part: f32, whole: f32, ends_group: bool) {
        self.part += f64::from(part);
        self.whole += f64::from(whole);
        self.group += part / GROUP as f32;
        if ends_group {
            let group = std::mem::take(&mut self.group);
            let share = if whole > 0.0 { 100.0 * group / whole } else { 0.0 };
            self.ring[self.at] = share.min(100.0);
            self.at = (self.at + 1) % GROUP;
        }
    }

    /// Of the last seconds, and of all the time.
    fn percent(&self) -> [f32; 2] {
        let short = self.ring.iter().sum::<f32>() / GROUP as f32;
        let long = if self.whole > TOLD { 100.0 * self.part / self.whole } else { 0.0 };
        [short, long as f32]
    }
}

impl Extremes {
    fn add(&mut self, value: f32) {
        self.least = Some(self.least.map_or(value, |least| least.min(value)));
        self.greatest = self.greatest.max(value);
        self.sum += f64::from(value);
        self.count += 1;
    }

    /// Least, greatest and mean.
    fn all(&self) -> Option<[f32; 3]> {
        Some([self.least?, self.greatest, (self.sum / self.count as f64) as f32])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(mbps: f32, lost: f32, ce: f32) -> Snapshot {
        Snapshot {
            sent_window: mbps * 1e6,
            lost_rate: lost * 1e6,
            ce_rate: ce * 1e6,
            srtt: 0.025,
            queue_delay: 0.001,
            ..Snapshot::default()
        }
    }

    // KAT scream.md 2.8: weight 0.02, groups of ten samples, a ring of ten
    #[test]
    fn means_lag_and_shares_are_of_the_last_hundred_samples_and_of_all() {
        let mut stats = Stats::new(Generation::V2026, Time::ZERO);
        let mut now = Time::ZERO;
        let mut run = |stats: &mut Stats, samples: usize, s: &Snapshot| {
            for _ in 0..samples {
                now = stats.due();
                stats.sample(now, now.since(Time::ZERO), s);
            }
            now
        };
        run(&mut stats, 1, &snapshot(10.0, 0.0, 0.0));
        let now = run(&mut stats, 99, &snapshot(20.0, 1.0, 2.0));
        assert_eq!(now, Time::ZERO + Dur::from_secs(10), "a sample each 100 ms");
        let arrived = Arrived::default();
        let line = stats.line(now, &arrived, 1200);
        let lag = 20_000.0 - 10_000.0 * 0.98_f32.powi(99);
        assert!((line.rate_kbps - lag).abs() < 1.0, "{} and {lag}", line.rate_kbps);
        // Nine groups of 5 % and the first one, of nine samples, of 4.5 %.
        assert!((line.loss_pct[0] - 4.95).abs() < 1e-3, "{:?}", line.loss_pct);
        let long = 100.0 * 99.0 / (10.0 + 99.0 * 20.0);
        assert!((line.loss_pct[1] - long).abs() < 1e-3, "{:?}", line.loss_pct);
        assert!((line.ce_pct[1] - 2.0 * long).abs() < 1e-3, "{:?}", line.ce_pct);
        let last = stats.last(&arrived);
        assert_eq!(last.rate_kbps, [20_000.0; 3], "without the first five seconds");
        assert_eq!(last.queue_delay_s, [0.001, 0.001]);
    }

    #[test]
    fn a_short_run_has_its_mean() {
        let mut stats = Stats::new(Generation::V2024, Time::ZERO);
        assert_eq!(stats.due(), Time::ZERO + Dur::from_millis(50));
        stats.sample(Time(1), Dur(1), &snapshot(3.0, 0.0, 0.0));
        assert_eq!(stats.last(&Arrived::default()).rate_kbps, [3000.0; 3]);
    }
}
