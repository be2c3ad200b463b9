//! Window and rate of draft-johansson-ccwg-rfc8298bis-screamv2 as of late 2025. What
//! the draft leaves open is as in the tool of 2026-06-30.

use super::super::Ticks;
use super::V2;
use super::window::{VIRTUAL_RTT, VIRTUAL_RTT_TICKS};

const DISTANCE_GAIN: f32 = 8.0;
const LEAST_DISTANCE: f32 = 0.25;
/// Least time between two inflection points, RTTs.
const INFLECTION_RTTS: u32 = 10;
const LONG_AGO_RTTS: u32 = 100;
/// Below there are no marks, and delay slows growth.
const NO_MARKS: f32 = 1e-4;
const LEAST_GROWTH: f32 = 0.1;
/// BYTES_IN_FLIGHT_LIMIT and BYTES_IN_FLIGHT_LIMIT_COMPENSATION.
const FULL_WINDOW: f32 = 0.9;
const MAX_COMPENSATION: f32 = 1.5;

impl V2 {
    pub(super) fn delay_event_draft(&mut self) {
        let packet = 2.0 * 8.0 * self.packet_bytes() as f32;
        let limit = packet / (self.sum_target() * self.srtt);
        let control = &mut self.control;
        let half = self.delay_target / 2.0;
        let other = self.ce_event || self.loss_event;
        if !other && self.alpha < limit && control.queue_delay_mean > half {
            control.virtual_event = true;
            let over = (control.queue_delay_mean - half) / half;
            control.virtual_alpha = (2.0 * limit * over).min(1.0);
        }
    }

    // draft-johansson-ccwg-rfc8298bis-screamv2.
    pub(super) fn decrease_draft(&mut self, now: Ticks) {
        self.measure_ratio();
        self.control.distance = self.distance(DISTANCE_GAIN);
        if !self.is_congested() {
            return;
        }
        let control = &mut self.control;
        if now.since(control.last_inflection) > INFLECTION_RTTS * self.srtt_ticks {
            control.last_inflection = now;
            control.inflection = self.cwnd;
        }
        if self.loss_event {
            self.shrink(now, self.config.loss_beta);
        } else if control.virtual_event {
            let share = 1.0 - control.virtual_alpha / 2.0;
            self.shrink(now, share);
        } else if self.config.l4s {
            let mut backoff = self.alpha / 2.0 * (1.0 - control.cwnd_ratio).max(0.5);
            if self.queue_delay < self.delay_target / 4.0 {
                backoff *= control.distance.max(LEAST_DISTANCE);
            }
            let long_ago = LONG_AGO_RTTS * self.srtt_ticks.max(VIRTUAL_RTT_TICKS);
            if now.since(self.last_congestion) > long_ago {
                self.cwnd = self.cwnd.min(control.max_in_flight_previous);
            }
            self.shrink(now, 1.0 - backoff);
        } else {
            self.shrink(now, self.config.ecn_beta);
        }
    }

    // draft-johansson-ccwg-rfc8298bis-screamv2.
    pub(super) fn increment_draft(&self) -> f32 {
        let control = &self.control;
        let shorter = (self.srtt / VIRTUAL_RTT).min(1.0);
        let mut increment = self.additive() * shorter * shorter;
        increment *= control.distance.max(LEAST_DISTANCE);
        increment *= (1.0 - control.cwnd_ratio).max(0.5);
        if self.alpha < NO_MARKS {
            let quarter = self.delay_target / 4.0;
            increment *= (1.0 - control.queue_delay_mean / quarter).max(LEAST_GROWTH);
        }
        increment * self.multiplicative(control.distance)
    }

    pub(super) fn rate_draft(&self) -> f32 {
        let control = &self.control;
        let mut rate = 8.0 * self.cwnd as f32 / self.srtt.max(0.001);
        let delayed = self.queue_delay > self.delay_target / 4.0;
        if delayed && control.in_flight_ratio > FULL_WINDOW {
            rate /= (control.in_flight_ratio / FULL_WINDOW).min(MAX_COMPENSATION);
        }
        rate * self.small_window() * self.payload_share()
    }
}
