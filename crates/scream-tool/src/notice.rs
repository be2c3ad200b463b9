//! What the two ends send each other beside media and reports, so that the original's ends are not
//! disturbed: its receiver prints texts on its screen and does nothing else with them, its sender looks
//! for report blocks behind eight bytes and finds none in an RTCP packet of twelve.

use std::fmt;

/// RTCP of an application (RFC 3550 6.7) without data: version and subtype, type, length in words
/// less one; then a number in place of the SSRC, and a name.
const HEAD: [u8; 4] = [0x80, 204, 0, 2];
const BUSY: [u8; 4] = *b"BUSY";
const FULL: [u8; 4] = *b"FULL";

/// Bytes of a reply: no more than any packet of a sender has.
pub(super) const REPLY_BYTES: usize = 12;

/// What the receiver sends a sender beside reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// It has another sender. Who gives the challenge back ([`Notice::Answer`]) has the address that
    /// its packets come from.
    Busy(u32),
    /// Packets that its machine threw away so far, since it did not read them in time.
    Full(u32),
}

impl Reply {
    pub(super) fn bytes(self) -> [u8; REPLY_BYTES] {
        let (number, name) = match self {
            Self::Busy(challenge) => (challenge, BUSY),
            Self::Full(packets) => (packets, FULL),
        };
        let mut out = [0; REPLY_BYTES];
        for (to, part) in out.chunks_exact_mut(4).zip([HEAD, number.to_be_bytes(), name]) {
            to.copy_from_slice(&part);
        }
        out
    }

    /// Reads a datagram; none: it is something else, a report most likely.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; REPLY_BYTES] = bytes.try_into().ok()?;
        let part = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        let number = u32::from_be_bytes(part(4));
        match (part(0), part(8)) {
            (HEAD, BUSY) => Some(Self::Busy(number)),
            (HEAD, FULL) => Some(Self::Full(number)),
            _ => None,
        }
    }
}

/// What the sender sends the receiver as a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// The run is over.
    Ends,
    /// Packets that the sender itself threw away since it first heard of the receiver.
    Discarded(u64),
    /// The challenge of a busy receiver.
    Answer(u32),
}

const ENDS: &str = "sender ends";
const DISCARDED: &str = "sender discarded packets: ";
const ANSWERS: &str = "sender answers ";

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ends => f.write_str(ENDS),
            Self::Discarded(packets) => write!(f, "{DISCARDED}{packets}"),
            Self::Answer(challenge) => write!(f, "{ANSWERS}{challenge:08x}"),
        }
    }
}

impl Notice {
    /// Reads a text; none: it is for the screen.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        if text == ENDS {
            return Some(Self::Ends);
        }
        if let Some(packets) = text.strip_prefix(DISCARDED) {
            return packets.parse().ok().map(Self::Discarded);
        }
        let challenge = text.strip_prefix(ANSWERS)?;
        u32::from_str_radix(challenge, 16).ok().map(Self::Answer)
    }
}

#[cfg(test)]
mod tests;
