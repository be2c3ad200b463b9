//! `pfifo_fast`: three FIFOs in strict priority, chosen by the TOS byte. Linux 6.12 `sch_generic`.

use std::collections::VecDeque;

use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, TXQUEUELEN, entry,
    spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::Time;

pub(crate) const ENTRY: Entry = entry::<Params>(
    "pfifo_fast",
    "Three FIFOs in strict priority, by the TOS byte",
    "Linux 6.12 sch_generic",
    Kernel::Mainline("2.2"),
);

parameters! {
    /// Parameters of `pfifo_fast`, of which there are none.
    struct Params {}
}

impl Discipline for Params {
    fn build(&self, _env: Env) -> Box<dyn Qdisc> {
        Box::new(PfifoFast::default())
    }
}

const BANDS: usize = 3;

/// Priority of a forwarded IPv4 packet, by bits 1 to 4 of its TOS byte.
const PRIORITY_OF_TOS: [u8; 16] = [0, 0, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 4, 4, 4, 4];

/// Band of a priority.
pub(super) const BAND_OF_PRIORITY: [u8; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// The discipline that Linux gives to a device without one.
#[derive(Debug, Default)]
pub struct PfifoFast {
    bands: [VecDeque<Packet>; BANDS],
    backlog: Backlog,
}

impl PfifoFast {
    #[inline]
    fn band(pkt: &Packet) -> usize {
        usize::from(BAND_OF_PRIORITY[priority(pkt)])
    }
}

/// Priority of a forwarded packet, 0 to 15. Linux 6.12 `rt_tos2priority`.
#[inline]
pub(super) fn priority(pkt: &Packet) -> usize {
    usize::from(PRIORITY_OF_TOS[usize::from(pkt.tos & 0x1E) >> 1])
}

impl Qdisc for PfifoFast {
    // Linux 6.12 `pfifo_fast_enqueue`.
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        let band = &mut self.bands[Self::band(&pkt)];
        if band.len() >= TXQUEUELEN as usize {
            log.drop(&pkt, Reason::TailLimit);
            return;
        }
        pkt.stamp = now;
        self.backlog.add(&pkt);
        band.push_back(pkt);
    }

    // Linux 6.12 `pfifo_fast_dequeue`: strict priority.
    #[inline]
    fn dequeue(&mut self, _now: Time, _log: &mut Log) -> Option<Packet> {
        let pkt = self.bands.iter_mut().find_map(VecDeque::pop_front)?;
        self.backlog.remove(&pkt);
        Some(pkt)
    }

    #[inline]
    fn next_len(&self) -> Option<u32> {
        self.bands.iter().find_map(VecDeque::front).map(|pkt| pkt.len)
    }

    fn shows_next(&self) -> bool {
        true
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn change(&mut self, _now: Time, _to: &Spec, _given: &Given, _log: &mut Log) {}

    fn spec(&self) -> Spec {
        spec(&ENTRY, Params {})
    }

    fn stats(&self, _out: &mut Stats) {}

    fn probe(&self, out: &mut Probe<'_>) {
        for (name, band) in ["band0", "band1", "band2"].into_iter().zip(&self.bands) {
            out.put(name, "packets", band.len() as f64);
        }
    }

    fn purge(&mut self, log: &mut Log) {
        for pkt in self.bands.iter_mut().flat_map(|band| band.drain(..)) {
            log.drop(&pkt, Reason::Purge);
        }
        self.backlog = Backlog::default();
    }
}

#[cfg(test)]
mod tests;
