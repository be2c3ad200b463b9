use super::*;

const MSS: u64 = 1436;
const BBR: u64 = 3;
const OTHERS: u64 = 2;

fn queue(window: u64, most: u64) -> WriteQueue {
    WriteQueue::new(1, window, MSS, OTHERS, most)
}

/// The application writes up to `end`, and nothing leaves meanwhile.
fn write(queue: &mut WriteQueue, end: u64, una: u64, next: u64) {
    while queue.calls(end, una) {
        queue.copy(una, next);
    }
}

/// An ACK up to `una` arrives.
fn acked(queue: &mut WriteQueue, una: u64, in_flight: u32, cwnd: u32) -> bool {
    queue.on_ack(una, 0);
    queue.wakes(una, in_flight, cwnd)
}

/// A packet leaves, of a flow without pacing.
fn sends(queue: &mut WriteQueue, next: u64, end: u64) {
    queue.on_sent((next, end), 0, 1, 0);
}

/// Sends packets of `segments` segments until nothing is left, and gives where those end that push.
fn pushed(queue: &mut WriteQueue, mut next: u64, segments: u64) -> Vec<u64> {
    let mut ends = vec![];
    while next < queue.written {
        let end = queue.written.min(next + segments * MSS);
        if queue.pushes(end) {
            ends.push((end - 1) / MSS);
        }
        sends(queue, next, end);
        next = end;
    }
    ends
}

// The buffers of a 7.2 kernel whose peer offered 65,536 bytes in the handshake end after 44 segments
// of 1436 bytes and then after every 45: there its bursts are short. The third is continued by what is
// written once a larger window is known.
#[test]
fn buffers_hold_half_the_first_window_and_later_a_whole_gso_packet() {
    let mut queue = queue(65_536, 4 << 20);
    write(&mut queue, u64::MAX, 1, 1);
    let ends = |queue: &WriteQueue| -> Vec<u64> {
        queue.unsent.iter().map(|buffer| (buffer.end - 1) / MSS).collect()
    };
    assert_eq!(ends(&queue), [22, 44, 66]);
    assert!(queue.is_full, "87,040 bytes, as a kernel's buffer begins");
    let sent = 1 + 10 * MSS;
    sends(&mut queue, 1, sent);
    queue.on_ack(sent, 200_000);
    assert!(queue.wakes(sent, 0, 40));
    write(&mut queue, u64::MAX, sent, sent);
    assert_eq!(ends(&queue)[..4], [22, 44, 89, 134]);
    assert_eq!(queue.left(sent), 12 * MSS);
}

#[test]
fn a_window_that_stays_small_keeps_buffers_at_half_of_it() {
    assert_eq!(queue(65_536, 4 << 20).buffer_size(), 22 * MSS);
    assert_eq!(queue(1000, 4 << 20).buffer_size(), MSS);
}

#[test]
fn an_application_is_woken_when_a_third_of_the_buffer_is_free() {
    let mut queue = queue(1 << 20, 200_000);
    write(&mut queue, u64::MAX, 1, 1);
    let memory = queue.memory(1);
    assert!(queue.is_full && memory >= 87_040, "{memory}");
    assert!(!acked(&mut queue, 1, 10, 10), "cwnd limits: the buffer does not grow");
    assert!(acked(&mut queue, 1, 9, 40), "it does where it limits");
    write(&mut queue, u64::MAX, 1, 1);
    assert!(queue.memory(1) >= 200_000);
    let spare = queue.memory(1) - 200_000 * 2 / 3;
    assert!(!acked(&mut queue, 1 + spare - 1000, 9, 40));
    assert!(acked(&mut queue, 1 + spare + 1000, 9, 40));
    // A full buffer that is acknowledged with the FIN is empty.
    write(&mut queue, u64::MAX, 1 + spare, 1 + spare);
    assert!(queue.is_full);
    let end = queue.written;
    assert!(acked(&mut queue, end + 1, 0, 40));
}

// A 7.2 kernel whose peer offered 65,536 bytes in the handshake: bursts of two, ten segments of cwnd. Its first call
// takes 109,136 of 131,072 bytes, which are 116,816 of memory.
#[test]
fn what_leaves_while_a_call_copies_makes_room_in_its_buffer() {
    let mut queue = queue(65_536, 4 << 20);
    let mut next = 1;
    while queue.calls(u64::MAX, 1) {
        queue.copy(1, next);
        let bursts = if queue.push == Push::One { 1 } else { 5 };
        for _ in 0..bursts {
            if next < 1 + 10 * MSS && next + 2 * MSS <= queue.written {
                sends(&mut queue, next, next + 2 * MSS);
                next += 2 * MSS;
            }
        }
    }
    assert_eq!(queue.written, 1 + 109_136);
    assert_eq!(queue.memory(1), 116_816);
    let ends: Vec<u64> = queue.unsent.iter().map(|buffer| (buffer.end - 1) / MSS).collect();
    assert_eq!(ends, [32, 54, 76]);
}

// By 7.2's own account (SO_MEMINFO): 407,824 of 417,792 bytes after a call of 128 KiB, which the application waits
// after although they are not all.
#[test]
fn an_application_polls_after_each_call_and_only_an_ack_wakes_it() {
    let mut queue = queue(1 << 20, 417_792);
    queue.expand(48);
    queue.written = 1 + 273_872;
    let sent = queue.written;
    write(&mut queue, u64::MAX, 1, sent);
    assert!(queue.is_full);
    assert_eq!(queue.written, 1 + 273_872 + CHUNK, "one call, although there is room");
    assert!(!queue.wakes(1 + 200_000, 9, 48), "no ACK has said so");
    assert!(acked(&mut queue, 1 + 200_000, 9, 48));
    assert!(!queue.wakes(1 + 200_000, 9, 48), "an ACK wakes once");
}

#[test]
fn packets_and_not_only_payload_take_memory() {
    let mut queue = queue(1 << 20, 1 << 20);
    write(&mut queue, 1 + 10 * MSS, 1, 1);
    assert_eq!(queue.memory(1), 10 * MSS + 960);
    for n in 1..=10 {
        sends(&mut queue, 1 + (n - 1) * MSS, 1 + n * MSS);
    }
    assert_eq!(queue.memory(1), 10 * (MSS + 960), "sent one by one");
    queue.on_ack(1 + 4 * MSS, 0);
    assert_eq!(queue.memory(1 + 4 * MSS), 6 * (MSS + 960));
}

// 128 KiB are 91.3 segments: the next call continues the buffer and takes the push back. Half of the window pushes
// at the end of a buffer, and so does the call after which there is no room.
#[test]
fn a_write_pushes_after_half_a_window_and_where_the_buffer_is_full() {
    let mut small = queue(65_536, 4 << 20);
    write(&mut small, u64::MAX, 1, 1);
    assert_eq!(pushed(&mut small, 1, 1), [44, 66]);
    let mut large = queue(1 << 20, 4 << 20);
    large.expand(60);
    write(&mut large, u64::MAX, 1, 1);
    let last = (large.written - 1) / MSS;
    assert_eq!(pushed(&mut large, 1, 1), [last]);
    let mut short = queue(65_536, 4 << 20);
    write(&mut short, 1 + 5000, 1, 1);
    assert_eq!(pushed(&mut short, 1, 1), [3], "the end of what is written");
}

#[test]
fn the_buffer_of_bbr_holds_three_windows() {
    let limit = |windows| WriteQueue::new(1, 65_536, 1448, windows, 4 << 20).limit;
    assert_eq!((limit(OTHERS), limit(BBR)), (87_040, 130_560));
}

// In slow start over 100 ms, by 7.2's own account: an ACK of two segments brings cwnd to 34 and lets two packets leave, and
// the buffer grows to 34 times 8,704 bytes, for 32 segments are under way when it is checked whether to wake the application.
#[test]
fn an_ack_wakes_the_application_before_small_queues_let_its_second_packet_go() {
    let grown = |packets: u64, rate: u64| {
        let mut queue = queue(65_536, 4 << 20);
        write(&mut queue, u64::MAX, 1, 1);
        let una = 1 + 24 * MSS;
        let next = 1 + 54 * MSS;
        (0..27).for_each(|n| sends(&mut queue, 1 + 2 * n * MSS, 1 + 2 * (n + 1) * MSS));
        queue.on_ack(una, 0);
        for n in 0..packets {
            let start = next + 2 * n * MSS;
            queue.on_sent((start, start + 2 * MSS), 30 + 2 * n as u32, una, rate);
        }
        queue.wakes(una, 34, 34);
        queue.limit / 4352 / 2
    };
    assert_eq!(grown(2, 961), 34);
    assert_eq!(grown(2, 20_000), 10, "what is paced faster has room for both");
    assert_eq!(grown(1, 961), 10, "one packet is held by nothing");
}
