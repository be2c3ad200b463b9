//! `twin_codel_af`: an ordinary and a low-latency queue of CNQ's kind with "CoDel Approximate
//! Fairness" and fair service between flows of both. chromi/sce sch_twin_codel_af, commits
//! 03a785e (early) and acc6ad66 (later), 2020.

use super::cnq::Cnq;
use super::cnq_codel_af::{FlowStates, weight};
use super::cobalt2::Judged;
use super::sce_shell::{Common, Inside, Shell, Shelled, flow_of, is_low_latency};
use super::{Entry, Kernel, Log, entry};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};
use sojourn_core::{choices, parameters};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "twin_codel_af",
    "Ordinary and low-latency class (DSCP 4) with a COBALT2 per flow, and a shaper",
    "chromi/sce sch_twin_codel_af, 2020",
    Kernel::Tree("chromi/sce"),
);

parameters! {
    /// Parameters of `twin_codel_af`.
    #[derive(Copy, PartialEq)]
    pub(super) struct Params {
        /// Version of the rule between the classes.
        chooser: Chooser = Chooser::Later, tc false;
    }
    groups { common: Common = Common::with_sce(4); }
}

choices! {
    /// The rule by which a class is chosen.
    enum Chooser {
        /// Ignores that the ordinary class may be empty: then nothing leaves until it gets a packet.
        Early = "early",
        Later = "later",
    }
}

/// Two classes of two FIFOs, a control law per flow.
#[derive(Debug)]
pub(super) struct TwinCodelAf {
    classes: [Cnq; 2],
    /// What each class has been served beyond the other, in flows of the other.
    deficits: [u64; 2],
    states: FlowStates,
    /// Sojourn of the packet of each class that left last.
    delays: [Dur; 2],
}

impl Shelled for Params {
    const ENTRY: &'static Entry = &ENTRY;
    type Queue = TwinCodelAf;

    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }
}

impl TwinCodelAf {
    // chromi/sce sch_twin_codel_af.
    #[inline]
    fn choose(&self, chooser: Chooser) -> usize {
        let is_turn = self.deficits[0] >= self.deficits[1];
        let low = match chooser {
            Chooser::Early => !self.classes[1].is_empty() && is_turn,
            Chooser::Later => self.classes[0].is_empty() || !self.classes[1].is_empty() && is_turn,
        };
        usize::from(low)
    }

    // chromi/sce sch_twin_codel_af: a service costs as many units as the other class has flows.
    #[inline]
    fn account(&mut self, served: usize) {
        self.deficits[served] += u64::from(self.classes[1 - served].sending_flows());
        let least = self.deficits[0].min(self.deficits[1]);
        self.deficits = self.deficits.map(|deficit| deficit - least);
    }
}

impl Inside for TwinCodelAf {
    type Params = Params;

    fn new() -> Self {
        Self {
            classes: [Cnq::new(), Cnq::new()],
            deficits: [0; 2],
            states: FlowStates::new(),
            delays: [Dur::ZERO; 2],
        }
    }

    // chromi/sce sch_twin_codel_af.
    #[inline]
    fn push(&mut self, pkt: Packet) {
        self.classes[usize::from(is_low_latency(&pkt))].enqueue(pkt);
    }

    // chromi/sce sch_twin_codel_af.
    #[inline]
    fn pop(&mut self, shell: &mut Shell<Params>, now: Time, log: &mut Log) -> Option<Packet> {
        let (clock, chooser) = (shell.kernel_time(now), shell.params.chooser);
        loop {
            if chooser == Chooser::Later {
                self.classes.iter_mut().for_each(Cnq::drop_leading_dummies);
            }
            let class = self.choose(chooser);
            if chooser == Chooser::Later && !self.classes[class].is_empty() {
                self.account(class);
            }
            let (mut pkt, is_bulk) = self.classes[class].pop()?;
            shell.backlog.remove(&pkt);
            self.delays[class] = now.since(pkt.stamp);
            let law = if class == 0 { shell.law } else { shell.low };
            let flow = flow_of(&pkt);
            let cobalt = self.states.of(flow);
            if is_bulk {
                let queue = &self.classes[class];
                let weight = weight(queue, flow, shell.backlog.packets);
                let judged = Judged { now: clock, sojourn: self.delays[class].0, weight };
                let rng = &mut shell.rng;
                if let Some(why) = cobalt.should_drop(&law, &judged, &mut pkt, rng, log)
                    && queue.count(flow) > 0
                {
                    log.drop(&pkt, why);
                    continue;
                }
            } else {
                cobalt.queue_empty(&law, clock);
            }
            if chooser == Chooser::Early {
                self.account(class);
            }
            let classes = &self.classes;
            let is_idle = |flow| classes.iter().all(|class| class.count(flow) == 0);
            self.states.relax_one(&shell.law, clock, is_idle);
            return Some(pkt);
        }
    }

    fn state(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delays[0].as_millis_f64());
        out.put("delay_low", "ms", self.delays[1].as_millis_f64());
        out.put("active_flows", "1", f64::from(self.classes[0].sending_flows()));
        out.put("active_flows_low", "1", f64::from(self.classes[1].sending_flows()));
    }

    fn clear(&mut self, log: &mut Log) {
        self.classes.iter_mut().for_each(|class| class.purge(log));
        self.deficits = [0; 2];
        self.states.reset();
    }
}

#[cfg(test)]
mod tests;
