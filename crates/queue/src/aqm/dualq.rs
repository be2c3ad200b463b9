//! `dualq`: the coupled dual queue as RFC 9332 writes it, DualPI2 of Appendix A with its overload
//! rules, in floating point. Linux's form of it is `dualpi2`.

use super::dual_queue::{DualQueue, Link, Scheduler, Side};
use super::recur::Signal;
use super::update_timer::UpdateTimer;
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, entry, spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::{decimal, maybe, number, packets, time_from};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Rate, Time};
use sojourn_core::{choices, parameters};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "dualq",
    "L4S: the dual queue with coupled PI2 of RFC 9332's pseudocode",
    "RFC 9332 Appendix A",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `dualq`: RFC 9332 A.1, `dualpi2_params_init`.
    #[derive(Copy, PartialEq)]
    struct Params {
        /// Delay aimed at.
        target: Dur = Dur::from_millis(15);
        /// Longest usual round-trip time, from which period and gains follow.
        max_rtt: Dur = Dur::from_millis(100) => time_from(Dur::from_micros(1));
        /// Period of the controller.
        tupdate: Option<Dur> = None => maybe(time_from(Dur::from_micros(1))),
            default "min(target, max_rtt / 3), at least 1ms";
        /// Integral gain per update: 0.15 with the other defaults.
        alpha: Option<f64> = None => maybe(decimal("HZ", 0.0..=1e6)),
            default "0.1 * tupdate / max_rtt^2";
        /// Proportional gain per update: 3 with the other defaults.
        beta: Option<f64> = None => maybe(decimal("HZ", 0.0..=1e6)), default "0.3 / max_rtt";
        /// k, the ratio of the coupled L4S probability to the controller's, 1 to 255.
        coupling_factor: u8 = 2 => number(1..=255);
        /// The L4S queue's own law: a ramp from min_th, or a step above step_thresh.
        l_aqm: LaqmKind = LaqmKind::Ramp;
        /// Sojourn where the ramp starts.
        min_th: Dur = Dur::from_micros(800);
        /// Length of the ramp.
        range: Dur = Dur::from_micros(400);
        /// Sojourn above which the step marks.
        step_thresh: Dur = Dur::from_millis(1);
        /// Packets in the L4S queue, the leaving one included, that its own law spares.
        th_len: u32 = 1 => packets(0..=u32::MAX.into());
        /// Coupled probability from which the overload rules hold.
        p_lmax: f64 = 1.0 => decimal("FRACTION", 0.0..=1.0);
        /// Classic probability from which ECN-capable packets are dropped too.
        p_cmax: Option<f64> = None => maybe(decimal("FRACTION", 0.0..=1.0)),
            default "1 / coupling_factor^2";
    }
    groups {
        link: Link = Link::default();
        signal: Signal = Signal::default();
        scheduler: Scheduler = Scheduler::default();
    }
}

choices! {
    enum LaqmKind {
        Ramp = "ramp",
        Step = "step",
    }
}

impl Params {
    /// RFC 9332 A.1, with a floor, since a target of zero would ask for endless updates.
    fn tupdate(&self) -> Dur {
        let derived = self.target.min(self.max_rtt / 3).max(Dur::from_millis(1));
        self.tupdate.unwrap_or(derived)
    }

    /// In Hz.
    fn alpha(&self) -> f64 {
        let rtt = self.max_rtt.as_secs_f64();
        self.alpha.unwrap_or_else(|| 0.1 * self.tupdate().as_secs_f64() / (rtt * rtt))
    }

    /// In Hz.
    fn beta(&self) -> f64 {
        self.beta.unwrap_or_else(|| 0.3 / self.max_rtt.as_secs_f64())
    }

    fn p_cmax(&self) -> f64 {
        let k = f64::from(self.coupling_factor);
        self.p_cmax.unwrap_or(1.0 / (k * k))
    }
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(DualQ::new(*self, env))
    }

    fn capacity(&self) -> Option<Rate> {
        self.link.rate
    }
}

/// The coupled queues.
#[derive(Debug)]
pub struct DualQ {
    params: Params,
    queue: DualQueue,
    /// The controller's output p', from 0 to 1.
    prob: f64,
    last_delay: Dur,
    /// `recur`'s counter of the L4S and of the Classic queue.
    counts: [f64; 2],
    rng: Rng,
    timer: UpdateTimer,
    /// The latest instant seen, for statistics.
    clock: Time,
}

/// What the AQM does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Mark(Reason),
    Drop(Reason),
}

impl DualQ {
    fn new(params: Params, env: Env) -> Self {
        let period = params.tupdate();
        Self {
            params,
            queue: DualQueue::new(&params.scheduler),
            prob: 0.0,
            last_delay: Dur::ZERO,
            counts: [0.0; 2],
            rng: env.rng,
            timer: UpdateTimer::new(env.now + period, period),
            clock: env.now,
        }
    }

    /// p_C, the Classic queue's probability. RFC 9332 2.1, A.1.
    fn classic(&self) -> f64 {
        self.prob * self.prob
    }

    /// p_CL, which the controller asks of the L4S queue; above 1 in overload. RFC 9332 2.1, A.1.
    fn coupled(&self) -> f64 {
        self.prob * f64::from(self.params.coupling_factor)
    }

    /// The delays of the Classic and of the L4S queue's head.
    fn delays(&self, now: Time) -> [Dur; 2] {
        [Side::Classic, Side::L4s].map(|side| self.queue.age(side, now))
    }

    /// RFC 9332 A.1: `dualpi2_update`. The gains are per update.
    fn update(&mut self, now: Time) {
        let [classic, l4s] = self.delays(now);
        // The longer delay, so that an L4S queue beyond its own control drives the controller, too.
        let delay = classic.max(l4s);
        let seconds = Dur::as_secs_f64;
        let error = seconds(delay) - seconds(self.params.target);
        let growth = seconds(delay) - seconds(self.last_delay);
        let step = self.params.alpha() * error + self.params.beta() * growth;
        self.prob = (self.prob + step).clamp(0.0, 1.0);
        self.last_delay = delay;
    }

    /// p'_L: the L4S queue's own law for a packet that has waited `delay`.
    /// RFC 9332 A.1 (`laqm`); a step as in Linux.
    #[inline]
    fn laqm(&self, delay: Dur) -> f64 {
        let p = &self.params;
        match p.l_aqm {
            LaqmKind::Step => f64::from(u8::from(delay > p.step_thresh)),
            LaqmKind::Ramp if delay <= p.min_th => 0.0,
            LaqmKind::Ramp if delay >= p.min_th + p.range => 1.0,
            LaqmKind::Ramp => (delay.0 - p.min_th.0) as f64 / p.range.0 as f64,
        }
    }

    #[inline]
    fn turn(&mut self, side: Side, probability: f64) -> bool {
        self.params.signal.turn(&mut self.counts[side as usize], probability, &mut self.rng)
    }

    /// RFC 9332 A.2: the L4S branch of `dualpi2_dequeue`, with its overload rules.
    #[inline]
    fn judge_l4s(&mut self, now: Time, pkt: &Packet) -> Verdict {
        let coupled = self.coupled();
        if coupled < self.params.p_lmax {
            // "Suppress marking 1 pkt queue": the packet itself counts.
            let alone = self.queue.packets(Side::L4s) < self.params.th_len as usize;
            let native = if alone { 0.0 } else { self.laqm(now.since(pkt.stamp)) };
            if self.turn(Side::L4s, native.max(coupled)) {
                let reason = if native > coupled { Reason::Step } else { Reason::Coupled };
                return Verdict::Mark(reason);
            }
            return Verdict::Pass;
        }
        // Overload saturation: the drop and the mark advance one counter, as in the pseudocode.
        if self.turn(Side::L4s, self.classic()) {
            Verdict::Drop(Reason::Overload)
        } else if self.turn(Side::L4s, coupled.min(1.0)) {
            Verdict::Mark(Reason::Overload)
        } else {
            Verdict::Pass
        }
    }

    /// RFC 9332 A.2: the Classic branch of `dualpi2_dequeue`, with its overload rules.
    #[inline]
    fn judge_classic(&mut self, pkt: &Packet) -> Verdict {
        let probability = self.classic();
        if !self.turn(Side::Classic, probability) {
            Verdict::Pass
        } else if probability >= self.params.p_cmax() {
            Verdict::Drop(Reason::Overload)
        } else if pkt.ecn().is_capable() {
            Verdict::Mark(Reason::Pi)
        } else {
            Verdict::Drop(Reason::Pi)
        }
    }
}

impl Qdisc for DualQ {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        self.clock = now;
        if self.queue.enqueue(now, pkt, self.params.link.limit(), log) {
            self.timer.arm(now);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        self.clock = now;
        loop {
            let (side, mut pkt) = self.queue.pop(now, &self.params.scheduler)?;
            let verdict = match side {
                Side::L4s => self.judge_l4s(now, &pkt),
                Side::Classic => self.judge_classic(&pkt),
            };
            let reason = match verdict {
                Verdict::Pass => None,
                Verdict::Mark(reason) => {
                    self.queue.marked(reason);
                    Some(reason)
                }
                Verdict::Drop(reason) => {
                    log.drop(&pkt, reason);
                    continue;
                }
            };
            // Only ECN-capable packets get the verdict to be marked.
            let marked = reason.is_none_or(|reason| log.set_ce(&mut pkt, reason));
            debug_assert!(marked);
            self.queue.sent(side, &pkt, &self.params.scheduler);
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
        let empty = self.queue.backlog().packets == 0;
        self.timer.fired(now, empty && self.prob == 0.0 && self.last_delay == Dur::ZERO);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        if let Some(params) = to.params::<Params>() {
            self.queue.reschedule(&self.params.scheduler, &params.scheduler);
            self.params = *params;
            self.timer.set_period(params.tupdate());
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        out.put("overlimits", self.queue.overlimits as f64);
        out.put("prob", self.prob);
        self.queue.stats(self.delays(self.clock), self.params.link.limit(), out);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("prob", "1", self.prob);
        out.put("prob_c", "1", self.classic());
        out.put("prob_l", "1", self.coupled().min(1.0));
        self.queue.probe(self.delays(self.clock), out);
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
        self.queue.reset_credit(&self.params.scheduler);
        (self.prob, self.last_delay, self.counts) = (0.0, Dur::ZERO, [0.0; 2]);
        self.timer.sleep();
    }
}

#[cfg(test)]
mod tests;
