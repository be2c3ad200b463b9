//! A block of a report, packet by packet: what both versions do alike before their laws differ.

use super::flight::is_after;
use super::{Metric, Ticks};
use crate::ecn::Ecn;

/// Reports so far behind the highest packet that was acknowledged are dropped.
pub(super) const OLDEST: u16 = 512;
/// Greatest RTT that counts, ticks: 15 s.
pub(super) const MAX_RTT: u32 = 1_000_000;

/// What the report says of a packet that arrived.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub(super) stream: usize,
    pub(super) seq: u16,
    pub(super) received: Ticks,
    pub(super) ecn: Ecn,
    /// The control loop runs now.
    pub(super) last: bool,
}

/// A packet that was not known to have arrived.
pub(super) struct Acked {
    pub(super) rtt: u32,
    pub(super) sent: Ticks,
    pub(super) marker: bool,
}

/// Where a block begins, and the newest packet that was sent: what is said of later ones is no news.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) stream: usize,
    pub(super) begin: u16,
    pub(super) newest: u16,
}

impl Block {
    /// Hands over the packets that arrived. The control loop runs at the last of them; the original's
    /// (`parity`) does so only if that is the block's last word, too, and a receiver may well fill its
    /// blocks up.
    pub(super) fn arrivals(
        self,
        metrics: impl ExactSizeIterator<Item = Metric>,
        parity: bool,
        mut take: impl FnMut(Arrival),
    ) {
        let count = metrics.len();
        let mut pending = None;
        for (index, Metric { received, ecn }) in metrics.enumerate() {
            let Some(received) = received else { continue };
            let seq = self.begin.wrapping_add(index as u16);
            if is_after(seq, self.newest) {
                continue;
            }
            let arrival = Arrival { stream: self.stream, seq, received, ecn, last: false };
            if parity {
                take(Arrival { last: index + 1 == count, ..arrival });
            } else if let Some(before) = pending.replace(arrival) {
                take(before);
            }
        }
        if let Some(arrival) = pending {
            take(Arrival { last: true, ..arrival });
        }
    }
}
