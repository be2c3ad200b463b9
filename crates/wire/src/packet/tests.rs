use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use sojourn_core::Ecn;

use super::*;
use crate::checksum::of_transport;
use crate::options::Options;

fn v4() -> Addresses {
    Addresses::V4 { source: Ipv4Addr::new(10, 0, 0, 1), destination: Ipv4Addr::new(10, 0, 0, 2) }
}

fn v6() -> Addresses {
    Addresses::V6 { source: Ipv6Addr::from_bits(1), destination: Ipv6Addr::from_bits(2) }
}

fn segment(addresses: Addresses, header: tcp::Header, payload_len: usize) -> Vec<u8> {
    let mut out = vec![0; 70_000];
    let (head, len) = header.to_bytes();
    let ip = ip::Header { addresses, protocol: ip::TCP, tos: 1, id: 0 };
    let packet = ip.write(&mut out, len + payload_len).expect("room");
    packet[addresses.header_len()..][..len].copy_from_slice(&head[..len]);
    tcp::set_checksum(&mut packet[addresses.header_len()..], &addresses);
    packet.to_vec()
}

fn whole(bytes: &[u8]) -> Packet {
    let (packet, opaque) = read(bytes, 0).expect("a packet");
    assert_eq!(opaque, None);
    packet
}

#[test]
fn kinds_follow_flags_and_payload() {
    let flags = |flags, payload_len| {
        let header = tcp::Header { flags, ..tcp::Header::default() };
        whole(&segment(v4(), header, payload_len))
    };
    assert_eq!(flags(tcp::ACK, 1460).kind, Kind::TcpData);
    assert_eq!(flags(tcp::ACK | tcp::FIN, 1).kind, Kind::TcpData);
    assert_eq!(flags(tcp::ACK, 0).kind, Kind::TcpAck);
    for control in [tcp::SYN, tcp::SYN | tcp::ACK, tcp::FIN | tcp::ACK, tcp::RST] {
        assert_eq!(flags(control, 0).kind, Kind::TcpControl, "{control:x}");
    }
    assert!(flags(tcp::SYN, 0).is_syn());
    let answer = flags(tcp::SYN | tcp::ACK, 0);
    assert!(answer.is_syn_ack() && !answer.is_syn());
    assert_eq!(flags(tcp::ACK | tcp::Header::ace_bits(0b101), 0).ecn_flags(), 0b101);
    let full = flags(tcp::ACK, 1460);
    assert_eq!((full.len, full.tos, full.segs), (1514, 1, 1));
}

#[test]
fn an_ack_shows_what_it_acknowledges() {
    let mut options = Options { timestamps: Some((1, 2)), ..Options::default() };
    options.sack.push((900, 1000)); // a duplicate
    options.sack.push((u32::MAX - 4, 5)); // ten bytes over the wrap
    let header = tcp::Header { flags: tcp::ACK, ack: 1000, options, ..tcp::Header::default() };
    let packet = whole(&segment(v6(), header, 0));
    assert_eq!((packet.ack, packet.sacked, packet.len), (1000, 10, 14 + 40 + 20 + 12 + 20));
    let packet = whole(&segment(v6(), header, 10));
    assert_eq!((packet.ack, packet.sacked), (0, 0), "data is left alone by filters");
}

// Linux net/core/dev.c, qdisc_pkt_len_init: headers once for each segment.
#[test]
fn a_super_packet_has_the_length_of_its_segments() {
    let header = tcp::Header { flags: tcp::ACK, ..tcp::Header::default() };
    let bytes = segment(v4(), header, 3 * 1448 + 1);
    let (packet, _) = read(&bytes, 1448).expect("a packet");
    assert_eq!((packet.segs, packet.len), (4, 4 * 54 + 3 * 1448 + 1));
}

#[test]
fn what_cannot_be_seen_is_named_and_counted() {
    let bytes = segment(v4(), tcp::Header { source: 9, ..tcp::Header::default() }, 10);
    let spoiled = |change: fn(&mut Vec<u8>)| {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        read(&bytes, 0)
    };
    let answers = [
        (spoiled(|_| {}), Ok(None)),
        (spoiled(|b| b[6] = 0x20), Ok(Some(Opaque::Fragment))),
        (spoiled(|b| b[9] = 47), Ok(Some(Opaque::Protocol))),
        (spoiled(|b| b[9] = ip::ICMPV6), Ok(Some(Opaque::Protocol))),
        (spoiled(|b| b[32] = 0x10), Ok(Some(Opaque::Transport))),
        (spoiled(|b| b[0] = 0), Err(ip::Error::Version)),
        (spoiled(|b| b.truncate(30)), Err(ip::Error::Short)),
        (spoiled(|b| b[0] = 0x41), Err(ip::Error::Header)),
    ];
    let mut counts = Counts::default();
    for (answer, expected) in answers {
        counts.add(&answer);
        assert_eq!(answer.map(|(_, opaque)| opaque), expected);
    }
    let expected = Counts {
        whole: 1,
        fragments: 1,
        other_protocols: 2,
        malformed_transport: 1,
        not_ip: 1,
        short: 1,
        malformed_ip: 1,
    };
    assert_eq!(counts, expected);
}

#[test]
fn fragments_of_a_datagram_have_one_hash() {
    let bytes = segment(v4(), tcp::Header { source: 9, ..tcp::Header::default() }, 10);
    let fragment = |field: [u8; 2]| {
        let mut bytes = bytes.clone();
        bytes[6..8].copy_from_slice(&field);
        read(&bytes, 0).expect("a packet").0.hash
    };
    assert_eq!(fragment([0x20, 0]), fragment([0, 30]));
    assert_ne!(fragment([0x20, 0]), fragment([0x40, 0]));
}

#[test]
fn a_hash_is_that_of_both_directions_and_spreads_connections() {
    for addresses in [v4(), v6()] {
        let mut buckets = [0_u32; 64];
        for port in 32_768..32_768 + 6400 {
            let there = hash(&addresses, (port, 443), ip::TCP);
            assert_eq!(there, hash(&addresses.reversed(), (443, port), ip::TCP));
            assert_ne!(there, hash(&addresses, (port, 443), ip::UDP));
            buckets[there as usize % 64] += 1;
        }
        // 100 in each, with a deviation of 10.
        assert!(buckets.iter().all(|n| (60..140).contains(n)), "{buckets:?}");
    }
}

#[test]
fn a_bit_error_is_found_by_the_receiver() {
    let mut bytes = segment(v4(), tcp::Header { flags: tcp::ACK, ..tcp::Header::default() }, 9);
    let mut packet = whole(&bytes);
    packet.set_corrupt();
    write_back(&packet, &mut bytes, Checksum::Complete).expect("a packet");
    assert_eq!(Ip::parse(&bytes).expect("a packet").has_valid_payload(), Some(false));
}

proptest! {
    #[test]
    fn what_a_queue_changes_is_in_the_bytes(
        is_v6 in any::<bool>(),
        (before, after) in (0_u16..0x200, 0_u8..8),
        ecn in 0_u8..4,
        payload_len in 0_usize..40,
    ) {
        let addresses = if is_v6 { v6() } else { v4() };
        let header = tcp::Header { flags: before, seq: 0xffff_fff0, ..tcp::Header::default() };
        let mut bytes = segment(addresses, header, payload_len);
        let mut packet = whole(&bytes);
        packet.set_ecn(Ecn::from_tos(ecn));
        packet.ace = packet.ace & !7 | after;
        write_back(&packet, &mut bytes, Checksum::Complete).expect("a packet");
        let again = whole(&bytes);
        prop_assert_eq!((again.tos, again.ace, again.kind), (packet.tos, packet.ace, packet.kind));
        prop_assert_eq!((again.len, again.hash), (packet.len, packet.hash));
        let ip = Ip::parse(&bytes).expect("a packet");
        prop_assert!(ip.has_valid_checksum());
        prop_assert_eq!(of_transport(&addresses, ip::TCP, ip.payload()), 0);
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        mut bytes in prop::collection::vec(any::<u8>(), 0..160),
        version in prop::sample::select(vec![0x45_u8, 0x46, 0x60]),
        protocol in prop::sample::select(vec![0_u8, 1, 6, 17, 44, 58]),
        gso_size in any::<u16>(),
    ) {
        let len = bytes.len() as u16;
        if len >= 40 {
            bytes[0] = version;
            if version == 0x60 {
                bytes[4..6].copy_from_slice(&(len - 40).to_be_bytes());
                bytes[6] = protocol;
            } else {
                bytes[2..4].copy_from_slice(&len.to_be_bytes());
                bytes[9] = protocol;
            }
        }
        if let Ok((packet, _)) = read(&bytes, gso_size) {
            write_back(&packet, &mut bytes, Checksum::Complete).expect("it was read");
        }
    }
}
