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
        // RFC 3168 6.1.1, 6.1.4 to 6.1.6: new data only. ECN++ adds what follows the SYN, but no ACKs.
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
mod tests;
