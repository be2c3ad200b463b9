//! `fq_pie`: flow queues in deficit round robin, each under PIE. RFC 8033; Linux 6.12
//! `sch_fq_pie`.

use std::collections::VecDeque;

use super::drr::Rotation;
use super::jiffies::Jiffies;
use super::pie::law::{self, Control, Law, MAX_PROB};
use super::psched::truesize;
use super::{Backlog, Env, Kernel, Log, OldEntry, Qdisc, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Bytes, Time};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "fq_pie",
    summary: "Fair queuing between flows with PIE on each",
    reference: "RFC 8033; Linux 6.12 sch_fq_pie",
    kernel: Kernel::Mainline("5.6"),
    params: &[
        Param { name: "limit", value: "PACKETS", default: "10240p", doc: "Packets in all flows." },
        Param {
            name: "flows",
            value: "NUMBER",
            default: "1024",
            doc: "Hash buckets, 1 to 65536; fixed at creation.",
        },
        law::TARGET,
        law::TUPDATE,
        law::ALPHA,
        law::BETA,
        Param {
            name: "quantum",
            value: "BYTES",
            default: "1514",
            doc: "Bytes per flow and round, at least 256.",
        },
        Param {
            name: "memory_limit",
            value: "SIZE",
            default: "32Mb",
            doc: "Memory above which arrivals are counted (not dropped), by `psched::truesize`.",
        },
        Param {
            name: "ecn_prob",
            value: "PERCENT",
            default: "10",
            doc: "Probability up to which ecn marks, 1 to 100.",
        },
        law::ECN,
        law::BYTEMODE,
        law::ESTIMATOR,
        law::VERSION,
    ],
    build: |args, env| Ok(Box::new(FqPie::parse(args, env)?)),
};

/// Flows that one run of the timer updates.
const BATCH: u32 = 2048;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Params {
    limit: u32,
    flows: u32,
    quantum: u32,
    memory_limit: Bytes,
    ecn_prob: u32,
    law: Law,
}

impl Params {
    fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        while let Some(key) = args.key() {
            match key {
                "limit" => self.limit = args.number(1..=u64::from(u32::MAX))? as u32,
                "flows" => self.flows = args.number(1..=65536)? as u32,
                "quantum" => self.quantum = args.number(1..=1 << 20)?.max(256) as u32,
                "memory_limit" => self.memory_limit = args.size()?,
                "ecn_prob" => self.ecn_prob = args.number(1..=100)? as u32,
                _ if self.law.read(key, args)? => {}
                _ => return Err(args.unknown()),
            }
        }
        self.law.check(args)?;
        Ok(self)
    }
}

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
    memory: u64,
    rng: Rng,
    jiffies: Jiffies,
    /// The first flow of the timer's next run.
    cursor: u32,
    next_update: Time,
    /// `next_update`, or never while an update could change nothing.
    wake: Time,
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

impl FqPie {
    fn parse(args: &mut Args<'_>, env: Env) -> Result<Self, GrammarError> {
        let params = Params {
            limit: 10240,
            flows: 1024,
            quantum: env.psched_mtu,
            memory_limit: Bytes(32 << 20),
            ecn_prob: 10,
            law: Law::new(env.psched_mtu),
        }
        .read(args)?;
        let jiffies = Jiffies::new(env.hz);
        Ok(Self {
            params,
            flows: (0..params.flows).map(|_| Flow::default()).collect(),
            rotation: Rotation::new(params.flows),
            active: Vec::with_capacity(params.flows as usize),
            backlog: Backlog::default(),
            memory: 0,
            rng: env.rng,
            jiffies,
            cursor: 0,
            next_update: jiffies.expiry(env.now, jiffies.half_second()),
            wake: Time::NEVER,
            counters: Counters::default(),
        })
    }

    /// The timer's next instant after `next_update`.
    fn after(&self, update: Time) -> Time {
        // The rest of a large table follows without pause, which is the next jiffy.
        let pause = if self.cursor > 0 { 0 } else { self.jiffies.of(self.params.law.tupdate) };
        self.jiffies.expiry(update, pause)
    }

    /// Moves a timer that rested to its first instant after `now`. Only a table of one batch
    /// rests.
    fn skip_to_after(&mut self, now: Time) {
        if self.next_update <= now {
            let period = self.after(self.next_update).0 - self.next_update.0;
            self.next_update.0 += (now.since(self.next_update).0 / period + 1) * period;
        }
    }
}

impl Qdisc for FqPie {
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        let index = ((u64::from(pkt.hash) * u64::from(self.params.flows)) >> 32) as u32;
        let flow = &mut self.flows[index as usize];
        let law = &self.params.law;
        let size = u64::from(truesize(pkt.len));
        let mut reason = Reason::TailLimit;
        let admitted = if self.backlog.packets >= self.params.limit {
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
            if self.wake == Time::NEVER {
                self.skip_to_after(now);
                self.wake = self.next_update;
            }
        }
    }

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
        self.wake
    }

    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        if self.wake > now {
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
        self.next_update = self.after(self.next_update.max(now));
        let rests = self.active.is_empty() && self.params.flows <= BATCH;
        self.wake = if rests { Time::NEVER } else { self.next_update };
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn old_change(
        &mut self,
        _now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        let params = self.params.read(args)?;
        if params.flows != self.params.flows {
            return Err(args.invalid("`flows` is fixed at creation; use replace"));
        }
        self.params = params;
        Ok(())
    }

    fn describe(&self) -> String {
        let Params { limit, flows, quantum, memory_limit, ecn_prob, law } = &self.params;
        format!(
            "fq_pie limit {limit}p flows {flows} quantum {quantum} memory_limit {memory_limit} \
             ecn_prob {ecn_prob} {}",
            law.describe()
        )
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
            self.wake = Time::NEVER;
        }
    }
}

#[cfg(test)]
mod tests;
