//! Window, pacing and the rates of the streams (`scream.md` 4.4.13).

use super::super::Ticks;
use super::super::ticks::seconds;
use super::rules::Law;
use super::{OVERHEAD, V2};

const MIN_PACE_RATE: f32 = 50e3;
const MIN_PACE: f32 = 10e-6;
const SLOW: u32 = 3277;
const SETTLED: u32 = 131_072;
const VIRTUAL_RTT: f32 = 0.025;
const VIRTUAL_RTT_TICKS: u32 = 1638;
const REFERENCE_RTT: f32 = 0.03;

impl V2 {
    pub(super) fn update_window(&mut self, now: Ticks) {
        let c = &mut self.control;
        let since_congestion = seconds(now.since(c.last_congestion));
        let recovery = match self.rules.law {
            Law::Y2024 => 4.0,
            Law::Y2026 => 200.0 * self.srtt,
        };
        c.post_congestion = (since_congestion / recovery).clamp(0.0, 1.0);
        c.queue_delay_min = c.queue_delay_min.min(self.queue_delay);
        self.update_pace();
        if now.since(self.control.last_slow) > SLOW {
            self.control.last_slow = now;
            self.update_slowly(now);
        }
        match self.rules.law {
            Law::Y2024 => self.decrease_2024(now),
            Law::Y2026 => self.decrease_2026(now),
        }
        let mss = self.mss_eff() as f32;
        let c = &mut self.control;
        if self.rules.law == Law::Y2024 {
            c.cwnd_ratio = mss / self.cwnd as f32;
        }
        self.increase();
        self.share_rate();
    }

    fn update_pace(&mut self) {
        let media_rate: f32 = self.streams.iter().map(|media| media.rates.media_mean).sum();
        let base = self.sum_target().max(media_rate);
        let bursty = self.streams.iter().filter(|media| media.frames.pace_scale > 1.0);
        let (weighted, weight) = bursty.fold((0.0, 0.0), |(weighted, weight), media| {
            (weighted + media.target * media.frames.pace_scale, weight + media.target)
        });
        let scale = if weight > 0.0 { weighted / weight } else { 1.0 };
        let mut headroom = self.config.pace_headroom;
        if self.rules.law == Law::Y2024 && !self.control.congested_once {
            headroom = headroom.max(1.5);
        }
        let mut rate = (headroom * scale * base).max(MIN_PACE_RATE);
        if let Some(most) = self.config.max_total_rate {
            rate = rate.min(most * self.config.pace_headroom);
        }
        self.pace = (self.mss_eff() as f32 * 8.0 / rate).max(MIN_PACE);
    }

    fn sum_max(&self) -> f32 {
        self.streams.iter().map(|media| media.about.max_rate).sum()
    }

    fn update_slowly(&mut self, now: Ticks) {
        let sum_target = self.sum_target();
        let sum_max = self.sum_max();
        let c = &mut self.control;
        c.max_in_flight_ring[c.ring_at] = c.max_in_flight;
        c.ring_at = (c.ring_at + 1) % c.max_in_flight_ring.len();
        c.queue_delay_min_mean = if c.queue_delay_min < c.queue_delay_min_mean {
            c.queue_delay_min
        } else {
            0.995 * c.queue_delay_min_mean + 0.005 * c.queue_delay_min
        };
        if self.rules.law == Law::Y2024 {
            c.queue_delay_min = 1000.0;
        }
        if sum_target > 0.95 * sum_max {
            let ring = c.max_in_flight_ring.iter().copied().max().unwrap_or(0);
            let needed =
                self.config.pace_headroom * c.large_frames * sum_max / 8.0 * (self.srtt + 0.001);
            self.cwnd = self.cwnd.min(c.max_in_flight.max(ring).max(needed as i32));
        }
        if now.since(c.started) > SETTLED {
            c.max_in_flight_previous = c.max_in_flight;
            c.max_in_flight = 0;
        }
        let (weighted, weight) = self.streams.iter().fold((0.0, 0.0), |(sum, weight), media| {
            (sum + media.about.priority * media.frames.large, weight + media.about.priority)
        });
        if weight > 0.0 {
            self.control.large_frames = weighted / weight;
        }
    }

    fn distance(&self, gain: f32) -> f32 {
        let inflection = self.control.inflection as f32;
        let relative = gain * (self.cwnd as f32 - inflection) / inflection;
        (relative * relative).clamp(0.1, 1.0)
    }

    fn shrink(&mut self, share: f32) {
        self.cwnd = self.cwnd_min.max((share * self.cwnd as f32) as i32);
    }

    fn congested(&mut self, now: Ticks) {
        let c = &mut self.control;
        c.last_congestion = now;
        c.post_congestion = 0.0;
        c.congested_once = true;
    }

    fn decrease_2024(&mut self, now: Ticks) {
        let c = &self.control;
        if c.loss_event {
            if now.since(c.last_inflection) > 32_768 {
                self.store_inflection(now);
            }
            self.shrink(self.config.loss_beta);
        } else if c.ce_event || c.virtual_event {
            if now.since(c.last_inflection) > self.srtt_ticks {
                self.store_inflection(now);
            }
            let c = &mut self.control;
            if c.virtual_event {
                let backoff = c.virtual_alpha / 2.0;
                self.shrink(1.0 - backoff);
            } else if self.config.l4s {
                let mut backoff = c.alpha / 2.0;
                backoff *= (1.0 - c.cwnd_ratio).max(0.5);
                if now.since(c.last_congestion) > 5 * 65_536 {
                    self.cwnd = self.cwnd.min(c.max_in_flight_previous);
                    backoff = backoff.max(0.25);
                    c.alpha = c.alpha.max(0.25);
                }
                self.shrink(1.0 - backoff);
            } else {
                self.shrink(self.config.ecn_beta);
            }
        } else {
            return;
        }
        self.congested(now);
    }

    fn store_inflection(&mut self, now: Ticks) {
        let cwnd = self.cwnd;
        let c = &mut self.control;
        c.last_inflection = now;
        let ring = c.inflections.get_or_insert([cwnd; 9]);
        ring[c.inflection_at] = cwnd;
        c.inflection_at = (c.inflection_at + 1) % ring.len();
        let mut sorted = *ring;
        sorted.sort_unstable();
        c.inflection = sorted[4];
    }

    fn decrease_2026(&mut self, now: Ticks) {
        let mss = self.mss_eff() as f32;
        let distance = self.distance(8.0);
        let sum_target = self.sum_target();
        let sum_acked: f32 = self.streams.iter().map(|media| media.rates.last.acked).sum();
        let srtt = self.srtt;
        let c = &mut self.control;
        c.cwnd_ratio = mss / self.cwnd as f32;
        c.window_headroom = 1.5 + (self.config.max_window_headroom - 1.5) * c.jitter_scale;
        if !(c.loss_event || c.ce_event || c.virtual_event) {
            self.control.distance = distance;
            return;
        }
        if !c.inflection_blocked {
            c.inflection = self.cwnd;
            c.inflection_blocked = true;
        }
        c.distance = distance;
        if c.loss_event {
            self.shrink(self.config.loss_beta);
        } else if c.ce_event && !self.config.l4s {
            self.shrink(self.config.ecn_beta);
        } else {
            let mut backoff = if c.ce_event { c.alpha } else { c.virtual_alpha } / 2.0;
            if sum_target < 0.8 * sum_acked {
                backoff *= 0.25;
            }
            backoff /= (srtt / REFERENCE_RTT).max(1.0);
            if c.ce_event {
                if self.queue_delay < c.delay_target / 4.0 {
                    backoff *= distance.max(0.25) * c.jitter_scale.clamp(0.25, 1.0);
                }
                if now.since(c.last_congestion) > 100 * self.srtt_ticks.max(VIRTUAL_RTT_TICKS) {
                    self.cwnd = self.cwnd.min(c.max_in_flight_previous);
                }
            }
            self.shrink(1.0 - backoff);
        }
        self.congested(now);
    }

    fn increase(&mut self) {
        let l4s_active = self.control.l4s_active;
        let sum_target = self.sum_target();
        let sum_max = self.sum_max();
        let mss = self.mss_eff() as f32;
        let cwnd = self.cwnd as f32;
        let law = self.rules.law;
        let distance = if law == Law::Y2024 { self.distance(4.0) } else { self.control.distance };
        let c = &mut self.control;
        let mut increment = (c.newly_acked - c.newly_acked_ce) as f32 * c.cwnd_ratio;
        match law {
            Law::Y2024 => {
                if !l4s_active {
                    increment *= distance;
                }
                increment *= (self.srtt / VIRTUAL_RTT).min(1.0);
                increment *= (1.0 - c.cwnd_ratio).max(0.5);
            }
            Law::Y2026 => {
                increment *= distance.max(0.25);
                increment *= (self.srtt / VIRTUAL_RTT).min(1.0);
                increment *= c.jitter_scale.clamp(0.1, 1.0);
            }
        }
        let mut gain = 1.0 + self.config.mul_increase * cwnd / mss;
        gain = 1.0 + (gain - 1.0) * c.post_congestion * distance;
        increment *= gain;
        let most = c.max_in_flight.max(c.max_in_flight_previous) as f32;
        let allowed = self.mss_eff_from(mss) + (most * self.config.inflight_headroom) as i32;
        let c = &mut self.control;
        c.app_limited = allowed < self.cwnd;
        let grown = self.cwnd + (increment + 0.5) as i32;
        if grown <= allowed && (law == Law::Y2024 || sum_target < sum_max) {
            if grown > self.cwnd {
                c.inflection_blocked = false;
            }
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.cwnd_min);
        if let Some(most) = self.config.max_total_rate {
            self.cwnd = self.cwnd.min((most * self.srtt / 8.0) as i32);
        }
        (c.newly_acked, c.newly_acked_ce) = (0, 0);
    }

    fn mss_eff_from(&self, mss: f32) -> i32 {
        mss as i32
    }

    fn share_rate(&mut self) {
        let l4s_active = self.control.l4s_active;
        let mss = self.mss_eff() as f32;
        let c = &self.control;
        let mut rate = 8.0 * self.cwnd as f32 / (self.srtt + 0.001).clamp(0.001, 0.2);
        if self.rules.law == Law::Y2024 && !l4s_active && c.in_flight_ratio > 0.9 {
            rate /= (c.in_flight_ratio / 0.9).min(1.5);
        }
        rate *= 1.0 - (c.cwnd_ratio - 0.1).clamp(0.0, 0.2);
        rate /= if self.rules.law == Law::Y2024 { c.large_frames } else { 1.1 };
        rate *= mss / (mss + OVERHEAD);
        self.streams[0].share = rate;
    }
}
