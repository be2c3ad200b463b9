//! `deltic_boroshne`: approximate fairness with four queues, in which flows sort themselves by
//! their delay, and DelTiC per flow. chromi/sce sch_deltic-boroshne, 2024.

use std::collections::VecDeque;

use super::deltic::law::{Law, Resonances, Trio};
use super::deltic_polya::{Jitter, Marks};
use super::plain_queue::Limit;
use super::virtual_clock::{Shaping, VirtualClock};
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, entry, spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Rate, Time};
use sojourn_core::{choices, parameters};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "deltic_boroshne",
    "Four queues from sparse to hog, DelTiC per flow, and a shaper",
    "chromi/sce sch_deltic-boroshne, 2024",
    Kernel::Tree("chromi/sce"),
);

parameters! {
    /// Parameters of `deltic_boroshne`.
    #[derive(Copy, PartialEq)]
    pub(super) struct Params {
        /// Build of 2024: early replenishes by doubling and migrates at 1.25 and 1.5 times the
        /// targets, later by the greatest debt and at 1 and 2 times.
        version: Version = Version::Later, tc false;
    }
    groups {
        limit: Limit = Limit::default();
        resonances: Resonances = Resonances::default();
        shaping: Shaping = Shaping::default();
    }
}

choices! {
    /// Which build.
    enum Version {
        Early = "early",
        Later = "later",
    }
}

impl Version {
    /// Delays of a target up to which a flow moves to a faster queue, and from which to a slower.
    const fn thresholds(self, target: u64) -> (u64, u64) {
        match self {
            Self::Early => (target + target / 4, target + target / 2),
            Self::Later => (target, 2 * target),
        }
    }
}

/// Buckets of the flow hash.
const FLOWS: usize = 4096;

/// The queues in order of service.
const SPARSE: usize = 0;
const QUICK: usize = 1;
const BULK: usize = 2;
const HOG: usize = 3;

#[derive(Clone, Copy, Debug)]
struct Flow {
    /// Bytes in each queue.
    bytes: [u64; 4],
    /// Where the next packet goes, unless it is sparse.
    target: usize,
    trio: Trio,
}

/// One queue. The kernel also puts a dummy into Quick for each sparse packet; it takes no service
/// and counts nowhere, and so is left out.
#[derive(Debug, Default)]
struct Queue {
    packets: VecDeque<Packet>,
    bytes: u64,
    /// Flows with bytes here.
    flows: u64,
    deficit: i64,
    /// Corrected delay of the packet that left last.
    sojourn: u64,
}

/// The period of a resonance; without one there is no delay that is too long.
fn period(hertz: Option<u32>) -> u64 {
    hertz.map_or(u64::MAX / 8, |hertz| (1_000_000_000 << 16) / u64::from(hertz))
}

/// Four queues, three controllers per flow.
#[derive(Debug, Default)]
pub(super) struct DelticBoroshne {
    params: Params,
    clock: VirtualClock,
    queues: [Queue; 4],
    flows: Vec<Flow>,
    backlog: Backlog,
    jitter: Jitter,
    marks: Marks,
}

impl DelticBoroshne {
    fn new(params: Params) -> Self {
        Self {
            clock: VirtualClock::new(&params.shaping),
            params,
            flows: vec![Self::FRESH; FLOWS],
            ..Self::default()
        }
    }

    const FRESH: Flow = Flow { bytes: [0; 4], target: QUICK, trio: Trio::NEW };

    #[inline]
    const fn flow_of(pkt: &Packet) -> usize {
        pkt.hash as usize % FLOWS
    }

    /// Grants service in proportion to the numbers of flows, once all that wait are in debt.
    /// chromi/sce sch_deltic-boroshne.
    fn replenish(&mut self) {
        let waits = |q: &Queue| q.bytes > 0;
        let served = &mut self.queues[QUICK..];
        if !served.iter().any(waits) || served.iter().any(|q| waits(q) && q.deficit >= 0) {
            return;
        }
        let needs =
            |q: &Queue| if waits(q) { q.deficit.unsigned_abs().div_ceil(q.flows) } else { 0 };
        let most = served.iter().map(needs).max().unwrap_or(0);
        let rounds = match self.params.version {
            Version::Early => most.next_power_of_two(),
            Version::Later => most,
        } as i64;
        for q in served {
            q.deficit += q.flows as i64 * rounds;
        }
    }

    /// The next packet by the rules of service, and its queue. chromi/sce sch_deltic-boroshne.
    #[inline]
    fn select(&mut self) -> Option<(Packet, usize)> {
        if self.queues[SPARSE].bytes == 0 {
            self.replenish();
        }
        let from = (SPARSE..=HOG).find(|q| {
            let queue = &self.queues[*q];
            queue.bytes > 0 && (*q == SPARSE || queue.deficit >= 0)
        })?;
        let queue = &mut self.queues[from];
        let pkt = queue.packets.pop_front()?;
        let len = u64::from(pkt.len);
        let flow = &mut self.flows[Self::flow_of(&pkt)];
        queue.bytes -= len;
        flow.bytes[from] -= len;
        if flow.bytes[from] == 0 {
            queue.flows -= 1;
        }
        if from != SPARSE {
            queue.deficit -= i64::from(pkt.len);
        }
        self.backlog.remove(&pkt);
        Some((pkt, from))
    }

    /// The delay that counts for `flow`: for what it still holds, in proportion to its share.
    /// chromi/sce sch_deltic-boroshne.
    #[inline]
    fn fair_sojourn(&self, flow: usize) -> u64 {
        let mut sum = 0_u64;
        for (q, bytes) in self.queues.iter().zip(self.flows[flow].bytes) {
            if bytes > 0 {
                let weighed = q.sojourn.wrapping_mul(bytes).wrapping_mul(q.flows);
                sum = sum.wrapping_add(weighed / q.bytes);
            }
        }
        sum
    }

    /// Moves the flow's later packets to a faster or slower queue. chromi/sce sch_deltic-boroshne.
    #[inline]
    fn migrate(&mut self, flow: usize, sojourn: u64) {
        let Resonances { sce, ecn, .. } = self.params.resonances;
        let version = self.params.version;
        let (to_quick, from_quick) = version.thresholds(period(sce));
        let (from_hog, to_hog) = version.thresholds(period(ecn));
        let target = &mut self.flows[flow].target;
        if *target == HOG && sojourn < from_hog {
            *target = BULK;
        }
        if *target == BULK && sojourn < to_quick {
            *target = QUICK;
        }
        if *target == QUICK && sojourn > from_quick {
            *target = BULK;
        }
        if *target == BULK && sojourn > to_hog {
            *target = HOG;
        }
    }
}

impl Discipline for Params {
    fn build(&self, _env: Env) -> Box<dyn Qdisc> {
        Box::new(DelticBoroshne::new(*self))
    }

    fn set_rate(&mut self, rate: Rate) -> Result<(), String> {
        self.shaping.bandwidth = Some(rate);
        Ok(())
    }

    fn capacity(&self) -> Option<Rate> {
        self.shaping.capacity()
    }
}

impl Qdisc for DelticBoroshne {
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        if self.params.limit.limit.is_some_and(|limit| self.backlog.packets >= limit) {
            log.drop(&pkt, Reason::TailLimit);
            return;
        }
        if self.backlog.packets == 0 {
            self.clock.restart(now);
            self.jitter.restart(now);
        }
        pkt.stamp = now;
        self.backlog.add(&pkt);
        let flow = &mut self.flows[Self::flow_of(&pkt)];
        let to = if flow.bytes == [0; 4] { SPARSE } else { flow.target };
        let queue = &mut self.queues[to];
        if flow.bytes[to] == 0 {
            queue.flows += 1;
        }
        flow.bytes[to] += u64::from(pkt.len);
        queue.bytes += u64::from(pkt.len);
        queue.packets.push_back(pkt);
    }

    // chromi/sce sch_deltic-boroshne: no drop where it would empty the flow.
    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        if self.clock.is_blocked(now) {
            return None;
        }
        loop {
            let (mut pkt, from) = self.select()?;
            let flow = Self::flow_of(&pkt);
            let mut sojourn = self.jitter.correct(now, now.since(pkt.stamp));
            self.queues[from].sojourn = sojourn.0;
            if from != SPARSE {
                sojourn = Dur(self.fair_sojourn(flow));
            }
            self.migrate(flow, sojourn.0);
            let state = &mut self.flows[flow];
            let resonances = &self.params.resonances;
            let verdict = state.trio.judge(Law::V2024, resonances, now, sojourn);
            let drop = self.marks.apply(verdict, &mut pkt, log);
            if !drop || state.bytes == [0; 4] {
                self.clock.charge(pkt.len);
                return Some(pkt);
            }
            log.drop(&pkt, Reason::Deltic);
        }
    }

    #[inline]
    fn wake(&self) -> Time {
        self.clock.wake()
    }

    #[inline]
    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        self.clock.on_wake(now);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        if let Some(params) = to.params::<Params>() {
            self.params = *params;
            self.clock.set(&params.shaping);
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        self.marks.stats(&self.jitter, out);
        out.put("overlimits", self.clock.overlimits as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("jitter", "ms", Dur(self.jitter.estimate).as_millis_f64());
        for (q, [delay, bytes]) in self.queues.iter().zip([
            ["delay_sparse", "bytes_sparse"],
            ["delay_quick", "bytes_quick"],
            ["delay_bulk", "bytes_bulk"],
            ["delay_hog", "bytes_hog"],
        ]) {
            out.put(delay, "ms", Dur(q.sojourn).as_millis_f64());
            out.put(bytes, "bytes", q.bytes as f64);
        }
    }

    fn splits(&self, _pkt: &Packet) -> bool {
        true
    }

    fn purge(&mut self, log: &mut Log) {
        for queue in &mut self.queues {
            for pkt in queue.packets.drain(..) {
                log.drop(&pkt, Reason::Purge);
            }
            (queue.bytes, queue.flows, queue.deficit, queue.sojourn) = (0, 0, 0, 0);
        }
        self.flows.fill(Self::FRESH);
        self.jitter = Jitter::default();
        self.backlog = Backlog::default();
    }
}

#[cfg(test)]
mod tests;
