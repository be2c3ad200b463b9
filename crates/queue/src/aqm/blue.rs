//! `blue`: one signal probability, raised by overflow and lowered by idleness. Feng, Kandlur, Saha
//! and Shin 1999, 2002.

use std::collections::VecDeque;

use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, entry, spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::{decimal, maybe, packets};
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "blue",
    "One signal probability, raised by overflow and lowered by idleness",
    "Feng, Kandlur, Saha and Shin 1999, 2002",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `blue`.
    #[derive(Copy, PartialEq)]
    struct Params {
        /// Packets that may wait.
        limit: u32 = 1000 => packets(1..=u32::MAX.into());
        /// Packets that wait when an arrival raises the probability.
        threshold: Option<u32> = None => maybe(packets(0..=u32::MAX.into())), default "limit";
        /// Step up on overflow.
        increment: f64 = 0.02 => decimal("PROBABILITY", 0.0..=1.0);
        /// Step down on idleness.
        decrement: f64 = 0.002 => decimal("PROBABILITY", 0.0..=1.0);
        /// Time that must have passed since the last step.
        freeze: Dur = Dur::from_millis(100);
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: bool = true, name "ecn|noecn";
    }
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(Blue::new(*self, env))
    }
}

/// A FIFO under the law.
#[derive(Debug)]
pub struct Blue {
    params: Params,
    /// Probability, Q0.32.
    prob: u32,
    last_update: Option<Time>,
    queue: VecDeque<Packet>,
    backlog: Backlog,
    rng: Rng,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    marked: u64,
    early: u64,
    overlimit: u64,
}

impl Blue {
    fn new(params: Params, env: Env) -> Self {
        Self {
            params,
            prob: 0,
            last_update: None,
            queue: VecDeque::new(),
            backlog: Backlog::default(),
            rng: env.rng,
            counters: Counters::default(),
        }
    }

    /// A step up or down, unless the last one is too recent.
    /// Feng et al. 1999: `freeze_time` separates steps in either direction, so that one shows
    /// before the next.
    #[inline]
    fn step(&mut self, now: Time, up: bool) {
        if self.last_update.is_some_and(|last| now.since(last) <= self.params.freeze) {
            return;
        }
        self.last_update = Some(now);
        let step = |share: f64| (share * f64::from(u32::MAX)) as u32;
        self.prob = if up {
            self.prob.saturating_add(step(self.params.increment))
        } else {
            self.prob.saturating_sub(step(self.params.decrement))
        };
    }
}

impl Qdisc for Blue {
    // Feng et al. 1999: overflow, or a queue above L, raises the probability, and an idle link
    // lowers it.
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        // A shaper does not ask an empty queue for packets, so an arrival also shows idleness.
        if self.backlog.packets == 0 && self.prob > 0 {
            self.step(now, false);
        }
        let full = self.backlog.packets >= self.params.limit;
        if full || self.params.threshold.is_some_and(|most| self.backlog.packets >= most) {
            self.step(now, true);
        }
        if full {
            self.counters.overlimit += 1;
            log.drop(&pkt, Reason::TailLimit);
            return;
        }
        if self.prob > 0 && self.rng.u32() < self.prob {
            if !(self.params.ecn && log.set_ce(&mut pkt, Reason::Blue)) {
                self.counters.early += 1;
                log.drop(&pkt, Reason::Blue);
                return;
            }
            self.counters.marked += 1;
        }
        pkt.stamp = now;
        self.backlog.add(&pkt);
        self.queue.push_back(pkt);
    }

    // Feng et al. 1999: an idle link lowers the probability.
    #[inline]
    fn dequeue(&mut self, now: Time, _log: &mut Log) -> Option<Packet> {
        let Some(pkt) = self.queue.pop_front() else {
            if self.prob > 0 {
                self.step(now, false);
            }
            return None;
        };
        self.backlog.remove(&pkt);
        Some(pkt)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        self.params = to.params().copied().unwrap_or(self.params);
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        out.put("prob", f64::from(self.prob) / f64::from(u32::MAX));
        out.put("marked", self.counters.marked as f64);
        out.put("early", self.counters.early as f64);
        out.put("overlimit", self.counters.overlimit as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("prob", "1", f64::from(self.prob) / f64::from(u32::MAX));
    }

    fn purge(&mut self, log: &mut Log) {
        for pkt in self.queue.drain(..) {
            log.drop(&pkt, Reason::Purge);
        }
        self.backlog = Backlog::default();
        (self.prob, self.last_update) = (0, None);
    }
}

#[cfg(test)]
mod tests;
