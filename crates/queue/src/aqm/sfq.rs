//! `sfq`: stochastic fairness queuing, round robin over hashed flows with room taken from the longest.
//! P. E. McKenney, "Stochastic Fairness Queueing", INFOCOM 1990; tc-sfq(8); behaviour of Linux 7.2
//! `sch_sfq`.

use std::collections::VecDeque;

use super::red::{self, Action};
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, accepts, entry, spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::jiffies::Jiffies;
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

mod params;

use params::Params;

pub(crate) const ENTRY: Entry = entry::<Params>(
    "sfq",
    "Stochastic fairness queuing: round robin over hashed flows",
    "McKenney 1990; tc-sfq(8); Linux 7.2 sch_sfq",
    Kernel::Mainline("2.2"),
);

/// A bucket without a flow.
const NONE: u16 = u16::MAX;

/// A flow that has packets, or a place for one.
#[derive(Debug, Default)]
struct Slot {
    queue: VecDeque<Packet>,
    bytes: u64,
    bucket: u32,
    /// Bytes that it may still send in this round.
    allot: i64,
    /// When its depth changed last, as a number of such changes.
    moved: u64,
    red: red::State,
}

#[derive(Debug, Default)]
struct Counters {
    overlimits: u64,
    prob_mark: u64,
    prob_mark_head: u64,
    prob_drop: u64,
    forced_mark: u64,
    forced_mark_head: u64,
    forced_drop: u64,
}

/// Flows in rounds.
#[derive(Debug)]
pub struct Sfq {
    params: Params,
    /// Packets in all flows.
    limit: u32,
    red: Option<red::Law>,
    /// Slot of each hash bucket.
    table: Vec<u16>,
    slots: Vec<Slot>,
    /// Slots without packets; the last one is taken next.
    free: Vec<u16>,
    /// Slots with packets, the next to be served first.
    round: VecDeque<u16>,
    backlog: Backlog,
    /// What [`Qdisc::peeked`] says of packets that left it.
    peeked: Backlog,
    moves: u64,
    salt: u32,
    rng: Rng,
    jiffies: Jiffies,
    perturbed: Time,
    counters: Counters,
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(Sfq::new(*self, env))
    }

    fn accepts(&self, to: &Spec) -> Result<(), String> {
        accepts(to, |to: &Self| to == self, "cannot be changed, on Linux neither; use replace")
    }
}

impl Sfq {
    fn new(params: Params, mut env: Env) -> Self {
        let mut sfq = Self {
            params,
            limit: params.limit(),
            red: params.red().as_ref().map(red::Law::new),
            table: vec![NONE; params.divisor() as usize],
            slots: (0..params.flows).map(|_| Slot::default()).collect(),
            free: (0..params.flows as u16).collect(),
            round: VecDeque::with_capacity(params.flows as usize),
            backlog: Backlog::default(),
            peeked: Backlog::default(),
            moves: 0,
            salt: env.rng.u32(),
            rng: env.rng,
            jiffies: Jiffies::new(env.hz),
            perturbed: Time::NEVER,
            counters: Counters::default(),
        };
        sfq.arm(env.now);
        sfq
    }

    fn arm(&mut self, now: Time) {
        if self.params.perturb > 0 {
            let period = Dur::from_secs(u64::from(self.params.perturb));
            self.perturbed = self.jiffies.expiry(now, self.jiffies.of(period));
        }
    }

    /// A flow's bucket. The finaliser of MurmurHash3 makes salts independent. Linux 7.2 `sfq_hash`.
    #[inline]
    fn bucket(&self, pkt: &Packet) -> u32 {
        let mut h = pkt.hash ^ self.salt;
        h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
        h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
        (h ^ (h >> 16)) & (self.table.len() as u32 - 1)
    }

    /// A slot for a flow that has none; none is left where all are taken.
    #[inline]
    fn open(&mut self, bucket: u32) -> Option<usize> {
        let slot = self.free.pop()?;
        self.table[bucket as usize] = slot;
        let own = &mut self.slots[usize::from(slot)];
        (own.bucket, own.bytes, own.red) = (bucket, 0, red::State::default());
        Some(usize::from(slot))
    }

    /// Queues a packet at the end of its flow; a flow without packets joins at the end of the round.
    #[inline]
    fn append(&mut self, slot: usize, pkt: Packet) {
        self.backlog.add(&pkt);
        let own = &mut self.slots[slot];
        own.bytes += u64::from(pkt.len);
        own.queue.push_back(pkt);
        self.moves += 1;
        own.moved = self.moves;
        if own.queue.len() == 1 {
            own.allot = i64::from(self.params.quantum);
            self.round.push_back(slot as u16);
        }
    }

    /// Takes a packet from a flow, from its head or its tail; a flow without packets loses its slot.
    #[inline]
    fn take(&mut self, slot: usize, head: bool) -> Option<Packet> {
        let own = &mut self.slots[slot];
        let pkt = if head { own.queue.pop_front() } else { own.queue.pop_back() }?;
        own.bytes -= u64::from(pkt.len);
        self.moves += 1;
        own.moved = self.moves;
        self.backlog.remove(&pkt);
        if own.queue.is_empty() {
            self.table[own.bucket as usize] = NONE;
            self.free.push(slot as u16);
        }
        Some(pkt)
    }

    /// Drops a packet of the longest flow, of equal ones that which became so last. Where no flow has
    /// two packets, the next to be served loses its only one. Linux 7.2 `sfq_drop`.
    fn make_room(&mut self, log: &mut Log) {
        let length = |slot: &u16| {
            let own = &self.slots[usize::from(*slot)];
            (own.queue.len(), own.moved)
        };
        let Some(&longest) = self.round.iter().max_by_key(|slot| length(slot)) else { return };
        let slot = if length(&longest).0 > 1 { longest } else { self.round[0] };
        let head = self.params.headdrop;
        if let Some(pkt) = self.take(usize::from(slot), head) {
            log.drop(&pkt, if head { Reason::HeadLimit } else { Reason::TailLimit });
        }
        if self.slots[usize::from(slot)].queue.is_empty() {
            self.round.pop_front();
        }
    }

    /// What RED says about a packet of a flow that has others; none where it may be queued.
    /// Linux 7.2 `sfq_enqueue`.
    #[inline]
    fn signal(&mut self, slot: usize, pkt: &mut Packet, log: &mut Log) -> Option<Reason> {
        let own = &mut self.slots[slot];
        let action = self.red.as_mut()?.of_flow(&mut own.red, own.bytes, &mut self.rng);
        let c = &mut self.counters;
        let (reason, may_mark, marks, head_marks, drops) = match action {
            Action::Pass => return None,
            Action::Early => {
                let may_mark = self.params.ecn;
                let counts = (&mut c.prob_mark, &mut c.prob_mark_head, &mut c.prob_drop);
                (Reason::RedEarly, may_mark, counts.0, counts.1, counts.2)
            }
            Action::Forced => {
                let may_mark = self.params.ecn && !self.params.harddrop;
                let counts = (&mut c.forced_mark, &mut c.forced_mark_head, &mut c.forced_drop);
                (Reason::RedForced, may_mark, counts.0, counts.1, counts.2)
            }
        };
        c.overlimits += 1;
        if may_mark {
            let first = own.queue.front_mut().filter(|_| self.params.headdrop);
            if first.is_some_and(|first| log.set_ce(first, reason)) {
                *head_marks += 1;
                return None;
            }
            if log.set_ce(pkt, reason) {
                *marks += 1;
                return None;
            }
        }
        *drops += 1;
        Some(reason)
    }

    /// What Linux counts as waiting.
    #[inline]
    fn waiting(&self) -> Backlog {
        self.backlog + self.peeked
    }

    /// Every packet into the bucket of the new salt, slot by slot; what finds no room is dropped.
    /// Linux 7.2 `sfq_rehash`.
    #[cold]
    fn rehash(&mut self, log: &mut Log) {
        self.salt = self.rng.u32();
        let mut all = Vec::with_capacity(self.backlog.packets as usize);
        for slot in 0..self.slots.len() {
            while let Some(pkt) = self.take(slot, true) {
                all.push(pkt);
            }
        }
        self.round.clear();
        for pkt in all {
            let bucket = self.bucket(&pkt);
            let slot = match self.table[bucket as usize] {
                NONE => self.open(bucket),
                slot => Some(usize::from(slot)),
            };
            let Some(slot) = slot else {
                log.drop(&pkt, Reason::TailLimit);
                continue;
            };
            let own = &mut self.slots[slot];
            if own.queue.len() >= self.params.depth as usize {
                log.drop(&pkt, Reason::FlowOverlimit);
                continue;
            }
            if let Some(law) = &mut self.red {
                law.sample_flow(&mut own.red, own.bytes);
            }
            self.append(slot, pkt);
        }
    }
}

impl Qdisc for Sfq {
    // Linux 7.2 `sfq_enqueue`.
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        pkt.stamp = now;
        let bucket = self.bucket(&pkt);
        let slot = match self.table[bucket as usize] {
            NONE => match self.open(bucket) {
                Some(slot) => slot,
                None => return log.drop(&pkt, Reason::TailLimit),
            },
            slot => {
                let slot = usize::from(slot);
                let is_deep = self.slots[slot].queue.len() >= self.params.depth as usize;
                let refused = self.signal(slot, &mut pkt, log);
                if let Some(reason) = refused.or_else(|| is_deep.then_some(Reason::FlowOverlimit)) {
                    if !self.params.headdrop {
                        return log.drop(&pkt, reason);
                    }
                    // The oldest packet goes instead, and the flow keeps its length and place.
                    let own = &mut self.slots[slot];
                    if let Some(first) = own.queue.pop_front() {
                        own.bytes -= u64::from(first.len);
                        self.backlog.remove(&first);
                        log.drop(&first, reason);
                    }
                    own.bytes += u64::from(pkt.len);
                    own.queue.push_back(pkt);
                    self.backlog.add(&pkt);
                    return;
                }
                slot
            }
        };
        self.append(slot, pkt);
        if self.waiting().packets > self.limit {
            self.make_room(log);
        }
    }

    // McKenney 1990; Linux 7.2 `sfq_dequeue`.
    #[inline]
    fn dequeue(&mut self, _now: Time, _log: &mut Log) -> Option<Packet> {
        let slot = loop {
            let slot = usize::from(*self.round.front()?);
            let own = &mut self.slots[slot];
            if own.allot > 0 {
                break slot;
            }
            own.allot += i64::from(self.params.quantum);
            self.round.rotate_left(1);
        };
        let pkt = self.take(slot, true)?;
        let own = &mut self.slots[slot];
        if own.queue.is_empty() {
            self.round.pop_front();
        } else {
            own.allot -= i64::from(pkt.len);
        }
        Some(pkt)
    }

    #[inline]
    fn wake(&self) -> Time {
        self.perturbed
    }

    fn on_wake(&mut self, now: Time, log: &mut Log) {
        if self.perturbed <= now {
            self.rehash(log);
            self.arm(now);
        }
    }

    fn peeked(&mut self, held: Backlog) {
        self.peeked = held;
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn change(&mut self, _now: Time, _to: &Spec, _given: &Given, _log: &mut Log) {}

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        let c = &self.counters;
        out.put("overlimits", c.overlimits as f64);
        out.put("flows", self.round.len() as f64);
        if let Some(law) = &self.red {
            out.put("ewma", law.weight_log());
            out.put("prob_mark", c.prob_mark as f64);
            out.put("prob_mark_head", c.prob_mark_head as f64);
            out.put("prob_drop", c.prob_drop as f64);
            out.put("forced_mark", c.forced_mark as f64);
            out.put("forced_mark_head", c.forced_mark_head as f64);
            out.put("forced_drop", c.forced_drop as f64);
        }
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("flows", "1", self.round.len() as f64);
    }

    fn purge(&mut self, log: &mut Log) {
        for slot in 0..self.slots.len() {
            while let Some(pkt) = self.take(slot, true) {
                log.drop(&pkt, Reason::Purge);
            }
        }
        self.round.clear();
    }
}

#[cfg(test)]
mod tests;
