//! Out-of-order data and the SACK blocks that report it (Linux 5.4 `tcp_data_queue_ofo`): what is
//! held, and separately the four blocks that were touched last. Only those are ever reported, so a
//! range that falls out of the four has to be learned from the cumulative acknowledgement.

use sojourn_core::Bytes;

use super::segment::SackBlocks;

/// `TCP_NUM_SACKS`.
pub(super) const REMEMBERED: usize = 4;

/// Bytes of a receive buffer that a packet takes at least.
const LEAST_TRUESIZE: u64 = 768;

/// Pieces of payload that one packet of a queue holds at most (`MAX_SKB_FRAGS`).
pub(super) const MOST_PIECES: u32 = 17;

/// What an application writes is copied into blocks of this size (`SKB_FRAG_PAGE_ORDER`).
const PAGE_FRAG: u64 = 32 << 10;

type Range = (u64, u64);

/// Pieces of payload in the `segments` of a range: one each, and one more where a block of the sender's memory ends in it.
pub(super) fn pieces((start, end): Range, segments: u32) -> u32 {
    let block = |byte: u64| byte.saturating_sub(1) / PAGE_FRAG; // the first byte is number 1
    segments + block(end.saturating_sub(1)).saturating_sub(block(start)) as u32
}

/// A packet of the queue: the first segment that came, and those that it took in.
#[derive(Clone, Copy, Debug)]
struct Packet {
    start: u64,
    end: u64,
    pieces: u32,
}

/// Data received beyond a hole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    /// Disjoint, not adjacent, in sequence order.
    held: Vec<Range>,
    /// The sum of these.
    bytes: u64,
    /// What holds them, in sequence order.
    packets: Vec<Packet>,
    /// Most recently touched first.
    recent: Vec<Range>,
}

impl Reassembly {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Bytes that are held.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets that hold them.
    pub(crate) fn packets(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Where what is held ends.
    pub(crate) fn end(&self) -> u64 {
        self.held.last().map_or(0, |range| range.1)
    }

    /// Whether a buffer of this size holds no more. Linux counts at least 768 bytes for what a packet brings
    /// (`SKB_TRUESIZE`), so that many small ones fill it.
    pub(crate) fn is_full(&self, buffer: Bytes) -> bool {
        self.held.len() as u64 >= (buffer.0 / LEAST_TRUESIZE).max(1)
    }

    /// Whether all of `range` is held already.
    pub(crate) fn holds(&self, range: Range) -> bool {
        self.held.iter().any(|(s, e)| *s <= range.0 && range.1 <= *e)
    }

    /// Whether storing `range` takes a block out of the first `certain`, which any ACK has room for.
    pub(crate) fn displaces(&self, range: Range, certain: usize) -> bool {
        self.recent.iter().position(|r| touch(*r, range)).unwrap_or(self.recent.len()) >= certain
    }

    /// Lets the most recent block that `range` continues report it.
    pub(crate) fn extend(&mut self, range: Range) {
        if let Some(block) = self.recent.iter_mut().find(|r| touch(**r, range)) {
            *block = (block.0.min(range.0), block.1.max(range.1));
        }
    }

    /// Keeps `range`, whose payload has this number of `pieces`. Returns whether another packet took it in, which is the one
    /// that it continues (Linux `tcp_ooo_try_coalesce`): packets that meet once a hole between them is filled stay two.
    pub(crate) fn hold(&mut self, range: Range, pieces: u32) -> bool {
        self.bytes += insert(&mut self.held, range);
        let at = self.packets.partition_point(|packet| packet.start < range.0);
        if let Some(before) = at.checked_sub(1).map(|at| &mut self.packets[at])
            && before.end == range.0
            && before.pieces + pieces <= MOST_PIECES
        {
            before.end = range.1;
            before.pieces += pieces;
            return true;
        }
        // In the place of those that it covers.
        let covered = self.packets[at..].iter().take_while(|packet| packet.end <= range.1).count();
        let packet = Packet { start: range.0, end: range.1, pieces };
        self.packets.splice(at..at + covered, [packet]);
        false
    }

    /// Makes the block of `range` the first one to be reported (RFC 2018 4; Linux `tcp_sack_new_ofo_skb`).
    pub(crate) fn touch(&mut self, range: Range) {
        let mut block = range;
        self.recent.retain(|r| {
            let joins = touch(*r, block);
            if joins {
                block = (block.0.min(r.0), block.1.max(r.1));
            }
            !joins
        });
        self.recent.insert(0, block);
        self.recent.truncate(REMEMBERED);
    }

    /// Data up to `rcv_nxt` is in order; gives how far the held data continues it, and shows the bytes and pieces of
    /// each packet that is no longer held (Linux `tcp_ofo_queue`).
    pub(crate) fn absorb(&mut self, mut rcv_nxt: u64, mut leaves: impl FnMut(u64, u32)) -> u64 {
        let mut from = rcv_nxt;
        let reached = self.held.iter().take_while(|(s, _)| *s <= rcv_nxt).count();
        for (start, end) in self.held.drain(..reached) {
            self.bytes -= end - start;
            rcv_nxt = rcv_nxt.max(end);
        }
        let reached = self.packets.partition_point(|packet| packet.start < rcv_nxt);
        for packet in self.packets.drain(..reached) {
            leaves(packet.end.saturating_sub(from), packet.pieces);
            from = from.max(packet.end);
        }
        self.recent.retain(|(_, end)| *end > rcv_nxt);
        rcv_nxt
    }

    /// The option of the next ACK; `duplicate` goes first (RFC 2883).
    pub(crate) fn report(&self, duplicate: Option<Range>) -> SackBlocks {
        let mut sack = SackBlocks::default();
        sack.duplicate = duplicate.is_some();
        for block in duplicate.iter().chain(&self.recent) {
            sack.push(*block);
        }
        sack
    }
}

fn touch(a: Range, b: Range) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

/// Gives the bytes that were not held.
fn insert(held: &mut Vec<Range>, (mut start, mut end): Range) -> u64 {
    let from = held.partition_point(|(_, e)| *e < start);
    let to = from + held[from..].iter().take_while(|(s, _)| *s <= end).count();
    if let (Some(first), true) = (held.get(from), to > from) {
        start = start.min(first.0);
        end = end.max(held[to - 1].1);
    }
    let before: u64 = held[from..to].iter().map(|(s, e)| e - s).sum();
    held.splice(from..to, [(start, end)]);
    end - start - before
}

#[cfg(test)]
mod tests;
