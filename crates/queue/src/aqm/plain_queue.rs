//! A FIFO that stamps arrivals and may have a limit, for disciplines that act on departure.

use std::collections::VecDeque;

use super::{Backlog, Log, Reason};
use sojourn_core::grammar::forms::{maybe, packets};
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::units::Time;

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

/// A FIFO that can be limited.
#[derive(Debug, Default)]
pub(super) struct PlainQueue {
    pub(super) limit: Option<u32>,
    pub(super) packets: VecDeque<Packet>,
    pub(super) backlog: Backlog,
}

impl PlainQueue {
    pub(super) fn new(limit: Option<u32>) -> Self {
        Self { limit, ..Self::default() }
    }

    #[inline]
    pub(super) fn push(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        if self.limit.is_some_and(|limit| self.backlog.packets >= limit) {
            log.drop(&pkt, Reason::TailLimit);
            return;
        }
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

    pub(super) fn purge(&mut self, log: &mut Log) {
        for pkt in self.packets.drain(..) {
            log.drop(&pkt, Reason::Purge);
        }
        self.backlog = Backlog::default();
    }
}
