//! `docsis_ll`: the dual queue of Low Latency DOCSIS. A ramp marks the low-latency queue, a PI
//! law couples it to the Classic one, both on arrival, and queue protection ejects flows that
//! build a queue. RFC 8034, RFC 9332, RFC 9957.

use super::dual_queue::{DualQueue, Room, Scheduler, Side};
use super::queue_protection::{self, QueueProtection, Sanction};
use super::recur::Signal;
use super::update_timer::UpdateTimer;
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, PSCHED_MTU, Qdisc, Reason, Spec, Stats, entry,
    spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::{decimal, maybe, number, rate_from, time_from};
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Rate, Time};

mod base;
mod classic;

use base::{BaseProbability, Law};
use classic::Spacing;

pub(crate) const ENTRY: Entry = entry::<Params>(
    "docsis_ll",
    "L4S in cable modems: coupled low-latency and Classic queues with queue protection",
    "DOCSIS 3.1 Low Latency; RFC 8034, RFC 9332, RFC 9957",
    Kernel::Nowhere,
);

/// DSCP of the non-queue-building per-hop behaviour.
const NQB: u8 = 45;

parameters! {
    /// Parameters of `docsis_ll`.
    #[derive(Copy, PartialEq)]
    struct Params {
        /// Rate of the service flow, by which low-latency bytes are a delay and the ramp has a floor.
        rate: Option<Rate> = None => maybe(rate_from(Rate(1000))), default "unknown";
        /// Period of the PI law.
        interval: Dur = Dur::from_millis(16) => time_from(Dur::from_micros(1));
        /// Ratio of the coupled low-latency probability to the base one, 1 to 255.
        coupling_factor: u8 = 2 => number(1..=255);
        /// MINTH, where the ramp starts, at least the time of two full frames at rate.
        min_th: Dur = Dur::from_micros(475);
        /// LG_RANGE: the ramp is 2^lg_range nanoseconds long, 0 to 40.
        lg_range: u32 = 19 => number(0..=40);
        /// Whether DSCP 45 (non-queue-building) enters the low-latency queue too.
        nqb: bool = true, name "nqb|nonqb";
        /// Share of the Classic queue when both are backlogged: 26/256.
        classic_weight: f64 = 26.0 / 256.0 => decimal("FRACTION", 0.0..=1.0);
    }
    groups {
        room: Room = Room::default();
        law: Law = Law::default();
        signal: Signal = Signal::default();
        protection: queue_protection::Params = queue_protection::Params::default();
    }
}

impl Params {
    /// MINTH after its floor.
    fn floored(&self) -> Dur {
        let frames = |rate: Rate| rate.time_for(2 * u64::from(PSCHED_MTU));
        self.min_th.max(self.rate.map_or(Dur::ZERO, frames))
    }

    fn limit(&self) -> u64 {
        self.room.limit(self.rate)
    }

    fn scheduler(&self) -> Scheduler {
        Scheduler { classic_weight: self.classic_weight, ..Scheduler::default() }
    }
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(DocsisLl::new(*self, env))
    }

    fn capacity(&self) -> Option<Rate> {
        self.rate
    }
}

/// The coupled queues.
#[derive(Debug)]
pub struct DocsisLl {
    params: Params,
    scheduler: Scheduler,
    /// The ramp's start, MINTH after its floor, and its length.
    min_th: Dur,
    range: Dur,
    queue: DualQueue,
    protection: QueueProtection,
    base: BaseProbability,
    /// `recur`'s counter of the low-latency queue.
    count: f64,
    spacing: Spacing,
    rng: Rng,
    timer: UpdateTimer,
    /// The latest instant seen, for statistics.
    clock: Time,
}

impl DocsisLl {
    fn new(params: Params, env: Env) -> Self {
        let scheduler = params.scheduler();
        let mut q = Self {
            params,
            scheduler,
            min_th: Dur::ZERO,
            range: Dur::ZERO,
            queue: DualQueue::new(&scheduler),
            protection: QueueProtection::new(params.protection, Dur::ZERO),
            base: BaseProbability::default(),
            count: 0.0,
            spacing: Spacing::default(),
            rng: env.rng,
            timer: UpdateTimer::new(env.now + params.interval, params.interval),
            clock: env.now,
        };
        q.configure();
        q
    }

    /// What follows from the parameters.
    fn configure(&mut self) {
        self.min_th = self.params.floored();
        self.range = Dur(1 << self.params.lg_range);
        self.protection.change(self.params.protection, self.min_th + self.range);
        self.timer.set_period(self.params.interval);
        self.scheduler = self.params.scheduler();
    }

    /// The age of the head; for the low-latency queue its bytes at the configured rate, if there
    /// is one. The Classic queue's part of that rate is not known beforehand.
    #[inline]
    fn delay(&self, side: Side, now: Time) -> Dur {
        match (self.params.rate, side) {
            (Some(rate), Side::L4s) => rate.time_for(self.queue.bytes(side)),
            _ => self.queue.age(side, now),
        }
    }

    /// The delays of the Classic and of the low-latency queue.
    fn delays(&self, now: Time) -> [Dur; 2] {
        [Side::Classic, Side::L4s].map(|side| self.delay(side, now))
    }

    /// IAQM, the low-latency queue's own probability at this delay: probNative.
    /// RFC 9957 calls it so; the ramp is that of RFC 9332 A.1 (`laqm`).
    #[inline]
    fn native(&self, delay: Dur) -> f64 {
        let over = delay.saturating_sub(self.min_th);
        (over.0 as f64 / self.range.0 as f64).min(1.0)
    }

    // RFC 9332 2.1: `p_CL = k p'`.
    fn coupled(&self) -> f64 {
        (self.base.value * f64::from(self.params.coupling_factor)).min(1.0)
    }

    /// The Classic probability per MEAN_PKTSIZE bytes. RFC 9332 2.1: `p_C = p'^2`.
    fn classic(&self) -> f64 {
        self.base.value * self.base.value
    }

    // RFC 9331 5.1 (`Side::of`); RFC 9956 for DSCP 45.
    fn is_low_latency(&self, pkt: &Packet) -> bool {
        Side::of(pkt) == Side::L4s || (self.params.nqb && pkt.tos >> 2 == NQB)
    }

    fn enqueue_low_latency(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        let delay = self.delay(Side::L4s, now);
        let native = self.native(delay);
        if self.params.protection.enabled && self.protection.sanctions(now, &pkt, native, delay) {
            return match self.params.protection.sanction {
                Sanction::Reclassify => self.enqueue_classic(now, pkt, log),
                Sanction::Drop => log.drop(&pkt, Reason::Protection),
            };
        }
        // Non-queue-building traffic without ECN is held to account by the protection alone.
        let coupled = self.coupled();
        let probability = native.max(coupled);
        if pkt.ecn().is_capable()
            && self.params.signal.turn(&mut self.count, probability, &mut self.rng)
        {
            let reason = if native > coupled { Reason::Step } else { Reason::Coupled };
            // It is ECN-capable, so that it is marked.
            let marked = log.set_ce(&mut pkt, reason);
            debug_assert!(marked);
            self.queue.marked(reason);
        }
        self.queue.push(Side::L4s, now, pkt);
    }

    // RFC 8034 A.
    fn enqueue_classic(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        let (probability, held) = (self.classic(), self.queue.bytes(Side::Classic));
        if self.spacing.drops(probability, pkt.len, held, &mut self.rng) {
            log.drop(&pkt, Reason::Pi);
        } else {
            self.queue.push(Side::Classic, now, pkt);
        }
    }
}

impl Qdisc for DocsisLl {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        self.clock = now;
        if !self.queue.admits(&pkt, self.params.limit(), log) {
            return;
        }
        self.timer.arm(now);
        if self.is_low_latency(&pkt) {
            self.enqueue_low_latency(now, pkt, log);
        } else {
            self.enqueue_classic(now, pkt, log);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _log: &mut Log) -> Option<Packet> {
        self.clock = now;
        let (side, pkt) = self.queue.pop(now, &self.scheduler)?;
        self.queue.sent(side, &pkt, &self.scheduler);
        Some(pkt)
    }

    #[inline]
    fn wake(&self) -> Time {
        self.timer.wake()
    }

    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        self.clock = now;
        if self.timer.wake() > now {
            return;
        }
        let [classic, low] = self.delays(now);
        self.base.update(&self.params.law, classic.max(low));
        let empty = self.queue.backlog().packets == 0;
        self.timer.fired(now, empty && self.base.rests());
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        if let Some(params) = to.params::<Params>() {
            self.queue.reschedule(&self.scheduler, &params.scheduler());
            self.params = *params;
            self.configure();
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        out.put("overlimits", self.queue.overlimits as f64);
        out.put("prob", self.base.value);
        self.queue.stats(self.delays(self.clock), self.params.limit(), out);
        self.protection.stats(out);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        let delays @ [_, delay_l] = self.delays(self.clock);
        out.put("prob", "1", self.base.value);
        out.put("prob_c", "1", self.classic());
        out.put("prob_l", "1", self.coupled());
        out.put("prob_native", "1", self.native(delay_l));
        self.queue.probe(delays, out);
        out.put("buckets", "1", self.protection.occupied(self.clock) as f64);
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
        self.queue.reset_credit(&self.scheduler);
        self.protection.purge();
        (self.base, self.count) = (BaseProbability::default(), 0.0);
        self.spacing = Spacing::default();
        self.timer.sleep();
    }
}

#[cfg(test)]
mod tests;
