//! ECN on both ends: what is negotiated, which packets are capable, how the receiver reports marks and
//! how the sender reads the reports. RFC 3168, AccECN (RFC 9768), DCTCP (RFC 8257) and SCE.

mod accecn;
mod codepoint;
mod dctcp;
mod negotiation;
mod sce;

use sojourn_core::Ecn;
use sojourn_core::cc::Feedback;

pub use accecn::AccEcnSender;
pub(crate) use accecn::Progress;
pub(crate) use codepoint::{Role, codepoint};
use dctcp::Dctcp;
pub use negotiation::Negotiation;
use sce::Sce;
pub use sce::SceFeedback;

use super::segment::{AE, CWR, ECE};

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
    dctcp: Dctcp,
    sce: Sce,
    option: bool,
    /// Codepoint of the last data segment.
    last: Option<Ecn>,
}

impl EcnReceiver {
    pub(crate) fn new(mode: Feedback, option: bool, sce: SceFeedback) -> Self {
        let option = option && mode == Feedback::AccEcn;
        Self { mode, option, sce: Sce::new(sce), ..Self::default() }
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

    /// Whether this segment's codepoint differs from the last one's, which AccECN tells at once.
    pub(crate) fn changes(&self, ecn: Ecn) -> bool {
        self.mode == Feedback::AccEcn && self.last.is_some_and(|last| last != ecn)
    }

    /// A data packet of so many segments arrived. Returns whether the first mark asks for quick ACKs (RFC 3168).
    pub(crate) fn on_data(&mut self, ecn: Ecn, ace: u8, payload: u32, segments: u32) -> bool {
        self.last = Some(ecn);
        let slot = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(0),
            Ecn::Ce => Some(1),
            Ecn::Ect1 => Some(2),
        };
        if let Some(slot) = slot {
            self.bytes[slot] += u64::from(payload);
        }
        if ecn == Ecn::Ce {
            self.cep += u64::from(segments);
        }
        match self.mode {
            Feedback::Rfc3168 => {}
            Feedback::Sce => self.sce.on_data(ecn, payload),
            Feedback::Dctcp => {
                self.dctcp.on_data(ecn);
                return false;
            }
            Feedback::None | Feedback::AccEcn | Feedback::Ccfb | Feedback::Counters => {
                return false;
            }
        }
        if ace & CWR != 0 {
            self.demand_cwr = false;
        }
        ecn == Ecn::Ce && !std::mem::replace(&mut self.demand_cwr, true)
    }

    /// AE, CWR, ECE of an ACK that leaves now and covers this many new bytes.
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

    /// Byte counters of the AccECN option, ECT(0), CE, ECT(1), from their initial values.
    pub(crate) fn option(&self) -> Option<[u32; 3]> {
        let counters = [self.bytes[0] + 1, self.bytes[1], self.bytes[2] + 1];
        self.option.then(|| counters.map(|c| (c & 0x00ff_ffff) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver(mode: Feedback) -> EcnReceiver {
        EcnReceiver::new(mode, false, SceFeedback::Advanced)
    }

    #[test]
    fn counter_wraps_and_every_mark_is_seen_once() {
        let mut receiver = receiver(Feedback::AccEcn);
        let mut sender = AccEcnSender::default();
        let (mut marked, mut seen) = (0, 0);
        for i in 0..1000_u32 {
            for ecn in [Ecn::Ect1, if i % 3 == 0 { Ecn::Ce } else { Ecn::Ect1 }] {
                receiver.on_data(ecn, 0, 1448, 1);
                marked += u32::from(ecn == Ecn::Ce);
            }
            let progress = Progress { segments: 2, bytes: 2896, regular: true, mss: 1448 };
            seen += sender.decode(receiver.ace(2896), None, progress);
        }
        assert_eq!(seen, marked);
    }

    #[test]
    fn rfc3168_repeats_ece_until_cwr() {
        let mut receiver = receiver(Feedback::Rfc3168);
        assert!(receiver.on_data(Ecn::Ce, 0, 1448, 1));
        assert!(!receiver.on_data(Ecn::Ce, 0, 1448, 1));
        assert!(!receiver.on_data(Ecn::Ect0, 0, 1448, 1));
        assert_eq!(receiver.ace(2896), ECE);
        receiver.on_data(Ecn::Ect0, CWR, 1448, 1);
        assert_eq!(receiver.ace(2896), 0);
    }
}
