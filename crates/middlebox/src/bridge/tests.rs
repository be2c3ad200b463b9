use proptest::prelude::*;
use sojourn_wire::ethernet::HEADER_BYTES;
use sojourn_wire::{Addresses, Ip, udp};

use super::*;

/// A frame with a UDP datagram of this much payload.
fn frame(payload: usize) -> Vec<u8> {
    let addresses =
        Addresses::V4 { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() };
    let header = udp::Header { addresses, source: 1, destination: 2, tos: 0, id: 0 };
    let mut packet = vec![0; payload + 28];
    header.write(&vec![7; payload], &mut packet).expect("room");
    [&[2; 12][..], &[8, 0], &packet].concat()
}

#[test]
fn segments_have_the_link_s_header_and_their_own_checksums() {
    let (mut state, mut buffer) = (State::default(), vec![0; 65_600]);
    let whole = frame(2500);
    let segments = Segments { size: 1000, cwr_first: false, by_transport: true };
    state.keep(&whole, HEADER_BYTES, segments);
    let mut payloads = vec![];
    while let Some(len) = state.next_segment(&mut buffer) {
        assert_eq!(buffer[..HEADER_BYTES], whole[..HEADER_BYTES]);
        let ip = Ip::parse(&buffer[HEADER_BYTES..len]).expect("a packet");
        assert_eq!((ip.has_valid_checksum(), ip.has_valid_payload()), (true, Some(true)));
        payloads.push(ip.payload_len() - 8);
    }
    assert_eq!(payloads, [1000, 1000, 500]);
    assert_eq!(state.frames, Frames { cut: 1, ..Frames::default() });
    // Fragments of a datagram are nothing that is cut here.
    state.keep(&whole, HEADER_BYTES, Segments { by_transport: false, ..segments });
    assert_eq!(state.next_segment(&mut buffer), None);
    assert_eq!(state.frames.unreadable, 1);
}

proptest! {
    /// Whatever strangers send, each frame is cut, passed on or counted; nothing panics or repeats for ever.
    #[test]
    fn any_frame_has_a_fate(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        is_ip: bool,
        tag in proptest::option::of((any::<u16>(), any::<u16>())),
        sum in proptest::option::of((0..300_u16, 0..300_u16)),
        kind in proptest::sample::select(&[0_u8, 1, 3, 4, 5, 0x81, 0xff]),
        size in 0..100_u16,
    ) {
        let (mut state, mut buffer) = (State::default(), bytes);
        if is_ip && buffer.len() > HEADER_BYTES {
            (buffer[12], buffer[13], buffer[14]) = (8, 0, 0x45);
        }
        let len = buffer.len();
        buffer.resize(300, 0);
        // Flags, kind, length of the headers, size, where the sum starts, and how far behind that its field is.
        let (start, offset) = sum.unwrap_or_default();
        let [low, high] = size.to_ne_bytes();
        let [[s0, s1], [o0, o1]] = [start, offset].map(u16::to_ne_bytes);
        let header = [u8::from(sum.is_some()), kind, 0, 0, low, high, s0, s1, o0, o1];
        let arrival = Arrival { len, tag, unfinished: Unfinished::read(&header), ..Arrival::default() };
        let segments = arrival.unfinished.segments();
        let _ = passes_whole(&buffer, arrival);
        if let Some((len, found)) = state.finish(&mut buffer, arrival) {
            prop_assert!(len <= buffer.len() && found.unwrap_or_default() <= len);
            if let (Ok(ip_at), Some(segments)) = (found, segments) {
                state.keep(&buffer[..len], ip_at, segments);
                let cut = (0..1000).take_while(|_| state.next_segment(&mut buffer).is_some());
                prop_assert!(cut.count() <= 200);
            }
        }
    }
}
