//! `cobalt`: one FIFO under one COBALT2, with SCE. chromi/sce sch_cobalt, 2022. The law is in
//! `cobalt2`; CAKE's COBALT, without SCE, is in `cobalt`.

use super::cobalt2::{Cobalt2, Judged, Law, LawParams, Version};
use super::judged_fifo::{Judge, JudgedFifo, JudgedQueue};
use super::plain_queue::Limit;
use super::{Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, entry};
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

/// The kernel counts nothing.
#[derive(Debug)]
struct SchCobalt {
    law: Law,
    cobalt: Cobalt2,
    rng: Rng,
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(JudgedFifo::<SchCobalt>::new(*self, env))
    }
}

impl Judge for SchCobalt {
    type Params = Params;
    const ENTRY: &'static Entry = &ENTRY;
    const SPLITS: bool = true;

    fn new(params: &Params, env: Env) -> Self {
        let law = Law::new(&params.law, Version::V2022);
        Self { law, cobalt: Cobalt2::default(), rng: env.rng }
    }

    fn limit(params: &Params) -> Option<u32> {
        params.limit.limit
    }

    // chromi/sce sch_cobalt: the last packet is not judged.
    #[inline]
    fn judge(
        &mut self,
        fifo: &mut JudgedQueue<Params>,
        now: Time,
        pkt: &mut Packet,
        log: &mut Log,
    ) -> Option<Reason> {
        let clock = now.0.wrapping_add(UPTIME.0);
        if fifo.queue.backlog.bytes == 0 {
            self.cobalt.queue_empty(&self.law, clock);
            return None;
        }
        let judged = Judged::plain(clock, fifo.delay.0);
        self.cobalt.should_drop(&self.law, &judged, pkt, &mut self.rng, log)
    }

    fn change(&mut self, _from: &Params, to: &Params, _now: Time) {
        self.law = Law::new(&to.law, Version::V2022);
    }

    fn probe(&self, fifo: &JudgedQueue<Params>, out: &mut Probe<'_>) {
        fifo.probe_delay(out);
        self.cobalt.probe(out);
    }

    fn reset(&mut self) {
        self.cobalt = Cobalt2::default();
    }
}

#[cfg(test)]
mod tests;
