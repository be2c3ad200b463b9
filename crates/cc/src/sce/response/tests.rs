#![allow(clippy::disallowed_methods, reason = "what is expected may be the platform's")]

use super::*;
use sojourn_core::grammar::{read, table};

fn params(text: &str, md: f64) -> Params {
    let mut p = Params::new(md);
    let mut args = Args::of("response", &table::<Params>, text);
    read(&mut p, &mut args).expect("valid options");
    p
}

fn kept(text: &str, srtt_ms: u64) -> f64 {
    params(text, 0.5).kept(100, Dur::from_millis(srtt_ms))
}

#[track_caller]
fn close(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} instead of {expected}");
}

// KAT scim 1: a half's and CUBIC's
#[test]
fn a_mark_multiplies_cwnd_by_the_64th_root_of_the_reduction() {
    close(params("response md", 0.5).kept(100, Dur::ZERO), 0.989_228, 1e-6);
    close(params("response md", 0.7).kept(100, Dur::ZERO), 0.994_443, 1e-6);
    close(kept("response md md 0.8 tau 16", 80).powi(16), 0.8, 1e-9);
}

// KAT scim 2
#[test]
fn marks_per_reduction_follow_the_round_trip_time() {
    for law in ["md", "ratefair", "hybrid", "mild"] {
        close(kept(&format!("response {law}"), 20).powi(64), 0.5, 1e-9);
    }
    for (law, at_80_ms, at_10_ms) in
        [("md", 64, 64), ("ratefair", 1024, 16), ("hybrid", 256, 32), ("mild", 128, 45)]
    {
        let text = format!("response {law}");
        close(kept(&text, 80).powi(at_80_ms), 0.5, 1e-9);
        // Mild has 64/√2 = 45.25.
        close(kept(&text, 10).powi(at_10_ms), 0.5, 0.003);
        assert_eq!(kept(&format!("{text} nominal 40ms"), 80), kept(&text, 40), "{law}");
    }
    // Before the first sample, and where scaling would make of a mark more than a reduction.
    assert_eq!(kept("response ratefair", 0), kept("response md", 0));
    close(kept("response ratefair", 1), 0.5, 1e-9);
}

// KAT scim 3
#[test]
fn sqrtp_takes_a_root_of_cwnd_per_mark() {
    for (cwnd, left) in [(100, 0.9), (400, 0.95), (1, 0.0)] {
        close(params("response sqrtp", 0.5).kept(cwnd, Dur::ZERO), left, 1e-12);
    }
}

// KAT scim 4: 64 responses per smoothed RTT
#[test]
fn at_most_tau_marks_are_answered_per_smoothed_rtt() {
    for (text, most) in [("response md", 64), ("response sqrtp", 64), ("response md tau 5", 5)] {
        let mut response = Response::new(params(text, 0.5)).expect("a law of scim");
        let path = Path { srtt: Dur::from_millis(20), ..Path::default() };
        let cut = |response: &mut Response, us: u64| {
            response.cut(Time::ZERO + Dur::from_micros(us), &path, 100, 144_800) > 0
        };
        // 200 marks within a round trip, twice.
        for round in [0, 20_000] {
            let answers = (0..200).filter(|n| cut(&mut response, round + n * 50)).count();
            assert_eq!(answers, most, "{text}");
        }
        assert!(!cut(&mut response, 39_999) && cut(&mut response, 40_000), "{text}");
    }
}

#[test]
fn a_word_that_is_no_law_and_a_number_out_of_range_are_refused() {
    for (options, expected) in [
        ("response cubic", "one of module, md, ratefair, hybrid, mild, sqrtp"),
        ("md 1", "a number from 0.01 to 0.99"),
        ("tau 0", "a whole number from 1 to 1024"),
        ("nominal 0ms", "a time above zero"),
    ] {
        for cc in ["reno-sce", "cubic-sce"] {
            let Err(error) = crate::build(&format!("{cc} {options}")) else {
                panic!("{cc} {options} is accepted");
            };
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
