use sojourn_core::Packet;

use super::Pool;

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
