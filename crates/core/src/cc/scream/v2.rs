//! SCReAM version 2: the sender's side of packets. What reports change is in [`feedback`] and
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

use super::delay::BaseDelay;
use super::stats::{Sample, Stats};
use super::ticks::seconds;
use super::{Config, Departure, Permit, Rtp, STREAMS, Snapshot, Stream, StreamRates, Summary};
use super::{Ticks, schedule};
use control::Control;
use payload::Payload;
use rules::{Law, Rules};
use stream::Media;

/// Least size that counts as a packet's, bytes.
const INIT_MSS: i32 = 100;
/// Largest packet of a UDP socket, bytes.
const MAX_PACKET: u32 = 65_535;
/// RTP and UDP headers, bytes.
const OVERHEAD: f32 = 20.0;
/// How long the largest packet is remembered at least, ticks.
const MSS_UPDATE: u32 = 65_536;
/// Without a packet for so long everything in flight is forgotten, ticks.
const TIMEOUT: u32 = 32_768;
/// At most one time of half the rate in this time, and its least length, ticks.
const HALVING_INTERVAL: u32 = 60 * 65_536;
const HALVING_LEAST: u32 = 6_554;
/// After the last mark the queue is an L4S queue for so long, ticks.
const L4S_ACTIVE: u32 = 5 * 65_535;
/// Nine hours, ticks.
const LONG_AGO: u32 = 1 << 31;
/// Packets of credit that a stream without media keeps, at most.
const IDLE_CREDIT_PACKETS: f32 = 10.0;
/// The window may be exceeded by this factor (2024).
const SEND_HEADROOM: f32 = 1.5;

/// A sender.
#[derive(Debug)]
pub(super) struct V2 {
    config: Config,
    rules: Rules,
    streams: Vec<Media>,
    started: Ticks,
    /// Smoothed RTT, s and ticks; short one, and that one before.
    srtt: f32,
    srtt_ticks: u32,
    short_rtt: u32,
    previous_short_rtt: u32,
    last_srtt: Ticks,
    measured_rtt: bool,
    base: BaseDelay,
    /// Of the last packet acknowledged, s.
    queue_delay: f32,
    /// Bytes.
    in_flight: i32,
    /// Greatest since the driver last asked.
    in_flight_peak: i32,
    /// Largest packet of this second and of the one before, bytes.
    mss: i32,
    previous_mss: i32,
    last_mss: Ticks,
    cwnd: i32,
    /// Bound that is configured, and the one that holds.
    least_cwnd: i32,
    cwnd_min: i32,
    payload: Payload,
    /// Time between packets, s.
    pace: f32,
    next_transmit: Ticks,
    last_transmit: Ticks,
    last_rates: Ticks,
    /// A frame was completed since the window was last updated.
    new_frame: bool,
    last_halving: Ticks,
    halving: bool,
    last_low_queue: Ticks,
    last_base_refresh: Ticks,
    /// When the packet left that was acknowledged last.
    acked_sent: Ticks,
    control: Control,
    stats: Stats,
    /// Bytes acknowledged since the log's last line, and those with CE.
    logged: (u32, u32),
}

impl V2 {
    pub(super) fn new(config: Config, now: Ticks) -> Self {
        let bytes = |bytes: u32| bytes.min(i32::MAX as u32) as i32;
        Self {
            rules: Rules::of(config.version),
            streams: Vec::with_capacity(STREAMS),
            started: now,
            srtt: 0.05,
            srtt_ticks: 3277,
            short_rtt: 3277,
            previous_short_rtt: 3277,
            last_srtt: now,
            measured_rtt: false,
            base: BaseDelay::new(now, config.clock_drift),
            queue_delay: 0.0,
            in_flight: 0,
            in_flight_peak: 0,
            mss: INIT_MSS,
            previous_mss: INIT_MSS,
            last_mss: now,
            cwnd: bytes(config.initial_cwnd),
            least_cwnd: bytes(config.least_cwnd),
            cwnd_min: 2 * INIT_MSS,
            payload: Payload::new(&config, now),
            pace: 0.0,
            next_transmit: now,
            last_transmit: now,
            last_rates: now,
            new_frame: false,
            last_halving: now,
            halving: false,
            last_low_queue: now,
            last_base_refresh: Ticks(now.0.wrapping_sub(if config.parity { 1 } else { LONG_AGO })),
            acked_sent: now,
            control: Control::new(&config, now),
            stats: Stats::new(now),
            logged: (0, 0),
            config,
        }
    }

    pub(super) fn add_stream(&mut self, now: Ticks, stream: Stream) -> Option<usize> {
        if self.streams.len() == STREAMS {
            return None;
        }
        self.streams.push(Media::new(stream, &self.config, now));
        Some(self.streams.len() - 1)
    }

    /// Largest packet of the last seconds, bytes.
    fn packet_bytes(&self) -> i32 {
        self.mss.max(self.previous_mss)
    }

    fn sum_target(&self) -> f32 {
        self.streams.iter().map(|media| media.target).sum()
    }

    fn sum_max(&self) -> f32 {
        self.streams.iter().map(|media| media.about.max_rate).sum()
    }

    pub(super) fn target(&mut self, now: Ticks, stream: usize) -> Option<f32> {
        if let Some(least) = self.payload.choose(now, self.cwnd, self.srtt) {
            self.least_cwnd = least as i32;
        }
        let scale = if self.halves_rate(now) { 0.5 } else { 1.0 };
        let media = self.streams.get_mut(stream)?;
        let target = media.next_target(self.config.parity)? * scale;
        let Stream { min_rate, max_rate, .. } = media.about;
        Some(if self.config.parity { target } else { target.max(min_rate).min(max_rate) })
    }

    pub(super) fn payload(&self) -> u32 {
        self.payload.bytes()
    }

    /// A queue that always stands is in all samples and is not seen: now and then half the rate lets
    /// it drain (`scream.md` 4.4.12).
    fn halves_rate(&mut self, now: Ticks) -> bool {
        let eighth = self.config.delay_target / 8.0;
        let control = &self.control;
        let stands = match self.rules.law {
            Law::Y2024 => !control.l4s_active || control.queue_delay_min_mean > eighth,
            Law::Y2026 => control.queue_delay_slow > eighth,
            Law::Draft => false,
        };
        if !stands {
            return false;
        }
        if now.since(self.last_halving) > HALVING_INTERVAL {
            self.last_halving = now;
        }
        if now.since(self.last_halving) < HALVING_LEAST.max(5 * self.srtt_ticks) {
            self.halving = true;
            return true;
        }
        if std::mem::take(&mut self.halving) {
            self.base.restart();
            self.control.queue_delay_slow = 0.0;
            self.queue_delay = 0.0;
        }
        false
    }

    pub(super) fn push(&mut self, now: Ticks, stream: usize, rtp: Rtp) -> bool {
        let Some(media) = self.streams.get_mut(stream) else { return false };
        if rtp.bytes > MAX_PACKET || !media.queue.push(rtp) {
            return false;
        }
        self.new_frame |= rtp.marker;
        media.queued(now, &self.rules, &self.config, &rtp);
        // The base delay is old: an empty network would show a new one.
        let draining = now.since(self.last_base_refresh) < 2 * self.srtt_ticks
            && now.since(self.started) > 2 * self.srtt_ticks
            && !(self.rules.law == Law::Y2024 && self.control.l4s_active);
        if draining {
            media.drain();
            return true;
        }
        media.rates.window.media = media.rates.window.media.saturating_add(rtp.bytes);
        let next = media.queue.next_bytes().unwrap_or(0);
        self.saw_packet(next);
        true
    }

    fn saw_packet(&mut self, bytes: u32) {
        self.mss = self.mss.max(bytes as i32);
        self.raise_floor(2);
    }

    fn raise_floor(&mut self, packets: i32) {
        self.cwnd_min = self.least_cwnd.max(packets * self.packet_bytes());
        self.cwnd = self.cwnd.max(self.cwnd_min);
    }

    pub(super) fn may_transmit(&mut self, now: Ticks) -> Permit {
        if now.since(self.last_rates) > self.rules.rate_window {
            self.close_windows(now);
        }
        let waiting = self.streams.iter().enumerate().filter(|(_, media)| !media.queue.is_empty());
        let waiting = waiting.map(|(index, media)| (index, media.turn, media.about.priority));
        let stream = schedule::next(now, waiting);
        if now.since(self.last_mss) > MSS_UPDATE {
            self.last_mss = now;
            self.previous_mss = self.mss;
            self.mss = INIT_MSS;
            self.raise_floor(3);
            self.base.drifts();
        }
        let Some(stream) = stream else { return Permit::No };
        if now.since(self.last_transmit) > TIMEOUT {
            self.streams.iter_mut().for_each(|media| media.flight.clear());
            self.in_flight = 0;
            return Permit::Send { stream, after: 0.0 };
        }
        let next = self.streams[stream].queue.next_bytes().unwrap_or(0) as i32;
        let flight = self.in_flight.saturating_add(next);
        if !self.config.open_window
            && flight as f32 > self.send_window() + self.packet_bytes() as f32
        {
            return Permit::No;
        }
        let wait = (self.next_transmit.0.wrapping_sub(now.0) as i32).max(0);
        let after = if self.config.pacing { seconds(wait as u32) } else { 0.0 };
        Permit::Send { stream, after }
    }

    fn close_windows(&mut self, now: Ticks) {
        self.last_rates = now;
        let (mut sent, mut lost, mut ce) = (0.0, 0.0, 0.0);
        for media in &mut self.streams {
            media.close_window(now, self.rules.rate_weights);
            sent += media.rates.last.sent;
            lost += media.rates.last.lost;
            ce += media.rates.last.ce;
        }
        let (rtt, queue_delay) = (self.srtt, self.queue_delay);
        self.stats.sample(now, Sample { sent, lost, ce, rtt, queue_delay });
    }

    fn send_window(&self) -> f32 {
        let cwnd = self.cwnd as f32;
        match self.rules.law {
            Law::Y2024 => cwnd * SEND_HEADROOM * self.control.large_frames,
            Law::Y2026 | Law::Draft => cwnd * self.control.window_headroom,
        }
    }

    pub(super) fn transmit(&mut self, now: Ticks, stream: usize) -> Option<Departure> {
        let media = self.streams.get_mut(stream)?;
        let queue_delay = media.queue.delay(now);
        let packet = media.queue.pop()?;
        let bytes = packet.bytes;
        let pushed_out = media.flight.insert(now, &packet, queue_delay);
        media.turn.served(now, bytes);
        media.rates.window.sent = media.rates.window.sent.saturating_add(bytes);
        let priority = media.about.priority;
        let idle_credit = IDLE_CREDIT_PACKETS * self.packet_bytes() as f32;
        for (_, media) in self.streams.iter_mut().enumerate().filter(|&(index, _)| index != stream)
        {
            let idle = media.queue.is_empty().then_some(idle_credit);
            media.turn.waited(bytes, media.about.priority, priority, idle);
        }
        let flight = (self.in_flight - pushed_out as i32).max(0);
        self.in_flight = flight.saturating_add(bytes as i32);
        self.in_flight_peak = self.in_flight_peak.max(self.in_flight);
        self.last_transmit = now;
        self.saw_packet(bytes);
        let pace = if self.config.pacing { self.pace } else { 0.0 };
        self.next_transmit = Ticks(now.0.wrapping_add((pace * 65_536.0) as u32));
        Some(Departure { packet, queue_delay, pace })
    }

    pub(super) fn take_discarded(&mut self) -> Option<u64> {
        self.streams.iter_mut().find_map(|media| media.queue.take_discarded())
    }

    pub(super) fn take_loss_epoch(&mut self, stream: usize) -> bool {
        self.streams.get_mut(stream).is_some_and(Media::take_loss_epoch)
    }

    pub(super) fn stream_mut(&mut self, stream: usize) -> Option<&mut Stream> {
        self.streams.get_mut(stream).map(|media| &mut media.about)
    }

    pub(super) fn set_max_total_rate(&mut self, rate: Option<f32>) {
        self.config.max_total_rate = rate;
    }

    pub(super) fn take_max_in_flight(&mut self) -> u32 {
        std::mem::replace(&mut self.in_flight_peak, self.in_flight) as u32
    }

    pub(super) fn summary(&self) -> Summary {
        self.stats.summary(self.payload())
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let control = &self.control;
        let rates = |rate: fn(&Media) -> f32| self.streams.iter().map(rate).sum();
        Snapshot {
            queue_delay: self.queue_delay,
            queue_delay_mean: control.queue_delay_mean,
            delay_target: control.delay_target,
            srtt: self.srtt,
            cwnd: self.cwnd as u32,
            cwnd_i: control.inflection as u32,
            in_flight: self.in_flight as u32,
            max_in_flight: self.in_flight_peak as u32,
            mss: self.packet_bytes() as u32,
            pace: self.pace,
            alpha: control.alpha,
            loss_rate: control.loss_rate,
            rates: StreamRates {
                target: self.sum_target(),
                media: rates(|media| media.rates.media_mean),
                sent: rates(|media| media.rates.sent_mean),
                acked: rates(|media| media.rates.last.acked),
                lost: rates(|media| media.rates.last.lost),
                ce: rates(|media| media.rates.last.ce),
            },
        }
    }

    pub(super) fn stream_snapshot(
        &self,
        now: Ticks,
        stream: usize,
    ) -> Option<super::StreamSnapshot> {
        let media = self.streams.get(stream)?;
        let rates = &media.rates;
        Some(super::StreamSnapshot {
            queue_packets: media.queue.len() as u32,
            queue_bytes: media.queue.bytes(),
            queue_delay: media.queue.delay(now),
            packets_lost: media.packets_lost,
            packets_discarded: media.packets_discarded,
            rates: StreamRates {
                target: media.steady_target,
                media: rates.media_mean,
                sent: rates.sent_mean,
                acked: rates.last.acked,
                lost: rates.last.lost,
                ce: rates.last.ce,
            },
        })
    }
}
