use proptest::prelude::*;
use sojourn_core::Ecn;
use sojourn_wire::{Addresses, ip};

use super::{Layers, Skipped, Tunnel, TunnelKind, dissect};
use crate::LinkType;

const CE: u8 = 3;
const ECT1: u8 = 1;

fn header(protocol: u8, tos: u8, v6: bool, payload: &[u8]) -> Vec<u8> {
    let last = if tos == CE { 9 } else { 2 };
    let addresses = if v6 {
        Addresses::new([1_u16; 8].into(), [last.into(); 8].into())
    } else {
        Addresses::new([10, 0, 0, 1].into(), [10, 0, 0, last].into())
    };
    let mut out = vec![0; 40 + payload.len()];
    let header = ip::Header { addresses: addresses.unwrap(), protocol, tos, id: 5 };
    let packet = header.write(&mut out, payload.len()).unwrap();
    let at = packet.len() - payload.len();
    packet[at..].copy_from_slice(payload);
    let len = packet.len();
    out.truncate(len);
    out
}

/// A packet with ECT(1) to 10.0.0.2, as it is inside whatever carries it.
fn inner() -> Vec<u8> {
    header(ip::TCP, ECT1, false, &[7; 20])
}

fn inner6() -> Vec<u8> {
    header(ip::TCP, ECT1, true, &[7; 20])
}

fn frame(kind: u16, packet: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &kind.to_be_bytes(), packet].concat()
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let len = payload.len() as u16 + 8;
    [&[0, 9][..], &port.to_be_bytes(), &len.to_be_bytes(), &[0, 0], payload].concat()
}

/// Finds the inner packet, which must be the one above, and says what carried it.
fn carried(link: LinkType, bytes: &[u8]) -> Option<Tunnel> {
    let Layers { ip, tunnel } = dissect(link, bytes).unwrap();
    let expected = if ip.bytes()[0] >> 4 == 4 { inner() } else { inner6() };
    assert_eq!(ip.bytes(), expected);
    tunnel
}

fn through(protocol: u8, payload: &[u8]) -> Option<Tunnel> {
    let v4 = carried(LinkType::RAW, &header(protocol, CE, false, payload));
    assert_eq!(carried(LinkType::RAW, &header(protocol, CE, true, payload)), v4);
    v4
}

const fn by(kind: TunnelKind) -> Tunnel {
    Tunnel { kind, outer: Ecn::Ce }
}

#[test]
fn every_link_leads_to_its_packet() {
    let packet = inner();
    let with = |head: &[u8]| [head, &packet].concat();
    let cooked = [&[0; 14][..], &[8, 0]].concat();
    let cooked2 = [&[8, 0][..], &[0; 18]].concat();
    for (link, bytes) in [
        (LinkType::RAW, packet.clone()),
        (LinkType::IPV4, packet.clone()),
        (LinkType::ETHERNET, frame(0x0800, &packet)),
        (LinkType::ETHERNET, frame(60, &with(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]))),
        (LinkType::NULL, with(&[2, 0, 0, 0])),
        (LinkType::NULL, with(&[0, 0, 0, 2])),
        (LinkType::LOOP, with(&[0, 0, 0, 2])),
        (LinkType::LINUX_SLL, with(&cooked)),
        (LinkType::LINUX_SLL2, with(&cooked2)),
        (LinkType::PPP, with(&[0xff, 3, 0, 0x21])),
        (LinkType::PPP, with(&[0x21])),
        (LinkType::PPP_ETHER, with(&[0x11, 0, 0, 1, 0, 50, 0, 0x21])),
        (LinkType::C_HDLC, with(&[0x0f, 0, 8, 0])),
    ] {
        assert_eq!(carried(link, &bytes), None, "{link:?}");
    }
    for (link, head) in [(LinkType::NULL, [30, 0, 0, 0]), (LinkType::LOOP, [0, 0, 0, 24])] {
        assert_eq!(carried(link, &[&head[..], &inner6()].concat()), None);
    }
}

#[test]
fn tags_labels_and_sessions_are_passed() {
    let packet = inner();
    let ethernet = |bytes: &[u8]| carried(LinkType::ETHERNET, bytes);
    let tagged = [&[0, 5, 8, 0][..], &packet].concat();
    assert_eq!(ethernet(&frame(0x8100, &tagged)), None);
    let twice = [&[0, 5, 0x81, 0][..], &tagged].concat();
    assert_eq!(ethernet(&frame(0x88a8, &twice)), None);
    let labels = [&[0, 1, 0, 64, 0, 2, 1, 64][..], &packet].concat();
    assert_eq!(ethernet(&frame(0x8847, &labels)), None);
    // A pseudo-wire: the last label, a control word, and a frame.
    let wire = [&[0, 2, 1, 64, 0, 0, 0, 0][..], &frame(0x86dd, &inner6())].concat();
    assert_eq!(ethernet(&frame(0x8847, &wire)), None);
    let session = [&[0x11, 0, 0, 1, 0, 50, 0, 0x57][..], &inner6()].concat();
    assert_eq!(ethernet(&frame(0x8864, &session)), None);
}

#[test]
fn ip_in_ip_of_all_versions_keeps_the_outermost_ecn_field() {
    assert_eq!(through(4, &inner()), Some(by(TunnelKind::IpIp)));
    assert_eq!(through(41, &inner6()), Some(by(TunnelKind::IpIp)));
    let twice = header(4, 0, false, &inner());
    assert_eq!(through(4, &twice), Some(by(TunnelKind::IpIp)));
}

#[test]
fn gre_with_any_of_its_fields_and_bridged_frames() {
    for (flags, fields) in [(0, 0), (0x80, 4), (0x20, 4), (0x10, 4), (0xb0, 12)] {
        let head = [&[flags, 0, 8, 0][..], &vec![9; fields]].concat();
        assert_eq!(through(47, &[&head[..], &inner()].concat()), Some(by(TunnelKind::Gre)));
    }
    let bridged = [&[0x20, 0, 0x65, 0x58, 0, 0, 0, 1][..], &frame(0x86dd, &inner6())].concat();
    assert_eq!(through(47, &bridged), Some(by(TunnelKind::Gre)));
    let labels = [&[0, 0, 0x88, 0x47, 0, 1, 1, 64][..], &inner()].concat();
    assert_eq!(through(47, &labels), Some(by(TunnelKind::Gre)));
}

#[test]
fn vxlan_of_both_ports_geneve_and_mpls() {
    for port in [4789, 8472] {
        let vxlan = [&[8, 0, 0, 0, 0, 0, 7, 0][..], &frame(0x0800, &inner())].concat();
        assert_eq!(through(ip::UDP, &udp(port, &vxlan)), Some(by(TunnelKind::Vxlan)));
    }
    let head = [2, 0, 0x65, 0x58, 0, 0, 7, 0, 0, 0, 0, 1, 9, 9, 9, 9];
    let geneve = [&head[..], &frame(0x0800, &inner())].concat();
    assert_eq!(through(ip::UDP, &udp(6081, &geneve)), Some(by(TunnelKind::Geneve)));
    assert_eq!(through(137, &[&[0, 1, 1, 64][..], &inner()].concat()), Some(by(TunnelKind::Mpls)));
    // The innermost is named, and the outermost has the ECN field.
    let gre = header(47, 0, false, &[&[0, 0, 8, 0][..], &inner()].concat());
    let vxlan = [&[8, 0, 0, 0, 0, 0, 7, 0][..], &frame(0x0800, &gre)].concat();
    assert_eq!(through(ip::UDP, &udp(4789, &vxlan)), Some(by(TunnelKind::Gre)));
}

#[test]
fn wireguard_is_named_and_stays_the_outer_packet() {
    let data =
        |last: u8| [&[4, 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0, last][..], &[9; 32]].concat();
    let find = |payload: &[u8]| {
        let packet = header(ip::UDP, CE, false, &udp(51820, payload));
        let layers = dissect(LinkType::RAW, &packet).unwrap();
        assert_eq!(layers.ip.bytes(), packet);
        layers.tunnel
    };
    assert_eq!(find(&data(0)), Some(by(TunnelKind::WireGuard)));
    let initiation = [&[1, 0, 0, 0][..], &[9; 144]].concat();
    assert_eq!(find(&initiation), Some(by(TunnelKind::WireGuard)));
    assert_eq!(find(&initiation[..147]), None);
    assert_eq!(find(&data(1)), None, "a counter beyond any session");
    assert_eq!(find(&data(0)[..40]), None, "no whole block");
}

#[test]
fn where_a_tunnel_cannot_be_read_the_outer_packet_is_the_answer() {
    let arp = frame(0x0806, &[0; 28]);
    let vxlan = [&[8, 0, 0, 0, 0, 0, 7, 0][..], &arp].concat();
    for (protocol, payload) in [
        (ip::UDP, udp(4789, &vxlan)),
        (ip::UDP, udp(4789, &[0; 40])),
        (47, vec![0x40, 0, 8, 0]),
        (47, vec![0, 1, 8, 0]),
        (47, vec![0]),
        (4, vec![0x45, 0]),
    ] {
        let packet = header(protocol, CE, false, &payload);
        let layers = dissect(LinkType::RAW, &packet).unwrap();
        assert_eq!((layers.ip.bytes(), layers.tunnel), (&packet[..], None));
    }
}

#[test]
fn a_later_fragment_of_a_tunnel_is_not_looked_into() {
    let mut packet = header(4, CE, false, &inner());
    packet[7] = 3;
    assert_eq!(dissect(LinkType::RAW, &packet).unwrap().tunnel, None);
    packet[6..8].copy_from_slice(&[0x20, 0]);
    assert_eq!(carried(LinkType::RAW, &packet), Some(by(TunnelKind::IpIp)));
}

#[test]
fn records_without_ip_say_why() {
    let skipped = |link, bytes: &[u8]| dissect(link, bytes).unwrap_err().to_string();
    let ethernet = |kind| skipped(LinkType::ETHERNET, &frame(kind, &[0; 40]));
    assert_eq!(ethernet(0x0806), "ARP");
    assert_eq!(ethernet(0x88cc), "LLDP");
    assert_eq!(ethernet(38), "IEEE 802.3 LLC");
    assert_eq!(ethernet(0x22f0), "EtherType 0x22f0");
    assert_eq!(skipped(LinkType(105), &[0; 40]), "link type 105");
    assert_eq!(skipped(LinkType::ETHERNET, &frame(0x0800, &inner()[..19])), "headers cut off");
    assert_eq!(skipped(LinkType::RAW, &[0x10; 40]), "malformed headers");
    let endless = frame(0x8100, &[0x81, 0].repeat(1000));
    assert_eq!(dissect(LinkType::ETHERNET, &endless).unwrap_err(), Skipped::Header);
}

proptest! {
    #[test]
    fn any_bytes_of_any_link_are_read_or_refused(
        link in 0_u16..300,
        start in prop::sample::select(vec![
            vec![], frame(0x8847, &[]), frame(0x8864, &[0; 6]), frame(0x0800, &[0x45]), frame(0x86dd, &[0x60]),
            inner()[..9].to_vec(), header(47, 0, false, &[]), header(17, 0, true, &udp(4789, &[])),
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let bytes = [start, rest].concat();
        for link in [LinkType(link), LinkType::ETHERNET, LinkType::RAW] {
            if let Ok(layers) = dissect(link, &bytes) {
                prop_assert!(layers.ip.bytes().len() <= bytes.len());
            }
        }
    }
}
