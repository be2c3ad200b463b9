//! Congestion control feedback (RFC 8888 with erratum 8166, and the count that SCReAM's tool,
//! EricssonResearch/scream ScreamRx.cpp, writes).
//!
//! A report says of runs of sequence numbers which packets came, with which ECN codepoint and how
//! long before the report. RFC 8888's text as it was first printed gives the length of a run as its
//! last number, so that peers write one less than the count; erratum 8166 and most others write the
//! count. [`Counting`] finds out which a peer does.

use std::fmt;

use super::ticks::Ticks;
use crate::ecn::Ecn;

/// RTCP header and SSRC of the report's sender.
pub const HEADER_BYTES: usize = 8;
/// Media SSRC, first number, count.
pub const BLOCK_HEADER_BYTES: usize = 8;
/// The report's timestamp.
pub const STAMP_BYTES: usize = 4;
/// SSRC with which the tool's receiver reports.
pub const TOOL_SSRC: u32 = 10;

const VERSION: u8 = 2;
const PADDING: u8 = 0x20;
/// RFC 4585: transport layer feedback.
const PACKET_TYPE: u8 = 205;
/// RFC 8888 3.1, and what the tool wrote until the end of 2023.
const FORMAT: u8 = 11;
const EARLY_FORMAT: u8 = 0;
/// RFC 8888 3.1: a block says nothing of more packets.
const MOST_WORDS: usize = 16_384;

const RECEIVED: u16 = 0x8000;
const ECN_SHIFT: u16 = 13;
const OFFSET_BITS: u16 = 0x1fff;
/// Ticks of a timestamp per unit of an arrival time offset: 1/65536 s and 1/1024 s.
const OFFSET_SHIFT: u32 = 6;
/// Arrival time offsets that are no times: too long ago to say, and not known or after the report.
const TOO_LONG_AGO: u16 = 0x1ffe;
const UNKNOWN: u16 = 0x1fff;

/// What a report says of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// When it arrived, in the receiver's clock.
    pub received: Option<Ticks>,
    /// With which codepoint.
    pub ecn: Ecn,
}

/// What a block's count field holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Count {
    /// The number of metric words: RFC 8888 with erratum 8166.
    #[default]
    Exact,
    /// One less: what SCReAM's tool writes.
    LessOne,
}

impl Count {
    const fn words(self, field: u16) -> usize {
        match self {
            Self::Exact => field as usize,
            Self::LessOne => field as usize + 1,
        }
    }

    const fn field(self, words: usize) -> u16 {
        match self {
            Self::Exact => words as u16,
            Self::LessOne => (words - 1) as u16,
        }
    }
}

/// How a peer counts: given, or found out and remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counting {
    fixed: Option<Count>,
    seen: Option<Count>,
}

impl Counting {
    /// A peer that is known to count this way, whatever its reports look like.
    pub const fn fixed(count: Count) -> Self {
        Self { fixed: Some(count), seen: None }
    }

    /// What is known of the peer.
    pub const fn known(&self) -> Option<Count> {
        if self.fixed.is_some() { self.fixed } else { self.seen }
    }

    /// Decides for the blocks of a report: only one reading may fit the length. If
    /// both do, a last word that is not zero is no padding; one that is zero may be either.
    fn decide(&mut self, blocks: &[u8]) -> Result<Count, Error> {
        if let Some(fixed) = self.fixed {
            return if fits(blocks, fixed).is_some() { Ok(fixed) } else { Err(Error::Blocks) };
        }
        let seen = match (fits(blocks, Count::Exact), fits(blocks, Count::LessOne)) {
            (None, None) => return Err(Error::Blocks),
            (Some(_), None) => Count::Exact,
            (None | Some(Padding::Dirty), Some(_)) => Count::LessOne,
            (Some(Padding::Clean), Some(_)) => return Ok(self.seen.unwrap_or_default()),
        };
        self.seen = Some(seen);
        Ok(seen)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    Clean,
    /// What would be padding is not zero.
    Dirty,
}

/// Whether the blocks end where the report does if they are counted so.
fn fits(blocks: &[u8], count: Count) -> Option<Padding> {
    let mut rest = Blocks { rest: blocks, count, stamp: Ticks(0) };
    let mut padding = Padding::Clean;
    while !rest.rest.is_empty() {
        let (_, pad) = rest.step()?;
        if pad.iter().any(|byte| *byte != 0) {
            padding = Padding::Dirty;
        }
    }
    Some(padding)
}

/// Why bytes are no report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Shorter than its own length field, or than the shortest report.
    Short,
    /// Another version than 2.
    Version(u8),
    /// RTCP of other kinds only: type and format of the last.
    Kind(u8, u8),
    /// Blocks do not end where the report does.
    Blocks,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => write!(f, "shorter than its length field says"),
            Self::Version(version) => write!(f, "RTCP version {version} instead of 2"),
            Self::Kind(kind, format) => {
                write!(f, "RTCP packet type {kind}, format {format}, instead of 205, 11 (RFC 8888)")
            }
            Self::Blocks => write!(f, "report blocks do not end where the report does"),
        }
    }
}

impl std::error::Error for Error {}

/// A report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report<'a> {
    /// Who reports.
    pub sender: u32,
    /// When it was made, in its sender's clock.
    pub stamp: Ticks,
    /// How its blocks are counted.
    pub count: Count,
    blocks: &'a [u8],
}

impl<'a> Report<'a> {
    /// Reads a datagram: a report alone (RFC 5506), or the first one behind other RTCP.
    pub fn parse(datagram: &'a [u8], counting: &mut Counting) -> Result<Self, Error> {
        let mut rest = datagram;
        let mut other = None;
        loop {
            let Some(head) = rest.first_chunk::<4>() else {
                return Err(other.map_or(Error::Short, |(kind, format)| Error::Kind(kind, format)));
            };
            if head[0] >> 6 != VERSION {
                return Err(Error::Version(head[0] >> 6));
            }
            let words = usize::from(u16::from_be_bytes([head[2], head[3]]));
            let (packet, behind) = rest.split_at_checked(4 + 4 * words).ok_or(Error::Short)?;
            let format = head[0] & 0x1f;
            if head[1] == PACKET_TYPE && matches!(format, FORMAT | EARLY_FORMAT) {
                return Self::read(packet, counting);
            }
            other = Some((head[1], format));
            rest = behind;
        }
    }

    /// Reads one RTCP packet whose length is right.
    fn read(packet: &'a [u8], counting: &mut Counting) -> Result<Self, Error> {
        let mut end = packet.len();
        if packet[0] & PADDING != 0 {
            end = end.checked_sub(usize::from(packet[end - 1])).ok_or(Error::Short)?;
        }
        let body = packet.get(HEADER_BYTES..end).ok_or(Error::Short)?;
        let (blocks, stamp) = body.split_last_chunk().ok_or(Error::Short)?;
        let sender = u32::from_be_bytes([packet[4], packet[5], packet[6], packet[7]]);
        let count = counting.decide(blocks)?;
        Ok(Self { sender, stamp: Ticks(u32::from_be_bytes(*stamp)), count, blocks })
    }

    /// The reports of the streams; several blocks may be about one.
    pub const fn blocks(&self) -> Blocks<'a> {
        Blocks { rest: self.blocks, count: self.count, stamp: self.stamp }
    }
}

/// The blocks of a report, in order.
#[derive(Clone, Debug)]
pub struct Blocks<'a> {
    rest: &'a [u8],
    count: Count,
    stamp: Ticks,
}

impl<'a> Blocks<'a> {
    /// The next block and its padding; none at the end or if it is not whole.
    fn step(&mut self) -> Option<(Block<'a>, &'a [u8])> {
        let (head, rest) = self.rest.split_first_chunk::<BLOCK_HEADER_BYTES>()?;
        let words = self.count.words(u16::from_be_bytes([head[6], head[7]]));
        if words > MOST_WORDS {
            return None;
        }
        let (body, rest) = rest.split_at_checked(2 * words.next_multiple_of(2))?;
        self.rest = rest;
        let (words, padding) = body.split_at(2 * words);
        let block = Block {
            ssrc: u32::from_be_bytes([head[0], head[1], head[2], head[3]]),
            begin: u16::from_be_bytes([head[4], head[5]]),
            words,
            stamp: self.stamp,
        };
        Some((block, padding))
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Block<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().map(|(block, _)| block)
    }
}

/// What a report says of a run of one stream's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// The stream.
    pub ssrc: u32,
    /// Sequence number of the first packet.
    pub begin: u16,
    words: &'a [u8],
    stamp: Ticks,
}

impl<'a> Block<'a> {
    /// The metrics of `begin` and its successors.
    pub fn metrics(&self) -> impl ExactSizeIterator<Item = Metric> + use<'a> {
        let stamp = self.stamp;
        self.words
            .chunks_exact(2)
            .map(move |pair| metric(u16::from_be_bytes([pair[0], pair[1]]), stamp))
    }
}

/// What a word says in a report with this timestamp.
pub fn metric(word: u16, stamp: Ticks) -> Metric {
    if word & RECEIVED == 0 {
        return Metric { received: None, ecn: Ecn::NotEct };
    }
    let offset = match word & OFFSET_BITS {
        UNKNOWN => 0, // not known, or it came while the report was written: about now
        offset => u32::from(offset) << OFFSET_SHIFT,
    };
    let received = Ticks(stamp.0.wrapping_sub(offset));
    Metric { received: Some(received), ecn: Ecn::from_tos((word >> ECN_SHIFT) as u8) }
}

/// The word that says so in a report with this timestamp.
pub fn word(metric: Metric, stamp: Ticks) -> u16 {
    let Some(received) = metric.received else { return 0 };
    let offset = (stamp.since(received) >> OFFSET_SHIFT).min(u32::from(TOO_LONG_AGO)) as u16;
    RECEIVED | ((metric.ecn as u16) << ECN_SHIFT) | offset
}

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// What count fields hold.
    pub count: Count,
    /// Format 0 instead of 11, as the tool wrote until the end of 2023.
    pub early: bool,
}

/// Writes a report into a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut [u8],
    len: usize,
    format: Format,
    stamp: Ticks,
}

impl<'a> Writer<'a> {
    /// A report without blocks; none if there is no room even for that.
    pub fn new(out: &'a mut [u8], format: Format, sender: u32, stamp: Ticks) -> Option<Self> {
        let head = out.get_mut(..HEADER_BYTES + STAMP_BYTES)?;
        head[0] = (VERSION << 6) | if format.early { EARLY_FORMAT } else { FORMAT };
        head[1] = PACKET_TYPE;
        head[4..8].copy_from_slice(&sender.to_be_bytes());
        Some(Self { out, len: HEADER_BYTES, format, stamp })
    }

    /// Bytes so far, without the timestamp.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no block yet.
    pub const fn is_empty(&self) -> bool {
        self.len == HEADER_BYTES
    }

    /// Bytes that a block of `words` metric words takes.
    pub const fn block_bytes(words: usize) -> usize {
        BLOCK_HEADER_BYTES + 2 * words.next_multiple_of(2)
    }

    /// Adds a block. False, without effect, if there is no room for it or it says nothing.
    pub fn block(
        &mut self,
        ssrc: u32,
        begin: u16,
        metrics: impl ExactSizeIterator<Item = Metric>,
    ) -> bool {
        let words = metrics.len();
        let end = self.len + Self::block_bytes(words);
        if words == 0 || words > MOST_WORDS || end + STAMP_BYTES > self.out.len() {
            return false;
        }
        let block = &mut self.out[self.len..end];
        block[..4].copy_from_slice(&ssrc.to_be_bytes());
        block[4..6].copy_from_slice(&begin.to_be_bytes());
        block[6..8].copy_from_slice(&self.format.count.field(words).to_be_bytes());
        let body = &mut block[BLOCK_HEADER_BYTES..];
        body[2 * words..].fill(0);
        for (bytes, metric) in body.chunks_exact_mut(2).zip(metrics) {
            bytes.copy_from_slice(&word(metric, self.stamp).to_be_bytes());
        }
        self.len = end;
        true
    }

    /// Writes length and timestamp; gives the report's bytes.
    pub fn finish(self) -> usize {
        let total = self.len + STAMP_BYTES;
        self.out[self.len..total].copy_from_slice(&self.stamp.0.to_be_bytes());
        self.out[2..4].copy_from_slice(&((total / 4 - 1) as u16).to_be_bytes());
        total
    }
}

#[cfg(test)]
mod tests;
