//! `cnq_codel_af`: CNQ's two FIFOs with "CoDel Approximate Fairness", a COBALT2 per flow that
//! weighs the delay by the flow's share of the queue. chromi/sce sch_cnq_codel_af, 2020;
//! draft-morton-tsvwg-codel-approx-fair-01.

use super::cnq::Cnq;
use super::cobalt2::{Cobalt2, Judged, Params};
use super::sce_shell::{FLOWS, Shell, flow_of, params};
use super::{Backlog, Env, Kernel, Log, OldEntry, Qdisc, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

const PARAMS: [Param; 14] = params("no-sce");

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "cnq_codel_af",
    summary: "Sparse and bulk FIFO with a COBALT2 per flow that judges its share, and a shaper",
    reference: "chromi/sce sch_cnq_codel_af, 2020",
    kernel: Kernel::Tree("chromi/sce"),
    params: &PARAMS,
    build: |args, env| Ok(Box::new(CnqCodelAf::parse(args, env)?)),
};

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
    #[inline]
    pub(super) fn relax_one(
        &mut self,
        params: &Params,
        clock: u64,
        is_idle: impl FnOnce(usize) -> bool,
    ) {
        let flow = usize::from(self.turn);
        if is_idle(flow) {
            self.flows[flow].queue_empty(params, clock);
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
#[inline]
pub(super) fn weight(queue: &Cnq, flow: usize, others: u32) -> (u64, u64) {
    let entries = u64::from(queue.count(flow)) + 1;
    (entries * u64::from(queue.busy_flows()), u64::from(others) + 1)
}

/// Two FIFOs, a control law per flow.
#[derive(Debug)]
pub struct CnqCodelAf {
    shell: Shell,
    queue: Cnq,
    states: FlowStates,
    /// Sojourn of the packet that left last.
    delay: Dur,
}

impl CnqCodelAf {
    fn parse(args: &mut Args<'_>, env: Env) -> Result<Self, GrammarError> {
        Ok(Self {
            shell: Shell::parse(Dur::ZERO, args, env, |_, _| Ok(false))?,
            queue: Cnq::new(),
            states: FlowStates::new(),
            delay: Dur::ZERO,
        })
    }
}

impl Qdisc for CnqCodelAf {
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        if self.shell.admit(now, &mut pkt, log) {
            self.queue.enqueue(pkt);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        if self.shell.clock.is_blocked(now) {
            return None;
        }
        let clock = self.shell.kernel_time(now);
        loop {
            let (mut pkt, is_bulk) = self.queue.pop()?;
            self.shell.backlog.remove(&pkt);
            self.delay = now.since(pkt.stamp);
            let (params, flow) = (*self.shell.params(), flow_of(&pkt));
            let cobalt = self.states.of(flow);
            if is_bulk {
                let weight = weight(&self.queue, flow, self.shell.backlog.packets);
                let judged = Judged { now: clock, sojourn: self.delay.0, weight };
                let rng = &mut self.shell.rng;
                if let Some(why) = cobalt.should_drop(&params, &judged, &mut pkt, rng, log)
                    && self.queue.count(flow) > 0
                {
                    log.drop(&pkt, why);
                    continue;
                }
            } else {
                cobalt.queue_empty(&params, clock);
            }
            self.shell.clock.charge(pkt.len);
            let queue = &self.queue;
            self.states.relax_one(&params, clock, |flow| queue.count(flow) == 0);
            return Some(pkt);
        }
    }

    #[inline]
    fn wake(&self) -> Time {
        self.shell.clock.wake()
    }

    #[inline]
    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        self.shell.clock.on_wake(now);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.shell.backlog
    }

    fn old_change(
        &mut self,
        _now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        self.shell.change(args, |_, _| Ok(false))
    }

    fn describe(&self) -> String {
        format!("cnq_codel_af {}", self.shell.describe())
    }

    fn stats(&self, out: &mut Stats) {
        out.put("overlimits", self.shell.clock.overlimits as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delay.as_millis_f64());
        out.put("active_flows", "1", f64::from(self.queue.sending_flows()));
    }

    fn splits(&self, _pkt: &Packet) -> bool {
        true
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
        self.states.reset();
        self.shell.backlog = Backlog::default();
    }
}

#[cfg(test)]
mod tests;
