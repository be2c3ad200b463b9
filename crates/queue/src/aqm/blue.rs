//! `blue`: one signal probability, raised by overflow and lowered by idleness. Feng, Kandlur, Saha
//! and Shin 1999, 2002.

use std::collections::VecDeque;

use super::{Backlog, Env, Kernel, Log, OldEntry, Qdisc, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "blue",
    summary: "One signal probability, raised by overflow and lowered by idleness",
    reference: "Feng, Kandlur, Saha and Shin 1999, 2002",
    kernel: Kernel::Nowhere,
    params: &[
        Param { name: "limit", value: "PACKETS", default: "1000p", doc: "Packets that may wait." },
        Param {
            name: "threshold",
            value: "PACKETS",
            default: "limit",
            doc: "Packets that wait when an arrival raises the probability.",
        },
        Param {
            name: "increment",
            value: "PROBABILITY",
            default: "0.02",
            doc: "Step up on overflow.",
        },
        Param {
            name: "decrement",
            value: "PROBABILITY",
            default: "0.002",
            doc: "Step down on idleness.",
        },
        Param {
            name: "freeze",
            value: "TIME",
            default: "100ms",
            doc: "Time that must have passed since the last step.",
        },
        Param {
            name: "ecn|noecn",
            value: "",
            default: "ecn",
            doc: "Whether ECN-capable packets are marked instead of dropped.",
        },
    ],
    build: |args, env| Ok(Box::new(Blue::parse(args, env)?)),
};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Params {
    limit: u32,
    threshold: Option<u32>,
    increment: f64,
    decrement: f64,
    freeze: Dur,
    ecn: bool,
}

impl Params {
    fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        while let Some(key) = args.key() {
            match key {
                "limit" => self.limit = args.number(1..=u64::from(u32::MAX))? as u32,
                "threshold" => {
                    self.threshold = Some(args.number(0..=u64::from(u32::MAX))? as u32);
                }
                "increment" => self.increment = args.decimal(0.0..=1.0)?,
                "decrement" => self.decrement = args.decimal(0.0..=1.0)?,
                "freeze" => self.freeze = args.time()?,
                "ecn" => self.ecn = true,
                "noecn" => self.ecn = false,
                _ => return Err(args.unknown()),
            }
        }
        Ok(self)
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
    fn parse(args: &mut Args<'_>, env: Env) -> Result<Self, GrammarError> {
        let params = Params {
            limit: 1000,
            threshold: None,
            increment: 0.02,
            decrement: 0.002,
            freeze: Dur::from_millis(100),
            ecn: true,
        }
        .read(args)?;
        Ok(Self {
            params,
            prob: 0,
            last_update: None,
            queue: VecDeque::new(),
            backlog: Backlog::default(),
            rng: env.rng,
            counters: Counters::default(),
        })
    }

    /// A step up or down, unless the last one is too recent.
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

    fn old_change(
        &mut self,
        _now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        self.params = self.params.read(args)?;
        Ok(())
    }

    fn describe(&self) -> String {
        let p = &self.params;
        let threshold = p.threshold.map_or(String::new(), |n| format!(" threshold {n}p"));
        format!(
            "blue limit {}p{threshold} increment {} decrement {} freeze {} {}",
            p.limit,
            p.increment,
            p.decrement,
            p.freeze,
            if p.ecn { "ecn" } else { "noecn" }
        )
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
