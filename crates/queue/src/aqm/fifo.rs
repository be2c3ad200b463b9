//! `pfifo` and `bfifo`: tail drop by packets or by bytes; `pfifo_head_drop`. Linux 6.12 `sch_fifo`.

use std::collections::VecDeque;

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
    queue: VecDeque<Packet>,
    backlog: Backlog,
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
        let (queue, backlog) = (VecDeque::new(), Backlog::default());
        Self { unit, limit, queue, backlog }
    }
}

impl Qdisc for Fifo {
    // Linux 6.12 `pfifo_enqueue`, `bfifo_enqueue`, `pfifo_tail_enqueue`.
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        let fits = match self.unit {
            Unit::Bytes => self.backlog.bytes + u64::from(pkt.len) <= self.limit,
            _ => u64::from(self.backlog.packets) < self.limit,
        };
        let makes_room = self.unit == Unit::PacketsHeadDrop && self.limit > 0;
        if !fits && makes_room {
            let oldest = self.dequeue(now, log);
            log.drop(&oldest.expect("a full queue"), Reason::HeadLimit);
        }
        if fits || makes_room {
            pkt.stamp = now;
            self.backlog.add(&pkt);
            self.queue.push_back(pkt);
        } else {
            log.drop(&pkt, Reason::TailLimit);
        }
    }

    #[inline]
    fn dequeue(&mut self, _now: Time, _log: &mut Log) -> Option<Packet> {
        let pkt = self.queue.pop_front()?;
        self.backlog.remove(&pkt);
        Some(pkt)
    }

    #[inline]
    fn next_len(&self) -> Option<u32> {
        self.queue.front().map(|pkt| pkt.len)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
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
        for pkt in self.queue.drain(..) {
            log.drop(&pkt, Reason::Purge);
        }
        self.backlog = Backlog::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdiscs::build;
    use sojourn_core::rng::Rng;

    fn make(text: &str) -> Box<dyn Qdisc> {
        build(text, Env::ethernet(Rng::named(1, "t"))).unwrap()
    }

    fn packet(id: u32, len: u32) -> Packet {
        Packet { id, len, ..Packet::default() }
    }

    // KAT fifo 1
    #[test]
    fn pfifo_drops_only_the_arrival_beyond_its_limit() {
        let (mut q, mut log) = (make("pfifo limit 1000"), Log::default());
        for id in 0..1001 {
            q.enqueue(Time::ZERO, packet(id, 1514), &mut log);
        }
        assert_eq!(log.events().len(), 1);
        assert!(
            matches!(log.events()[0], super::super::Event::Drop(p, Reason::TailLimit) if p.id == 1000)
        );
        assert_eq!(q.backlog(), Backlog { packets: 1000, bytes: 1_514_000 });
    }

    // KAT fifo 2
    #[test]
    fn bfifo_accepts_what_fits_to_the_byte() {
        let (mut q, mut log) = (make("bfifo limit 15140"), Log::default());
        for id in 0..11 {
            q.enqueue(Time::ZERO, packet(id, 1514), &mut log);
        }
        assert_eq!((q.backlog().packets, log.drain().count()), (10, 1));
        q.dequeue(Time::ZERO, &mut log);
        q.enqueue(Time::ZERO, packet(11, 1515), &mut log);
        assert_eq!(log.drain().count(), 1);
        q.enqueue(Time::ZERO, packet(12, 1514), &mut log);
        assert!(log.is_empty());
    }

    // KAT fifo 3
    #[test]
    fn head_drop_keeps_the_youngest() {
        let (mut q, mut log) = (make("pfifo_head_drop limit 3"), Log::default());
        for id in 1..=5 {
            q.enqueue(Time::ZERO, packet(id, 100), &mut log);
        }
        let dropped: Vec<u32> = log
            .drain()
            .filter_map(|e| match e {
                super::super::Event::Drop(p, Reason::HeadLimit) => Some(p.id),
                _ => None,
            })
            .collect();
        assert_eq!(dropped, [1, 2]);
        let left: Vec<u32> =
            std::iter::from_fn(|| q.dequeue(Time::ZERO, &mut log).map(|p| p.id)).collect();
        assert_eq!(left, [3, 4, 5]);
    }

    #[test]
    fn head_drop_without_room_drops_the_arrival() {
        let (mut q, mut log) = (make("pfifo_head_drop limit 0"), Log::default());
        q.enqueue(Time::ZERO, packet(1, 100), &mut log);
        assert!(matches!(log.events(), [super::super::Event::Drop(_, Reason::TailLimit)]));
    }

    // KAT fifo 5
    #[test]
    fn full_pfifo_delays_by_its_packets_at_the_rate() {
        let frame = sojourn_core::units::Rate(50_000_000).time_for(1514);
        assert_eq!((frame * 1000).0, 242_240_000);
        let env = Env::ethernet(Rng::named(1, "t"));
        let mut q = crate::qdiscs::build_shaped("htb rate 50Mbit", make("pfifo"), &env).unwrap();
        let (mut log, mut now, mut sent) = (Log::default(), Time::ZERO, 0);
        for id in 0..1000 {
            q.enqueue(Time::ZERO, packet(id, 1514), &mut log);
        }
        while q.backlog().packets > 0 {
            if q.dequeue(now, &mut log).is_some() {
                sent += 1;
            } else {
                now = q.wake();
                q.on_wake(now, &mut log);
            }
        }
        // The last starts one frame before the queue is empty; the bucket's burst is 256 us.
        assert_eq!((sent, now), (1000, Time(242_240_000 - 242_240 - 256_000)));
    }

    #[test]
    fn limits_default_to_the_devices_queue_length() {
        assert_eq!(make("pfifo").describe(), "pfifo limit 1000p");
        assert_eq!(make("bfifo").describe(), "bfifo limit 1514000b");
    }

    #[test]
    fn lower_limit_keeps_the_packets_that_wait() {
        let (mut q, mut log) = (make("pfifo"), Log::default());
        for id in 0..5 {
            q.enqueue(Time::ZERO, packet(id, 100), &mut log);
        }
        crate::qdiscs::change(&mut *q, Time::ZERO, "pfifo limit 2", &mut Log::default()).unwrap();
        assert_eq!(q.backlog().packets, 5);
        q.enqueue(Time::ZERO, packet(5, 100), &mut log);
        assert_eq!(log.drain().count(), 1);
    }
}
