//! What follows from a report as a whole: alpha, delay averages and events
//! (EricssonResearch/scream c8f84c3, ScreamV2Tx.cpp).

use super::super::Ticks;
use super::V2;
use super::rules::Law;

/// Least interval between reactions, ticks.
const MIN_INTERVAL: u32 = 1966;
/// RTT above which a delay event takes less, s: that interval.
pub(super) const REFERENCE_RTT: f32 = MIN_INTERVAL as f32 / 65_536.0;
/// Least interval between updates of alpha, ticks: 10 ms.
const ALPHA_INTERVAL: u32 = 655;
const DENSITY_GAIN: f32 = 1.0 / 16.0;
const LEAST_DENSITY: f32 = 0.25;
const DELAY_GAIN: f32 = 0.25;
const SLOW_GAIN: f32 = 1.0 / 8.0;
const SLOW_INTERVAL_RTTS: u32 = 100;
const ENVELOPE_MEMORY: f32 = 15.0 / 16.0;
const JITTER_MEMORY: f32 = 31.0 / 32.0;
/// Width of the envelope that counts, and the mean width that leaves no headroom, s.
const MAX_JITTER: f32 = 0.02;
const JITTER_THRESHOLD: f32 = 0.01;
/// Factor by which a policer's limit is lifted at a time, and the bytes above which it is forgotten.
const POLICED_LIFT: f32 = 1.001;
const POLICED_MOST: f32 = 1e8;

impl V2 {
    /// Shortest time between two reactions, ticks.
    fn reaction_interval(&self) -> u32 {
        MIN_INTERVAL.min(self.srtt_ticks)
    }

    // EricssonResearch/scream c8f84c3, ScreamV2Tx.cpp.
    pub(super) fn react(&mut self, now: Ticks) {
        let interval = self.reaction_interval();
        let active = |last| now.since(last) < super::L4S_ACTIVE;
        let control = &mut self.control;
        control.l4s_active = self.config.l4s && control.last_ce.is_some_and(active);
        if now.since(self.last_event) > interval && self.ce_heard {
            self.ce_event = true;
            self.last_event = now;
            control.last_ce = Some(now);
        }
        self.update_alpha(now);
        if now.since(self.control.last_delay) > interval {
            self.control.last_delay = now;
            self.average_delay(now);
        }
        if now.since(self.last_event) > interval {
            match self.control.rules.law {
                Law::Y2024 => self.delay_event_2024(),
                Law::Y2026 => self.delay_event_2026(),
                Law::Draft => self.delay_event_draft(),
            }
        }
        if self.short_rtt < self.previous_short_rtt && self.control.fraction_marked == 1.0 {
            self.ce_event = false; // the queue is shrinking already
        }
        let congested = self.is_congested();
        let control = &mut self.control;
        if congested {
            self.last_event = now;
        }
        if now.since(self.last_cwnd) > interval || congested || control.new_frame {
            self.last_cwnd = now;
            control.in_flight_ratio =
                (control.previous_in_flight as f32 / self.cwnd as f32).min(1.0);
            self.update_window(now);
            for media in self.streams.iter_mut().filter(|media| media.active) {
                media.update_target(now, &self.control.rules);
            }
            let control = &mut self.control;
            (self.loss_event, self.ce_event, control.virtual_event) = (false, false, false);
            control.new_frame = false;
        }
    }

    /// DCTCP's average of the marked share (RFC 8257 3.3), faster up than down; 994f9a4 has one
    /// gain.
    fn update_alpha(&mut self, now: Ticks) {
        let control = &mut self.control;
        if !self.config.pacing {
            // Without pacing marks come in bursts.
            if self.ce_heard {
                control.ce_density += DENSITY_GAIN;
            }
            control.ce_density = (control.ce_density * (1.0 - DENSITY_GAIN)).max(LEAST_DENSITY);
        }
        self.ce_heard = false;
        if !self.config.l4s {
            self.alpha = 0.0;
            return;
        }
        if now.since(self.last_alpha) <= ALPHA_INTERVAL.min(self.srtt_ticks) {
            return;
        }
        self.last_alpha = now;
        let mut fraction = 0.0;
        if self.delivered > 0 {
            fraction = self.marked as f32 / self.delivered as f32;
            if fraction == 1.0 {
                control.ce_density = 1.0;
            }
            fraction *= control.ce_density;
        }
        (self.delivered, self.marked) = (0, 0);
        let (up, down) = control.rules.alpha_gains;
        self.alpha = if up == down || fraction >= self.alpha {
            (up * fraction + (1.0 - up) * self.alpha).min(1.0)
        } else {
            self.alpha * (1.0 - down)
        };
        control.fraction_marked = fraction;
    }

    /// Queue delay above the standing part, and its jitter, which lessens growth and headroom
    /// (c8f84c3).
    fn average_delay(&mut self, now: Ticks) {
        let control = &mut self.control;
        if control.rules.law == Law::Y2026
            && now.since(control.last_slow_minimum) > SLOW_INTERVAL_RTTS * self.srtt_ticks
        {
            let least = control.queue_delay_min;
            control.queue_delay_slow = if least < control.queue_delay_slow {
                least
            } else {
                SLOW_GAIN * least + (1.0 - SLOW_GAIN) * control.queue_delay_slow
            };
            control.queue_delay_min = 1000.0;
            control.last_slow_minimum = now;
        }
        let delay = self.queue_delay - control.queue_delay_slow;
        control.queue_delay_mean = if delay < control.queue_delay_mean {
            delay
        } else {
            (1.0 - DELAY_GAIN) * control.queue_delay_mean + DELAY_GAIN * delay
        };
        if control.rules.law != Law::Y2026 {
            return;
        }
        let width = (control.delay_high - control.delay_low).clamp(0.0, MAX_JITTER);
        control.jitter = JITTER_MEMORY * control.jitter + (1.0 - JITTER_MEMORY) * width;
        control.jitter_scale = (1.0 - control.jitter / JITTER_THRESHOLD).clamp(0.0, 1.0);
        control.delay_high *= ENVELOPE_MEMORY;
        control.delay_low =
            ENVELOPE_MEMORY * control.delay_low + (1.0 - ENVELOPE_MEMORY) * control.delay_high;
        control.policed =
            control.policed.map(|limit| limit * POLICED_LIFT).filter(|&limit| limit < POLICED_MOST);
    }
}
