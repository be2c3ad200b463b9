//! What the two ends tell each other beside media and reports, so that the original's ends are not
//! disturbed: its receiver prints texts on its screen and does nothing else with them, its sender looks
//! for report blocks behind eight bytes and finds none in an RTCP packet of twelve.

use std::fmt;

/// RTCP of an application (RFC 3550 6.7) without data: version and subtype, type, length in words
/// less one; the SSRC is the challenge, the name is [`NAME`].
const BUSY: [u8; 4] = [0x80, 204, 0, 2];
const NAME: [u8; 4] = *b"BUSY";

/// Bytes of the answer to a sender that the receiver has no time for: less than its packets have.
pub(super) const BUSY_BYTES: usize = 12;

/// The answer to a sender that the receiver has no time for. Who gives the challenge back
/// ([`Notice::Answer`]) has the address that its packets come from.
pub(super) fn busy(challenge: u32) -> [u8; BUSY_BYTES] {
    let mut out = [0; BUSY_BYTES];
    for (to, part) in out.chunks_exact_mut(4).zip([BUSY, challenge.to_be_bytes(), NAME]) {
        to.copy_from_slice(&part);
    }
    out
}

/// The challenge in such an answer.
pub(super) fn challenge(bytes: &[u8]) -> Option<u32> {
    let bytes: &[u8; BUSY_BYTES] = bytes.try_into().ok()?;
    let [challenge, name] =
        [4, 8].map(|at| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    (bytes.starts_with(&BUSY) && name == NAME).then(|| u32::from_be_bytes(challenge))
}

/// What the sender tells the receiver in a text.
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
mod tests {
    use sojourn_core::wire::ccfb::{Counting, Report};

    use super::*;

    #[test]
    fn notices_are_read_as_they_are_written() {
        for notice in [Notice::Ends, Notice::Discarded(12), Notice::Answer(0xab)] {
            assert_eq!(Notice::parse(notice.to_string().as_bytes()), Some(notice));
        }
        for other in ["sender", "sender ends now", "sender answers x", "\u{1b}", ""] {
            assert_eq!(Notice::parse(other.as_bytes()), None, "{other}");
        }
        assert_eq!(challenge(&busy(0x0102_0304)), Some(0x0102_0304));
        for n in 0..BUSY_BYTES {
            assert_eq!(challenge(&busy(7)[..n]), None);
        }
    }

    #[test]
    fn a_busy_answer_is_no_report_and_has_no_room_for_the_originals_blocks() {
        assert!(Report::parse(&busy(7), &mut Counting::default()).is_err());
        // The original reads blocks from byte 8 to the four bytes of the time stamp.
        assert_eq!(BUSY_BYTES, 8 + 4);
        assert_eq!(usize::from(BUSY[3]) * 4 + 4, BUSY_BYTES);
    }
}
