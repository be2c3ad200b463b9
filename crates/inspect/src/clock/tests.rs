use proptest::prelude::*;
use sojourn_core::Rng;

use super::*;

/// Delays of both directions for `span` s: 10 ms forward and 6 ms back, queues with spikes that now and then are
/// empty, a clock that is ahead and gains.
fn floors(seed: u64, span: f64, offset: f64, skew: f64, busy: f64) -> [Floor; 2] {
    let mut rng = Rng::named(seed, "clock");
    let mut unit = move || f64::from(rng.u32()) / f64::from(u32::MAX);
    let [mut forward, mut backward] = [Floor::default(), Floor::default()];
    let n = 4000;
    for index in 0..n {
        let at = span * f64::from(index) / f64::from(n);
        let mut queue = || if unit() < busy { 0.02 * unit() * unit() } else { 0.0 };
        let ahead = offset + skew * at;
        forward.record(at, 0.010 + ahead + queue());
        backward.record(at, 0.006 - ahead + queue());
    }
    [forward, backward]
}

proptest! {
    #[test]
    fn offset_and_skew_are_within_their_errors(
        seed in any::<u64>(), span in 12.0..600.0_f64, offset in -5.0..5.0_f64,
        ppm in -200.0..200.0_f64, busy in 0.0..0.98_f64,
    ) {
        let [forward, backward] = floors(seed, span, offset, ppm * 1e-6, busy);
        let clocks = Fit::new(&forward, &backward).expect("both directions").clocks();
        // Four standard errors, and what doubles of these sizes resolve.
        let error = (clocks.skew_ppm - ppm).abs();
        prop_assert!(error <= 4.0 * clocks.skew_error_ppm + 1e-3, "{ppm}: {clocks:?}");
        let [found, bound] = [clocks.offset_s, clocks.offset_error_s].map(Option::unwrap);
        let slack = error * 1e-6 * span + 1e-6;
        prop_assert!((found - offset).abs() <= bound + slack, "{offset}: {clocks:?}");
        // The path is 4 ms asymmetric, so that the offset is wrong by half of that.
        prop_assert!((found - offset - 0.002).abs() <= slack + 0.0005, "{offset}: {clocks:?}");
        prop_assert!((clocks.base_rtt_ms.unwrap() - 16.0).abs() <= 1.0, "{clocks:?}");
    }

    #[test]
    fn no_point_is_below_the_line(points in prop::collection::vec((0.0..100.0_f64, -1.0..1.0_f64), 1..200)) {
        let mut points = points;
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut floor = Floor::default();
        for (at, delay) in &points {
            floor.record(*at, *delay);
        }
        let fit = Fit::new(&floor, &Floor::default()).expect("points");
        // Of an interval the lowest point is known.
        let least = -fit.skew.abs() * floor.interval;
        for point in points {
            prop_assert!(fit.queue_delay(0, point) >= least, "{point:?} {fit:?}");
        }
    }
}

// Moon, Skelly and Towsley 1999: the edge of the hull over the mean time.
#[test]
fn one_direction_shows_the_skew_too() {
    let [forward, _] = floors(1, 100.0, 0.5, 30e-6, 0.9);
    let fit = Fit::new(&forward, &Floor::default()).expect("points");
    let clocks = fit.clocks();
    assert!((clocks.skew_ppm - 30.0).abs() < 4.0 * clocks.skew_error_ppm + 1e-3, "{clocks:?}");
    assert_eq!((clocks.offset_s, clocks.base_rtt_ms), (None, None));
}

#[test]
fn a_queue_that_stands_is_no_skew() {
    let [mut forward, mut backward] = [Floor::default(), Floor::default()];
    for index in 0..4000_i32 {
        let at = f64::from(index) / 100.0;
        forward.record(at, if index < 1000 { 0.01 } else { 0.03 });
        backward.record(at, 0.01);
    }
    let clocks = Fit::new(&forward, &backward).expect("points").clocks();
    assert_eq!((clocks.skew_ppm, clocks.offset_s), (0.0, Some(0.0)));
}

/// Two short delays at the end, in two tenths of the capture, look like a skew, whichever tenth is left out.
#[test]
fn an_error_that_rests_on_two_parts_is_stated() {
    let [mut forward, mut backward] = [Floor::default(), Floor::default()];
    for index in (0..1000_i32).filter(|index| !(570..630).contains(index)) {
        let delay = match index {
            898 => 0.012,
            999 => 0.010,
            _ => 0.020,
        };
        forward.record(f64::from(index) / 10.0, delay);
    }
    for index in 0..1000_i32 {
        backward.record(f64::from(index) / 10.0, 0.008);
    }
    let clocks = Fit::new(&forward, &backward).expect("points").clocks();
    assert!(clocks.skew_ppm < -90.0, "there is none: {clocks:?}");
    assert!(clocks.skew_ppm.abs() <= 3.0 * clocks.skew_error_ppm, "{clocks:?}");
}

#[test]
fn memory_is_bounded() {
    let (mut floor, mut delays) = (Floor::default(), Delays::default());
    for index in 0..200_000_u32 {
        let at = f64::from(index) * f64::from(index) / 1000.0;
        floor.record(at, 1.0);
        delays.record(at, 1.0, KEPT);
    }
    assert!(floor.lowest.len() <= INTERVALS && delays.kept.len() <= KEPT);
    delays.record(0.0, 1.0, 100);
    assert!(delays.kept.len() <= 100);
    let of = delays.over_ms(&Fit::default(), 0, 0.0).expect("delays");
    assert_eq!((of.n, of.mean, of.max), (200_001, 1000.0, 1000.0));
}
