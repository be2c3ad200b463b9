//! The sender's scoreboard: every outstanding segment, what is known of it, and the order in which
//! they were last sent (which RACK walks).

use std::collections::VecDeque;

use sojourn_core::Time;

use super::rate::TxSnapshot;

/// Position in the scoreboard that never changes while the segment is outstanding.
pub(crate) type Id = u64;

const NONE: Id = Id::MAX;

/// An outstanding segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outstanding {
    pub(crate) seq: u64,
    pub(crate) len: u32,
    /// When it was last sent.
    pub(crate) sent: Time,
    /// Number of that transmission: the order of sending, also among equal times.
    pub(crate) order: u64,
    pub(crate) sacked: bool,
    pub(crate) lost: bool,
    /// A retransmission is in flight.
    pub(crate) retransmitted: bool,
    /// It was retransmitted at some time: its RTT is ambiguous.
    pub(crate) ever_retransmitted: bool,
    pub(crate) tx: TxSnapshot,
    /// It left in one packet with the segment before it.
    pub(crate) joined: bool,
    /// It is sent again without that one.
    parted: bool,
    /// PSH is on it wherever it leaves, and not for a burst that it ended.
    pub(crate) psh: bool,
    prev: Id,
    next: Id,
    listed: bool,
}

impl Outstanding {
    pub(crate) fn new(seq: u64, len: u32, sent: Time, tx: TxSnapshot) -> Self {
        Self { seq, len, sent, tx, prev: NONE, next: NONE, ..Self::default() }
    }

    pub(crate) fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
}

/// All outstanding segments in sequence order, with a second order by transmission time.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    segments: VecDeque<Outstanding>,
    first: Id,
    oldest: Id,
    newest: Id,
    pub(crate) sacked: u32,
    pub(crate) lost: u32,
    pub(crate) retransmitted: u32,
    /// Lost segments without a retransmission in flight.
    pub(crate) waiting: u32,
    /// No segment below this one waits for retransmission.
    retransmit_hint: Id,
    /// Transmissions so far.
    transmissions: u64,
    /// Blocks of the previous acknowledgement: what need not be walked again.
    seen: [(u64, u64); 3],
    highest_sacked: u64,
    /// How many more packets the segments are in than they left in, and after which segment none has changed.
    splits: i32,
    split_end: Id,
}

impl Scoreboard {
    pub(crate) fn new() -> Self {
        Self {
            segments: VecDeque::with_capacity(16),
            oldest: NONE,
            newest: NONE,
            retransmit_hint: NONE,
            seen: [(0, 0); 3],
            ..Self::default()
        }
    }

    pub(crate) fn packets_out(&self) -> u32 {
        self.segments.len() as u32
    }

    /// Segments in the network: out, less those SACKed or lost, plus retransmissions (Linux
    /// `tcp_packets_in_flight`).
    pub(crate) fn in_flight(&self) -> u32 {
        self.packets_out() + self.retransmitted - self.sacked - self.lost
    }

    pub(crate) fn get(&self, id: Id) -> &Outstanding {
        &self.segments[(id - self.first) as usize]
    }

    pub(crate) fn get_mut(&mut self, id: Id) -> &mut Outstanding {
        &mut self.segments[(id - self.first) as usize]
    }

    pub(crate) fn head(&self) -> Option<&Outstanding> {
        self.segments.front()
    }

    pub(crate) fn last_id(&self) -> Option<Id> {
        (!self.segments.is_empty()).then(|| self.first + self.segments.len() as u64 - 1)
    }

    /// A new segment was sent.
    pub(crate) fn push(&mut self, segment: Outstanding) {
        let id = self.first + self.segments.len() as u64;
        self.segments.push_back(segment);
        self.link_newest(id);
    }

    /// Removes the head, which was acknowledged.
    pub(crate) fn pop(&mut self) {
        self.unlink(self.first);
        if self.first < self.split_end {
            self.splits -= self.split_before(1);
        }
        let Some(segment) = self.segments.pop_front() else { return };
        self.first += 1;
        self.sacked -= u32::from(segment.sacked);
        self.forget(segment.lost, segment.retransmitted);
    }

    /// Calls `tag` for each segment that `blocks` newly report as received, and marks it.
    pub(crate) fn tag_sacked(
        &mut self,
        blocks: &[(u64, u64)],
        mut tag: impl FnMut(&mut Outstanding),
    ) {
        for &(start, end) in blocks {
            for part in self.unseen(start, end).into_iter().flatten() {
                self.tag_range(part, &mut tag);
            }
        }
        for (slot, block) in self.seen.iter_mut().zip(blocks) {
            *slot = *block;
        }
        let highest = blocks.iter().map(|(_, end)| *end).max().unwrap_or(0);
        self.highest_sacked = self.highest_sacked.max(highest);
    }

    /// The ends of the segments in a block that were sent more than once.
    pub(crate) fn sent_again_in(&self, start: u64, end: u64) -> impl Iterator<Item = u64> {
        let from = self.segments.partition_point(|s| s.seq < start);
        let within = self.segments.range(from..).map_while(move |s| (s.end() <= end).then_some(s));
        within.filter(|s| s.ever_retransmitted).map(Outstanding::end)
    }

    fn tag_range(&mut self, (start, end): (u64, u64), tag: &mut impl FnMut(&mut Outstanding)) {
        let mut at = self.segments.partition_point(|s| s.seq < start);
        while let Some(segment) = self.segments.get_mut(at).filter(|s| s.end() <= end) {
            if !segment.sacked {
                tag(segment);
                self.splits -= self.split_before(at) + self.split_before(at + 1);
                let segment = &mut self.segments[at];
                segment.sacked = true;
                let (lost, retransmitted) = (segment.lost, segment.retransmitted);
                segment.lost = false;
                segment.retransmitted = false;
                self.sacked += 1;
                self.forget(lost, retransmitted);
                self.unlink(self.first + at as u64);
                self.splits += self.split_before(at) + self.split_before(at + 1);
                self.split_end = self.split_end.max(self.first + at as u64 + 1);
            }
            at += 1;
        }
    }

    /// What is SACKed is one packet with what is SACKed before it, and none with what is not (Linux
    /// `tcp_shift_skb_data`, `tcp_match_skb_to_sack`): 1 where a packet is split in front of this segment, -1 where two
    /// have become one.
    fn split_before(&self, at: usize) -> i32 {
        let before = at.checked_sub(1).and_then(|before| self.segments.get(before));
        let (Some(before), Some(segment)) = (before, self.segments.get(at)) else { return 0 };
        match (before.sacked, segment.sacked, segment.joined) {
            (true, true, joined) => i32::from(joined) - 1,
            (false, false, joined) => i32::from(joined && segment.parted),
            (_, _, joined) => i32::from(joined),
        }
    }

    /// How many more packets the segments are in than they left in.
    pub(crate) fn splits(&self) -> i32 {
        self.splits
    }

    /// This segment and those after it leave the packet that they were in (Linux `tcp_fragment`).
    pub(crate) fn part(&mut self, id: Id) {
        let at = (id - self.first) as usize;
        if at < self.segments.len() {
            self.splits -= self.split_before(at);
            self.segments[at].parted = true;
            self.splits += self.split_before(at);
            self.split_end = self.split_end.max(id);
        }
    }

    fn forget(&mut self, lost: bool, retransmitted: bool) {
        self.lost -= u32::from(lost);
        self.retransmitted -= u32::from(retransmitted);
        self.waiting -= u32::from(lost && !retransmitted);
    }

    /// The parts of a block that the previous acknowledgement did not report.
    fn unseen(&self, start: u64, end: u64) -> [Option<(u64, u64)>; 2] {
        let Some(&(s, e)) = self.seen.iter().find(|(s, e)| start < *e && *s < end) else {
            return [Some((start, end)), None];
        };
        [(start < s).then_some((start, s)), (end > e).then_some((e, end))]
    }

    /// The highest sequence number that a SACK block has reported.
    pub(crate) fn highest_sacked(&self) -> u64 {
        self.highest_sacked
    }

    /// The least recently sent segment. Lost and SACKed segments are not in this order.
    pub(crate) fn oldest(&self) -> Option<Id> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// The segment sent after `id`.
    pub(crate) fn next_sent(&self, id: Id) -> Option<Id> {
        let next = self.get(id).next;
        (next != NONE).then_some(next)
    }

    /// Marks a segment lost; a lost retransmission leaves the flight again. Returns whether it
    /// was a retransmission.
    pub(crate) fn mark_lost(&mut self, id: Id) -> bool {
        self.unlink(id);
        if self.get(id).sacked {
            return false; // a probe may have sent it again after it had arrived
        }
        let segment = self.get_mut(id);
        let was_retransmission = std::mem::take(&mut segment.retransmitted);
        let newly = !std::mem::replace(&mut segment.lost, true);
        self.retransmitted -= u32::from(was_retransmission);
        self.lost += u32::from(newly);
        self.waiting += u32::from(newly || was_retransmission);
        self.retransmit_hint = self.retransmit_hint.min(id);
        was_retransmission
    }

    /// Nothing is lost after all: what is not retransmitted counts as in flight again, and returns
    /// to its place in the order of transmission.
    pub(crate) fn forget_losses(&mut self) {
        for segment in &mut self.segments {
            segment.listed |= segment.lost;
            segment.lost = false;
        }
        self.lost = 0;
        self.waiting = 0;
        self.retransmit_hint = NONE;
        let mut order: Vec<Id> = self.ids().filter(|id| self.get(*id).listed).collect();
        order.sort_unstable_by_key(|id| self.get(*id).order);
        self.oldest = NONE;
        self.newest = NONE;
        for id in order {
            self.append(id);
        }
    }

    /// Ids of all outstanding segments.
    pub(crate) fn ids(&self) -> std::ops::Range<Id> {
        self.first..self.first + self.segments.len() as u64
    }

    /// The first lost segment without a retransmission in flight.
    pub(crate) fn next_retransmit(&mut self) -> Option<Id> {
        if self.waiting == 0 {
            self.retransmit_hint = NONE;
            return None;
        }
        let mut id = self.retransmit_hint.max(self.first);
        while !self.get(id).lost || self.get(id).retransmitted {
            id += 1;
        }
        self.retransmit_hint = id;
        Some(id)
    }

    /// How many segments, at `most`, are sent again with this one, since they left in one packet (Linux
    /// `tcp_retransmit_skb`), and their bytes. What was acknowledged of that has been cut out of it.
    pub(crate) fn with_joined(&self, id: Id, most: u32) -> (u32, u64) {
        let from = (id - self.first) as usize;
        let waits = |s: &&Outstanding| s.joined && !s.parted && s.lost && !s.retransmitted;
        let joined = self.segments.range(from + 1..).take_while(waits);
        let count = 1 + joined.take(most.saturating_sub(1) as usize).count();
        (count as u32, self.segments[from + count - 1].end() - self.segments[from].seq)
    }

    /// A segment was sent again.
    pub(crate) fn retransmit(&mut self, id: Id, now: Time, tx: TxSnapshot) {
        self.unlink(id);
        let segment = self.get_mut(id);
        segment.sent = now;
        segment.tx = tx;
        segment.ever_retransmitted = true;
        let newly = !std::mem::replace(&mut segment.retransmitted, true);
        let lost = segment.lost;
        self.retransmitted += u32::from(newly);
        self.waiting -= u32::from(newly && lost);
        self.link_newest(id);
    }

    fn link_newest(&mut self, id: Id) {
        self.transmissions += 1;
        self.get_mut(id).order = self.transmissions;
        self.append(id);
    }

    /// Puts a segment behind all others in the order of transmission.
    fn append(&mut self, id: Id) {
        let newest = self.newest;
        let segment = self.get_mut(id);
        segment.prev = newest;
        segment.next = NONE;
        segment.listed = true;
        if newest == NONE {
            self.oldest = id;
        } else {
            self.get_mut(newest).next = id;
        }
        self.newest = id;
    }

    fn unlink(&mut self, id: Id) {
        let segment = self.get_mut(id);
        if !std::mem::take(&mut segment.listed) {
            return;
        }
        let (prev, next) = (segment.prev, segment.next);
        if prev == NONE {
            self.oldest = next;
        } else {
            self.get_mut(prev).next = next;
        }
        if next == NONE {
            self.newest = prev;
        } else {
            self.get_mut(next).prev = prev;
        }
    }
}

#[cfg(test)]
mod tests;
