use proptest::prelude::*;

use super::*;

/// An Initial of version 1 with a token, and a packet behind it.
fn datagram() -> Vec<u8> {
    let mut bytes = vec![0xc0, 0, 0, 0, 1, 2, 7, 8, 1, 9, 3, 1, 2, 3, 0x40, 25];
    bytes.resize(16 + 25, 5);
    bytes.extend([0xe0, 0, 0, 0, 1, 2, 7, 8, 1, 9, 20]);
    bytes.resize(bytes.len() + 20, 6);
    bytes.extend([0x60, 7, 8, 1, 1, 1]);
    bytes
}

// RFC 9000 12.2, 17.2.
#[test]
fn packets_of_one_datagram_are_told_apart() {
    let bytes = datagram();
    let packets: Vec<_> = Packets::new(&bytes, bytes.len()).collect();
    let [Packet::Long(initial), Packet::Long(handshake), Packet::Short { spin: true }] =
        packets[..]
    else {
        panic!("{packets:?}")
    };
    assert_eq!((initial.kind, initial.number_at, initial.len), (Kind::Initial, 16, 41));
    assert_eq!((handshake.kind, handshake.len), (Kind::Handshake, 31));
    assert_eq!((initial.destination.hex(), initial.source.hex()), ("0708".into(), "09".into()));
}

#[test]
fn a_packet_may_be_cut_but_not_longer_than_its_datagram() {
    let bytes = datagram();
    let cut: Vec<_> = Packets::new(&bytes[..30], bytes.len()).collect();
    assert!(
        matches!(cut[..], [Packet::Long(Long { len: 41, bytes: kept, .. })] if kept.len() == 30)
    );
    assert_eq!(Packets::new(&bytes[..30], 30).count(), 0);
}

// RFC 9369 3.2, RFC 8999 6.
#[test]
fn types_are_those_of_the_version() {
    let first = |version: u32, first: u8| {
        let mut bytes = datagram();
        bytes[0] = first;
        bytes[1..5].copy_from_slice(&version.to_be_bytes());
        let len = bytes.len();
        let packet = Packets::new(&bytes, len).next();
        packet.map(|packet| match packet {
            Packet::Long(long) => format!("{:?}", long.kind),
            Packet::VersionNegotiation { .. } => "VersionNegotiation".into(),
            Packet::Other { version, .. } => format!("{version:x}"),
            Packet::Short { .. } => "Short".into(),
        })
    };
    assert_eq!(first(V1, 0xc0).as_deref(), Some("Initial"));
    assert_eq!(first(V1, 0xf0).as_deref(), Some("Retry"));
    assert_eq!(first(V2, 0xd0).as_deref(), Some("Initial"));
    assert_eq!(first(V2, 0xc0).as_deref(), Some("Retry"));
    assert_eq!(first(0xff00_001d, 0xc0).as_deref(), Some("Initial"));
    assert_eq!(first(0, 0x80).as_deref(), Some("VersionNegotiation"));
    assert_eq!(first(0x0a0a_0a0a, 0xc0).as_deref(), Some("a0a0a0a"));
}

// RFC 9000 A.1.
#[test]
fn integers_have_the_length_that_their_first_bits_say() {
    let read = |bytes: &[u8]| Cursor { bytes, at: 0 }.varint();
    assert_eq!(read(&[0x25]), Some(37));
    assert_eq!(read(&[0x40, 0x25]), Some(37));
    assert_eq!(read(&[0x7b, 0xbd]), Some(15_293));
    assert_eq!(read(&[0x9d, 0x7f, 0x3e, 0x7d]), Some(494_878_333));
    let eight = [0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c];
    assert_eq!(read(&eight), Some(151_288_809_941_952_652));
    assert_eq!(read(&eight[..7]), None);
}

proptest! {
    #[test]
    fn packets_fill_no_more_than_their_datagram(
        bytes in prop::collection::vec(any::<u8>(), 0..200), more in 0..100_usize,
    ) {
        let whole = bytes.len() + more;
        let lens = Packets::new(&bytes, whole).map(|packet| match packet {
            Packet::Long(long) => long.len,
            _ => 0,
        });
        prop_assert!(lens.sum::<usize>() <= whole);
    }
}
