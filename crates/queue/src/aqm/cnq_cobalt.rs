//! `cnq_cobalt`: "Cheap Nasty Queueing", a sparse and a bulk FIFO under one COBALT2. chromi/sce
//! sch_cnq_cobalt, trees of 2019 and 2020; draft-morton-tsvwg-cheap-nasty-queueing-01.

use super::cnq::Cnq;
use super::cobalt2::{Cobalt2, Judged};
use super::sce_shell::{Common, Inside, Shell, Shelled};
use super::{Entry, Kernel, Log, entry};
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "cnq_cobalt",
    "Sparse and bulk FIFO with one COBALT2 and a shaper",
    "chromi/sce sch_cnq_cobalt, 2019 and 2020",
    Kernel::Tree("chromi/sce"),
);

parameters! {
    /// Parameters of `cnq_cobalt`.
    #[derive(Copy, PartialEq)]
    pub(super) struct Params {
        /// Whether super-packets are queued segment by segment, as since November 2019.
        split_gso: bool = true, name "split_gso|no_split_gso", tc false;
    }
    groups { common: Common = Common::default(); }
}

/// Two FIFOs, one control law.
#[derive(Debug)]
pub(super) struct CnqCobalt {
    queue: Cnq,
    cobalt: Cobalt2,
    /// Sojourn of the packet that left last.
    delay: Dur,
}

impl Shelled for Params {
    const ENTRY: &'static Entry = &ENTRY;
    type Queue = CnqCobalt;

    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }
}

impl Inside for CnqCobalt {
    type Params = Params;

    fn new() -> Self {
        Self { queue: Cnq::new(), cobalt: Cobalt2::default(), delay: Dur::ZERO }
    }

    #[inline]
    fn push(&mut self, pkt: Packet) {
        self.queue.enqueue(pkt);
    }

    // chromi/sce sch_cnq_cobalt: sparse packets are not judged, and neither is the last one.
    #[inline]
    fn pop(&mut self, shell: &mut Shell<Params>, now: Time, log: &mut Log) -> Option<Packet> {
        let clock = shell.kernel_time(now);
        loop {
            let (mut pkt, is_bulk) = self.queue.pop()?;
            shell.backlog.remove(&pkt);
            self.delay = now.since(pkt.stamp);
            if self.queue.is_empty() {
                self.cobalt.queue_empty(&shell.law, clock);
            } else if is_bulk {
                let judged = Judged::plain(clock, self.delay.0);
                let Shell { law, rng, .. } = &mut *shell;
                if let Some(why) = self.cobalt.should_drop(law, &judged, &mut pkt, rng, log) {
                    log.drop(&pkt, why);
                    continue;
                }
            }
            return Some(pkt);
        }
    }

    fn state(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delay.as_millis_f64());
        self.cobalt.probe(out);
        out.put("active_flows", "1", f64::from(self.queue.sending_flows()));
    }

    fn splits(params: &Params) -> bool {
        params.split_gso
    }

    fn clear(&mut self, log: &mut Log) {
        self.queue.purge(log);
        self.cobalt = Cobalt2::default();
    }
}

#[cfg(test)]
mod tests;
