//! DCTCP at the receiver: ECE says whether the segments that an ACK covers were marked (RFC 8257 3.2).

use sojourn_core::Ecn;

/// The two-state machine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dctcp {
    /// The last segment was marked (DCTCP.CE).
    ce: bool,
}

impl Dctcp {
    /// Whether what arrived before this segment must be acknowledged by itself.
    pub(super) fn divides(self, ecn: Ecn) -> bool {
        (ecn == Ecn::Ce) != self.ce
    }

    /// A segment arrives. Returns whether it changes the state.
    pub(super) fn on_data(&mut self, ecn: Ecn) -> bool {
        let changed = self.divides(ecn);
        self.ce = ecn == Ecn::Ce;
        changed
    }

    /// ECE of the next ACK.
    pub(super) fn ece(self) -> bool {
        self.ce
    }
}
