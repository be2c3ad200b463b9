//! `ramp`: SCE marks with a probability that rises in proportion to the delay. scim's experimental
//! queues.

use super::plain_queue::{PlainQueue, Room};
use super::tally::{Tally, TallyParams};
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, PSCHED_MTU, Qdisc, Reason, Spec, Stats, entry,
    spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::rate_from;
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Rate, Time};
use sojourn_core::{choices, parameters};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "ramp",
    "Marks on a linear ramp of the delay, SCE and every so often CE",
    "scim, SCE team",
    Kernel::Nowhere,
);

choices! {
    /// How the probability becomes marks.
    enum Signal {
        Random = "random",
        Recur = "recur",
    }
}

parameters! {
    /// Parameters of `ramp`.
    #[derive(Copy, PartialEq)]
    struct Params {
        /// Link rate, of which one frame's time is the default of min.
        bandwidth: Rate = Rate(10_000_000) => rate_from(Rate(1));
        /// Delay up to which nothing is marked.
        min: Option<Dur> = None, default "one frame's time";
        /// Delay from which every packet is marked.
        max: Dur = Dur::from_millis(100);
        /// Marks by chance, or evenly by the sum of the probabilities.
        signal: Signal = Signal::Random;
    }
    groups {
        room: Room = Room::default();
        tally: TallyParams = TallyParams::default();
    }
    settle has_width;
}

impl Params {
    /// Where the ramp begins.
    fn from(&self) -> Dur {
        self.min.unwrap_or_else(|| self.bandwidth.time_for(PSCHED_MTU.into()))
    }

    fn has_width(&self, _given: &Given) -> Result<(), String> {
        let (from, max) = (self.from(), self.max);
        if from >= max {
            return Err(format!("`max` {max} is not above `min` {from}"));
        }
        Ok(())
    }
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(Ramp::new(*self, env))
    }
}

/// A FIFO under one ramp.
#[derive(Debug)]
pub struct Ramp {
    params: Params,
    /// Where the ramp begins.
    from: Dur,
    queue: PlainQueue,
    tally: Tally,
    rng: Rng,
    /// Sum of the probabilities less the marks.
    phase: f64,
    /// Sojourn of the packet that left last, and its probability.
    delay: Dur,
    probability: f64,
}

impl Ramp {
    fn new(params: Params, env: Env) -> Self {
        Self {
            params,
            from: params.from(),
            queue: PlainQueue::new(params.room.limit),
            tally: Tally::new(params.tally.tau),
            rng: env.rng,
            phase: 0.0,
            delay: Dur::ZERO,
            probability: 0.0,
        }
    }

    // scim's Ramp.
    #[inline]
    fn is_marked(&mut self) -> bool {
        let above = self.delay.saturating_sub(self.from).0 as f64;
        self.probability = (above / self.params.max.saturating_sub(self.from).0 as f64).min(1.0);
        if self.params.signal == Signal::Random {
            return self.probability > 0.0 && self.rng.unit() < self.probability;
        }
        self.phase += self.probability;
        let due = self.phase >= 1.0;
        self.phase -= f64::from(u8::from(due));
        due
    }
}

impl Qdisc for Ramp {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        self.queue.push(now, pkt, log);
    }

    // scim's Ramp.
    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        loop {
            let mut pkt = self.queue.pop()?;
            self.delay = now.since(pkt.stamp);
            let is_last = self.queue.packets.is_empty();
            if !self.is_marked() || self.tally.mark(&mut pkt, is_last, Reason::Sce, log) {
                return Some(pkt);
            }
            log.drop(&pkt, Reason::Sce);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        self.params = to.params().copied().unwrap_or(self.params);
        self.from = self.params.from();
        (self.queue.limit, self.tally.tau) = (self.params.room.limit, self.params.tally.tau);
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        self.tally.stats(out);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delay.as_millis_f64());
        out.put("probability", "1", self.probability);
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
        self.tally.restart();
        self.phase = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdiscs::{build, change};
    use sojourn_core::ecn::Ecn;

    fn env() -> Env {
        Env::ethernet(Rng::named(1, "t"))
    }

    fn make(words: &str) -> Ramp {
        let spec: Spec = format!("ramp {words}").parse().unwrap();
        Ramp::new(*spec.params().unwrap(), env())
    }

    /// Codepoints of 20000 packets, each of which leaves after `delay` before another.
    fn counts(words: &str, delay: Dur, ecn: Ecn) -> [u32; 4] {
        let (mut q, mut log) = (make(words), Log::default());
        let mut counts = [0; 4];
        let mut now = Time::ZERO;
        for _ in 0..20_000 {
            let pkt = Packet { len: 1514, tos: ecn as u8, ..Packet::default() };
            q.enqueue(now, pkt, &mut log);
            q.enqueue(now, pkt, &mut log);
            now += delay;
            let sent = q.dequeue(now, &mut log).unwrap();
            counts[usize::from(sent.tos & 3)] += 1;
            q.purge_rest();
        }
        counts
    }

    impl Ramp {
        /// Empties the queue, but keeps the law's state.
        fn purge_rest(&mut self) {
            while self.queue.pop().is_some() {}
        }
    }

    // scim's ramp.
    #[test]
    fn share_of_marks_is_linear_from_one_frame_time_to_a_hundred_milliseconds() {
        // One frame of 1514 bytes takes 1.2112 ms at 10 Mbit/s.
        let frame_us = 1211.2;
        for (us, share) in [(1_211, 0.0), (25_908, 0.25), (50_606, 0.5), (100_000, 1.0)] {
            let expected = ((f64::from(us) - frame_us) / (100_000.0 - frame_us)).max(0.0);
            assert!((expected - share).abs() < 1e-4);
            for (signal, spread) in [("random", 0.011), ("recur", 0.0001)] {
                let words = format!("tau 65535 signal {signal}");
                let delay = Dur::from_micros(us as u64);
                let [_, sce, none, ce] = counts(&words, delay, Ecn::Ect0);
                assert_eq!((sce + none, ce), (20_000, 0));
                let marked = f64::from(sce) / 20_000.0;
                assert!((marked - expected).abs() <= spread, "{us} us {signal}: {marked}");
            }
        }
    }

    // scim's ramp.
    #[test]
    fn one_mark_in_tau_is_ce() {
        let [_, sce, none, ce] = counts("", Dur::from_millis(200), Ecn::Ect0);
        assert_eq!((sce, none, ce), (20_000 - 312, 0, 312));
        let [_, sce, _, ce] = counts("tau 1", Dur::from_millis(200), Ecn::Ect0);
        assert_eq!((sce, ce), (0, 20_000));
    }

    #[test]
    fn drop_of_the_incapable_leaves_the_next_packet() {
        let (mut q, mut log) = (make("tau 3 signal recur"), Log::default());
        for id in 0..9 {
            q.enqueue(Time::ZERO, Packet { id, len: 1514, ..Packet::default() }, &mut log);
        }
        let late = Time(200_000_000);
        let sent: Vec<u32> =
            std::iter::from_fn(|| q.dequeue(late, &mut log)).map(|pkt| pkt.id).collect();
        // The last packet stays even where its turn has come.
        assert_eq!((sent, log.events().len()), (vec![0, 1, 3, 4, 6, 7, 8], 2));
    }

    #[test]
    fn ramp_begins_where_it_is_told_and_has_a_width() {
        let from = |words| make(words).from;
        assert_eq!(from("bandwidth 100Mbit"), Dur(121_120));
        assert_eq!(from("bandwidth 100Mbit min 2ms"), Dur::from_millis(2));
        for (words, why) in [
            ("max 1ms", "`max` 1ms is not above `min`"),
            ("min 7ms max 7ms", "`max` 7ms is not above `min` 7ms"),
            ("bandwidth 0", "a rate of at least 1bit"),
            ("tau 0", "from 1 to 65535"),
        ] {
            let error = build(&format!("ramp {words}"), env()).err().unwrap().0;
            assert!(error.contains(why), "{words}: {error}");
        }
        let mut q = make("bandwidth 1Gbit");
        change(&mut q, Time::ZERO, "ramp max 50ms tau 8", &mut Log::default()).unwrap();
        assert_eq!(q.describe(), "ramp bandwidth 1Gbit max 50ms signal random tau 8");
        assert_eq!((q.params.max, q.tally.tau), (Dur::from_millis(50), 8));
    }
}
