//! The format of libpcap: a header, then records.
//!
//! Source: draft-ietf-opsawg-pcap-05; the variant of Alexey Kuznetzov's patched libpcap, whose record headers have
//! eight bytes more, is that of the tcpdump group's `savefile.c`.

use sojourn_core::Time;

use super::window::Window;
use super::{Found, MOST_RECORD};
use crate::LinkType;
use crate::facts::{Facts, Interface};

const HEADER_BYTES: usize = 24;
/// Time (two words), bytes kept, bytes of the packet.
const RECORD_BYTES: usize = 16;
/// The same, and in Kuznetzov's variant interface, protocol, type and padding.
const KUZNETZOV_BYTES: usize = 24;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
const KUZNETZOV: u32 = 0xa1b2_cd34;

pub(super) struct Reader {
    is_big_endian: bool,
    /// Of a unit of the times' second word.
    nanoseconds: u32,
    record_bytes: usize,
    link: LinkType,
    has_ended: bool,
}

impl Reader {
    /// Reads the header. None if this is no such file.
    pub(super) fn begin(window: &mut Window, facts: &mut Facts) -> Option<Self> {
        if !window.has(HEADER_BYTES) {
            return None;
        }
        let bytes = window.bytes();
        let magic = |is_big_endian| match word(bytes, 0, is_big_endian) {
            MICROSECONDS => Some((is_big_endian, 1000, RECORD_BYTES)),
            NANOSECONDS => Some((is_big_endian, 1, RECORD_BYTES)),
            KUZNETZOV => Some((is_big_endian, 1000, KUZNETZOV_BYTES)),
            _ => None,
        };
        let (is_big_endian, nanoseconds, record_bytes) = magic(false).or_else(|| magic(true))?;
        // 4: the upper half of the word is the length of the frames' check sequence.
        let link = LinkType(word(bytes, 20, is_big_endian) as u16);
        facts.interfaces.push(Interface {
            link,
            snap_len: word(bytes, 16, is_big_endian),
            resolution_s: f64::from(nanoseconds) / 1e9,
            ..Interface::default()
        });
        window.consume(HEADER_BYTES);
        facts.bytes = HEADER_BYTES as u64;
        Some(Self { is_big_endian, nanoseconds, record_bytes, link, has_ended: false })
    }

    #[inline]
    pub(super) fn next(&mut self, window: &mut Window, facts: &mut Facts) -> Option<Found> {
        if !window.has(self.record_bytes) {
            return self.end(window, facts, None);
        }
        let header = window.bytes().first_chunk::<RECORD_BYTES>()?;
        let word = |at| word(header, at, self.is_big_endian);
        let (seconds, fraction, kept, original) = (word(0), word(4), word(8), word(12));
        if kept > MOST_RECORD {
            return self.end(window, facts, Some(kept));
        }
        let len = kept as usize;
        if !window.has(self.record_bytes + len) {
            return self.end(window, facts, None);
        }
        let at = window.position() + self.record_bytes;
        window.consume(self.record_bytes + len);
        facts.bytes += (self.record_bytes + len) as u64;
        let fraction = u64::from(fraction) * u64::from(self.nanoseconds);
        Some(Found {
            time: Time(u64::from(seconds) * 1_000_000_000 + fraction),
            interface: 0,
            link: self.link,
            original_len: original.max(kept),
            at,
            len,
            options: (0, 0),
            is_big_endian: self.is_big_endian,
        })
    }

    /// Records have no mark by which one could be found behind a damaged length.
    #[cold]
    fn end(
        &mut self,
        window: &mut Window,
        facts: &mut Facts,
        length: Option<u32>,
    ) -> Option<Found> {
        if std::mem::replace(&mut self.has_ended, true) {
            return None;
        }
        let offset = window.offset();
        let left = window.skip_all();
        facts.bytes += left;
        let reason = match (window.error(), length) {
            (Some(error), _) => error.to_string(),
            (None, Some(length)) => format!("a record of {length} bytes, more than {MOST_RECORD}"),
            (None, None) if left > 0 => "the file ends within a record".to_owned(),
            (None, None) => return None,
        };
        facts.damaged(offset, left, reason);
        None
    }
}

#[inline]
fn word(bytes: &[u8], at: usize, is_big_endian: bool) -> u32 {
    let value = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if is_big_endian { u32::from_be_bytes(value) } else { u32::from_le_bytes(value) }
}
