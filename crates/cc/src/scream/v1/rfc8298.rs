//! Window and targets of RFC 8298 (sections 4.1.2 and 4.1.3).

use super::super::{Config, Ticks};
use super::V1;
use super::stream::{ADJUST_SECONDS, Cues, Media};

/// QDELAY_TREND_TH and QDELAY_TREND_LO.
const TREND: f32 = 0.2;
/// T_RESUME_FAST_INCREASE, ticks: 5 s.
const RESUME: u32 = 5 * 65_536;
/// GAIN.
const GAIN_UP: f32 = 1.0;
/// Slack of the window in fast increase and later.
const FAST_SLACK: f32 = 1.5;
const SLACK: f32 = 1.25;
/// RATE_PACE_MIN, bit/s.
const MIN_PACE_RATE: f32 = 50e3;
/// BETA_R, for losses and marks.
const BETA_RATE: f32 = 0.9;
/// PRE_CONGESTION_GUARD.
const GUARD: f32 = 0.1;
/// TX_QUEUE_SIZE_FACTOR.
const QUEUE_FACTOR: f32 = 1.0;
/// RTP_QDELAY_TH, s, and TARGET_RATE_SCALE_RTP_QDELAY.
const RTP_DELAY: f32 = 0.02;
const RTP_DELAY_SCALE: f32 = 0.95;

impl V1 {
    /// RFC 8298 4.1.2, window update and pacing: multiplicative decrease on loss and mark, growth
    /// by what is acknowledged in fast increase, else LEDBAT's step towards the target delay,
    /// bounded by what was in flight.
    pub(super) fn update_window_rfc8298(&mut self, now: Ticks) {
        let fraction = self.queue_delay / self.delay_target;
        self.control.trend.smooth(fraction);
        if self.control.trend.is_due(now) {
            self.control.trend.sample(now, fraction);
            self.control.trend.update();
            self.adjust_delay_target();
        }
        let mss = self.packet_bytes() as f32;
        let acked = self.newly_acked as f32;
        let (cwnd, in_flight) = (self.cwnd as f32, self.in_flight as f32);
        if self.loss_event || self.ce_event {
            let share = if self.loss_event { self.config.loss_beta } else { self.config.ecn_beta };
            self.cwnd = (share * cwnd) as i32;
            self.control.fast_increase = false;
            self.last_congestion = now;
        } else if self.control.fast_increase && self.control.trend.now < TREND {
            if in_flight * FAST_SLACK + acked > cwnd {
                self.cwnd = self.cwnd.saturating_add(self.newly_acked);
            }
        } else {
            self.control.fast_increase = false;
            let off = (self.delay_target - self.queue_delay) / self.delay_target;
            let gain = if off > 0.0 { GAIN_UP } else { self.config.gain_down };
            let unused = in_flight * SLACK + acked <= cwnd;
            if off <= 0.0 || !unused {
                let change = gain * off * acked * mss / cwnd;
                self.cwnd = (cwnd + change) as i32;
            }
            let bound = self.config.inflight_headroom * self.control.flights.high() as f32;
            self.cwnd = self.cwnd.min(bound as i32);
        }
        if self.control.trend.now >= TREND {
            self.last_congestion = now;
        } else if now.since(self.last_congestion) > RESUME {
            self.control.fast_increase = true;
        }
        let rate = (self.cwnd as f32 * 8.0 / self.srtt.max(0.001)).max(MIN_PACE_RATE);
        let rate = self.config.max_total_rate.map_or(rate, |most| rate.min(most));
        self.pace = mss * 8.0 / (self.config.pace_headroom * rate);
    }
}

impl Media {
    /// RFC 8298 4.1.3: a loss or mark, and the rate at which it came.
    pub(super) fn back_off_rfc8298(&mut self) {
        self.own.inflection = Some(self.target);
        self.target *= BETA_RATE;
    }

    /// RFC 8298 4.1.3: slower near the rate of the last congestion; at most what the path carries
    /// or the encoder makes, less with a lasting trend.
    pub(super) fn adjust_rfc8298(&mut self, now: Ticks, config: &Config, cues: Cues) {
        self.own.history.add(self.rates.media);
        let ramp = config.ramp_up_speed.min(self.target * config.ramp_up_scale);
        let distance = self.own.inflection.map_or(1.0, |inflection| {
            let share = 4.0 * (self.target - inflection) / inflection;
            (share * share).clamp(0.2, 1.0)
        });
        let carried = self.rates.carried();
        if cues.fast_increase {
            self.target += ramp * ADJUST_SECONDS * distance;
        } else {
            // As the pseudocode has it: what is carried is the change, not what it leads to.
            let queue_bits = self.queue.bytes() as f32 * 8.0;
            let mut change = carried * (1.0 - GUARD * cues.trend) - QUEUE_FACTOR * queue_bits;
            if change > 0.0 {
                change = (change * distance).min(ramp * ADJUST_SECONDS);
            }
            self.target += change;
            if self.queue.delay(now) > RTP_DELAY {
                self.target *= RTP_DELAY_SCALE;
            }
        }
        let used = carried.max(self.rates.media).max(self.own.history.median());
        if used > 0.0 {
            self.target = self.target.min(used * (2.0 - cues.lasting_trend));
        }
    }
}
