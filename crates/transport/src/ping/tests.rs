use super::*;

#[test]
fn requests_leave_at_the_interval_and_replies_give_the_rtt() {
    let mut tx = Requester::new(Kind::Icmp, Dur::from_millis(200), 0, 84);
    let mut rx = Responder::new(Kind::Icmp, 0, 84);
    tx.start(Time::ZERO);
    let request = tx.poll(Time::ZERO).expect("first request at the start");
    assert_eq!(request.len, 98);
    assert!(tx.poll(Time::ZERO).is_none());
    assert_eq!(tx.deadline(), Time(200_000_000));
    rx.on_packet(Time(10_000_000), &request.body, Ecn::NotEct);
    let reply = rx.poll(Time(10_000_000)).expect("one reply");
    assert!(rx.poll(Time(10_000_000)).is_none());
    tx.on_packet(Time(20_000_000), &reply.body, Ecn::NotEct);
    let mut seen = Vec::new();
    tx.take_samples(&mut |_, name, _, value| seen.push((name, value)));
    assert_eq!(seen, [("rtt", 20.0)]);
}
