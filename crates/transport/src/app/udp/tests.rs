use super::*;
use crate::app::{App, build};

/// Departures of the application `text` within `seconds`: `(ns since the start, IP bytes)`.
pub(in crate::app) fn departures(text: &str, seconds: u64) -> Vec<(u64, u32)> {
    let App::Udp(mut source) = build(text).unwrap() else { panic!("{text} is UDP") };
    let mut rng = Rng::named(1, "test");
    let (mut at, mut all) = (0, vec![]);
    loop {
        let packet = source.next(&mut rng);
        at += packet.after.0;
        if at >= seconds * 1_000_000_000 {
            return all;
        }
        all.push((at, packet.size));
    }
}

/// Mbit/s of IP bytes.
pub(in crate::app) fn mbps(text: &str, seconds: u64) -> f64 {
    let bytes: u64 = departures(text, seconds).iter().map(|(_, n)| u64::from(*n)).sum();
    bytes as f64 * 8e-6 / seconds as f64
}

#[test]
fn what_was_sent_carries_its_codepoint_and_is_counted_at_the_other_end() {
    let App::Udp(source) = build("cbr rate 960kbit size 1200").unwrap() else { panic!() };
    let mut tx = Sender::new(source.as_ref(), 0xb9, Rng::named(1, "t"));
    let mut rx = Receiver::default();
    assert!(!tx.is_alive());
    tx.start(Time::ZERO);
    let first = tx.poll(Time::ZERO).expect("the first packet leaves at the start");
    assert_eq!((first.len, first.tos, first.kind), (1214, 0xb9, Kind::Udp));
    assert!(tx.poll(Time::ZERO).is_none());
    assert_eq!(tx.deadline(), Time(10_000_000));
    rx.on_packet(Time(5), &first.body, Ecn::Ce);
    assert_eq!(rx.totals().0[0], ("delivered_bytes", 1172.0));
    assert_eq!(rx.totals().0[4], ("ce_received", 1.0));
    tx.stop(Time(6));
    assert_eq!(tx.deadline(), Time::NEVER);
}
