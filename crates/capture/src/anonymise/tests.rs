use std::io::Cursor;
use std::path::Path;

use proptest::prelude::*;
use sojourn_core::Time;
use sojourn_wire::{Addresses as Pair, Ip, checksum, ip};

use super::{Addresses, Key, copy, rewrite};
use crate::layers::dissect;
use crate::read::Options;
use crate::write::{Interface, Packet, Section, Writer};
use crate::{Capture, LinkType, Record};

/// Fills payload, so that what is left of it shows.
const SECRET: u8 = 0xa7;

fn addresses() -> Addresses {
    Addresses::new(&Key([9; 32]))
}

fn pair(v6: bool) -> Pair {
    if v6 {
        Pair::new(
            [0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into(),
            [0x2001, 0xdb8, 0, 0, 0, 0, 0, 2].into(),
        )
    } else {
        Pair::new([192, 0, 2, 1].into(), [192, 0, 2, 2].into())
    }
    .unwrap()
}

/// A packet with right checksums, where the transport's is at `field`.
fn packet(v6: bool, protocol: u8, field: Option<usize>, payload: &[u8]) -> Vec<u8> {
    let mut payload = payload.to_vec();
    if let Some(at) = field {
        let sum = match protocol {
            ip::ICMP => checksum::of(&payload),
            _ => checksum::of_transport(&pair(v6), protocol, &payload),
        };
        payload[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
    let mut out = vec![0; 40 + payload.len()];
    let header = ip::Header { addresses: pair(v6), protocol, tos: 1, id: 3 };
    let packet = header.write(&mut out, payload.len()).unwrap();
    let at = packet.len() - payload.len();
    packet[at..].copy_from_slice(&payload);
    packet.to_vec()
}

fn tcp(v6: bool, len: usize) -> Vec<u8> {
    let head = [0x13, 0x88, 0, 80, 1, 2, 3, 4, 5, 6, 7, 8, 0xa0, 0x10, 1, 0, 0, 0, 0, 0];
    // Timestamps, a Fast Open cookie (RFC 7413), and two of no operation.
    let options = [
        8, 10, 1, 1, 1, 1, 2, 2, 2, 2, 34, 8, SECRET, SECRET, SECRET, SECRET, SECRET, SECRET, 1, 1,
    ];
    let body = [&head[..], &options, &vec![SECRET; len]].concat();
    packet(v6, ip::TCP, Some(16), &body)
}

fn udp(v6: bool, port: u16, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u16 + 8).to_be_bytes();
    let body = [&[0x13, 0x88][..], &port.to_be_bytes(), &len, &[0, 0], payload].concat();
    packet(v6, ip::UDP, Some(6), &body)
}

fn frame(kind: u16, packet: &[u8]) -> Vec<u8> {
    [&[SECRET; 12][..], &kind.to_be_bytes(), packet].concat()
}

fn rewritten(link: LinkType, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let original_len = bytes.len() as u32;
    let options = Options::default();
    let record = Record { time: Time::ZERO, interface: 0, link, original_len, bytes, options };
    rewrite(&record, &mut addresses(), &mut out);
    assert_eq!(out.len(), bytes.len());
    assert!(!out.contains(&SECRET), "{out:02x?}");
    out
}

/// Both ends of a packet are those that the key makes of them, and its checksums are right.
fn assert_mapped(ip: &Ip<'_>, v6: bool) {
    let mut addresses = addresses();
    let (source, destination) = match pair(v6) {
        Pair::V4 { source, destination } => (source.into(), destination.into()),
        Pair::V6 { source, destination } => (source.into(), destination.into()),
    };
    let expected = Pair::new(addresses.map(source), addresses.map(destination)).unwrap();
    assert_eq!(ip.addresses(), expected);
    assert!(ip.has_valid_checksum());
    assert_ne!(ip.has_valid_payload(), Some(false));
}

#[test]
fn headers_stay_and_payload_and_cookies_go() {
    for v6 in [false, true] {
        let before = tcp(v6, 33);
        let after =
            rewritten(LinkType::ETHERNET, &frame(if v6 { 0x86dd } else { 0x0800 }, &before));
        assert_eq!(after[..12], [0; 12]);
        let ip = Ip::parse(&after[14..]).unwrap();
        assert_mapped(&ip, v6);
        assert_eq!(ip.has_valid_payload(), Some(true));
        let (old, new) = (&before[ip.header_len()..], ip.payload());
        assert_eq!(new[..16], old[..16], "ports, numbers, flags, window");
        assert_eq!(new[20..32], old[20..32], "timestamps, and that there is a cookie");
        assert_eq!(new[40..], [0; 33]);

        let after = rewritten(LinkType::RAW, &udp(v6, 53, &[SECRET; 9]));
        let ip = Ip::parse(&after).unwrap();
        assert_mapped(&ip, v6);
        assert_eq!(ip.payload()[..4], [0x13, 0x88, 0, 53]);
    }
}

#[test]
fn a_wrong_checksum_stays_wrong_and_none_stays_none() {
    let mut wrong = tcp(false, 5);
    wrong[36] ^= 1;
    assert_eq!(
        Ip::parse(&rewritten(LinkType::RAW, &wrong)).unwrap().has_valid_payload(),
        Some(false)
    );
    let mut none = udp(false, 53, &[SECRET; 4]);
    none[26..28].fill(0);
    assert_eq!(rewritten(LinkType::RAW, &none)[26..28], [0, 0]);
}

#[test]
fn inner_packets_of_tunnels_are_rewritten_with_the_outer_sums() {
    let inner = tcp(false, 40);
    let vxlan = [&[8, 0, 0, 0, 0, 0, 7, 0][..], &frame(0x0800, &inner)].concat();
    let mut gre = [&[0x80, 0, 8, 0, 0, 0, 0, 0][..], &inner].concat();
    let sum = checksum::of(&gre);
    gre[4..6].copy_from_slice(&sum.to_be_bytes());
    for v6 in [false, true] {
        for outer in
            [packet(v6, 4, None, &inner), packet(v6, 47, None, &gre), udp(v6, 4789, &vxlan)]
        {
            let after = rewritten(LinkType::RAW, &outer);
            let ip = Ip::parse(&after).unwrap();
            assert_mapped(&ip, v6);
            if ip.protocol == 47 {
                assert_eq!(checksum::of(ip.payload()), 0);
            }
            let layers = dissect(LinkType::RAW, &after).unwrap();
            assert!(layers.tunnel.is_some());
            assert_mapped(&layers.ip, false);
            assert_eq!(layers.ip.has_valid_payload(), Some(true));
        }
    }
}

#[test]
fn quotes_in_errors_and_addresses_of_discovery_are_rewritten() {
    for (v6, protocol, kind) in [(false, ip::ICMP, 3), (true, ip::ICMPV6, 1)] {
        let quoted = tcp(v6, 40);
        let body = [&[kind, 4, 0, 0, 0, 0, 5, 0][..], &quoted].concat();
        let after = rewritten(LinkType::RAW, &packet(v6, protocol, Some(2), &body));
        let ip = Ip::parse(&after).unwrap();
        assert_mapped(&ip, v6);
        assert_eq!(ip.payload()[..2], [kind, 4]);
        assert_mapped(&Ip::parse(&ip.payload()[8..]).unwrap(), v6);
        // Eight bytes of its transport header, as most hosts quote.
        let body = &body[..8 + quoted.len() - 72];
        let after = rewritten(LinkType::RAW, &packet(v6, protocol, Some(2), body));
        assert_mapped(&Ip::parse(&after).unwrap(), v6);
    }
    let target = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let body = [&[135, 0, 0, 0, 0, 0, 0, 0][..], &target, &[1, 1], &[SECRET; 6]].concat();
    let after = rewritten(LinkType::RAW, &packet(true, ip::ICMPV6, Some(2), &body));
    let ip = Ip::parse(&after).unwrap();
    assert_mapped(&ip, true);
    assert_eq!(ip.payload()[8..24], ip.bytes()[8..24], "the target is the source here");
}

#[test]
fn what_is_not_understood_is_zero() {
    let arp = frame(0x0806, &[SECRET; 28]);
    assert_eq!(rewritten(LinkType::ETHERNET, &arp), frame(0x0806, &[0; 28]).map_secret());
    assert_eq!(rewritten(LinkType(105), &[SECRET; 40]), [0; 40]);
    let cooked = [&[0, 0, 0, 1, 0, 6][..], &[SECRET; 8], &[8, 0], &tcp(false, 3)].concat();
    let after = rewritten(LinkType::LINUX_SLL, &cooked);
    assert_eq!(after[..16], [0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0]);
    let sctp = packet(false, 132, None, &[SECRET; 30]);
    assert_eq!(rewritten(LinkType::RAW, &sctp)[20..], [0; 30]);
}

/// The same bytes without what is secret.
trait MapSecret {
    fn map_secret(self) -> Self;
}

impl MapSecret for Vec<u8> {
    fn map_secret(mut self) -> Self {
        self.iter_mut().filter(|byte| **byte == SECRET).for_each(|byte| *byte = 0);
        self
    }
}

#[test]
fn a_copy_has_times_lengths_and_drops_but_no_comments() {
    let section = Section { hardware: "my laptop", comment: "secret", ..Section::default() };
    let mut writer = Writer::new(Vec::new(), &section).unwrap();
    let eth0 =
        Interface { name: "eth0", description: "at home", snap_len: 60, ..Interface::default() };
    let interface = writer.interface(&eth0).unwrap();
    let bytes = &tcp(false, 500);
    let packet = Packet {
        interface,
        time: Time(77),
        bytes,
        comment: "secret",
        id: Some(5),
        ..Packet::default()
    };
    writer.packet(&packet).unwrap();
    writer.lost(interface, 3);
    let original = writer.finish().unwrap();

    let mut from = Capture::read(Cursor::new(original), Path::new("a")).unwrap();
    let mut to = Writer::new(Vec::new(), &Section::default()).unwrap();
    assert_eq!(copy(&mut from, &mut to, &mut addresses()).unwrap(), 1);
    let written = to.finish().unwrap();
    assert!(!written.windows(6).any(|bytes| bytes == b"secret" || bytes == b"laptop"));
    let mut read = Capture::read(Cursor::new(written), Path::new("b")).unwrap();
    let record = read.next().unwrap();
    assert_eq!((record.time.0, record.original_len, record.bytes.len()), (77, 560, 60));
    assert_eq!((record.options.id(), record.options.comments().count()), (Some(5), 0));
    assert!(read.next().is_none());
    let interface = &read.facts().interfaces[0];
    assert_eq!(
        (&*interface.name, &*interface.description, interface.dropped),
        ("eth0", "", Some(3))
    );
}

proptest! {
    #[test]
    fn any_bytes_of_any_link_can_be_rewritten(
        link in prop::sample::select(vec![0_u16, 1, 9, 51, 101, 104, 108, 113, 276]),
        start in prop::sample::select(vec![
            vec![], tcp(false, 3), tcp(true, 0), udp(true, 4789, &[8; 40]), packet(false, 47, None, &[0x80, 0, 8, 0, 0, 0]),
            packet(false, ip::ICMP, None, &[5]), packet(true, ip::ICMPV6, None, &[137; 30]),
        ]),
        at in 0_usize..60,
        cut in 0_usize..120,
        rest in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let mut bytes = start;
        bytes.truncate(cut);
        bytes.extend_from_slice(&rest);
        if let (Some(byte), Some(value)) = (bytes.get_mut(at), rest.first()) {
            *byte = *value;
        }
        let options = Options::default();
        let record = Record { time: Time::ZERO, interface: 0, link: LinkType(link), original_len: 0, bytes: &bytes, options };
        let mut out = Vec::new();
        rewrite(&record, &mut addresses(), &mut out);
        prop_assert_eq!(out.len(), bytes.len());
    }
}
