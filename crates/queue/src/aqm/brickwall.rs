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
mod tests;
