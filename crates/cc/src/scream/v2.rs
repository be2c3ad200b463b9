//! SCReAM version 2: what it decides for packets that leave. What reports change is in [`feedback`] and
//! [`react`], the window in [`window`] and, by version, [`y2024`], [`y2026`] and [`draft`].
//!
//! State is in 32-bit floats and in ticks, and operations are in the order of the specification: with
//! `parity` the versions 2024-10-28 and 2026-06-30 give the original's numbers to the last bit.

mod control;
mod draft;
mod feedback;
mod frames;
mod payload;
mod react;
mod rules;
mod shared_bottleneck;
mod stream;
mod window;
mod y2024;
mod y2026;

use super::rates::Rates;
use super::transmitter::{Policy, Transmitter};
use super::{Config, Rtp, Snapshot, Stream, Ticks};
use control::Control;
use rules::Law;
use stream::Own;

/// RTP and UDP headers, bytes.
const OVERHEAD: f32 = 20.0;
/// First RTT, s and ticks.
const FIRST_RTT: f32 = 0.05;
const FIRST_RTT_TICKS: u32 = 3277;
/// What the clock shows at the start of a tool: times that never were are zero there.
const START: u32 = 65;
/// Least time between two periods of half the rate, and the least length of one, ticks.
const HALVING_INTERVAL: u32 = 60 * 65_536;
const HALVING_LEAST: u32 = 6_554;
/// Time after the last mark for which the queue counts as an L4S queue, ticks.
const L4S_ACTIVE: u32 = 5 * 65_535;
/// The window may be exceeded by this factor (2024).
const SEND_HEADROOM: f32 = 1.5;

/// A sender.
pub(super) type V2 = Transmitter<Control, Own>;

impl V2 {
    pub(super) fn new(config: Config, now: Ticks) -> Self {
        let never = Ticks(now.0.wrapping_sub(START));
        Self {
            srtt: FIRST_RTT,
            srtt_ticks: FIRST_RTT_TICKS,
            short_rtt: FIRST_RTT_TICKS,
            previous_short_rtt: FIRST_RTT_TICKS,
            last_congestion: never,
            last_cwnd: never,
            ..Self::with(Control::new(&config, now), config, now)
        }
    }

    fn sum_target(&self) -> f32 {
        self.sum(|media| media.target)
    }

    fn sum_max(&self) -> f32 {
        self.sum(|media| media.about.max_rate)
    }

    /// Something says congestion.
    fn is_congested(&self) -> bool {
        self.loss_event || self.ce_event || self.control.virtual_event
    }

    /// A standing queue is in all samples and is not seen: now and then half the rate lets
    /// it drain (EricssonResearch/scream c8f84c3 and 994f9a4, ScreamV2Tx.cpp, getTargetBitrate()).
    fn halves_rate(&mut self, now: Ticks) -> bool {
        let eighth = self.config.delay_target / 8.0;
        let control = &mut self.control;
        let is_standing = match control.rules.law {
            Law::Y2024 => !control.l4s_active || control.queue_delay_min_mean > eighth,
            Law::Y2026 => control.queue_delay_slow > eighth,
            Law::Draft => false,
        };
        if !is_standing {
            return false;
        }
        if now.since(control.last_halving) > HALVING_INTERVAL {
            control.last_halving = now;
        }
        if now.since(control.last_halving) < HALVING_LEAST.max(5 * self.srtt_ticks) {
            control.halving = true;
            return true;
        }
        if std::mem::take(&mut control.halving) {
            self.base.restart();
            control.queue_delay_slow = 0.0;
            self.queue_delay = 0.0;
        }
        false
    }

    fn send_window(&self) -> f32 {
        let cwnd = self.cwnd as f32;
        match self.control.rules.law {
            Law::Y2024 => cwnd * SEND_HEADROOM * self.control.large_frames,
            Law::Y2026 | Law::Draft => cwnd * self.control.window_headroom,
        }
    }
}

impl Policy<Own> for V2 {
    const IDLE_CREDIT_PACKETS: f32 = 10.0;
    const ORIGINAL_FLIGHT: usize = 1 << 12;

    fn own(&self, about: &Stream, _now: Ticks) -> Own {
        // The original forgets the first rate with the first packet.
        Own::new(if self.config.parity { about.min_rate } else { about.init_rate })
    }

    fn payload(&self) -> u32 {
        self.control.payload.bytes()
    }

    fn frame_begins(&mut self, now: Ticks) -> f32 {
        if let Some(least) = self.control.payload.choose(now, self.cwnd, self.srtt) {
            self.least_cwnd = least as i32;
        }
        if self.halves_rate(now) { 0.5 } else { 1.0 }
    }

    fn queued(&mut self, now: Ticks, stream: usize, rtp: &Rtp) {
        let control = &mut self.control;
        let media = &mut self.streams[stream];
        control.new_frame |= rtp.marker;
        media.queued(now, &control.rules, &self.config, rtp);
        // The base delay is old: an empty network would show a new one.
        let draining = now.since(control.last_base_refresh) < 2 * self.srtt_ticks
            && now.since(self.started) > 2 * self.srtt_ticks
            && !(control.rules.law == Law::Y2024 && control.l4s_active);
        if draining {
            media.empty_queue();
            return;
        }
        media.window.media = media.window.media.saturating_add(rtp.bytes);
        let next = media.queue.next_bytes().unwrap_or(0);
        self.saw_packet(next);
    }

    fn rate_window(&self) -> u32 {
        self.control.rules.rate_window
    }

    fn smooth_rates(&mut self, stream: usize, window: Rates) -> f32 {
        self.streams[stream].smooth_rates(window, self.control.rules.rate_weights)
    }

    fn allows(&self, flight: i32) -> bool {
        flight as f32 <= self.send_window() + self.packet_bytes() as f32
    }

    fn state(&self) -> Snapshot {
        let control = &self.control;
        Snapshot {
            queue_delay_mean: control.queue_delay_mean,
            cwnd_i: control.inflection as u32,
            alpha: self.alpha,
            loss_rate: control.loss_rate,
            ..Snapshot::default()
        }
    }
}
