use super::*;

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

// KAT deltic 1
#[test]
fn marks_of_a_constant_delay_come_at_the_published_times() {
    for law in [Law::V2022, Law::V2024a, Law::V2024] {
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

// KAT deltic 1
#[test]
fn delay_at_the_target_marks_at_the_resonance() {
    for (law, expected) in [
        (Law::V2022, 25_000_000),
        (Law::V2023a, 25_000_000),
        (Law::V2024a, 1_000_000_000),
        (Law::V2024, 1_000_000_000),
    ] {
        let (times, acc) = marks(law, 40, 25);
        let period: Vec<u64> = (1..=120).map(|i| i * 25).collect();
        assert_eq!((times, acc), (period, expected));
    }
}

// KAT deltic 2
#[test]
fn delay_below_half_the_target_marks_nothing_though_the_accumulator_holds_it() {
    for law in [Law::V2022, Law::V2024a, Law::V2024] {
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

// chromi/sce 2024 net/deltic.h.
#[test]
fn interim_law_of_2023_integrates_the_excess_faster_by_the_frequency() {
    let excess = |law: Law, hertz: u32| {
        let mut controller = Controller::NEW;
        controller.step(law, hertz << 16, 1000 * MS, 0);
        for ms in 1..=10 {
            controller.step(law, hertz << 16, (1000 + ms) * MS, 50 * MS as i64);
        }
        // Less the change of the delay, which both laws count once.
        controller.acc - 50 * MS as i64
    };
    // 25 ms above the target for 10 ms.
    assert_eq!(excess(Law::V2022, 40), 250_000);
    assert_eq!(excess(Law::V2023a, 40), 40 * 250_000);
}

// chromi/sce 2024 net/deltic.h.
#[test]
fn accumulator_bleeds_since_2023_when_the_oscillator_falls_behind() {
    let after = |law: Law| {
        let level = if law < Law::V2024a { 100_000_000_000 / 40 } else { 100_000_000_000 };
        let (acc, osc, clock) = (level, 0, 1001 * MS);
        let mut controller = Controller { acc, osc, history: 25 * MS as i64, timestamp: 1000 * MS };
        // At the target nothing is added; 100 times the resonance is four oscillations in 1 ms.
        assert!(controller.step(law, 40 << 16, clock, 25 * MS as i64));
        assert_eq!(controller.osc, 3_000_000_000);
        (level, controller.acc)
    };
    for law in [Law::V2023a, Law::V2024a, Law::V2024] {
        let (before, acc) = after(law);
        assert_eq!(acc, before - before / 16, "{law:?}");
    }
    let (before, acc) = after(Law::V2022);
    assert_eq!(acc, before);
}

#[test]
fn delay_at_the_target_marks_at_a_fractional_resonance_too() {
    let count = |hertz_q16: u32| {
        let mut controller = Controller::NEW;
        let target = (SECOND << 16) / i64::from(hertz_q16);
        controller.step(Law::V2024, hertz_q16, 1000 * MS, 0);
        (1..=100_000)
            .filter(|ms| controller.step(Law::V2024, hertz_q16, (1000 + ms) * MS, target))
            .count()
    };
    // At the target it marks at the resonance: 12.5 Hz for 100 s.
    assert_eq!(count(819_200), 1250);
    assert_eq!(count(25 << 16), 2500);
}
