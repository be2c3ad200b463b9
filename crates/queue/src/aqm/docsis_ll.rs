//! `docsis_ll`: the dual queue of Low Latency DOCSIS. A ramp marks the low-latency queue, a PI
//! law couples it to the Classic one, both on arrival, and queue protection ejects flows that
//! build a queue. RFC 8034, RFC 9332, RFC 9957.

use super::dual_queue::{self, DualQueue, Room, Scheduler, Side};
use super::queue_protection::{self, QueueProtection, Sanction};
use super::recur::{self, Signal};
use super::update_timer::UpdateTimer;
use super::{Backlog, Env, Kernel, Log, OldEntry, Qdisc, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

mod base;
mod classic;

use base::{BaseProbability, Law};
use classic::Spacing;

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "docsis_ll",
    summary: "L4S in cable modems: coupled low-latency and Classic queues with queue protection",
    reference: "DOCSIS 3.1 Low Latency; RFC 8034, RFC 9332, RFC 9957",
    kernel: Kernel::Nowhere,
    params: &[
        dual_queue::LIMIT,
        Param {
            name: "rate",
            value: "RATE",
            default: "unknown",
            doc: "Rate of the service flow, by which low-latency bytes are a delay and the ramp has a floor.",
        },
        Param { name: "target", value: "TIME", default: "10ms", doc: "Delay aimed at." },
        Param { name: "interval", value: "TIME", default: "16ms", doc: "Period of the PI law." },
        Param { name: "a", value: "HZ", default: "0.25", doc: "Integral gain per interval." },
        Param { name: "b", value: "HZ", default: "2.5", doc: "Proportional gain per interval." },
        Param {
            name: "coupling_factor",
            value: "NUMBER",
            default: "2",
            doc: "Ratio of the coupled low-latency probability to the base one, 1 to 255.",
        },
        Param {
            name: "min_th",
            value: "TIME",
            default: "475us",
            doc: "MINTH, where the ramp starts, at least the time of two full frames at rate.",
        },
        Param {
            name: "lg_range",
            value: "NUMBER",
            default: "19",
            doc: "LG_RANGE: the ramp is 2^lg_range nanoseconds long, 0 to 40.",
        },
        recur::SIGNAL,
        Param {
            name: "nqb|nonqb",
            value: "",
            default: "nqb",
            doc: "Whether DSCP 45 (non-queue-building) enters the low-latency queue too.",
        },
        Param {
            name: "classic_weight",
            value: "FRACTION",
            default: "0.1015625",
            doc: "Share of the Classic queue when both are backlogged: 26/256.",
        },
        queue_protection::QPROTECT,
        queue_protection::SANCTION,
        queue_protection::BI_SIZE,
        queue_protection::ATTEMPTS,
        queue_protection::LG_AGING,
        queue_protection::CRITICAL_QL,
        queue_protection::CRITICAL_QL_SCORE,
        queue_protection::MAX_SCORE,
    ],
    build: |args, env| Ok(Box::new(DocsisLl::parse(args, env)?)),
};

/// DSCP of the non-queue-building per-hop behaviour.
const NQB: u8 = 45;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Params {
    room: Room,
    law: Law,
    interval: Dur,
    /// 1 to 255, whole.
    coupling: f64,
    min_th: Dur,
    lg_range: u32,
    signal: Signal,
    nqb: bool,
    scheduler: Scheduler,
    protection: queue_protection::Params,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            room: Room::default(),
            law: Law { a: 0.25, b: 2.5, target: Dur::from_millis(10) },
            interval: Dur::from_millis(16),
            coupling: 2.0,
            min_th: Dur::from_micros(475),
            lg_range: 19,
            signal: Signal::Recur,
            nqb: true,
            scheduler: Scheduler { classic_weight: 26.0 / 256.0, ..Scheduler::WRR },
            protection: queue_protection::Params::default(),
        }
    }
}

impl Params {
    fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        while let Some(key) = args.key() {
            match key {
                "target" => self.law.target = args.time()?,
                "interval" => {
                    let expected = "a time from 1us such as `16ms`";
                    self.interval =
                        args.value(expected, |w| Dur::parse_tc(w).filter(|d| d.0 >= 1000))?;
                }
                "a" => self.law.a = args.decimal(0.0..=1e6)?,
                "b" => self.law.b = args.decimal(0.0..=1e6)?,
                "coupling_factor" => self.coupling = args.number(1..=255)? as f64,
                "min_th" => self.min_th = args.time()?,
                "lg_range" => self.lg_range = args.number(0..=40)? as u32,
                "signal" => self.signal = Signal::read(args)?,
                "nqb" => self.nqb = true,
                "nonqb" => self.nqb = false,
                "classic_weight" => self.scheduler.classic_weight = args.decimal(0.0..=1.0)?,
                _ => {
                    if !self.room.read(key, args)? && !self.protection.read(key, args)? {
                        return Err(args.unknown());
                    }
                }
            }
        }
        self.protection.check(args)?;
        Ok(self)
    }

    fn describe(&self) -> String {
        format!(
            "{} target {} interval {} a {} b {} coupling_factor {} min_th {} lg_range {} signal {} \
             {} classic_weight {}{}",
            self.room.describe(),
            self.law.target,
            self.interval,
            self.law.a,
            self.law.b,
            self.coupling,
            self.min_th,
            self.lg_range,
            self.signal.name(),
            if self.nqb { "nqb" } else { "nonqb" },
            self.scheduler.classic_weight,
            self.protection.describe(),
        )
    }

    /// MINTH after its floor, for frames of up to `mtu` bytes.
    fn floored(&self, mtu: u32) -> Dur {
        let frames = |rate: sojourn_core::units::Rate| rate.time_for(2 * u64::from(mtu));
        self.min_th.max(self.room.rate.map_or(Dur::ZERO, frames))
    }
}

/// The coupled queues.
#[derive(Debug)]
pub struct DocsisLl {
    params: Params,
    mtu: u32,
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
    fn parse(args: &mut Args<'_>, env: Env) -> Result<Self, GrammarError> {
        let params = Params::default().read(args)?;
        let mut q = Self {
            params,
            mtu: env.psched_mtu,
            min_th: Dur::ZERO,
            range: Dur::ZERO,
            queue: DualQueue::new(&env),
            protection: QueueProtection::new(params.protection, Dur::ZERO),
            base: BaseProbability::default(),
            count: 0.0,
            spacing: Spacing::default(),
            rng: env.rng,
            timer: UpdateTimer::new(env.now + params.interval, params.interval),
            clock: env.now,
        };
        q.queue.reset_credit(&params.scheduler);
        q.configure();
        Ok(q)
    }

    /// What follows from the parameters.
    fn configure(&mut self) {
        self.min_th = self.params.floored(self.mtu);
        self.range = Dur(1 << self.params.lg_range);
        self.protection.change(self.params.protection, self.min_th + self.range);
        self.timer.set_period(self.params.interval);
    }

    /// The age of the head; for the low-latency queue its bytes at the configured rate, if there
    /// is one. The Classic queue's part of that rate is not known beforehand.
    #[inline]
    fn delay(&self, side: Side, now: Time) -> Dur {
        match (self.params.room.rate, side) {
            (Some(rate), Side::L4s) => rate.time_for(self.queue.bytes(side)),
            _ => self.queue.age(side, now),
        }
    }

    /// The delays of the Classic and of the low-latency queue.
    fn delays(&self, now: Time) -> [Dur; 2] {
        [Side::Classic, Side::L4s].map(|side| self.delay(side, now))
    }

    /// IAQM, the low-latency queue's own probability at this delay: probNative.
    #[inline]
    fn native(&self, delay: Dur) -> f64 {
        let over = delay.saturating_sub(self.min_th);
        (over.0 as f64 / self.range.0 as f64).min(1.0)
    }

    fn coupled(&self) -> f64 {
        (self.base.value * self.params.coupling).min(1.0)
    }

    /// The Classic probability per MEAN_PKTSIZE bytes.
    fn classic(&self) -> f64 {
        self.base.value * self.base.value
    }

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
        if !self.queue.admits(&pkt, self.params.room.limit(), log) {
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
        let (side, pkt) = self.queue.pop(now, &self.params.scheduler)?;
        self.queue.sent(side, &pkt, &self.params.scheduler);
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

    fn old_change(
        &mut self,
        _now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        let params = self.params.read(args)?;
        self.queue.reschedule(&self.params.scheduler, &params.scheduler);
        self.params = params;
        self.configure();
        Ok(())
    }

    fn describe(&self) -> String {
        format!("docsis_ll{}", self.params.describe())
    }

    fn stats(&self, out: &mut Stats) {
        out.put("overlimits", self.queue.overlimits as f64);
        out.put("prob", self.base.value);
        self.queue.stats(self.delays(self.clock), self.params.room.limit(), out);
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
        self.queue.reset_credit(&self.params.scheduler);
        self.protection.purge();
        (self.base, self.count) = (BaseProbability::default(), 0.0);
        self.spacing = Spacing::default();
        self.timer.sleep();
    }
}

#[cfg(test)]
mod tests;
