use super::*;

const MSS: u32 = 1448;
/// Segments of a packet that an application writes.
const WRITTEN: u64 = 45;

fn memory(header: u32) -> Memory {
    Memory::new(header, MSS)
}

/// How many packets of these numbers of segments leave with one ACK.
fn leave(header: u32, packets: &[u64]) -> usize {
    let (memory, mut queue) = (memory(header), SmallQueue::default());
    queue.writes_at = u64::MAX;
    let left = packets.iter().take_while(|&&segments| {
        let bytes = segments * u64::from(MSS);
        let is_full = queue.is_full(memory, 2 * memory.packet(bytes), 0, 1);
        queue.add(memory, bytes, false);
        !is_full
    });
    left.count()
}

// Linux 5.4: `MAX_TCP_HEADER` is 128 bytes, the longest link-layer header (128 with wireless meshes, 96 with other
// wireless devices, 32 without) and 48 for tunnels.
#[test]
fn packets_and_copies_take_what_the_kernel_allocates() {
    for (header, copied, in_buffer) in [(208, 2304, 2304), (272, 2304, 4352), (304, 4352, 4352)] {
        assert_eq!(memory(header).packet(1448), 2728);
        assert_eq!(memory(header).copied(1448), copied, "{header}");
        assert_eq!(memory(header).send_buffer(100), 200 * in_buffer, "{header}");
    }
    // The buffer of a new connection (`ss -m`: tb87040, or tb46080).
    assert_eq!([304, 208].map(|header| memory(header).send_buffer(1)), [87_040, 46_080]);
}

// L4STeam/l4steam.github.io, ect1-tests: in the capture of CUBIC over CoDel (target 1 ms, 20 ms) ACKs let leave 1+1
// segments at a window of three and never 1+1+1 but once, and 2+1 and 2+2 above.
#[test]
fn a_third_segment_waits_behind_two_packets_and_not_behind_a_pair() {
    assert_eq!(leave(272, &[1, 1, 1]), 2);
    assert_eq!(leave(272, &[2, 1, 1]), 2);
    assert_eq!(leave(272, &[2, 2, 1]), 2);
    // With copies of 4 KiB nothing leaves behind a pair.
    assert_eq!(leave(304, &[2, 2]), 1);
    assert_eq!(leave(304, &[2, 1]), 1);
}

// The same capture: writes are 390,960 bytes apart, six packets of 45 segments, after a largest window of 130.
#[test]
fn an_application_writes_whole_packets() {
    let goal = WRITTEN * u64::from(MSS);
    let third = |cwnd| memory(272).written(memory(272).send_buffer(cwnd), goal);
    assert_eq!(third(130), 390_960);
    assert_eq!(third(10), goal);
}

#[test]
fn offloads_leave_packets_as_they_are() {
    let mut queue = SmallQueue::default();
    queue.add(memory(304), 2896, true);
    assert_eq!(queue.bytes, 1280 + 2896);
}
