//! `deltic`: a FIFO under three controllers of "Delay Time Control". chromi/sce sch_deltic, 2022;
//! its interim arithmetic of 2023 and 2024, and that of the later core, as `version`.

use super::plain_queue::{Limit, PlainQueue};
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, entry, spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

pub(super) mod law;

use law::{Law, Resonances, Trio};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "deltic",
    "Delta-sigma control of the delay by SCE, CE and drops at three frequencies",
    "chromi/sce sch_deltic, 2022",
    Kernel::Tree("chromi/sce"),
);

parameters! {
    /// Parameters of `deltic`.
    #[derive(Copy, PartialEq)]
    pub(super) struct Params {
        /// Arithmetic of the controllers; 2024 takes fractions of a hertz.
        version: Law = Law::V2022, tc false;
    }
    groups {
        limit: Limit = Limit::default();
        resonances: Resonances = Resonances::default();
    }
    settle whole_hertz;
}

impl Params {
    fn whole_hertz(&self, _given: &Given) -> Result<(), String> {
        self.resonances.check(self.version)
    }
}

/// A FIFO under three controllers.
#[derive(Debug)]
pub(super) struct Deltic {
    params: Params,
    queue: PlainQueue,
    trio: Trio,
    delay: Dur,
}

impl Deltic {
    fn new(params: Params) -> Self {
        let queue = PlainQueue::new(params.limit.limit);
        Self { params, queue, trio: Trio::NEW, delay: Dur::ZERO }
    }
}

impl Discipline for Params {
    fn build(&self, _env: Env) -> Box<dyn Qdisc> {
        Box::new(Deltic::new(*self))
    }

    fn accepts(&self, to: &Spec) -> Result<(), String> {
        match to.params::<Self>() {
            Some(to) if to.version != self.version => {
                Err("`version` is fixed at creation; use replace".to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl Qdisc for Deltic {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        self.queue.push(now, pkt, log);
    }

    // chromi/sce sch_deltic: all three controllers see every packet.
    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        loop {
            let mut pkt = self.queue.pop()?;
            self.delay = now.since(pkt.stamp);
            let Params { version, resonances, .. } = &self.params;
            let verdict = self.trio.judge(*version, resonances, now, self.delay);
            if verdict.sce {
                let _ = log.set_sce(&mut pkt, Reason::Sce);
            }
            let unmarkable = verdict.ecn && !log.set_ce(&mut pkt, Reason::Deltic);
            if !unmarkable && !verdict.drop {
                return Some(pkt);
            }
            log.drop(&pkt, Reason::Deltic);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        if let Some(params) = to.params::<Params>() {
            (self.params, self.queue.limit) = (*params, params.limit.limit);
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, _out: &mut Stats) {}

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delay.as_millis_f64());
        self.trio.probe(self.params.version, &self.params.resonances, out);
    }

    fn splits(&self, _pkt: &Packet) -> bool {
        true
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
        self.trio = Trio::NEW;
    }
}

#[cfg(test)]
mod tests;
