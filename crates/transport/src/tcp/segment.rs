//! A TCP segment's header fields.

use sojourn_core::Time;

/// Layer-2 and layer-3/4 headers without options: Ethernet 14, IPv4 20, TCP 20.
const HEADERS: u32 = 54;
/// Timestamps option with padding.
const TIMESTAMPS: u32 = 12;
/// SACK option: two bytes of padding, kind and length, eight per block.
const SACK_BASE: u32 = 4;

/// Control flags other than ECN's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Synchronise.
    pub syn: bool,
    /// No more data: occupies the sequence number after the payload.
    pub fin: bool,
    /// The acknowledgement field is valid.
    pub ack: bool,
    /// A message of the application's control connection, which shares this flow's path.
    pub control: bool,
    /// Push: the sender has no more for the moment.
    pub psh: bool,
}

/// AccECN option with three counters and padding.
pub(crate) const ACCECN_OPTION: u32 = 12;
/// What an AccECN option says of nothing (RFC 9768 3.2.1): bytes with ECT(0), CE and ECT(1).
pub(crate) const FRESH_COUNTERS: [u32; 3] = [1, 0, 1];

/// SACK blocks, newest first; a duplicate report (RFC 2883) comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u64, u64); 3],
    len: u8,
    /// The first block reports a duplicate.
    pub duplicate: bool,
}

impl SackBlocks {
    /// Appends a block, ignored when three are there.
    pub fn push(&mut self, block: (u64, u64)) {
        if usize::from(self.len) < self.blocks.len() {
            self.blocks[usize::from(self.len)] = block;
            self.len += 1;
        }
    }

    /// Leaves out all blocks but the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len as u8);
    }

    /// The blocks that report received, unacknowledged data.
    pub fn holes_above(&self) -> &[(u64, u64)] {
        &self.blocks[usize::from(self.duplicate)..usize::from(self.len)]
    }

    /// All blocks as they are in the option.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Whether the option is absent.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// One segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// First payload byte; the SYN is byte 0.
    pub seq: u64,
    /// Next byte expected from the peer.
    pub ack: u64,
    /// Payload bytes.
    pub len: u32,
    /// Payload bytes of each segment of a super-packet, the last of which may be shorter; 0 of one
    /// segment alone. Of a SYN from the wire the largest payload without options that its sender takes.
    pub gso_size: u32,
    /// Receive window in bytes, unscaled: at most 2^30 on the wire (RFC 7323 2.3).
    pub window: u32,
    /// SYN and ACK.
    pub flags: Flags,
    /// AE, CWR and ECE in bits 2, 1, 0: flags of RFC 3168, or the ACE counter of AccECN.
    pub ace: u8,
    /// SACK option.
    pub sack: SackBlocks,
    /// Timestamp value: the sender's clock; [`Time::NEVER`] without one.
    pub tsval: Time,
    /// Timestamp echo; [`Time::NEVER`] without one.
    pub tsecr: Time,
    /// Bytes received with ECT(0), CE, ECT(1) (AccECN option).
    pub accecn: Option<[u32; 3]>,
    /// Which of a flow's connections, the stand-in for a port number; 0 if it has only one.
    pub connection: u32,
}

impl Segment {
    /// Segments in this (super-)packet.
    pub fn segments(&self) -> u32 {
        if self.gso_size == 0 { 1 } else { self.len.div_ceil(self.gso_size).max(1) }
    }

    /// Segment number `index` of a super-packet as it leaves when that is split: CWR goes with the
    /// first one, FIN with the last.
    #[must_use]
    pub fn split(&self, index: u32) -> Self {
        let offset = index * self.gso_size;
        let last = index + 1 == self.segments();
        let Flags { fin, psh, .. } = self.flags;
        Self {
            seq: self.seq + u64::from(offset),
            len: self.gso_size.min(self.len - offset),
            gso_size: 0,
            flags: Flags { fin: fin && last, psh: psh && last, ..self.flags },
            ace: if index == 0 { self.ace } else { self.ace & !CWR },
            ..*self
        }
    }

    /// Layer-2 bytes on Ethernet without FCS. Each segment of a super-packet has its headers, as
    /// Linux's `qdisc_pkt_len` counts them.
    pub fn frame_len(&self, timestamps: bool) -> u32 {
        let mut options = if timestamps { TIMESTAMPS } else { 0 };
        if self.flags.syn {
            options += 8; // MSS, window scale, SACK permitted share the timestamps' padding
        }
        if !self.sack.is_empty() {
            options += SACK_BASE + 8 * self.sack.as_slice().len() as u32;
        }
        if self.accecn.is_some() {
            // Two blocks leave room for two of the three counters.
            let is_short = timestamps && self.sack.as_slice().len() == 2;
            options += if is_short { 8 } else { ACCECN_OPTION };
        }
        (HEADERS + options) * self.segments() + self.len
    }

    /// Whether it was sent before the timestamp `recent` by more than the millisecond that Linux grants
    /// (`TCP_PAWS_WINDOW`). Its timestamps count milliseconds.
    pub(crate) fn is_before(&self, recent: Time) -> bool {
        let ms = |t: Time| t.0 / 1_000_000;
        recent != Time::NEVER && ms(self.tsval) + 1 < ms(recent)
    }

    /// First sequence number after the payload and FIN.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.flags.fin)
    }
}

/// ECE in [`Segment::ace`].
pub(crate) const ECE: u8 = 1;
/// CWR in [`Segment::ace`].
pub(crate) const CWR: u8 = 2;
/// AE (formerly NS) in [`Segment::ace`].
pub(crate) const AE: u8 = 4;
