use super::*;
use crate::tcp::Config;

// By a capture of 7.2 (3.73 ms, BBR): from the first repaired loss on, bursts and cwnd are those of a minimum of 3 ms.
#[test]
fn the_rtt_of_a_retransmission_is_in_whole_milliseconds_and_may_be_the_minimum() {
    let us = |us: u64| Time(us * 1000);
    let controller = "reno".parse::<sojourn_cc::Spec>().expect("known").build();
    let mut tx = Sender::new(Config::default(), controller);
    let mut update = |now, echo, own: Option<u64>| {
        let mut fx = Effects {
            data_acked: true,
            rtt_first: own.map(Dur::from_micros),
            rtt_last: own.map(Dur::from_micros),
            ..Effects::default()
        };
        tx.update_rtt(us(now), &Segment { tsecr: us(echo), ..Segment::default() }, &mut fx);
        (fx.rtt_last, tx.rtt.min_rtt())
    };
    let ms = Dur::from_millis;
    assert_eq!(update(10_000, 6_270, Some(3_730)).1, Dur::from_micros(3_730));
    assert_eq!(update(20_100, 16_370, None), (Some(ms(4)), Dur::from_micros(3_730)));
    assert_eq!(update(30_900, 27_170, None), (Some(ms(3)), ms(3)));
    assert_eq!(update(40_900, 40_100, None), (Some(ms(1)), ms(1)), "at least one");
}

// Linux `__tcp_accecn_process`: the ACE field of so large an ACK may have wrapped.
#[test]
fn a_predicted_ack_of_eight_segments_is_read() {
    let controller = "reno".parse::<sojourn_cc::Spec>().expect("known").build();
    let mut tx = Sender::new(Config { ace_prediction: true, ..Config::default() }, controller);
    tx.predict_ack();
    let ack = |ace| Segment { ace, ..Segment::default() };
    assert!(tx.is_predicted(&ack(5), 7));
    assert!(!tx.is_predicted(&ack(5), 8));
    assert!(!tx.is_predicted(&ack(6), 7));
}
