//! Window and rate of the tool of 2024-10-28 (EricssonResearch/scream 994f9a4, ScreamV2Tx.cpp), and of
//! 2024-10-31 (76a298a).

use super::super::Ticks;
use super::V2;
use super::window::VIRTUAL_RTT;

/// Least time between two inflection points after losses, ticks.
const LOSS_INFLECTION: u32 = 32_768;
/// Time without congestion after which the first marks count more, ticks.
const LONG_AGO: u32 = 5 * 65_536;
const LEAST_ALPHA: f32 = 0.25;
/// The rate falls when more than this share of the window is in flight, by this factor at most.
const FULL_WINDOW: f32 = 0.9;
const MAX_COMPENSATION: f32 = 1.5;

impl V2 {
    /// A queue delay above a quarter of the target counts as marks where marks say little.
    pub(super) fn delay_event_2024(&mut self) {
        let packet = 2.0 * 8.0 * self.packet_bytes() as f32;
        let limit = packet / (self.sum_target() * self.srtt);
        let control = &mut self.control;
        let quarter = self.delay_target / 4.0;
        let marks_say_little = self.alpha < 0.1 * limit || !control.l4s_active;
        if marks_say_little && control.queue_delay_mean > quarter {
            control.virtual_event = true;
            let over = (control.queue_delay_mean - quarter) / (3.0 * quarter);
            control.virtual_alpha = (limit + over.max(0.0)).min(1.0);
        }
    }

    /// EricssonResearch/scream 994f9a4, ScreamV2Tx.cpp updateCwnd(): delay goes before marks.
    pub(super) fn decrease_2024(&mut self, now: Ticks) {
        let congested = self.is_congested();
        let control = &mut self.control;
        if self.loss_event {
            if now.since(control.last_inflection) > LOSS_INFLECTION {
                control.store_inflection(now, self.cwnd);
            }
            self.shrink(now, self.config.loss_beta);
        } else if congested {
            if now.since(control.last_inflection) > self.srtt_ticks {
                control.store_inflection(now, self.cwnd);
            }
            if control.virtual_event {
                let share = 1.0 - control.virtual_alpha / 2.0;
                self.shrink(now, share);
            } else if self.config.l4s {
                self.back_off_2024(now);
            } else {
                self.shrink(now, self.config.ecn_beta);
            }
        }
        self.measure_ratio();
    }

    /// DCTCP's alpha/2 (RFC 8257 3.3), less in small windows and, from 76a298a, near the inflection
    /// point.
    fn back_off_2024(&mut self, now: Ticks) {
        let distance = self.distance(4.0);
        let control = &mut self.control;
        let mut backoff = self.alpha / 2.0 * (1.0 - control.cwnd_ratio).max(0.5);
        if control.rules.l4s_as_cubic && self.queue_delay < self.delay_target / 4.0 {
            backoff *= distance.max(0.25);
        }
        if now.since(self.last_congestion) > LONG_AGO {
            self.cwnd = self.cwnd.min(control.max_in_flight_previous);
            backoff = backoff.max(LEAST_ALPHA);
            self.alpha = self.alpha.max(LEAST_ALPHA);
        }
        self.shrink(now, 1.0 - backoff);
    }

    /// EricssonResearch/scream 994f9a4, ScreamV2Tx.cpp updateCwnd(): a packet per round trip of at least 25 ms, scaled.
    pub(super) fn increment_2024(&self) -> f32 {
        let distance = self.distance(4.0);
        let mut increment = self.additive();
        if !self.control.l4s_active {
            increment *= distance;
        } else if self.control.rules.l4s_as_cubic {
            increment *= distance.max(0.25);
        }
        increment *= (self.srtt / VIRTUAL_RTT).min(1.0);
        increment *= (1.0 - self.control.cwnd_ratio).max(0.5);
        increment * self.multiplicative(distance)
    }

    /// The window's rate less what large frames need.
    pub(super) fn rate_2024(&self) -> f32 {
        let control = &self.control;
        let mut rate = self.window_rate();
        if !control.l4s_active && control.in_flight_ratio > FULL_WINDOW {
            rate /= (control.in_flight_ratio / FULL_WINDOW).min(MAX_COMPENSATION);
        }
        rate *= self.small_window();
        rate /= control.large_frames;
        rate * self.payload_share()
    }
}
