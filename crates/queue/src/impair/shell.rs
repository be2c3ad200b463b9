//! What link elements have in common: each is between a queue and a port, takes packets from
//! the one when it can carry them, and puts out what it has carried for the other to fetch.

use std::collections::VecDeque;

use crate::aqm::{Backlog, Log, Qdisc, Reason};
use sojourn_core::grammar::forms::{Form, integer};
use sojourn_core::packet::Packet;
use sojourn_core::units::Time;

pub(crate) struct Shell {
    /// The queue.
    pub(crate) leaf: Box<dyn Qdisc>,
    /// Carried, and not yet fetched.
    out: VecDeque<Packet>,
    held: Backlog,
}

impl Shell {
    pub(crate) fn new(leaf: Box<dyn Qdisc>) -> Self {
        Self { leaf, out: VecDeque::new(), held: Backlog::default() }
    }

    /// Whether the queue holds packets; it need not give one at once.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.leaf.backlog().packets > 0
    }

    /// The queue's next packet.
    #[inline]
    pub(crate) fn take(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        if self.is_waiting() { self.leaf.dequeue(now, log) } else { None }
    }

    /// Serves the queue's timer if it is due.
    #[inline]
    pub(crate) fn wake_leaf(&mut self, now: Time, log: &mut Log) -> bool {
        let is_due = self.leaf.wake() <= now;
        if is_due {
            self.leaf.on_wake(now, log);
        }
        is_due
    }

    /// Puts out a packet that was carried.
    #[inline]
    pub(crate) fn put(&mut self, pkt: Packet) {
        self.held.add(&pkt);
        self.out.push_back(pkt);
    }

    /// The port's next packet.
    #[inline]
    pub(crate) fn fetch(&mut self) -> Option<Packet> {
        let pkt = self.out.pop_front()?;
        self.held.remove(&pkt);
        Some(pkt)
    }

    /// Length of the packet that [`Self::fetch`] would give.
    #[inline]
    pub(crate) fn next_len(&self) -> Option<u32> {
        self.out.front().map(|pkt| pkt.len)
    }

    /// What waits on either side, and the packets on the way between.
    #[inline]
    pub(crate) fn backlog<'p>(&self, between: impl IntoIterator<Item = &'p Packet>) -> Backlog {
        let mut all = self.held + self.leaf.backlog();
        between.into_iter().for_each(|pkt| all.add(pkt));
        all
    }

    /// Drops what waits on either side, and the packets on the way between.
    pub(crate) fn purge(&mut self, between: impl IntoIterator<Item = Packet>, log: &mut Log) {
        self.out.drain(..).chain(between).for_each(|pkt| log.drop(&pkt, Reason::Purge));
        self.held = Backlog::default();
        self.leaf.purge(log);
    }
}

/// What a link adds to each packet's layer-2 length.
pub(crate) fn overhead() -> impl Form<i32> {
    integer("BYTES", -64..=255)
}

/// The size of `pkt` on a link with this overhead.
#[inline]
pub(crate) fn size_on_link(pkt: &Packet, overhead: i32) -> u32 {
    pkt.len.saturating_add_signed(overhead).max(1)
}
