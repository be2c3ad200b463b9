//! RTP sessions, found without signalling, and what RTCP says of them.
//!
//! A source is one once [`PROBATION`] packets of one SSRC have followed each other with the numbers of RFC 3550
//! A.1; until then its packets are counted but not believed. RTCP is believed if its packets fill the datagram
//! exactly.

mod feedback;
mod rtcp;
mod source;

use std::collections::VecDeque;

use sojourn_core::wire::ccfb;
use sojourn_core::wire::rtp::{self, Header};
use sojourn_core::{Ecn, Time};

use crate::report::{Media, Rtcp};
use crate::samples::Samples;
use feedback::Feedback;
use rtcp::{Kind, Packets, ReceptionReport};
use source::Source;

/// Packets in sequence that make a source. RFC 3550 A.1 has 2, where signalling says that RTP is expected.
const PROBATION: u32 = 4;
/// Sources in one direction; beyond them, those in probation make room.
const MOST_SOURCES: usize = 64;
/// Sender reports that are remembered until a reception report answers them.
const MOST_SENDER_REPORTS: usize = 32;

/// One packet of a session.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// When it was captured.
    pub time: Time,
    /// Whether the flow's opener sent it.
    pub forward: bool,
    /// Payload of UDP, as much as was kept.
    pub payload: &'a [u8],
    /// Bytes of payload that were sent.
    pub len: usize,
    /// Codepoint where it was captured.
    pub ecn: Ecn,
}

impl Arrival<'_> {
    fn is_whole(&self) -> bool {
        self.payload.len() == self.len
    }
}

/// A flow of datagrams that may be RTP, both directions.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// Forward, backward.
    ways: [Way; 2],
    rtcp: Rtcp,
    rtt: Samples,
    fraction_lost: Samples,
    jitter: Samples,
}

/// What one end sends.
#[derive(Clone, Debug, Default)]
struct Way {
    sources: Vec<Source>,
    /// Middle of the NTP time of sender reports, and when they passed.
    sender_reports: VecDeque<(u32, Time)>,
    /// On what the other end sends.
    feedback: Option<Box<Feedback>>,
}

impl Session {
    /// Whether bytes may be of a session: version 2. Nothing else needs to be shown to one.
    pub fn is_candidate(payload: &[u8]) -> bool {
        payload.first().is_some_and(|first| first >> 6 == 2)
    }

    /// Takes a datagram, and says whether it is of a session for sure.
    pub fn on_packet(&mut self, arrival: &Arrival<'_>) -> bool {
        let Arrival { payload, .. } = *arrival;
        if !Self::is_candidate(payload) || payload.len() < 8 {
            return false;
        }
        // RFC 5761 4: of the second bytes 192 to 223 are RTCP's.
        if rtcp::RANGE.contains(&payload[1]) {
            return self.on_rtcp(arrival);
        }
        let Some(header) = read(arrival) else { return false };
        self.ways[usize::from(!arrival.forward)].on_media(arrival, &header)
    }

    /// Whether a session was recognised: by its media, or by RTCP that needs no media to be known.
    pub fn is_recognised(&self) -> bool {
        let is_media = self.ways.iter().flat_map(|way| &way.sources).any(Source::is_known);
        is_media || self.rtcp.sender_reports + self.rtcp.receiver_reports > 1 || self.has_feedback()
    }

    fn has_feedback(&self) -> bool {
        self.ways.iter().filter_map(|way| way.feedback.as_deref()).any(|f| f.reports > 1)
    }

    fn on_rtcp(&mut self, arrival: &Arrival<'_>) -> bool {
        if !arrival.is_whole() {
            self.rtcp.cut += 1;
            return false;
        }
        let Some(packets) = Packets::new(arrival.payload) else {
            // RFC 3711 3.4: of SRTCP only the first eight bytes are readable.
            self.rtcp.unreadable += 1;
            return false;
        };
        self.rtcp.packets += 1;
        let [from, to] = if arrival.forward { [0, 1] } else { [1, 0] };
        for packet in packets {
            match packet.kind() {
                Kind::SenderReport => {
                    self.rtcp.sender_reports += 1;
                    if let Some(middle) = packet.ntp_middle() {
                        self.ways[from].remember(middle, arrival.time);
                    }
                }
                Kind::ReceiverReport => self.rtcp.receiver_reports += 1,
                Kind::Nack => self.rtcp.nack += 1,
                Kind::TransportWide => self.rtcp.transport_wide_feedback += 1,
                Kind::CongestionControl => self.on_feedback(arrival, packet.bytes()),
                Kind::PictureLoss => self.rtcp.picture_loss += 1,
                Kind::FullIntra => self.rtcp.full_intra_request += 1,
                Kind::MaximumBitrate => self.rtcp.maximum_bitrate += 1,
                Kind::Bye => self.rtcp.bye += 1,
                Kind::Other => {}
            }
            for report in packet.reception_reports() {
                self.on_reception_report(arrival.time, to, &report);
            }
        }
        true
    }

    /// RFC 3550 6.4.1: the round trip is from the sender report here to the reception report here, less the
    /// time that the receiver kept it.
    fn on_reception_report(&mut self, now: Time, reported: usize, report: &ReceptionReport) {
        self.fraction_lost.record(f64::from(report.fraction_lost) / 256.0 * 100.0);
        let way = &self.ways[reported];
        let source = way.sources.iter().find(|source| source.ssrc() == report.ssrc);
        if let Some(rate) = source.and_then(Source::clock_rate) {
            self.jitter.record(f64::from(report.jitter) / f64::from(rate) * 1e3);
        }
        let answered = way.sender_reports.iter().rev().find(|sent| sent.0 == report.last_sr);
        if let Some((_, sent)) = answered.filter(|_| report.last_sr != 0) {
            let kept = f64::from(report.delay_since_last_sr) / 65_536.0;
            let rtt = now.since(*sent).as_secs_f64() - kept;
            if rtt >= 0.0 {
                self.rtt.record(rtt * 1e3);
            }
        }
    }

    fn on_feedback(&mut self, arrival: &Arrival<'_>, packet: &[u8]) {
        let [first, second] = &mut self.ways;
        let (from, to) = if arrival.forward { (first, second) } else { (second, first) };
        let feedback = from.feedback.get_or_insert_with(Box::default);
        feedback.on_report(arrival.time, packet, &mut to.sources);
    }

    /// What was seen, if it is a session.
    pub fn finish(self) -> Option<Media> {
        if !self.is_recognised() {
            return None;
        }
        let Self { ways, mut rtcp, rtt, fraction_lost, jitter } = self;
        rtcp.rtt_ms = rtt.distribution();
        rtcp.fraction_lost_percent = fraction_lost.distribution();
        rtcp.jitter_ms = jitter.distribution();
        let has_reports = rtcp.sender_reports + rtcp.receiver_reports > 0;
        let mut media = Media { rtcp, ..Media::default() };
        let [mut forward, mut backward] = ways;
        let feedback = [forward.feedback.take(), backward.feedback.take()];
        let from_forward = forward.sources.into_iter().map(|source| (true, source));
        let from_backward = backward.sources.into_iter().map(|source| (false, source));
        let sources = from_forward.chain(from_backward).filter(|(_, source)| source.is_known());
        let reports = sources.map(|(forward, source)| source.finish(forward));
        media.sources = reports.collect();
        media.frames = media.sources.iter().map(|source| source.frames).sum();
        media.missing = media.sources.iter().map(|source| source.missing).sum();
        // Media go one way mostly; of two ways, the one with more feedback is the session's.
        if let Some(feedback) = feedback.into_iter().flatten().max_by_key(|one| one.reports) {
            feedback.finish(&mut media, has_reports);
        }
        Some(media)
    }
}

impl Way {
    fn on_media(&mut self, arrival: &Arrival<'_>, header: &Header) -> bool {
        let at = self.sources.iter().position(|source| source.ssrc() == header.ssrc);
        let at = at.or_else(|| self.admit(header)).filter(|at| *at < self.sources.len());
        let Some(at) = at else { return false };
        self.sources[at].on_packet(arrival, header);
        self.sources[at].is_known()
    }

    /// A new source, in the place of one in probation if there are too many.
    fn admit(&mut self, header: &Header) -> Option<usize> {
        // Most datagrams that look like RTP for a moment are of none: a few places are enough for them.
        const IN_PROBATION: usize = 4;
        let unknown = self.sources.iter().filter(|source| !source.is_known()).count();
        if unknown >= IN_PROBATION || self.sources.len() >= MOST_SOURCES {
            let oldest = self.sources.iter().position(|source| !source.is_known())?;
            self.sources.remove(oldest);
        }
        self.sources.push(Source::new(header));
        Some(self.sources.len() - 1)
    }

    fn remember(&mut self, middle: u32, now: Time) {
        if self.sender_reports.len() == MOST_SENDER_REPORTS {
            self.sender_reports.pop_front();
        }
        self.sender_reports.push_back((middle, now));
    }
}

/// The header of a media packet. Of one that was cut, what is behind the first twelve bytes is not looked at.
fn read(arrival: &Arrival<'_>) -> Option<Header> {
    let Arrival { payload, len, .. } = *arrival;
    if arrival.is_whole() {
        return Header::parse(payload).ok();
    }
    let mut head = *payload.first_chunk::<{ rtp::HEADER_BYTES }>()?;
    head[0] &= 0xc0;
    let header = Header::parse(&head).ok()?;
    Some(Header { payload: len.saturating_sub(rtp::HEADER_BYTES) as u32, ..header })
}

/// Reads any bytes as RTCP, for the fuzzer: reports and blocks that they hold.
pub fn read_rtcp(bytes: &[u8]) -> usize {
    let reports = Packets::new(bytes).into_iter().flatten();
    let blocks: usize = reports.map(|packet| packet.reception_reports().count()).sum();
    let counted = ccfb::Report::parse(bytes, &mut ccfb::Counting::default());
    blocks + counted.map_or(0, |report| report.blocks().count())
}

#[cfg(test)]
mod tests;
