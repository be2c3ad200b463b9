//! `red_classic`: random early detection as its papers have it, in floating point. Floyd and
//! Jacobson 1993; gentle RED 2000; Adaptive RED 2001. Linux's integer variant is `red`.

use std::collections::VecDeque;

use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, entry, spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

mod params;

use params::{Derived, Params};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "red_classic",
    "Random early detection as published, by the average of packets or bytes",
    "Floyd and Jacobson 1993; Floyd 2000; Floyd, Gummadi and Shenker 2001",
    Kernel::Nowhere,
);

/// Adaptive RED's period, and its range, steps and factor of `max_p`.
const PERIOD: Dur = Dur::from_millis(500);
const ADAPTED: std::ops::RangeInclusive<f64> = 0.01..=0.5;
const INCREMENT: f64 = 0.01;
const DECREASE: f64 = 0.9;

#[derive(Debug, Default)]
struct Counters {
    early: u64,
    marked: u64,
    forced: u64,
    pdrop: u64,
}

/// A FIFO under the law.
#[derive(Debug)]
pub struct RedClassic {
    params: Params,
    derived: Derived,
    queue: VecDeque<Packet>,
    backlog: Backlog,
    /// Average queue, in packets or bytes as the parameters say.
    average: f64,
    /// Arrivals since the last signal; -1 below the lower threshold.
    count: f64,
    max_p: f64,
    /// Since when nothing waits.
    idle_since: Option<Time>,
    next_adapt: Time,
    rng: Rng,
    counters: Counters,
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(RedClassic::new(*self, env))
    }

    fn accepts(&self, to: &Spec) -> Result<(), String> {
        match to.params::<Self>() {
            Some(to) if to.bytes != self.bytes => {
                Err("`bytes` and `packets` are fixed at creation; use replace".to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl RedClassic {
    fn new(params: Params, env: Env) -> Self {
        Self {
            params,
            derived: params.derive(),
            queue: VecDeque::new(),
            backlog: Backlog::default(),
            average: 0.0,
            count: -1.0,
            max_p: params.max_p,
            idle_since: Some(env.now),
            next_adapt: if params.adaptive { env.now + PERIOD } else { Time::NEVER },
            rng: env.rng,
            counters: Counters::default(),
        }
    }

    /// What waits, in the unit of the thresholds.
    #[inline]
    fn waiting(&self) -> f64 {
        if self.params.bytes { self.backlog.bytes as f64 } else { f64::from(self.backlog.packets) }
    }

    /// The average, as if one small packet could have arrived per transmission time since the
    /// queue became empty. Floyd and Jacobson 1993.
    fn average_at(&self, now: Time) -> f64 {
        let Some(since) = self.idle_since else { return self.average };
        let packets = now.since(since).as_secs_f64() * self.derived.packets_per_sec;
        self.average * (1.0 - self.derived.w).powf(packets)
    }

    /// Takes the sample of an arrival. Floyd and Jacobson 1993.
    #[inline]
    fn sample(&mut self, now: Time) {
        self.average = if self.idle_since.is_some() {
            self.average_at(now)
        } else {
            self.average + self.derived.w * (self.waiting() - self.average)
        };
        self.idle_since = None;
    }

    /// The probability before it is corrected for the arrivals since the last signal; 1 where
    /// every packet is dropped. Floyd and Jacobson 1993; above the upper threshold gentle RED 2000.
    #[inline]
    fn base(&self) -> f64 {
        let (average, Derived { min_th, max_th, .. }) = (self.average, self.derived);
        if average < max_th {
            self.max_p * (average - min_th) / (max_th - min_th)
        } else if self.params.gentle && average < 2.0 * max_th {
            self.max_p + (1.0 - self.max_p) * (average - max_th) / max_th
        } else {
            1.0
        }
    }

    /// Why an arrival of `len` bytes is to be signalled, if it is. Floyd and Jacobson 1993.
    #[inline]
    fn judge(&mut self, len: u32) -> Option<Reason> {
        if self.average < self.derived.min_th {
            self.count = -1.0;
            return None;
        }
        let mut base = self.base();
        if base >= 1.0 {
            self.count = 0.0;
            return Some(Reason::RedForced);
        }
        if self.params.bytes {
            base *= f64::from(len) / f64::from(self.params.avpkt);
        }
        self.count += 1.0;
        // Gaps are spread uniformly from 1 to 1/base.
        let rest = 1.0 - self.count * base;
        if rest > 0.0 && self.rng.unit() >= base / rest {
            return None;
        }
        self.count = 0.0;
        Some(Reason::RedEarly)
    }

    // Adaptive RED 2001.
    fn adapt(&mut self, now: Time) {
        let Derived { min_th, max_th, .. } = self.derived;
        let place = (self.average_at(now) - min_th) / (max_th - min_th);
        if place > 0.6 && self.max_p <= *ADAPTED.end() {
            self.max_p += (self.max_p / 4.0).min(INCREMENT);
        } else if place < 0.4 && self.max_p >= *ADAPTED.start() {
            self.max_p *= DECREASE;
        }
    }

    /// Whether `pkt` would exceed the limit.
    #[inline]
    fn is_full(&self, pkt: &Packet) -> bool {
        if self.params.bytes {
            self.backlog.bytes + u64::from(pkt.len) > self.params.limit()
        } else {
            u64::from(self.backlog.packets) >= self.params.limit()
        }
    }
}

impl Qdisc for RedClassic {
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        self.sample(now);
        let verdict = self.judge(pkt.len);
        let full = self.is_full(&pkt);
        let marks = self.params.ecn && verdict == Some(Reason::RedEarly) && !full;
        let dropped = match verdict {
            _ if full => {
                self.counters.pdrop += 1;
                // A lost packet is a signal, from which the count starts anew.
                self.count = self.count.min(0.0);
                Some(Reason::TailLimit)
            }
            Some(why) if marks && log.set_ce(&mut pkt, why) => {
                self.counters.marked += 1;
                None
            }
            Some(why) => {
                let early = why == Reason::RedEarly;
                let c = &mut self.counters;
                *(if early { &mut c.early } else { &mut c.forced }) += 1;
                Some(why)
            }
            None => None,
        };
        if let Some(why) = dropped {
            if self.backlog.packets == 0 {
                self.idle_since = Some(now);
            }
            log.drop(&pkt, why);
            return;
        }
        pkt.stamp = now;
        self.backlog.add(&pkt);
        self.queue.push_back(pkt);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _log: &mut Log) -> Option<Packet> {
        let pkt = self.queue.pop_front()?;
        self.backlog.remove(&pkt);
        if self.backlog.packets == 0 {
            self.idle_since = Some(now);
        }
        Some(pkt)
    }

    fn next_len(&self) -> Option<u32> {
        self.queue.front().map(|pkt| pkt.len)
    }

    #[inline]
    fn wake(&self) -> Time {
        self.next_adapt
    }

    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        if self.next_adapt <= now {
            self.adapt(now);
            self.next_adapt = now + PERIOD;
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn change(&mut self, now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        let params = to.params().copied().unwrap_or(self.params);
        if params.max_p != self.params.max_p {
            self.max_p = params.max_p;
        }
        if params.adaptive != self.params.adaptive {
            self.next_adapt = if params.adaptive { now + PERIOD } else { Time::NEVER };
        }
        (self.params, self.derived) = (params, params.derive());
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        out.put("marked", self.counters.marked as f64);
        out.put("early", self.counters.early as f64);
        out.put("forced", self.counters.forced as f64);
        out.put("pdrop", self.counters.pdrop as f64);
        out.put("min_th", self.derived.min_th);
        out.put("max_th", self.derived.max_th);
        out.put("w", self.derived.w);
        out.put("max_p", self.max_p);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        let unit = if self.params.bytes { "bytes" } else { "packets" };
        out.put("average", unit, self.average);
        out.put("max_p", "1", self.max_p);
    }

    fn purge(&mut self, log: &mut Log) {
        for pkt in self.queue.drain(..) {
            log.drop(&pkt, Reason::Purge);
        }
        self.backlog = Backlog::default();
        (self.average, self.count) = (0.0, -1.0);
        self.idle_since = Some(Time::ZERO);
    }
}

#[cfg(test)]
mod tests;
