use sojourn_core::Rng;

use super::*;

fn after(arrivals: &[(u64, Ecn)]) -> Report {
    let mut rx = Receiver::new(Config { tos: 0, mtu: 1500, bytes: None });
    for &(seq, ecn) in arrivals {
        let data = Data { seq, sent: Time(seq), len: 1400 };
        rx.on_packet(Time::ZERO, &Body::Counted(Message::Data(data)), ecn);
    }
    rx.counts
}

// L4STeam/udp_prague prague_cc.cpp, DataReceivedSequence().
#[test]
fn gaps_are_missing_until_the_late_packet_comes() {
    let counts = |seqs: &[u64]| {
        let arrivals: Vec<_> = seqs.iter().map(|seq| (*seq, Ecn::Ect1)).collect();
        let report = after(&arrivals);
        (report.received, report.lost)
    };
    assert_eq!(counts(&[1, 2, 3]), (3, 0));
    assert_eq!(counts(&[1, 2, 5]), (3, 2));
    assert_eq!(counts(&[1, 2, 5, 6]), (4, 2));
    assert_eq!(counts(&[1, 2, 5, 6, 3]), (5, 1));
    assert_eq!(counts(&[1, 2, 5, 6, 3, 4, 7]), (7, 0));
    assert_eq!(counts(&[4]), (1, 3));
}

// tc-netem duplicate.
#[test]
fn copies_are_not_more_packets_than_were_sent() {
    let mut rng = Rng::named(1, "copies");
    let (mut arrivals, mut highest) = (vec![], 0);
    for seq in 1..500 {
        if rng.below(10) == 0 {
            continue;
        }
        let late = if rng.below(10) == 0 { rng.below(20).into() } else { 0 };
        highest = highest.max(seq - late.min(seq - 1));
        for _ in 0..=rng.below(3) {
            arrivals.push((seq - late.min(seq - 1), Ecn::Ce));
        }
        let report = after(&arrivals);
        assert_eq!(report.received + report.lost, highest, "{report:?}");
        assert!(report.ce <= report.received);
    }
    let copies = after(&[1, 1, 2, 2, 2, 1, 3].map(|seq| (seq, Ecn::Ect1)));
    assert_eq!((copies.received, copies.lost), (3, 0));
}

#[test]
fn any_codepoint_but_ect1_and_ce_is_a_lasting_error() {
    assert!(!after(&[(1, Ecn::Ect1), (2, Ecn::Ce)]).error);
    for wrong in [Ecn::NotEct, Ecn::Ect0] {
        let report = after(&[(1, Ecn::Ect1), (2, wrong), (3, Ecn::Ect1)]);
        assert!(report.error, "{wrong:?}");
    }
    assert_eq!(after(&[(1, Ecn::Ce), (2, Ecn::Ce), (3, Ecn::Ect1)]).ce, 2);
}
