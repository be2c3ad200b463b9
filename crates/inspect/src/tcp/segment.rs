//! A segment as the analysis takes it: read from what a capture kept of the packet, and kept itself in little
//! memory.

use sojourn_core::Ecn;
use sojourn_wire::options::Options;
use sojourn_wire::tcp::{ACK, FIN, HEADER_BYTES, RST, SYN};

use crate::Packet;

/// A segment, without the options that few segments have: three quarters of a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Since the first packet of the capture, ns.
    pub(crate) at: u64,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    /// Bytes of data.
    pub(crate) data: u32,
    pub(crate) ip_len: u32,
    /// Timestamp value and echo reply.
    pub(crate) timestamps: Option<(u32, u32)>,
    /// IPv4 identification, 0 of IPv6.
    pub(crate) id: u16,
    /// AE (256) down to FIN (1).
    pub(crate) flags: u16,
    /// As it is in the header.
    pub(crate) window: u16,
    pub(crate) ecn: Ecn,
    /// From the opener.
    pub(crate) forward: bool,
    /// The capture does not have all of its options.
    pub(crate) is_cut: bool,
    /// It has other options than timestamps.
    pub(crate) has_options: bool,
}

impl Segment {
    /// Reads one, and its options where there are others than timestamps. None if not even the fixed part of the header
    /// is there, or its length is not possible.
    #[inline]
    pub(crate) fn parse(packet: &Packet<'_>) -> Option<(Self, Option<Options>)> {
        let header = packet.payload.first_chunk::<HEADER_BYTES>()?;
        let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
        let header_len = usize::from(header[12] >> 4) * 4;
        if header_len < HEADER_BYTES || header_len > packet.payload_len as usize {
            return None;
        }
        let kept = &packet.payload[HEADER_BYTES..header_len.min(packet.payload.len())];
        let is_cut = packet.payload.len() < header_len;
        let (timestamps, options) = options(kept, is_cut);
        let segment = Self {
            at: packet.at,
            seq: word(4),
            ack: word(8),
            data: packet.payload_len - header_len as u32,
            ip_len: packet.ip_len,
            timestamps,
            id: packet.id,
            flags: half(12) & 0x1ff,
            window: half(14),
            ecn: packet.ecn,
            forward: packet.forward,
            is_cut,
            has_options: options.is_some(),
        };
        Some((segment, options))
    }

    #[inline]
    pub(crate) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// It is a SYN of an active open.
    pub(crate) fn opens(&self) -> bool {
        self.flags & (SYN | ACK | RST) == SYN
    }

    /// FIN or RST.
    pub(crate) fn closes(&self) -> bool {
        self.has(FIN | RST)
    }

    /// AE, CWR and ECE in bits 2, 1, 0.
    pub(crate) fn ace(&self) -> u8 {
        (self.flags >> 6 & 7) as u8
    }

    /// Whether it is from the end that opened the connection, of which it is the first segment. A SYN says it; else
    /// the other end is the one with a system port (RFC 6335 6, below 1024), if only one has; else the sender is it.
    pub(crate) fn is_from_opener(&self, (source, destination): (u16, u16)) -> bool {
        if self.has(SYN) {
            return !self.has(ACK);
        }
        source >= 1024 || destination < 1024
    }
}

/// Timestamps, and options where there are others, as far as they are there and whole.
#[inline]
fn options(bytes: &[u8], is_cut: bool) -> (Option<(u32, u32)>, Option<Options>) {
    // What nearly all segments have: two NOPs and timestamps (RFC 7323 appendix A).
    if let [1, 1, 8, 10, rest @ ..] = bytes
        && let Some((values, [])) = rest.split_first_chunk::<8>()
    {
        let word = |at: usize| {
            u32::from_be_bytes([values[at], values[at + 1], values[at + 2], values[at + 3]])
        };
        return (Some((word(0), word(4))), None);
    }
    if bytes.is_empty() {
        return (None, None);
    }
    let options = any_options(bytes, is_cut);
    (options.timestamps, (!options.is_plain()).then_some(options))
}

fn any_options(bytes: &[u8], is_cut: bool) -> Options {
    if !is_cut {
        return Options::parse(bytes).unwrap_or_default();
    }
    let mut whole = 0;
    while let Some(rest) = bytes.get(whole..).filter(|rest| !rest.is_empty()) {
        let len = match *rest {
            [0 | 1, ..] => 1,
            [_, len, ..] if len >= 2 && usize::from(len) <= rest.len() => usize::from(len),
            _ => break,
        };
        whole += len;
    }
    Options::parse(&bytes[..whole]).unwrap_or_default()
}

/// Segments that wait for their analysis. Options other than timestamps, which few segments of a short connection
/// have, are kept apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    segments: Vec<Segment>,
    /// Of those that say so, in their order.
    options: Vec<Options>,
}

impl Kept {
    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    /// Makes room for this many more.
    pub(crate) fn reserve(&mut self, many: usize) {
        self.segments.reserve_exact(many);
    }

    #[inline]
    pub(crate) fn push(&mut self, segment: &Segment, options: Option<&Options>) {
        if let Some(options) = options {
            self.options.reserve_exact(1);
            self.options.push(*options);
        }
        if self.segments.len() == self.segments.capacity() {
            self.segments.reserve_exact(4);
        }
        self.segments.push(*segment);
    }

    /// Gives all in their order, each with its options other than timestamps, and keeps the memory.
    #[inline]
    pub(crate) fn drain(&mut self, mut take: impl FnMut(&Segment, &Options)) {
        let none = Options::default();
        let mut apart = self.options.iter();
        for segment in &self.segments {
            let found = if segment.has_options { apart.next() } else { None };
            take(segment, found.unwrap_or(&none));
        }
        self.segments.clear();
        self.options.clear();
    }
}

#[cfg(test)]
mod tests;
