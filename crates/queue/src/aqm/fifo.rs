//! `pfifo` and `bfifo`: tail drop by packets or by bytes; `pfifo_head_drop`. Linux 6.12 `sch_fifo`.

use super::plain_queue::PlainQueue;
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, PSCHED_MTU, Qdisc, Reason, Spec, Stats,
    TXQUEUELEN, entry, spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::packets;
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::units::{Bytes, Time};

pub(crate) const PFIFO: Entry = entry::<Pfifo>(
    "pfifo",
    "First in, first out, limited in packets",
    "Linux 6.12 sch_fifo",
    Kernel::Mainline("2.2"),
);

pub(crate) const BFIFO: Entry = entry::<Bfifo>(
    "bfifo",
    "First in, first out, limited in bytes",
    "Linux 6.12 sch_fifo",
    Kernel::Mainline("2.2"),
);

pub(crate) const PFIFO_HEAD_DROP: Entry = entry::<PfifoHeadDrop>(
    "pfifo_head_drop",
    "First in, first out; a full queue drops its oldest packet",
    "Linux 6.12 sch_fifo",
    Kernel::Mainline("2.6.34"),
);

parameters! {
    /// Parameters of `pfifo`.
    #[derive(PartialEq)]
    pub(super) struct Pfifo {
        /// Packets that may wait; by default the device's txqueuelen.
        limit: u32 = TXQUEUELEN => packets(0..=u32::MAX.into());
    }
}

parameters! {
    /// Parameters of `pfifo_head_drop`.
    #[derive(PartialEq)]
    pub(super) struct PfifoHeadDrop {
        /// Packets that may wait; by default the device's txqueuelen.
        limit: u32 = TXQUEUELEN => packets(0..=u32::MAX.into());
    }
}

parameters! {
    /// Parameters of `bfifo`.
    #[derive(PartialEq)]
    pub(super) struct Bfifo {
        /// Bytes that may wait; by default txqueuelen full frames.
        limit: Bytes = Bytes((TXQUEUELEN * PSCHED_MTU).into());
    }
}

impl Discipline for Pfifo {
    fn build(&self, _env: Env) -> Box<dyn Qdisc> {
        Box::new(Fifo::pfifo(self.limit))
    }
}

impl Discipline for PfifoHeadDrop {
    fn build(&self, _env: Env) -> Box<dyn Qdisc> {
        Box::new(Fifo::new(Unit::PacketsHeadDrop, self.limit.into()))
    }
}

impl Discipline for Bfifo {
    fn build(&self, _env: Env) -> Box<dyn Qdisc> {
        Box::new(Fifo::bfifo(self.limit.0))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Packets,
    PacketsHeadDrop,
    Bytes,
}

/// A FIFO that drops at its tail, or at its head.
#[derive(Debug)]
pub struct Fifo {
    unit: Unit,
    limit: u64,
    queue: PlainQueue,
}

impl Fifo {
    /// `pfifo limit N`.
    pub fn pfifo(limit: u32) -> Self {
        Self::new(Unit::Packets, u64::from(limit))
    }

    /// `bfifo limit N`.
    pub fn bfifo(limit: u64) -> Self {
        Self::new(Unit::Bytes, limit)
    }

    fn new(unit: Unit, limit: u64) -> Self {
        Self { unit, limit, queue: PlainQueue::default() }
    }
}

impl Qdisc for Fifo {
    // Linux 6.12 `pfifo_enqueue`, `bfifo_enqueue`, `pfifo_tail_enqueue`.
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        let fits = match self.unit {
            Unit::Bytes => self.queue.backlog.bytes + u64::from(pkt.len) <= self.limit,
            _ => u64::from(self.queue.backlog.packets) < self.limit,
        };
        let makes_room = self.unit == Unit::PacketsHeadDrop && self.limit > 0;
        if !fits && makes_room {
            let oldest = self.dequeue(now, log);
            log.drop(&oldest.expect("a full queue"), Reason::HeadLimit);
        }
        if fits || makes_room {
            self.queue.push(now, pkt);
        } else {
            log.drop(&pkt, Reason::TailLimit);
        }
    }

    #[inline]
    fn dequeue(&mut self, _now: Time, _log: &mut Log) -> Option<Packet> {
        self.queue.pop()
    }

    #[inline]
    fn next_len(&self) -> Option<u32> {
        self.queue.next_len()
    }

    fn shows_next(&self) -> bool {
        true
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        let packets = to.params::<Pfifo>().map(|to| to.limit);
        let packets = packets.or_else(|| to.params::<PfifoHeadDrop>().map(|to| to.limit));
        let limit =
            to.params::<Bfifo>().map_or_else(|| packets.map(u64::from), |to| Some(to.limit.0));
        self.limit = limit.unwrap_or(self.limit);
    }

    fn spec(&self) -> Spec {
        match self.unit {
            Unit::Packets => spec(&PFIFO, Pfifo { limit: self.limit as u32 }),
            Unit::PacketsHeadDrop => {
                spec(&PFIFO_HEAD_DROP, PfifoHeadDrop { limit: self.limit as u32 })
            }
            Unit::Bytes => spec(&BFIFO, Bfifo { limit: Bytes(self.limit) }),
        }
    }

    // Drops are the port's to count; Linux leaves `overlimits` at 0 (7.2, `tc -s`).
    fn stats(&self, _out: &mut Stats) {}

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
    }
}

#[cfg(test)]
mod tests;
