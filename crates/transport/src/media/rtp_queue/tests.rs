use super::*;

#[test]
fn delay_is_that_of_the_oldest_and_bytes_are_the_sum() {
    let mut queue = RtpQueue::default();
    let packet = |seq, captured, bytes| RtpPacket {
        seq,
        bytes,
        frame: seq,
        packets: 1,
        captured: Time(captured),
        marker: true,
    };
    assert_eq!((queue.delay(Time(5)), queue.pop()), (Dur::ZERO, None));
    queue.push(packet(0, 10, 100));
    queue.push(packet(1, 20, 200));
    assert_eq!((queue.delay(Time(50)), queue.bytes()), (Dur(40), 300));
    assert_eq!(queue.pop().map(|p| p.seq), Some(0));
    assert_eq!((queue.delay(Time(50)), queue.bytes()), (Dur(30), 200));
    assert_eq!((queue.clear(), queue.bytes(), queue.is_empty()), (1, 0, true));
}
