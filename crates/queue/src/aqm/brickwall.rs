//! `brickwall`: fixed thresholds of the delay, the plainest of markers. scim's experimental queues.

use super::plain_queue::{PlainQueue, Room};
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, entry, spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::{Value as _, or_off};
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "brickwall",
    "Marks SCE, marks CE and drops beyond three fixed delays",
    "scim, SCE team",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `brickwall`.
    #[derive(Copy, PartialEq)]
    struct Params {
        /// Delay beyond which every packet is marked SCE.
        sce: Option<Dur> = Some(Dur::from_millis(5)) => or_off(Dur::FORM, "no-sce"),
            name "sce-threshold";
        /// Delay beyond which every packet is marked CE, or dropped if it is not capable.
        ecn: Option<Dur> = Some(Dur::from_millis(25)) => or_off(Dur::FORM, "no-ecn"),
            name "ecn-threshold";
        /// Delay beyond which every packet but the last is dropped.
        drop: Option<Dur> = Some(Dur::from_millis(125)) => or_off(Dur::FORM, "no-drop"),
            name "drop-threshold";
    }
    groups { room: Room = Room::default(); }
    also {
        /// Thresholds that there are not.
        "no-sce|no-ecn|no-drop" => |params, key, _| {
            match key {
                "no-sce" => params.sce = None,
                "no-ecn" => params.ecn = None,
                _ => params.drop = None,
            }
            Ok(())
        };
    }
}

impl Discipline for Params {
    fn build(&self, _env: Env) -> Box<dyn Qdisc> {
        Box::new(Brickwall::new(*self))
    }
}

/// A FIFO with three thresholds.
#[derive(Debug)]
pub struct Brickwall {
    params: Params,
    queue: PlainQueue,
    /// Sojourn of the packet that left last.
    delay: Dur,
    sce_marks: u64,
    ce_marks: u64,
}

impl Brickwall {
    fn new(params: Params) -> Self {
        let queue = PlainQueue::new(params.room.limit);
        Self { params, queue, delay: Dur::ZERO, sce_marks: 0, ce_marks: 0 }
    }
}

impl Qdisc for Brickwall {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        self.queue.push(now, pkt, log);
    }

    // scim's Brickwall: the highest wall that the delay has passed decides.
    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        loop {
            let mut pkt = self.queue.pop()?;
            self.delay = now.since(pkt.stamp);
            let is_beyond = |wall: Option<Dur>| wall.is_some_and(|wall| self.delay > wall);
            let is_last = self.queue.packets.is_empty();
            if is_beyond(self.params.drop) && !is_last {
                log.drop(&pkt, Reason::Overload);
                continue;
            }
            if is_beyond(self.params.ecn) {
                let marked = log.set_ce(&mut pkt, Reason::CeThreshold);
                self.ce_marks += u64::from(marked);
                if !marked && !is_last {
                    log.drop(&pkt, Reason::CeThreshold);
                    continue;
                }
            } else if is_beyond(self.params.sce) && log.set_sce(&mut pkt, Reason::Sce) {
                self.sce_marks += 1;
            }
            return Some(pkt);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        self.params = to.params().copied().unwrap_or(self.params);
        self.queue.limit = self.params.room.limit;
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        out.put("sce_marks", self.sce_marks as f64);
        out.put("ce_marks", self.ce_marks as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delay.as_millis_f64());
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Event;
    use super::*;
    use crate::qdiscs::change;
    use sojourn_core::ecn::Ecn;

    fn make(words: &str) -> Brickwall {
        let spec: Spec = format!("brickwall {words}").parse().unwrap();
        Brickwall::new(*spec.params().unwrap())
    }

    /// The codepoint of the first of two packets that leave after `delay`; none if it is dropped.
    fn outcome(words: &str, delay: Dur, ecn: Ecn) -> Option<Ecn> {
        let (mut q, mut log) = (make(words), Log::default());
        for id in 0..2 {
            let pkt = Packet { id, len: 1514, tos: ecn as u8, ..Packet::default() };
            q.enqueue(Time::ZERO, pkt, &mut log);
        }
        let first = q.dequeue(Time::ZERO + delay, &mut log).unwrap();
        (first.id == 0).then(|| first.ecn())
    }

    // scim's brickwall.
    #[test]
    fn every_packet_beyond_a_threshold_is_marked_or_dropped() {
        for (us, ect0, ect1, not_ect) in [
            (5_000, Some(Ecn::Ect0), Some(Ecn::Ect1), Some(Ecn::NotEct)),
            (5_001, Some(Ecn::Ect1), Some(Ecn::Ect1), Some(Ecn::NotEct)),
            (25_000, Some(Ecn::Ect1), Some(Ecn::Ect1), Some(Ecn::NotEct)),
            (25_001, Some(Ecn::Ce), Some(Ecn::Ce), None),
            (125_000, Some(Ecn::Ce), Some(Ecn::Ce), None),
            (125_001, None, None, None),
        ] {
            let delay = Dur::from_micros(us);
            let got = [Ecn::Ect0, Ecn::Ect1, Ecn::NotEct].map(|ecn| outcome("", delay, ecn));
            assert_eq!(got, [ect0, ect1, not_ect], "{us} us");
        }
    }

    #[test]
    fn thresholds_can_be_moved_and_taken_away() {
        let late = Dur::from_secs(1);
        assert_eq!(outcome("no-drop", late, Ecn::Ect0), Some(Ecn::Ce));
        assert_eq!(outcome("no-drop no-ecn", late, Ecn::Ect0), Some(Ecn::Ect1));
        assert_eq!(outcome("no-drop no-ecn no-sce", late, Ecn::Ect0), Some(Ecn::Ect0));
        let mut q = make("limit 9");
        change(&mut q, Time::ZERO, "brickwall ecn-threshold 3ms no-sce", &mut Log::default())
            .unwrap();
        let expected = "brickwall no-sce ecn-threshold 3ms drop-threshold 125ms limit 9p";
        assert_eq!(q.describe(), expected);
    }

    #[test]
    fn last_packet_is_never_dropped() {
        let (mut q, mut log) = (make(""), Log::default());
        for id in 0..5 {
            q.enqueue(Time::ZERO, Packet { id, len: 1514, ..Packet::default() }, &mut log);
        }
        assert_eq!(q.dequeue(Time(1 << 40), &mut log).unwrap().id, 4);
        let drops: Vec<Reason> = log
            .drain()
            .map(|event| match event {
                Event::Drop(_, reason) => reason,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(drops, [Reason::Overload; 4]);
    }
}
