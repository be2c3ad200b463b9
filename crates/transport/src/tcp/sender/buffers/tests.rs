use super::*;

// The buffers of a 7.2 kernel whose peer offered 65,536 bytes in the handshake end after 44 segments
// of 1436 bytes and then after every 45: there its bursts are short.
#[test]
fn buffers_hold_half_the_first_window_and_later_a_whole_gso_packet() {
    let mut buffers = Buffers::new(1, 65_536);
    let mut ends = vec![];
    let mut seq = 1;
    for _ in 0..4 {
        seq += buffers.left(seq, 200_000, 1436);
        ends.push((seq - 1) / 1436);
    }
    assert_eq!(ends, [22, 44, 89, 134]);
    assert_eq!(buffers.left(seq + 1436, 200_000, 1436), 44 * 1436, "of a buffer begun");
}

#[test]
fn a_window_that_stays_small_keeps_buffers_at_half_of_it() {
    let mut buffers = Buffers::new(1, 65_536);
    assert_eq!(buffers.left(1 + 100 * 22 * 1436, 65_536, 1436), 22 * 1436);
    assert_eq!(Buffers::new(1, 1000).left(1, 1000, 1436), 1436);
}
