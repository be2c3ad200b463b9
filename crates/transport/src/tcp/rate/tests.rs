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
    rate.segment_delivered(&sampled, Time::ZERO + MS);
    let sample = rate.finish(Time::ZERO + MS * 5, 1, MS, false).expect("a valid sample");
    assert_eq!((sample.tx_in_flight, sample.lost, sample.delivered), (10, 2, 1));
}
