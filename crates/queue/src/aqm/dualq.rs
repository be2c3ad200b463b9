//! `dualq`: the coupled dual queue as RFC 9332 writes it, DualPI2 of Appendix A with its overload
//! rules, in floating point. Linux's form of it is `dualpi2`.

use super::dual_queue::{DualQueue, Side};
use super::update_timer::UpdateTimer;
use super::{Backlog, Env, Kernel, Log, OldEntry, Qdisc, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

mod params;

use params::{LaqmKind, Params};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "dualq",
    summary: "L4S: the dual queue with coupled PI2 of RFC 9332's pseudocode",
    reference: "RFC 9332 Appendix A",
    kernel: Kernel::Nowhere,
    params: params::PARAMS,
    build: |args, env| Ok(Box::new(DualQ::parse(args, env)?)),
};

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
    fn parse(args: &mut Args<'_>, env: Env) -> Result<Self, GrammarError> {
        let params = Params::default().read(args)?;
        let mut queue = DualQueue::new(&env);
        queue.reset_credit(&params.scheduler);
        Ok(Self {
            params,
            queue,
            prob: 0.0,
            last_delay: Dur::ZERO,
            counts: [0.0; 2],
            rng: env.rng,
            timer: UpdateTimer::new(env.now + params.tupdate(), params.tupdate()),
            clock: env.now,
        })
    }

    /// p_C, the Classic queue's probability.
    fn classic(&self) -> f64 {
        self.prob * self.prob
    }

    /// p_CL, which the controller asks of the L4S queue; above 1 in overload.
    fn coupled(&self) -> f64 {
        self.prob * self.params.coupling
    }

    /// The delays of the Classic and of the L4S queue's head.
    fn delays(&self, now: Time) -> [Dur; 2] {
        [Side::Classic, Side::L4s].map(|side| self.queue.age(side, now))
    }

    /// RFC 9332 A.1: `dualpi2_update`. The gains are per update.
    fn update(&mut self, now: Time) {
        let [classic, l4s] = self.delays(now);
        let delay = classic.max(l4s);
        let seconds = Dur::as_secs_f64;
        let error = seconds(delay) - seconds(self.params.target);
        let growth = seconds(delay) - seconds(self.last_delay);
        let step = self.params.alpha() * error + self.params.beta() * growth;
        self.prob = (self.prob + step).clamp(0.0, 1.0);
        self.last_delay = delay;
    }

    /// p'_L: the L4S queue's own law for a packet that has waited `delay`.
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

    /// RFC 9332 A.1: the L4S branch of `dualpi2_dequeue`.
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

    /// RFC 9332 A.1: the Classic branch of `dualpi2_dequeue`.
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
        if self.queue.enqueue(now, pkt, self.params.room.limit(), log) {
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
            // Only ECN-capable packets are told to be marked.
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

    fn old_change(
        &mut self,
        _now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        let params = self.params.read(args)?;
        self.queue.reschedule(&self.params.scheduler, &params.scheduler);
        self.params = params;
        self.timer.set_period(params.tupdate());
        Ok(())
    }

    fn describe(&self) -> String {
        format!("dualq{}", self.params.describe())
    }

    fn stats(&self, out: &mut Stats) {
        out.put("overlimits", self.queue.overlimits as f64);
        out.put("prob", self.prob);
        self.queue.stats(self.delays(self.clock), self.params.room.limit(), out);
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
