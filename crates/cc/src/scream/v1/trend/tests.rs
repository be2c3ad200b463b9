use super::*;

fn trend(samples: impl Iterator<Item = f32>, fraction: f32) -> Trend {
    let mut trend = Trend::new(Ticks(0));
    for (index, sample) in (1..).zip(samples) {
        trend.sample(Ticks(INTERVAL * index), sample);
    }
    trend.fraction = fraction;
    trend.update();
    trend
}

// KAT scream1 6: a = R(1)/R(0), trend = a * fraction
#[test]
fn a_step_has_nearly_all_of_its_neighbours_on_its_side() {
    // Ten of -0.5 and ten of 0.5: of 19 products 18 are positive and one negative, and there are 20
    // squares of the same size.
    let step = (0..20).map(|n| if n < 10 { 0.0 } else { 1.0 });
    assert!((trend(step.clone(), 1.0).now - 17.0 / 20.0).abs() < 1e-6);
    assert!((trend(step, 0.4).now - 0.4 * 17.0 / 20.0).abs() < 1e-6);
}

#[test]
fn noise_and_a_steady_queue_are_no_trend() {
    let zigzag = (0..20).map(|n| (n % 2) as f32);
    assert_eq!(trend(zigzag, 1.0).now, 0.0);
    assert_eq!(trend((0..20).map(|_| 0.7), 1.0).now, 0.0);
}

// KAT scream1 7: trend_mem
#[test]
fn the_lasting_trend_falls_by_a_hundredth() {
    let step = (0..20).map(|n| if n < 10 { 0.0 } else { 1.0 });
    let mut trend = trend(step, 1.0);
    let first = trend.lasting;
    trend.fraction = 0.0;
    trend.update();
    assert_eq!((trend.now, trend.lasting), (0.0, LASTING * first));
}

// KAT scream1 17: history of fractions (repeat if late)
#[test]
fn a_late_sample_stands_for_those_left_out() {
    let mut late = Trend::new(Ticks(0));
    late.sample(Ticks(10 * INTERVAL), 0.0);
    late.sample(Ticks(20 * INTERVAL), 1.0);
    late.fraction = 1.0;
    late.update();
    assert!((late.now - 17.0 / 20.0).abs() < 1e-6);
}
