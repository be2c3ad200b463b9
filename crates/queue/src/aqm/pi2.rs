//! `pi2`: one queue under a linear PI controller whose output is squared for classic traffic and
//! multiplied for scalable traffic. De Schepper et al., CoNEXT 2016; arithmetic of Linux 6.17
//! `sch_dualpi2`.

use super::dualpi2::controller::{Controller, Law, MAX_PROB, Verdict};
use super::judged_fifo::{Judge, JudgedFifo, JudgedQueue};
use super::pie::Counters;
use super::update_timer::UpdateTimer;
use super::{Discipline, Entry, Env, Kernel, Log, PSCHED_MTU, Qdisc, Reason, Stats, entry};
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

/// The controller.
#[derive(Debug)]
struct Pi2 {
    controller: Controller,
    rng: Rng,
    timer: UpdateTimer,
    counters: Counters,
    ecn_mark: u64,
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(JudgedFifo::<Pi2>::new(*self, env))
    }
}

impl Judge for Pi2 {
    type Params = Params;
    const ENTRY: &'static Entry = &ENTRY;

    fn new(params: &Params, env: Env) -> Self {
        let tupdate = params.law.tupdate;
        Self {
            controller: Controller::default(),
            rng: env.rng,
            timer: UpdateTimer::new(env.now + tupdate, tupdate),
            counters: Counters::default(),
            ecn_mark: 0,
        }
    }

    #[inline]
    fn arrive(
        &mut self,
        fifo: &JudgedQueue<Params>,
        now: Time,
        _pkt: &mut Packet,
        _log: &mut Log,
    ) -> Option<Reason> {
        let waiting = fifo.queue.waiting().packets;
        if waiting >= fifo.params.limit {
            self.counters.overlimit += 1;
            return Some(Reason::TailLimit);
        }
        self.timer.arm(now);
        self.counters.admitted(waiting);
        None
    }

    // De Schepper et al. 2016: the square for Classic traffic, k times the output for scalable.
    #[inline]
    fn judge(
        &mut self,
        fifo: &mut JudgedQueue<Params>,
        _now: Time,
        pkt: &mut Packet,
        log: &mut Log,
    ) -> Option<Reason> {
        if fifo.queue.backlog.bytes < GUARD {
            return None;
        }
        let Params { ecn, law, .. } = &fifo.params;
        let is_scalable = *ecn && pkt.tos & 1 != 0;
        match self.controller.judge(law, is_scalable, true, &mut self.rng) {
            Verdict::Pass => None,
            Verdict::Mark(reason) if *ecn && log.set_ce(pkt, reason) => {
                self.ecn_mark += 1;
                None
            }
            Verdict::Mark(reason) | Verdict::Drop(reason) => {
                self.counters.dropped += 1;
                Some(reason)
            }
        }
    }

    #[inline]
    fn wake(&self) -> Time {
        self.timer.wake()
    }

    // De Schepper et al. 2016: the step takes the delay of the oldest packet.
    fn on_wake(&mut self, fifo: &JudgedQueue<Params>, now: Time) {
        self.controller.update(&fifo.params.law, fifo.queue.age(now), MAX_PROB);
        let Controller { prob, last_delay } = self.controller;
        self.timer.fired(now, fifo.is_empty() && prob == 0 && last_delay == Dur::ZERO);
    }

    fn change(&mut self, _from: &Params, to: &Params, _now: Time) {
        self.timer.set_period(to.law.tupdate);
    }

    fn stats(&self, _params: &Params, out: &mut Stats) {
        out.put("prob", self.controller.probability());
        out.put("delay", self.controller.last_delay.as_micros() as f64);
        self.counters.stats(out);
        out.put("ecn_mark", self.ecn_mark as f64);
    }

    fn probe(&self, fifo: &JudgedQueue<Params>, out: &mut Probe<'_>) {
        self.controller.probe(&fifo.params.law, out);
        out.put("qdelay", "ms", self.controller.last_delay.as_millis_f64());
    }

    fn reset(&mut self) {
        self.controller = Controller::default();
        self.timer.sleep();
    }
}

#[cfg(test)]
mod tests;
