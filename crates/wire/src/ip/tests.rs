use proptest::prelude::*;

use super::*;

fn v4() -> Addresses {
    Addresses::V4 { source: Ipv4Addr::new(192, 0, 2, 1), destination: Ipv4Addr::new(192, 0, 2, 2) }
}

fn v6() -> Addresses {
    Addresses::V6 {
        source: "2001:db8::1".parse().expect("an address"),
        destination: "2001:db8::2".parse().expect("an address"),
    }
}

fn packet(addresses: Addresses, payload_len: usize) -> Vec<u8> {
    let mut out = vec![0; 100];
    let header = Header { addresses, protocol: 253, tos: 0xb9, id: 7 };
    let packet = header.write(&mut out, payload_len).expect("room");
    if matches!(addresses, Addresses::V6 { .. }) {
        put16(packet, 2, 0xabcd); // part of a flow label
        packet[1] |= 5;
    }
    packet.to_vec()
}

#[test]
fn a_header_reads_as_it_was_written() {
    for (addresses, header_len) in [(v4(), 20), (v6(), 40)] {
        let bytes = packet(addresses, 5);
        let padded = [&bytes[..], &[9; 6]].concat();
        let ip = Ip::parse(&padded).expect("a packet");
        assert_eq!(ip.addresses(), addresses);
        assert_eq!((ip.protocol, ip.tos(), ip.is_fragment), (253, 0xb9, false));
        assert_eq!((ip.len, ip.header_len(), ip.payload_len()), (header_len + 5, header_len, 5));
        assert_eq!((ip.bytes(), ip.payload()), (&bytes[..], &[0; 5][..]), "padding is cut");
        assert!(ip.has_valid_checksum());
        assert_eq!(ip.has_valid_payload(), None);
    }
}

#[test]
fn what_is_no_packet_is_named() {
    let (old, new) = (packet(v4(), 5), packet(v6(), 5));
    assert_eq!(Ip::parse(&[]).err(), Some(Error::Short));
    assert_eq!(Ip::parse(&[0x50; 60]).err(), Some(Error::Version));
    for (bytes, header_len) in [(&old, 20), (&new, 40)] {
        for cut in 1..bytes.len() {
            assert_eq!(Ip::parse(&bytes[..cut]).err(), Some(Error::Short), "{cut}");
            let captured = Ip::parse_captured(&bytes[..cut]);
            assert_eq!(captured.is_ok(), cut >= header_len, "{cut}");
        }
    }
    let mut bytes = old.clone();
    bytes[0] = 0x44;
    assert_eq!(Ip::parse(&bytes).err(), Some(Error::Header), "a header of 16 bytes");
    bytes[0] = 0x45;
    put16(&mut bytes, 2, 19);
    assert_eq!(Ip::parse(&bytes).err(), Some(Error::Header), "a packet of 19 bytes");
}

// RFC 791 3.1: more fragments, and fragment offset.
#[test]
fn fragments_are_told_from_whole_packets() {
    for (field, expected) in [(0x4000, false), (0x2000, true), (0x0001, true)] {
        let mut bytes = packet(v4(), 5);
        put16(&mut bytes, 6, field);
        assert_eq!(Ip::parse(&bytes).expect("a packet").is_fragment, expected, "{field:x}");
    }
    let mut bytes = packet(v4(), 5);
    put16(&mut bytes, 4, 77);
    assert_eq!(Ip::parse(&bytes).expect("a packet").fragment(), None);
    put16(&mut bytes, 6, 0x2003);
    let fragment = Ip::parse(&bytes).expect("a packet").fragment();
    assert_eq!(fragment, Some(Fragment { id: 77, offset: 24 }));
}

// RFC 8200 4: hop-by-hop options first, then routing and fragment headers.
#[test]
fn extension_headers_are_part_of_the_header() {
    let mut bytes = packet(v6(), 40);
    bytes[6] = 0;
    bytes[40..48].copy_from_slice(&[43, 0, 1, 4, 0, 0, 0, 0]);
    bytes[48..64].copy_from_slice(&[44, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes[64..72].copy_from_slice(&[UDP, 0, 0, 0, 0, 0, 0, 1]);
    let ip = Ip::parse(&bytes).expect("a packet");
    assert_eq!((ip.protocol, ip.header_len(), ip.is_fragment), (UDP, 72, false));
    assert_eq!(ip.payload().len(), 8);
    bytes[67] = 1;
    assert!(Ip::parse(&bytes).expect("a packet").is_fragment);
    bytes[66] = 1;
    let fragment = Ip::parse(&bytes).expect("a packet").fragment();
    assert_eq!(fragment, Some(Fragment { id: 1, offset: 256 }));
    bytes[40] = 0;
    assert_eq!(Ip::parse(&bytes).err(), Some(Error::Header), "hop-by-hop options are first");
    bytes[40] = 43;
    bytes[41] = 40;
    assert_eq!(Ip::parse(&bytes).err(), Some(Error::Header), "longer than the packet");
}

#[test]
fn what_exceeds_the_length_field_is_not_written() {
    let mut out = vec![0; 70_000];
    for (addresses, most) in [(v4(), 65_515), (v6(), 65_535)] {
        let header = Header { addresses, protocol: TCP, tos: 0, id: 0 };
        assert!(header.write(&mut out, most).is_some());
        assert!(header.write(&mut out, most + 1).is_none());
        assert!(header.write(&mut out[..50], 31).is_none(), "no room");
    }
}

proptest! {
    #[test]
    fn a_new_tos_leaves_all_else_as_it_was(tos in any::<u8>(), is_v6 in any::<bool>()) {
        let before = packet(if is_v6 { v6() } else { v4() }, 5);
        let mut bytes = before.clone();
        set_tos(&mut bytes, tos);
        let ip = Ip::parse(&bytes).expect("a packet");
        prop_assert_eq!(ip.tos(), tos);
        prop_assert!(ip.has_valid_checksum());
        set_tos(&mut bytes, 0xb9);
        prop_assert_eq!(bytes, before);
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        mut bytes in prop::collection::vec(any::<u8>(), 0..120),
        version in prop::sample::select(vec![0x45_u8, 0x46, 0x60, 0x4f]),
    ) {
        if let Some(first) = bytes.first_mut() {
            *first = version;
        }
        if let Ok(ip) = Ip::parse_captured(&bytes) {
            let _ = (ip.addresses(), ip.tos(), ip.has_valid_checksum(), ip.has_valid_payload());
            prop_assert!(ip.header_len() <= ip.len && ip.payload().len() <= ip.payload_len());
            let _ = ip.fragment();
        }
    }

    #[test]
    fn plain_headers_read_as_those_that_may_have_extensions(
        mut bytes in prop::collection::vec(any::<u8>(), 40..120),
        version in prop::sample::select(vec![0x45_u8, 0x60]),
        protocol in prop::sample::select(vec![TCP, UDP, ICMP, ICMPV6]),
        len in 0_u16..200,
    ) {
        bytes[0] = version;
        let (length_at, protocol_at) = if version == 0x45 { (2, 9) } else { (4, 6) };
        put16(&mut bytes, length_at, len);
        bytes[protocol_at] = protocol;
        if let Some(plain) = Ip::parse_plain(&bytes) {
            let other = Ip::parse_with_extensions(&bytes);
            prop_assert_eq!(format!("{:?}", Ok::<_, Error>(plain)), format!("{:?}", other));
        }
    }
}
