use sojourn_core::Packet;

use super::{Pool, Segments};

#[test]
fn a_buffer_is_used_again_when_its_packet_is_gone() {
    let mut pool = Pool::default();
    let mut on_the_way = std::collections::VecDeque::new();
    for number in 0..1000_u32 {
        let packet = Packet { len: number, ..Packet::default() };
        on_the_way.push_back(pool.frame(packet, &[], &number.to_be_bytes()));
        if on_the_way.len() > 20 {
            let arrived = on_the_way.pop_front().unwrap();
            assert_eq!(arrived.packet().len.to_be_bytes(), *arrived.bytes());
        }
    }
    // At least as many as were on the way at once.
    assert!((21..=42).contains(&pool.0.len()), "{}", pool.0.len());
}

#[test]
fn a_buffer_that_is_held_stays_as_it_is() {
    let mut pool = Pool::default();
    let held = pool.frame(Packet::default(), b"link", b"held");
    for _ in 0..100 {
        pool.frame(Packet::default(), b"", b"other");
    }
    assert_eq!((held.header(), held.bytes()), (&b"link"[..], &b"held"[..]));
    assert!(pool.0.len() <= 3, "{}", pool.0.len());
}

#[test]
fn a_super_packet_has_the_payload_of_its_segments_and_their_headers() {
    // 20 and 32 bytes of headers, 14 of the link; 1448 + 1448 + 104 of payload.
    let (headers, payload) = (52, 3000);
    let packet = Packet { len: 3 * (14 + headers) + payload, segs: 3, ..Packet::default() };
    let bytes = vec![7; (headers + payload) as usize];
    let segments = Segments { size: 1448, cwr_first: true };
    let whole = Pool::default().super_packet(packet, segments, b"virtio", &bytes);
    assert_eq!((whole.payload(), whole.part), (payload, None));
    let parts: Vec<_> = (0..3).map(|index| whole.split(index)).collect();
    assert_eq!(parts.iter().map(|(_, payload)| *payload).collect::<Vec<_>>(), [1448, 1448, 104]);
    assert_eq!(parts.iter().map(|(part, _)| part.part).collect::<Vec<_>>(), [0, 1, 2].map(Some));
    assert!(parts.iter().all(|(part, _)| part.bytes() == bytes));
}
