//! Of a report: media and QUIC.

use serde::Serialize;

use super::{Codepoints, Distribution, Transitions};

/// An RTP session, and what RTCP says of it.
///
/// What diagnoses need: `path` says what became of codepoints between the capture and the receiver (bleached,
/// marked); `reported_lost` beside the sources' `missing` says on which side packets are lost; marks without an
/// answer show in `frame_mbps` and the direction's rate beside `reported_ce`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Media {
    /// Synchronisation sources that sent media.
    pub sources: Vec<Source>,
    /// Packets of the media that appear nowhere in the capture although their neighbours do.
    pub missing: u64,
    /// Frames: packets with one RTP time.
    pub frames: u64,
    /// Control packets other than RFC 8888's.
    pub rtcp: Rtcp,
    /// Feedback by RFC 8888: reports.
    pub reports: u64,
    /// Reports that contradict their own length.
    pub reports_unreadable: u64,
    /// Time between reports, ms.
    pub report_interval_ms: Option<Distribution>,
    /// Packets that they report received; each packet counts once, however often it is reported.
    pub reported_received: u64,
    /// Packets that they report lost, and none later received.
    pub reported_lost: u64,
    /// Packets that they report CE-marked.
    pub reported_ce: u64,
    /// Codepoints with which they say that packets arrived.
    pub reported_ecn: Codepoints,
    /// Packets that they report received although the capture does not have them.
    pub reported_unseen: u64,
    /// Codepoints in the capture, and those that the receiver reports of the same packets.
    pub path: Transitions,
    /// From a media packet to the first report of it, less the report's arrival time offset, ms. Offsets are of
    /// 1/1024 s.
    pub rtt_ms: Option<Distribution>,
    /// Variation of the one-way delay by the arrival times in the reports, over the line below all (from 10 s on
    /// the clocks' skew is taken off), ms.
    pub queue_delay_ms: Option<Distribution>,
    /// Count fields of the reports hold one less than the number of packets, as RFC 8888 was printed; absent where
    /// the reports do not tell.
    pub count_less_one: Option<bool>,
    /// Whether it is SCReAM: RTP with RFC 8888 feedback in the form that the test tool uses, payload type 98, SSRC
    /// from 100, reports by SSRC 10, and no other reports.
    pub scream: bool,
    /// Which receiver of the tool it looks like.
    pub scream_form: Option<ScreamForm>,
}

/// Receivers of SCReAM's test tool, told apart by the format of their reports and when they send them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScreamForm {
    /// Format 0 in the first byte: until the end of 2023.
    Before2024,
    /// Reports after 5 ms, of however few packets.
    V2024,
    /// Reports after 40 ms, unless a frame ends or there are 32 new packets.
    V2026,
    /// Every report is explained by a frame's end or the number of packets.
    Unknown,
}

/// A synchronisation source of RTP.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Source {
    /// Its identifier.
    pub ssrc: u32,
    /// Whether the flow's opener sends it.
    pub forward: bool,
    /// Payload types, in their order.
    pub payload_types: Vec<u8>,
    /// Packets, duplicates not among them.
    pub packets: u64,
    /// Bytes of their RTP headers and payloads.
    pub bytes: u64,
    /// Sequence numbers that the capture does not have although later ones are there (RFC 3550 A.3).
    pub missing: u64,
    /// Copies of packets that had passed.
    pub duplicates: u64,
    /// Packets that passed later than one with a higher number.
    pub reordered: u64,
    /// New beginnings of the sequence numbers.
    pub restarts: u64,
    /// Codepoints of the packets.
    pub ecn: Codepoints,
    /// Clock of the timestamps: by the payload type, or the usual rate within 3 % of which it runs beside the
    /// capture's clock.
    pub clock_rate_hz: Option<u32>,
    /// Interarrival jitter where the capture was made (RFC 3550 A.8), ms.
    pub jitter_ms: Option<Jitter>,
    /// Frames: packets with one RTP time.
    pub frames: u64,
    /// Bytes of a frame, RTP headers among them.
    pub frame_bytes: Option<Distribution>,
    /// Its packets.
    pub frame_packets: Option<Distribution>,
    /// From its first to its last packet, ms.
    pub frame_spread_ms: Option<Distribution>,
    /// Its bits over the RTP time until the next one, Mbit/s.
    pub frame_mbps: Option<Distribution>,
}

/// Interarrival jitter (RFC 3550 A.8), a smoothed mean with gain 1/16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Jitter {
    /// At the last packet.
    pub last: f64,
    /// The largest.
    pub max: f64,
}

/// RTCP of both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rtcp {
    /// Datagrams whose packets fill them.
    pub packets: u64,
    /// Datagrams that do not, as those of SRTCP (RFC 3711 3.4).
    pub unreadable: u64,
    /// Datagrams that the capture does not keep whole.
    pub cut: u64,
    /// Sender reports.
    pub sender_reports: u64,
    /// Receiver reports.
    pub receiver_reports: u64,
    /// Generic NACK (RFC 4585 6.2.1).
    pub nack: u64,
    /// Picture loss indications (RFC 4585 6.3.1).
    pub picture_loss: u64,
    /// Full intra requests (RFC 5104 4.3.1).
    pub full_intra_request: u64,
    /// Receiver estimated maximum bitrate.
    pub maximum_bitrate: u64,
    /// Transport-wide congestion control feedback.
    pub transport_wide_feedback: u64,
    /// Goodbyes.
    pub bye: u64,
    /// From a sender report in the capture to the reception report that answers it, less the time that its
    /// receiver says it kept it (RFC 3550 6.4.1), ms: the round trip between the capture and that receiver.
    pub rtt_ms: Option<Distribution>,
    /// Fractions lost that reception reports tell, in percent.
    pub fraction_lost_percent: Option<Distribution>,
    /// Jitter that they tell, of sources whose clock is known, ms.
    pub jitter_ms: Option<Distribution>,
}

/// What long headers and the spin bit of QUIC show.
///
/// What diagnoses need: `validation` beside the direction's codepoints says whether the ends mark their packets and
/// the path lets it be seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Quic {
    /// Version of the first long header.
    pub version: u32,
    /// Versions of all of them, in the order of their appearance.
    pub versions: Vec<u32>,
    /// Packets with a long header, per direction.
    pub long_headers: [u64; 2],
    /// Of these, by type: Initial, 0-RTT, Handshake, Retry (RFC 9000 17.2), both directions.
    pub long_types: [u64; 4],
    /// Version negotiation packets (RFC 8999 6).
    pub version_negotiations: u64,
    /// Datagrams with a short header, per direction.
    pub short_headers: [u64; 2],
    /// The connection ID to which the client sent first, in hexadecimal: how key and event logs name connections.
    pub original_connection_id: Option<String>,
    /// Connection IDs in hexadecimal, in the order of their appearance: chosen by the opener, by its peer.
    pub connection_ids: [Vec<String>; 2],
    /// Round trips by the spin bit (RFC 9000 17.4), ms, where it spins.
    pub rtt_spin_ms: Option<Distribution>,
    /// Whether and how the spin bit moves.
    pub spin: Spin,
    /// From the opener's first Initial packet to its peer's, ms.
    pub handshake_rtt_ms: Option<f64>,
    /// Initial packets whose protection was removed, and whose contents were authentic or, where the capture cut
    /// them, plausible.
    pub initials_opened: u64,
    /// Initial packets that could not be opened.
    pub initials_unopened: u64,
    /// ECN counts of the last ACK frame with such in Initial packets, whose keys anybody can derive (RFC 9001 5.2):
    /// ECT(0), ECT(1), CE. Of the two ends, the one with more.
    pub initial_ecn_counts: Option<[u64; 3]>,
    /// The same of each direction: what the end that sends these ACKs received.
    pub initial_ecn: [Option<[u64; 3]>; 2],
    /// ACK frames with and without ECN counts in Initial packets, per direction.
    pub initial_acks: [[u64; 2]; 2],
    /// What the counts say about each direction's Initial packets, as RFC 9000 13.4.2.1 has it.
    pub validation: [Option<EcnValidation>; 2],
}

/// How the spin bit moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spin {
    /// There are too few packets to say.
    #[default]
    Unknown,
    /// It is the same in all packets of a direction.
    Still,
    /// It spins.
    Spinning,
    /// Its values are random, as RFC 9000 17.4 wants of ends that do not spin.
    Random,
}

/// What the counts that come back say of packets that were sent with ECT (RFC 9000 13.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EcnValidation {
    /// They count the codepoints of the packets in the capture.
    Confirmed,
    /// They count some with CE that had ECT in the capture.
    Marked,
    /// Packets had ECT in the capture, and ACK frames have no counts, or fewer: bleached on the way, or their
    /// receiver cannot read the field.
    Uncounted,
    /// They count codepoints that no packet had.
    Remarked,
}
