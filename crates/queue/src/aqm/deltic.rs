//! `deltic`: a FIFO under three controllers of "Delay Time Control". chromi/sce sch_deltic, 2022;
//! its interim arithmetic of 2023 and 2024, and that of the later core, as `version`.

use super::plain_queue::PlainQueue;
use super::sce_shell::LIMIT;
use super::{Backlog, Kernel, Log, OldEntry, Qdisc, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

pub(super) mod law;

use law::{DROP_RESONANCE, ECN_RESONANCE, Law, OFF, Resonances, SCE_RESONANCE, Settings, Trio};

const VERSION: Param = Param {
    name: "version",
    value: "2022|2023a|2024a|2024",
    default: "2022",
    doc: "Arithmetic of the controllers; 2024 takes fractions of a hertz. Not a word of tc.",
};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "deltic",
    summary: "Delta-sigma control of the delay by SCE, CE and drops at three frequencies",
    reference: "chromi/sce sch_deltic, 2022",
    kernel: Kernel::Tree("chromi/sce"),
    params: &[LIMIT, SCE_RESONANCE, ECN_RESONANCE, DROP_RESONANCE, OFF, VERSION],
    build: |args, _| Ok(Box::new(Deltic::parse(args)?)),
};

/// What `version` offers.
const LAWS: &[Law] = &[Law::V2022, Law::V2023a, Law::V2024a, Law::V2024];

/// A FIFO under three controllers.
#[derive(Debug)]
pub struct Deltic {
    resonances: Resonances,
    law: Law,
    queue: PlainQueue,
    trio: Trio,
    delay: Dur,
}

impl Deltic {
    fn parse(args: &mut Args<'_>) -> Result<Self, GrammarError> {
        let defaults = Settings { limit: None, resonances: Resonances::new(), law: Law::V2022 };
        let Settings { limit, resonances, law } = defaults.read(LAWS, args)?;
        let queue = PlainQueue { limit, ..PlainQueue::default() };
        Ok(Self { resonances, law, queue, trio: Trio::NEW, delay: Dur::ZERO })
    }
}

impl Qdisc for Deltic {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        self.queue.push(now, pkt, log);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        loop {
            let mut pkt = self.queue.pop()?;
            self.delay = now.since(pkt.stamp);
            let verdict = self.trio.judge(self.law, &self.resonances, now, self.delay);
            if verdict.sce {
                let _ = log.set_sce(&mut pkt, Reason::Sce);
            }
            let unmarkable = verdict.ecn && !log.set_ce(&mut pkt, Reason::Deltic);
            if !unmarkable && !verdict.drop {
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
        format!("deltic {limit}{resonances} version {}", Law::WORDS[self.law as usize])
    }

    fn stats(&self, _out: &mut Stats) {}

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delay.as_millis_f64());
        self.trio.probe(self.law, &self.resonances, out);
    }

    fn splits(&self, _pkt: &Packet) -> bool {
        true
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
        self.trio = Trio::NEW;
    }
}

#[cfg(test)]
mod tests;
