use super::*;
use sojourn_core::ecn::Ecn;

// scim: one CE for every Tau marks.
#[test]
fn every_tau_th_mark_is_ce_or_a_drop_that_spares_the_last_packet() {
    let (mut tally, mut log) = (Tally::new(4), Log::default());
    let mut mark = |ecn: Ecn, is_last| {
        let mut pkt = Packet { tos: ecn as u8, ..Packet::default() };
        let stays = tally.mark(&mut pkt, is_last, Reason::Sce, &mut log);
        (stays, pkt.ecn())
    };
    for _ in 0..2 {
        assert_eq!([0; 3].map(|_| mark(Ecn::Ect0, false)), [(true, Ecn::Ect1); 3]);
        assert_eq!(mark(Ecn::Ect0, false), (true, Ecn::Ce));
    }
    assert_eq!([0; 3].map(|_| mark(Ecn::NotEct, false)), [(true, Ecn::NotEct); 3]);
    assert_eq!(mark(Ecn::NotEct, true), (true, Ecn::NotEct));
    assert_eq!(mark(Ecn::NotEct, false), (false, Ecn::NotEct));
    assert_eq!([0; 3].map(|_| mark(Ecn::Ect1, true)), [(true, Ecn::Ect1); 3]);
    assert_eq!(mark(Ecn::Ect1, true), (true, Ecn::Ce));
    assert_eq!((tally.sce, tally.ce), (6, 3));
}
