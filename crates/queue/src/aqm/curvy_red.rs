//! `curvy_red`: the coupled dual queue with Curvy RED, RFC 9332 Appendix B. The Classic queue's
//! average delay gives a probability whose square drops and whose double marks L4S.

use super::dual_queue::{DualQueue, Link, Order, Scheduler, Side};
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, entry, spec,
};
use sojourn_core::grammar::forms::{custom, number};
use sojourn_core::grammar::{Args, Given, GrammarError};
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
        (self.average - self.params.min_th.as_secs_f64()) / 2_f64.powi(self.params.s_c)
    }

    /// p_CL, on a range that is 2^k' times shorter. RFC 9332 B.
    fn coupled(&self) -> f64 {
        self.root() * 2_f64.powi(self.params.coupling_exponent)
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
                let change = (sojourn.as_secs_f64() - self.average) * 2_f64.powi(-self.params.g_c);
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
        out.put("prob_c", "1", self.root().clamp(0.0, 1.0).powi(2 * u));
        out.put("prob_l", "1", self.coupled().clamp(0.0, 1.0).powi(u));
        self.queue.probe(self.delays(), out);
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
        self.queue.reset_credit(&self.params.scheduler);
        self.average = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Event;
    use super::*;
    use crate::qdiscs::build;
    use sojourn_core::ecn::Ecn;

    fn env() -> Env {
        Env::ethernet(Rng::named(1, "t"))
    }

    fn make(words: &str) -> CurvyRed {
        let spec: Spec = format!("curvy_red {words}").parse().unwrap();
        CurvyRed::new(*spec.params().unwrap(), env())
    }

    const N: u32 = 200_000;

    /// Share of packets signalled at this average delay, which a Classic sojourn keeps.
    fn share(words: &str, side: Side, average_ms: u64, sojourn: Dur) -> f64 {
        let mut q = make(words);
        q.average = Dur::from_millis(average_ms).as_secs_f64();
        let hits = (0..N).filter(|_| q.signal(side, sojourn).is_some()).count();
        hits as f64 / f64::from(N)
    }

    #[track_caller]
    fn near(share: f64, expected: f64) {
        // Five standard deviations.
        let tolerance = 5.0 * (expected * (1.0 - expected) / f64::from(N)).sqrt() + 1e-9;
        assert!((share - expected).abs() <= tolerance, "{share} {expected}");
    }

    // KAT curvy-red 1: range_C 1/2 s, range_L 1/4 s, k = 2.
    #[test]
    fn classic_is_signalled_by_the_square_and_l4s_by_twice_the_root() {
        let at = Dur::from_millis(550);
        near(share("", Side::Classic, 550, at), 0.01);
        near(share("", Side::L4s, 550, Dur::ZERO), 0.2);
        near(share("min_th 0", Side::Classic, 50, Dur::from_millis(50)), 0.01);
        near(share("min_th 0 s_c -2", Side::Classic, 50, Dur::from_millis(50)), 0.04);
        near(share("min_th 0 coupling_exponent 2", Side::L4s, 50, Dur::ZERO), 0.4);
        near(share("min_th 0 curviness 2", Side::L4s, 50, Dur::ZERO), 0.04);
        near(share("min_th 0 curviness 2", Side::Classic, 250, Dur::from_millis(250)), 0.0625);
    }

    // KAT curvy-red 2: minTh as printed lets half a second of Classic delay pass.
    #[test]
    fn nothing_is_signalled_up_to_the_threshold() {
        for side in [Side::Classic, Side::L4s] {
            let sojourn = if side == Side::L4s { Dur::ZERO } else { Dur::from_millis(500) };
            assert_eq!(share("", side, 500, sojourn), 0.0);
        }
    }

    // KAT curvy-red 3: the average moves by 1/32 at each Classic departure.
    #[test]
    fn average_moves_with_classic_departures_only() {
        let (mut q, mut log) = (make(""), Log::default());
        for (ecn, n) in [(Ecn::Ect0, 2), (Ecn::Ect1, 1)] {
            for id in 0..n {
                let pkt = Packet { id, len: 1514, tos: ecn as u8, ..Packet::default() };
                q.enqueue(Time::ZERO, pkt, &mut log);
            }
        }
        q.dequeue(Time::ZERO, &mut log);
        assert_eq!(q.average, 0.0);
        q.dequeue(Time(32_000_000), &mut log);
        assert!((q.average - 0.001).abs() < 1e-15);
        q.dequeue(Time(33_000_000), &mut log);
        assert!((q.average - 0.002).abs() < 1e-15);
    }

    // KAT curvy-red 4: an L4S packet is marked above 1 ms.
    #[test]
    fn step_is_strictly_above_its_threshold() {
        let mut q = make("");
        assert_eq!(q.signal(Side::L4s, Dur(1_000_000)), None);
        assert_eq!(q.signal(Side::L4s, Dur(1_000_001)), Some(Reason::Step));
    }

    // KAT curvy-red 5: Not-ECT is dropped, ECT marked.
    #[test]
    fn signal_marks_who_is_capable_and_drops_the_others() {
        for (ecn, marked) in [(Ecn::Ect0, true), (Ecn::NotEct, false)] {
            let (mut q, mut log) = (make("min_th 0 g_c 0 s_c -20"), Log::default());
            q.enqueue(
                Time::ZERO,
                Packet { len: 60, tos: ecn as u8, ..Packet::default() },
                &mut log,
            );
            let left = q.dequeue(Time(9_000_000), &mut log);
            assert_eq!(left.map(|p| p.ecn()), marked.then_some(Ecn::Ce));
            let is_mark = matches!(log.events(), [Event::Mark(_, Reason::RedEarly)]);
            let is_drop = matches!(log.events(), [Event::Drop(_, Reason::RedEarly)]);
            assert_eq!((is_mark, is_drop), (marked, !marked));
        }
    }

    #[test]
    fn wrong_words_are_refused() {
        for wrong in ["s_c 7", "s_c -21", "g_c 31", "curviness 0", "coupling_exponent 9"] {
            assert!(build(&format!("curvy_red {wrong}"), env()).is_err(), "{wrong}");
        }
    }
}
