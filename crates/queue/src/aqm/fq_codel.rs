//! `fq_codel`: flow queues in deficit round robin, each under CoDel. RFC 8290; Linux 6.12
//! `sch_fq_codel`; with `sce_threshold` dtaht/fq_codel_fast (2019).

use std::collections::VecDeque;

use super::codel::{Control, Counters, Law, LawParams, rounded};
use super::drr::Rotation;
use super::psched::truesize;
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, PSCHED_MTU, Qdisc, Reason, Spec, Stats, accepts,
    entry, spec,
};
use sojourn_core::grammar::forms::{custom, number, packets, whole};
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Bytes, Dur, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "fq_codel",
    "Fair queuing between flows with CoDel on each",
    "RFC 8290; Linux 6.12 sch_fq_codel",
    Kernel::Mainline("3.5"),
);

parameters! {
    /// Parameters of `fq_codel`.
    #[derive(Copy, PartialEq)]
    pub(super) struct Params {
        /// Packets in all flows.
        limit: u32 = 10240 => packets(1..=u32::MAX.into());
        /// Hash buckets, 1 to 65536; fixed at creation.
        flows: u32 = 1024 => number(1..=65536);
        /// Bytes per flow and round, at least 256.
        quantum: u32 = PSCHED_MTU => whole("BYTES", 1..=1 << 20, "");
        /// Who is subject to ce_threshold: DS field and mask equal value; `0x1/0x3` is L4S.
        ce_threshold_selector: (u8, u8) = (0, 0) =>
            custom("VALUE/MASK", read_selector, |(value, mask)| format!("{value:#x}/{mask:#x}"));
        /// SCE on every packet that waited longer, and super-packets are split; tc has no such parameter.
        sce_threshold: Option<Dur> = None, tc false;
        /// Memory of all packets, by the model of `psched::truesize`.
        memory_limit: Bytes = Bytes(32 << 20);
        /// Most packets dropped from the fattest flow on one overflow.
        drop_batch: u32 = 64 => number(1..=u32::MAX.into());
    }
    groups { law: LawParams = LawParams { ecn: true, ..LawParams::default() }; }
    derive round;
}

impl Params {
    /// Linux silently raises a smaller quantum (`fq_codel_change`).
    fn round(&mut self, _given: &Given) {
        self.quantum = self.quantum.max(256);
    }

    fn law(&self) -> Law {
        Law::new(&self.law, self.ce_threshold_selector)
    }
}

fn read_selector(args: &mut Args<'_>) -> Result<(u8, u8), GrammarError> {
    args.value("VALUE/MASK such as `0x1/0x3`", |word| {
        let (value, mask) = word.split_once('/')?;
        Some((octet(value)?, octet(mask)?))
    })
}

fn octet(word: &str) -> Option<u8> {
    match word.strip_prefix("0x") {
        Some(hex) => u8::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    }
}

#[derive(Debug, Default)]
struct Flow {
    queue: VecDeque<Packet>,
    bytes: u64,
    control: Control,
}

/// Flow queues with new-flow priority.
#[derive(Debug)]
pub struct FqCodel {
    params: Params,
    law: Law,
    flows: Vec<Flow>,
    rotation: Rotation,
    backlog: Backlog,
    /// What [`Qdisc::peeked`] says of packets that left it.
    peeked: Backlog,
    memory: u64,
    counters: Counters,
    sce_mark: u64,
    drop_overlimit: u64,
    drop_overmemory: u64,
}

impl Discipline for Params {
    fn build(&self, _env: Env) -> Box<dyn Qdisc> {
        Box::new(FqCodel {
            params: *self,
            law: self.law(),
            flows: (0..self.flows).map(|_| Flow::default()).collect(),
            rotation: Rotation::new(self.flows),
            backlog: Backlog::default(),
            peeked: Backlog::default(),
            memory: 0,
            counters: Counters::default(),
            sce_mark: 0,
            drop_overlimit: 0,
            drop_overmemory: 0,
        })
    }

    fn idle(&self) -> Option<&'static str> {
        let has_selector = self.ce_threshold_selector != (0, 0) && self.law.ce_threshold.is_none();
        has_selector.then_some(
            "`ce_threshold_selector` chooses packets for `ce_threshold`, which is not set",
        )
    }

    fn accepts(&self, to: &Spec) -> Result<(), String> {
        accepts(to, |to: &Self| to.flows == self.flows, "`flows` is fixed at creation; use replace")
    }
}

impl FqCodel {
    /// What Linux counts as waiting.
    #[inline]
    fn waiting(&self) -> Backlog {
        self.backlog + self.peeked
    }

    /// Drops from the head of the flow with the most bytes: half of them, at most a batch.
    /// Linux 6.12 `fq_codel_drop`: a batch, since every overflow costs a search.
    #[cold]
    fn drop_batch(&mut self, log: &mut Log, reason: Reason) -> u32 {
        let mut fattest = 0;
        for (i, flow) in self.flows.iter().enumerate() {
            if flow.bytes > self.flows[fattest].bytes {
                fattest = i;
            }
        }
        let flow = &mut self.flows[fattest];
        let half = flow.bytes >> 1;
        let (mut dropped, mut bytes) = (0, 0);
        while let Some(pkt) = flow.queue.pop_front() {
            dropped += 1;
            bytes += u64::from(pkt.len);
            self.memory -= u64::from(truesize(pkt.len));
            self.backlog.remove(&pkt);
            log.drop(&pkt, reason);
            if dropped >= self.params.drop_batch || bytes >= half {
                break;
            }
        }
        flow.bytes -= bytes;
        // Each of these drops was a signal to the flow.
        flow.control.count = flow.control.count.wrapping_add(dropped);
        dropped
    }
}

impl Qdisc for FqCodel {
    // RFC 8290 4.1; Linux 6.12 `fq_codel_enqueue`.
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        let index = ((u64::from(pkt.hash) * u64::from(self.params.flows)) >> 32) as u32;
        pkt.stamp = now;
        self.backlog.add(&pkt);
        self.memory += u64::from(truesize(pkt.len));
        let flow = &mut self.flows[index as usize];
        flow.bytes += u64::from(pkt.len);
        flow.queue.push_back(pkt);
        self.rotation.arrived(index, self.params.quantum);
        let over_memory = self.memory > self.params.memory_limit.0;
        if self.waiting().packets > self.params.limit || over_memory {
            let reason = if over_memory { Reason::MemoryLimit } else { Reason::FlowOverlimit };
            let dropped = u64::from(self.drop_batch(log, reason));
            self.drop_overlimit += dropped;
            if over_memory {
                self.drop_overmemory += dropped;
            }
        }
    }

    // RFC 8290 4.2; Linux 6.12 `fq_codel_dequeue`.
    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        loop {
            let index = self.rotation.next(self.params.quantum)?;
            let flow = &mut self.flows[index as usize];
            let (queue, bytes) = (&mut flow.queue, &mut flow.bytes);
            let (backlog, memory) = (&mut self.backlog, &mut self.memory);
            // DEVIATION: as in Linux the guard of one MTU looks at all flows; in RFC 8290 at one.
            let law = &self.law;
            let sent = flow.control.dequeue(law, &mut self.counters, now, log, || {
                let pkt = queue.pop_front()?;
                *bytes -= u64::from(pkt.len);
                *memory -= u64::from(truesize(pkt.len));
                backlog.remove(&pkt);
                Some((pkt, backlog.bytes))
            });
            if let Some(mut pkt) = sent {
                // fq_codel_fast, codel_impl.h: after CoDel's own answer, which CE on the packet precludes.
                let waited = flow.control.last_delay();
                if self.params.sce_threshold.is_some_and(|most| waited > rounded(most))
                    && log.set_sce(&mut pkt, Reason::Sce)
                {
                    self.sce_mark += 1;
                }
                self.rotation.sent(index, pkt.len);
                return Some(pkt);
            }
            self.rotation.emptied();
        }
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
            (self.params, self.law) = (*params, params.law());
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        out.put("maxpacket", self.counters.max_packet);
        out.put("drop_overlimit", self.drop_overlimit as f64);
        out.put("new_flow_count", self.rotation.joined as f64);
        out.put("ecn_mark", self.counters.ecn_mark as f64);
        out.put("ce_mark", self.counters.ce_mark as f64);
        if self.params.sce_threshold.is_some() {
            out.put("sce_mark", self.sce_mark as f64);
        }
        out.put("drop_overmemory", self.drop_overmemory as f64);
        out.put("memory_used", self.memory as f64);
        let [new, old] = self.rotation.lengths();
        out.put("new_flows_len", new);
        out.put("old_flows_len", old);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        let [new, old] = self.rotation.lengths();
        out.put("new_flows", "1", new);
        out.put("old_flows", "1", old);
        // With one flow its control state is the discipline's.
        let only = &self.flows[0].control;
        if self.flows.len() == 1 {
            out.put("ldelay", "ms", only.last_delay().as_millis_f64());
            out.put("count", "1", f64::from(only.count));
            out.put("dropping", "1", f64::from(u8::from(only.dropping)));
        }
    }

    fn splits(&self, _pkt: &Packet) -> bool {
        self.params.sce_threshold.is_some()
    }

    fn purge(&mut self, log: &mut Log) {
        for flow in &mut self.flows {
            for pkt in flow.queue.drain(..) {
                log.drop(&pkt, Reason::Purge);
            }
            (flow.bytes, flow.control) = (0, Control::default());
        }
        self.rotation.clear();
        (self.backlog, self.memory) = (Backlog::default(), 0);
    }
}

#[cfg(test)]
mod tests;
