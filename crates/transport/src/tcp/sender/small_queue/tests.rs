use super::*;

const MSS: u64 = 1448;

/// How many packets of these numbers of segments leave with one ACK.
fn leave(header: u32, packets: &[u64]) -> usize {
    let (sizes, mut queue) = (Memory::of_5(header, 1448), SmallQueue::default());
    queue.writes_at = u64::MAX;
    let left = packets.iter().take_while(|&&segments| {
        let bytes = segments * MSS;
        let is_full = queue.is_full(2 * sizes.packet(bytes), 0, 0, sizes);
        queue.add(sizes.segmented(bytes));
        !is_full
    });
    left.count()
}

// L4STeam/l4steam.github.io, ect1-tests: in the capture of CUBIC over CoDel (target 1 ms, 20 ms) ACKs let leave 1+1,
// 2+1, 2+2 and 3+3 segments, and never 1+1+1 or 3+1.
#[test]
fn a_third_segment_waits_behind_two_packets_and_not_behind_a_pair() {
    assert_eq!(leave(272, &[1, 1, 1]), 2);
    assert_eq!(leave(272, &[2, 1, 1]), 2);
    assert_eq!(leave(272, &[2, 2, 1]), 2);
    assert_eq!(leave(272, &[3, 3]), 2);
    assert_eq!(leave(272, &[3, 1]), 1);
    // With copies of 4 KiB nothing leaves behind a pair.
    assert_eq!(leave(304, &[2, 2]), 1);
    assert_eq!(leave(304, &[2, 1]), 1);
}

// The same capture: writes are 390,960 bytes apart, six packets of 45 segments, after a largest window of 130.
#[test]
fn an_application_writes_whole_packets() {
    let sizes = Memory::of_5(272, 1448);
    let third = |cwnd| written(sizes.send_buffer(2, cwnd), sizes);
    assert_eq!(third(130), 390_960);
    assert_eq!(third(10), 45 * MSS);
}
