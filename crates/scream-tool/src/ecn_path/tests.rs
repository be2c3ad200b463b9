use super::*;
use Ecn::{Ce, Ect0, Ect1, NotEct};

fn warning(sent: Ecn, arrived: &[(Ecn, u64)]) -> Option<String> {
    let mut counts = Arrived::default();
    for (ecn, n) in arrived {
        (0..*n).for_each(|_| counts.add(*ecn));
    }
    counts.warning(sent)
}

#[test]
fn what_arrives_as_sent_or_marked_is_fine() {
    assert_eq!(warning(Ect1, &[(Ect1, 900), (Ce, 100)]), None);
    assert_eq!(warning(Ect0, &[(Ect0, 950), (Ce, 50)]), None);
    assert_eq!(warning(NotEct, &[(NotEct, 1000)]), None);
    assert_eq!(warning(Ce, &[(Ce, 1000)]), None);
    assert_eq!(warning(Ect1, &[(NotEct, 199)]), None, "too few to tell");
}

#[test]
fn the_fate_of_the_field_is_a_word() {
    let fate = |sent, arrived, n| {
        let mut counts = Arrived::default();
        (0..n).for_each(|_| counts.add(arrived));
        counts.fate(sent)
    };
    assert_eq!(fate(Ect1, Ect1, 199), None);
    assert_eq!(fate(Ect1, Ce, 200), Some("intact"));
    assert_eq!(fate(Ect1, NotEct, 200), Some("bleached"));
    assert_eq!(fate(Ect1, Ect0, 200), Some("re-marked"));
    assert_eq!(fate(NotEct, NotEct, 200), Some("off"));
}

#[test]
fn each_way_to_lose_the_field_is_named() {
    for (sent, arrived, expected) in [
        (
            Ect1,
            NotEct,
            "the path bleaches the ECN field, so that no mark comes back: of the packets sent as ECT(1) 100 % arrive as Not-ECT",
        ),
        (
            Ect0,
            NotEct,
            "the path bleaches the ECN field, so that no mark comes back: of the packets sent as ECT(0) 100 % arrive as Not-ECT",
        ),
        (
            Ect1,
            Ect0,
            "the path changes the ECN field: no L4S queue sees these packets: of the packets sent as ECT(1) 100 % arrive as ECT(0)",
        ),
        (
            Ect0,
            Ect1,
            "the path changes the ECN field: of the packets sent as ECT(0) 100 % arrive as ECT(1)",
        ),
        (
            NotEct,
            Ect1,
            "the path changes the ECN field: of the packets sent as Not-ECT 100 % arrive as ECT(1)",
        ),
        (
            NotEct,
            Ce,
            "something marks packets that are not ECN-capable: of the packets sent as Not-ECT 100 % arrive as CE",
        ),
        (
            Ect1,
            Ce,
            "something marks every packet, which tells nothing of congestion: of the packets sent as ECT(1) 100 % arrive as CE",
        ),
    ] {
        assert_eq!(warning(sent, &[(arrived, 500)]).as_deref(), Some(expected));
    }
    let half = warning(Ect1, &[(Ect1, 500), (NotEct, 500)]).expect("a warning");
    assert!(half.ends_with("50 % arrive as Not-ECT"), "{half}");
}
