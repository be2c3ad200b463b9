use super::super::Event;
use super::*;
use crate::qdiscs::change;
use sojourn_core::ecn::Ecn;

fn make(options: &str) -> JudgedFifo<Brickwall> {
    JudgedFifo::read(options)
}

/// The codepoint of the first of two packets that leave after `delay`; none if it is dropped.
fn outcome(options: &str, delay: Dur, ecn: Ecn) -> Option<Ecn> {
    let (mut q, mut log) = (make(options), Log::default());
    for id in 0..2 {
        let pkt = Packet { id, len: 1514, tos: ecn as u8, ..Packet::default() };
        q.enqueue(Time::ZERO, pkt, &mut log);
    }
    let first = q.dequeue(Time::ZERO + delay, &mut log).unwrap();
    (first.id == 0).then(|| first.ecn())
}

// scim's brickwall.
#[test]
fn every_packet_beyond_a_threshold_is_marked_or_dropped() {
    for (us, ect0, ect1, not_ect) in [
        (5_000, Some(Ecn::Ect0), Some(Ecn::Ect1), Some(Ecn::NotEct)),
        (5_001, Some(Ecn::Ect1), Some(Ecn::Ect1), Some(Ecn::NotEct)),
        (25_000, Some(Ecn::Ect1), Some(Ecn::Ect1), Some(Ecn::NotEct)),
        (25_001, Some(Ecn::Ce), Some(Ecn::Ce), None),
        (125_000, Some(Ecn::Ce), Some(Ecn::Ce), None),
        (125_001, None, None, None),
    ] {
        let delay = Dur::from_micros(us);
        let got = [Ecn::Ect0, Ecn::Ect1, Ecn::NotEct].map(|ecn| outcome("", delay, ecn));
        assert_eq!(got, [ect0, ect1, not_ect], "{us} us");
    }
}

#[test]
fn thresholds_can_be_moved_and_taken_away() {
    let late = Dur::from_secs(1);
    assert_eq!(outcome("no-drop", late, Ecn::Ect0), Some(Ecn::Ce));
    assert_eq!(outcome("no-drop no-ecn", late, Ecn::Ect0), Some(Ecn::Ect1));
    assert_eq!(outcome("no-drop no-ecn no-sce", late, Ecn::Ect0), Some(Ecn::Ect0));
    let mut q = make("limit 9");
    change(&mut q, Time::ZERO, "brickwall ecn-threshold 3ms no-sce", &mut Log::default()).unwrap();
    let expected = "brickwall no-sce ecn-threshold 3ms drop-threshold 125ms limit 9p";
    assert_eq!(q.describe(), expected);
}

#[test]
fn last_packet_is_never_dropped() {
    let (mut q, mut log) = (make(""), Log::default());
    for id in 0..5 {
        q.enqueue(Time::ZERO, Packet { id, len: 1514, ..Packet::default() }, &mut log);
    }
    assert_eq!(q.dequeue(Time(1 << 40), &mut log).unwrap().id, 4);
    let drops: Vec<Reason> = log
        .drain()
        .map(|event| match event {
            Event::Drop(_, reason) => reason,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(drops, [Reason::Overload; 4]);
}
