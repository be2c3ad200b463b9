use super::*;

const MSS: u64 = 1436;
const BBR: u64 = 3;
const OTHERS: u64 = 2;

fn queue(window: u64, most: u64) -> WriteQueue {
    WriteQueue::new(1, window, MSS, OTHERS, most)
}

/// Sends packets of `segments` segments until nothing is left, and gives where those end that push.
fn pushed(queue: &mut WriteQueue, mut next: u64, segments: u64) -> Vec<u64> {
    let mut ends = vec![];
    while next < queue.written {
        next = queue.written.min(next + segments * MSS);
        if queue.pushes(next) {
            ends.push((next - 1) / MSS);
        }
        queue.on_sent(next);
    }
    ends
}

// The buffers of a 7.2 kernel whose peer offered 65,536 bytes in the handshake end after 44 segments
// of 1436 bytes and then after every 45: there its bursts are short. The third is continued by what is
// written once a larger window is known.
#[test]
fn buffers_hold_half_the_first_window_and_later_a_whole_gso_packet() {
    let mut queue = queue(65_536, 4 << 20);
    queue.write(u64::MAX, 1, 1);
    let ends = |queue: &WriteQueue| -> Vec<u64> {
        queue.unsent.iter().map(|buffer| (buffer.end - 1) / MSS).collect()
    };
    assert_eq!(ends(&queue), [22, 44, 66]);
    assert!(queue.is_full, "87,040 bytes, as a kernel's buffer begins");
    let sent = 1 + 10 * MSS;
    queue.on_sent(sent);
    queue.on_ack(sent, 200_000);
    assert!(queue.wakes(sent, 0, 40));
    queue.write(u64::MAX, sent, sent);
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
    queue.write(u64::MAX, 1, 1);
    let memory = queue.memory(1);
    assert!(queue.is_full && memory >= 87_040, "{memory}");
    assert!(!queue.wakes(1, 10, 10), "cwnd limits: the buffer does not grow");
    assert!(queue.wakes(1, 9, 40), "it does where it limits");
    queue.write(u64::MAX, 1, 1);
    assert!(queue.memory(1) >= 200_000);
    let acked = |queue: &mut WriteQueue, una| queue.wakes(una, 9, 40);
    let spare = queue.memory(1) - 200_000 * 2 / 3;
    assert!(!acked(&mut queue, 1 + spare - 1000));
    assert!(acked(&mut queue, 1 + spare + 1000));
}

#[test]
fn packets_and_not_only_payload_take_memory() {
    let mut queue = queue(1 << 20, 1 << 20);
    queue.write(1 + 10 * MSS, 1, 1);
    assert_eq!(queue.memory(1), 10 * MSS + OVERHEAD);
    for n in 1..=10 {
        queue.on_sent(1 + n * MSS);
    }
    assert_eq!(queue.memory(1), 10 * MSS + 10 * OVERHEAD, "sent one by one");
    queue.on_ack(1 + 4 * MSS, 0);
    assert_eq!(queue.memory(1 + 4 * MSS), 6 * (MSS + OVERHEAD));
}

// 128 KiB are 91.3 segments: the next call continues the buffer and takes the push back. Half of the window pushes
// at the end of a buffer, and so does the call after which there is no room.
#[test]
fn a_write_pushes_after_half_a_window_and_where_the_buffer_is_full() {
    let mut small = queue(65_536, 4 << 20);
    small.write(u64::MAX, 1, 1);
    assert_eq!(pushed(&mut small, 1, 1), [44, 66]);
    let mut large = queue(1 << 20, 4 << 20);
    large.expand(60);
    large.write(u64::MAX, 1, 1);
    let last = (large.written - 1) / MSS;
    assert_eq!(pushed(&mut large, 1, 1), [last]);
    let mut short = queue(65_536, 4 << 20);
    short.write(1 + 5000, 1, 1);
    assert_eq!(pushed(&mut short, 1, 1), [3], "the end of what is written");
}

#[test]
fn the_buffer_of_bbr_holds_three_windows() {
    let limit = |windows| WriteQueue::new(1, 65_536, 1448, windows, 4 << 20).limit;
    assert_eq!((limit(OTHERS), limit(BBR)), (87_040, 130_560));
}
