use std::net::Ipv6Addr;

use sojourn_core::Time;

use super::*;

// KAT wire 5
#[test]
fn a_real_ping_is_read_and_written() {
    let head = [
        0x45, 0, 0, 0x54, 0x1a, 0x78, 0x40, 0, 0x40, 1, 0xfa, 0x1c, 10, 9, 9, 1, 10, 9, 9, 2, 8, 0,
        0x4d, 0x7c, 0x79, 0x71, 0, 1, 0x50, 0xfc, 0xa3, 0x5e, 0, 0, 0, 0, 0x75, 0xe3, 8, 0, 0, 0,
        0, 0,
    ];
    let packet: Vec<u8> = head.into_iter().chain(0x10..=0x37).collect();
    let ip = Ip::parse(&packet).expect("a packet");
    assert!(ip.has_valid_checksum());
    assert_eq!(ip.has_valid_payload(), Some(true));
    let (header, payload) = Header::parse(&ip).expect("an echo");
    assert_eq!((header.is_reply, header.identifier, header.seq), (false, 0x7971, 1));
    assert_eq!(payload.len(), 56);
    let mut out = [0; 100];
    let again = header.write(payload, &mut out).expect("room");
    assert_eq!(again[20..], packet[20..]);
    let mut fragment = packet;
    fragment[6] = 0x20;
    assert_eq!(Header::parse(&Ip::parse(&fragment).expect("a packet")), None);
}

#[test]
fn an_echo_comes_back_as_it_was_sent() {
    let v4 = Addresses::V4 { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() };
    let v6 = Addresses::V6 { source: Ipv6Addr::from_bits(1), destination: Ipv6Addr::from_bits(2) };
    let mut out = [0; 200];
    for addresses in [v4, v6] {
        let header = Header { addresses, is_reply: false, identifier: 9, seq: 0, tos: 2 };
        let echo = Echo { seq: 70_000, sent: Time(5) };
        let request = header.write_echo(&echo, 56, &mut out).expect("room").to_vec();
        let ip = Ip::parse(&request).expect("a packet");
        assert_eq!(ip.has_valid_payload(), Some(true));
        let (asked, payload) = Header::parse(&ip).expect("an echo");
        assert_eq!((asked.is_reply, asked.seq), (false, 70_000_u32 as u16));
        let reply = Header { addresses: addresses.reversed(), is_reply: true, ..asked };
        let reply = reply.write(payload, &mut out).expect("room").to_vec();
        let (answer, payload) = Header::parse(&Ip::parse(&reply).expect("a packet")).expect("echo");
        let back = read_echo(payload).expect("number and time");
        assert_eq!((answer.is_reply, back.seq, back.sent), (true, echo.seq, echo.sent));
        assert!(header.write_echo(&echo, 15, &mut out).is_none());
    }
}
