//! SCReAM version 1: RFC 8298 and the tool of 2020-03-20 (EricssonResearch/scream f9deed2, ScreamTx.cpp).
//! A window that holds the queue delay near its target, and a rate per stream that follows what the
//! path carries and what waits in the RTP queue. Here is what it decides for packets that leave;
//! reports are in [`feedback`], the laws of the window and of the targets in [`rfc8298`] and
//! [`y2020`].

mod competing;
mod feedback;
mod history;
mod inflight;
mod means;
mod rfc8298;
mod stream;
mod trend;
mod y2020;

use super::rates::Rates;
use super::transmitter::{INIT_MSS, Policy, Transmitter};
use super::{Config, Rtp, Snapshot, Stream, Ticks, Version};
use competing::Competing;
use inflight::InFlight;
use stream::{Cues, Own};
use trend::Trend;

/// Window of the rates, ticks: the longer one below this rate, bit/s.
const RATE_WINDOW: u32 = 3277;
const LONG_RATE_WINDOW: u32 = 6553;
const LOW_RATE: f32 = 50e3;
/// Time between updates of the window in 2020, ticks: 10 ms.
const WINDOW_INTERVAL: u32 = 655;
/// Seconds of the history of bytes in flight: RFC 8298, and the tool.
const HISTORY: usize = 5;
const HISTORY_2020: usize = 20;
/// Time without feedback after which targets stay, ticks.
const FEEDBACK: u32 = 32_768;
/// Trend from which streams give way, and what that leaves of their targets.
const YIELD_TREND: f32 = 0.02;
const YIELD: f32 = 0.9;
/// Least window without one, bytes.
const OPEN_WINDOW: i32 = 10_000_000;

/// Whose formulas hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    Rfc8298,
    Y2020,
}

/// A sender.
pub(super) type V1 = Transmitter<Control, Own>;

/// State of the control loop.
#[derive(Debug)]
pub(super) struct Control {
    law: Law,
    /// Least of the last 50 ms, and the standing part, s.
    delay_min: f32,
    delay_min_mean: f32,
    last_base: Ticks,
    trend: Trend,
    competing: Competing,
    flights: InFlight,
    /// The window grows by what is acknowledged.
    fast_increase: bool,
    window_interval: u32,
}

impl V1 {
    pub(super) fn new(config: Config, now: Ticks) -> Self {
        let (law, history, window_interval) = match config.version {
            Version::Rfc8298 => (Law::Rfc8298, HISTORY, 0),
            _ => (Law::Y2020, HISTORY_2020, WINDOW_INTERVAL),
        };
        let control = Control {
            law,
            delay_min: f32::INFINITY,
            delay_min_mean: 0.0,
            last_base: now,
            trend: Trend::new(now),
            competing: Competing::new(now),
            flights: InFlight::new(history),
            fast_increase: true,
            window_interval,
        };
        let mut sender = Self::with(control, config, now);
        if sender.config.open_window {
            sender.least_cwnd = sender.least_cwnd.max(OPEN_WINDOW);
        }
        sender
    }

    /// All targets together stay below the greatest rate.
    fn bound_targets(&mut self) {
        let Some(most) = self.config.max_total_rate else { return };
        let sum = self.sum(|media| media.target);
        if sum > most {
            for media in &mut self.streams {
                media.target *= most / sum;
                media.bound_target();
            }
        }
    }

    /// With congestion ahead, streams that want more than they make and leave fewer of their turns
    /// unused than others give way (EricssonResearch/scream f9deed2, ScreamTx.cpp).
    fn adjust_priorities(&mut self) {
        let active = self.streams.iter().filter(|media| media.active).count();
        let mean = self.sum(|media| media.turn.lost) / active.max(1) as f32;
        let applies = active >= 2 && self.control.trend.now > YIELD_TREND;
        for media in &mut self.streams {
            let lost = std::mem::take(&mut media.turn.lost);
            if applies && media.active && lost < mean && media.target > media.rates.media {
                media.target *= YIELD;
                media.bound_target();
            }
        }
    }
}

impl Policy<Own> for V1 {
    const IDLE_CREDIT_PACKETS: f32 = 2.0;
    const ORIGINAL_FLIGHT: usize = 1 << 11;

    fn own(&self, _about: &Stream, now: Ticks) -> Own {
        Own::new(now)
    }

    fn payload(&self) -> u32 {
        self.config.mtus.last().copied().unwrap_or(1200)
    }

    fn queued(&mut self, now: Ticks, stream: usize, rtp: &Rtp) {
        let control = &self.control;
        let cues = Cues {
            fast_increase: control.fast_increase,
            trend: control.trend.now,
            lasting_trend: control.trend.lasting,
            alpha: self.alpha,
            competes: self.delay_target > self.config.delay_target,
        };
        let has_feedback = now.since(self.last_cwnd) < FEEDBACK;
        let media = &mut self.streams[stream];
        media.queued(rtp, self.config.parity);
        if has_feedback {
            media.update_target(now, control.law, &self.config, cues);
        }
        media.bound_target();
        let next = media.queue.next_bytes().unwrap_or(0);
        self.bound_targets();
        self.saw_packet(next);
    }

    fn rate_window(&self) -> u32 {
        let acked = self.sum(|media| media.rates.acked);
        if acked < LOW_RATE { LONG_RATE_WINDOW } else { RATE_WINDOW }
    }

    fn smooth_rates(&mut self, stream: usize, window: Rates) -> f32 {
        let media = &mut self.streams[stream];
        media.rates = media.own.means.add(window);
        media.rates.sent
    }

    fn second_passed(&mut self) {
        if self.config.parity {
            // The original forgets the largest packet every second.
            self.previous_mss = INIT_MSS;
        }
        self.control.flights.step();
        self.adjust_priorities();
    }

    fn allows(&self, flight: i32) -> bool {
        let slack = if self.queue_delay < self.delay_target { self.packet_bytes() } else { 0 };
        flight <= self.cwnd.saturating_add(slack)
    }

    fn departed(&mut self) {
        self.control.flights.see(self.in_flight);
    }

    fn state(&self) -> Snapshot {
        Snapshot {
            queue_delay_mean: self.control.trend.fraction * self.delay_target,
            alpha: if self.config.l4s { self.alpha } else { 0.0 },
            ..Snapshot::default()
        }
    }
}

#[cfg(test)]
mod tests;
