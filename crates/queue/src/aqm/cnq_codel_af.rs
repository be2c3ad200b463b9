//! `cnq_codel_af`: CNQ's two FIFOs with "CoDel Approximate Fairness", a COBALT2 per flow that
//! weighs the delay by the flow's share of the queue. chromi/sce sch_cnq_codel_af, 2020;
//! draft-morton-tsvwg-codel-approx-fair-01.

use super::cnq::Cnq;
use super::cobalt2::{Cobalt2, Judged, Law};
use super::sce_shell::{Common, FLOWS, Inside, Shell, Shelled, flow_of};
use super::{Entry, Kernel, Log, entry};
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "cnq_codel_af",
    "Sparse and bulk FIFO with a COBALT2 per flow that judges its share, and a shaper",
    "chromi/sce sch_cnq_codel_af, 2020",
    Kernel::Tree("chromi/sce"),
);

parameters! {
    /// Parameters of `cnq_codel_af`.
    #[derive(Copy, PartialEq)]
    pub(super) struct Params {}
    groups { common: Common = Common::default(); }
}

/// The control laws of all flows.
#[derive(Debug)]
pub(super) struct FlowStates {
    flows: Vec<Cobalt2>,
    /// The flow whose turn it is to relax if it is idle.
    turn: u16,
}

impl FlowStates {
    pub(super) fn new() -> Self {
        Self { flows: vec![Cobalt2::default(); FLOWS], turn: 0 }
    }

    #[inline]
    pub(super) fn of(&mut self, flow: usize) -> &mut Cobalt2 {
        &mut self.flows[flow]
    }

    /// Relaxes the next flow if `is_idle` says so of its number.
    /// chromi/sce sch_cnq_codel_af: idle flows decay in turn, one per departure.
    #[inline]
    pub(super) fn relax_one(&mut self, law: &Law, clock: u64, is_idle: impl FnOnce(usize) -> bool) {
        let flow = usize::from(self.turn);
        if is_idle(flow) {
            self.flows[flow].queue_empty(law, clock);
        }
        self.turn = self.turn.wrapping_add(1);
    }

    pub(super) fn reset(&mut self) {
        self.flows.fill(Cobalt2::default());
        self.turn = 0;
    }
}

/// How the delay of a bulk packet that just left `queue` counts, with `others` packets left in the
/// whole discipline: in proportion to its flow's entries over the average flow's.
/// chromi/sce sch_cnq_codel_af; draft-morton-tsvwg-codel-approx-fair-01.
#[inline]
pub(super) fn weight(queue: &Cnq, flow: usize, others: u32) -> (u64, u64) {
    let entries = u64::from(queue.count(flow)) + 1;
    (entries * u64::from(queue.busy_flows()), u64::from(others) + 1)
}

/// Two FIFOs, a control law per flow.
#[derive(Debug)]
pub(super) struct CnqCodelAf {
    queue: Cnq,
    states: FlowStates,
    /// Sojourn of the packet that left last.
    delay: Dur,
}

impl Shelled for Params {
    const ENTRY: &'static Entry = &ENTRY;
    type Queue = CnqCodelAf;

    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }
}

impl Inside for CnqCodelAf {
    type Params = Params;

    fn new() -> Self {
        Self { queue: Cnq::new(), states: FlowStates::new(), delay: Dur::ZERO }
    }

    #[inline]
    fn push(&mut self, pkt: Packet) {
        self.queue.enqueue(pkt);
    }

    // chromi/sce sch_cnq_codel_af: the last packet of a flow is not dropped.
    #[inline]
    fn pop(&mut self, shell: &mut Shell<Params>, now: Time, log: &mut Log) -> Option<Packet> {
        let clock = shell.kernel_time(now);
        loop {
            let (mut pkt, is_bulk) = self.queue.pop()?;
            shell.backlog.remove(&pkt);
            self.delay = now.since(pkt.stamp);
            let flow = flow_of(&pkt);
            let cobalt = self.states.of(flow);
            if is_bulk {
                let weight = weight(&self.queue, flow, shell.backlog.packets);
                let judged = Judged { now: clock, sojourn: self.delay.0, weight };
                let Shell { law, rng, .. } = &mut *shell;
                if let Some(why) = cobalt.should_drop(law, &judged, &mut pkt, rng, log)
                    && self.queue.count(flow) > 0
                {
                    log.drop(&pkt, why);
                    continue;
                }
            } else {
                cobalt.queue_empty(&shell.law, clock);
            }
            let queue = &self.queue;
            self.states.relax_one(&shell.law, clock, |flow| queue.count(flow) == 0);
            return Some(pkt);
        }
    }

    fn state(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delay.as_millis_f64());
        out.put("active_flows", "1", f64::from(self.queue.sending_flows()));
    }

    fn clear(&mut self, log: &mut Log) {
        self.queue.purge(log);
        self.states.reset();
    }
}

#[cfg(test)]
mod tests;
