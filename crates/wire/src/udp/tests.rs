use std::net::Ipv6Addr;

use sojourn_core::Time;

use super::*;

fn headers() -> [Header; 2] {
    let v4 = Addresses::V4 { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() };
    let v6 = Addresses::V6 { source: Ipv6Addr::from_bits(1), destination: Ipv6Addr::from_bits(2) };
    [v4, v6].map(|addresses| Header { addresses, source: 4000, destination: 53, tos: 1, id: 0 })
}

#[test]
fn a_datagram_reads_as_it_was_written() {
    let mut out = [7; 200];
    for header in headers() {
        for payload in [&b""[..], b"a", b"some bytes"] {
            let packet = header.write(payload, &mut out).expect("room");
            let ip = Ip::parse(packet).expect("a packet");
            assert_eq!(ip.has_valid_payload(), Some(true));
            assert_eq!(Header::parse(&ip), Some((header, payload)));
        }
        let sent = Datagram { seq: 1 << 40, sent: Time(77), bytes: 100 };
        let packet = header.write_datagram(&sent, &mut out).expect("room");
        let (_, payload) = Header::parse(&Ip::parse(packet).expect("a packet")).expect("UDP");
        let got = read_datagram(payload).expect("a number and a time");
        assert_eq!((got.seq, got.sent, got.bytes), (sent.seq, sent.sent, sent.bytes));
        assert!(payload[BYTES..].iter().all(|byte| *byte == 0));
        assert!(header.write_datagram(&Datagram { bytes: 15, ..sent }, &mut out).is_none());
    }
}

#[test]
fn impossible_lengths_are_refused() {
    let mut out = [0; 60];
    let packet = headers()[0].write(b"four", &mut out).expect("room");
    for (length, fits) in [(7, false), (8, true), (12, true), (13, false)] {
        put16(packet, 20 + LENGTH_AT, length);
        let ip = Ip::parse(packet).expect("a packet");
        assert_eq!(Header::parse(&ip).is_some(), fits, "{length}");
    }
    put16(packet, 20 + LENGTH_AT, 12);
    packet[6] = 0x20;
    assert_eq!(Header::parse(&Ip::parse(packet).expect("a packet")), None, "a fragment");
}

// RFC 768: an all zero checksum means that there is none.
#[test]
fn a_checksum_of_zero_is_none_over_ipv4_and_wrong_over_ipv6() {
    let mut out = [0; 60];
    for (header, valid) in headers().into_iter().zip([true, false]) {
        let at = header.addresses.header_len() + CHECKSUM_AT;
        let packet = header.write(b"four", &mut out).expect("room");
        put16(packet, at, 0);
        assert_eq!(Ip::parse(packet).expect("a packet").has_valid_payload(), Some(valid));
        // A payload whose checksum would be 0 has 0xffff.
        let packet = header.write(&[0, 0], &mut out).expect("room");
        let sum = be16(packet, at).to_be_bytes();
        let packet = header.write(&sum, &mut out).expect("room");
        assert_eq!(be16(packet, at), 0xffff);
        assert_eq!(Ip::parse(packet).expect("a packet").has_valid_payload(), Some(true));
    }
}
