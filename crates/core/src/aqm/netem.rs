//! `netem`: delay. Linux 6.12 `sch_netem`; the words follow iproute2 7.3.

use std::collections::VecDeque;

use super::{Backlog, Entry, Env, Log, Qdisc, Reason, Stats};
use crate::grammar::{Args, GrammarError, Param};
use crate::packet::Packet;
use crate::probe::Probe;
use crate::units::{Dur, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "netem",
    summary: "Delay line",
    reference: "Linux 6.12 sch_netem",
    params: &[
        Param {
            name: "limit",
            value: "PACKETS",
            default: "1000",
            doc: "Packets inside, delayed ones included.",
        },
        Param {
            name: "delay|latency",
            value: "TIME",
            default: "0ns",
            doc: "Delay of every packet; a bare number is nanoseconds, as in tc.",
        },
    ],
    build: |args, env| Ok(Box::new(Netem::parse(args, &env)?)),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Params {
    limit: u32,
    delay: Dur,
}

impl Params {
    fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        while let Some(key) = args.key() {
            match key {
                "limit" => self.limit = args.number(0..=u64::from(u32::MAX))? as u32,
                "delay" | "latency" => self.delay = args.time64()?,
                _ => return Err(args.unknown()),
            }
        }
        Ok(self)
    }
}

/// A delay line, ordered by the time to send; packets with equal times keep their order.
#[derive(Debug)]
pub struct Netem {
    params: Params,
    line: VecDeque<(Time, Packet)>,
    backlog: Backlog,
    watchdog: Time,
    delayed: u64,
    overlimits: u64,
}

impl Netem {
    fn parse(args: &mut Args<'_>, _env: &Env) -> Result<Self, GrammarError> {
        let params = Params { limit: 1000, delay: Dur::ZERO }.read(args)?;
        Ok(Self {
            params,
            line: VecDeque::new(),
            backlog: Backlog::default(),
            watchdog: Time::NEVER,
            delayed: 0,
            overlimits: 0,
        })
    }

    /// Ordered insertion; the common case is the tail.
    #[inline]
    fn insert(&mut self, to_send: Time, pkt: Packet) {
        if self.line.back().is_none_or(|(last, _)| *last <= to_send) {
            self.line.push_back((to_send, pkt));
        } else {
            let at = self.line.partition_point(|(t, _)| *t <= to_send);
            self.line.insert(at, (to_send, pkt));
        }
    }
}

impl Qdisc for Netem {
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        if self.backlog.packets >= self.params.limit {
            self.overlimits += 1;
            log.drop(&pkt, Reason::TailLimit);
            return;
        }
        pkt.stamp = now;
        self.backlog.add(&pkt);
        self.delayed += u64::from(self.params.delay > Dur::ZERO);
        self.insert(now + self.params.delay, pkt);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _log: &mut Log) -> Option<Packet> {
        self.watchdog = Time::NEVER;
        let (to_send, _) = *self.line.front()?;
        if to_send > now {
            self.watchdog = to_send;
            return None;
        }
        let (_, pkt) = self.line.pop_front()?;
        self.backlog.remove(&pkt);
        Some(pkt)
    }

    #[inline]
    fn wake(&self) -> Time {
        self.watchdog
    }

    #[inline]
    fn on_wake(&mut self, _now: Time, _log: &mut Log) {
        self.watchdog = Time::NEVER;
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn change(&mut self, _now: Time, args: &mut Args<'_>) -> Result<(), GrammarError> {
        self.params = self.params.read(args)?;
        Ok(())
    }

    fn describe(&self) -> String {
        let Params { limit, delay } = self.params;
        let mut text = format!("netem limit {limit}");
        if delay > Dur::ZERO {
            text += &format!(" delay {delay}");
        }
        text
    }

    fn stats(&self, out: &mut Stats) {
        out.put("overlimits", self.overlimits as f64);
        out.put("delayed", self.delayed as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.params.delay.as_millis_f64());
    }

    fn purge(&mut self, log: &mut Log) {
        for (_, pkt) in self.line.drain(..) {
            log.drop(&pkt, Reason::Purge);
        }
        self.backlog = Backlog::default();
        self.watchdog = Time::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{build, change};
    use super::*;
    use crate::rng::Rng;

    fn make(text: &str) -> Result<Box<dyn Qdisc>, GrammarError> {
        build(text, Env::ethernet(Rng::named(1, "t")))
    }

    fn packet(id: u32) -> Packet {
        Packet { id, len: 1514, ..Packet::default() }
    }

    // KAT aqm.md 4.10 (1)
    #[test]
    fn constant_delay_is_exact_and_keeps_order() {
        let mut log = Log::default();
        let (mut q, mut now) = (make("netem delay 40ms").unwrap(), Time::ZERO);
        for id in 0..100 {
            q.enqueue(Time(id * 100), packet(id as u32), &mut log);
        }
        for id in 0..100 {
            assert!(q.dequeue(now, &mut log).is_none());
            now = q.wake();
            assert_eq!(now, Time(id * 100 + 40_000_000));
            q.on_wake(now, &mut log);
            assert_eq!(q.dequeue(now, &mut log).map(|p| p.id), Some(id as u32));
        }
        assert_eq!((q.wake(), log.is_empty()), (Time::NEVER, true));
    }

    // KAT aqm.md 4.10 (4)
    #[test]
    fn eleventh_packet_does_not_fit_into_ten() {
        let (mut q, mut log) = (make("netem limit 10 delay 1s").unwrap(), Log::default());
        for id in 0..11 {
            q.enqueue(Time::ZERO, packet(id), &mut log);
        }
        assert_eq!((q.backlog().packets, log.events().len()), (10, 1));
    }

    #[test]
    fn shorter_delay_lets_new_packets_overtake_old_ones_in_time_order() {
        let (mut q, mut log) = (make("netem delay 40ms").unwrap(), Log::default());
        q.enqueue(Time::ZERO, packet(0), &mut log);
        change(&mut *q, Time::ZERO, "netem delay 10ms").unwrap();
        q.enqueue(Time::ZERO, packet(1), &mut log);
        q.enqueue(Time::ZERO, packet(2), &mut log);
        let later = Time(50_000_000);
        let ids: Vec<u32> =
            std::iter::from_fn(|| q.dequeue(later, &mut log).map(|p| p.id)).collect();
        assert_eq!(ids, [1, 2, 0]);
    }

    #[test]
    fn words_of_features_that_are_not_there_are_refused() {
        for text in ["netem delay 10ms 5ms", "netem loss 1%", "netem rate 1Mbit"] {
            let error = make(text).err().expect("refused").0;
            assert!(error.contains("unknown parameter"), "{error}");
            assert_eq!(error.lines().count(), 1);
        }
    }

    #[test]
    fn bare_delay_is_nanoseconds_as_in_tc() {
        assert_eq!(make("netem delay 1000").unwrap().describe(), "netem limit 1000 delay 1us");
    }
}
