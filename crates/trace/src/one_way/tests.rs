use super::*;

/// Arrivals of packets sent every 10 ms: sequence number and delay in ms.
fn stream(arrivals: &[(u64, u64)]) -> OneWay {
    let mut one_way = OneWay::default();
    for (seq, delay) in arrivals {
        let sent = Time(seq * 10_000_000);
        one_way.record(sent + Dur::from_millis(*delay), *seq, sent, true);
    }
    one_way
}

// KAT delay 1
#[test]
fn pdv_is_delay_less_the_smallest_and_ipdv_the_difference_of_neighbours() {
    let s = stream(&[(0, 5), (1, 9), (2, 6), (3, 5)]).summary().expect("four packets");
    assert_eq!((s.expected, s.received, s.loss, s.reordered), (4, 4, 0.0, 0));
    assert_eq!((s.min_ms, s.pdv_ms.max, s.pdv_ms.mean), (5.0, 4.0, 1.25));
    let ipdv = s.ipdv_ms.expect("three pairs");
    assert_eq!((ipdv.n, ipdv.max), (3, 4.0));
    assert!((ipdv.mean - (4.0 + 3.0 + 1.0) / 3.0).abs() < 1e-9);
}

#[test]
fn gaps_are_losses_and_late_ones_are_reordered_but_not_lost() {
    let s = stream(&[(3, 5), (4, 5), (7, 5), (6, 30), (7, 40)]).summary().expect("packets");
    assert_eq!((s.expected, s.received, s.duplicates, s.reordered), (5, 4, 1, 1));
    assert!((s.loss - 0.2).abs() < 1e-12);
    // Only 3 to 4 are neighbours in order.
    assert_eq!(s.ipdv_ms.map(|i| i.n), Some(1));
}

#[test]
fn a_playout_buffer_misses_what_is_lost_or_late() {
    let call = stream(&[(0, 5), (1, 80), (3, 5), (4, 60)]);
    assert_eq!(call.missed(Dur::from_millis(60)), Some(0.4));
    assert_eq!(call.missed(Dur::from_millis(100)), Some(0.2));
    assert!(OneWay::default().missed(Dur::ZERO).is_none());
}

#[test]
fn packets_outside_the_window_move_the_series_only() {
    let mut one_way = OneWay::default();
    one_way.record(Time(8_000_000), 0, Time(0), false);
    assert_eq!(one_way.take_step(), Some((8.0, 8.0)));
    assert_eq!(one_way.take_step(), None);
    assert!(one_way.summary().is_none());
}
