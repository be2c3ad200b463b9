use proptest::prelude::*;

use super::*;
use crate::goodput::{Goodput, Share};
use crate::record::Column;
use crate::rfc5166::Bins;

const STEP: Dur = Dur::from_millis(50);

fn at(step: u64) -> Time {
    Time::ZERO + STEP * step
}

/// What is made of samples as they pass, and the series that they are.
fn both(instants: &Instants, samples: &[(u64, f64)]) -> (Running, Vec<Column>, Vec<f64>) {
    let mut running = Running::new(instants);
    let mut together = Vec::new();
    for (step, bytes) in samples {
        running.put(at(*step), "rtt", bytes.sqrt());
        running.deliver(at(*step), *bytes, |bin, mbps| {
            together.resize(bin as usize + 1, 0.0);
            together[bin as usize] = mbps;
        });
    }
    let column = Column {
        name: "flow.x.goodput_bytes".to_owned(),
        unit: "bytes".into(),
        t: samples.iter().map(|(step, _)| at(*step).as_secs_f64()).collect(),
        v: samples.iter().map(|(_, bytes)| *bytes).collect(),
    };
    (running, vec![column], together)
}

fn shares(goodput: Goodput<'_>, start: Time) -> Share<'_> {
    Share { goodput, start, stop: None, is_compared: true }
}

proptest! {
    /// A flow that starts and ends anywhere, in windows whose edges lie anywhere.
    #[test]
    fn running_statistics_are_those_of_the_series(
        first in 0_u64..60,
        grown in prop::collection::vec(0_u32..100_000, 1..200),
        from_ms in 0_u64..4000,
        length_ms in 500_u64..9000,
        start_ms in 0_u64..3000,
    ) {
        let mut bytes = 0.0;
        let samples: Vec<(u64, f64)> = grown.iter().zip(first..).map(|(more, step)| {
            bytes += f64::from(*more);
            (step, bytes)
        }).collect();
        let from = Time(from_ms * 1_000_000);
        let (window, compared_from) = ((from, from + Dur::from_millis(length_ms)), Time(start_ms * 1_000_000));
        let instants = Instants { windows: vec![window], compared_from, step: STEP };
        let (running, columns, mut together) = both(&instants, &samples);
        let end = at(first + grown.len() as u64 + 20);
        let series = Goodput::of(&columns);

        prop_assert!((running.mbps(0) - series.mbps(window.0, window.1)).abs() < 1e-9);
        let exact = series.over_time(window.0, window.1.min(end), STEP);
        let got = running.over_time(0, end);
        prop_assert_eq!(got.is_some(), exact.is_some());
        if let (Some(got), Some(exact)) = (got, exact) {
            prop_assert_eq!((got.n, got.max), (exact.n, exact.max));
            prop_assert!((got.mean - exact.mean).abs() < 1e-9);
        }
        running.rest(end, |bin, mbps| {
            together.resize(bin as usize + 1, 0.0);
            together[bin as usize] = mbps;
        });
        let exact = Bins::of(&[shares(series, compared_from)], window, end, STEP);
        let got = Bins::of(&[shares((&running).into(), compared_from)], window, end, STEP);
        prop_assert_eq!(together, exact.together);
        for (got, exact) in [(got.windowed, exact.windowed), (got.since_last_start, exact.since_last_start)] {
            prop_assert_eq!(got.len(), exact.len());
            for (got, exact) in got.iter().flatten().zip(exact.iter().flatten()) {
                prop_assert!((got - exact).abs() <= 1e-6 * exact.abs(), "{} and {}", got, exact);
            }
        }
    }
}

#[test]
fn samples_count_in_the_windows_that_hold_them() {
    let windows = vec![(at(0), at(100)), (at(10), at(20))];
    let instants = Instants { windows, compared_from: Time::NEVER, step: STEP };
    let samples: Vec<(u64, f64)> = (0..=30).map(|step| (step, (step * step) as f64)).collect();
    let (running, ..) = both(&instants, &samples);
    let statistics = |window| running.statistics(window, "rtt").expect("there are samples");
    assert_eq!((statistics(0).n, statistics(0).max), (31, 30.0));
    assert_eq!((statistics(1).n, statistics(1).max), (11, 20.0));
    assert!(running.statistics(0, "cwnd").is_none());
}

#[test]
fn transfers_belong_to_the_window_in_which_they_end() {
    let instants =
        Instants { windows: vec![(at(0), at(100))], compared_from: Time::NEVER, step: STEP };
    let mut running = Running::new(&instants);
    running.complete(at(5), 3.0, 100.0);
    running.complete(at(50), 4.0, 200.0);
    assert_eq!(running.done((at(0), at(10))), [(3.0, 100.0)]);
}

#[test]
fn a_detector_is_summed_up_as_from_its_series() {
    let windows = vec![(at(2), at(5))];
    let mut running = Running::new(&Instants { windows, compared_from: Time::NEVER, step: STEP });
    let mode = [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0];
    for (step, is_classic) in (0..).zip(mode) {
        running.put_controller(at(step), "classic_mode", is_classic);
        running.put_controller(at(step), "classic_flips", step as f64);
    }
    let column = |name: &str, v: Vec<f64>| Column {
        name: format!("flow.x.cc.{name}"),
        unit: "1".into(),
        t: (0..v.len() as u64).map(|step| at(step).as_secs_f64()).collect(),
        v,
    };
    let flips = (0..mode.len()).map(|step| step as f64).collect();
    let columns = [column("classic_mode", mode.to_vec()), column("classic_flips", flips)];
    let exact = ClassicDetection::of(&columns, (at(2), at(5)), at(1));
    assert_eq!(running.classic(at(1)), exact);
    assert!(exact.is_some());
}
