//! What one segment of TCP meant, after all before it: what series, plots and rounds are made of.

use sojourn_core::Ecn;

use crate::events::Again;

/// A segment and what it says of both directions' data.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Since the first packet of the capture, ns.
    pub at: u64,
    /// From the opener.
    pub forward: bool,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// Its flags, AE (256) down to FIN (1).
    pub flags: u16,
    /// The window that it offers, scaled, bytes.
    pub window: u32,
    /// Its timestamps, the value and the echo (RFC 7323 3).
    pub timestamps: Option<(u32, u32)>,
    /// Its own data.
    pub data: Option<Data>,
    /// What it says of the other direction's data.
    pub ack: Option<Ack>,
}

/// Data of a segment.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// First byte, from the initial sequence number on and without wraps.
    pub seq: i64,
    /// How many.
    pub len: u32,
    /// Why it is not new.
    pub again: Again,
    /// Data of this direction sent and neither acknowledged nor SACKed, with this segment, bytes.
    pub in_flight: u64,
}

/// Feedback of a segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Next byte expected, from the initial sequence number of the other direction on.
    pub ack: i64,
    /// Byte behind the last that it acknowledges or SACKs.
    pub high: i64,
    /// Bytes that it acknowledges for the first time, those that were SACKed before not among them.
    pub acked: u64,
    /// Bytes that its SACK blocks report for the first time.
    pub sacked: u64,
    /// Segments among both.
    pub segments: u32,
    /// It repeats the acknowledgement number, brings no data and opens no window.
    pub is_duplicate: bool,
    /// ECE as RFC 3168 means it; never with AccECN.
    pub ece: bool,
    /// AE as SCE means it; never with AccECN.
    pub esce: bool,
    /// Packets with CE that it reports for the first time: by AccECN, or all segments that it acknowledges with ECE.
    pub ce: u32,
    /// The round trip that it completes, ns: from the oldest segment that it acknowledges, as the sender measures it
    /// ([`crate::report::TcpDirection::rtt_delayed_ms`]); else by timestamps.
    pub rtt: Option<u64>,
    /// Data of the other direction in flight after it, bytes.
    pub in_flight: u64,
}
