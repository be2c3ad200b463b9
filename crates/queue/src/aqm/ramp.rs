//! `ramp`: SCE marks with a probability that rises in proportion to the delay. scim's experimental
//! queues.

use super::judged_fifo::{Judge, JudgedFifo, JudgedQueue};
use super::plain_queue::Room;
use super::tally::{Tally, TallyParams};
use super::{Discipline, Entry, Env, Kernel, Log, PSCHED_MTU, Qdisc, Reason, Stats, entry};
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
        Box::new(JudgedFifo::<Ramp>::new(*self, env))
    }
}

/// The ramp, and how its probability becomes marks.
#[derive(Debug)]
struct Ramp {
    /// Where the ramp begins.
    from: Dur,
    tally: Tally,
    rng: Rng,
    /// Sum of the probabilities less the marks.
    phase: f64,
    /// Of the packet that left last.
    probability: f64,
}

impl Ramp {
    // scim's Ramp.
    #[inline]
    fn is_marked(&mut self, params: &Params, delay: Dur) -> bool {
        let above = delay.saturating_sub(self.from).0 as f64;
        self.probability = (above / params.max.saturating_sub(self.from).0 as f64).min(1.0);
        if params.signal == Signal::Random {
            return self.probability > 0.0 && self.rng.unit() < self.probability;
        }
        self.phase += self.probability;
        let due = self.phase >= 1.0;
        self.phase -= f64::from(u8::from(due));
        due
    }
}

impl Judge for Ramp {
    type Params = Params;
    const ENTRY: &'static Entry = &ENTRY;

    fn new(params: &Params, env: Env) -> Self {
        let tally = Tally::new(params.tally.tau);
        Self { from: params.from(), tally, rng: env.rng, phase: 0.0, probability: 0.0 }
    }

    fn limit(params: &Params) -> Option<u32> {
        params.room.limit
    }

    // scim's Ramp.
    #[inline]
    fn judge(
        &mut self,
        fifo: &mut JudgedQueue<Params>,
        _now: Time,
        pkt: &mut Packet,
        log: &mut Log,
    ) -> Option<Reason> {
        let drop = self.is_marked(&fifo.params, fifo.delay)
            && !self.tally.mark(pkt, fifo.is_empty(), Reason::Sce, log);
        drop.then_some(Reason::Sce)
    }

    fn change(&mut self, _from: &Params, to: &Params, _now: Time) {
        (self.from, self.tally.tau) = (to.from(), to.tally.tau);
    }

    fn stats(&self, _params: &Params, out: &mut Stats) {
        self.tally.stats(out);
    }

    fn probe(&self, fifo: &JudgedQueue<Params>, out: &mut Probe<'_>) {
        fifo.probe_delay(out);
        out.put("probability", "1", self.probability);
    }

    fn reset(&mut self) {
        self.tally.restart();
        self.phase = 0.0;
    }
}

#[cfg(test)]
mod tests;
