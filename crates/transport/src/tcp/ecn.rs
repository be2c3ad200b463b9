//! ECN on both ends: what is negotiated, which packets are capable, how the receiver reports marks and
//! how the sender reads the reports. RFC 3168, AccECN (RFC 9768), DCTCP (RFC 8257) and SCE.

mod accecn;
mod codepoint;
mod dctcp;
mod negotiation;
mod sce;

use sojourn_cc::Feedback;
use sojourn_core::Ecn;

pub use accecn::AccEcnSender;
pub(crate) use accecn::Progress;
pub(crate) use codepoint::{Role, codepoint};
use dctcp::Dctcp;
pub use negotiation::Negotiation;
use sce::Sce;
pub use sce::SceFeedback;

use super::segment::{AE, CWR, ECE, SackBlocks};

/// What a data packet asks of the acknowledgement policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asks {
    /// Quick ACKs: the first mark (RFC 3168), or what is probably a retransmission.
    pub(crate) quick: bool,
    /// An ACK at once.
    pub(crate) now: bool,
}

/// Receiver's side: counts codepoints and fills the flags of ACKs.
#[derive(Clone, Debug, Default)]
pub(crate) struct EcnReceiver {
    mode: Feedback,
    /// CE packets (zero-based r.cep).
    cep: u64,
    /// Bytes with ECT(0), CE, ECT(1).
    bytes: [u64; 3],
    /// RFC 3168: repeat ECE until CWR.
    demand_cwr: bool,
    /// RFC 3168: data has come with an ECN codepoint.
    has_seen_ect: bool,
    /// AccECN: a packet whose codepoint differs from the last one's is acknowledged at once.
    edge_acks: bool,
    last: Ecn,
    dctcp: Dctcp,
    sce: Sce,
    option: bool,
    /// AccECN: counters that the next option must have for those that have changed since the last one.
    least_counters: u8,
}

impl EcnReceiver {
    pub(crate) fn new(mode: Feedback, option: bool, edge_acks: bool, sce: SceFeedback) -> Self {
        let accecn = mode == Feedback::AccEcn;
        let (option, edge_acks) = (option && accecn, edge_acks && accecn);
        Self { mode, option, edge_acks, sce: Sce::new(sce), ..Self::default() }
    }

    pub(crate) fn mode(&self) -> Feedback {
        self.mode
    }

    /// Whether an ACK that waits must leave, with the state so far, before a segment with this
    /// codepoint is taken in.
    pub(crate) fn divides(&self, ecn: Ecn) -> bool {
        match self.mode {
            Feedback::Dctcp => self.dctcp.divides(ecn),
            Feedback::Sce => self.sce.divides(ecn),
            _ => false,
        }
    }

    /// A data packet of this many segments arrives, also one that is a duplicate, and is counted (Linux 7.0
    /// `tcp_ecn_received_counters`). Returns whether it asks for an ACK at once: a sender that says CWR may have a
    /// window of one segment (Linux `tcp_ecn_accept_cwr`), a change of the codepoint is news (RFC 9768
    /// 3.2.2.5.1, change-triggered ACKs).
    pub(crate) fn on_arrival(&mut self, ecn: Ecn, ace: u8, payload: u32, segments: u32) -> bool {
        // Place of the counter in the option, and where it has to be to be sent: ECT(1) is the first of Linux's.
        let slot = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some((0, 3)),
            Ecn::Ce => Some((1, 2)),
            Ecn::Ect1 => Some((2, 1)),
        };
        if let Some((slot, counters)) = slot {
            self.bytes[slot] += u64::from(payload);
            self.least_counters = self.least_counters.max(counters);
        }
        if ecn == Ecn::Ce {
            self.cep += u64::from(segments);
        }
        let edge = std::mem::replace(&mut self.last, ecn) != ecn;
        let classic = matches!(self.mode, Feedback::Rfc3168 | Feedback::Dctcp | Feedback::Sce);
        let cwr = classic && ace & CWR != 0;
        self.demand_cwr &= !cwr;
        cwr || (edge && self.edge_acks)
    }

    /// A data packet that is no duplicate, after [`Self::on_arrival`].
    pub(crate) fn on_data(&mut self, ecn: Ecn, payload: u32) -> Asks {
        if matches!(
            self.mode,
            Feedback::None | Feedback::AccEcn | Feedback::Ccfb | Feedback::Counters
        ) {
            return Asks::default();
        }
        // Linux tcp_data_ecn_check (__tcp_ecn_check_ce before 6.15): what comes without ECT after ECT was seen is
        // probably a retransmission (RFC 3168 6.1.5), and the ACKs that it brings are not held back.
        let again = ecn == Ecn::NotEct && self.has_seen_ect;
        self.has_seen_ect |= ecn != Ecn::NotEct;
        match self.mode {
            Feedback::Sce => self.sce.on_data(ecn, payload),
            // RFC 8257 3.2: the new state is reported at once (Linux dctcp_ece_ack_update).
            Feedback::Dctcp => return Asks { now: self.dctcp.on_data(ecn), quick: again },
            _ => {}
        }
        let first = ecn == Ecn::Ce && !std::mem::replace(&mut self.demand_cwr, true);
        Asks { quick: again || first, now: false }
    }

    /// AE, CWR, ECE of an ACK that leaves now and covers this many new bytes: the ACE field (RFC 9768
    /// 3.2.2), ECE until CWR (RFC 3168 6.1.3), DCTCP's state (RFC 8257 3.2) or ESCE.
    pub(crate) fn ace(&mut self, covered: u64) -> u8 {
        let ece = if self.demand_cwr { ECE } else { 0 };
        match self.mode {
            Feedback::AccEcn => ((self.cep + 5) & 7) as u8,
            Feedback::Rfc3168 => ece,
            Feedback::Sce => ece | if self.sce.esce(covered) { AE } else { 0 },
            Feedback::Dctcp => u8::from(self.dctcp.ece()) * ECE,
            Feedback::None | Feedback::Ccfb | Feedback::Counters => 0,
        }
    }

    /// Byte counters of the AccECN option, ECT(0), CE, ECT(1), from their initial values (RFC 9768 3.2.1
    /// and 3.2.3), absent where the option would not have room for those that have changed. The third SACK block
    /// gives way to it (Linux 7.2 `tcp_options_fit_accecn`).
    pub(crate) fn option(&mut self, timestamps: bool, sack: &mut SackBlocks) -> Option<[u32; 3]> {
        let blocks = sack.as_slice().len();
        let fits = |blocks| counters_beside(blocks, timestamps) >= self.least_counters.max(1);
        let kept = if fits(blocks) { blocks } else { blocks.min(MOST_BLOCKS) };
        if !self.option || !fits(kept) {
            return None;
        }
        sack.truncate(kept);
        self.least_counters = 0;
        let counters = [self.bytes[0] + 1, self.bytes[1], self.bytes[2] + 1];
        Some(counters.map(|c| (c & 0x00ff_ffff) as u32))
    }
}

/// SACK blocks that an AccECN option leaves in place.
const MOST_BLOCKS: usize = 2;

/// Counters of an AccECN option that have room beside SACK blocks, whose padding they may use.
fn counters_beside(blocks: usize, timestamps: bool) -> u8 {
    let sack = if blocks == 0 { 0 } else { 4 + 8 * blocks };
    let taken = sack + if timestamps { 12 } else { 0 };
    match 40_usize.saturating_sub(taken) {
        12.. => 3,
        8.. => 2,
        4.. if blocks > 0 => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
