use super::*;
use crate::ecn::Ecn;

const MS: u64 = 1_000_000;

/// Milliseconds of the marks among 3000 packets 1 ms apart with the same delay, after one without;
/// and the accumulator at the end.
fn marks(law: Law, hertz: u32, sojourn_ms: u64) -> (Vec<u64>, i64) {
    let mut controller = Controller::NEW;
    let start = 1000 * MS;
    assert!(!controller.step(law, hertz << 16, start, 0));
    let marks = (1..=3000)
        .filter(|ms| controller.step(law, hertz << 16, start + ms * MS, (sojourn_ms * MS) as i64))
        .collect();
    (marks, controller.acc)
}

// KAT aqm.md 12.7
#[test]
fn marks_of_a_constant_delay_come_at_the_published_times() {
    for law in [Law::V2022, Law::V2024] {
        let (times, acc) = marks(law, 40, 50);
        assert_eq!(times[..10], [13, 25, 38, 50, 62, 74, 86, 98, 110, 122]);
        assert_eq!(times.len(), 420, "{law:?}");
        assert_eq!(acc, if law == Law::V2022 { 125_000_000 } else { 5_000_000_000 });
        let (times, _) = marks(law, 200, 10);
        assert_eq!(times[..10], [3, 5, 8, 10, 13, 15, 18, 20, 23, 25]);
        assert_eq!(times.len(), 2100, "{law:?}");
        let (times, _) = marks(law, 8, 250);
        assert_eq!(times[..9], [62, 122, 180, 237, 292, 346, 398, 450, 500]);
    }
}

// KAT aqm.md 12.7
#[test]
fn delay_at_the_target_marks_at_the_resonance() {
    for (law, expected) in [(Law::V2022, 25_000_000), (Law::V2024, 1_000_000_000)] {
        let (times, acc) = marks(law, 40, 25);
        let period: Vec<u64> = (1..=120).map(|i| i * 25).collect();
        assert_eq!((times, acc), (period, expected));
    }
}

// KAT aqm.md 12.7 (a)
#[test]
fn delay_below_half_the_target_marks_nothing_though_the_accumulator_holds_it() {
    for law in [Law::V2022, Law::V2024] {
        let mut controller = Controller::NEW;
        controller.step(law, 40 << 16, 1000 * MS, 0);
        for ms in 1..=500 {
            assert!(!controller.step(law, 40 << 16, (1000 + ms) * MS, 12 * MS as i64));
            assert!(controller.acc > 0 && controller.osc == 0, "{ms}");
        }
    }
}

#[test]
fn silence_of_a_second_forgets_if_the_delay_is_short_and_counts_once_if_it_is_long() {
    let law = Law::V2022;
    let mut controller = Controller::NEW;
    controller.step(law, 40 << 16, 1000 * MS, 0);
    for ms in 1..=10 {
        controller.step(law, 40 << 16, (1000 + ms) * MS, 50 * MS as i64);
    }
    let mut short = controller;
    short.step(law, 40 << 16, 5000 * MS, 0);
    assert_eq!(short.acc, 0);
    let before = controller.acc;
    controller.step(law, 40 << 16, 5000 * MS, 50 * MS as i64);
    assert_eq!(controller.acc, before + 25 * MS as i64);
}

fn make(words: &str) -> Deltic {
    Deltic::parse(&mut Args::new(ENTRY.name, ENTRY.params, words)).unwrap()
}

/// Counts of codepoints that leave a queue with 60 ms of standing delay, and drops.
fn outcome(words: &str, ecn: Ecn) -> ([usize; 4], usize) {
    let (mut q, mut log) = (make(words), Log::default());
    let mut counts = [0; 4];
    for i in 0..1060 {
        let now = Time(i * MS);
        q.enqueue(now, Packet { len: 1514, tos: ecn as u8, ..Packet::default() }, &mut log);
        if i >= 60
            && let Some(pkt) = q.dequeue(now, &mut log)
        {
            counts[usize::from(pkt.tos & 3)] += 1;
        }
    }
    let drops = log.events().iter().filter(|e| matches!(e, super::super::Event::Drop(..))).count();
    (counts, drops)
}

// aqm.md 12.2
#[test]
fn three_controllers_act_by_the_codepoint() {
    let (counts, drops) = outcome("", Ecn::Ect0);
    assert!(counts[3] > 60 && counts[1] > 300 && drops == 0, "{counts:?} {drops}");
    let (counts, drops) = outcome("", Ecn::NotEct);
    assert!(counts[1..] == [0; 3] && drops > 20, "{counts:?} {drops}");
    let (counts, drops) = outcome("no-sce no-ecn", Ecn::Ect0);
    assert_eq!((counts[1], counts[3], drops), (0, 0, 0));
}

#[test]
fn limit_is_none_unless_given() {
    for (words, held) in [("", 20_000), ("limit 100", 100)] {
        let (mut q, mut log) = (make(words), Log::default());
        for _ in 0..20_000 {
            q.enqueue(Time::ZERO, Packet { len: 100, ..Packet::default() }, &mut log);
        }
        assert_eq!(q.backlog().packets, held);
    }
}
