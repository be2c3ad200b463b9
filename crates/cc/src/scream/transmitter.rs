//! What the senders of both versions keep and do alike: whose turn it is, what is in flight, when the
//! next packet may leave. What reports say is in [`report`](super::report). What a version decides by
//! itself is its [`Policy`].

use super::delay::BaseDelay;
use super::rates::Rates;
use super::stats::{Sample, Stats};
use super::stream::Media;
use super::ticks::seconds;
use super::{Config, Departure, Permit, Rtp, STREAMS, Snapshot, Stream, Ticks, schedule};

/// Least size that counts as a packet's, bytes.
pub(super) const INIT_MSS: i32 = 100;
/// Largest packet of a UDP socket, bytes.
const MAX_PACKET: u32 = 65_535;
/// How long the largest packet is remembered at least, and statistics go on without a report, ticks:
/// 1 s.
const SECOND: u32 = 65_536;
/// Time without a packet after which everything in flight is forgotten, ticks.
const TIMEOUT: u32 = 32_768;

/// What a version decides by itself; `S` is what it keeps of a stream.
pub(super) trait Policy<S> {
    /// Packets of credit that a stream without media keeps, at most.
    const IDLE_CREDIT_PACKETS: f32;
    /// Packets in the original's table of those sent.
    const ORIGINAL_FLIGHT: usize;

    /// What it keeps of a new stream.
    fn own(&self, about: &Stream, now: Ticks) -> S;

    /// RTP payload that packets should have, bytes.
    fn payload(&self) -> u32;

    /// A frame begins; gives the factor of its target.
    fn frame_begins(&mut self, _now: Ticks) -> f32 {
        1.0
    }

    /// A packet was queued.
    fn queued(&mut self, now: Ticks, stream: usize, rtp: &Rtp);

    /// Length of a window of the rates, ticks.
    fn rate_window(&self) -> u32;

    /// Smooths the rates of a window; gives the transmitted rate of the statistics, bit/s.
    fn smooth_rates(&mut self, stream: usize, window: Rates) -> f32;

    /// A second passed.
    fn second_passed(&mut self) {}

    /// Whether `flight` bytes may be in flight.
    fn allows(&self, flight: i32) -> bool;

    /// A packet left.
    fn departed(&mut self) {}

    /// What only this version shows of itself.
    fn state(&self) -> Snapshot;
}

/// A sender with the control loop `C`.
#[derive(Debug)]
pub(super) struct Transmitter<C, S> {
    pub(super) config: Config,
    pub(super) streams: Vec<Media<S>>,
    pub(super) started: Ticks,
    /// Smoothed RTT, s and ticks; a short one, and that one before.
    pub(super) srtt: f32,
    pub(super) srtt_ticks: u32,
    pub(super) short_rtt: u32,
    pub(super) previous_short_rtt: u32,
    pub(super) last_srtt: Ticks,
    /// The last report.
    pub(super) heard: Option<Ticks>,
    /// Least and greatest RTT measured, ticks.
    pub(super) measured: Option<(u32, u32)>,
    pub(super) base: BaseDelay,
    /// Of the last packet acknowledged, s.
    pub(super) queue_delay: f32,
    /// Its target, s; above the option's beside flows that fill the queue.
    pub(super) delay_target: f32,
    /// Bytes.
    pub(super) in_flight: i32,
    /// Greatest since the driver last asked.
    pub(super) in_flight_peak: i32,
    /// Largest packet of this second and of the one before, bytes.
    pub(super) mss: i32,
    pub(super) previous_mss: i32,
    pub(super) last_second: Ticks,
    pub(super) cwnd: i32,
    /// Bound that is configured, and the one that holds.
    pub(super) least_cwnd: i32,
    pub(super) cwnd_min: i32,
    /// Time between packets, s.
    pub(super) pace: f32,
    pub(super) next_transmit: Ticks,
    pub(super) last_transmit: Ticks,
    pub(super) last_rates: Ticks,
    /// When the packet left that was acknowledged last.
    pub(super) acked_sent: Ticks,
    /// Bytes since the window was last updated.
    pub(super) newly_acked: i32,
    pub(super) newly_acked_ce: i32,
    /// Bytes (version 1) or packets since alpha was last updated.
    pub(super) delivered: u32,
    pub(super) marked: u32,
    pub(super) alpha: f32,
    pub(super) last_alpha: Ticks,
    /// A mark since the control loop last ran.
    pub(super) ce_heard: bool,
    pub(super) loss_event: bool,
    pub(super) ce_event: bool,
    pub(super) last_event: Ticks,
    pub(super) last_congestion: Ticks,
    pub(super) last_cwnd: Ticks,
    pub(super) stats: Stats,
    /// Bytes acknowledged since the log's last line, and those with CE.
    pub(super) logged: (u32, u32),
    pub(super) control: C,
}

impl<C, S> Transmitter<C, S> {
    pub(super) fn with(control: C, config: Config, now: Ticks) -> Self {
        let bytes = |bytes: u32| bytes.min(i32::MAX as u32) as i32;
        Self {
            streams: Vec::with_capacity(STREAMS),
            started: now,
            srtt: 0.0,
            srtt_ticks: 0,
            short_rtt: 0,
            previous_short_rtt: 0,
            last_srtt: now,
            heard: None,
            measured: None,
            base: BaseDelay::new(now, config.clock_drift && config.version.is_v2()),
            queue_delay: 0.0,
            delay_target: config.delay_target,
            in_flight: 0,
            in_flight_peak: 0,
            mss: INIT_MSS,
            previous_mss: INIT_MSS,
            last_second: now,
            cwnd: bytes(config.initial_cwnd),
            least_cwnd: bytes(config.least_cwnd),
            cwnd_min: 2 * INIT_MSS,
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
            last_congestion: now,
            last_cwnd: now,
            stats: Stats::new(now),
            logged: (0, 0),
            control,
            config,
        }
    }

    /// Largest packet of the last seconds, bytes.
    pub(super) fn packet_bytes(&self) -> i32 {
        self.mss.max(self.previous_mss)
    }

    pub(super) fn saw_packet(&mut self, bytes: u32) {
        self.mss = self.mss.max(bytes as i32);
        self.raise_floor(2);
    }

    /// The window holds at least this number of packets.
    pub(super) fn raise_floor(&mut self, packets: i32) {
        self.cwnd_min = self.least_cwnd.max(packets * self.packet_bytes());
        self.cwnd = self.cwnd.max(self.cwnd_min);
    }

    /// Sum over all streams, bit/s.
    pub(super) fn sum(&self, rate: fn(&Media<S>) -> f32) -> f32 {
        self.streams.iter().map(rate).sum()
    }

    pub(super) fn take_discarded(&mut self) -> Option<u64> {
        self.streams.iter_mut().find_map(|media| media.queue.take_discarded())
    }

    pub(super) fn take_loss_epoch(&mut self, stream: usize) -> bool {
        self.streams.get_mut(stream).is_some_and(Media::take_loss_epoch)
    }

    pub(super) fn take_max_in_flight(&mut self) -> u32 {
        std::mem::replace(&mut self.in_flight_peak, self.in_flight) as u32
    }

    pub(super) fn stream_mut(&mut self, stream: usize) -> Option<&mut Stream> {
        self.streams.get_mut(stream).map(|media| &mut media.about)
    }

    pub(super) fn set_max_total_rate(&mut self, rate: Option<f32>) {
        self.config.max_total_rate = rate;
    }
}

impl<C, S> Transmitter<C, S>
where
    Self: Policy<S>,
{
    pub(super) fn add_stream(&mut self, about: Stream) -> Option<usize> {
        if self.streams.len() == STREAMS {
            return None;
        }
        let now = self.started;
        let own = self.own(&about, now);
        let parity = self.config.parity;
        self.streams.push(Media::new(about, parity, Self::ORIGINAL_FLIGHT, own, now));
        Some(self.streams.len() - 1)
    }

    pub(super) fn target(&mut self, now: Ticks, stream: usize) -> Option<f32> {
        let factor = self.frame_begins(now);
        let parity = self.config.parity;
        let media = self.streams.get_mut(stream)?;
        let target = media.next_target(parity)? * factor;
        // The original bounds it with the next packet.
        let Stream { min_rate, max_rate, .. } = media.about;
        Some(if parity { target } else { target.max(min_rate).min(max_rate) })
    }

    pub(super) fn push(&mut self, now: Ticks, stream: usize, rtp: Rtp) -> bool {
        let Some(media) = self.streams.get_mut(stream) else { return false };
        if rtp.bytes > MAX_PACKET || !media.queue.push(rtp) {
            return false;
        }
        media.active = true;
        self.queued(now, stream, &rtp);
        true
    }

    pub(super) fn may_transmit(&mut self, now: Ticks) -> Permit {
        if now.since(self.last_rates) > self.rate_window() {
            self.close_windows(now);
        }
        let waiting = self.streams.iter().enumerate().filter(|(_, media)| !media.queue.is_empty());
        let waiting = waiting.map(|(index, media)| (index, media.turn, media.about.priority));
        let stream = schedule::next(now, waiting);
        if now.since(self.last_second) > SECOND {
            self.last_second = now;
            self.previous_mss = self.mss;
            self.mss = INIT_MSS;
            self.base.drifts();
            self.second_passed();
            self.raise_floor(3);
        }
        let Some(stream) = stream else { return Permit::No };
        if now.since(self.last_transmit) > TIMEOUT {
            self.streams.iter_mut().for_each(|media| media.flight.clear());
            self.in_flight = 0;
            return Permit::Send { stream, after: 0.0 };
        }
        let next = self.streams[stream].queue.next_bytes().unwrap_or(0) as i32;
        if !self.config.open_window && !self.allows(self.in_flight.saturating_add(next)) {
            return Permit::No;
        }
        let wait = (self.next_transmit.0.wrapping_sub(now.0) as i32).max(0);
        let after = if self.config.pacing { seconds(wait as u32) } else { 0.0 };
        Permit::Send { stream, after }
    }

    fn close_windows(&mut self, now: Ticks) {
        self.last_rates = now;
        let (mut sent, mut lost, mut ce) = (0.0, 0.0, 0.0);
        for stream in 0..self.streams.len() {
            if let Some(window) = self.streams[stream].window.close(now) {
                sent += self.smooth_rates(stream, window);
            }
            lost += self.streams[stream].rates.lost;
            ce += self.streams[stream].rates.ce;
        }
        let is_heard = self.heard.is_some_and(|heard| now.since(heard) < SECOND);
        if !is_heard && !self.config.parity {
            return; // nothing is known of the path
        }
        let (rtt, queue_delay) = (self.srtt, self.queue_delay);
        self.stats.sample(now, Sample { sent, lost, ce, rtt, queue_delay });
    }

    pub(super) fn transmit(&mut self, now: Ticks, stream: usize) -> Option<Departure> {
        let media = self.streams.get_mut(stream)?;
        let queue_delay = media.queue.delay(now);
        let packet = media.queue.pop()?;
        let bytes = packet.bytes;
        let pushed_out = media.flight.insert(now, &packet, queue_delay);
        media.turn.served(now, bytes);
        media.window.sent = media.window.sent.saturating_add(bytes);
        let priority = media.about.priority;
        let idle_credit = Self::IDLE_CREDIT_PACKETS * self.packet_bytes() as f32;
        for (_, media) in self.streams.iter_mut().enumerate().filter(|&(index, _)| index != stream)
        {
            let idle = media.queue.is_empty().then_some(idle_credit);
            media.turn.waited(bytes, media.about.priority, priority, idle);
        }
        let flight = (self.in_flight - pushed_out as i32).max(0);
        self.in_flight = flight.saturating_add(bytes as i32);
        self.in_flight_peak = self.in_flight_peak.max(self.in_flight);
        self.departed();
        self.last_transmit = now;
        self.saw_packet(bytes);
        let pace = if self.config.pacing { self.pace } else { 0.0 };
        self.next_transmit = Ticks(now.0.wrapping_add((pace * 65_536.0) as u32));
        Some(Departure { packet, queue_delay, pace })
    }
}
