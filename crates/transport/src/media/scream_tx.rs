//! The sender of SCReAM's tool: encoders that follow the target, packets from their frames, and when
//! those leave. EricssonResearch/scream, scream_sender.cpp.
//!
//! The tool paces in microbursts: packets leave back to back until their shares of the pacing rate
//! add up to [`Params::microburst`], then it sleeps for that time. [`Host`] is the machine on which it
//! does: without one, bursts leave exactly when they should.

mod generator;

use sojourn_cc::scream::{AckLine, Config, Permit, Rtp, Sender, Stream, Ticks, Version};
use sojourn_core::wire::ccfb::{self, Counting, Report};
use sojourn_core::wire::rtp::{self, HEADER_BYTES, Header};
use sojourn_core::{Dur, Rng, Time};

pub use generator::{Encoder, Key, OnOff, Tool};
use generator::{Generator, Habits};

/// Time between two looks at a window that is full, and at an empty queue.
const POLL: Dur = Dur::from_micros(10);
const IDLE_POLL: Dur = Dur::from_millis(1);
/// Without news a full window is looked at again.
const BLOCKED_POLL: Dur = Dur::from_millis(50);
/// The tool allows for so much that a sleep takes longer than asked, and never sleeps for less than
/// [`POLL`].
const ALLOWANCE: Dur = Dur::from_micros(100);
/// The tool of 2020 bursts for 1 ms.
const MICROBURST_2020: Dur = Dur::from_millis(1);

/// The machine on which the tool runs, as far as its timing shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Sleeps last longer by this.
    pub timer_slack: Dur,
    /// Sending a packet takes so long.
    pub packet_cost: Dur,
}

impl Host {
    /// What makes a simulation match the rates in the tool's test record.
    pub const MODEL: Self =
        Self { timer_slack: Dur::from_micros(60), packet_cost: Dur::from_micros(5) };

    /// Whether the tool's loop runs, with its polls and sleeps, in steps of 1/65536 s, its clock's resolution;
    /// else timers are exact.
    fn is_modelled(self) -> bool {
        self != Self::default()
    }
}

/// What a session sends and how.
#[derive(Clone, Debug)]
pub struct Params {
    /// The algorithm.
    pub config: Config,
    /// Streams with their encoders, at most [`sojourn_cc::scream::STREAMS`].
    pub streams: Vec<(Stream, Encoder)>,
    /// Length of a burst.
    pub microburst: Dur,
    /// Of a simulated end point.
    pub host: Host,
    /// How the receiver counts, if it is known.
    pub counting: Counting,
}

/// A packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outgoing {
    /// Index of its stream.
    pub stream: usize,
    /// Its stream's SSRC.
    pub ssrc: u32,
    /// The packet.
    pub rtp: Rtp,
    /// How long it was in the RTP queue, s.
    pub queue_delay: f32,
    /// The frame that it is part of.
    pub frame: Frame,
}

impl Outgoing {
    /// Its RTP header.
    pub fn header(&self) -> Header {
        Header {
            marker: self.rtp.marker,
            payload_type: rtp::PAYLOAD_TYPE,
            seq: self.rtp.seq,
            timestamp: self.rtp.timestamp,
            ssrc: self.ssrc,
            payload: self.rtp.bytes - HEADER_BYTES as u32,
        }
    }
}

/// A frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Number in its stream, from 0.
    pub number: u64,
    /// Packets.
    pub packets: u32,
    /// When the encoder had it.
    pub captured: Time,
    /// Name of its first packet.
    first: u64,
}

/// Totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets sent.
    pub packets: u64,
    /// Their bytes with RTP header.
    pub bytes: u64,
    /// Frames.
    pub frames: u64,
    /// Frames left out since the sender had lost or discarded packets.
    pub skipped: u64,
    /// Packets that the sender threw out of its queue, and those for which it had no room.
    pub discarded: u64,
    /// Reports read.
    pub reports: u64,
    /// Datagrams that were none.
    pub refused: u64,
}

/// A session.
#[derive(Debug)]
pub struct Session {
    sender: Sender,
    generators: Vec<Generator>,
    version: Version,
    pacing: bool,
    microburst: Dur,
    host: Host,
    counting: Counting,
    rng: Rng,
    /// When it began; none before.
    epoch: Option<Time>,
    stopped: bool,
    /// Packets in the queues, and the name of the next.
    queued: u64,
    next_handle: u64,
    /// Pacing time of the burst so far, when it should have begun, and when the next one should.
    burst: Dur,
    burst_at: Time,
    next_burst: Time,
    /// When the loop looks again.
    next: Time,
    /// The modelled loop looks rarely, since nothing waits.
    idle: bool,
    /// The window is full: no look before this without news.
    blocked: Option<Time>,
    counts: Counts,
}

impl Session {
    /// A session that begins with [`Session::start`]; `rng` draws the sizes of frames.
    pub fn new(params: Params, rng: Rng) -> Self {
        let Params { config, streams, microburst, host, counting } = params;
        let seconds = |time: f32| Dur((f64::from(time) * 1e9) as u64);
        let habits = Habits {
            parity: config.parity,
            drain: config.drain_interval.map(seconds),
            late: if config.version == Version::V2020 { host.timer_slack } else { Dur::ZERO },
        };
        let (version, pacing) = (config.version, config.pacing);
        let mut sender = Sender::new(config, Ticks::at(Time::ZERO, Time::ZERO));
        let generators = streams
            .into_iter()
            .filter_map(|(stream, media)| {
                let index = sender.add_stream(stream)?;
                Some(Generator::new(index, stream.ssrc, media, habits))
            })
            .collect();
        Self {
            sender,
            generators,
            version,
            pacing,
            microburst: if version <= Version::V2020 { MICROBURST_2020 } else { microburst },
            host,
            counting,
            rng,
            epoch: None,
            stopped: false,
            queued: 0,
            next_handle: 0,
            burst: Dur::ZERO,
            burst_at: Time::ZERO,
            next_burst: Time::ZERO,
            next: Time::ZERO,
            idle: false,
            blocked: None,
            counts: Counts::default(),
        }
    }

    /// Begins, with the first frames.
    pub fn start(&mut self, now: Time) {
        self.epoch = Some(now);
        self.next = now;
        for generator in &mut self.generators {
            generator.start(now);
        }
        self.on_timer(now);
    }

    /// No more frames; the queues empty.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Whether frames or packets are still to come.
    pub fn is_alive(&self) -> bool {
        self.epoch.is_some() && (!self.stopped || self.queued > 0)
    }

    /// The algorithm, for what it shows.
    pub const fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The algorithm, to change rates and priorities.
    pub const fn sender_mut(&mut self) -> &mut Sender {
        &mut self.sender
    }

    /// Totals since the start.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How the receiver was found to count.
    pub const fn counting(&self) -> Counting {
        self.counting
    }

    /// The sender's clock.
    pub fn ticks(&self, now: Time) -> Ticks {
        Ticks::at(now, self.epoch.unwrap_or(now))
    }

    /// When [`Session::on_timer`] is due and [`Session::poll`] may have a packet.
    pub fn deadline(&self) -> Time {
        if self.epoch.is_none() {
            return Time::NEVER;
        }
        let frame = if self.stopped { None } else { self.generators.iter().map(|g| g.due).min() };
        let polls = self.queued > 0 || (self.host.is_modelled() && !self.stopped);
        let packet = polls.then(|| self.blocked.map_or(self.next, |at| at.max(self.next)));
        frame.unwrap_or(Time::NEVER).min(packet.unwrap_or(Time::NEVER))
    }

    /// Makes the frames that are due.
    pub fn on_timer(&mut self, now: Time) {
        let Some(epoch) = self.epoch else { return };
        for index in 0..self.generators.len() {
            while !self.stopped && self.generators[index].due <= now {
                self.encode(now, epoch, index);
            }
        }
        self.look_again(now);
    }

    fn encode(&mut self, now: Time, epoch: Time, index: usize) {
        let ticks = Ticks::at(now, epoch);
        let generator = &mut self.generators[index];
        let target = self.sender.target(ticks, generator.stream);
        let mtu = self.sender.payload();
        let media = generator.frame(target, mtu, &mut self.rng);
        self.counts.skipped += u64::from(target.is_none());
        if media.packets == 0 {
            self.settle();
            return;
        }
        self.counts.frames += 1;
        let mut frame =
            Frame { captured: media.captured, number: media.number, ..Frame::default() };
        frame.packets = media.packets;
        frame.first = self.next_handle;
        generator.announce(frame);
        let mut left = media.bytes;
        for packet in 0..media.packets {
            let payload = left.min(media.payload);
            left -= payload;
            let rtp = Rtp {
                seq: generator.number(),
                bytes: payload + HEADER_BYTES as u32,
                // 90 kHz of the session's clock, which wraps later than this product of 64 bits.
                timestamp: (Ticks::count(media.captured, epoch) * u64::from(rtp::CLOCK_RATE)
                    / u64::from(sojourn_cc::scream::ticks::PER_SECOND))
                    as u32,
                marker: packet + 1 == media.packets,
                queued: ticks,
                handle: self.next_handle,
            };
            self.next_handle += 1;
            if self.sender.push(ticks, generator.stream, rtp) {
                self.queued += 1;
            } else {
                self.counts.discarded += 1;
            }
        }
        self.settle();
    }

    /// Notes what the sender has thrown away.
    fn settle(&mut self) {
        while self.sender.take_discarded().is_some() {
            self.queued = self.queued.saturating_sub(1);
            self.counts.discarded += 1;
        }
    }

    /// There is news: an exact loop looks at once, a modelled one at its next poll.
    fn look_again(&mut self, now: Time) {
        self.blocked = None;
        let step = POLL + self.host.timer_slack;
        if std::mem::take(&mut self.idle) && self.queued > 0 && self.next > now {
            self.next = now + Dur((self.next.0 - now.0) % step.0);
        }
    }

    /// The next packet that leaves now.
    pub fn poll(&mut self, now: Time) -> Option<Outgoing> {
        let epoch = self.epoch?;
        if now < self.next || self.blocked.is_some_and(|at| now < at) {
            return None;
        }
        let ticks = Ticks::at(now, epoch);
        let Permit::Send { stream, after } = self.sender.may_transmit(ticks) else {
            self.rest(now);
            return None;
        };
        if self.burst > self.microburst {
            self.end_burst(now);
            if now < self.next {
                return None;
            }
        }
        let Some(departure) = self.sender.transmit(ticks, stream) else {
            self.rest(now);
            return None;
        };
        self.queued = self.queued.saturating_sub(1);
        if self.burst == Dur::ZERO {
            // A burst that is a little late does not delay the next one.
            let late = now.since(self.next_burst) > self.microburst;
            self.burst_at = if late { now } else { self.next_burst };
        }
        if self.pacing {
            let share = if self.version <= Version::V2020 { after } else { departure.pace };
            self.burst += Dur((f64::from(share) * 1e9) as u64);
        }
        self.next = self.step(self.next.max(now) + self.host.packet_cost);
        let rtp = departure.packet;
        self.counts.packets += 1;
        self.counts.bytes += u64::from(rtp.bytes);
        let generator = &mut self.generators[stream];
        let frame = generator.frame_of(rtp.handle);
        let queue_delay = departure.queue_delay;
        Some(Outgoing { stream, ssrc: generator.ssrc, rtp, queue_delay, frame })
    }

    /// Nothing may leave.
    fn rest(&mut self, now: Time) {
        if !self.host.is_modelled() {
            self.blocked = Some(now + BLOCKED_POLL);
            return;
        }
        self.idle = self.queued == 0;
        let poll = if self.idle { IDLE_POLL } else { POLL };
        self.next = self.step(now + poll + self.host.timer_slack);
    }

    /// The first step of a modelled loop that is not earlier.
    fn step(&self, at: Time) -> Time {
        let Some(epoch) = self.epoch.filter(|_| self.host.is_modelled()) else { return at };
        let count = Ticks::count(at, epoch);
        let shown = Ticks::reached(count, epoch);
        if shown < at { Ticks::reached(count + 1, epoch) } else { shown }
    }

    /// Sleeps for the burst's time.
    fn end_burst(&mut self, now: Time) {
        let burst = std::mem::take(&mut self.burst);
        if !self.host.is_modelled() {
            self.next_burst = self.burst_at + burst;
            self.next = self.next_burst;
            return;
        }
        let long = burst.0 > self.microburst.0 + self.microburst.0 / 10;
        let sleep = if self.version <= Version::V2020 {
            burst
        } else if long {
            burst.saturating_sub(ALLOWANCE)
        } else {
            self.microburst.saturating_sub(ALLOWANCE)
        };
        self.next = self.step(now + sleep.max(POLL) + self.host.timer_slack);
    }

    /// Reads a datagram from the receiver; `log` gets a line for each acknowledgement.
    pub fn on_feedback(
        &mut self,
        now: Time,
        datagram: &[u8],
        detailed: bool,
        log: &mut dyn FnMut(&AckLine),
    ) -> Result<(), ccfb::Error> {
        let Some(epoch) = self.epoch else { return Ok(()) };
        let ticks = Ticks::at(now, epoch);
        let report = Report::parse(datagram, &mut self.counting);
        let report = report.inspect_err(|_| self.counts.refused += 1)?;
        self.counts.reports += 1;
        for block in report.blocks() {
            let (ssrc, begin) = (block.ssrc, block.begin);
            self.sender.on_block(ticks, ssrc, begin, block.metrics(), detailed, log);
        }
        self.settle();
        self.look_again(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
