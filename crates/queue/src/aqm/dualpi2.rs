//! `dualpi2`: dual queue with coupled PI2. RFC 9332; Linux 6.17 `sch_dualpi2` (`version mainline`),
//! L4STeam's trees: of 2019 (`version 2019`), testing/01-03-2020 (`version 2020`) and e1ec6e7
//! (`version l4steam`).
//! The RFC's own pseudocode is `dualq`.

use std::collections::VecDeque;

use super::psched::truesize;
use super::update_timer::UpdateTimer;
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, PSCHED_MTU, Qdisc, Reason, Spec, Stats, accepts,
    entry, spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::packet::{Packet, Side};
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

pub(super) mod controller;
mod params;

use controller::{Controller, MAX_PROB, Verdict};
use params::{Params, Step, Version};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "dualpi2",
    "L4S: a low-latency and a classic queue under one coupled PI controller",
    "RFC 9332; Linux 6.17 sch_dualpi2",
    Kernel::Mainline("6.17"),
);

/// Bytes below which the PI controller does not signal.
const GUARD: u64 = 2 * PSCHED_MTU as u64;

/// The coupled queues.
#[derive(Debug)]
pub struct DualPi2 {
    params: Params,
    credit_init: i32,
    /// Scheduler: positive serves the classic queue first.
    credit: i32,
    controller: Controller,
    /// Sojourn times of the heads (classic, L4S) when a packet was last asked for.
    sampled: (Dur, Dur),
    classic: VecDeque<Packet>,
    /// With the flag that the step rule applies.
    l4s: VecDeque<(Packet, bool)>,
    backlog: Backlog,
    /// What [`Qdisc::peeked`] says of packets that left it.
    peeked: Backlog,
    memory: u64,
    memory_limit: u64,
    rng: Rng,
    hz: u32,
    timer: UpdateTimer,
    /// The latest instant seen, for statistics.
    clock: Time,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    ecn_mark: u64,
    step_mark: u64,
    overlimits: u64,
    packets_c: u64,
    packets_l: u64,
    max_queue: u32,
    max_memory: u64,
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(DualPi2::new(*self, env))
    }

    fn accepts(&self, to: &Spec) -> Result<(), String> {
        accepts(
            to,
            |to: &Self| to.version == self.version,
            "`version` is fixed at creation; use replace",
        )
    }
}

impl DualPi2 {
    fn new(params: Params, env: Env) -> Self {
        let mut q = Self {
            params,
            credit_init: 0,
            credit: 0,
            controller: Controller::default(),
            sampled: (Dur::ZERO, Dur::ZERO),
            classic: VecDeque::new(),
            l4s: VecDeque::new(),
            backlog: Backlog::default(),
            peeked: Backlog::default(),
            memory: 0,
            memory_limit: 0,
            rng: env.rng,
            hz: env.hz,
            timer: UpdateTimer::new(env.now + params.law.tupdate, params.law.tupdate),
            clock: env.now,
            counters: Counters::default(),
        };
        if params.version == Version::Y2019 {
            // That timer runs on jiffies and first fires half a second after the start.
            let tick = 1_000_000_000 / u64::from(env.hz);
            let first = Time((env.now.0 / tick + u64::from(env.hz) / 2) * tick);
            q.timer = UpdateTimer::new(first, params.law.tupdate);
        }
        q.configure();
        q
    }

    /// What follows from the parameters; a new share starts the scheduler anew, as in Linux.
    fn configure(&mut self) {
        let p = &self.params;
        let credit_init = PSCHED_MTU as i32 * (2 * i32::from(p.classic_protection) - 100);
        if self.credit_init != credit_init {
            (self.credit_init, self.credit) = (credit_init, credit_init);
        }
        self.memory_limit = p.memory_limit(GUARD);
        self.timer.set_period(match p.version {
            Version::Y2020 | Version::L4steam | Version::Mainline => p.law.tupdate,
            Version::Y2019 => {
                let tick = 1_000_000_000 / u64::from(self.hz);
                Dur(p.law.tupdate.0.div_ceil(tick) * tick)
            }
        });
    }

    /// What Linux counts as waiting.
    #[inline]
    fn waiting(&self) -> Backlog {
        self.backlog + self.peeked
    }

    /// Sojourn times at `now` of the heads of the classic and the L4S queue.
    #[inline]
    fn delays(&self, now: Time) -> (Dur, Dur) {
        let classic = self.classic.front().map_or(Dur::ZERO, |p| now.since(p.stamp));
        let l4s = self.l4s.front().map_or(Dur::ZERO, |(p, _)| now.since(p.stamp));
        (classic, l4s)
    }

    /// The delay that an update at `now` sees.
    fn observed(&self, now: Time) -> Dur {
        let (classic, l4s) = match self.params.version {
            // DEVIATION: that tree reuses what the last dequeue measured, stale on an idle link.
            Version::L4steam => self.sampled,
            Version::Y2019 | Version::Y2020 | Version::Mainline => self.delays(now),
        };
        classic.max(l4s)
    }

    /// The PI controller's step. Linux 6.17 `dualpi2_timer`; RFC 9332 A.1 (`dualpi2_update`).
    fn update(&mut self, now: Time) {
        let (delay, law) = (self.observed(now), &self.params.law);
        // Linux 6.17 `calculate_probability`: without drops of L4S packets the coupled probability
        // ends at 1, and overload is left to the queue's limit.
        let most = if self.params.drop_on_overload {
            MAX_PROB
        } else {
            MAX_PROB / u32::from(law.coupling_factor)
        };
        match self.params.version {
            Version::Y2020 | Version::L4steam | Version::Mainline => {
                self.controller.update(law, delay, most);
            }
            Version::Y2019 => self.controller.update_of_2019(law, delay, most),
        }
    }

    /// The coupled signal on `pkt`; gives the reason if it is to be dropped.
    /// Linux 6.17 `must_drop`: no signal below two frames, as in PIE.
    // Inlined, it makes the loop of `dequeue` load every parameter before the first packet.
    #[inline(never)]
    fn signal(&mut self, pkt: &mut Packet, is_l4s: bool, log: &mut Log) -> Option<Reason> {
        if self.waiting().bytes < GUARD {
            return None;
        }
        let Params { law, drop_on_overload, .. } = &self.params;
        match self.controller.judge(law, is_l4s, *drop_on_overload, &mut self.rng) {
            Verdict::Pass => None,
            Verdict::Mark(reason) if log.set_ce(pkt, reason) => {
                self.counters.ecn_mark += 1;
                None
            }
            Verdict::Mark(reason) | Verdict::Drop(reason) => Some(reason),
        }
    }

    /// The L4S queue's own threshold. Linux 6.17 `do_step_aqm`.
    #[inline]
    fn step(&mut self, now: Time, pkt: &mut Packet, log: &mut Log) -> Option<Reason> {
        let over = match self.params.step_thresh {
            Step::Time(threshold) => now.since(pkt.stamp) > threshold,
            Step::Packets(threshold) => self.l4s.len() > threshold as usize,
        };
        if !over {
            return None;
        }
        if !log.set_ce(pkt, Reason::Step) {
            return Some(Reason::Step);
        }
        self.counters.step_mark += 1;
        self.counters.ecn_mark += 1;
        None
    }
}

impl Qdisc for DualPi2 {
    // Linux 6.17 `dualpi2_qdisc_enqueue`, `dualpi2_skb_classify`.
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        self.clock = now;
        let memory = self.memory + u64::from(truesize(pkt.len));
        let over_memory = memory > self.memory_limit;
        if self.waiting().packets >= self.params.limit || over_memory {
            self.counters.overlimits += 1;
            let reason = if over_memory { Reason::MemoryLimit } else { Reason::TailLimit };
            log.drop(&pkt, reason);
            return;
        }
        let is_l4s = pkt.tos & if self.params.l4s_ect { 1 } else { 3 } != 0;
        if self.params.drop_enqueue
            && let Some(reason) = self.signal(&mut pkt, is_l4s, log)
        {
            log.drop(&pkt, reason);
            return;
        }
        self.timer.arm(now);
        pkt.stamp = now;
        self.counters.max_queue = self.counters.max_queue.max(self.backlog.packets);
        self.memory = memory;
        self.counters.max_memory = self.counters.max_memory.max(memory);
        self.backlog.add(&pkt);
        if is_l4s {
            let waiting = self.l4s.len();
            let step = match self.params.version {
                Version::Mainline => waiting >= self.params.min_qlen_step as usize,
                Version::Y2019 | Version::Y2020 | Version::L4steam => waiting > 1,
            };
            self.counters.packets_l += 1;
            self.l4s.push_back((pkt, step));
        } else {
            self.counters.packets_c += 1;
            self.classic.push_back(pkt);
        }
    }

    // Linux 6.17 `dualpi2_qdisc_dequeue`; the credit is that of `dequeue_packet`.
    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        self.clock = now;
        let by_age = self.params.version == Version::L4steam;
        if by_age {
            self.sampled = self.delays(now);
        }
        loop {
            let (has_c, has_l) = (!self.classic.is_empty(), !self.l4s.is_empty());
            let is_l4s = has_l && (self.credit <= 0 || !has_c);
            let popped = if is_l4s {
                self.l4s.pop_front()
            } else {
                self.classic.pop_front().map(|pkt| (pkt, false))
            };
            let Some((mut pkt, step)) = popped else {
                self.credit = self.credit_init;
                return None;
            };
            self.backlog.remove(&pkt);
            self.memory -= u64::from(truesize(pkt.len));
            let len = pkt.len as i32;
            // DEVIATION: for e1ec6e7 a queue whose head has no age yet counts as empty here.
            let (waits_c, waits_l) = if by_age {
                (self.sampled.0 != Dur::ZERO, self.sampled.1 != Dur::ZERO)
            } else {
                (has_c, has_l)
            };
            let share = i32::from(self.params.classic_protection);
            let credit = match is_l4s {
                true if waits_c => share * len,
                false if waits_l => (share - 100) * len,
                _ => 0,
            };
            let mut dropped = None;
            if !self.params.drop_enqueue {
                dropped = self.signal(&mut pkt, is_l4s, log);
            }
            if step && dropped.is_none() {
                dropped = self.step(now, &mut pkt, log);
            }
            if let Some(reason) = dropped {
                log.drop(&pkt, reason);
                continue;
            }
            self.credit += credit;
            pkt.set_side(if is_l4s { Side::L4s } else { Side::Classic });
            return Some(pkt);
        }
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
        self.update(now);
        // An update of empty queues at probability 0 changes nothing, so that it needs no timer.
        let Controller { prob, last_delay } = self.controller;
        let settled = last_delay == self.observed(now) && last_delay <= self.params.law.target;
        self.timer.fired(now, self.waiting().packets == 0 && prob == 0 && settled);
    }

    fn peeked(&mut self, held: Backlog) {
        self.peeked = held;
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn change(&mut self, now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        if let Some(params) = to.params::<Params>() {
            self.params = *params;
            self.configure();
            // A delay that was within the old target may exceed the new one.
            self.timer.arm(now);
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        let (classic, l4s) = self.delays(self.clock);
        out.put("overlimits", self.counters.overlimits as f64);
        out.put("prob", self.controller.probability());
        out.put("delay_c", classic.as_micros() as f64);
        out.put("delay_l", l4s.as_micros() as f64);
        out.put("pkts_in_c", self.counters.packets_c as f64);
        out.put("pkts_in_l", self.counters.packets_l as f64);
        out.put("maxq", self.counters.max_queue);
        out.put("ecn_mark", self.counters.ecn_mark as f64);
        out.put("step_mark", self.counters.step_mark as f64);
        out.put("credit", self.credit);
        if self.params.version == Version::Mainline {
            out.put("memory_used", self.memory as f64);
            out.put("max_memory_used", self.counters.max_memory as f64);
            out.put("memory_limit", self.memory_limit as f64);
        }
    }

    fn probe(&self, out: &mut Probe<'_>) {
        let (classic, l4s) = self.delays(self.clock);
        self.controller.probe(&self.params.law, out);
        out.put("delay_c", "ms", classic.as_millis_f64());
        out.put("delay_l", "ms", l4s.as_millis_f64());
        out.put("packets_c", "packets", self.classic.len() as f64);
        out.put("packets_l", "packets", self.l4s.len() as f64);
    }

    fn splits(&self, _pkt: &Packet) -> bool {
        self.params.split_gso
    }

    fn purge(&mut self, log: &mut Log) {
        for pkt in self.l4s.drain(..).map(|(pkt, _)| pkt).chain(self.classic.drain(..)) {
            log.drop(&pkt, Reason::Purge);
        }
        (self.backlog, self.memory) = (Backlog::default(), 0);
        (self.controller, self.credit) = (Controller::default(), self.credit_init);
        self.sampled = (Dur::ZERO, Dur::ZERO);
        self.timer.sleep();
    }
}

#[cfg(test)]
mod tests;
