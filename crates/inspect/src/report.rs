//! What a capture says, as plain data. Keys of the JSON are these fields' names; units are in the names,
//! and times are seconds since the first packet of the capture.

mod media;
pub mod pair;
mod path;

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Serialize;

pub use media::*;
pub use path::*;

use crate::events::Events;
use crate::rounds::Round;

/// Version of the JSON document: it grows when a reader of an older one would be wrong.
pub const FORMAT: u32 = 1;

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// [`FORMAT`].
    pub format: u32,
    /// IP packets that were read.
    pub packets: u64,
    /// Their bytes, as their headers say.
    pub bytes: u64,
    /// Time of the first packet, since 1970, ns.
    pub start_ns: u64,
    /// From the first to the last packet.
    pub duration_s: f64,
    /// Records without an IP packet that could be read, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Flows in the order of their first packets.
    pub flows: Vec<Flow>,
    /// Packets of flows that are not listed, because there were too many: of later ones if too many to follow
    /// ([`crate::Options::max_flows`]), of those of fewest packets if too many to list.
    pub packets_of_unlisted_flows: u64,
    /// Of each flow its packets, where [`crate::Options::events`] asks for them; not part of the JSON.
    #[serde(skip)]
    pub events: Vec<Events>,
}

/// A connection, or datagrams between two ports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flow {
    /// What it is.
    pub protocol: Protocol,
    /// Who opened it: who sent the SYN; in a capture without it, the end whose port is not a system port (below
    /// 1024) if the other's is, else who sent the first packet.
    pub opener: End,
    /// The other end.
    pub peer: End,
    /// First packet.
    pub start_s: f64,
    /// Last packet.
    pub end_s: f64,
    /// What its packets were carried in.
    pub tunnel: Option<Tunnel>,
    /// Packets that are in no other number of the flow, because too many flows have many packets
    /// ([`crate::Options::max_long`]).
    pub packets_not_analysed: u64,
    /// From the opener to its peer.
    pub forward: Direction,
    /// Back.
    pub backward: Direction,
    /// Of a TCP connection: how it was opened and closed.
    pub tcp: Option<Connection>,
    /// Of RTP and RTCP.
    pub media: Option<Media>,
    /// Of QUIC, what is visible.
    pub quic: Option<Quic>,
    /// Which family of congestion control the sender of most data looks like; absent where the capture does not
    /// show it.
    pub family: Option<Answer>,
    /// What stands out, each with its evidence.
    pub diagnoses: Vec<Diagnosis>,
}

/// What a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// Datagrams of no known kind.
    Udp,
    /// RTP or RTCP.
    Rtp,
    /// QUIC.
    Quic,
    /// ICMP echo.
    Icmp,
    /// Another protocol of IP: one flow for each pair of addresses and protocol.
    Other,
}

/// Address and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct End {
    /// Address.
    pub address: IpAddr,
    /// Port; of ICMP's echo its identifier at both ends; 0 where there is none.
    pub port: u16,
}

/// Counts of ECN codepoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Codepoints {
    /// 00.
    pub not_ect: u64,
    /// 10.
    pub ect0: u64,
    /// 01: of an L4S sender, or SCE's mark.
    pub ect1: u64,
    /// 11.
    pub ce: u64,
}

/// Samples of one quantity. Percentiles are of a histogram whose buckets are within 1 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// How many.
    pub n: u64,
    /// Smallest.
    pub min: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation, of n - 1.
    pub stddev: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

impl Distribution {
    /// The same in another unit.
    pub(crate) fn scaled(self, by: f64) -> Self {
        let Self { n, min, mean, stddev, p50, p95, p99, max } = self;
        let [min, mean, stddev, p50, p95, p99, max] =
            [min, mean, stddev, p50, p95, p99, max].map(|value| value * by);
        Self { n, min, mean, stddev, p50, p95, p99, max }
    }
}

/// One direction of a flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Direction {
    /// IP packets.
    pub packets: u64,
    /// Bytes of them.
    pub ip_bytes: u64,
    /// Packets with payload, SYN and FIN without data not among them.
    pub data_packets: u64,
    /// Bytes of payload, retransmitted ones too.
    pub data_bytes: u64,
    /// Codepoints of all packets.
    pub ecn: Codepoints,
    /// Codepoints of packets with payload.
    pub data_ecn: Codepoints,
    /// CE of data packets, in percent.
    pub ce_percent: Option<f64>,
    /// ECT(1) of data packets where their sender sends ECT(0): SCE's marks, in percent.
    pub sce_percent: Option<f64>,
    /// Fraction of CE among the data packets of each round trip.
    pub ce_per_rtt: Option<Distribution>,
    /// Fraction of SCE's marks.
    pub sce_per_rtt: Option<Distribution>,
    /// Lengths of runs of consecutive data packets with CE.
    pub ce_runs: Option<Distribution>,
    /// Data packets between two runs.
    pub ce_gaps: Option<Distribution>,
    /// The same of SCE's marks.
    pub sce_runs: Option<Distribution>,
    /// Data packets between two runs of SCE's marks.
    pub sce_gaps: Option<Distribution>,
    /// Time between packets of any kind, ms.
    pub packet_gap_ms: Option<Distribution>,
    /// Time between data packets with SCE's mark, ms.
    pub sce_gap_ms: Option<Distribution>,
    /// Time between data packets, ms.
    pub gap_ms: Option<Distribution>,
    /// Bytes of bursts: data packets that follow each other within 100 us.
    pub burst_bytes: Option<Distribution>,
    /// Time that such a burst takes at the delivery rate's 95th percentile, ms: what an immediate AQM sees.
    pub burst_ms: Option<Distribution>,
    /// Packets that the capturing host had not yet cut, or had merged: larger than the largest segment that the
    /// connection allows; without its handshake, than 9216 bytes.
    pub super_packets: u64,
    /// Questions of this direction: ICMP echo, STUN, DNS, NTP, whose answers name what they answer.
    pub questions: u64,
    /// From such a question to its answer, ms; none of those that were asked twice.
    pub rtt_echo_ms: Option<Distribution>,
    /// Delivery rate over 100 ms, payload, Mbit/s: by what is acknowledged and SACKed where ACKs were captured, else
    /// by what was sent.
    pub rate_mbps: Option<Distribution>,
    /// Of TCP.
    pub tcp: Option<TcpDirection>,
    /// Round trips of its data, of TCP; not part of the JSON.
    #[serde(skip)]
    pub rounds: Vec<Round>,
    /// Round trips after the [`crate::rounds::MOST`] that are kept.
    pub rounds_left_out: u64,
}

/// What one end of a TCP connection sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TcpDirection {
    /// Packets with the flag ACK.
    pub acks: u64,
    /// Packets without payload, SYN, FIN or RST.
    pub pure_acks: u64,
    /// ACKs that repeat the number, without data and without another window, while data is under way (RFC 5681 2).
    pub duplicate_acks: u64,
    /// Packets whose timestamp is older than one before them.
    pub overtaken: u64,
    /// Packets with the flags ECE, CWR, and AE, after the handshake.
    pub ece: u64,
    /// Packets that ACKs with ECE acknowledge or SACK for the first time: the marks that a sender without AccECN
    /// believes in, more than there were, as ECE lasts until CWR comes (RFC 3168 6.1.3).
    pub ece_acked_packets: u64,
    /// CWR.
    pub cwr: u64,
    /// AE: SCE's ESCE in connections without AccECN.
    pub ae: u64,
    /// Payload that packets with ESCE acknowledged or SACKed for the first time, of all payload, in percent.
    pub esce_acked_percent: Option<f64>,
    /// That payload, bytes.
    pub esce_acked_bytes: u64,
    /// Fraction of this among the payload acknowledged in each round trip.
    pub esce_per_rtt: Option<Distribution>,
    /// Payload acknowledged by packets of this direction, bytes.
    pub acked_bytes: u64,
    /// Payload that SACK blocks of this direction report before it is acknowledged, each byte once.
    pub sacked_bytes: u64,
    /// First packet with the flag ACK, and the last that acknowledges more.
    pub first_ack_s: Option<f64>,
    /// The latter.
    pub last_ack_s: Option<f64>,
    /// Goodput of this direction's data, Mbit/s: `acked_bytes` of the other direction, without those of its first ACK
    /// of data, over the time from that ACK to the last one that acknowledges more.
    pub goodput_mbps: Option<f64>,
    /// Episodes of ECE as RFC 3168 means it: from the first ACK with it to the first data segment with CWR, ms.
    pub ece_episode_ms: Option<Distribution>,
    /// What AccECN's feedback in this direction's ACKs says of the other direction's data.
    pub accecn: Option<AccEcnFeedback>,
    /// Retransmissions of this direction's data, by what caused them.
    pub retransmissions: Retransmissions,
    /// Payload of the retransmissions, bytes.
    pub retransmitted_bytes: u64,
    /// D-SACK blocks that this direction received (RFC 2883).
    pub duplicates_reported: u64,
    /// Keepalives, and probes of a closed window.
    pub probes: u64,
    /// Data packets that are in the capture twice, by their IPv4 identification.
    pub captured_twice: u64,
    /// Data segments below the highest sequence number that are not retransmissions.
    pub reordered: u64,
    /// How far behind they came, segments.
    pub reordering_depth: Option<Distribution>,
    /// Jumps of the sequence numbers over data that comes later or never, and their bytes.
    pub holes: u64,
    /// The latter.
    pub hole_bytes: u64,
    /// Sequence numbers that never appear although later ones are acknowledged: lost by the capture, bytes.
    pub missing_bytes: u64,
    /// From the newest segment that an ACK acknowledges to that ACK, if none of those that it acknowledges was sent
    /// again or SACKed before, ms. At the receiver's side this is its own delay.
    pub rtt_seq_ms: Option<Distribution>,
    /// The same from the oldest segment that the ACK acknowledges, so that delayed ACKs are in it: what Linux measures
    /// for its smoothed round trip, and `ss` shows (`tcp_clean_rtx_queue`).
    pub rtt_delayed_ms: Option<Distribution>,
    /// How long its round trips took, as [`crate::rounds`] divides them, without those with pauses, ms: at the receiver,
    /// where acknowledgements follow at once, with all that delayed the data before.
    pub round_ms: Option<Distribution>,
    /// The same at signals, once for each run of round trips with CE or retransmissions but slow start's: a FIFO is full then,
    /// an AQM above its target.
    pub round_at_signals_ms: Option<Distribution>,
    /// From the first packet with a timestamp value to the first that echoes it, ms. Its resolution is the tick of the
    /// clock. Of both directions' means the sum is the whole round trip, wherever the capture was made, unless an end
    /// has pauses.
    pub rtt_ts_ms: Option<Distribution>,
    /// Tick of this direction's timestamp clock, ms.
    pub ts_tick_ms: Option<f64>,
    /// Payload sent and neither acknowledged nor SACKed, at each data packet, bytes.
    pub in_flight_bytes: Option<Distribution>,
    /// Receive window offered by this end, bytes; of scaled windows only where the handshake was captured.
    pub window_bytes: Option<Distribution>,
    /// Packets with a window of zero.
    pub zero_windows: u64,
    /// Packets of ACK alone per data packet of the other direction.
    pub acks_per_data_packet: Option<f64>,
}

/// What AccECN says (RFC 9768).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AccEcnFeedback {
    /// CE-marked packets by the ACE field, each wrap of which is resolved as Linux does without options.
    pub ce_packets_ace: u64,
    /// The same, wraps resolved by the byte counters where an option is there.
    pub ce_packets: u64,
    /// The same if no step of the field hides a wrap.
    pub ce_packets_least: u64,
    /// The same if every step hides as many marks as the segments that it acknowledges allow (RFC 9768 A.2.1).
    pub ce_packets_safe: u64,
    /// Bytes with CE by the option.
    pub ce_bytes: Option<u64>,
    /// Bytes with ECT(1) by the option.
    pub ect1_bytes: Option<u64>,
    /// Bytes with ECT(0) by the option.
    pub ect0_bytes: Option<u64>,
    /// ACKs that carry an option.
    pub options: u64,
    /// Steps of the ACE field that the newly acknowledged segments do not explain unambiguously.
    pub ambiguous: u64,
    /// Options that count bytes with CE where the ACE field has counted no packet.
    pub contradictions: u64,
    /// CE packets that the sender must believe in, less those that this capture shows arriving at the
    /// receiver's side (or leaving the sender's); a difference tells of the path between the capture and the receiver.
    pub excess_over_capture: i64,
}

/// Retransmitted segments, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Retransmissions {
    /// All.
    pub all: u64,
    /// After SACK or three duplicate ACKs.
    pub fast: u64,
    /// After a silence of the retransmission timeout, and what was under way then.
    pub rto: u64,
    /// Of the last segment, some round trips after it: tail loss probes (RFC 8985 7).
    pub tlp: u64,
    /// For a reason that the capture does not show.
    pub other: u64,
    /// Those of all whose data had arrived: a D-SACK or an echoed timestamp says so (RFC 2883, RFC 3522).
    pub spurious: u64,
}

/// How a TCP connection began and ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Connection {
    /// The SYN is in the capture.
    pub syn: bool,
    /// So is the SYN/ACK.
    pub syn_ack: bool,
    /// AE, CWR, ECE of the SYN, as "111".
    pub syn_flags: Option<String>,
    /// Those of the SYN/ACK.
    pub syn_ack_flags: Option<String>,
    /// Those of the ACK that completes the handshake, if it has no data.
    pub third_ack_flags: Option<String>,
    /// ECN field of the IP header of the SYN, 0 to 3.
    pub syn_codepoint: Option<u8>,
    /// And of the SYN/ACK.
    pub syn_ack_codepoint: Option<u8>,
    /// What feedback the two agreed on; absent where neither handshake nor options show it.
    pub ecn: Option<EcnMode>,
    /// From SYN to SYN/ACK, ms.
    pub syn_rtt_ms: Option<f64>,
    /// From SYN to the ACK of the SYN/ACK, ms.
    pub handshake_ms: Option<f64>,
    /// SYN and SYN/ACK packets that were repeated.
    pub syn_retransmissions: u64,
    /// Those of them that are SYN/ACKs.
    pub syn_ack_retransmissions: u64,
    /// Maximum segment sizes of SYN and SYN/ACK.
    pub mss: [Option<u16>; 2],
    /// Window scales.
    pub window_scale: [Option<u8>; 2],
    /// Both offered selective acknowledgements.
    pub sack: bool,
    /// Both sent timestamps.
    pub timestamps: bool,
    /// A FIN was seen in each direction.
    pub fin: [bool; 2],
    /// A reset was seen.
    pub reset: bool,
}

/// Feedback of ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EcnMode {
    /// None was asked for, or none was accepted.
    None,
    /// RFC 3168.
    Classic,
    /// RFC 9768.
    AccEcn,
    /// Flags or codepoints of the handshake changed on the way, or are none that a standard knows.
    Mangled,
}

/// What packets were carried in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tunnel {
    /// `ipip`, `gre`, `vxlan`.
    pub kind: String,
    /// Inner packets with ECT whose outer header has none.
    pub ect_hidden: u64,
    /// Outer CE whose inner packet has none: it is lost unless the decapsulator copies it (RFC 6040).
    pub outer_ce: u64,
}

/// Which congestion control it looks like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Which.
    pub family: Family,
    /// Part of the window that is left after a signal, at the median of those that tell: a half of Reno's (RFC 5681 3.1), 0.7
    /// of CUBIC's (RFC 9438 4.6). None where the answer comes from elsewhere.
    pub kept: Option<f64>,
    /// What speaks for it, in one line with numbers.
    pub evidence: String,
}

/// Families of congestion control, by how they answer signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Halves, or nearly, once per round trip with a signal: Reno, CUBIC.
    Classic,
    /// Reduces in proportion to the marks: DCTCP, Prague, SCReAM with L4S.
    Scalable,
    /// Reduces a little for each SCE mark.
    Sce,
    /// Paced by a model of the path, with probes of bandwidth and round trip.
    BbrLike,
    /// Answers no signal.
    Unresponsive,
}

/// One line that says what is wrong, or right.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// Its name, such as `l4s-works` or `bleached`.
    pub kind: String,
    /// What it means, one line.
    pub text: String,
    /// The numbers that show it.
    pub evidence: String,
}
