//! `blue`: one signal probability, raised by overflow and lowered by idleness. Feng, Kandlur, Saha
//! and Shin 1999, 2002.

use super::judged_fifo::{Judge, JudgedFifo, JudgedQueue};
use super::{Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Stats, entry};
use sojourn_core::grammar::forms::{decimal, maybe, packets};
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "blue",
    "One signal probability, raised by overflow and lowered by idleness",
    "Feng, Kandlur, Saha and Shin 1999, 2002",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `blue`.
    #[derive(Copy, PartialEq)]
    struct Params {
        /// Packets that may wait.
        limit: u32 = 1000 => packets(1..=u32::MAX.into());
        /// Packets that wait when an arrival raises the probability.
        threshold: Option<u32> = None => maybe(packets(0..=u32::MAX.into())), default "limit";
        /// Step up on overflow.
        increment: f64 = 0.02 => decimal("PROBABILITY", 0.0..=1.0);
        /// Step down on idleness.
        decrement: f64 = 0.002 => decimal("PROBABILITY", 0.0..=1.0);
        /// Time that must have passed since the last step.
        freeze: Dur = Dur::from_millis(100);
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: bool = true, name "ecn|noecn";
    }
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(JudgedFifo::<Blue>::new(*self, env))
    }
}

/// The law.
#[derive(Debug)]
struct Blue {
    /// Probability, Q0.32.
    prob: u32,
    last_update: Option<Time>,
    rng: Rng,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    marked: u64,
    early: u64,
    overlimit: u64,
}

impl Blue {
    /// A step up or down, unless the last one is too recent.
    /// Feng et al. 1999: `freeze_time` separates steps in either direction, so that one shows
    /// before the next.
    #[inline]
    fn step(&mut self, params: &Params, now: Time, up: bool) {
        if self.last_update.is_some_and(|last| now.since(last) <= params.freeze) {
            return;
        }
        self.last_update = Some(now);
        let step = |share: f64| (share * f64::from(u32::MAX)) as u32;
        self.prob = if up {
            self.prob.saturating_add(step(params.increment))
        } else {
            self.prob.saturating_sub(step(params.decrement))
        };
    }
}

impl Judge for Blue {
    type Params = Params;
    const ENTRY: &'static Entry = &ENTRY;

    fn new(_params: &Params, env: Env) -> Self {
        Self { prob: 0, last_update: None, rng: env.rng, counters: Counters::default() }
    }

    // Feng et al. 1999: overflow, or a queue above L, raises the probability, and an idle link
    // lowers it.
    #[inline]
    fn arrive(
        &mut self,
        fifo: &JudgedQueue<Params>,
        now: Time,
        pkt: &mut Packet,
        log: &mut Log,
    ) -> Option<Reason> {
        let (params, waiting) = (&fifo.params, fifo.queue.backlog.packets);
        // A shaper does not ask an empty queue for packets, so an arrival also shows idleness.
        if waiting == 0 {
            self.idle(params, now);
        }
        let full = waiting >= params.limit;
        if full || params.threshold.is_some_and(|most| waiting >= most) {
            self.step(params, now, true);
        }
        if full {
            self.counters.overlimit += 1;
            return Some(Reason::TailLimit);
        }
        if self.prob > 0 && self.rng.u32() < self.prob {
            if !(params.ecn && log.set_ce(pkt, Reason::Blue)) {
                self.counters.early += 1;
                return Some(Reason::Blue);
            }
            self.counters.marked += 1;
        }
        None
    }

    // Feng et al. 1999: an idle link lowers the probability.
    #[inline]
    fn idle(&mut self, params: &Params, now: Time) {
        if self.prob > 0 {
            self.step(params, now, false);
        }
    }

    fn stats(&self, _params: &Params, out: &mut Stats) {
        out.put("prob", f64::from(self.prob) / f64::from(u32::MAX));
        out.put("marked", self.counters.marked as f64);
        out.put("early", self.counters.early as f64);
        out.put("overlimit", self.counters.overlimit as f64);
    }

    fn probe(&self, _fifo: &JudgedQueue<Params>, out: &mut Probe<'_>) {
        out.put("prob", "1", f64::from(self.prob) / f64::from(u32::MAX));
    }

    fn reset(&mut self) {
        (self.prob, self.last_update) = (0, None);
    }
}

#[cfg(test)]
mod tests;
