use super::*;

fn of(micros: impl Iterator<Item = u64>) -> Lateness {
    let mut late = Lateness::default();
    micros.for_each(|us| late.record(Dur::from_micros(us)));
    late
}

#[test]
fn merged_counts_are_those_of_one_histogram() {
    let (mut sum, whole) = (of((1..=1000).step_by(2)), of(1..=1000));
    sum.merge(&of((2..=1000).step_by(2)));
    assert_eq!((sum.count(), sum.max()), (1000, Some(Dur::from_millis(1))));
    for share in [0.0, 0.5, 0.99, 0.999, 1.0] {
        assert_eq!(sum.quantile(share), whole.quantile(share));
    }
    assert_eq!(sum.above(Dur::from_micros(900)), 100);
}

#[test]
fn it_is_written_in_milliseconds_and_without_departures_as_null() {
    let text = |late| serde_json::to_value(late).expect("plain numbers");
    let written = text(of([14, 14].into_iter()));
    assert_eq!(written["n"], 2);
    assert_eq!(
        (&written["mean"], &written["p99"], &written["max"]),
        (&0.014.into(), &0.014.into(), &0.014.into())
    );
    assert!(text(Lateness::default()).is_null());
}
