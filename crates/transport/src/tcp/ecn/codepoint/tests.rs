use Feedback as F;

use super::*;

const ROLES: [Role; 5] = [Role::Syn, Role::SynAck, Role::Data, Role::Retransmission, Role::PureAck];

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
