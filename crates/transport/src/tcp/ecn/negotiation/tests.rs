use Feedback as F;

use super::*;

// KAT accecn 2
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
    assert_eq!(ask(F::Dctcp, F::Dctcp), (F::Dctcp, F::Dctcp));
    assert_eq!(ask(F::Sce, F::Sce), (F::Sce, F::Sce));
    assert_eq!(ask(F::Sce, F::AccEcn), (F::Rfc3168, F::Sce), "SCE is not negotiated");
    assert_eq!(ask(F::AccEcn, F::Sce), (F::Sce, F::Rfc3168));
    assert_eq!(ask(F::Dctcp, F::None), (F::None, F::None));
}
