//! SCReAM version 1: RFC 8298 and the tool of 2020-03-20 (`scream.md` 5.1, 5.2). A window that holds the
//! queue delay near its target, and a rate per stream that follows what the path carries and what waits
//! in the RTP queue. Here is the sender's side of packets; reports are in [`feedback`], the laws of the
//! window and of the targets in [`rfc8298`] and [`y2020`].

mod competing;
mod feedback;
mod inflight;
mod means;
mod rfc8298;
mod stream;
mod trend;
mod y2020;

use super::delay::BaseDelay;
use super::stats::{Sample, Stats};
use super::ticks::seconds;
use super::{Config, Departure, Permit, Rtp, STREAMS, Snapshot, Stream, StreamRates};
use super::{StreamSnapshot, Summary, Ticks, Version, schedule};
use competing::Competing;
use inflight::InFlight;
use stream::{Cues, Media};
use trend::Trend;

/// Least size that counts as a packet's, bytes.
const INIT_MSS: i32 = 100;
/// Largest packet of a UDP socket, bytes.
const MAX_PACKET: u32 = 65_535;
/// How long the largest packet is remembered at least, ticks.
const MSS_UPDATE: u32 = 65_536;
/// Without a packet for so long everything in flight is forgotten, ticks.
const TIMEOUT: u32 = 32_768;
/// Window of the rates, ticks: the longer one below this rate, bit/s.
const RATE_WINDOW: u32 = 3277;
const LONG_RATE_WINDOW: u32 = 6553;
const LOW_RATE: f32 = 50e3;
/// Time between updates of the window in 2020, ticks: 10 ms.
const WINDOW_INTERVAL: u32 = 655;
/// Seconds of the history of bytes in flight: RFC 8298, and the tool.
const HISTORY: usize = 5;
const HISTORY_2020: usize = 20;
/// Without feedback for so long targets stay, ticks.
const FEEDBACK: u32 = 32_768;
/// Packets of credit that a stream without media keeps, at most.
const IDLE_CREDIT_PACKETS: f32 = 2.0;
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
#[derive(Debug)]
pub(super) struct V1 {
    config: Config,
    law: Law,
    streams: Vec<Media>,
    started: Ticks,
    /// Smoothed RTT, s and ticks, and a short one.
    srtt: f32,
    srtt_ticks: u32,
    short_rtt: u32,
    last_srtt: Ticks,
    measured_rtt: bool,
    base: BaseDelay,
    /// Of the last packet acknowledged, s, and its target.
    queue_delay: f32,
    delay_target: f32,
    /// Least of the last 50 ms, and what always stands, s.
    delay_min: f32,
    delay_min_mean: f32,
    last_base: Ticks,
    trend: Trend,
    competing: Competing,
    /// Bytes.
    in_flight: i32,
    /// Greatest since the driver last asked.
    in_flight_peak: i32,
    flights: InFlight,
    /// Largest packet of this second and of the one before, bytes.
    mss: i32,
    previous_mss: i32,
    last_second: Ticks,
    cwnd: i32,
    cwnd_min: i32,
    /// The window grows by what is acknowledged.
    fast_increase: bool,
    last_congestion: Ticks,
    last_cwnd: Ticks,
    window_interval: u32,
    /// Time between packets, s.
    pace: f32,
    next_transmit: Ticks,
    last_transmit: Ticks,
    last_rates: Ticks,
    /// When the packet left that was acknowledged last.
    acked_sent: Ticks,
    /// Bytes since the window was last updated.
    newly_acked: i32,
    newly_acked_ce: i32,
    /// Bytes since alpha was last updated.
    delivered: u32,
    marked: u32,
    alpha: f32,
    last_alpha: Ticks,
    ce_heard: bool,
    loss_event: bool,
    ce_event: bool,
    last_event: Ticks,
    stats: Stats,
    /// Bytes acknowledged since the log's last line, and those with CE.
    logged: (u32, u32),
}

impl V1 {
    pub(super) fn new(config: Config, now: Ticks) -> Self {
        let bytes = |bytes: u32| bytes.min(i32::MAX as u32) as i32;
        let (law, history, window_interval) = match config.version {
            Version::Rfc8298 => (Law::Rfc8298, HISTORY, 0),
            _ => (Law::Y2020, HISTORY_2020, WINDOW_INTERVAL),
        };
        Self {
            law,
            streams: Vec::with_capacity(STREAMS),
            started: now,
            srtt: 0.0,
            srtt_ticks: 0,
            short_rtt: 0,
            last_srtt: now,
            measured_rtt: false,
            base: BaseDelay::new(now, false),
            queue_delay: 0.0,
            delay_target: config.delay_target,
            delay_min: f32::INFINITY,
            delay_min_mean: 0.0,
            last_base: now,
            trend: Trend::new(now),
            competing: Competing::new(now),
            in_flight: 0,
            in_flight_peak: 0,
            flights: InFlight::new(history),
            mss: INIT_MSS,
            previous_mss: INIT_MSS,
            last_second: now,
            cwnd: bytes(config.initial_cwnd),
            cwnd_min: bytes(config.least_cwnd),
            fast_increase: true,
            last_congestion: now,
            last_cwnd: now,
            window_interval,
            pace: 0.0,
            next_transmit: now,
            last_transmit: now,
            last_rates: now,
            acked_sent: now,
            newly_acked: 0,
            newly_acked_ce: 0,
            delivered: 0,
            marked: 0,
            alpha: 0.1,
            last_alpha: now,
            ce_heard: false,
            loss_event: false,
            ce_event: false,
            last_event: now,
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

    /// Largest packet of the last seconds, bytes; the original forgets it every second.
    fn packet_bytes(&self) -> i32 {
        if self.config.parity { self.mss } else { self.mss.max(self.previous_mss) }
    }

    fn bound_window(&mut self, packets: i32) {
        let least = self.config.least_cwnd.min(i32::MAX as u32) as i32;
        let open = if self.config.open_window { OPEN_WINDOW } else { 0 };
        self.cwnd_min = least.max(packets * self.packet_bytes()).max(open);
        self.cwnd = self.cwnd.max(self.cwnd_min);
    }

    fn saw_packet(&mut self, bytes: u32) {
        self.mss = self.mss.max(bytes as i32);
        self.bound_window(2);
    }

    pub(super) fn target(&mut self, _now: Ticks, stream: usize) -> Option<f32> {
        let media = self.streams.get_mut(stream)?;
        let target = media.next_target(self.config.parity)?;
        // The original bounds it with the next packet.
        let (min, max) = (media.about.min_rate, media.about.max_rate);
        Some(if self.config.parity { target } else { target.max(min).min(max) })
    }

    pub(super) fn payload(&self) -> u32 {
        self.config.mtus.last().copied().unwrap_or(1200)
    }

    pub(super) fn push(&mut self, now: Ticks, stream: usize, rtp: Rtp) -> bool {
        let cues = Cues {
            fast_increase: self.fast_increase,
            trend: self.trend.now,
            lasting_trend: self.trend.lasting,
            alpha: self.alpha,
            competes: self.delay_target > self.config.delay_target,
        };
        let has_feedback = now.since(self.last_cwnd) < FEEDBACK;
        let Some(media) = self.streams.get_mut(stream) else { return false };
        if rtp.bytes > MAX_PACKET || !media.queue.push(rtp) {
            return false;
        }
        media.queued(&rtp, self.config.parity);
        if has_feedback {
            media.update_target(now, self.law, &self.config, cues);
        }
        media.bound_target();
        let next = media.queue.next_bytes().unwrap_or(0);
        self.bound_targets();
        self.saw_packet(next);
        true
    }

    /// All targets together stay below the greatest rate.
    fn bound_targets(&mut self) {
        let Some(most) = self.config.max_total_rate else { return };
        let sum: f32 = self.streams.iter().map(|media| media.target).sum();
        if sum > most {
            for media in &mut self.streams {
                media.target *= most / sum;
                media.bound_target();
            }
        }
    }

    pub(super) fn may_transmit(&mut self, now: Ticks) -> Permit {
        let acked: f32 = self.streams.iter().map(|media| media.rates.mean.acked).sum();
        let window = if acked < LOW_RATE { LONG_RATE_WINDOW } else { RATE_WINDOW };
        if now.since(self.last_rates) > window {
            self.close_windows(now);
        }
        let waiting = self.streams.iter().enumerate().filter(|(_, media)| !media.queue.is_empty());
        let waiting = waiting.map(|(index, media)| (index, media.turn, media.about.priority));
        let stream = schedule::next(now, waiting);
        if now.since(self.last_second) > MSS_UPDATE {
            self.last_second = now;
            self.previous_mss = self.mss;
            self.mss = INIT_MSS;
            self.bound_window(3);
            self.flights.step();
            self.adjust_priorities();
        }
        let Some(stream) = stream else { return Permit::No };
        if now.since(self.last_transmit) > TIMEOUT {
            self.streams.iter_mut().for_each(|media| media.flight.clear());
            self.in_flight = 0;
            return Permit::Send { stream, after: 0.0 };
        }
        let next = self.streams[stream].queue.next_bytes().unwrap_or(0) as i32;
        let slack = if self.queue_delay < self.delay_target { self.packet_bytes() } else { 0 };
        let flight = self.in_flight.saturating_add(next);
        if !self.config.open_window && flight > self.cwnd.saturating_add(slack) {
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
            media.rates.close(now);
            sent += media.rates.mean.sent;
            lost += media.rates.mean.lost;
            ce += media.rates.mean.ce;
        }
        let (rtt, queue_delay) = (self.srtt, self.queue_delay);
        self.stats.sample(now, Sample { sent, lost, ce, rtt, queue_delay });
    }

    /// With congestion ahead, streams that want more than they make and leave fewer of their turns
    /// unused than others give way (`scream.md` 6.1).
    fn adjust_priorities(&mut self) {
        let active = self.streams.iter().filter(|media| media.active).count();
        let lost: f32 = self.streams.iter().map(|media| media.lost_credit).sum();
        let mean = lost / active.max(1) as f32;
        let applies = active >= 2 && self.trend.now > YIELD_TREND;
        for media in &mut self.streams {
            let credit = std::mem::take(&mut media.lost_credit);
            if applies && media.active && credit < mean && media.target > media.rates.mean.media {
                media.target *= YIELD;
                media.bound_target();
            }
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
            media.lost_credit += media.turn.waited(bytes, media.about.priority, priority, idle);
        }
        let flight = (self.in_flight - pushed_out as i32).max(0);
        self.in_flight = flight.saturating_add(bytes as i32);
        self.in_flight_peak = self.in_flight_peak.max(self.in_flight);
        self.flights.see(self.in_flight);
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
        let rates = |rate: fn(&Media) -> f32| self.streams.iter().map(rate).sum();
        Snapshot {
            queue_delay: self.queue_delay,
            queue_delay_mean: self.trend.fraction * self.delay_target,
            delay_target: self.delay_target,
            srtt: self.srtt,
            cwnd: self.cwnd as u32,
            cwnd_i: 0,
            in_flight: self.in_flight as u32,
            max_in_flight: self.in_flight_peak as u32,
            mss: self.packet_bytes() as u32,
            pace: self.pace,
            alpha: if self.config.l4s { self.alpha } else { 0.0 },
            loss_rate: 0.0,
            rates: StreamRates {
                target: rates(|media| media.target),
                media: rates(|media| media.rates.mean.media),
                sent: rates(|media| media.rates.mean.sent),
                acked: rates(|media| media.rates.mean.acked),
                lost: rates(|media| media.rates.mean.lost),
                ce: rates(|media| media.rates.mean.ce),
            },
        }
    }

    pub(super) fn stream_snapshot(&self, now: Ticks, stream: usize) -> Option<StreamSnapshot> {
        let media = self.streams.get(stream)?;
        let mean = media.rates.mean;
        Some(StreamSnapshot {
            queue_packets: media.queue.len() as u32,
            queue_bytes: media.queue.bytes(),
            queue_delay: media.queue.delay(now),
            packets_lost: media.packets_lost,
            packets_discarded: media.packets_discarded,
            rates: StreamRates {
                target: media.steady_target,
                media: mean.media,
                sent: mean.sent,
                acked: mean.acked,
                lost: mean.lost,
                ce: mean.ce,
            },
        })
    }
}

#[cfg(test)]
mod tests;
