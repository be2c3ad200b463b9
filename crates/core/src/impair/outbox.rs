//! Packets that a link element has carried and its port has not yet fetched.

use std::collections::VecDeque;

use crate::aqm::{Backlog, Log, Reason};
use crate::packet::Packet;

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    line: VecDeque<Packet>,
    held: Backlog,
}

impl Outbox {
    #[inline]
    pub(crate) fn push(&mut self, pkt: Packet) {
        self.held.add(&pkt);
        self.line.push_back(pkt);
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        let pkt = self.line.pop_front()?;
        self.held.remove(&pkt);
        Some(pkt)
    }

    /// Length of the packet that is next.
    #[inline]
    pub(crate) fn next_len(&self) -> Option<u32> {
        self.line.front().map(|pkt| pkt.len)
    }

    /// `others` and what is here.
    #[inline]
    pub(crate) fn backlog_with<'p>(
        &self,
        leaf: Backlog,
        others: impl IntoIterator<Item = &'p Packet>,
    ) -> Backlog {
        let mut all = Backlog {
            packets: self.held.packets + leaf.packets,
            bytes: self.held.bytes + leaf.bytes,
        };
        others.into_iter().for_each(|pkt| all.add(pkt));
        all
    }

    pub(crate) fn purge(&mut self, log: &mut Log) {
        while let Some(pkt) = self.pop() {
            log.drop(&pkt, Reason::Purge);
        }
    }
}
