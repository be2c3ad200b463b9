use super::*;

/// A sender that has been told of 10 packets with CE, and whose ACKs are not compressed.
fn told_of_ten() -> Counters {
    let mut counters = Counters { ewma: 2 << EWMA_FRACTION, ..Counters::default() };
    counters.begin();
    counters.packet(&Feedback { ace: 2, packets: 5, ..Feedback::default() }, None);
    counters.packet(&Feedback { ace: 7, packets: 5, ..Feedback::default() }, None);
    counters
}

fn feedback(ace: u8, packets: u32, bytes: u64) -> Feedback {
    Feedback { ace, packets, bytes, mss: 1448 }
}

// KAT inspect 1
#[test]
fn steps_of_the_field_are_resolved_by_packets_and_bytes() {
    let ce = |bytes: u32| Some(AccEcn::new([1, bytes, 1], false));
    // ACE, packets, bytes, bytes with CE; marks.
    for (ace, packets, bytes, option, marks) in [
        (1, 2, 0, None, 2),
        (1, 20, 0, None, 18),
        (1, 20, 28_960, ce(0), 2),
        (7, 7, 0, None, 0),
        (7, 9, 0, None, 8),
        (1, 20, 28_960, ce(2896), 2),
        (1, 20, 28_960, ce(14_480), 10),
    ] {
        let mut counters = told_of_ten();
        let found = counters.packet(&feedback(ace, packets, bytes), option.as_ref());
        assert_eq!(found, marks, "ACE {ace} of {packets} packets, {option:?}");
        assert_eq!(counters.report(10).excess_over_capture, i64::from(marks));
    }
}

// KAT inspect 2
#[test]
fn compressed_acks_are_taken_for_few_marks() {
    let mut counters = Counters::default();
    counters.begin();
    for _ in 0..10 {
        counters.packet(&feedback(5, 40, 0), None);
    }
    let report = counters.report(0);
    assert_eq!(
        (report.ce_packets_ace, report.ce_packets_least, report.ce_packets_safe),
        (0, 0, 400)
    );
    assert_eq!(report.ambiguous, 10);
}

// KAT inspect 3
#[test]
fn byte_counters_wrap_at_24_bits_from_their_initial_values() {
    let mut counters = Counters::default();
    counters.begin();
    let mut bytes = [1_u32, 0, 1];
    for _ in 0..50 {
        bytes[0] += 1_000_000;
        bytes[1] += 500_000;
        bytes[2] += 2;
        counters.packet(&feedback(5, 1, 1_500_000), Some(&AccEcn::new(bytes, true)));
    }
    let report = counters.report(0);
    let totals = [report.ect0_bytes, report.ce_bytes, report.ect1_bytes];
    assert_eq!(totals, [Some(50_000_000), Some(25_000_000), Some(100)]);
    assert_eq!((report.options, report.contradictions), (50, 50), "bytes with CE, and no packet");
}

#[test]
fn a_capture_without_handshake_begins_with_its_first_counters() {
    let mut counters = Counters::default();
    let option = |ce| AccEcn::new([77, ce, 99], false);
    assert_eq!(counters.packet(&feedback(3, 4, 4000), Some(&option(5000))), 0);
    assert_eq!(counters.packet(&feedback(4, 4, 4000), Some(&option(6448))), 1);
    assert_eq!(counters.report(1).ce_bytes, Some(1448));
}
