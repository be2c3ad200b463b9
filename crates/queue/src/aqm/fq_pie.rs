//! `fq_pie`: flow queues in deficit round robin, each under PIE. RFC 8033; Linux 6.12
//! `sch_fq_pie`.

use std::collections::VecDeque;

use super::drr::Rotation;
use super::pie::law::{Control, Law, MAX_PROB};
use super::psched::truesize;
use super::update_timer::{UpdateTimer, Wheel};
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, PSCHED_MTU, Qdisc, Reason, Spec, Stats, accepts,
    entry, spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::{number, packets, whole};
use sojourn_core::jiffies::Jiffies;
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Bytes, Dur, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "fq_pie",
    "Fair queuing between flows with PIE on each",
    "RFC 8033; Linux 6.12 sch_fq_pie",
    Kernel::Mainline("5.6"),
);

parameters! {
    /// Parameters of `fq_pie`.
    #[derive(Copy, PartialEq, Eq)]
    struct Params {
        /// Packets in all flows.
        limit: u32 = 10240 => packets(1..=u32::MAX.into());
        /// Hash buckets, 1 to 65536; fixed at creation.
        flows: u32 = 1024 => number(1..=65536);
        /// Bytes per flow and round, at least 256.
        quantum: u32 = PSCHED_MTU => whole("BYTES", 1..=1 << 20, "");
        /// Memory above which arrivals are counted (not dropped), by `psched::truesize`.
        memory_limit: Bytes = Bytes(32 << 20);
        /// Probability up to which ecn marks, 1 to 100.
        ecn_prob: u32 = 10 => whole("PERCENT", 1..=100, "");
    }
    groups { law: Law = Law::default(); }
    derive round;
}

impl Params {
    /// Linux silently raises a smaller quantum (`fq_pie_change`).
    fn round(&mut self, _given: &Given) {
        self.quantum = self.quantum.max(256);
    }
}

/// Flows that one run of the timer updates.
const BATCH: u32 = 2048;

#[derive(Debug, Default)]
struct Flow {
    queue: VecDeque<Packet>,
    bytes: u64,
    /// Among those that the timer updates.
    active: bool,
    control: Control,
}

/// Flow queues with new-flow priority.
#[derive(Debug)]
pub struct FqPie {
    params: Params,
    flows: Vec<Flow>,
    rotation: Rotation,
    /// Flows that an update could change.
    active: Vec<u32>,
    backlog: Backlog,
    /// What [`Qdisc::peeked`] says of packets that left it.
    peeked: Backlog,
    memory: u64,
    rng: Rng,
    /// The first flow of the timer's next run.
    cursor: u32,
    /// Rests only with a table of one batch.
    timer: UpdateTimer<Wheel>,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    packets_in: u64,
    overlimit: u64,
    overmemory: u64,
    dropped: u64,
    ecn_mark: u64,
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        let jiffies = Jiffies::new(env.hz);
        let first = jiffies.expiry(env.now, jiffies.half_second());
        Box::new(FqPie {
            params: *self,
            flows: (0..self.flows).map(|_| Flow::default()).collect(),
            rotation: Rotation::new(self.flows),
            active: Vec::with_capacity(self.flows as usize),
            backlog: Backlog::default(),
            peeked: Backlog::default(),
            memory: 0,
            rng: env.rng,
            cursor: 0,
            timer: UpdateTimer::new(first, Wheel(jiffies, self.law.tupdate)),
            counters: Counters::default(),
        })
    }

    fn idle(&self) -> Option<&'static str> {
        let is_set = self.ecn_prob != Self::default().ecn_prob;
        (is_set && !self.law.ecn).then_some("`ecn_prob` bounds marks, and `ecn` is not set")
    }

    fn accepts(&self, to: &Spec) -> Result<(), String> {
        accepts(to, |to: &Self| to.flows == self.flows, "`flows` is fixed at creation; use replace")
    }
}

impl FqPie {
    /// What Linux counts as waiting.
    #[inline]
    fn waiting(&self) -> Backlog {
        self.backlog + self.peeked
    }

    /// The rest of a large table follows without pause, which is the next jiffy.
    fn pace(&mut self) {
        self.timer.set_tupdate(if self.cursor > 0 { Dur::ZERO } else { self.params.law.tupdate });
    }
}

impl Qdisc for FqPie {
    // Linux 6.12 `fq_pie_qdisc_enqueue`.
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        let index = ((u64::from(pkt.hash) * u64::from(self.params.flows)) >> 32) as u32;
        let waiting = self.waiting();
        let flow = &mut self.flows[index as usize];
        let law = &self.params.law;
        let size = u64::from(truesize(pkt.len));
        let mut reason = Reason::TailLimit;
        let admitted = if waiting.packets >= self.params.limit {
            self.counters.overlimit += 1;
            false
        } else {
            // DEVIATION: as in Linux an excess of memory is only counted.
            let over_memory = self.memory > self.params.memory_limit.0.saturating_add(size);
            self.counters.overmemory += u64::from(over_memory);
            if flow.control.drop_early(law, flow.bytes, pkt.len, &mut self.rng) {
                reason = Reason::Pi;
                let most = MAX_PROB / 100 * u64::from(self.params.ecn_prob);
                let marked =
                    law.ecn && flow.control.prob <= most && log.set_ce(&mut pkt, Reason::Pi);
                self.counters.ecn_mark += u64::from(marked);
                marked
            } else {
                true
            }
        };
        if !admitted {
            self.counters.dropped += 1;
            flow.control.dropped();
            log.drop(&pkt, reason);
            return;
        }
        pkt.stamp = now;
        self.counters.packets_in += 1;
        self.memory += size;
        self.backlog.add(&pkt);
        flow.bytes += u64::from(pkt.len);
        flow.queue.push_back(pkt);
        self.rotation.arrived(index, self.params.quantum);
        if !flow.active {
            flow.active = true;
            self.active.push(index);
            self.timer.arm(now);
        }
    }

    // Linux 6.12 `fq_pie_qdisc_dequeue`.
    #[inline]
    fn dequeue(&mut self, now: Time, _log: &mut Log) -> Option<Packet> {
        loop {
            let index = self.rotation.next(self.params.quantum)?;
            let flow = &mut self.flows[index as usize];
            if let Some(pkt) = flow.queue.pop_front() {
                self.backlog.remove(&pkt);
                self.memory -= u64::from(truesize(pkt.len));
                self.rotation.sent(index, pkt.len);
                flow.bytes -= u64::from(pkt.len);
                flow.control.departed(&self.params.law, now, &pkt, flow.bytes);
                return Some(pkt);
            }
            self.rotation.emptied();
        }
    }

    #[inline]
    fn wake(&self) -> Time {
        self.timer.wake()
    }

    // Linux 6.12 `fq_pie_timer`.
    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        if self.timer.wake() > now {
            return;
        }
        let batch = self.cursor..self.cursor.saturating_add(BATCH);
        let (flows, law) = (&mut self.flows, &self.params.law);
        self.active.retain(|index| {
            if !batch.contains(index) {
                return true;
            }
            let flow = &mut flows[*index as usize];
            flow.control.update(law, flow.bytes);
            flow.active = flow.bytes > 0 || !flow.control.rests();
            flow.active
        });
        self.cursor = if batch.end < self.params.flows { batch.end } else { 0 };
        self.pace();
        self.timer.fired(now, self.active.is_empty() && self.params.flows <= BATCH);
    }

    fn peeked(&mut self, held: Backlog) {
        self.peeked = held;
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        if let Some(params) = to.params::<Params>() {
            self.params = *params;
            self.pace();
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        out.put("pkts_in", self.counters.packets_in as f64);
        out.put("overlimit", self.counters.overlimit as f64);
        out.put("overmemory", self.counters.overmemory as f64);
        out.put("dropped", self.counters.dropped as f64);
        out.put("ecn_mark", self.counters.ecn_mark as f64);
        out.put("new_flow_count", self.rotation.joined as f64);
        let [new, old] = self.rotation.lengths();
        out.put("new_flows_len", new);
        out.put("old_flows_len", old);
        out.put("memory_used", self.memory as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        let [new, old] = self.rotation.lengths();
        out.put("new_flows", "1", new);
        out.put("old_flows", "1", old);
        // With one flow its control state is the discipline's.
        let only = &self.flows[0].control;
        if self.flows.len() == 1 {
            out.put("prob", "1", only.probability());
            out.put("qdelay", "ms", only.delay().as_millis_f64());
        }
    }

    fn purge(&mut self, log: &mut Log) {
        for flow in &mut self.flows {
            for pkt in flow.queue.drain(..) {
                log.drop(&pkt, Reason::Purge);
            }
            (flow.bytes, flow.active) = (0, false);
            flow.control = Control::default();
        }
        self.rotation.clear();
        self.active.clear();
        (self.backlog, self.memory) = (Backlog::default(), 0);
        if self.params.flows <= BATCH {
            self.timer.sleep();
        }
    }
}

#[cfg(test)]
mod tests;
