//! `cobalt`: one FIFO under one COBALT2, with SCE. chromi/sce sch_cobalt, 2022. The law is in
//! `cobalt2`; CAKE's COBALT, without SCE, is in `cobalt`.

use super::cobalt2::{Cobalt2, Judged, Law, LawParams, Version};
use super::plain_queue::{Limit, PlainQueue};
use super::{Backlog, Discipline, Entry, Env, Kernel, Log, Qdisc, Spec, Stats, entry, spec};
use sojourn_core::grammar::Given;
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "cobalt",
    "FIFO under COBALT2: CoDel for CE and for SCE, and BLUE",
    "chromi/sce sch_cobalt, 2022",
    Kernel::Tree("chromi/sce"),
);

parameters! {
    /// Parameters of `cobalt`.
    #[derive(Copy, PartialEq)]
    pub(super) struct Params {}
    groups {
        limit: Limit = Limit::default();
        law: LawParams = LawParams::with_divisor(4);
    }
}

/// Age of the kernel when the run starts: fresh instants, all zero, lie in the past.
const UPTIME: Dur = Dur::from_secs(1000);

/// A FIFO under one control law.
#[derive(Debug)]
pub(super) struct SchCobalt {
    params: Params,
    law: Law,
    queue: PlainQueue,
    cobalt: Cobalt2,
    rng: Rng,
    /// Sojourn of the packet that left last.
    delay: Dur,
}

impl SchCobalt {
    fn new(params: Params, env: Env) -> Self {
        Self {
            params,
            law: Law::new(&params.law, Version::V2022),
            queue: PlainQueue::new(params.limit.limit),
            cobalt: Cobalt2::default(),
            rng: env.rng,
            delay: Dur::ZERO,
        }
    }
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(SchCobalt::new(*self, env))
    }
}

impl Qdisc for SchCobalt {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        self.queue.push(now, pkt, log);
    }

    // chromi/sce sch_cobalt.
    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        let clock = now.0.wrapping_add(UPTIME.0);
        loop {
            let mut pkt = self.queue.pop()?;
            self.delay = now.since(pkt.stamp);
            // The last packet is not judged.
            if self.queue.backlog.bytes == 0 {
                self.cobalt.queue_empty(&self.law, clock);
                return Some(pkt);
            }
            let judged = Judged::plain(clock, self.delay.0);
            let (cobalt, rng) = (&mut self.cobalt, &mut self.rng);
            match cobalt.should_drop(&self.law, &judged, &mut pkt, rng, log) {
                Some(why) => log.drop(&pkt, why),
                None => return Some(pkt),
            }
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        if let Some(params) = to.params::<Params>() {
            self.params = *params;
            self.law = Law::new(&params.law, Version::V2022);
            self.queue.limit = params.limit.limit;
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    /// The kernel counts nothing.
    fn stats(&self, _out: &mut Stats) {}

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delay.as_millis_f64());
        out.put("ce_count", "1", f64::from(self.cobalt.ce_count));
        out.put("sce_count", "1", f64::from(self.cobalt.sce_count));
        out.put("p_blue", "1", f64::from(self.cobalt.p_drop) / 4_294_967_296.0);
    }

    fn splits(&self, _pkt: &Packet) -> bool {
        true
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
        self.cobalt = Cobalt2::default();
    }
}

#[cfg(test)]
mod tests;
