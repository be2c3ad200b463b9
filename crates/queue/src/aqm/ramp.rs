//! `ramp`: SCE marks with a probability that rises in proportion to the delay. scim's experimental
//! queues.

use super::plain_queue::PlainQueue;
use super::tally::{LIMIT, TAU, Tally};
use super::{Backlog, Env, Kernel, Log, OldEntry, Qdisc, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Rate, Time};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "ramp",
    summary: "Marks on a linear ramp of the delay, SCE and every so often CE",
    reference: "scim, SCE team",
    kernel: Kernel::Nowhere,
    params: &[
        LIMIT,
        Param {
            name: "bandwidth",
            value: "RATE",
            default: "10Mbit",
            doc: "Link rate, of which one frame's time is the default of min.",
        },
        Param {
            name: "min",
            value: "TIME",
            default: "one frame's time",
            doc: "Delay up to which nothing is marked.",
        },
        Param {
            name: "max",
            value: "TIME",
            default: "100ms",
            doc: "Delay from which every packet is marked.",
        },
        TAU,
        Param {
            name: "signal",
            value: "random|recur",
            default: "random",
            doc: "Marks by chance, or evenly by the sum of the probabilities.",
        },
    ],
    build: |args, env| Ok(Box::new(Ramp::parse(args, env)?)),
};

#[derive(Clone, Copy, Debug)]
struct Settings {
    limit: Option<u32>,
    bandwidth: Rate,
    min: Option<Dur>,
    max: Dur,
    tau: u32,
    recurs: bool,
}

impl Settings {
    fn read(mut self, frame: u32, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        while let Some(key) = args.key() {
            match key {
                "limit" => self.limit = Some(args.number(1..=u64::from(u32::MAX))? as u32),
                "bandwidth" => {
                    self.bandwidth = args.value("a rate above 0 such as `50Mbit`", |w| {
                        Rate::parse_tc(w).filter(|rate| rate.0 > 0)
                    })?;
                }
                "min" => self.min = Some(args.time()?),
                "max" => self.max = args.time()?,
                "tau" => self.tau = args.number(1..=65_535)? as u32,
                "signal" => self.recurs = args.choice(&["random", "recur"])? == 1,
                _ => return Err(args.unknown()),
            }
        }
        if self.from(frame) >= self.max {
            let (from, max) = (self.from(frame), self.max);
            return Err(args.invalid(format_args!("`max` {max} is not above `min` {from}")));
        }
        Ok(self)
    }

    /// Where the ramp begins for frames of `frame` bytes.
    fn from(&self, frame: u32) -> Dur {
        self.min.unwrap_or_else(|| self.bandwidth.time_for(u64::from(frame)))
    }
}

/// A FIFO under one ramp.
#[derive(Debug)]
pub struct Ramp {
    settings: Settings,
    /// Ends of the ramp.
    from: Dur,
    to: Dur,
    queue: PlainQueue,
    tally: Tally,
    rng: Rng,
    /// Largest frame of the device, in bytes.
    frame: u32,
    /// Sum of the probabilities less the marks.
    phase: f64,
    /// Sojourn of the packet that left last, and its probability.
    delay: Dur,
    probability: f64,
}

impl Ramp {
    fn parse(args: &mut Args<'_>, env: Env) -> Result<Self, GrammarError> {
        let settings = Settings {
            limit: None,
            bandwidth: Rate(10_000_000),
            min: None,
            max: Dur::from_millis(100),
            tau: 64,
            recurs: false,
        }
        .read(env.psched_mtu, args)?;
        Ok(Self {
            settings,
            from: settings.from(env.psched_mtu),
            to: settings.max,
            queue: PlainQueue { limit: settings.limit, ..PlainQueue::default() },
            tally: Tally::new(settings.tau),
            rng: env.rng,
            frame: env.psched_mtu,
            phase: 0.0,
            delay: Dur::ZERO,
            probability: 0.0,
        })
    }

    #[inline]
    fn is_marked(&mut self) -> bool {
        let above = self.delay.saturating_sub(self.from).0 as f64;
        self.probability = (above / self.to.saturating_sub(self.from).0 as f64).min(1.0);
        if !self.settings.recurs {
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

    /// None: `bandwidth` is what its averages are reckoned with, not a shaper.
    fn capacity(&self) -> Option<Rate> {
        None
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog
    }

    fn old_change(
        &mut self,
        _now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        self.settings = self.settings.read(self.frame, args)?;
        (self.from, self.to) = (self.settings.from(self.frame), self.settings.max);
        (self.queue.limit, self.tally.tau) = (self.settings.limit, self.settings.tau);
        Ok(())
    }

    fn describe(&self) -> String {
        let Settings { bandwidth, min, max, tau, recurs, .. } = self.settings;
        let limit = self.queue.describe();
        let min = min.map_or(String::new(), |min| format!("min {min} "));
        let signal = if recurs { "recur" } else { "random" };
        format!("ramp {limit}bandwidth {bandwidth} {min}max {max} tau {tau} signal {signal}")
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
        Ramp::parse(&mut Args::new(ENTRY.name, ENTRY.params, words), env()).unwrap()
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

    // aqm.md 12.5
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

    // aqm.md 12.5
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
            ("bandwidth 0", "a rate above 0"),
            ("tau 0", "from 1 to 65535"),
        ] {
            let error = build(&format!("ramp {words}"), env()).err().unwrap().0;
            assert!(error.contains(why), "{words}: {error}");
        }
        let mut q = make("bandwidth 1Gbit");
        change(&mut q, Time::ZERO, "ramp max 50ms tau 8", &mut Log::default()).unwrap();
        assert_eq!(q.describe(), "ramp bandwidth 1Gbit max 50ms tau 8 signal random");
        assert_eq!((q.to, q.tally.tau), (Dur::from_millis(50), 8));
    }
}
