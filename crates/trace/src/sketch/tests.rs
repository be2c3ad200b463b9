use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn percentiles_are_within_one_percent_of_a_neighbouring_sample(
        values in prop::collection::vec(1e-6_f64..1e9, 1..300),
    ) {
        let mut sketch = Sketch::default();
        for value in &values {
            sketch.record(*value);
        }
        let got = sketch.statistics().expect("there are samples");
        let exact = Statistics::of(values.iter().copied()).expect("there are samples");
        let mut sorted = values;
        sorted.sort_by(f64::total_cmp);
        prop_assert_eq!((got.n, got.max), (exact.n, exact.max));
        prop_assert!((got.mean / exact.mean - 1.0).abs() < 1e-12);
        for (share, got) in [(0.05, got.p05), (0.5, got.p50), (0.95, got.p95), (0.99, got.p99)] {
            let rank = share * (sorted.len() - 1) as f64;
            let (low, high) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
            prop_assert!(low * 0.99 <= got && got <= high * 1.01, "{} of {} to {}", got, low, high);
        }
    }
}

#[test]
fn what_is_constant_is_exact() {
    let mut sketch = Sketch::default();
    (0..7).for_each(|_| sketch.record(20.123));
    let got = sketch.statistics().expect("there are samples");
    assert_eq!([got.p05, got.p50, got.p99, got.max], [20.123; 4]);
}

#[test]
fn zeros_count_and_what_is_not_a_number_does_not() {
    let mut sketch = Sketch::default();
    for value in [0.0, f64::NAN, 0.0, f64::INFINITY, 4.0] {
        sketch.record(value);
    }
    let got = sketch.statistics().expect("there are samples");
    assert_eq!((got.n, got.p50, got.max), (3, 0.0, 4.0));
    assert!(Sketch::default().statistics().is_none());
}
