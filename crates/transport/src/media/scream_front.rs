//! SCReAM in front of an application's own encoder: RTP packets go in, leave when the algorithm lets them,
//! and RTCP comes back. For programs that have sockets, an encoder and a clock; the C library and the
//! Python class are this, as EricssonResearch/scream's
//! code/wrapper_lib is for the original.

use std::fmt;

use sojourn_cc::scream::{Permit, Rtp, Sender, Setup, Snapshot, Stream, Ticks};
use sojourn_core::wire::ccfb::{self, Counting, Report};
use sojourn_core::wire::rtp::{self, Header};
use sojourn_core::{Dur, Ecn, Rate, Time};

/// Without news, a full window is looked at again.
const BLOCKED: Dur = Dur::from_millis(50);
/// Largest RTP packet.
const LARGEST: usize = 65_507;

/// Why a packet or a stream is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No RTP.
    Rtp(rtp::Error),
    /// Longer than a datagram.
    Long(usize),
    /// No stream has this SSRC.
    Unknown(u32),
    /// A stream has this SSRC already.
    Known(u32),
    /// There are ten streams.
    Streams,
    /// What is wrong with its rates or its priority ([`Stream::check`]).
    Stream(String),
    /// The stream's queue is full: the encoder is far above its target.
    Full,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rtp(error) => write!(f, "{error}"),
            Self::Long(bytes) => write!(f, "{bytes} bytes: expected at most {LARGEST}"),
            Self::Unknown(ssrc) => write!(f, "SSRC {ssrc}: no such stream"),
            Self::Known(ssrc) => write!(f, "SSRC {ssrc}: there is such a stream"),
            Self::Streams => write!(f, "more than ten streams"),
            Self::Stream(fault) => write!(f, "{fault}"),
            Self::Full => write!(f, "the stream's queue is full"),
        }
    }
}

impl std::error::Error for Refusal {}

/// What an encoder should do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Payload rate.
    pub rate: Rate,
    /// Packets were lost or thrown away since the last question: a picture that depends on no other
    /// is worth its bytes.
    pub lost: bool,
}

/// What is to be done now.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Send this packet of the stream with this SSRC, and ask again.
    Packet(u32, Box<[u8]>),
    /// Ask again then, or after a push or feedback.
    At(Time),
    /// Ask again after a push or feedback.
    Idle,
}

/// Totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets queued.
    pub pushed: u64,
    /// Packets and bytes given out.
    pub packets: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Packets that the algorithm threw out of its queues.
    pub discarded: u64,
    /// Reports read.
    pub reports: u64,
}

/// State of the algorithm, and totals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Totals.
    pub counts: Counts,
    /// Packets that were declared lost.
    pub lost: u64,
    /// Share of the acknowledged packets that came with CE, percent.
    pub ce_percent: f32,
    /// The algorithm.
    pub now: Snapshot,
}

/// Packets by name: a name is free again once its packet is taken.
#[derive(Debug, Default)]
struct Packets {
    places: Vec<Option<Box<[u8]>>>,
    free: Vec<usize>,
}

impl Packets {
    fn put(&mut self, bytes: Box<[u8]>) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.places[place] = Some(bytes);
        place as u64
    }

    fn take(&mut self, name: u64) -> Option<Box<[u8]>> {
        let bytes = self.places.get_mut(name as usize)?.take()?;
        self.free.push(name as usize);
        Some(bytes)
    }
}

/// The sending side.
#[derive(Debug)]
pub struct Front {
    sender: Sender,
    template: Stream,
    ecn: Ecn,
    pacing: bool,
    microburst: Dur,
    epoch: Time,
    counting: Counting,
    ssrcs: Vec<u32>,
    packets: Packets,
    /// The next burst may begin, and pacing time that the running one has used.
    next: Time,
    burst: Dur,
    counts: Counts,
}

impl Front {
    /// A sender without streams, with the parameters of `cc = "scream ..."`; its clock starts now.
    pub fn new(setup: &Setup, now: Time) -> Self {
        Self {
            sender: Sender::new(setup.config.clone(), Ticks::at(now, now)),
            template: setup.stream,
            ecn: setup.ecn,
            pacing: setup.config.pacing,
            microburst: setup.microburst,
            epoch: now,
            counting: Counting::default(),
            ssrcs: Vec::new(),
            packets: Packets::default(),
            next: now,
            burst: Dur::ZERO,
            counts: Counts::default(),
        }
    }

    /// Codepoint that the socket should set on media packets.
    pub const fn ecn(&self) -> Ecn {
        self.ecn
    }

    /// Totals since the start.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The algorithm, for what it shows and for limits.
    pub const fn sender(&mut self) -> &mut Sender {
        &mut self.sender
    }

    /// The stream that the parameters describe, for [`Front::add_stream`].
    pub const fn template(&self) -> Stream {
        self.template
    }

    /// Adds a stream.
    pub fn add_stream(&mut self, stream: Stream) -> Result<(), Refusal> {
        let ssrc = stream.ssrc;
        if self.ssrcs.contains(&ssrc) {
            return Err(Refusal::Known(ssrc));
        }
        stream.check().map_err(Refusal::Stream)?;
        self.sender.add_stream(stream).ok_or(Refusal::Streams)?;
        self.ssrcs.push(ssrc);
        Ok(())
    }

    /// Index of a stream in the order in which they were added.
    pub fn stream(&self, ssrc: u32) -> Result<usize, Refusal> {
        let known = self.ssrcs.iter().position(|known| *known == ssrc);
        known.ok_or(Refusal::Unknown(ssrc))
    }

    /// The sender's clock.
    fn ticks(&self, now: Time) -> Ticks {
        Ticks::at(now, self.epoch)
    }

    /// Queues a whole RTP packet; the marker bit ends a frame.
    pub fn push(&mut self, now: Time, packet: &[u8]) -> Result<(), Refusal> {
        let header = Header::parse(packet).map_err(Refusal::Rtp)?;
        if packet.len() > LARGEST {
            return Err(Refusal::Long(packet.len()));
        }
        let stream = self.stream(header.ssrc)?;
        let queued = self.ticks(now);
        let handle = self.packets.put(packet.into());
        let rtp = Rtp {
            seq: header.seq,
            bytes: packet.len() as u32,
            timestamp: header.timestamp,
            marker: header.marker,
            queued,
            handle,
        };
        let is_queued = self.sender.push(queued, stream, rtp);
        if is_queued {
            self.counts.pushed += 1;
        } else {
            self.packets.take(handle);
        }
        self.forget();
        if is_queued { Ok(()) } else { Err(Refusal::Full) }
    }

    /// Lets go of what the algorithm has thrown away.
    fn forget(&mut self) {
        while let Some(handle) = self.sender.take_discarded() {
            self.packets.take(handle);
            self.counts.discarded += 1;
        }
    }

    /// What the stream's encoder should do; to be asked before each frame.
    pub fn target(&mut self, now: Time, ssrc: u32) -> Result<Target, Refusal> {
        let stream = self.stream(ssrc)?;
        let ticks = self.ticks(now);
        // With the tool's quirks, the algorithm says once that a frame was lost, and then the rate.
        let rate = self.sender.target(ticks, stream).or_else(|| self.sender.target(ticks, stream));
        self.forget();
        let lost = self.sender.take_loss_epoch(stream);
        Ok(Target { rate: Rate(rate.unwrap_or_default() as u64), lost })
    }

    /// State and totals.
    pub fn state(&self) -> State {
        let now = Ticks::at(self.epoch, self.epoch);
        let streams = (0..self.ssrcs.len()).filter_map(|n| self.sender.stream_snapshot(now, n));
        State {
            counts: self.counts,
            lost: streams.map(|stream| stream.packets_lost).sum(),
            ce_percent: self.sender.summary().ecn[3],
            now: self.sender.snapshot(),
        }
    }

    /// The packet that leaves now, or when to ask again.
    pub fn next(&mut self, now: Time) -> Next {
        let ticks = self.ticks(now);
        let permit = self.sender.may_transmit(ticks);
        let Permit::Send { stream, .. } = permit else {
            let waits = self.counts.pushed > self.counts.packets + self.counts.discarded;
            return if waits { Next::At(now + BLOCKED) } else { Next::Idle };
        };
        if self.pacing && now < self.next {
            return Next::At(self.next);
        }
        let Some(departure) = self.sender.transmit(ticks, stream) else { return Next::Idle };
        if self.pacing {
            self.burst += Dur((f64::from(departure.pace) * 1e9) as u64);
            if self.burst >= self.microburst {
                // What the program asks too late is no reason for a longer burst.
                self.next = now + self.burst;
                self.burst = Dur::ZERO;
            }
        }
        let bytes = self.packets.take(departure.packet.handle).unwrap_or_default();
        self.counts.packets += 1;
        self.counts.bytes += bytes.len() as u64;
        Next::Packet(self.ssrcs[stream], bytes)
    }

    /// Reads a datagram of RTCP.
    pub fn on_feedback(&mut self, now: Time, datagram: &[u8]) -> Result<(), ccfb::Error> {
        let report = Report::parse(datagram, &mut self.counting)?;
        let ticks = self.ticks(now);
        for block in report.blocks() {
            let (ssrc, begin) = (block.ssrc, block.begin);
            self.sender.on_block(ticks, ssrc, begin, block.metrics(), false, &mut |_| {});
        }
        self.counts.reports += 1;
        self.forget();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
