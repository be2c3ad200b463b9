//! `dualpi2`: dual queue with coupled PI2. RFC 9332; Linux 6.17 `sch_dualpi2` (`version mainline`),
//! L4STeam's trees: of 2019 (`version 2019`), testing/01-03-2020 (`version 2020`) and e1ec6e7
//! (`version l4steam`).
//! The RFC's own pseudocode is `dualq`.

use std::collections::VecDeque;

use super::psched::truesize;
use super::{Backlog, Env, Kernel, Log, OldEntry, Qdisc, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError};
use sojourn_core::packet::{Packet, Side};
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

mod params;

use params::{Params, Step, Version};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "dualpi2",
    summary: "L4S: a low-latency and a classic queue under one coupled PI controller",
    reference: "RFC 9332; Linux 6.17 sch_dualpi2",
    kernel: Kernel::Mainline("6.17"),
    params: params::PARAMS,
    build: |args, env| Ok(Box::new(DualPi2::parse(args, env)?)),
};

/// Probability 1, the unit of `prob`.
const MAX_PROB: u32 = u32::MAX;

/// The coupled queues.
#[derive(Debug)]
pub struct DualPi2 {
    params: Params,
    /// Gains times 2^32 per 2^6 ns of delay.
    alpha: i64,
    beta: i64,
    weight_c: i32,
    weight_l: i32,
    credit_init: i32,
    /// Bytes below which the PI controller does not signal.
    guard: u64,
    /// Scheduler: positive serves the classic queue first.
    credit: i32,
    prob: u32,
    last_delay: Dur,
    /// Sojourn times of the heads (classic, L4S) when a packet was last asked for.
    sampled: (Dur, Dur),
    classic: VecDeque<Packet>,
    /// With the flag that the step rule applies.
    l4s: VecDeque<(Packet, bool)>,
    backlog: Backlog,
    memory: u64,
    memory_limit: u64,
    rng: Rng,
    hz: u32,
    period: Dur,
    next_update: Time,
    /// `next_update`, or never while an update could change nothing.
    wake: Time,
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

/// What the AQM does with a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Pass,
    Drop(Reason),
}

impl DualPi2 {
    fn parse(args: &mut Args<'_>, env: Env) -> Result<Self, GrammarError> {
        let params = Params::default().read(args)?;
        let mut q = Self {
            params,
            alpha: 0,
            beta: 0,
            weight_c: 0,
            weight_l: 0,
            credit_init: 0,
            guard: 2 * u64::from(env.psched_mtu),
            credit: 0,
            prob: 0,
            last_delay: Dur::ZERO,
            sampled: (Dur::ZERO, Dur::ZERO),
            classic: VecDeque::new(),
            l4s: VecDeque::new(),
            backlog: Backlog::default(),
            memory: 0,
            memory_limit: 0,
            rng: env.rng,
            hz: env.hz,
            period: Dur::ZERO,
            next_update: Time::ZERO,
            wake: Time::NEVER,
            clock: env.now,
            counters: Counters::default(),
        };
        q.configure();
        q.next_update = match params.version {
            Version::Y2020 | Version::L4steam | Version::Mainline => env.now + q.period,
            // The old timer runs on jiffies and first fires half a second after the start.
            Version::Y2019 => {
                let tick = 1_000_000_000 / u64::from(env.hz);
                Time((env.now.0 / tick + u64::from(env.hz) / 2) * tick)
            }
        };
        Ok(q)
    }

    /// What follows from the parameters; a new share starts the scheduler anew, as in Linux.
    fn configure(&mut self) {
        let p = &self.params;
        let gain = |g: u32| (u64::from(g) * u64::from(MAX_PROB) / 4 / 1_000_000_000) as i64;
        (self.alpha, self.beta) = (gain(p.alpha), gain(p.beta));
        self.weight_c = i32::from(p.protection);
        self.weight_l = 100 - self.weight_c;
        let credit_init = (self.guard / 2) as i32 * (self.weight_c - self.weight_l);
        if self.credit_init != credit_init {
            (self.credit_init, self.credit) = (credit_init, credit_init);
        }
        self.memory_limit = p.memory_limit(self.guard);
        self.period = match p.version {
            Version::Y2020 | Version::L4steam | Version::Mainline => p.tupdate,
            Version::Y2019 => {
                let tick = 1_000_000_000 / u64::from(self.hz);
                Dur(p.tupdate.0.div_ceil(tick) * tick)
            }
        };
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

    /// The PI controller's step.
    fn update(&mut self, now: Time) {
        let delay = self.observed(now);
        let error = (delay.0 as i64 - self.params.target.0 as i64).saturating_mul(self.alpha);
        let growth = (delay.0 as i64 - self.last_delay.0 as i64).saturating_mul(self.beta);
        let delta = match self.params.version {
            Version::Y2020 | Version::L4steam | Version::Mainline => {
                error.saturating_add(growth) / 64
            }
            // DEVIATION: that tree divides each term by 2^7 - 1, which halves the gains.
            Version::Y2019 => error / 127 + growth / 127,
        };
        self.last_delay = delay;
        let most = if self.params.drop_on_overload {
            MAX_PROB
        } else {
            MAX_PROB / u32::from(self.params.coupling)
        };
        let prob = i64::from(self.prob).saturating_add(delta);
        self.prob = prob.clamp(0, i64::from(most)) as u32;
    }

    /// An update of an empty queue at probability 0 changes nothing, so it needs no timer. An
    /// update that coincides with the first arrival sees the same delay, so that skipping up to
    /// and including `now` is exact.
    #[inline]
    fn arm(&mut self, now: Time) {
        if self.wake == Time::NEVER {
            self.skip_to_after(now);
            self.wake = self.next_update;
        }
    }

    /// Moves the timer to its first multiple after `now`.
    #[inline]
    fn skip_to_after(&mut self, now: Time) {
        if self.next_update <= now {
            let periods = now.since(self.next_update).0 / self.period.0 + 1;
            self.next_update += self.period * periods;
        }
    }

    #[inline]
    fn roll(&mut self, prob: u32) -> bool {
        self.rng.u32() <= prob
    }

    /// The coupled signal on `pkt`, by the current probability.
    #[inline]
    fn signal(&mut self, pkt: &mut Packet, is_l4s: bool, log: &mut Log) -> Verdict {
        if self.backlog.bytes < self.guard {
            return Verdict::Pass;
        }
        let prob = self.prob;
        let coupled = u64::from(prob) * u64::from(self.params.coupling);
        let overload = coupled > u64::from(MAX_PROB);
        let reason = if is_l4s {
            if overload {
                if self.params.drop_on_overload && self.roll(prob) && self.roll(prob) {
                    return Verdict::Drop(Reason::Overload);
                }
                Reason::Overload
            } else if self.roll(coupled as u32) {
                Reason::Coupled
            } else {
                return Verdict::Pass;
            }
        } else {
            if !(self.roll(prob) && self.roll(prob)) {
                return Verdict::Pass;
            }
            if overload {
                return Verdict::Drop(Reason::Overload);
            }
            Reason::Pi
        };
        if log.set_ce(pkt, reason) {
            self.counters.ecn_mark += 1;
            Verdict::Pass
        } else {
            Verdict::Drop(reason)
        }
    }

    /// The L4S queue's own threshold.
    #[inline]
    fn step(&mut self, now: Time, pkt: &mut Packet, log: &mut Log) -> Verdict {
        let over = match self.params.step {
            Step::Time(threshold) => now.since(pkt.stamp) > threshold,
            Step::Packets(threshold) => self.l4s.len() > threshold as usize,
        };
        if !over {
            return Verdict::Pass;
        }
        if !log.set_ce(pkt, Reason::Step) {
            return Verdict::Drop(Reason::Step);
        }
        self.counters.step_mark += 1;
        self.counters.ecn_mark += 1;
        Verdict::Pass
    }
}

impl Qdisc for DualPi2 {
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        self.clock = now;
        let memory = self.memory + u64::from(truesize(pkt.len));
        let over_memory = memory > self.memory_limit;
        if self.backlog.packets >= self.params.limit || over_memory {
            self.counters.overlimits += 1;
            let reason = if over_memory { Reason::MemoryLimit } else { Reason::TailLimit };
            log.drop(&pkt, reason);
            return;
        }
        let is_l4s = pkt.tos & self.params.ecn_mask != 0;
        if self.params.drop_enqueue
            && let Verdict::Drop(reason) = self.signal(&mut pkt, is_l4s, log)
        {
            log.drop(&pkt, reason);
            return;
        }
        self.arm(now);
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
            let credit = match is_l4s {
                true if waits_c => self.weight_c * len,
                false if waits_l => -self.weight_l * len,
                _ => 0,
            };
            let mut verdict = Verdict::Pass;
            if !self.params.drop_enqueue {
                verdict = self.signal(&mut pkt, is_l4s, log);
            }
            if step && verdict == Verdict::Pass {
                verdict = self.step(now, &mut pkt, log);
            }
            if let Verdict::Drop(reason) = verdict {
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
        self.wake
    }

    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        self.clock = now;
        if self.wake > now {
            return;
        }
        self.update(now);
        self.skip_to_after(now);
        let settled =
            self.last_delay == self.observed(now) && self.last_delay <= self.params.target;
        let idle = self.backlog.packets == 0 && self.prob == 0 && settled;
        self.wake = if idle { Time::NEVER } else { self.next_update };
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn old_change(
        &mut self,
        now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        let params = self.params.read(args)?;
        if params.version != self.params.version {
            return Err(args.invalid("`version` is fixed at creation; use replace"));
        }
        self.params = params;
        self.configure();
        // A delay that was within the old target may exceed the new one.
        self.arm(now);
        Ok(())
    }

    fn describe(&self) -> String {
        format!("dualpi2 {}", self.params.describe())
    }

    fn stats(&self, out: &mut Stats) {
        let (classic, l4s) = self.delays(self.clock);
        out.put("overlimits", self.counters.overlimits as f64);
        out.put("prob", f64::from(self.prob) / f64::from(MAX_PROB));
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
        let prob = f64::from(self.prob) / f64::from(MAX_PROB);
        let (classic, l4s) = self.delays(self.clock);
        out.put("prob", "1", prob);
        out.put("prob_c", "1", prob * prob);
        out.put("prob_l", "1", (prob * f64::from(self.params.coupling)).min(1.0));
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
        (self.prob, self.last_delay, self.credit) = (0, Dur::ZERO, self.credit_init);
        self.sampled = (Dur::ZERO, Dur::ZERO);
        self.wake = Time::NEVER;
    }
}

#[cfg(test)]
mod tests;
