//! The queue of CNQ, "Cheap Nasty Queueing": a sparse and a bulk FIFO and one counter per flow.
//! chromi/sce, trees of 2019 and 2020.

use std::collections::VecDeque;

use super::sce_shell::{FLOWS, flow_of};
use super::{Log, Reason};
use sojourn_core::packet::Packet;

/// What waits in the bulk FIFO.
#[derive(Clone, Copy, Debug)]
enum Slot {
    Packet(Packet),
    /// Placeholder of the packet by which this flow became busy, which is in the sparse FIFO.
    Dummy(u16),
}

/// A flow whose packet finds no trace of it is sparse: its packet overtakes the bulk and leaves a
/// dummy there, so that the flow counts as busy until the dummy has passed.
#[derive(Debug, Default)]
pub(super) struct Cnq {
    sparse: VecDeque<Packet>,
    bulk: VecDeque<Slot>,
    /// Entries of each flow in the bulk FIFO. As wide as in the kernel, where it wraps too.
    count: Vec<u16>,
    /// Flows with a count.
    active: u32,
    /// Dummies in the bulk FIFO.
    dummies: u32,
    bytes: u64,
}

impl Cnq {
    pub(super) fn new() -> Self {
        Self { count: vec![0; FLOWS], ..Self::default() }
    }

    // chromi/sce sch_cnq_cobalt; draft-morton-tsvwg-cheap-nasty-queueing-01.
    #[inline]
    pub(super) fn enqueue(&mut self, pkt: Packet) {
        let flow = flow_of(&pkt);
        self.bytes += u64::from(pkt.len);
        let count = &mut self.count[flow];
        if *count == 0 {
            self.active += 1;
            self.dummies += 1;
            self.sparse.push_back(pkt);
            self.bulk.push_back(Slot::Dummy(flow as u16));
        } else {
            self.bulk.push_back(Slot::Packet(pkt));
        }
        *count = count.wrapping_add(1);
        if *count == 0 {
            self.active -= 1;
        }
    }

    /// The next packet, and whether it waited in the bulk FIFO.
    /// chromi/sce sch_cnq_cobalt: the sparse FIFO in strict priority.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Packet, bool)> {
        let (pkt, is_bulk) = match self.sparse.pop_front() {
            Some(pkt) => (pkt, false),
            None => loop {
                match self.bulk.pop_front()? {
                    Slot::Dummy(flow) => self.forget_dummy(flow),
                    Slot::Packet(pkt) => {
                        self.uncount(flow_of(&pkt));
                        break (pkt, true);
                    }
                }
            },
        };
        self.bytes -= u64::from(pkt.len);
        Some((pkt, is_bulk))
    }

    /// Removes the dummies at the head of the bulk, if no sparse packet waits.
    /// chromi/sce sch_twin_codel_af, the later build.
    pub(super) fn drop_leading_dummies(&mut self) {
        while self.sparse.is_empty()
            && let Some(Slot::Dummy(flow)) = self.bulk.front().copied()
        {
            self.bulk.pop_front();
            self.forget_dummy(flow);
        }
    }

    fn forget_dummy(&mut self, flow: u16) {
        self.dummies -= 1;
        self.uncount(usize::from(flow));
    }

    #[inline]
    fn uncount(&mut self, flow: usize) {
        let count = &mut self.count[flow];
        match *count {
            0 => self.active += 1,
            1 => self.active -= 1,
            _ => {}
        }
        *count = count.wrapping_sub(1);
    }

    /// Entries that `flow` has in the bulk FIFO.
    #[inline]
    pub(super) fn count(&self, flow: usize) -> u16 {
        self.count[flow]
    }

    /// Flows that have more than a dummy in the bulk FIFO.
    #[inline]
    pub(super) const fn busy_flows(&self) -> u32 {
        self.active.saturating_sub(self.dummies)
    }

    /// Flows with something to send.
    #[inline]
    pub(super) fn sending_flows(&self) -> u32 {
        self.busy_flows() + self.sparse.len() as u32
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    pub(super) fn purge(&mut self, log: &mut Log) {
        let bulk = self.bulk.drain(..).filter_map(|slot| match slot {
            Slot::Packet(pkt) => Some(pkt),
            Slot::Dummy(_) => None,
        });
        for pkt in self.sparse.drain(..).chain(bulk) {
            log.drop(&pkt, Reason::Purge);
        }
        self.count.fill(0);
        (self.active, self.dummies, self.bytes) = (0, 0, 0);
    }
}
