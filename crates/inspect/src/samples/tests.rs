use proptest::prelude::*;

use super::*;

#[test]
fn nothing_has_no_distribution_and_no_memory() {
    let none = Samples::default();
    assert_eq!((none.distribution(), none.counts.capacity()), (None, 0));
}

#[test]
fn moments_are_exact() {
    let mut samples = Samples::default();
    for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0, f64::NAN] {
        samples.record(value);
    }
    let of = samples.distribution().expect("samples");
    assert_eq!((of.n, of.mean, of.min, of.max), (8, 5.0, 2.0, 9.0));
    assert!((of.stddev - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12, "{}", of.stddev);
}

#[test]
fn memory_is_bounded() {
    let mut samples = Samples::default();
    for value in [f64::MIN, f64::MAX, 1.0, 0.0, f64::MIN_POSITIVE] {
        samples.record(value);
    }
    assert!(samples.counts.len() * 4 <= 21_000, "{}", samples.counts.len());
}

proptest! {
    #[test]
    fn percentiles_are_within_one_percent(mut values in prop::collection::vec(1e-6..1e9_f64, 1..300)) {
        let mut samples = Samples::default();
        for value in &values {
            samples.record(*value);
        }
        values.sort_by(f64::total_cmp);
        for share in [0.0, 0.5, 0.95, 0.99, 1.0] {
            let rank = ((share * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let (exact, found) = (values[rank - 1], samples.quantile(share));
            prop_assert!((found - exact).abs() <= 0.01 * exact, "{share}: {found} for {exact}");
        }
    }
}
