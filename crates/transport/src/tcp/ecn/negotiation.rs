//! What the ends agree on in the handshake (RFC 3168 6.1.1, RFC 9768 3.1).

use sojourn_cc::Feedback;
use sojourn_core::Ecn;

use crate::tcp::segment::{AE, CWR, ECE};

/// The handshake's ECN bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiation;

impl Negotiation {
    /// AE, CWR, ECE of a SYN that asks for `wish`.
    pub fn syn(wish: Feedback) -> u8 {
        match wish {
            Feedback::AccEcn => AE | CWR | ECE,
            Feedback::Rfc3168 | Feedback::Dctcp | Feedback::Sce => CWR | ECE,
            Feedback::None | Feedback::Ccfb | Feedback::Counters => 0,
        }
    }

    /// What a server that supports `able` makes of the SYN's bits, and its SYN/ACK's bits.
    /// `syn_ecn` is the codepoint with which the SYN arrived (RFC 9768 table 2).
    pub fn answer(able: Feedback, syn_ace: u8, syn_ecn: Ecn) -> (Feedback, u8) {
        let classic = matches!(able, Feedback::Rfc3168 | Feedback::Dctcp | Feedback::Sce);
        match (able, syn_ace) {
            (Feedback::AccEcn, 0) | (Feedback::None | Feedback::Ccfb | Feedback::Counters, _) => {
                (Feedback::None, 0)
            }
            (Feedback::AccEcn, 0b011) => (Feedback::Rfc3168, ECE),
            (Feedback::AccEcn, _) => (Feedback::AccEcn, Self::reflect(syn_ecn)),
            // A SYN of RFC 3168 is never ECN-capable: a middlebox sets the codepoint of every packet, and
            // marks would mean nothing (Linux `tcp_ecn_create_request`). DCTCP's own are.
            (Feedback::Rfc3168 | Feedback::Sce, ace) if syn_ecn.is_capable() && ace & AE == 0 => {
                (Feedback::None, 0)
            }
            (_, ace) if classic && ace & (CWR | ECE) == CWR | ECE => (able, ECE),
            _ => (Feedback::None, 0),
        }
    }

    /// What a client that asked for `wish` makes of the SYN/ACK's bits (RFC 9768 3.1.1 and 3.1.2; RFC 3168
    /// 6.1.1).
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

    /// Whether a SYN sent with `sent` can have arrived as this ACE says (RFC 9768 3.2.2.3): on the way
    /// only CE may take the place of a capable codepoint.
    pub fn is_plausible(sent: Ecn, ace: u8) -> bool {
        ace == Self::reflect(sent) || (sent.is_capable() && ace == Self::reflect(Ecn::Ce))
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

#[cfg(test)]
mod tests;
