//! `pie`: proportional integral controller enhanced. RFC 8033; Linux 6.12 `sch_pie` (`version
//! mainline`) and Linux 5.1 to 5.4 (`version 5.4`).

use std::collections::VecDeque;

use super::jiffies::Jiffies;
use super::update_timer::{UpdateTimer, Wheel};
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, entry, spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::packets;
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::Time;

pub(super) mod law;

use law::{Control, Law, MAX_PROB};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "pie",
    "Holds the delay at a target by random drops or marks on arrival",
    "RFC 8033; Linux 6.12 sch_pie",
    Kernel::Mainline("3.14"),
);

parameters! {
    /// Parameters of `pie`.
    #[derive(Copy, PartialEq, Eq)]
    struct Params {
        /// Packets that may wait.
        limit: u32 = 1000 => packets(1..=u32::MAX.into());
    }
    groups { law: Law = Law::default(); }
}

/// A FIFO under one controller.
#[derive(Debug)]
pub struct Pie {
    params: Params,
    control: Control,
    queue: VecDeque<Packet>,
    backlog: Backlog,
    rng: Rng,
    timer: UpdateTimer<Wheel>,
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

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(Pie::new(*self, env))
    }
}

impl Pie {
    fn new(params: Params, env: Env) -> Self {
        let jiffies = Jiffies::new(env.hz);
        let first = jiffies.expiry(env.now, jiffies.half_second());
        Self {
            params,
            control: Control::default(),
            queue: VecDeque::new(),
            backlog: Backlog::default(),
            rng: env.rng,
            timer: UpdateTimer::new(first, Wheel(jiffies, params.law.tupdate)),
            counters: Counters::default(),
        }
    }
}

impl Qdisc for Pie {
    // RFC 8033 4.1 and, for ECN, 5.1; Linux 6.12 `pie_qdisc_enqueue`.
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        let mut reason = Reason::TailLimit;
        let admitted = if self.backlog.packets >= self.params.limit {
            self.counters.overlimit += 1;
            false
        } else if !self.control.drop_early(
            &self.params.law,
            self.backlog.bytes,
            pkt.len,
            &mut self.rng,
        ) {
            true
        } else {
            reason = Reason::Pi;
            let marked = self.params.law.ecn
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
        self.timer.arm(now);
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
        self.control.departed(&self.params.law, now, &pkt, self.backlog.bytes);
        Some(pkt)
    }

    #[inline]
    fn wake(&self) -> Time {
        self.timer.wake()
    }

    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        if self.timer.wake() > now {
            return;
        }
        self.control.update(&self.params.law, self.backlog.bytes);
        self.timer.fired(now, self.backlog.packets == 0 && self.control.rests());
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        if let Some(params) = to.params::<Params>() {
            self.params = *params;
            self.timer.set_tupdate(params.law.tupdate);
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        out.put("prob", self.control.probability());
        out.put("delay", self.control.delay().as_micros() as f64);
        if self.params.law.estimates {
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
        self.timer.sleep();
    }
}

#[cfg(test)]
mod tests;
