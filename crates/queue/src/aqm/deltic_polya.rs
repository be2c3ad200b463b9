//! `deltic_polya`: DelTiC without the delay that jitter of the service adds. chromi/sce
//! sch_deltic-polya, 2024.

use super::deltic::law::{Law, Resonances, Trio, Verdict};
use super::judged_fifo::{Judge, JudgedFifo, JudgedQueue};
use super::plain_queue::Limit;
use super::{Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, accepts, entry};
use sojourn_core::grammar::Given;
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "deltic_polya",
    "DelTiC that discounts the jitter of the service",
    "chromi/sce sch_deltic-polya, 2024",
    Kernel::Tree("chromi/sce"),
);

parameters! {
    /// Parameters of `deltic_polya`.
    #[derive(Copy, PartialEq)]
    pub(super) struct Params {
        /// 2024a is the first build: whole hertz, and intervals of the jitter estimate that run from
        /// the last arrival at an empty queue.
        version: Law = Law::V2024 => Law::since_2024(), tc false;
    }
    groups {
        limit: Limit = Limit::default();
        resonances: Resonances = Resonances::default();
    }
    settle whole_hertz;
}

impl Params {
    fn whole_hertz(&self, _given: &Given) -> Result<(), String> {
        self.resonances.check(self.version)
    }
}

const SECOND: u64 = 1_000_000_000;

/// Mean distance between departures while packets wait, weighted by itself: the delay that a
/// packet may owe to the rhythm of the service. Remembers about a second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Jitter {
    pub(super) estimate: u64,
    timestamp: Time,
}

impl Jitter {
    /// A packet arrives at an empty queue.
    #[inline]
    pub(super) fn restart(&mut self, now: Time) {
        self.timestamp = now;
    }

    /// The delay of a packet that leaves, less the estimate. chromi/sce sch_deltic-polya.
    #[inline]
    pub(super) fn correct(&mut self, now: Time, delay: Dur) -> Dur {
        let corrected = self.correct_and_forget(now, delay);
        self.timestamp = now;
        corrected
    }

    /// The same in the first build, which forgot to remember the departure.
    #[inline]
    fn correct_and_forget(&mut self, now: Time, delay: Dur) -> Dur {
        let interval = now.since(self.timestamp).0.min(SECOND);
        self.estimate = (interval * interval + self.estimate * (SECOND - interval)) / SECOND;
        delay.saturating_sub(Dur(self.estimate))
    }
}

/// Marks counted under the kernel's names.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    pub(super) sce: u64,
    pub(super) ce: u64,
}

impl Marks {
    /// Carries out `verdict`, of which only the strongest part counts; true if the packet is to be
    /// dropped. chromi/sce sch_deltic-polya.
    #[inline]
    pub(super) fn apply(&mut self, verdict: Verdict, pkt: &mut Packet, log: &mut Log) -> bool {
        if verdict.drop {
            return true;
        }
        if verdict.ecn {
            let marked = log.set_ce(pkt, Reason::Deltic);
            self.ce += u64::from(marked);
            return !marked;
        }
        if verdict.sce && log.set_sce(pkt, Reason::Sce) {
            self.sce += 1;
        }
        false
    }

    pub(super) fn stats(&self, jitter: &Jitter, out: &mut Stats) {
        out.put("jitter_est", (jitter.estimate / 1000) as f64);
        out.put("sce_marks", self.sce as f64);
        out.put("ce_marks", self.ce as f64);
    }
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(JudgedFifo::<DelticPolya>::new(*self, env))
    }

    fn accepts(&self, to: &Spec) -> Result<(), String> {
        accepts(
            to,
            |to: &Self| to.version == self.version,
            "`version` is fixed at creation; use replace",
        )
    }
}

/// Three controllers and the jitter estimator, which corrects the delay that they see.
#[derive(Debug)]
struct DelticPolya {
    trio: Trio,
    jitter: Jitter,
    marks: Marks,
}

impl Judge for DelticPolya {
    type Params = Params;
    const ENTRY: &'static Entry = &ENTRY;
    const SPLITS: bool = true;

    fn new(_params: &Params, _env: Env) -> Self {
        Self { trio: Trio::NEW, jitter: Jitter::default(), marks: Marks::default() }
    }

    #[inline]
    fn arrive(
        &mut self,
        fifo: &JudgedQueue<Params>,
        now: Time,
        _pkt: &mut Packet,
        _log: &mut Log,
    ) -> Option<Reason> {
        if fifo.is_empty() {
            self.jitter.restart(now);
        }
        fifo.overflow(fifo.params.limit.limit)
    }

    // chromi/sce sch_deltic-polya: drops only while others wait.
    #[inline]
    fn judge(
        &mut self,
        fifo: &mut JudgedQueue<Params>,
        now: Time,
        pkt: &mut Packet,
        log: &mut Log,
    ) -> Option<Reason> {
        let Params { version, resonances, .. } = &fifo.params;
        fifo.delay = if *version == Law::V2024 {
            self.jitter.correct(now, fifo.delay)
        } else {
            self.jitter.correct_and_forget(now, fifo.delay)
        };
        let verdict = self.trio.judge(*version, resonances, now, fifo.delay);
        let drop = self.marks.apply(verdict, pkt, log);
        (drop && !fifo.is_empty()).then_some(Reason::Deltic)
    }

    fn stats(&self, _params: &Params, out: &mut Stats) {
        self.marks.stats(&self.jitter, out);
    }

    fn probe(&self, fifo: &JudgedQueue<Params>, out: &mut Probe<'_>) {
        fifo.probe_delay(out);
        out.put("jitter", "ms", Dur(self.jitter.estimate).as_millis_f64());
        self.trio.probe(fifo.params.version, &fifo.params.resonances, out);
    }

    fn reset(&mut self) {
        (self.trio, self.jitter) = (Trio::NEW, Jitter::default());
    }
}

#[cfg(test)]
mod tests;
