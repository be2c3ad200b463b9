//! `pie`: proportional integral controller enhanced. RFC 8033; Linux 6.12 `sch_pie` (`version
//! mainline`) and Linux 5.1 to 5.4 (`version 5.4`).

use super::judged_fifo::{Judge, JudgedFifo, JudgedQueue};
use super::update_timer::{UpdateTimer, Wheel};
use super::{Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Stats, entry};
use sojourn_core::grammar::forms::packets;
use sojourn_core::jiffies::Jiffies;
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::Time;

pub(super) mod law;

use law::{Control, Law, MAX_PROB};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "pie",
    "Holds the delay at a target by random drops or marks on arrival",
    "RFC 8033; Linux 6.12 sch_pie",
    Kernel::Mainline("3.14"),
);

parameters! {
    /// Parameters of `pie`.
    #[derive(Copy, PartialEq, Eq)]
    struct Params {
        /// Packets that may wait.
        limit: u32 = 1000 => packets(1..=u32::MAX.into());
    }
    groups { law: Law = Law::default(); }
}

/// What the kernel's module counts, and others after it.
#[derive(Debug, Default)]
pub(super) struct Counters {
    packets_in: u64,
    pub(super) overlimit: u64,
    pub(super) dropped: u64,
    max_queue: u32,
}

impl Counters {
    /// A packet was admitted, with this many that wait.
    #[inline]
    pub(super) fn admitted(&mut self, waiting: u32) {
        self.packets_in += 1;
        self.max_queue = self.max_queue.max(waiting);
    }

    pub(super) fn stats(&self, out: &mut Stats) {
        out.put("pkts_in", self.packets_in as f64);
        out.put("overlimit", self.overlimit as f64);
        out.put("dropped", self.dropped as f64);
        out.put("maxq", self.max_queue);
    }
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(JudgedFifo::<Pie>::new(*self, env))
    }
}

/// One controller.
#[derive(Debug)]
struct Pie {
    control: Control,
    rng: Rng,
    timer: UpdateTimer<Wheel>,
    counters: Counters,
    ecn_mark: u64,
}

impl Judge for Pie {
    type Params = Params;
    const ENTRY: &'static Entry = &ENTRY;

    fn new(params: &Params, env: Env) -> Self {
        let jiffies = Jiffies::new(env.hz);
        let first = jiffies.expiry(env.now, jiffies.half_second());
        Self {
            control: Control::default(),
            rng: env.rng,
            timer: UpdateTimer::new(first, Wheel(jiffies, params.law.tupdate)),
            counters: Counters::default(),
            ecn_mark: 0,
        }
    }

    // RFC 8033 4.1 and, for ECN, 5.1; Linux 6.12 `pie_qdisc_enqueue`.
    #[inline]
    fn arrive(
        &mut self,
        fifo: &JudgedQueue<Params>,
        now: Time,
        pkt: &mut Packet,
        log: &mut Log,
    ) -> Option<Reason> {
        let (law, waiting) = (&fifo.params.law, fifo.queue.waiting());
        let refused = if waiting.packets >= fifo.params.limit {
            self.counters.overlimit += 1;
            Some(Reason::TailLimit)
        } else if !self.control.drop_early(law, waiting.bytes, pkt.len, &mut self.rng) {
            None
        } else {
            let may_mark = law.ecn && self.control.prob <= MAX_PROB / 10;
            let marked = may_mark && log.set_ce(pkt, Reason::Pi);
            self.ecn_mark += u64::from(marked);
            (!marked).then_some(Reason::Pi)
        };
        if refused.is_some() {
            self.counters.dropped += 1;
            self.control.dropped();
        } else {
            self.timer.arm(now);
            self.counters.admitted(waiting.packets);
        }
        refused
    }

    #[inline]
    fn judge(
        &mut self,
        fifo: &mut JudgedQueue<Params>,
        now: Time,
        pkt: &mut Packet,
        _log: &mut Log,
    ) -> Option<Reason> {
        self.control.departed(&fifo.params.law, now, pkt, fifo.queue.backlog.bytes);
        None
    }

    #[inline]
    fn wake(&self) -> Time {
        self.timer.wake()
    }

    fn on_wake(&mut self, fifo: &JudgedQueue<Params>, now: Time) {
        let waiting = fifo.queue.waiting();
        self.control.update(&fifo.params.law, waiting.bytes);
        self.timer.fired(now, waiting.packets == 0 && self.control.rests());
    }

    fn change(&mut self, _from: &Params, to: &Params, _now: Time) {
        self.timer.set_tupdate(to.law.tupdate);
    }

    fn stats(&self, params: &Params, out: &mut Stats) {
        out.put("prob", self.control.probability());
        out.put("delay", self.control.delay().as_micros() as f64);
        if params.law.estimates {
            out.put("avg_dq_rate", self.control.rate());
        }
        self.counters.stats(out);
        out.put("ecn_mark", self.ecn_mark as f64);
    }

    fn probe(&self, _fifo: &JudgedQueue<Params>, out: &mut Probe<'_>) {
        out.put("prob", "1", self.control.probability());
        out.put("qdelay", "ms", self.control.delay().as_millis_f64());
    }

    fn reset(&mut self) {
        self.control = Control::default();
        self.timer.sleep();
    }
}

#[cfg(test)]
mod tests;
