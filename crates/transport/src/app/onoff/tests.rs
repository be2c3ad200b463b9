use crate::app::udp::tests::{departures, mbps};

#[test]
fn periods_alternate_and_each_starts_with_a_packet() {
    let all = departures("onoff rate 8Mbit size 1000 on 10ms off 30ms", 1);
    assert_eq!(all.len(), 25 * 10);
    let at = |n: usize| all[n].0;
    assert_eq!((at(0), at(9), at(10), at(20)), (0, 9_000_000, 40_000_000, 80_000_000));
}

#[test]
fn random_periods_keep_the_duty_cycle() {
    let rate = mbps("onoff rate 8Mbit size 1000 on 20ms off 60ms exponential", 400);
    assert!((rate / 2.0 - 1.0).abs() < 0.05, "{rate} Mbit/s");
}
