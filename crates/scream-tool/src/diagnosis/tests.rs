use super::*;

const CLEAR: Moment =
    Moment { target_kbps: 5e3, greatest_kbps: 5e5, queue_delay_s: 0.0, lost_kbps: 0.0, marked: 0 };

/// The line after 10 s of such moments; every tenth has a new mark if `marks`.
fn line(m: Moment, marks: bool, change: impl FnOnce(&mut Diagnosis, &mut Facts<'_>)) -> String {
    let mut diagnosis = Diagnosis::default();
    (0..200).for_each(|n| diagnosis.sample(Moment { marked: if marks { n / 5 } else { 0 }, ..m }));
    let mut arrived = Arrived::default();
    (0..980).for_each(|_| arrived.add(Ecn::Ect1));
    (0..20).for_each(|_| arrived.add(if marks { Ecn::Ce } else { Ecn::Ect1 }));
    let mut facts = Facts {
        sent_as: Ecn::Ect1,
        arrived: &arrived,
        is_fixed: false,
        run: Dur::from_secs(10),
        without_feedback: Dur::ZERO,
        overflowed: 0,
        refused: 0,
    };
    change(&mut diagnosis, &mut facts);
    diagnosis.line(&facts)
}

#[test]
fn each_limit_has_its_evidence() {
    let queued = Moment { queue_delay_s: 0.03, ..CLEAR };
    let full = Moment { target_kbps: 5e5, ..CLEAR };
    for (m, expected) in [
        (queued, "limited by the path;"),
        (full, "limited by the encoder;"),
        (CLEAR, "limited by nothing yet, the rate was still rising;"),
    ] {
        let line = line(m, false, |_, _| ());
        assert!(line.starts_with(expected), "{line}");
    }
    let fixed = line(CLEAR, false, |_, f| f.is_fixed = true);
    assert!(fixed.starts_with("limited by the encoder;"), "{fixed}");
    let slow = line(queued, false, |d, _| (0..50).for_each(|_| d.woke(Dur::from_millis(8))));
    assert!(
        slow.starts_with("limited by this machine (50 missed deadlines, 0.4 s late);"),
        "{slow}"
    );
    let busy = line(queued, false, |_, f| f.overflowed = 7);
    assert!(busy.starts_with("limited by the receiver (7 packets overflowed"), "{busy}");
    let deaf = line(queued, false, |_, f| f.without_feedback = Dur::from_secs(3));
    assert!(deaf.starts_with("limited by the receiver (no feedback for 3.0 s)"), "{deaf}");
}

#[test]
fn the_queue_is_known_by_its_marks_and_their_delay() {
    let at = |queue_delay_s| Moment { queue_delay_s, ..CLEAR };
    for (m, marks, expected) in [
        (at(0.001), true, "ECN intact; L4S queue seen (2.00 % marked, at 1.0 ms)"),
        (at(0.006), true, "ECN intact; classic ECN seen (2.00 % marked, at 6.0 ms)"),
        (at(0.04), false, "ECN intact; a bottleneck without ECN (queue grew to 40 ms, no marks)"),
        (at(0.002), false, "ECN intact; no queue seen"),
    ] {
        let line = line(m, marks, |_, _| ());
        assert!(line.ends_with(expected), "{line}");
    }
    // A mark on ECT(0) is no L4S queue's answer to this flow.
    let line = line(at(0.001), true, |_, f| f.sent_as = Ecn::Ect0);
    assert!(line.contains("classic ECN seen"), "{line}");
}

#[test]
fn a_short_run_is_no_diagnosis() {
    let mut diagnosis = Diagnosis::default();
    diagnosis.sample(CLEAR);
    let facts = Facts {
        sent_as: Ecn::NotEct,
        arrived: &Arrived::default(),
        is_fixed: false,
        run: Dur::from_secs(1),
        without_feedback: Dur::ZERO,
        overflowed: 0,
        refused: 0,
    };
    assert_eq!(
        diagnosis.line(&facts),
        "too short to tell what limits the rate; ECN unknown; no queue seen"
    );
    assert!(diagnosis.object(&facts)["limited_by"].is_null());
}
