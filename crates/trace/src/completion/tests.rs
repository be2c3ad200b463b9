#![allow(clippy::disallowed_methods, reason = "what is expected may be the platform's")]

use super::*;

// KAT completion 1
#[test]
fn a_transfer_of_150_segments_takes_five_round_trips() {
    assert_eq!(slow_start_rounds(150, 10), 5);
}

// KAT completion 2
#[test]
fn rounds_double_from_the_initial_window_as_the_closed_form_says() {
    assert_eq!([10, 11, 150, 310].map(|n| slow_start_rounds(n, 10)), [2, 3, 5, 6]);
    for n in 1..5000_u64 {
        let closed = 1.0 + (n as f64 / 10.0 + 1.0).log2().ceil();
        assert_eq!(slow_start_rounds(n, 10) as f64, closed, "{n} segments");
    }
}

// KAT path 1
#[test]
fn fifty_megabits_over_eighty_milliseconds_hold_333_packets() {
    let packets = bdp_packets(Rate(50_000_000), Dur::from_millis(80), 1500);
    assert_eq!(packets as u64, 333);
}

// KAT path 2
#[test]
fn goodput_is_at_most_0_956_of_the_rate() {
    assert!((goodput_factor(1448, 1514) - 0.956).abs() < 0.001);
}

#[test]
fn slowdown_is_measured_against_serialisation_and_one_round_trip() {
    let rate = Some(Rate(8_000_000));
    assert_eq!(ideal(10_000.0, rate, Dur::from_millis(20)), Dur::from_millis(30));
    let done = [(60.0, 10_000.0), (30.0, 10_000.0)];
    let c = Completions::of(&done, rate, Dur::from_millis(20)).expect("two transfers");
    assert_eq!((c.slowdown.max, c.slowdown.mean, c.fct_ms.n), (2.0, 1.5, 2));
    assert!(Completions::of(&[], rate, Dur::ZERO).is_none());
}
