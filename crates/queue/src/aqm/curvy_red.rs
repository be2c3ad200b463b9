//! `curvy_red`: the coupled dual queue with Curvy RED, RFC 9332 Appendix B. The Classic queue's
//! average delay gives a probability whose square drops and whose double marks L4S.

use super::dual_queue::{DualQueue, Link, Order, Scheduler, Side};
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, entry, spec,
};
use sojourn_core::grammar::forms::{custom, number};
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::math;
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Rate, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "curvy_red",
    "L4S: a dual queue coupled by the square root of a RED law on averaged delay",
    "RFC 9332 Appendix B",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `curvy_red`.
    #[derive(Copy, PartialEq)]
    struct Params {
        /// Average Classic delay below which nothing is signalled (as the RFC prints it).
        min_th: Dur = Dur::from_millis(500);
        /// The average moves by 2^-g_c of the difference at each Classic departure, 0 to 30.
        g_c: i32 = 5 => number(0..=30);
        /// The Classic ramp is 2^s_c seconds long, -20 to 6.
        s_c: i32 = -1 => custom("NUMBER", read_scale, i32::to_string);
        /// k': the L4S ramp is 2^k' times steeper, 0 to 8.
        coupling_exponent: i32 = 1 => number(0..=8);
        /// U: the largest of U draws decides for L4S, of 2 U for Classic, 1 to 8.
        curviness: u32 = 1 => number(1..=8);
        /// T: sojourn above which an L4S packet is marked.
        step_thresh: Dur = Dur::from_millis(1);
    }
    groups {
        link: Link = Link::default();
        scheduler: Scheduler = Scheduler { order: Order::Tsfifo, ..Scheduler::default() };
    }
}

fn read_scale(args: &mut Args<'_>) -> Result<i32, GrammarError> {
    args.value("a whole number from -20 to 6", |w| w.parse().ok().filter(|n| (-20..=6).contains(n)))
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(CurvyRed::new(*self, env))
    }

    fn capacity(&self) -> Option<Rate> {
        self.link.rate
    }
}

/// The coupled queues.
#[derive(Debug)]
pub struct CurvyRed {
    params: Params,
    queue: DualQueue,
    /// Q_C, the average delay of departing Classic packets in seconds.
    average: f64,
    rng: Rng,
    /// The latest instant seen, for statistics.
    clock: Time,
}

impl CurvyRed {
    fn new(params: Params, env: Env) -> Self {
        let queue = DualQueue::new(&params.scheduler);
        Self { params, queue, average: 0.0, rng: env.rng, clock: env.now }
    }

    /// The root of p_C; p_C itself with curviness 1 is its square. RFC 9332 B.
    fn root(&self) -> f64 {
        (self.average - self.params.min_th.as_secs_f64()) / math::powi(2.0, self.params.s_c)
    }

    /// p_CL, on a range that is 2^k' times shorter. RFC 9332 B.
    fn coupled(&self) -> f64 {
        self.root() * math::powi(2.0, self.params.coupling_exponent)
    }

    /// The delays of the Classic and of the L4S queue's head.
    fn delays(&self) -> [Dur; 2] {
        [Side::Classic, Side::L4s].map(|side| self.queue.age(side, self.clock))
    }

    /// RFC 9332 B: `maxrand`.
    #[inline]
    fn maxrand(&mut self, draws: u32) -> f64 {
        (0..draws).fold(0.0, |most, _| self.rng.unit().max(most))
    }

    /// Whether and why `pkt`, which is about to leave, is signalled. RFC 9332 B: `cred_dequeue`.
    #[inline]
    fn signal(&mut self, side: Side, sojourn: Dur) -> Option<Reason> {
        let u = self.params.curviness;
        match side {
            Side::L4s if sojourn > self.params.step_thresh => Some(Reason::Step),
            Side::L4s => (self.coupled() > self.maxrand(u)).then_some(Reason::Coupled),
            Side::Classic => {
                let change =
                    (sojourn.as_secs_f64() - self.average) * math::powi(2.0, -self.params.g_c);
                self.average += change;
                (self.root() > self.maxrand(2 * u)).then_some(Reason::RedEarly)
            }
        }
    }
}

impl Qdisc for CurvyRed {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        self.clock = now;
        self.queue.enqueue(now, pkt, self.params.link.limit(), log);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        self.clock = now;
        loop {
            let (side, mut pkt) = self.queue.pop(now, &self.params.scheduler)?;
            if let Some(reason) = self.signal(side, now.since(pkt.stamp)) {
                if !log.set_ce(&mut pkt, reason) {
                    log.drop(&pkt, reason);
                    continue;
                }
                self.queue.marked(reason);
            }
            self.queue.sent(side, &pkt, &self.params.scheduler);
            return Some(pkt);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        if let Some(params) = to.params::<Params>() {
            self.queue.reschedule(&self.params.scheduler, &params.scheduler);
            self.params = *params;
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        out.put("overlimits", self.queue.overlimits as f64);
        out.put("average", (self.average * 1e6).trunc());
        self.queue.stats(self.delays(), self.params.link.limit(), out);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        // The largest of n draws is below x with probability x^n.
        let u = self.params.curviness as i32;
        out.put("average", "ms", self.average * 1e3);
        out.put("prob_c", "1", math::powi(self.root().clamp(0.0, 1.0), 2 * u));
        out.put("prob_l", "1", math::powi(self.coupled().clamp(0.0, 1.0), u));
        self.queue.probe(self.delays(), out);
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
        self.queue.reset_credit(&self.params.scheduler);
        self.average = 0.0;
    }
}

#[cfg(test)]
mod tests;
