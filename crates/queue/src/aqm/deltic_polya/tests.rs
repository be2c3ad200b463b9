use super::*;
use sojourn_core::ecn::Ecn;

const MS: u64 = 1_000_000;

fn make(options: &str) -> JudgedFifo<DelticPolya> {
    JudgedFifo::read(options)
}

fn packet(ecn: Ecn) -> Packet {
    Packet { len: 1514, tos: ecn as u8, ..Packet::default() }
}

// KAT deltic 3
#[test]
fn jitter_of_a_constant_service_approaches_its_period() {
    let mut jitter = Jitter::default();
    jitter.restart(Time::ZERO);
    let mut series = Vec::new();
    for ms in 1..=5000 {
        jitter.correct(Time(ms * MS), Dur::ZERO);
        series.push(jitter.estimate);
    }
    assert_eq!((series[999], series[4999]), (631_994, 992_778));
}

#[test]
fn idle_time_before_an_arrival_is_no_jitter() {
    let (mut q, mut log) = (make(""), Log::default());
    for i in 0..10 {
        let now = Time(i * 500 * MS);
        q.enqueue(now, packet(Ecn::Ect0), &mut log);
        assert!(q.dequeue(now, &mut log).is_some());
    }
    assert_eq!(q.judge.jitter.estimate, 0);
}

// chromi/sce 2024 sch_deltic-polya.
#[test]
fn first_build_takes_a_busy_second_for_jitter_of_a_second() {
    for (version, estimate_ms, delay_ms) in [("2024a", 1000, 0), ("2024", 1, 99)] {
        let (mut q, mut log) = (make(&format!("no-drop version {version}")), Log::default());
        for ms in 0..=6100 {
            q.enqueue(Time(ms * MS), packet(Ecn::Ect0), &mut log);
            if ms >= 100 {
                q.dequeue(Time(ms * MS), &mut log).unwrap();
            }
        }
        let rounded = |ns: u64| (ns + MS / 2) / MS;
        assert_eq!(
            (rounded(q.judge.jitter.estimate), rounded(q.fifo.delay.0)),
            (estimate_ms, delay_ms)
        );
    }
}

// chromi/sce 2024 sch_deltic-polya.
#[test]
fn strongest_signal_alone_is_carried_out() {
    let (mut marks, mut log) = (Marks::default(), Log::default());
    let mut outcome = |sce, ecn, drop, codepoint| {
        let mut pkt = packet(codepoint);
        let dropped = marks.apply(Verdict { sce, ecn, drop }, &mut pkt, &mut log);
        (dropped, pkt.ecn())
    };
    assert_eq!(outcome(true, true, true, Ecn::Ect0), (true, Ecn::Ect0));
    assert_eq!(outcome(true, true, false, Ecn::Ect0), (false, Ecn::Ce));
    assert_eq!(outcome(true, false, false, Ecn::Ect0), (false, Ecn::Ect1));
    assert_eq!(outcome(true, true, false, Ecn::NotEct), (true, Ecn::NotEct));
    assert_eq!(outcome(true, false, false, Ecn::NotEct), (false, Ecn::NotEct));
    assert_eq!((marks.sce, marks.ce), (1, 1));
}

// chromi/sce 2024 sch_deltic-polya.
#[test]
fn last_packet_is_not_dropped() {
    let (mut q, mut log) = (make("drop-resonance 1000"), Log::default());
    for _ in 0..100 {
        q.enqueue(Time::ZERO, packet(Ecn::NotEct), &mut log);
    }
    let mut sent = 0;
    for ms in 100.. {
        if q.backlog().packets == 0 {
            break;
        }
        sent += usize::from(q.dequeue(Time(ms * MS), &mut log).is_some());
    }
    assert_eq!(sent + log.events().len(), 100);
    assert!(log.events().len() > 10);
}

#[test]
fn fractions_of_a_hertz_survive_description() {
    let q = make("sce-resonance 12.5 ecn-resonance 0.3 no-drop");
    assert_eq!(
        q.fifo.params.resonances,
        Resonances { sce: Some(819_200), ecn: Some(19_661), drop: None }
    );
    let again = make(q.describe().split_once(' ').unwrap().1);
    assert_eq!(again.fifo.params.resonances, q.fifo.params.resonances);
}

#[test]
fn first_build_counts_in_whole_hertz() {
    let error = |options: &str| format!("deltic_polya {options}").parse::<Spec>().unwrap_err().0;
    let expected = "deltic_polya: `version 2024a` takes whole hertz only";
    assert_eq!(error("sce-resonance 12.5 version 2024a"), expected);
    assert_eq!(error("version 2024a ecn-resonance 0.5"), expected);
    let mut q = make("version 2024a");
    let error =
        crate::qdiscs::change(&mut q, Time::ZERO, "deltic_polya version 2024", &mut Log::default())
            .unwrap_err();
    assert!(error.0.contains("use replace"), "{error}");
}
