//! `deltic_polya`: DelTiC without the delay that jitter of the service adds. chromi/sce
//! sch_deltic-polya, 2024.

use super::deltic::law::{
    DROP_RESONANCE, ECN_RESONANCE, Law, OFF, Resonances, SCE_RESONANCE, Settings, Trio, Verdict,
};
use super::plain_queue::PlainQueue;
use super::sce_shell::LIMIT;
use super::{Backlog, Kernel, Log, OldEntry, Qdisc, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

const VERSION: Param = Param {
    name: "version",
    value: "2024a|2024",
    default: "2024",
    doc: "2024a is the first build: whole hertz, and intervals of the jitter estimate that run from \
          the last arrival at an empty queue. Not a word of tc.",
};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "deltic_polya",
    summary: "DelTiC that discounts the jitter of the service",
    reference: "chromi/sce sch_deltic-polya, 2024",
    kernel: Kernel::Tree("chromi/sce"),
    params: &[LIMIT, SCE_RESONANCE, ECN_RESONANCE, DROP_RESONANCE, OFF, VERSION],
    build: |args, _| Ok(Box::new(DelticPolya::parse(args)?)),
};

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

    /// The delay of a packet that leaves, less the estimate.
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
    /// dropped.
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

/// What `version` offers.
const LAWS: &[Law] = &[Law::V2024a, Law::V2024];

/// A FIFO under three controllers and the jitter estimator.
#[derive(Debug)]
pub struct DelticPolya {
    resonances: Resonances,
    law: Law,
    queue: PlainQueue,
    trio: Trio,
    jitter: Jitter,
    marks: Marks,
    /// Corrected delay of the packet that left last.
    delay: Dur,
}

impl DelticPolya {
    fn parse(args: &mut Args<'_>) -> Result<Self, GrammarError> {
        let defaults = Settings { limit: None, resonances: Resonances::new(), law: Law::V2024 };
        let Settings { limit, resonances, law } = defaults.read(LAWS, args)?;
        Ok(Self {
            resonances,
            law,
            queue: PlainQueue { limit, ..PlainQueue::default() },
            trio: Trio::NEW,
            jitter: Jitter::default(),
            marks: Marks::default(),
            delay: Dur::ZERO,
        })
    }
}

impl Qdisc for DelticPolya {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        if self.queue.backlog.packets == 0 {
            self.jitter.restart(now);
        }
        self.queue.push(now, pkt, log);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        loop {
            let mut pkt = self.queue.pop()?;
            let raw = now.since(pkt.stamp);
            self.delay = if self.law == Law::V2024 {
                self.jitter.correct(now, raw)
            } else {
                self.jitter.correct_and_forget(now, raw)
            };
            let verdict = self.trio.judge(self.law, &self.resonances, now, self.delay);
            let drop = self.marks.apply(verdict, &mut pkt, log);
            if !drop || self.queue.packets.is_empty() {
                return Some(pkt);
            }
            log.drop(&pkt, Reason::Deltic);
        }
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
        let old = Settings { limit: self.queue.limit, resonances: self.resonances, law: self.law };
        let new = old.changed(LAWS, args)?;
        (self.queue.limit, self.resonances) = (new.limit, new.resonances);
        Ok(())
    }

    fn describe(&self) -> String {
        let (limit, resonances) = (self.queue.describe(), self.resonances.describe());
        format!("deltic_polya {limit}{resonances} version {}", Law::WORDS[self.law as usize])
    }

    fn stats(&self, out: &mut Stats) {
        self.marks.stats(&self.jitter, out);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delay.as_millis_f64());
        out.put("jitter", "ms", Dur(self.jitter.estimate).as_millis_f64());
        self.trio.probe(self.law, &self.resonances, out);
    }

    fn splits(&self, _pkt: &Packet) -> bool {
        true
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
        (self.trio, self.jitter) = (Trio::NEW, Jitter::default());
    }
}

#[cfg(test)]
mod tests;
