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
mod tests;
