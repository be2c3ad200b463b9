//! Window, pacing and the rates of the streams (EricssonResearch/scream c8f84c3, ScreamV2Tx.cpp,
//! updateCwnd()).

use super::super::schedule::{self, Share};
use super::super::ticks::seconds;
use super::super::{STREAMS, Ticks};
use super::rules::{Law, Recovery};
use super::{OVERHEAD, V2};

/// bit/s.
const MIN_PACE_RATE: f32 = 50e3;
/// s.
const MIN_PACE: f32 = 10e-6;
/// The smallest headroom of the pacing rate until the first congestion (2024).
const START_HEADROOM: f32 = 1.5;
/// Interval of the slow part, ticks, and when it begins to forget.
const SLOW: u32 = 3277;
const SETTLED: u32 = 131_072;
/// RTT as which shorter ones count, s.
pub(super) const VIRTUAL_RTT: f32 = 0.025;
pub(super) const VIRTUAL_RTT_TICKS: u32 = 1638;
/// Relaxed pacing from this share of the greatest rate on, and by this factor at most.
const RELAXED_FROM: f32 = 0.8;
const RELAXED_MOST: f32 = 5.0;
const MIN_DELAY_MEMORY: f32 = 0.995;

impl V2 {
    pub(super) fn update_window(&mut self, now: Ticks) {
        let control = &mut self.control;
        let recovery = match control.rules.recovery {
            Recovery::Seconds(time) => time,
            Recovery::Rtts(rtts) => rtts * self.srtt,
        };
        let passed = seconds(now.since(self.last_congestion));
        control.post_congestion = (passed / recovery).clamp(0.0, 1.0);
        control.queue_delay_min = control.queue_delay_min.min(self.queue_delay);
        control.bottleneck.count(now, self.srtt_ticks, self.loss_event);
        self.update_pace();
        if now.since(self.control.last_slow) > SLOW {
            self.control.last_slow = now;
            self.update_slowly(now);
        }
        match self.control.rules.law {
            Law::Y2024 => self.decrease_2024(now),
            Law::Y2026 => self.decrease_2026(now),
            Law::Draft => self.decrease_draft(now),
        }
        let increment = match self.control.rules.law {
            Law::Y2024 => self.increment_2024(),
            Law::Y2026 => self.increment_2026(),
            Law::Draft => self.increment_draft(),
        };
        self.increase(increment);
        let rate = match self.control.rules.law {
            Law::Y2024 => self.rate_2024(),
            Law::Y2026 => self.rate_2026(),
            Law::Draft => self.rate_draft(),
        };
        self.share_rate(rate);
    }

    fn update_pace(&mut self) {
        let sum_target = self.sum_target();
        let media: f32 = self.streams.iter().map(|media| media.rates.media).sum();
        let bursty = self.streams.iter().filter(|media| media.own.frames.pace_scale > 1.0);
        let (weighted, weight) = bursty.fold((0.0, 0.0), |(weighted, weight), media| {
            (weighted + media.target * media.own.frames.pace_scale, weight + media.target)
        });
        let scale = if weight > 0.0 { weighted / weight } else { 1.0 };
        let mut headroom = self.config.pace_headroom;
        if self.control.rules.law == Law::Y2024 && !self.control.had_congestion {
            headroom = headroom.max(START_HEADROOM);
        }
        let mut rate = (headroom * scale * sum_target.max(media)).max(MIN_PACE_RATE);
        if let Some(most) = self.config.max_total_rate {
            rate = rate.min(most * self.config.pace_headroom).max(MIN_PACE_RATE);
        }
        if self.config.relaxed_pacing && self.control.rules.law == Law::Y2026 {
            let share = sum_target / self.sum_max();
            if share > RELAXED_FROM {
                let relaxed = ((share - RELAXED_FROM) / (1.0 - RELAXED_FROM)).min(1.0);
                rate /= (1.0 - relaxed).clamp(1.0 / RELAXED_MOST, 1.0);
            }
        }
        // DEVIATION: without parity no least time, which would keep it below 970 Mbit/s.
        let least = if self.config.parity { MIN_PACE } else { 0.0 };
        self.pace = (self.packet_bytes() as f32 * 8.0 / rate).max(least);
    }

    fn update_slowly(&mut self, now: Ticks) {
        let sum_target = self.sum_target();
        let sum_max = self.sum_max();
        let sum_min: f32 = self.streams.iter().map(|media| media.about.min_rate).sum();
        let control = &mut self.control;
        if self.config.shared_bottleneck {
            self.delay_target = control.bottleneck.target(
                &control.rules,
                self.config.parity,
                self.queue_delay,
                self.config.delay_target,
                self.delay_target,
            );
        }
        control.max_in_flight_ring[control.ring_at] = control.max_in_flight;
        control.ring_at = (control.ring_at + 1) % control.max_in_flight_ring.len();
        if control.rules.law == Law::Y2024 {
            let least = control.queue_delay_min;
            control.queue_delay_min_mean = if least < control.queue_delay_min_mean {
                least
            } else {
                let memory = MIN_DELAY_MEMORY;
                memory * control.queue_delay_min_mean + (1.0 - memory) * least
            };
            control.queue_delay_min = 1000.0;
        }
        if sum_target > 0.95 * sum_max {
            let ring = control.max_in_flight_ring.iter().copied().max().unwrap_or(0);
            let rate = self.config.pace_headroom * control.large_frames * sum_max;
            let needed = rate / 8.0 * (self.srtt + 0.001);
            self.cwnd = self.cwnd.min(control.max_in_flight.max(ring).max(needed as i32));
        }
        if now.since(self.started) > SETTLED {
            if self.config.autotune_least_cwnd {
                self.least_cwnd = (sum_min / 8.0 * self.srtt) as i32;
            }
            control.max_in_flight_previous = control.max_in_flight;
            control.max_in_flight = 0;
        }
        let (weighted, weight) = self.streams.iter().fold((0.0, 0.0), |(sum, weight), media| {
            let priority = media.about.priority;
            (sum + priority * media.own.frames.large, weight + priority)
        });
        if weight > 0.0 {
            control.large_frames = weighted / weight;
        }
    }

    /// CUBIC's idea: 0.1 at the last inflection point, 1 far from it.
    pub(super) fn distance(&self, gain: f32) -> f32 {
        let inflection = self.control.inflection as f32;
        let relative = gain * (self.cwnd as f32 - inflection) / inflection;
        (relative * relative).clamp(0.1, 1.0)
    }

    /// Packet over window.
    pub(super) fn measure_ratio(&mut self) -> f32 {
        self.control.cwnd_ratio = self.packet_bytes() as f32 / self.cwnd as f32;
        self.control.cwnd_ratio
    }

    /// Leaves a share of the window.
    pub(super) fn shrink(&mut self, now: Ticks, share: f32) {
        self.cwnd = self.cwnd_min.max((share * self.cwnd as f32) as i32);
        let control = &mut self.control;
        self.last_congestion = now;
        control.post_congestion = 0.0;
        control.had_congestion = true;
    }

    /// Bytes that were acknowledged without a mark, per window.
    pub(super) fn additive(&self) -> f32 {
        let control = &self.control;
        (self.newly_acked - self.newly_acked_ce) as f32 * control.cwnd_ratio
    }

    /// Factor of a growth that is faster in large windows, long after congestion.
    pub(super) fn multiplicative(&self, distance: f32) -> f32 {
        let packets = self.config.mul_increase * self.cwnd as f32 / self.packet_bytes() as f32;
        let gain = 1.0 + packets;
        1.0 + (gain - 1.0) * self.control.post_congestion * distance
    }

    fn increase(&mut self, increment: f32) {
        // DEVIATION: a fixed rate needs its window, too; `-fixedrate` of c8f84c3 stays at 3 to 5 Mbit/s.
        let fixed = self.streams.iter().all(|media| media.about.min_rate >= media.about.max_rate);
        let wants_more =
            self.control.rules.law == Law::Y2024 || fixed || self.sum_target() < self.sum_max();
        let mss = self.packet_bytes();
        let control = &mut self.control;
        let most = control.max_in_flight.max(control.max_in_flight_previous) as f32;
        let allowed = mss.saturating_add((most * self.config.inflight_headroom) as i32);
        control.app_limited = allowed < self.cwnd;
        let grown = self.cwnd.saturating_add((increment + 0.5) as i32);
        if grown <= allowed && wants_more {
            if grown > self.cwnd {
                control.inflection_blocked = false;
            }
            self.cwnd = grown;
        }
        if let Some(limit) = control.policed {
            self.cwnd = self.cwnd.min(limit as i32);
        }
        if let Some(most) = self.config.max_total_rate {
            self.cwnd = self.cwnd.min((most * self.srtt / 8.0) as i32);
        }
        self.cwnd = self.cwnd.max(self.cwnd_min);
        (self.newly_acked, self.newly_acked_ce) = (0, 0);
    }

    /// What the window is worth, bit/s, before corrections.
    pub(super) fn window_rate(&self) -> f32 {
        8.0 * self.cwnd as f32 / (self.srtt + 0.001).clamp(0.001, 0.2)
    }

    /// A window of few packets is never full.
    pub(super) fn small_window(&self) -> f32 {
        1.0 - (self.control.cwnd_ratio - 0.1).clamp(0.0, 0.2)
    }

    /// Share of a packet that is payload.
    pub(super) fn payload_share(&self) -> f32 {
        let mss = self.packet_bytes() as f32;
        mss / (mss + OVERHEAD)
    }

    fn share_rate(&mut self, rate: f32) {
        let rate = self.config.max_total_rate.map_or(rate, |most| rate.min(most));
        let mut shares = [Share { priority: 0.0, most: 0.0, rate: 0.0, is_full: false }; STREAMS];
        let mut count = 0;
        for media in self.streams.iter().filter(|media| media.active) {
            shares[count].priority = media.about.priority;
            shares[count].most = media.about.max_rate;
            count += 1;
        }
        schedule::share(rate, &mut shares[..count]);
        let active = self.streams.iter_mut().filter(|media| media.active);
        for (media, share) in active.zip(&shares) {
            media.own.share = share.rate;
        }
    }
}
