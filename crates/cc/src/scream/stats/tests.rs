use super::*;

// KAT scream-stats 1: averages and shares
#[test]
fn averages_begin_with_the_first_rate_and_shares_need_enough() {
    let mut stats = Stats::new(Ticks(0));
    let sample = Sample { sent: 0.0, lost: 0.0, ce: 0.0, rtt: 0.05, queue_delay: 0.0 };
    stats.sample(Ticks(1), sample);
    let sample = Sample { sent: 50e3, lost: 5e3, ce: 1e3, rtt: 0.1, ..sample };
    stats.sample(Ticks(2), sample);
    let summary = stats.summary(1200);
    assert_eq!((summary.rate, summary.rtt, summary.loss.all), (50e3, 0.1, 0.0));
    stats.sample(Ticks(3), Sample { sent: 150e3, ..sample });
    let summary = stats.summary(1200);
    assert!((summary.rate - 52e3).abs() < 1.0);
    assert!((summary.loss.all - 5.0).abs() < 1e-3 && (summary.ce.all - 1.0).abs() < 1e-3);
    assert_eq!((summary.rates.min, summary.rates.max), (0.0, 0.0));
    assert!((summary.rates.mean - 200e3 / 3.0).abs() < 0.1);
    stats.sample(Ticks(6 * 65_536), Sample { sent: 150e3, ..sample });
    assert_eq!(stats.summary(1200).rates.min, 150e3);
}

// KAT scream-stats 2: ring of ten times ten samples
#[test]
fn recent_shares_are_those_of_a_hundred_samples() {
    let mut stats = Stats::new(Ticks(0));
    let clean = Sample { sent: 1e6, lost: 0.0, ce: 0.0, rtt: 0.05, queue_delay: 0.0 };
    for n in 0..50 {
        stats.sample(Ticks(n), Sample { lost: 1e5, ..clean });
    }
    assert!((stats.summary(1200).loss.recent - 5.0).abs() < 1e-3);
    for n in 50..150 {
        stats.sample(Ticks(n), clean);
    }
    let loss = stats.summary(1200).loss;
    assert!(loss.recent == 0.0 && (loss.all - 10.0 / 3.0).abs() < 1e-3, "{loss:?}");
}
