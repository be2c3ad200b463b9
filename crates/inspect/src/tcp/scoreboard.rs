//! The data of one direction that is under way: which of it was captured, sent again, SACKed, acknowledged.

use std::collections::VecDeque;

use sojourn_wire::options::{Blocks, MAX_BLOCKS};

use super::numbers::Numbers;

/// Segments whose times are kept; when as many are under way, later ones are known by their numbers only.
const MOST_SENT: usize = 1 << 14;
/// Holes in the sequence numbers that can still be filled; of more the lowest is final.
const MOST_HOLES: usize = 256;

/// Segments that were acknowledged last, which are still known when a copy of them comes: a receiver acknowledges what
/// the network has duplicated before the second one arrives.
const REMEMBERED: usize = 4;

/// A captured segment that is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Sent {
    start: i64,
    end: i64,
    /// When its first copy was captured.
    at: u64,
    /// IPv4 identification of the latest copy, 0 of none.
    id: u16,
    /// Packets that it is on the wire.
    segments: u16,
    is_again: bool,
    is_sacked: bool,
}

/// Sequence numbers that were skipped.
#[derive(Clone, Copy, Debug)]
struct Hole {
    start: i64,
    end: i64,
    found: Gap,
}

/// When a hole came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// Time of the segment behind it.
    pub(crate) at: u64,
    /// That segment's timestamp.
    pub(crate) stamp: Option<u32>,
    /// Data segments before it.
    index: u64,
}

/// How data lies to what was captured before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// Behind all data.
    New,
    /// In a hole: later data came before it, this many segments.
    Fills(Gap, u64),
    /// Captured before.
    Repeats,
    /// The very packet that was captured before, by its IPv4 identification.
    Duplicate,
    /// One byte before the next new one, with all acknowledged: a keepalive (RFC 9293 3.8.4).
    Keepalive,
    /// One byte at the edge of a window of zero, not for the first time (RFC 9293 3.8.6.1).
    Probe,
}

/// A segment's data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) at: u64,
    pub(crate) seq: i64,
    pub(crate) len: u32,
    pub(crate) id: u16,
    pub(crate) segments: u16,
    pub(crate) stamp: Option<u32>,
}

/// What an acknowledgement is the first to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delivered {
    /// Growth of the acknowledgement number, bytes of data.
    pub(crate) advanced: u64,
    /// The part of it that was not SACKed before.
    pub(crate) acked: u64,
    /// Bytes in SACK blocks for the first time.
    pub(crate) sacked: u64,
    /// Packets among both.
    pub(crate) segments: u32,
    /// When the first copy of the newest segment that it acknowledges was captured, unless any of them was sent again
    /// (Karn's algorithm, RFC 6298 3) or SACKed before.
    pub(crate) sent: Option<u64>,
    /// The same of the oldest one.
    pub(crate) oldest: Option<u64>,
    /// Where the data began that it acknowledges.
    pub(crate) from: i64,
    /// A block that reports a duplicate (RFC 2883).
    pub(crate) duplicate: Option<(i64, i64)>,
}

/// Data of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    pub(crate) numbers: Numbers,
    sent: VecDeque<Sent>,
    holes: VecDeque<Hole>,
    /// Behind the highest byte captured; None before any.
    next: Option<i64>,
    /// The highest acknowledgement number.
    una: Option<i64>,
    /// Where a FIN was.
    fin: Option<i64>,
    /// Low half of the numbers, and IPv4 identification, of segments that were acknowledged last; 0 of none.
    acked: [(u32, u16); REMEMBERED],
    /// Which of them is the oldest.
    oldest_acked: u8,
    /// Bytes in `sent` that are SACKed.
    sacked: u64,
    /// Behind the highest SACKed byte.
    pub(crate) highest_sacked: i64,
    /// Blocks of the last acknowledgement, of which all is known.
    blocks: [(i64, i64); MAX_BLOCKS],
    /// Data segments captured.
    segments: u64,
    /// Holes that later data has left, and their bytes.
    pub(crate) jumps: (u64, u64),
    /// Bytes of holes that will not be filled.
    missing: u64,
}

impl Scoreboard {
    /// A SYN with this sequence number.
    pub(crate) fn begin(&mut self, initial: u32) {
        self.numbers.begin(initial);
        self.next.get_or_insert(1);
    }

    /// A FIN behind this byte.
    pub(crate) fn end(&mut self, at: i64) {
        self.fin = Some(at);
    }

    /// Next byte expected by the receiver.
    #[inline]
    pub(crate) fn una(&self) -> i64 {
        self.una.or(self.next).unwrap_or(1)
    }

    /// Next byte that was not sent.
    #[inline]
    pub(crate) fn next(&self) -> i64 {
        self.next.or(self.una).unwrap_or(1)
    }

    /// Bytes sent and neither acknowledged nor SACKed; 0 where only one direction was captured.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        match (self.next, self.una) {
            (Some(next), Some(una)) if next > una => {
                ((next - una) as u64).saturating_sub(self.sacked)
            }
            _ => 0,
        }
    }

    /// Bytes that were acknowledged and never captured.
    pub(crate) fn missing(&self) -> u64 {
        self.missing + self.holes.iter().map(|hole| self.acked_of(hole)).sum::<u64>()
    }

    /// Bytes of a hole that are acknowledged.
    fn acked_of(&self, hole: &Hole) -> u64 {
        self.una.map_or(0, |una| (hole.end.min(una) - hole.start).max(0) as u64)
    }

    /// Takes data; `zero_window` says that the receiver has closed its window.
    #[inline]
    pub(crate) fn data(&mut self, piece: &Piece, zero_window: bool) -> Placed {
        let (start, end) = (piece.seq, piece.seq + i64::from(piece.len));
        let next = *self.next.get_or_insert(start);
        let index = self.segments;
        self.segments += 1;
        if start >= next {
            if start > next {
                let found = Gap { at: piece.at, stamp: piece.stamp, index };
                self.jumps = (self.jumps.0 + 1, self.jumps.1 + (start - next) as u64);
                self.open(Hole { start: next, end: start, found });
            }
            self.next = Some(end);
            self.push(piece, start, end);
            return Placed::New;
        }
        if piece.len == 1 && start == next - 1 {
            if self.una.is_some_and(|una| una >= next) {
                return Placed::Keepalive;
            }
            if zero_window {
                return Placed::Probe;
            }
        }
        let filled = self.fill(piece, start, end);
        if end > next {
            // Cut in another way than the first time, with new data behind it.
            self.next = Some(end);
            self.push(piece, next, end);
        }
        if let Some(gap) = filled {
            return Placed::Fills(gap, index - gap.index);
        }
        let first = self.sent.partition_point(|sent| sent.end <= start);
        let mut is_duplicate = piece.id != 0 && self.acked.contains(&(start as u32, piece.id));
        for sent in self.sent.range_mut(first..).take_while(|sent| sent.start < end.min(next)) {
            let is_same = sent.start == start && sent.end == end;
            is_duplicate |= is_same && piece.id != 0 && piece.id == sent.id;
            if !is_duplicate {
                (sent.is_again, sent.id) = (true, piece.id);
            }
        }
        if is_duplicate { Placed::Duplicate } else { Placed::Repeats }
    }

    #[inline]
    fn push(&mut self, piece: &Piece, start: i64, end: i64) {
        if self.sent.len() < MOST_SENT {
            let &Piece { at, id, segments, .. } = piece;
            self.sent.push_back(Sent {
                start,
                end,
                at,
                id,
                segments,
                is_again: false,
                is_sacked: false,
            });
        }
    }

    fn open(&mut self, hole: Hole) {
        if self.holes.len() == MOST_HOLES
            && let Some(oldest) = self.holes.pop_front()
        {
            self.missing += self.acked_of(&oldest);
        }
        self.holes.push_back(hole);
    }

    /// Takes what lies in the lowest hole that the data touches out of it.
    fn fill(&mut self, piece: &Piece, start: i64, end: i64) -> Option<Gap> {
        let at = self.holes.iter().position(|hole| hole.start < end && start < hole.end)?;
        let hole = self.holes[at];
        let (from, to) = (start.max(hole.start), end.min(hole.end));
        let before = (hole.start < from).then_some(Hole { end: from, ..hole });
        let behind = (to < hole.end).then_some(Hole { start: to, ..hole });
        match (before, behind) {
            (Some(before), Some(behind)) if self.holes.len() < MOST_HOLES => {
                self.holes[at] = before;
                self.holes.insert(at + 1, behind);
            }
            (Some(rest), _) | (None, Some(rest)) => self.holes[at] = rest,
            (None, None) => {
                self.holes.remove(at);
            }
        }
        let place = self.sent.partition_point(|sent| sent.start < from);
        if self.sent.len() < MOST_SENT && to > self.una.unwrap_or(i64::MIN) {
            let &Piece { at, id, segments, .. } = piece;
            // Its time may be that of a copy: it gives no round trip.
            let sent =
                Sent { start: from, end: to, at, id, segments, is_again: true, is_sacked: false };
            self.sent.insert(place, sent);
        }
        Some(hole.found)
    }

    /// Takes an acknowledgement number and SACK blocks; `mss` counts packets of data that was not captured. None if
    /// the number is older than one before it.
    #[inline]
    pub(crate) fn ack(
        &mut self,
        at: u64,
        ack: i64,
        blocks: &Blocks,
        mss: u32,
    ) -> Option<Delivered> {
        let mut delivered = Delivered::default();
        let ack = match self.fin {
            Some(fin) if ack == fin + 1 => fin,
            _ => ack,
        };
        let una = *self.una.get_or_insert_with(|| self.next.map_or(ack, |next| ack.min(next)));
        if ack < una {
            return None;
        }
        delivered.from = una;
        if ack > una {
            self.advance(at, una, ack, mss, &mut delivered);
        }
        if !blocks.as_slice().is_empty() {
            self.sack(blocks, ack, &mut delivered);
        }
        Some(delivered)
    }

    #[inline]
    fn advance(&mut self, at: u64, una: i64, ack: i64, mss: u32, delivered: &mut Delivered) {
        self.una = Some(ack);
        // One more is a FIN that was not captured.
        if let Some(next) = self.next.filter(|next| ack > next + 1) {
            let found = Gap { at, stamp: None, index: self.segments };
            self.open(Hole { start: next, end: ack, found });
            self.next = Some(ack);
        }
        delivered.advanced = (ack - una) as u64;
        let (mut captured, mut was_sacked) = (0, 0);
        let (mut oldest, mut newest) = (None, None);
        let mut is_tainted = false;
        while let Some(sent) = self.sent.front_mut().filter(|sent| sent.start < ack) {
            let end = sent.end.min(ack);
            let len = (end - sent.start) as u64;
            let segments = if end == sent.end {
                sent.segments
            } else {
                (len * u64::from(sent.segments) / (sent.end - sent.start) as u64) as u16
            };
            captured += len;
            newest = Some(sent.at);
            oldest = oldest.or(newest);
            is_tainted |= sent.is_again || sent.is_sacked;
            if sent.is_sacked {
                was_sacked += len;
            } else {
                delivered.segments += u32::from(segments);
            }
            if end < sent.end {
                sent.start = end;
                sent.segments -= segments;
                break;
            }
            self.acked[usize::from(self.oldest_acked)] = (sent.start as u32, sent.id);
            self.oldest_acked = (self.oldest_acked + 1) % REMEMBERED as u8;
            self.sent.pop_front();
        }
        self.sacked = self.sacked.saturating_sub(was_sacked);
        delivered.acked = delivered.advanced.saturating_sub(was_sacked);
        delivered.segments +=
            delivered.advanced.saturating_sub(captured).div_ceil(u64::from(mss.max(1))) as u32;
        if !is_tainted {
            (delivered.oldest, delivered.sent) = (oldest, newest);
        }
    }

    fn sack(&mut self, blocks: &Blocks, ack: i64, delivered: &mut Delivered) {
        let mut now = [(0, 0); MAX_BLOCKS];
        let edges = blocks
            .as_slice()
            .iter()
            .map(|&(left, right)| (self.numbers.near(left), self.numbers.near(right)));
        for (slot, edge) in now.iter_mut().zip(edges) {
            *slot = edge;
        }
        let is_within =
            |inner: (i64, i64), outer: (i64, i64)| inner.0 >= outer.0 && inner.1 <= outer.1;
        let known = self.blocks;
        for (index, block) in now.into_iter().enumerate().filter(|(_, (left, right))| left < right)
        {
            // RFC 2883 4: the first block, below the acknowledgement or within the second block.
            if index == 0 && (block.1 <= ack || (now[1].0 < now[1].1 && is_within(block, now[1]))) {
                delivered.duplicate = Some(block);
                continue;
            }
            if block.1 <= ack {
                continue;
            }
            self.highest_sacked = self.highest_sacked.max(block.1);
            let mut from = block.0.max(ack);
            while from < block.1 {
                // Blocks of the acknowledgement before are not looked at again.
                if let Some(before) =
                    known.iter().find(|b| b.0 <= from && from < b.1 && is_within(**b, block))
                {
                    from = before.1;
                    continue;
                }
                let ahead =
                    known.iter().filter(|b| b.0 > from && is_within(**b, block)).map(|b| b.0).min();
                let to = ahead.unwrap_or(block.1).min(block.1);
                self.mark(block, from, to, delivered);
                from = to;
            }
        }
        self.blocks = now;
    }

    /// Marks the segments within the block that touch the range.
    fn mark(&mut self, block: (i64, i64), from: i64, to: i64, delivered: &mut Delivered) {
        let first = self.sent.partition_point(|sent| sent.end <= from);
        for sent in self.sent.range_mut(first..).take_while(|sent| sent.start < to) {
            if !sent.is_sacked && sent.start >= block.0 && sent.end <= block.1 {
                sent.is_sacked = true;
                let len = (sent.end - sent.start) as u64;
                self.sacked += len;
                delivered.sacked += len;
                delivered.segments += u32::from(sent.segments);
            }
        }
    }
}
