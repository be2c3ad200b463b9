//! `cnq_cobalt`: "Cheap Nasty Queueing", a sparse and a bulk FIFO under one COBALT2. chromi/sce
//! sch_cnq_cobalt, trees of 2019 and 2020; draft-morton-tsvwg-cheap-nasty-queueing-01.

use super::cnq::Cnq;
use super::cobalt2::{Cobalt2, Judged};
use super::sce_shell::{Shell, params_and};
use super::{Backlog, Env, Kernel, Log, OldEntry, Qdisc, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

const PARAMS: [Param; 15] = params_and(
    "no-sce",
    Param {
        name: "split_gso|no_split_gso",
        value: "",
        default: "split_gso",
        doc: "Whether super-packets are queued segment by segment, as since November 2019; not a word of tc.",
    },
);

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "cnq_cobalt",
    summary: "Sparse and bulk FIFO with one COBALT2 and a shaper",
    reference: "chromi/sce sch_cnq_cobalt, 2019 and 2020",
    kernel: Kernel::Tree("chromi/sce"),
    params: &PARAMS,
    build: |args, env| Ok(Box::new(CnqCobalt::parse(args, env)?)),
};

/// Two FIFOs, one control law.
#[derive(Debug)]
pub struct CnqCobalt {
    shell: Shell,
    queue: Cnq,
    cobalt: Cobalt2,
    split_gso: bool,
    /// Sojourn of the packet that left last.
    delay: Dur,
}

/// The queue's own words.
fn own(split_gso: &mut bool) -> impl FnMut(&str, &mut Args<'_>) -> Result<bool, GrammarError> {
    |key, _| {
        match key {
            "split_gso" => *split_gso = true,
            "no_split_gso" => *split_gso = false,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl CnqCobalt {
    fn parse(args: &mut Args<'_>, env: Env) -> Result<Self, GrammarError> {
        let mut split_gso = true;
        Ok(Self {
            shell: Shell::parse(Dur::ZERO, args, env, own(&mut split_gso))?,
            split_gso,
            queue: Cnq::new(),
            cobalt: Cobalt2::default(),
            delay: Dur::ZERO,
        })
    }
}

impl Qdisc for CnqCobalt {
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        if self.shell.admit(now, &mut pkt, log) {
            self.queue.enqueue(pkt);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        if self.shell.clock.is_blocked(now) {
            return None;
        }
        let clock = self.shell.kernel_time(now);
        loop {
            let (mut pkt, is_bulk) = self.queue.pop()?;
            self.shell.backlog.remove(&pkt);
            self.delay = now.since(pkt.stamp);
            let params = *self.shell.params();
            if self.queue.is_empty() {
                self.cobalt.queue_empty(&params, clock);
            } else if is_bulk {
                let judged = Judged::plain(clock, self.delay.0);
                let rng = &mut self.shell.rng;
                if let Some(why) = self.cobalt.should_drop(&params, &judged, &mut pkt, rng, log) {
                    log.drop(&pkt, why);
                    continue;
                }
            }
            self.shell.clock.charge(pkt.len);
            return Some(pkt);
        }
    }

    #[inline]
    fn wake(&self) -> Time {
        self.shell.clock.wake()
    }

    #[inline]
    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        self.shell.clock.on_wake(now);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.shell.backlog
    }

    fn old_change(
        &mut self,
        _now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        let mut split_gso = self.split_gso;
        self.shell.change(args, own(&mut split_gso))?;
        self.split_gso = split_gso;
        Ok(())
    }

    fn describe(&self) -> String {
        let split = if self.split_gso { "" } else { " no_split_gso" };
        format!("cnq_cobalt {}{split}", self.shell.describe())
    }

    fn stats(&self, out: &mut Stats) {
        out.put("overlimits", self.shell.clock.overlimits as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delay.as_millis_f64());
        out.put("ce_count", "1", f64::from(self.cobalt.ce_count));
        out.put("sce_count", "1", f64::from(self.cobalt.sce_count));
        out.put("p_blue", "1", f64::from(self.cobalt.p_drop) / 4_294_967_296.0);
        out.put("active_flows", "1", f64::from(self.queue.sending_flows()));
    }

    fn splits(&self, _pkt: &Packet) -> bool {
        self.split_gso
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
        self.cobalt = Cobalt2::default();
        self.shell.backlog = Backlog::default();
    }
}

#[cfg(test)]
mod tests;
