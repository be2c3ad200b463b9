use super::*;
use crate::media::Data;

fn ms(n: u64) -> Time {
    Time(n * 1_000_000)
}

fn arrive(rx: &mut Receiver, now: Time, seq: u64) -> u32 {
    let captured = Time::ZERO;
    let data = Data {
        seq,
        number: seq,
        sent: captured,
        bytes: 1000,
        frame: seq,
        packets: 1,
        captured,
        marker: true,
        stream: 0,
    };
    rx.on_packet(now, &Body::Media(Message::Data(data)), Ecn::NotEct);
    std::iter::from_fn(|| rx.poll(now)).count() as u32
}

#[test]
fn reports_come_at_the_interval_and_only_with_news() {
    let mut rx = Receiver::new(0, Dur::from_millis(100));
    assert_eq!(rx.deadline(), Time::NEVER);
    assert_eq!(arrive(&mut rx, ms(10), 0), 1, "the first at once");
    assert_eq!(rx.deadline(), Time::NEVER);
    assert_eq!(arrive(&mut rx, ms(20), 1), 0);
    assert_eq!(rx.deadline(), ms(110));
    let report = rx.poll(ms(110)).expect("a report is due");
    // Two words: 24 bytes of RTCP.
    assert_eq!((report.len, report.tos), (14 + 28 + 24, 0));
    assert!(rx.poll(ms(300)).is_none());
    assert_eq!(arrive(&mut rx, ms(400), 2), 1, "the interval is over");
}

#[test]
fn many_packets_do_not_wait() {
    let mut rx = Receiver::new(0, Dur::from_secs(1));
    let reports: u32 = (0..=120).map(|seq| arrive(&mut rx, ms(10), seq)).sum();
    assert_eq!(reports, 1 + 120 / 40);
    assert_eq!(rx.totals().0[0], ("delivered_bytes", 121.0 * 960.0));
}
