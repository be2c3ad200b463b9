//! Options of a block (3.5): code, length, value, padded to words.

use super::{half, word};
use crate::pcapng::{option, padding};
use crate::write::Direction;

/// What a capture says of one packet besides its bytes; read when it is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    bytes: &'a [u8],
    is_big_endian: bool,
}

impl<'a> Options<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], is_big_endian: bool) -> Self {
        Self { bytes, is_big_endian }
    }

    /// Comments for people. What is not UTF-8 is left out.
    pub fn comments(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let comments =
            read(self.bytes, self.is_big_endian).filter(|(code, _)| *code == option::COMMENT);
        comments.filter_map(|(_, value)| std::str::from_utf8(value).ok())
    }

    /// Which way the packet passed its interface.
    pub fn direction(&self) -> Direction {
        match self.find(option::PACKET_FLAGS) {
            Some(value) if value.len() == 4 => match word(value, 0, self.is_big_endian) & 3 {
                1 => Direction::Inbound,
                2 => Direction::Outbound,
                _ => Direction::Unknown,
            },
            _ => Direction::Unknown,
        }
    }

    /// The number that the same packet has wherever it was captured.
    pub fn id(&self) -> Option<u64> {
        let value = self.find(option::PACKET_ID)?;
        (value.len() == 8).then(|| super::long(value, self.is_big_endian))
    }

    fn find(&self, wanted: u16) -> Option<&'a [u8]> {
        read(self.bytes, self.is_big_endian)
            .find(|(code, _)| *code == wanted)
            .map(|(_, value)| value)
    }
}

/// Codes and values, until the list ends or what follows does not fit into the block.
pub(super) fn read(bytes: &[u8], is_big_endian: bool) -> impl Iterator<Item = (u16, &[u8])> {
    let mut left = bytes;
    std::iter::from_fn(move || {
        let (head, rest) = left.split_at_checked(4)?;
        let (code, len) = (half(head, 0, is_big_endian), usize::from(half(head, 2, is_big_endian)));
        if code == option::END {
            return None;
        }
        let value = rest.get(..len)?;
        left = rest.get(len + padding(len)..).unwrap_or_default();
        Some((code, value))
    })
}
