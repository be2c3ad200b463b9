//! Window and rate of the tool of 2026-06-30: EricssonResearch/scream c8f84c3, ScreamV2Tx.cpp.

use super::super::Ticks;
use super::V2;
use super::react::REFERENCE_RTT;
use super::window::{VIRTUAL_RTT, VIRTUAL_RTT_TICKS};

/// Gain of the distance to the last inflection point.
const DISTANCE_GAIN: f32 = 8.0;
const LEAST_DISTANCE: f32 = 0.25;
/// A target below this share of what arrives says that the window is small enough.
const ACKED_SHARE: f32 = 0.8;
const FEW_SENT: f32 = 0.25;
/// RTTs without congestion after which the window is cut down to what was in flight.
const LONG_AGO_RTTS: u32 = 100;
/// What a loss leaves of a policed window.
const POLICED_BETA: f32 = 0.95;
/// The window may be exceeded by this factor at least.
const LEAST_HEADROOM: f32 = 1.5;
/// Window over rate.
const RATE_DIVISOR: f32 = 1.1;

impl V2 {
    /// A queue delay above half the target counts as marks, less on long paths.
    pub(super) fn delay_event_2026(&mut self) {
        let control = &mut self.control;
        let half = self.delay_target / 2.0;
        if control.queue_delay_mean > half {
            control.virtual_event = true;
            let over = ((control.queue_delay_mean - half) / half).clamp(0.0, 1.0);
            control.virtual_alpha = over / (self.srtt / REFERENCE_RTT).max(1.0);
        }
    }

    /// EricssonResearch/scream c8f84c3, ScreamV2Tx.cpp updateCwnd(): marks go before delay.
    pub(super) fn decrease_2026(&mut self, now: Ticks) {
        self.measure_ratio();
        self.control.distance = self.distance(DISTANCE_GAIN);
        let most = self.config.max_window_headroom;
        let congested = self.is_congested();
        let control = &mut self.control;
        control.window_headroom = LEAST_HEADROOM + (most - LEAST_HEADROOM) * control.jitter_scale;
        if !congested {
            return;
        }
        control.mark_inflection(self.cwnd);
        if self.loss_event {
            let policed = control.policed_now;
            self.shrink(now, if policed { POLICED_BETA } else { self.config.loss_beta });
        } else if self.ce_event && !self.config.l4s {
            self.shrink(now, self.config.ecn_beta);
        } else {
            self.back_off_2026(now);
        }
    }

    /// Marks of an L4S queue, or a queue delay that counts as such.
    fn back_off_2026(&mut self, now: Ticks) {
        let acked: f32 = self.streams.iter().map(|media| media.rates.acked).sum();
        let few_sent = self.sum_target() < ACKED_SHARE * acked;
        let control = &mut self.control;
        let marked = self.ce_event;
        let mut backoff = if marked { self.alpha } else { control.virtual_alpha } / 2.0;
        if few_sent {
            backoff *= FEW_SENT;
        }
        // The original divides a delay's alpha by the RTT for the second time.
        if marked || self.config.parity {
            backoff /= (self.srtt / REFERENCE_RTT).max(1.0);
        }
        if marked {
            if self.queue_delay < self.delay_target / 4.0 {
                let distance = control.distance.max(LEAST_DISTANCE);
                backoff *= distance * control.jitter_scale.clamp(0.25, 1.0);
            }
            let long_ago = LONG_AGO_RTTS * self.srtt_ticks.max(VIRTUAL_RTT_TICKS);
            if now.since(self.last_congestion) > long_ago {
                self.cwnd = self.cwnd.min(control.max_in_flight_previous);
            }
        }
        self.shrink(now, 1.0 - backoff);
    }

    /// EricssonResearch/scream c8f84c3, ScreamV2Tx.cpp updateCwnd(): a packet per round trip of at least 25 ms, less
    /// near the inflection point and with jitter.
    pub(super) fn increment_2026(&self) -> f32 {
        let control = &self.control;
        let mut increment = self.additive();
        increment *= control.distance.max(LEAST_DISTANCE);
        increment *= (self.srtt / VIRTUAL_RTT).min(1.0);
        increment *= control.jitter_scale.clamp(0.1, 1.0);
        increment * self.multiplicative(control.distance)
    }

    pub(super) fn rate_2026(&self) -> f32 {
        let mut rate = self.window_rate();
        rate *= self.small_window();
        rate /= RATE_DIVISOR;
        rate * self.payload_share()
    }
}
