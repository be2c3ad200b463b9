//! What the ACK filter takes, and what SCE marks.

use super::*;
use sojourn_core::packet::Kind;

fn ack(id: u32, ack: u32) -> Packet {
    Packet { kind: Kind::TcpAck, len: 66, ack, tos: 0, ..packet(1, id) }
}

/// Ids of the acknowledgements that the filter takes out of `acks` queued at once.
fn filtered(options: &str, acks: &[Packet]) -> Vec<u32> {
    let (mut q, mut log) = (make(options), Log::default());
    for pkt in acks {
        q.enqueue(Time::ZERO, *pkt, &mut log);
    }
    log.drain()
        .map(|event| match event {
            Event::Drop(p, Reason::AckFilter) => p.id,
            other => panic!("{other:?}"),
        })
        .collect()
}

// Linux 6.12 sch_cake.c cake_ack_filter().
#[test]
fn ack_filter_keeps_one_superfluous_ack_and_the_aggressive_one_none() {
    let acks: Vec<Packet> = (0..4).map(|i| ack(i, 1000 * i)).collect();
    assert_eq!(filtered("ack-filter", &acks), [0, 1]);
    assert_eq!(filtered("ack-filter-aggressive", &acks), [0, 1, 2]);
    assert_eq!(filtered("no-ack-filter", &acks), [0; 0]);
}

#[test]
fn ack_filter_leaves_what_carries_information() {
    let plain = [ack(0, 1), ack(1, 2), ack(2, 3)];
    assert_eq!(filtered("ack-filter", &plain), [0]);
    let middle = plain[1];
    for (why, spoilt) in [
        ("ECE changes", Packet { ace: 1, ..middle }),
        ("other flow", Packet { flow: FlowId(40), ..middle }),
        ("data", Packet { kind: Kind::TcpData, ..middle }),
        ("FIN", Packet { kind: Kind::TcpControl, ..middle }),
        ("SACKs more than the last", Packet { sacked: 10, ..middle }),
    ] {
        let acks = [plain[0], spoilt, plain[2]];
        assert_eq!(filtered("ack-filter flowblind", &acks), [0; 0], "{why}");
    }
    // Duplicates tell of losses.
    assert_eq!(filtered("ack-filter-aggressive", &[ack(0, 1), ack(1, 1), ack(2, 1)]), [0; 0]);
    // Sequence numbers wrap.
    assert_eq!(filtered("ack-filter", &[ack(0, u32::MAX - 1), ack(1, u32::MAX), ack(2, 5)]), [0]);
}

#[test]
fn third_flag_protects_in_mainline_and_delimits_runs_where_sce_is_known() {
    let esce: Vec<Packet> = (0..3).map(|i| Packet { ace: 4, ..ack(i, i) }).collect();
    assert_eq!(filtered("ack-filter", &esce), [0; 0]);
    assert_eq!(filtered("ack-filter sce", &esce), [0]);
    let mut mixed = esce;
    mixed[1].ace = 0;
    assert_eq!(filtered("ack-filter sce", &mixed), [0; 0]);
}

// KAT cake 5
#[test]
fn sce_ramps_have_the_published_slopes() {
    let p = |ramp: &sce::Ramp, us: u64, target: u64| {
        let sojourn = us * 1000;
        let p = ramp.probability(sojourn, sojourn > target) as f64 / (1_u64 << 32) as f64;
        (p.min(1.0) * 1e5).floor() / 1e5
    };
    for (divisor, expected) in [
        (1, [0.19989, 0.49971, 0.99943, 1.0, 1.0]),
        (4, [0.04994, 0.12486, 0.24971, 0.39994, 0.62486]),
        (20, [0.0099, 0.02474, 0.04948, 0.23999, 0.52497]),
        (1024, [0.00012, 0.00029, 0.00058, 0.20075, 0.5004]),
        (sce::SINGLE, [0.0, 0.0, 0.0, 0.19977, 0.49942]),
    ] {
        let ramp = sce::Ramp::new(divisor, 5 * MS);
        for (us, expected) in [3000, 3750, 5000, 6000, 7500].into_iter().zip(expected) {
            let p = p(&ramp, us, 5 * MS);
            // The table is rounded to five digits.
            assert!((p - expected).abs() < 1.5e-5, "{divisor} at {us} us: {p} {expected}");
        }
        assert_eq!(ramp.probability(2_500_000, false), 0);
    }
    assert_eq!(sce::Ramp::new(0, 5 * MS).probability(7 * MS, true), 0);
}

#[test]
fn sce_marks_only_ect0_and_reports_it_to_the_trace() {
    for (tos, after) in [(0, 0), (1, 1), (2, 1), (3, 3)] {
        let (mut q, mut log) = (make("sce besteffort"), Log::default());
        q.enqueue(Time(0), Packet { tos, ..packet(1, 0) }, &mut log);
        let sent = q.dequeue(Time(6 * MS), &mut log).unwrap();
        assert_eq!(sent.tos, after);
        assert_eq!(stat(&*q, "tin0.sce"), f64::from(u8::from(tos == 2)));
        let marks = log.drain().filter(|e| matches!(e, Event::Mark(_, Reason::Sce))).count();
        assert_eq!(marks, usize::from(tos == 2));
    }
}

#[test]
fn ce_wins_over_sce_and_both_come_from_a_queue_above_target() {
    let (mut q, mut log) = (make("sce flowblind besteffort"), Log::default());
    for id in 0..3 {
        q.enqueue(Time(0), packet(1, id), &mut log);
    }
    let sent: Vec<u8> =
        (0..3).map(|i| q.dequeue(Time((6 + i) * MS), &mut log).unwrap().tos).collect();
    assert_eq!(sent, [1, 3, 1]);
}

#[test]
fn sce_parameters_select_the_tree_that_has_them() {
    for (options, part) in [
        ("", "no-sce version mainline fresh-root 0"),
        ("sce", "sce version chromi fresh-root 0"),
        ("sce-thresh 20 version mainline", "sce-thresh 20 version mainline fresh-root 0"),
        ("version mainline sce", "sce version mainline fresh-root 0"),
        ("sce-single fresh-root max", "sce-single version chromi fresh-root max"),
    ] {
        let text = make(options).describe();
        assert!(text.contains(&format!(" {part} ")), "{text}");
    }
}
