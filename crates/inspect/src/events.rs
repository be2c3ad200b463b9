//! Every packet of a flow as plotters need it: sequence numbers without wraps, what was marked, what was sent again.
//!
//! One column for each property, so that a capture of millions of packets takes tens of bytes for each.

use crate::facts::Facts;

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

impl Events {
    /// Appends a segment of TCP; `near` gives the number of a SACK block's edge without wraps.
    pub(crate) fn record(
        &mut self,
        facts: &Facts,
        blocks: &[(u32, u32)],
        near: impl Fn(u32) -> i64,
    ) {
        let index = self.t_ns.len() as u32;
        self.t_ns.push(facts.at);
        self.backward.push(!facts.forward);
        self.ecn.push(facts.ecn as u8);
        self.flags.push(facts.flags);
        self.window.push(facts.window);
        let (data, ack) = (facts.data, facts.ack);
        self.seq.push(data.map_or(0, |data| data.seq));
        self.len.push(data.map_or(0, |data| data.len));
        self.again.push(data.map_or(Again::New, |data| data.again));
        self.ack.push(ack.map_or(-1, |ack| ack.ack));
        self.rtt_ns.push(ack.and_then(|ack| ack.rtt).unwrap_or(0));
        self.ce_reported.push(ack.map_or(0, |ack| ack.ce));
        let in_flight = data.map(|data| data.in_flight).or_else(|| ack.map(|ack| ack.in_flight));
        self.in_flight.push(in_flight.unwrap_or(0).min(u64::from(u32::MAX)) as u32);
        self.sacks.extend(blocks.iter().map(|&(left, right)| (index, near(left), near(right))));
    }
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
    /// Sent again for a reason that the capture does not show.
    Unknown,
    /// A keepalive, a probe of a closed window, or a packet that was captured twice: no retransmission.
    Probe,
}
