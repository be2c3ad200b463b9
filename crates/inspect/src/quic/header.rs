//! Headers of QUIC: what no version may change (RFC 8999), and what versions 1 (RFC 9000) and 2 (RFC 9369) say.

/// Version 1 (RFC 9000 15).
pub(super) const V1: u32 = 1;
/// Version 2 (RFC 9369 3.1).
pub(super) const V2: u32 = 0x6b33_43cf;
/// Drafts 29 to 34, whose packets are those of version 1.
pub(super) const DRAFTS: std::ops::RangeInclusive<u32> = 0xff00_001d..=0xff00_0022;
/// Longest connection ID (RFC 9000 17.2).
pub(super) const LONGEST_ID: usize = 20;

const LONG: u8 = 0x80;
const FIXED: u8 = 0x40;
const SPIN: u8 = 0x20;

/// A connection ID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Id {
    len: u8,
    bytes: [u8; LONGEST_ID],
}

impl Id {
    pub(super) fn new(bytes: &[u8]) -> Option<Self> {
        let mut id = Self { len: bytes.len() as u8, bytes: [0; LONGEST_ID] };
        id.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(id)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    pub(super) fn hex(&self) -> String {
        self.bytes().iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
    }
}

/// Types of long headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Initial,
    ZeroRtt,
    Handshake,
    Retry,
}

/// A packet of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packet<'a> {
    Long(Long<'a>),
    VersionNegotiation {
        destination: Id,
        source: Id,
    },
    /// Of a version that is not known: nothing behind its header is readable.
    Other {
        version: u32,
        destination: Id,
        source: Id,
    },
    Short {
        spin: bool,
    },
}

/// A packet with a long header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Long<'a> {
    pub(super) kind: Kind,
    pub(super) version: u32,
    pub(super) destination: Id,
    pub(super) source: Id,
    /// From the first byte, as far as the capture has it.
    pub(super) bytes: &'a [u8],
    /// Where the packet number begins; of a retry, where its token does.
    pub(super) number_at: usize,
    /// Bytes that it has.
    pub(super) len: usize,
}

/// The packets of a datagram of `len` bytes, of which some may have been kept.
pub(super) struct Packets<'a> {
    rest: &'a [u8],
    len: usize,
}

impl<'a> Packets<'a> {
    pub(super) fn new(payload: &'a [u8], len: usize) -> Self {
        Self { rest: payload, len }
    }
}

impl<'a> Iterator for Packets<'a> {
    type Item = Packet<'a>;

    fn next(&mut self) -> Option<Packet<'a>> {
        let (packet, len) = read(self.rest, self.len)?;
        // RFC 9000 12.2: a packet without a length is the last one.
        self.rest = self.rest.get(len..).unwrap_or_default();
        self.len -= len;
        Some(packet)
    }
}

/// The first packet, and its bytes.
fn read(bytes: &[u8], len: usize) -> Option<(Packet<'_>, usize)> {
    let first = *bytes.first()?;
    if first & LONG == 0 {
        return (first & FIXED != 0).then_some((Packet::Short { spin: first & SPIN != 0 }, len));
    }
    let mut cursor = Cursor { bytes, at: 1 };
    let version = cursor.take(4)?.iter().fold(0, |all, byte| all << 8 | u32::from(*byte));
    let destination = cursor.id()?;
    let source = cursor.id()?;
    if version == 0 {
        return Some((Packet::VersionNegotiation { destination, source }, len));
    }
    let Some(kind) = kind(version, first) else {
        return Some((Packet::Other { version, destination, source }, len));
    };
    if kind == Kind::Initial {
        let token = cursor.varint()?;
        cursor.take(usize::try_from(token).ok()?)?;
    }
    let end = if kind == Kind::Retry {
        len
    } else {
        let rest = usize::try_from(cursor.varint()?).ok()?;
        cursor.at.checked_add(rest)?
    };
    if end > len || end < cursor.at {
        return None;
    }
    let bytes = &bytes[..end.min(bytes.len())];
    let number_at = cursor.at;
    let long = Long { kind, version, destination, source, bytes, number_at, len: end };
    Some((Packet::Long(long), end))
}

/// RFC 9000 17.2, RFC 9369 3.2; none of other versions, and without the bit that both have fixed.
fn kind(version: u32, first: u8) -> Option<Kind> {
    const KINDS: [Kind; 4] = [Kind::Initial, Kind::ZeroRtt, Kind::Handshake, Kind::Retry];
    let bits = usize::from(first >> 4 & 3);
    let is_fixed = first & FIXED != 0;
    match version {
        _ if !is_fixed => None,
        V2 => Some(KINDS[(bits + 3) % 4]),
        V1 => Some(KINDS[bits]),
        _ if DRAFTS.contains(&version) => Some(KINDS[bits]),
        _ => None,
    }
}

/// Reads on from a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(len)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// RFC 9000 16.
    pub(super) fn varint(&mut self) -> Option<u64> {
        let first = *self.take(1)?.first()?;
        let rest = self.take((1 << (first >> 6)) - 1)?;
        Some(rest.iter().fold(u64::from(first & 0x3f), |all, byte| all << 8 | u64::from(*byte)))
    }

    /// RFC 8999 5.1; longer ones than version 1 allows are not read.
    fn id(&mut self) -> Option<Id> {
        let len = *self.take(1)?.first()?;
        Id::new(self.take(len.into())?)
    }
}

#[cfg(test)]
mod tests;
