//! A packet as queues see it: 40 bytes of `Copy` metadata. The header and payload live elsewhere
//! (in the simulator's slab, in the middlebox's buffers) under [`Packet::id`].

use crate::ecn::Ecn;
use crate::units::Time;

/// One direction of one flow, the stand-in for a 5-tuple. Even ids are forward directions; the
/// reverse direction of `f` is `f ^ 1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl FlowId {
    /// The id of the same flow's other direction.
    #[inline]
    pub const fn reversed(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// Whether packets of this id travel from the flow's opener to its peer.
    #[inline]
    pub const fn is_forward(self) -> bool {
        self.0 & 1 == 0
    }
}

/// What a packet carries, as far as a queue may look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// TCP with payload.
    #[default]
    TcpData,
    /// TCP without payload, SYN, FIN or RST: what ACK filters may touch.
    TcpAck,
    /// TCP SYN, FIN or RST without payload.
    TcpControl,
    /// UDP of any sort.
    Udp,
    /// ICMP echo and errors.
    Icmp,
}

/// Metadata of one packet in a queue.
///
/// The order is that in memory. It keeps words whole beside the one byte that every queue looks at, the
/// kind, which also tells `Some` from `None`: with an odd number of bytes before it, copies are made of
/// overlapping words and wait for each other.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Packet {
    /// When the queue that now holds the packet received it. Every leaf queue sets it on enqueue.
    pub stamp: Time,
    /// Where the owner keeps header and payload.
    pub id: u32,
    /// Direction of a flow.
    pub flow: FlowId,
    /// Hash of the 5-tuple, as `skb_get_hash` gives it to flow-queuing disciplines.
    pub hash: u32,
    /// Bytes of the layer-2 frame without FCS and preamble: the `pkt_len` that every qdisc uses
    /// (1500-byte IP packet: 1514).
    pub len: u32,
    /// Cumulative acknowledgement (low 32 bits), for ACK filters; of a tunnel's outer packet its
    /// sequence number.
    pub ack: u32,
    /// Bytes reported in SACK blocks, for ACK filters.
    pub sacked: u32,
    /// Source host, for host isolation.
    pub src: u16,
    /// Destination host, for host isolation.
    pub dst: u16,
    /// Protocol class.
    pub kind: Kind,
    /// DSCP and ECN.
    pub tos: u8,
    /// TCP flags AE, CWR, ECE in bits 2, 1, 0, which ACK filters compare and middleboxes clear;
    /// above them the bits of [`Packet::take_side`], [`Packet::is_syn`], [`Packet::is_syn_ack`] and
    /// [`Packet::is_corrupt`].
    pub ace: u8,
    /// Segments in this packet: more than 1 in a super-packet (GSO).
    pub segs: u8,
}

impl Packet {
    /// What tells connections apart exactly: a flow may have several at once, and those of one
    /// flow differ in their hash.
    #[inline]
    pub const fn connection(&self) -> (FlowId, u32) {
        (self.flow, self.hash)
    }

    /// The ECN codepoint.
    #[inline]
    pub const fn ecn(&self) -> Ecn {
        Ecn::from_tos(self.tos)
    }

    /// Writes the ECN codepoint and keeps the DSCP.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.tos = ecn.on_tos(self.tos);
    }

    /// Linux `INET_ECN_set_ce`: false if the packet is Not-ECT and must be dropped instead; true
    /// for a packet that already carries CE, which Linux counts as a mark again.
    #[inline]
    #[must_use]
    pub fn set_ce(&mut self) -> bool {
        let capable = self.ecn().is_capable();
        if capable {
            self.set_ecn(Ecn::Ce);
        }
        capable
    }

    /// SCE's mark (draft-morton-tsvwg-sce), ECT(0) to ECT(1): false, without change, for every
    /// other codepoint.
    #[inline]
    #[must_use]
    pub fn set_sce(&mut self) -> bool {
        let markable = self.ecn() == Ecn::Ect0;
        if markable {
            self.set_ecn(Ecn::Ect1);
        }
        markable
    }

    /// Notes a bit error, which the checksum of the receiving host will find.
    #[inline]
    pub fn set_corrupt(&mut self) {
        self.ace |= CORRUPT;
    }

    /// Whether a bit error has happened on the way; a host discards the packet.
    #[inline]
    pub const fn is_corrupt(&self) -> bool {
        self.ace & CORRUPT != 0
    }

    /// AE, CWR and ECE in bits 2, 1, 0.
    #[inline]
    pub const fn ecn_flags(&self) -> u8 {
        self.ace & ECN_FLAGS
    }

    /// Clears TCP's CWR flag.
    #[inline]
    pub fn clear_cwr(&mut self) {
        self.ace &= !CWR;
    }

    /// Notes the SYN flag; with `ack` that of a SYN/ACK.
    #[inline]
    pub fn set_syn(&mut self, ack: bool) {
        self.ace |= if ack { SYN_ACK } else { SYN };
    }

    /// Notes which queue of a dual queue it leaves.
    #[inline]
    pub fn set_side(&mut self, side: Side) {
        self.ace = (self.ace & !SIDES) | ((side as u8) << SIDE_SHIFT);
    }

    /// The queue of a dual queue that it has just left; it is forgotten, since it tells nothing
    /// beyond that port.
    #[inline]
    pub fn take_side(&mut self) -> Side {
        let side = match (self.ace & SIDES) >> SIDE_SHIFT {
            0 => Side::None,
            1 => Side::L4s,
            _ => Side::Classic,
        };
        self.ace &= !SIDES;
        side
    }

    /// Whether this TCP packet has SYN set and ACK clear.
    #[inline]
    pub const fn is_syn(&self) -> bool {
        self.ace & SYN != 0
    }

    /// Whether this TCP packet has SYN and ACK set.
    #[inline]
    pub const fn is_syn_ack(&self) -> bool {
        self.ace & SYN_ACK != 0
    }
}

/// A queue of a dual queue (RFC 9332).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Side {
    /// The discipline has one queue, or none of these.
    #[default]
    None,
    /// L, the low-latency queue.
    L4s,
    /// C, the Classic queue.
    Classic,
}

/// The bits of `ace` that hold the [`Side`].
const SIDE_SHIFT: u8 = 3;
const SIDES: u8 = 0b11 << SIDE_SHIFT;
/// The bits of `ace` that hold AE, CWR and ECE.
const ECN_FLAGS: u8 = 0b111;
const CWR: u8 = 0b010;
/// The bits of `ace` that say what else a queue or a middlebox may want to know.
const SYN: u8 = 0x20;
const SYN_ACK: u8 = 0x40;
const CORRUPT: u8 = 0x80;

#[cfg(test)]
mod tests;
