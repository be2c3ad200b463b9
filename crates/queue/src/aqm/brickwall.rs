//! `brickwall`: fixed thresholds of the delay, the plainest of markers. scim's experimental queues.

use super::judged_fifo::{Judge, JudgedFifo, JudgedQueue};
use super::plain_queue::Room;
use super::{Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Stats, entry};
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
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(JudgedFifo::<Brickwall>::new(*self, env))
    }
}

/// Marks by three thresholds.
#[derive(Debug, Default)]
struct Brickwall {
    sce_marks: u64,
    ce_marks: u64,
}

impl Judge for Brickwall {
    type Params = Params;
    const ENTRY: &'static Entry = &ENTRY;

    fn new(_params: &Params, _env: Env) -> Self {
        Self::default()
    }

    fn limit(params: &Params) -> Option<u32> {
        params.room.limit
    }

    // scim's Brickwall: the highest wall that the delay has passed decides.
    #[inline]
    fn judge(
        &mut self,
        fifo: &mut JudgedQueue<Params>,
        _now: Time,
        pkt: &mut Packet,
        log: &mut Log,
    ) -> Option<Reason> {
        let is_beyond = |wall: Option<Dur>| wall.is_some_and(|wall| fifo.delay > wall);
        let is_last = fifo.is_empty();
        if is_beyond(fifo.params.drop) && !is_last {
            return Some(Reason::Overload);
        }
        if is_beyond(fifo.params.ecn) {
            let marked = log.set_ce(pkt, Reason::CeThreshold);
            self.ce_marks += u64::from(marked);
            return (!marked && !is_last).then_some(Reason::CeThreshold);
        }
        if is_beyond(fifo.params.sce) && log.set_sce(pkt, Reason::Sce) {
            self.sce_marks += 1;
        }
        None
    }

    fn stats(&self, _params: &Params, out: &mut Stats) {
        out.put("sce_marks", self.sce_marks as f64);
        out.put("ce_marks", self.ce_marks as f64);
    }

    fn probe(&self, fifo: &JudgedQueue<Params>, out: &mut Probe<'_>) {
        fifo.probe_delay(out);
    }

    fn reset(&mut self) {}
}

#[cfg(test)]
mod tests;
