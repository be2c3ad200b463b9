//! Packets that wait for their time to leave, as in Linux 6.12 `sch_netem`.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use crate::aqm::{Backlog, Log, Reason};
use sojourn_core::packet::Packet;
use sojourn_core::units::{Dur, Time};

/// A packet with its time to send; equal times go in the order of arrival.
#[derive(Clone, Copy, Debug)]
struct Delayed {
    to_send: Time,
    number: u64,
    pkt: Packet,
}

impl Delayed {
    #[inline]
    fn key(&self) -> (Time, u64) {
        (self.to_send, self.number)
    }
}

impl PartialEq for Delayed {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Delayed {}

impl PartialOrd for Delayed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Delayed {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Packets by time to send. What comes in order is appended to a line; only what overtakes the
/// end of the line costs a heap operation. The end of the line is later than the whole heap.
#[derive(Debug)]
pub struct DelayLine {
    line: VecDeque<Delayed>,
    early: BinaryHeap<Reverse<Delayed>>,
    /// Packets that were put into it.
    pub(crate) numbers: u64,
    /// Of these, those that had to wait.
    pub(crate) delayed: u64,
    /// What is held, also by its owner.
    pub(crate) held: Backlog,
    /// Packets that may be held.
    pub(crate) limit: u32,
    /// How long a packet waits that its owner does nothing else to.
    pub(crate) delay: Dur,
    /// When it has to be asked again, since it had nothing that was due.
    pub(crate) watchdog: Time,
}

impl Default for DelayLine {
    fn default() -> Self {
        Self {
            line: VecDeque::new(),
            early: BinaryHeap::new(),
            numbers: 0,
            delayed: 0,
            held: Backlog::default(),
            limit: u32::MAX,
            delay: Dur::ZERO,
            watchdog: Time::NEVER,
        }
    }
}

impl DelayLine {
    /// Takes a packet for its constant delay, or drops it at the limit. Linux 6.12 `netem_enqueue`.
    #[inline]
    pub fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        if self.held.packets >= self.limit {
            log.drop(&pkt, Reason::TailLimit);
            return;
        }
        pkt.stamp = now;
        self.held.add(&pkt);
        self.insert(now, now + self.delay, pkt);
    }

    /// The next packet if it is due.
    #[inline]
    pub fn dequeue(&mut self, now: Time) -> Option<Packet> {
        match self.next() {
            Some(at) if at <= now => {
                let pkt = self.pop()?;
                self.held.remove(&pkt);
                Some(pkt)
            }
            later => {
                self.watchdog = later.unwrap_or(Time::NEVER);
                None
            }
        }
    }

    /// When the next packet is due; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn due(&self) -> Time {
        self.next().unwrap_or(Time::NEVER)
    }

    // Linux 6.12 `tfifo_enqueue`.
    #[inline]
    pub(crate) fn insert(&mut self, now: Time, to_send: Time, pkt: Packet) {
        self.numbers += 1;
        self.delayed += u64::from(to_send > now);
        let delayed = Delayed { to_send, number: self.numbers, pkt };
        if self.last().is_none_or(|last| last <= to_send) {
            self.line.push_back(delayed);
        } else {
            self.early.push(Reverse(delayed));
        }
    }

    /// The latest time to send.
    #[inline]
    pub(crate) fn last(&self) -> Option<Time> {
        self.line.back().map(|d| d.to_send)
    }

    /// The earliest time to send.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        let line = self.line.front().map(|d| d.to_send);
        match self.early.peek() {
            Some(Reverse(early)) => line.map(|t| t.min(early.to_send)),
            None => line,
        }
    }

    /// The packet that is first to be sent.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        if let Some(Reverse(early)) = self.early.peek()
            && self.line.front().is_none_or(|front| early < front)
        {
            return self.early.pop().map(|Reverse(d)| d.pkt);
        }
        self.line.pop_front().map(|d| d.pkt)
    }
}

#[cfg(test)]
mod tests;
