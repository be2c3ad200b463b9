//! A FIFO that stamps arrivals and knows what it holds, and the limits that its users share.

use std::collections::VecDeque;

use super::{Backlog, Log, Reason};
use sojourn_core::grammar::forms::{maybe, packets};
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::units::{Dur, Time};

parameters! {
    /// Room in the queue.
    #[derive(Copy, PartialEq)]
    pub(super) struct Room {
        /// Packets that may wait.
        pub(super) limit: Option<u32> = None => maybe(packets(1..=u32::MAX.into())), default "none";
    }
}

parameters! {
    /// Room in a queue whose kernel module states a limit.
    #[derive(Copy, PartialEq)]
    pub(super) struct Limit {
        /// Packets that may wait; the kernel's 10240 is never enforced.
        pub(super) limit: Option<u32> = None => maybe(packets(1..=u32::MAX.into())), default "none",
            tc false;
    }
}

/// A FIFO and what it holds.
#[derive(Debug, Default)]
pub(super) struct PlainQueue {
    pub(super) packets: VecDeque<Packet>,
    pub(super) backlog: Backlog,
    /// What [`Qdisc::peeked`](super::Qdisc::peeked) says of packets that left it.
    pub(super) peeked: Backlog,
}

impl PlainQueue {
    #[inline]
    pub(super) fn push(&mut self, now: Time, mut pkt: Packet) {
        pkt.stamp = now;
        self.backlog.add(&pkt);
        self.packets.push_back(pkt);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Packet> {
        let pkt = self.packets.pop_front()?;
        self.backlog.remove(&pkt);
        Some(pkt)
    }

    /// What Linux counts as waiting.
    #[inline]
    pub(super) fn waiting(&self) -> Backlog {
        self.backlog + self.peeked
    }

    #[inline]
    pub(super) fn next_len(&self) -> Option<u32> {
        self.packets.front().map(|pkt| pkt.len)
    }

    /// Sojourn of the oldest packet.
    #[inline]
    pub(super) fn age(&self, now: Time) -> Dur {
        self.packets.front().map_or(Dur::ZERO, |pkt| now.since(pkt.stamp))
    }

    pub(super) fn purge(&mut self, log: &mut Log) {
        for pkt in self.packets.drain(..) {
            log.drop(&pkt, Reason::Purge);
        }
        self.backlog = Backlog::default();
    }
}
