//! `pi2`: one queue under a linear PI controller whose output is squared for classic traffic and
//! multiplied for scalable traffic. De Schepper et al., CoNEXT 2016; arithmetic of Linux 6.17
//! `sch_dualpi2`.

use std::collections::VecDeque;

use super::dualpi2::controller::{Controller, Law, MAX_PROB, Verdict};
use super::update_timer::UpdateTimer;
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, PSCHED_MTU, Qdisc, Reason, Spec, Stats, entry,
    spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::packets;
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "pi2",
    "One queue for classic and scalable traffic: a squared and a linear PI output",
    "De Schepper, Bondarenko, Tsang and Briscoe 2016",
    Kernel::Tree("olgabo/dualpi2"),
);

parameters! {
    /// Parameters of `pi2`.
    #[derive(Copy, PartialEq, Eq)]
    struct Params {
        /// Packets that may wait.
        limit: u32 = 1000 => packets(1..=u32::MAX.into());
        /// Mark ECN-capable packets, or drop all by the squared probability.
        ecn: bool = true, name "ecn|noecn";
    }
    groups {
        law: Law = Law {
            target: Dur::from_millis(20),
            tupdate: Dur::from_millis(32),
            alpha: 80,
            beta: 800,
            ..Law::default()
        };
    }
}

/// Bytes below which nothing is signalled.
const GUARD: u64 = 2 * PSCHED_MTU as u64;

/// A FIFO under the controller.
#[derive(Debug)]
pub struct Pi2 {
    params: Params,
    controller: Controller,
    queue: VecDeque<Packet>,
    backlog: Backlog,
    rng: Rng,
    timer: UpdateTimer,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    packets_in: u64,
    overlimit: u64,
    dropped: u64,
    max_queue: u32,
    ecn_mark: u64,
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(Pi2::new(*self, env))
    }
}

impl Pi2 {
    fn new(params: Params, env: Env) -> Self {
        let tupdate = params.law.tupdate;
        Self {
            params,
            controller: Controller::default(),
            queue: VecDeque::new(),
            backlog: Backlog::default(),
            rng: env.rng,
            timer: UpdateTimer::new(env.now + tupdate, tupdate),
            counters: Counters::default(),
        }
    }

    /// The controller's step with this delay of the oldest packet. De Schepper et al. 2016.
    fn update(&mut self, delay: Dur) {
        self.controller.update(&self.params.law, delay, MAX_PROB);
    }

    /// Marks `pkt` if it is its turn; gives the reason if it is to be dropped instead.
    /// De Schepper et al. 2016: the square for Classic traffic, k times the output for scalable.
    #[inline]
    fn signal(&mut self, pkt: &mut Packet, log: &mut Log) -> Option<Reason> {
        if self.backlog.bytes < GUARD {
            return None;
        }
        let Params { ecn, law, .. } = &self.params;
        let is_scalable = *ecn && pkt.tos & 1 != 0;
        match self.controller.judge(law, is_scalable, true, &mut self.rng) {
            Verdict::Pass => None,
            Verdict::Mark(reason) if *ecn && log.set_ce(pkt, reason) => {
                self.counters.ecn_mark += 1;
                None
            }
            Verdict::Mark(reason) | Verdict::Drop(reason) => Some(reason),
        }
    }
}

impl Qdisc for Pi2 {
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        if self.backlog.packets >= self.params.limit {
            self.counters.overlimit += 1;
            log.drop(&pkt, Reason::TailLimit);
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
    fn dequeue(&mut self, _now: Time, log: &mut Log) -> Option<Packet> {
        loop {
            let mut pkt = self.queue.pop_front()?;
            self.backlog.remove(&pkt);
            let Some(reason) = self.signal(&mut pkt, log) else { return Some(pkt) };
            self.counters.dropped += 1;
            log.drop(&pkt, reason);
        }
    }

    #[inline]
    fn wake(&self) -> Time {
        self.timer.wake()
    }

    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        if self.timer.wake() > now {
            return;
        }
        self.update(self.queue.front().map_or(Dur::ZERO, |p| now.since(p.stamp)));
        let Controller { prob, last_delay } = self.controller;
        self.timer.fired(now, self.backlog.packets == 0 && prob == 0 && last_delay == Dur::ZERO);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        if let Some(params) = to.params::<Params>() {
            self.params = *params;
            self.timer.set_period(params.law.tupdate);
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        out.put("prob", self.controller.probability());
        out.put("delay", self.controller.last_delay.as_micros() as f64);
        out.put("pkts_in", self.counters.packets_in as f64);
        out.put("overlimit", self.counters.overlimit as f64);
        out.put("dropped", self.counters.dropped as f64);
        out.put("maxq", self.counters.max_queue);
        out.put("ecn_mark", self.counters.ecn_mark as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        self.controller.probe(&self.params.law, out);
        out.put("qdelay", "ms", self.controller.last_delay.as_millis_f64());
    }

    fn purge(&mut self, log: &mut Log) {
        for pkt in self.queue.drain(..) {
            log.drop(&pkt, Reason::Purge);
        }
        self.backlog = Backlog::default();
        self.controller = Controller::default();
        self.timer.sleep();
    }
}

#[cfg(test)]
mod tests;
