//! `lfq_cobalt`: "Lightweight Fair Queueing", a sparse FIFO and one bulk list that is scanned in
//! rounds, under COBALT2. chromi/sce sch_lfq_cobalt, trees of 2019 and 2020;
//! draft-morton-tsvwg-lightweight-fair-queueing-00.

use std::collections::VecDeque;

use super::cnq_codel_af::FlowStates;
use super::cobalt2::{Judged, Version};
use super::psched::truesize;
use super::sce_shell::{Common, FLOWS, Inside, Shell, Shelled, flow_of, is_low_latency};
use super::{Entry, Kernel, Log, Reason, Stats, entry};
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Bytes, Dur, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "lfq_cobalt",
    "Fair queuing by rounds over one list with a COBALT2 per flow, and a shaper",
    "chromi/sce sch_lfq_cobalt, 2019 and 2020",
    Kernel::Tree("chromi/sce"),
);

parameters! {
    /// Parameters of `lfq_cobalt`.
    #[derive(Copy, PartialEq)]
    pub(super) struct Params {
        /// Memory of all packets, by the model of `psched::truesize`; 0 is no limit.
        memlimit: Bytes = Bytes(0);
    }
    groups { common: Common = Common::default(); }
}

/// Bytes that a flow may send per round.
const QUANTUM: i32 = 1514;

/// What is known of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flow {
    deficit: i32,
    /// Packets held.
    backlog: u32,
    /// Those of them in the bulk list.
    bulk: u32,
    /// Has used up its round.
    skip: bool,
    /// To be visited at the end of the round.
    dirty: bool,
}

/// No place.
const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    pkt: Packet,
    next: u32,
    prev: u32,
}

/// A doubly linked list with the position of the scan; [`NIL`] is beyond its tail.
#[derive(Debug)]
struct Bulk {
    nodes: Vec<Node>,
    free: Vec<u32>,
    head: u32,
    tail: u32,
    scan: u32,
}

impl Bulk {
    const fn new() -> Self {
        Self { nodes: Vec::new(), free: Vec::new(), head: NIL, tail: NIL, scan: NIL }
    }

    #[inline]
    fn push(&mut self, pkt: Packet) {
        let node = Node { pkt, next: NIL, prev: self.tail };
        let at = if let Some(at) = self.free.pop() {
            self.nodes[at as usize] = node;
            at
        } else {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        };
        if self.tail == NIL {
            (self.head, self.scan) = (at, at);
        } else {
            self.nodes[self.tail as usize].next = at;
        }
        self.tail = at;
    }

    /// Takes out the packet at `at`; a scan at that position moves on.
    #[inline]
    fn unlink(&mut self, at: u32) -> Packet {
        let Node { pkt, next, prev } = self.nodes[at as usize];
        if prev == NIL {
            self.head = next;
        } else {
            self.nodes[prev as usize].next = next;
        }
        if next == NIL {
            self.tail = prev;
        } else {
            self.nodes[next as usize].prev = prev;
        }
        if self.scan == at {
            self.scan = next;
        }
        self.free.push(at);
        pkt
    }
}

/// Sparse FIFO, bulk list, a control law per flow.
#[derive(Debug)]
pub(super) struct LfqCobalt {
    memory: u64,
    sparse: VecDeque<Packet>,
    bulk: Bulk,
    /// Flows in the bulk list that may still send in this round.
    eligible: u32,
    flows: Vec<Flow>,
    dirty: Vec<u16>,
    states: FlowStates,
    /// Sojourn of the packet that left last.
    delay: Dur,
    sparse_sent: u64,
    bulk_sent: u64,
}

impl Shelled for Params {
    const ENTRY: &'static Entry = &ENTRY;
    type Queue = LfqCobalt;

    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }
}

impl LfqCobalt {
    #[inline]
    fn mark_dirty(&mut self, flow: usize) {
        if !self.flows[flow].dirty {
            self.flows[flow].dirty = true;
            self.dirty.push(flow as u16);
        }
    }

    /// The next packet by the rules of service, and whether it was in the bulk list.
    /// chromi/sce sch_lfq_cobalt; draft-morton-tsvwg-lightweight-fair-queueing-00.
    #[inline]
    fn select(&mut self, shell: &mut Shell<Params>) -> Option<(Packet, bool)> {
        let (pkt, is_bulk) = match self.sparse.pop_front() {
            Some(pkt) => (pkt, false),
            None => (self.scan()?, true),
        };
        let flow = flow_of(&pkt);
        // What is sent in a round must be seen at its end, also by a flow that sent no new packet.
        self.mark_dirty(flow);
        let flow = &mut self.flows[flow];
        flow.backlog -= 1;
        flow.deficit = flow.deficit.wrapping_sub_unsigned(pkt.len);
        if flow.deficit < 0 {
            if !flow.skip && flow.bulk > 0 {
                self.eligible -= 1;
            }
            flow.skip = true;
            flow.deficit += QUANTUM;
        }
        self.memory -= u64::from(truesize(pkt.len));
        shell.backlog.remove(&pkt);
        Some((pkt, is_bulk))
    }

    /// The first packet from the scan's place on whose flow may still send; a scan that reaches the
    /// end ends the round and begins the next.
    #[inline]
    fn scan(&mut self) -> Option<Packet> {
        if self.bulk.head == NIL {
            return None;
        }
        loop {
            // If nobody may send, the scan reaches the end wherever it is.
            if self.bulk.scan == NIL || self.eligible == 0 {
                self.sweep();
                self.bulk.scan = self.bulk.head;
            }
            let Node { pkt, next, .. } = self.bulk.nodes[self.bulk.scan as usize];
            if !self.flows[flow_of(&pkt)].skip {
                return Some(self.take(self.bulk.scan));
            }
            self.bulk.scan = next;
        }
    }

    /// Takes out the packet at `at` of the bulk list.
    #[inline]
    fn take(&mut self, at: u32) -> Packet {
        let pkt = self.bulk.unlink(at);
        let flow = &mut self.flows[flow_of(&pkt)];
        flow.bulk -= 1;
        if flow.bulk == 0 && !flow.skip {
            self.eligible -= 1;
        }
        pkt
    }

    // chromi/sce sch_lfq_cobalt: who has used up the round may send again.
    fn sweep(&mut self) {
        for flow in self.dirty.drain(..) {
            let flow = &mut self.flows[usize::from(flow)];
            flow.dirty = false;
            if flow.skip {
                flow.skip = false;
                self.eligible += u32::from(flow.bulk > 0);
            } else if flow.backlog == 0 {
                flow.deficit = 0;
            }
        }
    }
}

impl Inside for LfqCobalt {
    type Params = Params;

    fn new() -> Self {
        Self {
            memory: 0,
            sparse: VecDeque::new(),
            bulk: Bulk::new(),
            eligible: 0,
            flows: vec![Flow::default(); FLOWS],
            dirty: Vec::new(),
            states: FlowStates::new(),
            delay: Dur::ZERO,
            sparse_sent: 0,
            bulk_sent: 0,
        }
    }

    // chromi/sce sch_lfq_cobalt: oldest bulk packets go first, then sparse ones.
    #[inline]
    fn fits(&mut self, shell: &mut Shell<Params>, pkt: &Packet, log: &mut Log) -> bool {
        let most = shell.params.memlimit.0;
        while most > 0 && self.memory + u64::from(truesize(pkt.len)) > most {
            let oldest = if self.bulk.head == NIL {
                self.sparse.pop_front()
            } else {
                Some(self.take(self.bulk.head))
            };
            let Some(oldest) = oldest else {
                log.drop(pkt, Reason::MemoryLimit);
                return false;
            };
            self.flows[flow_of(&oldest)].backlog -= 1;
            self.memory -= u64::from(truesize(oldest.len));
            shell.backlog.remove(&oldest);
            log.drop(&oldest, Reason::MemoryLimit);
        }
        true
    }

    // chromi/sce sch_lfq_cobalt: sparse is a flow without packets and without debt.
    #[inline]
    fn push(&mut self, pkt: Packet) {
        self.memory += u64::from(truesize(pkt.len));
        let flow = flow_of(&pkt);
        let Flow { deficit, backlog, skip, .. } = self.flows[flow];
        if backlog == 0 && deficit >= 0 && !skip {
            self.sparse.push_back(pkt);
        } else {
            self.bulk.push(pkt);
            let flow = &mut self.flows[flow];
            if flow.bulk == 0 && !flow.skip {
                self.eligible += 1;
            }
            flow.bulk += 1;
        }
        self.flows[flow].backlog += 1;
        self.mark_dirty(flow);
    }

    // chromi/sce sch_lfq_cobalt.
    #[inline]
    fn pop(&mut self, shell: &mut Shell<Params>, now: Time, log: &mut Log) -> Option<Packet> {
        let clock = shell.kernel_time(now);
        loop {
            let (mut pkt, is_bulk) = self.select(shell)?;
            self.delay = now.since(pkt.stamp);
            let is_low = is_low_latency(&pkt);
            let mut law = if is_low { shell.low } else { shell.law };
            if is_low {
                law.sce_interval = 0;
            }
            // The oldest build has one control law for all packets.
            let is_single = law.version == Version::V2019;
            let flow = flow_of(&pkt);
            let cobalt = self.states.of(if is_single { 0 } else { flow });
            if shell.backlog.bytes == 0 {
                cobalt.queue_empty(&law, clock);
            } else if is_bulk || is_single {
                let judged = Judged::plain(clock, self.delay.0);
                let rng = &mut shell.rng;
                if let Some(why) = cobalt.should_drop(&law, &judged, &mut pkt, rng, log)
                    && self.flows[flow].backlog > 0
                {
                    log.drop(&pkt, why);
                    continue;
                }
            }
            if is_bulk {
                self.bulk_sent += 1;
            } else {
                self.sparse_sent += 1;
            }
            if !is_single {
                let flows = &self.flows;
                let is_idle = |flow: usize| flows[flow].backlog == 0;
                self.states.relax_one(&shell.law, clock, is_idle);
            }
            return Some(pkt);
        }
    }

    fn counters(&self, out: &mut Stats) {
        out.put("memory_used", self.memory as f64);
        out.put("sparse_sent", self.sparse_sent as f64);
        out.put("bulk_sent", self.bulk_sent as f64);
    }

    fn state(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delay.as_millis_f64());
        out.put("sparse", "packets", self.sparse.len() as f64);
    }

    fn clear(&mut self, log: &mut Log) {
        for pkt in self.sparse.drain(..) {
            log.drop(&pkt, Reason::Purge);
        }
        while self.bulk.head != NIL {
            let pkt = self.bulk.unlink(self.bulk.head);
            log.drop(&pkt, Reason::Purge);
        }
        self.flows.fill(Flow::default());
        self.dirty.clear();
        self.eligible = 0;
        self.states.reset();
        self.memory = 0;
    }
}

#[cfg(test)]
mod tests;
