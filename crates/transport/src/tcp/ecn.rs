//! ECN on both ends: what is negotiated, how the receiver reports marks and how the sender reads
//! the reports. RFC 3168 and AccECN (RFC 9768).

use sojourn_core::Ecn;
use sojourn_core::cc::Feedback;

use super::era::AceReading;
use super::segment::{AE, CWR, ECE};

/// Mean segments per ACK from which a jump of the ACE field is taken for an ordinary large ACK.
const LARGE_ACK: u32 = 4;

/// The handshake's ECN bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiation;

impl Negotiation {
    /// AE, CWR, ECE of a SYN that asks for `wish`.
    pub fn syn(wish: Feedback) -> u8 {
        match wish {
            Feedback::AccEcn => AE | CWR | ECE,
            Feedback::Rfc3168 | Feedback::Dctcp | Feedback::Sce => CWR | ECE,
            Feedback::None | Feedback::Ccfb => 0,
        }
    }

    /// What a server that supports `able` makes of the SYN's bits, and its SYN/ACK's bits.
    /// `syn_ecn` is the codepoint with which the SYN arrived (RFC 9768 table 2).
    pub fn answer(able: Feedback, syn_ace: u8, syn_ecn: Ecn) -> (Feedback, u8) {
        let classic = matches!(able, Feedback::Rfc3168 | Feedback::Dctcp | Feedback::Sce);
        match (able, syn_ace) {
            (Feedback::AccEcn, 0) | (Feedback::None | Feedback::Ccfb, _) => (Feedback::None, 0),
            (Feedback::AccEcn, 0b011) => (Feedback::Rfc3168, ECE),
            (Feedback::AccEcn, _) => (Feedback::AccEcn, Self::reflect(syn_ecn)),
            (_, ace) if classic && ace & (CWR | ECE) == CWR | ECE => (able, ECE),
            _ => (Feedback::None, 0),
        }
    }

    /// What a client that asked for `wish` makes of the SYN/ACK's bits.
    pub fn conclude(wish: Feedback, synack_ace: u8) -> Feedback {
        match (wish, synack_ace) {
            (Feedback::AccEcn, 0b000 | 0b111) => Feedback::None,
            (Feedback::AccEcn, 0b001 | 0b101) => Feedback::Rfc3168,
            (Feedback::AccEcn, _) => Feedback::AccEcn,
            (Feedback::Rfc3168 | Feedback::Dctcp | Feedback::Sce, ace)
                if ace & (CWR | ECE) == ECE =>
            {
                wish
            }
            _ => Feedback::None,
        }
    }

    /// The handshake coding of a received codepoint.
    pub fn reflect(ecn: Ecn) -> u8 {
        match ecn {
            Ecn::NotEct => 0b010,
            Ecn::Ect1 => 0b011,
            Ecn::Ect0 => 0b100,
            Ecn::Ce => 0b110,
        }
    }
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
    option: bool,
}

impl EcnReceiver {
    pub(crate) fn new(mode: Feedback, option: bool) -> Self {
        Self { mode, option: option && mode == Feedback::AccEcn, ..Self::default() }
    }

    pub(crate) fn mode(&self) -> Feedback {
        self.mode
    }

    /// A data packet arrived. Returns whether the first mark asks for quick ACKs (RFC 3168).
    pub(crate) fn on_data(&mut self, ecn: Ecn, ace: u8, payload: u32) -> bool {
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
            self.cep += 1;
        }
        if self.mode != Feedback::Rfc3168 {
            return false;
        }
        if ace & CWR != 0 {
            self.demand_cwr = false;
        }
        ecn == Ecn::Ce && !std::mem::replace(&mut self.demand_cwr, true)
    }

    /// AE, CWR, ECE of the next ACK.
    pub(crate) fn ace(&self) -> u8 {
        match self.mode {
            Feedback::AccEcn => ((self.cep + 5) & 7) as u8,
            Feedback::Rfc3168 if self.demand_cwr => ECE,
            _ => 0,
        }
    }

    /// Byte counters of the AccECN option, ECT(0), CE, ECT(1), from their initial values.
    pub(crate) fn option(&self) -> Option<[u32; 3]> {
        let counters = [self.bytes[0] + 1, self.bytes[1], self.bytes[2] + 1];
        self.option.then(|| counters.map(|c| (c & 0x00ff_ffff) as u32))
    }
}

/// Sender's side of AccECN: turns the 3-bit counter into newly marked packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct AccEcnSender {
    delivered_ce: u64,
    ce_bytes: u32,
    reading: AceReading,
    /// Segments per ACK, moving average of 1/64, in 1/64.
    per_ack: u32,
}

/// What an ACK delivered, for [`AccEcnSender::decode`].
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Segments newly delivered.
    pub segments: u32,
    /// Bytes newly delivered.
    pub bytes: u64,
    /// The connection is in Open or CWR with at least 16 segments delivered.
    pub regular: bool,
    /// Payload of a full segment.
    pub mss: u32,
}

impl AccEcnSender {
    /// A sender to which `delivered_ce` marks have been reported. Without an option an ACK of many
    /// segments is ambiguous, and `reading` decides.
    pub fn new(delivered_ce: u64, reading: AceReading) -> Self {
        Self { delivered_ce, ce_bytes: 0, reading, per_ack: 2 << 6 }
    }

    /// Newly reported CE packets of an ACK with this ACE field and option (RFC 9768 appendix A.2;
    /// without an option as [`AccEcnSender::new`] was told).
    pub fn decode(&mut self, ace: u8, option: Option<[u32; 3]>, progress: Progress) -> u32 {
        let ce = self.delta(ace, option, progress);
        self.delivered_ce += u64::from(ce);
        ce
    }

    fn delta(&mut self, ace: u8, option: Option<[u32; 3]>, progress: Progress) -> u32 {
        let segments = progress.segments;
        self.per_ack = self.per_ack - (self.per_ack >> 6) + segments;
        let optimistic = match self.reading {
            AceReading::Greatest => false,
            AceReading::ByAckSize => self.per_ack > LARGE_ACK << 6,
            AceReading::Least => true,
        };
        let delta = u32::from(ace).wrapping_sub(5).wrapping_sub(self.delivered_ce as u32) & 7;
        let new_ce_bytes = option.map(|[_, ce, _]| {
            let new = ce.wrapping_sub(self.ce_bytes) & 0x00ff_ffff;
            self.ce_bytes = ce;
            new
        });
        if segments <= 7 || segments < delta {
            return delta;
        }
        let safe = segments - ((segments - delta) & 7);
        match new_ce_bytes {
            None if optimistic => delta,
            Some(0) => delta,
            Some(new) if progress.regular && progress.bytes > 0 => {
                let by_bytes =
                    (u64::from(new) * u64::from(segments)).div_ceil(progress.bytes) as u32;
                safe.min(delta + (by_bytes & !7))
            }
            Some(new) if new > delta * progress.mss => safe,
            Some(new) if new < safe * progress.mss / 2 => delta,
            None | Some(_) => safe,
        }
    }
}

#[cfg(test)]
mod tests {
    use Feedback as F;

    use super::*;

    fn decode(ace: u8, segments: u32, ce_bytes: Option<u32>) -> u32 {
        let progress =
            Progress { segments, bytes: u64::from(segments) * 1448, regular: true, mss: 1448 };
        AccEcnSender::new(10, AceReading::Greatest).decode(
            ace,
            ce_bytes.map(|b| [1, b, 1]),
            progress,
        )
    }

    // KAT cc.md §9 #40 (vectors of 2.4)
    #[test]
    fn ace_decodes_to_the_published_vectors() {
        assert_eq!(decode(1, 2, None), 2);
        assert_eq!(decode(1, 20, None), 18);
        assert_eq!(decode(1, 20, Some(0)), 2);
        assert_eq!(decode(7, 7, None), 0);
        assert_eq!(decode(7, 9, None), 8);
        assert_eq!(decode(1, 20, Some(2896)), 2);
        assert_eq!(decode(1, 20, Some(14480)), 10);
    }

    #[test]
    fn unsafe_decoding_invents_no_marks() {
        let progress = Progress { segments: 9, bytes: 9 * 1448, regular: true, mss: 1448 };
        assert_eq!(AccEcnSender::new(10, AceReading::Greatest).decode(7, None, progress), 8);
        assert_eq!(AccEcnSender::new(10, AceReading::Least).decode(7, None, progress), 0);
        assert_eq!(AccEcnSender::new(10, AceReading::Least).decode(1, None, progress), 2);
    }

    #[test]
    fn large_acks_teach_a_7_x_sender_that_a_jump_is_no_mark() {
        let progress = |segments| Progress {
            segments,
            bytes: u64::from(segments) * 1448,
            regular: true,
            mss: 1448,
        };
        let mut sender = AccEcnSender::new(10, AceReading::ByAckSize);
        assert_eq!(sender.decode(7, None, progress(9)), 8, "one large ACK is suspicious");
        let mut sender = AccEcnSender::new(10, AceReading::ByAckSize);
        let invented: Vec<u32> = (0..100).map(|_| sender.decode(7, None, progress(9))).collect();
        let trusted = invented.iter().position(|ce| *ce == 0).expect("trusts in the end");
        // From a mean of 2, 9 segments per ACK exceed a mean of 4 after 64 ln(7/5) = 21.5 ACKs; the
        // decay rounds down, which saves one or two.
        assert!((18..=21).contains(&trusted), "{trusted}");
        assert_eq!(sender.decode(7, None, progress(2)), 0);
    }

    // KAT cc.md §9 #41
    #[test]
    fn syn_ack_reflects_the_codepoint_of_the_syn() {
        let syn = Negotiation::syn(Feedback::AccEcn);
        for (ecn, ace) in
            [(Ecn::NotEct, 0b010), (Ecn::Ect1, 0b011), (Ecn::Ect0, 0b100), (Ecn::Ce, 0b110)]
        {
            assert_eq!(Negotiation::answer(Feedback::AccEcn, syn, ecn), (Feedback::AccEcn, ace));
            assert_eq!(Negotiation::conclude(Feedback::AccEcn, ace), Feedback::AccEcn);
        }
    }

    #[test]
    fn ends_of_different_ability_agree_on_the_lesser() {
        let ask = |client, server| {
            let (serves, ace) = Negotiation::answer(server, Negotiation::syn(client), Ecn::NotEct);
            (serves, Negotiation::conclude(client, ace))
        };
        assert_eq!(ask(F::AccEcn, F::Rfc3168), (F::Rfc3168, F::Rfc3168));
        assert_eq!(ask(F::Rfc3168, F::AccEcn), (F::Rfc3168, F::Rfc3168));
        assert_eq!(ask(F::Rfc3168, F::Rfc3168), (F::Rfc3168, F::Rfc3168));
        assert_eq!(ask(F::AccEcn, F::None), (F::None, F::None));
        assert_eq!(ask(F::None, F::AccEcn), (F::None, F::None));
    }

    #[test]
    fn counter_wraps_and_every_mark_is_seen_once() {
        let mut receiver = EcnReceiver::new(Feedback::AccEcn, false);
        let mut sender = AccEcnSender::default();
        let (mut marked, mut seen) = (0, 0);
        for i in 0..1000_u32 {
            for ecn in [Ecn::Ect1, if i % 3 == 0 { Ecn::Ce } else { Ecn::Ect1 }] {
                receiver.on_data(ecn, 0, 1448);
                marked += u32::from(ecn == Ecn::Ce);
            }
            let progress = Progress { segments: 2, bytes: 2896, regular: true, mss: 1448 };
            seen += sender.decode(receiver.ace(), None, progress);
        }
        assert_eq!(seen, marked);
    }

    #[test]
    fn rfc3168_repeats_ece_until_cwr() {
        let mut receiver = EcnReceiver::new(Feedback::Rfc3168, false);
        assert!(receiver.on_data(Ecn::Ce, 0, 1448));
        assert!(!receiver.on_data(Ecn::Ce, 0, 1448));
        assert!(!receiver.on_data(Ecn::Ect0, 0, 1448));
        assert_eq!(receiver.ace(), ECE);
        receiver.on_data(Ecn::Ect0, CWR, 1448);
        assert_eq!(receiver.ace(), 0);
    }
}
