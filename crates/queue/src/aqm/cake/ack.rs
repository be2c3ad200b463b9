//! The ACK filter: a new acknowledgement makes older ones in its queue superfluous.

use std::collections::VecDeque;

use super::flows::Queued;
use super::params::Version;
use sojourn_core::choices;
use sojourn_core::packet::{Kind, Packet};

choices! {
    /// How many acknowledgements may go.
    pub(super) enum AckFilter {
        /// None.
        Off = "no-ack-filter",
        /// The older of two that are superfluous.
        On = "ack-filter",
        /// Also a single one directly before the new one.
        Aggressive = "ack-filter-aggressive",
    }
}

/// Flags whose change ends a run of interchangeable acknowledgements: ECE and CWR, and where SCE
/// is known also ESCE.
const fn mask(version: Version) -> u8 {
    match version {
        Version::Mainline => 0b011,
        Version::Chromi => 0b111,
    }
}

/// Whether `old` says nothing that `new` does not say.
/// Linux 6.12 `cake_ack_filter`: not newer, nothing selectively acknowledged beyond the new one, and
/// no exact duplicate, which loss recovery counts.
fn superfluous(old: &Packet, new: &Packet, mask: u8) -> bool {
    // Mainline takes the third flag for reserved and leaves such packets alone.
    old.kind == Kind::TcpAck
        && old.ace & !mask == 0
        && old.ack.wrapping_sub(new.ack) as i32 <= 0
        && old.sacked <= new.sacked
        && (old.ack != new.ack || old.sacked != new.sacked)
}

/// The position of the packet that the last one in `queue` lets go. Linux 6.12 `cake_ack_filter`.
pub(super) fn victim(
    queue: &VecDeque<Queued>,
    filter: AckFilter,
    version: Version,
) -> Option<usize> {
    let last = queue.len().checked_sub(1).filter(|last| *last > 0)?;
    let new = &queue[last].pkt;
    // DEVIATION: only pure acknowledgements trigger, in Linux also those with data.
    if filter == AckFilter::Off || new.kind != Kind::TcpAck {
        return None;
    }
    let mask = mask(version);
    let (mut eligible, mut flags, mut found) = (None, 0, 0);
    for (i, Queued { pkt, .. }) in queue.iter().enumerate().take(last) {
        let tcp = matches!(pkt.kind, Kind::TcpData | Kind::TcpAck | Kind::TcpControl);
        if !tcp || pkt.connection() != new.connection() {
            continue;
        }
        if eligible.is_some() && pkt.ace & mask != flags {
            eligible = None;
            found -= 1;
        }
        if !superfluous(pkt, new, mask) {
            continue;
        }
        if eligible.is_none() {
            (eligible, flags) = (Some(i), pkt.ace & mask);
        }
        found += 1;
        if found > 1 {
            return eligible;
        }
    }
    let alone = filter == AckFilter::Aggressive && flags == new.ace & mask;
    eligible.filter(|i| alone && i + 1 == last)
}
