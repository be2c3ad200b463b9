use proptest::prelude::*;

use super::*;

fn packet(payload: &[u8], payload_len: u32) -> Packet<'_> {
    let (at, ip_len) = (7, payload_len + 20);
    Packet { at, forward: true, ecn: Ecn::Ce, ip_len, id: 9, payload, payload_len }
}

/// Ports 1 and 2, sequence 3, acknowledgement 4, flags, window 6.
fn header(options: &[u8], flags: u16) -> Vec<u8> {
    let mut bytes = vec![0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4];
    let offset = ((20 + options.len() as u16) / 4) << 12;
    bytes.extend((offset | flags).to_be_bytes());
    bytes.extend([0, 6, 0, 0, 0, 0]);
    bytes.extend(options);
    bytes
}

#[test]
fn options_that_a_capture_cut_are_read_as_far_as_they_are_whole() {
    let options = [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 3, 3, 7];
    let bytes = header(&options, SYN);
    let (whole, options) = Segment::parse(&packet(&bytes, 45)).expect("a segment");
    assert_eq!((whole.seq, whole.ack, whole.window, whole.data, whole.is_cut), (3, 4, 6, 5, false));
    assert_eq!(options.and_then(|options| options.window_scale), Some(7));
    assert_eq!(whole.timestamps, Some((1, 2)));
    let (cut, options) = Segment::parse(&packet(&bytes[..30], 45)).expect("a segment");
    let options = options.expect("options");
    assert!(cut.is_cut && options.sack_permitted);
    assert_eq!((options.mss, cut.timestamps, cut.data), (Some(1460), None, 5));
    assert!(Segment::parse(&packet(&bytes[..19], 45)).is_none());
    assert!(Segment::parse(&packet(&bytes, 39)).is_none(), "longer than its packet");
}

#[test]
fn a_segment_of_no_syn_is_from_the_port_that_is_no_systems() {
    let (segment, _) = Segment::parse(&packet(&header(&[], ACK), 20)).expect("a segment");
    assert!(!segment.is_from_opener((443, 50_000)));
    assert!(segment.is_from_opener((50_000, 443)) && segment.is_from_opener((50_000, 50_001)));
    let (answer, _) = Segment::parse(&packet(&header(&[], SYN | ACK), 20)).expect("a segment");
    assert!(!answer.is_from_opener((50_000, 443)));
}

proptest! {
    #[test]
    fn what_is_kept_is_what_was_read(bytes in prop::collection::vec(any::<u8>(), 0..80), more in 0..50_u32) {
        let len = bytes.len() as u32 + more;
        let segments: Vec<(Segment, Option<Options>)> = Segment::parse(&packet(&bytes, len)).into_iter().collect();
        let mut kept = Kept::default();
        for (segment, options) in segments.repeat(2) {
            kept.push(&segment, options.as_ref());
        }
        let mut again = Vec::new();
        let none = Options::default();
        kept.drain(|segment, options| again.push((*segment, (*options != none).then_some(*options))));
        prop_assert_eq!(again, segments.repeat(2));
        prop_assert_eq!(kept.len(), 0);
    }
}
