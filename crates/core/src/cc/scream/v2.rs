//! SCReAM version 2.

mod control;
mod feedback;
mod frames;
mod rules;
mod stream;
mod window;

use super::delay::BaseDelay;
use super::ticks::seconds;
use super::{Config, Departure, Permit, Rtp, STREAMS, Stream, Ticks};
use control::Control;
use rules::{Law, Rules};
use stream::Media;

/// Least sizes that count as a packet's, bytes.
const INIT_MSS: i32 = 100;
/// RTP and UDP headers, bytes.
const OVERHEAD: f32 = 20.0;
const MSS_UPDATE: u32 = 65_536;
/// Without a packet for so long everything in flight is forgotten, ticks.
const TIMEOUT: u32 = 32_768;
const RATE_LIMIT_INTERVAL: u32 = 60 * 65_536;
const RATE_LIMIT_LEAST: u32 = 6_554;

/// A sender.
#[derive(Debug)]
pub(super) struct V2 {
    pub(super) config: Config,
    rules: Rules,
    pub(super) streams: Vec<Media>,
    started: Ticks,
    /// Smoothed RTT, s and ticks; short one, and that one before.
    pub(super) srtt: f32,
    srtt_ticks: u32,
    short_rtt: u32,
    previous_short_rtt: u32,
    last_srtt: Ticks,
    base: BaseDelay,
    /// s.
    pub(super) queue_delay: f32,
    pub(super) in_flight: i32,
    /// Greatest since the log last asked.
    pub(super) in_flight_peak: i32,
    mss: i32,
    previous_mss: i32,
    last_mss: Ticks,
    pub(super) cwnd: i32,
    least_cwnd: i32,
    cwnd_min: i32,
    /// Time between packets, s.
    pace: f32,
    next_transmit: Ticks,
    last_transmit: Ticks,
    last_rates: Ticks,
    new_frame: bool,
    last_rate_limit: Ticks,
    limited: bool,
    last_low_queue: Ticks,
    last_base_refresh: Ticks,
    last_acked_sent: Ticks,
    pub(super) control: Control,
    pub(super) log: feedback::Log,
}

impl V2 {
    pub(super) fn new(config: Config, now: Ticks) -> Self {
        let rules = Rules::of(config.version);
        let cwnd = config.initial_cwnd as i32;
        let least = config.least_cwnd as i32;
        Self {
            rules,
            streams: Vec::with_capacity(STREAMS),
            started: now,
            srtt: 0.05,
            srtt_ticks: 3277,
            short_rtt: 3277,
            previous_short_rtt: 3277,
            last_srtt: now,
            base: BaseDelay::new(now, config.clock_drift),
            queue_delay: 0.0,
            in_flight: 0,
            in_flight_peak: 0,
            mss: INIT_MSS,
            previous_mss: INIT_MSS,
            last_mss: now,
            cwnd,
            least_cwnd: least,
            cwnd_min: 2 * INIT_MSS,
            pace: 0.0,
            next_transmit: now,
            last_transmit: now,
            last_rates: now,
            new_frame: false,
            last_rate_limit: now,
            limited: false,
            last_low_queue: now,
            last_base_refresh: Ticks(now.0.wrapping_sub(1)),
            last_acked_sent: now,
            control: Control::new(&config, now),
            log: feedback::Log::default(),
            config,
        }
    }

    pub(super) fn add_stream(&mut self, stream: Stream, now: Ticks) -> Option<usize> {
        if self.streams.len() == STREAMS {
            return None;
        }
        self.streams.push(Media::new(stream, &self.rules, &self.config, now));
        Some(self.streams.len() - 1)
    }

    /// Largest packet of the last seconds, bytes.
    fn mss_eff(&self) -> i32 {
        self.mss.max(self.previous_mss)
    }

    pub(super) fn target(&mut self, now: Ticks, stream: usize) -> Option<f32> {
        let target = self.streams[stream].next_target();
        let scale = if self.limits_rate(now) { 0.5 } else { 1.0 };
        target.map(|target| target * scale)
    }

    /// A standing queue is not seen, since it is in all samples: now and then a low rate lets it
    /// drain (`scream.md` 4.4.12).
    fn limits_rate(&mut self, now: Ticks) -> bool {
        let stands = match self.rules.law {
            Law::Y2024 => {
                !self.control.l4s_active
                    || self.control.queue_delay_min_mean > self.config.delay_target / 8.0
            }
            Law::Y2026 => self.control.queue_delay_slow > self.config.delay_target / 8.0,
        };
        if !stands {
            return false;
        }
        if now.since(self.last_rate_limit) > RATE_LIMIT_INTERVAL {
            self.last_rate_limit = now;
            self.limited = true;
        }
        let duration = RATE_LIMIT_LEAST.max(5 * self.srtt_ticks);
        if now.since(self.last_rate_limit) < duration {
            self.limited = true;
            return self.rules.law == Law::Y2024 || self.last_rate_limit != self.started;
        }
        if std::mem::take(&mut self.limited) {
            self.forget_base();
        }
        false
    }

    fn forget_base(&mut self) {
        self.base.restart();
        self.control.queue_delay_slow = 0.0;
        self.queue_delay = 0.0;
    }

    /// Whether L4S marks were seen lately.
    fn saw_l4s_lately(&self, now: Ticks) -> bool {
        self.config.l4s
            && self.control.last_ce != Ticks(0)
            && now.since(self.control.last_ce) < 5 * 65_535
    }

    pub(super) fn push(&mut self, now: Ticks, stream: usize, rtp: Rtp) -> bool {
        let media = &mut self.streams[stream];
        if !media.queue.push(rtp) {
            return false;
        }
        self.new_frame |= rtp.marker;
        media.queued(now, &self.rules, &self.config, &rtp);
        let draining = now.since(self.last_base_refresh) < 2 * self.srtt_ticks
            && now.0 > 2 * self.srtt_ticks
            && !(self.rules.law == Law::Y2024 && self.control.l4s_active);
        let media = &mut self.streams[stream];
        if draining {
            media.drain();
            return true;
        }
        media.rates.window.media = media.rates.window.media.saturating_add(rtp.bytes);
        let next = media.queue.next_bytes().unwrap_or(0);
        self.saw_size(next);
        true
    }

    fn saw_size(&mut self, bytes: u32) {
        self.mss = self.mss.max(bytes as i32);
        self.raise_floor(2);
    }

    fn raise_floor(&mut self, packets: i32) {
        self.cwnd_min = self.least_cwnd.max(packets * self.mss_eff());
        self.cwnd = self.cwnd.max(self.cwnd_min);
    }

    pub(super) fn may_transmit(&mut self, now: Ticks) -> Permit {
        if now.since(self.last_rates) > self.rules.rate_window {
            self.last_rates = now;
            for media in &mut self.streams {
                media.close_window(now, self.rules.rate_memory);
            }
        }
        let stream = self.next_stream(now);
        if now.since(self.last_mss) > MSS_UPDATE {
            self.last_mss = now;
            self.previous_mss = self.mss;
            self.mss = INIT_MSS;
            self.raise_floor(3);
            self.base.drifts();
        }
        let Some(stream) = stream else { return Permit::No };
        let bytes = self.streams[stream].queue.next_bytes().unwrap_or(0) as i32;
        if now.since(self.last_transmit) > TIMEOUT {
            self.streams.iter_mut().for_each(|media| media.flight.clear());
            self.in_flight = 0;
            return Permit::Send { stream, after: 0.0 };
        }
        if !self.config.open_window
            && (self.in_flight + bytes) as f32 > self.send_window() + self.mss_eff() as f32
        {
            return Permit::No;
        }
        let wait = (self.next_transmit.0.wrapping_sub(now.0) as i32).max(0);
        let after = if self.config.pacing { seconds(wait as u32) } else { 0.0 };
        Permit::Send { stream, after }
    }

    fn send_window(&self) -> f32 {
        let cwnd = self.cwnd as f32;
        match self.rules.law {
            Law::Y2024 => cwnd * 1.5 * self.control.large_frames,
            Law::Y2026 => cwnd * self.control.window_headroom,
        }
    }

    /// Whose turn it is.
    fn next_stream(&self, _now: Ticks) -> Option<usize> {
        self.streams.iter().position(|media| !media.queue.is_empty())
    }

    pub(super) fn transmit(&mut self, now: Ticks, stream: usize) -> Option<Departure> {
        let media = &mut self.streams[stream];
        let queue_delay = media.queue.delay(now);
        let packet = media.queue.pop()?;
        let forgotten = media.flight.insert(now, &packet, queue_delay);
        media.last_sent = now;
        media.rates.window.sent = media.rates.window.sent.saturating_add(packet.bytes);
        self.in_flight = (self.in_flight - forgotten as i32).max(0) + packet.bytes as i32;
        self.in_flight_peak = self.in_flight_peak.max(self.in_flight);
        self.last_transmit = now;
        self.saw_size(packet.bytes);
        let pace = if self.config.pacing { self.pace } else { 0.0 };
        self.next_transmit = Ticks(now.0.wrapping_add((pace * 65536.0) as u32));
        Some(Departure { packet, queue_delay, pace })
    }

    pub(super) fn take_discarded(&mut self) -> Option<u64> {
        self.streams.iter_mut().find_map(|media| media.queue.take_discarded())
    }
}
