//! `pie`: proportional integral controller enhanced. RFC 8033; Linux 6.12 `sch_pie` (`version
//! mainline`) and Linux 5.1 to 5.4 (`version 5.4`).

use std::collections::VecDeque;

use super::jiffies::Jiffies;
use super::{Backlog, Env, Kernel, Log, OldEntry, Qdisc, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::Time;

pub(super) mod law;

use law::{Control, Law, MAX_PROB};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "pie",
    summary: "Holds the delay at a target by random drops or marks on arrival",
    reference: "RFC 8033; Linux 6.12 sch_pie",
    kernel: Kernel::Mainline("3.14"),
    params: &[
        Param { name: "limit", value: "PACKETS", default: "1000p", doc: "Packets that may wait." },
        law::TARGET,
        law::TUPDATE,
        law::ALPHA,
        law::BETA,
        law::ECN,
        law::BYTEMODE,
        law::ESTIMATOR,
        law::VERSION,
    ],
    build: |args, env| Ok(Box::new(Pie::parse(args, env)?)),
};

/// A FIFO under one controller.
#[derive(Debug)]
pub struct Pie {
    limit: u32,
    law: Law,
    control: Control,
    queue: VecDeque<Packet>,
    backlog: Backlog,
    rng: Rng,
    jiffies: Jiffies,
    next_update: Time,
    /// `next_update`, or never while an update could change nothing.
    wake: Time,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    packets_in: u64,
    dropped: u64,
    overlimit: u64,
    max_queue: u32,
    ecn_mark: u64,
}

impl Pie {
    fn parse(args: &mut Args<'_>, env: Env) -> Result<Self, GrammarError> {
        let jiffies = Jiffies::new(env.hz);
        let mut pie = Self {
            limit: 1000,
            law: Law::new(env.psched_mtu),
            control: Control::default(),
            queue: VecDeque::new(),
            backlog: Backlog::default(),
            rng: env.rng,
            jiffies,
            next_update: jiffies.expiry(env.now, jiffies.half_second()),
            wake: Time::NEVER,
            counters: Counters::default(),
        };
        pie.read(args)?;
        Ok(pie)
    }

    fn read(&mut self, args: &mut Args<'_>) -> Result<(), GrammarError> {
        let (mut limit, mut law) = (self.limit, self.law);
        while let Some(key) = args.key() {
            if key == "limit" {
                limit = args.number(1..=u64::from(u32::MAX))? as u32;
            } else if !law.read(key, args)? {
                return Err(args.unknown());
            }
        }
        law.check(args)?;
        (self.limit, self.law) = (limit, law);
        Ok(())
    }

    /// The timer's next instant after `now`.
    #[inline]
    fn skip_to_after(&mut self, now: Time) {
        if self.next_update <= now {
            let next = self.jiffies.expiry(self.next_update, self.jiffies.of(self.law.tupdate));
            let period = next.0 - self.next_update.0;
            self.next_update.0 += (now.since(self.next_update).0 / period + 1) * period;
        }
    }
}

impl Qdisc for Pie {
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        let mut reason = Reason::TailLimit;
        let admitted = if self.backlog.packets >= self.limit {
            self.counters.overlimit += 1;
            false
        } else if !self.control.drop_early(&self.law, self.backlog.bytes, pkt.len, &mut self.rng) {
            true
        } else {
            reason = Reason::Pi;
            let marked = self.law.ecn
                && self.control.prob <= MAX_PROB / 10
                && log.set_ce(&mut pkt, Reason::Pi);
            self.counters.ecn_mark += u64::from(marked);
            marked
        };
        if !admitted {
            self.counters.dropped += 1;
            self.control.dropped();
            log.drop(&pkt, reason);
            return;
        }
        if self.wake == Time::NEVER {
            // An update that coincides with the first arrival finds no delay either.
            self.skip_to_after(now);
            self.wake = self.next_update;
        }
        self.counters.packets_in += 1;
        self.counters.max_queue = self.counters.max_queue.max(self.backlog.packets);
        pkt.stamp = now;
        self.backlog.add(&pkt);
        self.queue.push_back(pkt);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _log: &mut Log) -> Option<Packet> {
        let pkt = self.queue.pop_front()?;
        self.backlog.remove(&pkt);
        self.control.departed(&self.law, now, &pkt, self.backlog.bytes);
        Some(pkt)
    }

    #[inline]
    fn wake(&self) -> Time {
        self.wake
    }

    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        if self.wake > now {
            return;
        }
        self.control.update(&self.law, self.backlog.bytes);
        self.skip_to_after(now);
        let rests = self.backlog.packets == 0 && self.control.rests();
        self.wake = if rests { Time::NEVER } else { self.next_update };
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
        self.read(args)
    }

    fn describe(&self) -> String {
        format!("pie limit {}p {}", self.limit, self.law.describe())
    }

    fn stats(&self, out: &mut Stats) {
        out.put("prob", self.control.probability());
        out.put("delay", self.control.delay().as_micros() as f64);
        if self.law.estimates() {
            out.put("avg_dq_rate", self.control.rate());
        }
        out.put("pkts_in", self.counters.packets_in as f64);
        out.put("overlimit", self.counters.overlimit as f64);
        out.put("dropped", self.counters.dropped as f64);
        out.put("maxq", self.counters.max_queue);
        out.put("ecn_mark", self.counters.ecn_mark as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("prob", "1", self.control.probability());
        out.put("qdelay", "ms", self.control.delay().as_millis_f64());
    }

    fn purge(&mut self, log: &mut Log) {
        for pkt in self.queue.drain(..) {
            log.drop(&pkt, Reason::Purge);
        }
        self.backlog = Backlog::default();
        self.control = Control::default();
        self.wake = Time::NEVER;
    }
}

#[cfg(test)]
mod tests;
