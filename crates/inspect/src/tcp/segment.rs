//! A segment as the analysis takes it: read from what a capture kept of the packet, and kept itself in little
//! memory.

use sojourn_core::Ecn;
use sojourn_wire::options::Options;
use sojourn_wire::tcp::{ACK, FIN, HEADER_BYTES, RST, SYN};

use crate::Packet;

/// A segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Since the first packet of the capture, ns.
    pub(crate) at: u64,
    /// From the opener.
    pub(crate) forward: bool,
    pub(crate) ecn: Ecn,
    pub(crate) ip_len: u32,
    /// IPv4 identification, 0 of IPv6.
    pub(crate) id: u16,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    /// AE (256) down to FIN (1).
    pub(crate) flags: u16,
    /// As it is in the header.
    pub(crate) window: u16,
    /// Bytes of data.
    pub(crate) data: u32,
    /// Those that were kept of the packet.
    pub(crate) options: Options,
    /// The capture does not have all of its options.
    pub(crate) is_cut: bool,
}

impl Segment {
    /// Reads one; None if not even the fixed part of the header is there, or its length is not possible.
    pub(crate) fn parse(packet: &Packet<'_>) -> Option<Self> {
        let header = packet.payload.first_chunk::<HEADER_BYTES>()?;
        let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
        let header_len = usize::from(header[12] >> 4) * 4;
        if header_len < HEADER_BYTES || header_len > packet.payload_len as usize {
            return None;
        }
        let kept = &packet.payload[HEADER_BYTES..header_len.min(packet.payload.len())];
        let is_cut = packet.payload.len() < header_len;
        Some(Self {
            at: packet.at,
            forward: packet.forward,
            ecn: packet.ecn,
            ip_len: packet.ip_len,
            id: packet.id,
            seq: word(4),
            ack: word(8),
            flags: half(12) & 0x1ff,
            window: half(14),
            data: packet.payload_len - header_len as u32,
            options: options(kept, is_cut),
            is_cut,
        })
    }

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

/// Options as far as they are there and whole.
fn options(bytes: &[u8], is_cut: bool) -> Options {
    // What nearly all segments have: two NOPs and timestamps (RFC 7323 appendix A).
    if let [1, 1, 8, 10, rest @ ..] = bytes
        && let Some((values, [])) = rest.split_first_chunk::<8>()
    {
        let word = |at: usize| {
            u32::from_be_bytes([values[at], values[at + 1], values[at + 2], values[at + 3]])
        };
        return Options { timestamps: Some((word(0), word(4))), ..Options::default() };
    }
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
    segments: Vec<Short>,
    /// Of those that say so, in their order.
    options: Vec<Options>,
}

/// A segment without its options: three quarters of a cache line.
#[derive(Clone, Copy, Debug)]
struct Short {
    at: u64,
    seq: u32,
    ack: u32,
    data: u32,
    ip_len: u32,
    timestamps: Option<(u32, u32)>,
    id: u16,
    flags: u16,
    window: u16,
    ecn: Ecn,
    forward: bool,
    is_cut: bool,
    /// It has other options than timestamps.
    has_options: bool,
}

impl Kept {
    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    /// Makes room for this many more.
    pub(crate) fn reserve(&mut self, many: usize) {
        self.segments.reserve_exact(many);
    }

    pub(crate) fn push(&mut self, segment: &Segment) {
        let &Segment {
            at,
            forward,
            ecn,
            ip_len,
            id,
            seq,
            ack,
            flags,
            window,
            data,
            options,
            is_cut,
        } = segment;
        let has_options = !options.is_plain();
        if has_options {
            self.options.reserve_exact(1);
            self.options.push(options);
        }
        self.segments.reserve_exact(if self.segments.len() == self.segments.capacity() {
            4
        } else {
            0
        });
        self.segments.push(Short {
            at,
            seq,
            ack,
            data,
            ip_len,
            timestamps: options.timestamps,
            id,
            flags,
            window,
            ecn,
            forward,
            is_cut,
            has_options,
        });
    }

    /// Gives all in their order, and keeps the memory.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(&Segment)) {
        let mut apart = self.options.drain(..);
        for short in self.segments.drain(..) {
            let Short {
                at,
                seq,
                ack,
                data,
                ip_len,
                timestamps,
                id,
                flags,
                window,
                ecn,
                forward,
                is_cut,
                has_options,
            } = short;
            let found = if has_options { apart.next() } else { None };
            let options = found.unwrap_or_else(|| Options { timestamps, ..Options::default() });
            take(&Segment {
                at,
                forward,
                ecn,
                ip_len,
                id,
                seq,
                ack,
                flags,
                window,
                data,
                options,
                is_cut,
            });
        }
    }
}

#[cfg(test)]
mod tests;
