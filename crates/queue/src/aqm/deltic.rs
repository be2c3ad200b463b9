//! `deltic`: a FIFO under three controllers of "Delay Time Control". chromi/sce sch_deltic, 2022;
//! its interim arithmetic of 2023 and 2024, and that of the later core, as `version`.

use super::judged_fifo::{Judge, JudgedFifo, JudgedQueue};
use super::plain_queue::Limit;
use super::{Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, accepts, entry};
use sojourn_core::grammar::Given;
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::Time;

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

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(JudgedFifo::<Deltic>::new(*self, env))
    }

    fn accepts(&self, to: &Spec) -> Result<(), String> {
        accepts(
            to,
            |to: &Self| to.version == self.version,
            "`version` is fixed at creation; use replace",
        )
    }
}

/// Three controllers.
#[derive(Debug)]
struct Deltic(Trio);

impl Judge for Deltic {
    type Params = Params;
    const ENTRY: &'static Entry = &ENTRY;
    const SPLITS: bool = true;

    fn new(_params: &Params, _env: Env) -> Self {
        Self(Trio::NEW)
    }

    fn limit(params: &Params) -> Option<u32> {
        params.limit.limit
    }

    // chromi/sce sch_deltic: all three controllers see every packet.
    #[inline]
    fn judge(
        &mut self,
        fifo: &mut JudgedQueue<Params>,
        now: Time,
        pkt: &mut Packet,
        log: &mut Log,
    ) -> Option<Reason> {
        let Params { version, resonances, .. } = &fifo.params;
        let verdict = self.0.judge(*version, resonances, now, fifo.delay);
        if verdict.sce {
            let _ = log.set_sce(pkt, Reason::Sce);
        }
        let unmarkable = verdict.ecn && !log.set_ce(pkt, Reason::Deltic);
        (unmarkable || verdict.drop).then_some(Reason::Deltic)
    }

    fn probe(&self, fifo: &JudgedQueue<Params>, out: &mut Probe<'_>) {
        fifo.probe_delay(out);
        self.0.probe(fifo.params.version, &fifo.params.resonances, out);
    }

    fn reset(&mut self) {
        self.0 = Trio::NEW;
    }
}

#[cfg(test)]
mod tests;
