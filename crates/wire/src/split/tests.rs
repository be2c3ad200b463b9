use std::net::Ipv6Addr;

use proptest::prelude::*;

use super::*;
use crate::be16;

fn addresses(is_v6: bool) -> Addresses {
    if is_v6 {
        Addresses::V6 { source: Ipv6Addr::from_bits(1), destination: Ipv6Addr::from_bits(2) }
    } else {
        Addresses::V4 { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() }
    }
}

fn tcp_packet(is_v6: bool, header: tcp::Header, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 70_000];
    let (head, len) = header.to_bytes();
    let addresses = addresses(is_v6);
    let ip = ip::Header { addresses, protocol: ip::TCP, tos: 1, id: 0xfffe };
    let packet = ip.write(&mut out, len + payload.len()).expect("room");
    let body = &mut packet[addresses.header_len()..];
    body[..len].copy_from_slice(&head[..len]);
    body[len..].copy_from_slice(payload);
    packet.to_vec()
}

proptest! {
    /// The checksum of a super-packet is not looked at: mostly it is partial.
    #[test]
    fn segments_are_whole_and_together_the_super_packet(
        is_v6 in any::<bool>(),
        payload in prop::collection::vec(any::<u8>(), 0..5000),
        size in 1_u16..2000,
        ace in 0_u8..8,
        cwr in prop::sample::select(vec![Cwr::First, Cwr::All]),
    ) {
        let flags = tcp::ACK | tcp::PSH | tcp::FIN | tcp::Header::ace_bits(ace);
        let header = tcp::Header { flags, seq: 0xffff_ff00, ..tcp::Header::default() };
        let bytes = tcp_packet(is_v6, header, &payload);
        let split = Split::new(&bytes, size, cwr).expect("a super-packet");
        let mut out = vec![0; 3000];
        let mut together = Vec::new();
        for index in 0..split.segments() {
            let packet = split.write(index, &mut out).expect("room");
            let ip = Ip::parse(packet).expect("a packet");
            prop_assert!(ip.len == packet.len() && ip.has_valid_checksum());
            prop_assert_eq!(ip.has_valid_payload(), Some(true));
            if !is_v6 {
                prop_assert_eq!(be16(packet, 4), 0xfffe_u16.wrapping_add(index as u16));
            }
            let (segment, header_len) = tcp::Header::parse(ip.payload()).expect("a segment");
            prop_assert_eq!(segment.seq, header.seq.wrapping_add(together.len() as u32));
            let ends = if index + 1 == split.segments() { tcp::PSH | tcp::FIN } else { 0 };
            let is_kept = index == 0 || cwr == Cwr::All;
            let ace = if is_kept { ace } else { ace & 0b101 };
            prop_assert_eq!(segment.flags, tcp::ACK | ends | tcp::Header::ace_bits(ace));
            together.extend_from_slice(&ip.payload()[header_len..]);
        }
        prop_assert_eq!(together, payload);
        prop_assert!(split.write(split.segments(), &mut out).is_none());
    }
}

#[test]
fn datagrams_of_a_train_have_their_own_lengths() {
    let mut buffer = [0; 1000];
    for is_v6 in [false, true] {
        let addresses = addresses(is_v6);
        let header = udp::Header { addresses, source: 1, destination: 2, tos: 3, id: 9 };
        let payload: Vec<u8> = (0..250).collect();
        let bytes = header.write(&payload, &mut buffer).expect("room").to_vec();
        let split = Split::new(&bytes, 100, Cwr::First).expect("a train");
        let mut together = Vec::new();
        for index in 0..3 {
            let packet = split.write(index, &mut buffer).expect("room");
            let ip = Ip::parse(packet).expect("a packet");
            assert_eq!((ip.has_valid_payload(), ip.tos()), (Some(true), 3));
            together.extend_from_slice(udp::Header::parse(&ip).expect("UDP").1);
        }
        assert_eq!(together, payload);
    }
}

#[test]
fn what_cannot_be_cut_is_named() {
    let bytes = tcp_packet(false, tcp::Header::default(), &[1; 100]);
    let refused = |bytes: &[u8], size| Split::new(bytes, size, Cwr::First).err();
    assert_eq!(refused(&bytes, 10), None);
    assert_eq!(refused(&bytes, 0), Some(Error::Size));
    assert_eq!(refused(&bytes[..50], 10), Some(Error::Ip(ip::Error::Short)));
    let mut spoiled = bytes.clone();
    spoiled[9] = ip::ICMP;
    assert_eq!(refused(&spoiled, 10), Some(Error::Transport));
    let mut fragment = bytes;
    fragment[6] = 0x20;
    assert_eq!(refused(&fragment, 10), Some(Error::Transport));
}
