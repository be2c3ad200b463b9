//! `deltic_polya`: DelTiC without the delay that jitter of the service adds. chromi/sce
//! sch_deltic-polya, 2024.

use super::deltic::{
    DROP_RESONANCE, ECN_RESONANCE, Law, OFF, PlainQueue, Resonances, SCE_RESONANCE, Trio, Verdict,
    read,
};
use super::sce_shell::LIMIT;
use super::{Backlog, Entry, Kernel, Log, Qdisc, Reason, Stats};
use crate::grammar::{Args, GrammarError};
use crate::packet::Packet;
use crate::probe::Probe;
use crate::units::{Dur, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "deltic_polya",
    summary: "DelTiC that discounts the jitter of the service",
    reference: "chromi/sce sch_deltic-polya, 2024",
    kernel: Kernel::Tree("chromi/sce"),
    params: &[LIMIT, SCE_RESONANCE, ECN_RESONANCE, DROP_RESONANCE, OFF],
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
        let interval = now.since(self.timestamp).0.min(SECOND);
        self.timestamp = now;
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

/// A FIFO under three controllers and the jitter estimator.
#[derive(Debug)]
pub struct DelticPolya {
    resonances: Resonances,
    queue: PlainQueue,
    trio: Trio,
    jitter: Jitter,
    marks: Marks,
    /// Corrected delay of the packet that left last.
    delay: Dur,
}

impl DelticPolya {
    fn parse(args: &mut Args<'_>) -> Result<Self, GrammarError> {
        let (limit, resonances) = read(None, Resonances::new(), false, args)?;
        Ok(Self {
            resonances,
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
            self.delay = self.jitter.correct(now, now.since(pkt.stamp));
            let verdict = self.trio.judge(Law::V2024, &self.resonances, now, self.delay);
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

    fn change(&mut self, _now: Time, args: &mut Args<'_>) -> Result<(), GrammarError> {
        (self.queue.limit, self.resonances) = read(self.queue.limit, self.resonances, false, args)?;
        Ok(())
    }

    fn describe(&self) -> String {
        format!("deltic_polya {}{}", self.queue.describe(), self.resonances.describe())
    }

    fn stats(&self, out: &mut Stats) {
        self.marks.stats(&self.jitter, out);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delay.as_millis_f64());
        out.put("jitter", "ms", Dur(self.jitter.estimate).as_millis_f64());
        self.trio.probe(Law::V2024, &self.resonances, out);
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
        (self.trio, self.jitter) = (Trio::NEW, Jitter::default());
    }
}

#[cfg(test)]
mod tests;
