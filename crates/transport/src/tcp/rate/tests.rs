use super::*;

const MS: Dur = Dur::from_millis(1);

#[test]
fn a_sample_carries_the_flight_and_the_losses_since_its_segment_was_sent() {
    let mut rate = RateEstimator::default();
    let early = rate.sent(Time::ZERO, true, 0);
    let sampled = rate.sent(Time::ZERO + MS, false, 9);
    let lost = rate.segment_lost(&early);
    assert_eq!((lost.tx_in_flight, lost.lost, lost.delivered), (1, 1, 0));
    let late = rate.sent(Time::ZERO + MS * 2, false, 9);
    let lost = rate.segment_lost(&late);
    assert_eq!((lost.tx_in_flight, lost.lost), (10, 1), "the loss before it is not its own");
    rate.delivered += 1;
    rate.segment_delivered(&sampled, Time::ZERO + MS, 2);
    let sample = rate.finish(Time::ZERO + MS * 5, 1, MS, false).expect("a valid sample");
    assert_eq!((sample.tx_in_flight, sample.lost, sample.delivered), (10, 2, 1));
}

// A connection's first write finds nothing that waits, so that its first flight says little of the path (tcp_sendmsg).
#[test]
fn the_first_flight_is_application_limited() {
    let mut rate = RateEstimator::default();
    assert!(rate.sent(Time::ZERO, true, 0).app_limited);
    rate.delivered += 1;
    assert!(!rate.sent(Time::ZERO + MS, false, 9).app_limited);
    rate.app_limited(10);
    rate.delivered += 10;
    assert!(rate.sent(Time::ZERO + MS, false, 9).app_limited);
    rate.delivered += 1;
    assert!(!rate.sent(Time::ZERO + MS, false, 9).app_limited);
}

// Three segments leave 10, 30 and 50 ms after the first one: an ACK for all of them is of the first (5.4) or of the last.
#[test]
fn the_segment_that_was_sent_last_is_the_sample_from_5_19() {
    for (takes_last, interval) in [(false, 42), (true, 50)] {
        let mut rate = RateEstimator::new(takes_last);
        let first = rate.sent(Time::ZERO, true, 0);
        rate.delivered += 1;
        rate.segment_delivered(&first, Time::ZERO, 1);
        rate.finish(Time::ZERO + MS * 10, 1, MS, false).expect("a valid sample");
        let sent = [10, 30, 50].map(|ms| Time::ZERO + MS * ms);
        let snapshots = sent.map(|at| rate.sent(at, false, 0));
        for (n, snapshot) in snapshots.iter().enumerate() {
            rate.segment_delivered(snapshot, sent[n], 2 + n as u64);
        }
        rate.delivered += 3;
        let sample = rate.finish(Time::ZERO + MS * 52, 3, MS, false).expect("a valid sample");
        assert_eq!(sample.interval, MS * interval, "{takes_last}");
    }
}
