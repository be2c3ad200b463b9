use super::*;

#[test]
fn percentiles_interpolate_like_numpy() {
    let s = Statistics::of((1..=5).map(f64::from)).expect("five samples");
    assert_eq!((s.n, s.mean, s.p50, s.max), (5, 3.0, 3.0, 5.0));
    assert!((s.p95 - 4.8).abs() < 1e-12 && (s.p05 - 1.2).abs() < 1e-12);
}

#[test]
fn missing_values_do_not_count() {
    assert_eq!(Statistics::of([f64::NAN].into_iter()), None);
    assert_eq!(Statistics::of([f64::NAN, 2.0].into_iter()).map(|s| s.n), Some(1));
}

#[test]
fn histogram_resolves_a_thousandth() {
    let mut h = DelayHistogram::default();
    for us in 1..=1000 {
        h.record(Dur::from_micros(us));
    }
    let s = h.statistics().expect("a thousand packets");
    assert!((s.p50 - 0.5).abs() < 0.001);
    assert_eq!((s.mean, s.max), (0.5005, 1.0));
    assert!((s.p90 - 0.9).abs() < 0.001 && (s.p999 - 0.999).abs() < 0.001);
    assert_eq!(h.quantile(0.9).map(Dur::as_millis_f64), Some(s.p90));
    assert_eq!((h.count(), h.max()), (1000, Some(Dur::from_millis(1))));
}

#[test]
fn buckets_follow_one_another_and_are_as_wide_as_they_say() {
    for fine in [6, FINE_BITS] {
        let last = buckets(fine) - 1;
        for index in 1..=last {
            let (low, high) = (upper_edge(fine, index - 1).0 + 1, upper_edge(fine, index).0);
            assert_eq!((bucket(fine, Dur(low)), bucket(fine, Dur(high))), (index, index));
            assert!(high - low <= low >> fine, "{low} to {high}");
        }
        let most = (upper_edge(fine, last).0, bucket(fine, Dur(u64::MAX)));
        assert_eq!(most, ((1 << 40) - 1, last));
    }
}

#[test]
fn histograms_add_up_and_forget() {
    let of = |range: std::ops::Range<u64>| {
        let mut h = DelayHistogram::default();
        range.for_each(|us| h.record(Dur::from_micros(us)));
        h
    };
    let (mut sum, whole) = (of(1..400), of(1..1001));
    sum.add(&of(400..1001));
    let text = |h: &DelayHistogram| format!("{:?}", h.statistics());
    assert_eq!((text(&sum), sum.min()), (text(&whole), whole.min()));
    sum.clear();
    assert!(sum.statistics().is_none() && sum.quantile(0.5).is_none());
    assert_eq!((sum.count(), sum.min(), sum.max()), (0, None, None));
    sum.add(&whole);
    assert_eq!(text(&sum), text(&whole));
}

#[test]
fn a_constant_delay_is_its_own_statistics() {
    let mut h = DelayHistogram::default();
    (0..9).for_each(|_| h.record(Dur::from_millis(80)));
    let s = h.statistics().expect("nine packets");
    assert_eq!((s.mean, s.p50, s.p999, s.max), (80.0, 80.0, 80.0, 80.0));
}
