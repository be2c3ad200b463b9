//! Every packet of a flow as plotters need it: sequence numbers without wraps, what was marked, what was sent again.
//!
//! One column for each property, so that a capture of millions of packets takes tens of bytes for each.

/// Packets of all flows that are kept; those beyond are counted ([`Events::left_out`]).
pub const MOST: usize = 20_000_000;

/// The packets of one flow in the order of the capture; all columns have one length, but those of `sacks`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Events {
    /// Since the first packet of the capture, ns.
    pub t_ns: Vec<u64>,
    /// From the peer to the opener.
    pub backward: Vec<bool>,
    /// The ECN field of the IP header, 0 to 3.
    pub ecn: Vec<u8>,
    /// TCP's flags, AE (256) down to FIN (1); 0 of other protocols.
    pub flags: Vec<u16>,
    /// First byte of the payload, from the initial sequence number on and without wraps, so that the first byte of
    /// data is 1; of datagrams the payload that its direction sent before; of RTP the sequence number.
    pub seq: Vec<i64>,
    /// Payload, bytes.
    pub len: Vec<u32>,
    /// Acknowledgement number, as `seq` of the other direction; -1 without one.
    pub ack: Vec<i64>,
    /// Receive window, scaled, bytes; 0 of other protocols.
    pub window: Vec<u32>,
    /// Why it is a copy of data that was sent before.
    pub again: Vec<Again>,
    /// The round trip that this ACK or report completes, ns; 0 without one.
    pub rtt_ns: Vec<u64>,
    /// CE marks that this ACK or report tells of for the first time: packets by AccECN or RFC 8888, with classic feedback
    /// the segments that it acknowledges with ECE.
    pub ce_reported: Vec<u32>,
    /// Payload of the packet's direction under way after it, bytes; of an ACK that of the other direction.
    pub in_flight: Vec<u32>,
    /// Blocks of selective acknowledgement: index of the packet, first byte, byte after the last.
    pub sacks: Vec<(u32, i64, i64)>,
    /// Packets that were too many to keep.
    pub left_out: u64,
}

/// What a packet with payload is, of those that [`crate::report::Retransmissions`] counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Again {
    /// New data, or no data.
    #[default]
    New,
    /// Sent again after SACK or duplicate ACKs.
    Fast,
    /// After a timeout.
    Rto,
    /// A tail loss probe.
    Tlp,
    /// New data behind later data: reordered.
    Late,
}
