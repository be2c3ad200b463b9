use super::*;

fn rtp(seq: u16) -> Rtp {
    Rtp { seq, bytes: 100, timestamp: 0, marker: false, queued: Ticks(0), handle: 0 }
}

#[test]
fn a_packet_that_is_pushed_out_leaves_the_flight() {
    let mut flight = Flight::new(8);
    assert_eq!(flight.insert(Ticks(1), &rtp(65_530), 0.0), 0);
    assert_eq!(flight.insert(Ticks(1), &rtp(65_531), 0.0), 0);
    assert_eq!(flight.insert(Ticks(2), &rtp(2), 0.0), 100);
    assert!(flight.get(65_530).is_none() && flight.get(65_531).is_some());
    assert_eq!(flight.oldest(), 65_531);
}

#[test]
fn what_a_first_report_does_not_cover_leaves_the_flight_over_the_wrap() {
    let mut flight = Flight::new(32);
    (65_530..=u16::MAX).chain(0..5).for_each(|seq| {
        flight.insert(Ticks(1), &rtp(seq), 0.0);
    });
    assert_eq!(flight.forget_before(5), 0, "never sent");
    assert_eq!(flight.forget_before(65_500), 0, "before the first");
    assert_eq!(flight.forget_before(2), 800);
    assert!(flight.get(1).is_none() && flight.get(2).is_some());
    assert_eq!((flight.oldest(), flight.forget_before(2)), (2, 0));
}

// KAT scream2 8: correction by the media's timestamps
#[test]
fn timestamps_count_over_their_wrap_and_from_anywhere() {
    let mut flight = Flight::new(8);
    flight.saw_timestamp(u32::MAX - 899);
    flight.saw_timestamp(900);
    assert_eq!(flight.made_before(u32::MAX - 899), 65_536 / 50);
    assert_eq!(flight.made_before(1800), 0);
    flight.saw_timestamp(900 + 90_000);
    assert_eq!(flight.made_before(900), 65_536);
}
