//! `red_classic`: random early detection as its papers have it, in floating point. Floyd and
//! Jacobson 1993; gentle RED 2000; Adaptive RED 2001. Linux's integer variant is `red`.

use super::judged_fifo::{Judge, JudgedFifo, JudgedQueue};
use super::{Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, accepts, entry};
use sojourn_core::math;
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

/// The law.
#[derive(Debug)]
struct RedClassic {
    derived: Derived,
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

/// What waits, in the unit of the thresholds.
#[inline]
fn waiting(fifo: &JudgedQueue<Params>) -> f64 {
    let backlog = fifo.queue.backlog;
    if fifo.params.bytes { backlog.bytes as f64 } else { f64::from(backlog.packets) }
}

/// Whether `pkt` would exceed the limit.
#[inline]
fn is_full(fifo: &JudgedQueue<Params>, pkt: &Packet) -> bool {
    let (params, backlog) = (&fifo.params, fifo.queue.backlog);
    if params.bytes {
        backlog.bytes + u64::from(pkt.len) > params.limit()
    } else {
        u64::from(backlog.packets) >= params.limit()
    }
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(JudgedFifo::<RedClassic>::new(*self, env))
    }

    fn accepts(&self, to: &Spec) -> Result<(), String> {
        accepts(
            to,
            |to: &Self| to.bytes == self.bytes,
            "`bytes` and `packets` are fixed at creation; use replace",
        )
    }
}

impl RedClassic {
    /// The average, as if one small packet could have arrived per transmission time since the
    /// queue became empty. Floyd and Jacobson 1993.
    fn average_at(&self, now: Time) -> f64 {
        let Some(since) = self.idle_since else { return self.average };
        let packets = now.since(since).as_secs_f64() * self.derived.packets_per_sec;
        self.average * math::pow(1.0 - self.derived.w, packets)
    }

    /// Takes the sample of an arrival. Floyd and Jacobson 1993.
    #[inline]
    fn sample(&mut self, fifo: &JudgedQueue<Params>, now: Time) {
        self.average = if self.idle_since.is_some() {
            self.average_at(now)
        } else {
            self.average + self.derived.w * (waiting(fifo) - self.average)
        };
        self.idle_since = None;
    }

    /// The probability before it is corrected for the arrivals since the last signal; 1 where
    /// every packet is dropped. Floyd and Jacobson 1993; above the upper threshold gentle RED 2000.
    #[inline]
    fn base(&self, params: &Params) -> f64 {
        let (average, Derived { min_th, max_th, .. }) = (self.average, self.derived);
        if average < max_th {
            self.max_p * (average - min_th) / (max_th - min_th)
        } else if params.gentle && average < 2.0 * max_th {
            self.max_p + (1.0 - self.max_p) * (average - max_th) / max_th
        } else {
            1.0
        }
    }

    /// Why an arrival of `len` bytes is to be signalled, if it is. Floyd and Jacobson 1993.
    #[inline]
    fn verdict(&mut self, params: &Params, len: u32) -> Option<Reason> {
        if self.average < self.derived.min_th {
            self.count = -1.0;
            return None;
        }
        let mut base = self.base(params);
        if base >= 1.0 {
            self.count = 0.0;
            return Some(Reason::RedForced);
        }
        if params.bytes {
            base *= f64::from(len) / f64::from(params.avpkt);
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
}

impl Judge for RedClassic {
    type Params = Params;
    const ENTRY: &'static Entry = &ENTRY;
    const SHOWS_NEXT: bool = true;

    fn new(params: &Params, env: Env) -> Self {
        Self {
            derived: params.derive(),
            average: 0.0,
            count: -1.0,
            max_p: params.max_p,
            idle_since: Some(env.now),
            next_adapt: if params.adaptive { env.now + PERIOD } else { Time::NEVER },
            rng: env.rng,
            counters: Counters::default(),
        }
    }

    #[inline]
    fn arrive(
        &mut self,
        fifo: &JudgedQueue<Params>,
        now: Time,
        pkt: &mut Packet,
        log: &mut Log,
    ) -> Option<Reason> {
        self.sample(fifo, now);
        let verdict = self.verdict(&fifo.params, pkt.len);
        let full = is_full(fifo, pkt);
        let marks = fifo.params.ecn && verdict == Some(Reason::RedEarly) && !full;
        let dropped = match verdict {
            _ if full => {
                self.counters.pdrop += 1;
                // A lost packet is a signal, from which the count starts anew.
                self.count = self.count.min(0.0);
                Some(Reason::TailLimit)
            }
            Some(why) if marks && log.set_ce(pkt, why) => {
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
        if dropped.is_some() && fifo.is_empty() {
            self.idle_since = Some(now);
        }
        dropped
    }

    #[inline]
    fn judge(
        &mut self,
        fifo: &mut JudgedQueue<Params>,
        now: Time,
        _pkt: &mut Packet,
        _log: &mut Log,
    ) -> Option<Reason> {
        if fifo.is_empty() {
            self.idle_since = Some(now);
        }
        None
    }

    #[inline]
    fn wake(&self) -> Time {
        self.next_adapt
    }

    fn on_wake(&mut self, _fifo: &JudgedQueue<Params>, now: Time) {
        self.adapt(now);
        self.next_adapt = now + PERIOD;
    }

    fn change(&mut self, from: &Params, to: &Params, now: Time) {
        if to.max_p != from.max_p {
            self.max_p = to.max_p;
        }
        if to.adaptive != from.adaptive {
            self.next_adapt = if to.adaptive { now + PERIOD } else { Time::NEVER };
        }
        self.derived = to.derive();
    }

    fn stats(&self, _params: &Params, out: &mut Stats) {
        out.put("marked", self.counters.marked as f64);
        out.put("early", self.counters.early as f64);
        out.put("forced", self.counters.forced as f64);
        out.put("pdrop", self.counters.pdrop as f64);
        out.put("min_th", self.derived.min_th);
        out.put("max_th", self.derived.max_th);
        out.put("w", self.derived.w);
        out.put("max_p", self.max_p);
    }

    fn probe(&self, fifo: &JudgedQueue<Params>, out: &mut Probe<'_>) {
        let unit = if fifo.params.bytes { "bytes" } else { "packets" };
        out.put("average", unit, self.average);
        out.put("max_p", "1", self.max_p);
    }

    fn reset(&mut self) {
        (self.average, self.count) = (0.0, -1.0);
        self.idle_since = Some(Time::ZERO);
    }
}

#[cfg(test)]
mod tests;
