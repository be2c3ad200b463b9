//! Window and targets of the tool of 2020-03-20: EricssonResearch/scream f9deed2, ScreamTx.cpp.

use super::super::ticks::seconds;
use super::super::{Config, Ticks};
use super::V1;
use super::stream::{ADJUST_SECONDS, Cues, Media};

/// The window follows the rate that is carried above this rate, by this factor at most; bit/s.
const MEASURABLE: f32 = 100e3;
const RATE_HEADROOM: f32 = 1.25;
/// Trend that counts as congestion, and the time without it after which the window grows fast again,
/// ticks.
const TREND: f32 = 0.2;
const RESUME: u32 = 65_536;
/// Slack of the window in fast increase and later.
const FAST_SLACK: f32 = 1.5;
const SLACK: f32 = 1.2;
const GAIN_UP: f32 = 1.0;
/// Least bound by the history that is applied, bytes.
const BOUNDED_FROM: f32 = 5000.0;
/// On paths shorter than this (s) and with less trend the window stays above the rate times that RTT.
const SHORT_RTT: f32 = 0.01;
const SHORT_TREND: f32 = 0.1;
/// Least slow minimum that is a standing queue, of the target, and time between two new bases, ticks.
const STANDING: f32 = 0.25;
const NEW_BASE: u32 = 20 * 65_536;
const MIN_DELAY_MEMORY: f32 = 0.999;
/// Smoothed delay over target from which packets are paced, and the least rate for it, bit/s.
const PACED_FROM: f32 = 0.02;
const MIN_PACE_RATE: f32 = 5e3;
/// Before, there is no trend, ticks.
const SETTLED: u32 = 131_072;
/// Time between inflection points, ticks.
const INFLECTION: u32 = 2_000_000;
const QUEUE_GUARD: f32 = 0.05;
const QUEUE_FACTOR: f32 = 0.1;
/// Share of the target that counts as queue, and the queue that stops growth, bits.
const QUEUE_SHARE: f32 = 0.02;
const QUEUE_STOPS: f32 = 12_000.0;
/// s.
const FAST_QUEUE_DELAY: f32 = 0.1;
/// Targets near this rate (bit/s) rise by this share above what is carried.
const LOW_RATE: f32 = 50e3;
const PROBE: f32 = 0.05;
const LITTLE_ALPHA: f32 = 0.001;

impl V1 {
    /// As RFC 8298 4.1.2 with the tool's changes: growth bounded by the carried rate, alpha for
    /// L4S, a floor on short paths.
    pub(super) fn update_window_2020(&mut self, now: Ticks) {
        let passed = seconds(now.since(self.last_cwnd));
        let carried = self.sum(|media| media.rates.carried());
        let mss = self.packet_bytes() as f32;
        let acked = self.newly_acked as f32;
        let limited = if carried > MEASURABLE {
            acked.min(RATE_HEADROOM * carried * passed / 8.0)
        } else {
            2.0 * mss
        };
        self.sample_slowly_2020(now);
        let off = (self.delay_target - self.queue_delay) / self.delay_target;
        let in_flight = self.in_flight as f32;
        let cwnd = self.cwnd as f32;
        if self.loss_event || self.ce_event {
            let share = if self.loss_event {
                self.config.loss_beta
            } else if self.config.l4s {
                1.0 - self.alpha / 2.0
            } else {
                self.config.ecn_beta
            };
            self.cwnd = (share * cwnd) as i32;
            self.control.fast_increase = false;
            self.last_congestion = now;
        } else if self.control.fast_increase {
            if self.control.trend.now >= TREND {
                self.control.fast_increase = false;
            } else if in_flight * FAST_SLACK + acked > cwnd {
                self.cwnd = self.cwnd.saturating_add(limited as i32);
            }
        } else if off > 0.0 {
            if in_flight * SLACK + acked > cwnd {
                let more = GAIN_UP * off * limited * mss / cwnd;
                self.cwnd = self.cwnd.saturating_add((more + 0.5) as i32);
            }
        } else {
            let less = (-self.config.gain_down * off * acked * mss / cwnd).min(cwnd / 4.0);
            self.cwnd -= less as i32;
            self.last_congestion = now;
            let sent = self.sum(|media| media.rates.sent);
            if sent < MEASURABLE {
                for media in &mut self.streams {
                    media.target *= 1.0 - less / cwnd;
                }
            }
        }
        let bound = self.max_in_flight();
        if bound > BOUNDED_FROM {
            self.cwnd = self.cwnd.min(bound as i32);
        }
        if self.srtt < SHORT_RTT && self.control.trend.now < SHORT_TREND {
            let sent = self.sum(|media| media.rates.sent);
            let least = (sent * SHORT_RTT / 8.0).max(1.5 * bound);
            self.cwnd = self.cwnd.max(least as i32);
        }
        if self.control.trend.now > TREND {
            self.last_congestion = now;
        } else if now.since(self.last_congestion) > RESUME {
            self.control.fast_increase = true;
        }
    }

    fn sample_slowly_2020(&mut self, now: Ticks) {
        self.control.delay_min = self.control.delay_min.min(self.queue_delay);
        let fraction = self.queue_delay / self.delay_target;
        self.control.trend.smooth(fraction);
        if !self.control.trend.is_due(now) {
            return;
        }
        let least = std::mem::replace(&mut self.control.delay_min, f32::INFINITY);
        let memory = MIN_DELAY_MEMORY;
        self.control.delay_min_mean =
            least.min(memory * self.control.delay_min_mean + (1.0 - memory) * least);
        if self.control.delay_min_mean > STANDING * self.delay_target
            && now.since(self.control.last_base) > NEW_BASE
        {
            self.control.last_base = now;
            self.base.restart();
        }
        self.pace = 0.0;
        let limited = self.config.max_total_rate;
        if self.control.trend.fraction > PACED_FROM || self.config.l4s || limited.is_some() {
            let rate = self.cwnd as f32 * 8.0 / self.srtt.max(0.001);
            let rate = self.config.pace_headroom * rate.max(MIN_PACE_RATE);
            let most = limited.map_or(f32::INFINITY, |most| most * self.config.pace_headroom);
            self.pace = self.packet_bytes() as f32 * 8.0 / rate.min(most);
        }
        self.control.trend.sample(now, fraction);
        if now.since(self.started) > SETTLED {
            self.control.trend.update();
        }
        self.adjust_delay_target();
    }

    /// Between what was most in flight and, with congestion ahead, what was on average; bytes.
    fn max_in_flight(&self) -> f32 {
        let trend = self.control.trend.now;
        let high = self.control.flights.high() as f32;
        let low = self.control.flights.low(self.in_flight) as f32;
        self.config.inflight_headroom * (high * (1.0 - trend) + low * trend)
    }
}

impl Media {
    /// RFC 8298 4.1.3 with the tool's scaling; under L4S half of what the window loses.
    pub(super) fn back_off_2020(&mut self, now: Ticks, config: &Config, alpha: f32) {
        if now.since(self.own.last_inflection) > INFLECTION {
            self.own.last_inflection = now;
            let reached = self.rates.carried().min(self.target);
            self.own.inflections.rotate_left(1);
            self.own.inflections[2] = reached;
            self.own.inflection =
                Some(self.own.inflections.iter().copied().fold(reached, f32::max));
        }
        self.target *= if self.own.loss_event {
            config.loss_beta
        } else if config.l4s {
            1.0 - alpha / 4.0
        } else {
            config.ecn_beta
        };
    }

    /// RFC 8298 4.1.3 with the tool's changes: what waits in the RTP queue counts smoothed and only
    /// without L4S marks.
    pub(super) fn adjust_2020(&mut self, now: Ticks, config: &Config, cues: Cues) {
        let distance = self.own.inflection.map_or(1.0, |inflection| {
            let share = 4.0 * (self.target - inflection) / inflection;
            (share * share).clamp(0.05, 1.0)
        });
        let queue_bits = (QUEUE_SHARE * self.target).min(self.older_bits());
        self.own.queue_bits = 0.5 * self.own.queue_bits + 0.5 * queue_bits;
        let mut ramp = config.ramp_up_speed.min(self.target * config.ramp_up_scale);
        if cues.competes {
            ramp *= 2.0;
        }
        let carried = self.rates.carried();
        let runs_ahead = self.target > RATE_HEADROOM * carried;
        if cues.fast_increase && self.queue.delay(now) < FAST_QUEUE_DELAY {
            if !runs_ahead {
                self.target += ramp * ADJUST_SECONDS * distance * self.about.priority.sqrt();
            }
            return;
        }
        let mut change = carried * (1.0 + PROBE * (LOW_RATE / self.target).min(1.0));
        if !config.l4s || cues.alpha < LITTLE_ALPHA {
            change *= 1.0 - QUEUE_GUARD * cues.trend;
            change -= QUEUE_FACTOR * self.own.queue_bits;
        }
        change -= self.target;
        if change > 0.0 {
            if queue_bits > QUEUE_STOPS || runs_ahead {
                return;
            }
            change = (change * distance).min(ramp * ADJUST_SECONDS);
        } else if self.rates.media < self.target || self.rates.media > 2.0 * self.target {
            // The encoder did not use the target, or does not follow it.
            return;
        }
        self.target += change;
    }
}
