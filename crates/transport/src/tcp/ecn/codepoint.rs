//! Which packets are ECN-capable.

use sojourn_cc::{Feedback, Needs};
use sojourn_core::Ecn;

/// What a packet is to ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Syn,
    SynAck,
    /// New data, FIN included.
    Data,
    Retransmission,
    PureAck,
}

/// The codepoint of a packet. `mode` is the feedback that the connection uses, of a SYN the one that it
/// asks for; `ecn_plus_plus` is draft-ietf-tcpm-generalized-ecn.
pub(crate) fn codepoint(role: Role, mode: Feedback, needs: Needs, ecn_plus_plus: bool) -> Ecn {
    let wide = needs.ect_on_control || ecn_plus_plus;
    let capable = match mode {
        Feedback::None | Feedback::Ccfb | Feedback::Counters => false,
        // RFC 3168 excludes all but new data. ECN++ adds what follows the SYN, but no ACKs.
        Feedback::Rfc3168 | Feedback::Sce => match role {
            Role::Data => true,
            Role::SynAck | Role::Retransmission => ecn_plus_plus,
            Role::Syn | Role::PureAck => false,
        },
        // Linux sends everything ECN-capable under the DCTCP controller, the SYN included.
        Feedback::Dctcp => match role {
            Role::Data => true,
            Role::SynAck | Role::Retransmission => wide,
            Role::Syn | Role::PureAck => needs.ect_on_control,
        },
        // A SYN may be capable because its mark can be reported.
        Feedback::AccEcn => match role {
            Role::Data | Role::Retransmission | Role::PureAck => true,
            Role::Syn => wide,
            Role::SynAck => ecn_plus_plus,
        },
    };
    if capable { needs.codepoint.unwrap_or(Ecn::Ect0) } else { Ecn::NotEct }
}

#[cfg(test)]
mod tests {
    use Feedback as F;

    use super::*;

    const ROLES: [Role; 5] =
        [Role::Syn, Role::SynAck, Role::Data, Role::Retransmission, Role::PureAck];

    fn capable(mode: Feedback, needs: Needs, ecn_plus_plus: bool) -> [bool; 5] {
        ROLES.map(|role| codepoint(role, mode, needs, ecn_plus_plus) != Ecn::NotEct)
    }

    // KAT ecn 2: SYN, SYN/ACK, data, retransmission, pure ACK
    #[test]
    fn each_scheme_marks_its_own_kinds_of_packet() {
        let plain = Needs::default();
        let wide = Needs { ect_on_control: true, ..plain };
        for (mode, needs, plus, expected) in [
            (F::None, wide, true, [false; 5]),
            (F::Rfc3168, plain, false, [false, false, true, false, false]),
            (F::Sce, plain, false, [false, false, true, false, false]),
            (F::Rfc3168, wide, false, [false, false, true, false, false]),
            (F::Rfc3168, plain, true, [false, true, true, true, false]),
            (F::AccEcn, plain, false, [false, false, true, true, true]),
            (F::AccEcn, wide, false, [true, false, true, true, true]),
            (F::AccEcn, plain, true, [true; 5]),
            (F::Dctcp, plain, false, [false, false, true, false, false]),
            (F::Dctcp, wide, false, [true; 5]),
        ] {
            assert_eq!(capable(mode, needs, plus), expected, "{mode:?} {needs:?} {plus}");
        }
    }
}
