//! Signals counted in SCE marks, of which `tau` are worth one CE mark. scim's experimental
//! queues.

use super::{Log, Reason, Stats};
use sojourn_core::grammar::forms::number;
use sojourn_core::packet::Packet;
use sojourn_core::parameters;

parameters! {
    /// The exchange rate of the two kinds of marks.
    #[derive(Copy, PartialEq)]
    pub(super) struct TallyParams {
        /// One mark in this number is CE, or the drop of a packet that is not capable; the others are SCE.
        pub(super) tau: u32 = 64 => number(1..=65_535);
    }
}

/// Marks of both kinds, and how far the next CE is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tally {
    pub(super) tau: u32,
    /// Marks since the last CE.
    since_ce: u32,
    sce: u64,
    ce: u64,
}

impl Tally {
    pub(super) const fn new(tau: u32) -> Self {
        Self { tau, since_ce: 0, sce: 0, ce: 0 }
    }

    /// Marks `pkt` as its turn demands, CE for `reason`; false if it is to be dropped instead,
    /// which the last packet of a queue is not: then the next one has to pay.
    /// scim: one CE is worth `tau` SCE marks.
    #[inline]
    pub(super) fn mark(
        &mut self,
        pkt: &mut Packet,
        is_last: bool,
        reason: Reason,
        log: &mut Log,
    ) -> bool {
        if self.since_ce + 1 < self.tau {
            self.since_ce += 1;
            self.sce += u64::from(log.set_sce(pkt, Reason::Sce));
            return true;
        }
        let marked = log.set_ce(pkt, reason);
        self.ce += u64::from(marked);
        if marked || !is_last {
            self.since_ce = 0;
        }
        marked || is_last
    }

    pub(super) fn restart(&mut self) {
        self.since_ce = 0;
    }

    pub(super) fn stats(&self, out: &mut Stats) {
        out.put("sce_marks", self.sce as f64);
        out.put("ce_marks", self.ce as f64);
    }
}

#[cfg(test)]
mod tests;
