use sojourn_capture::LinkType;
use sojourn_capture::layers::dissect;
use sojourn_wire::ip::{Addresses, Header};

use super::*;

/// Takes a UDP packet of these ends.
fn takes(filter: &str, from: &str, to: &str, ports: [u16; 2]) -> bool {
    let parsed = Filter::parse(filter).expect(filter);
    let addresses = Addresses::new(from.parse().expect("v4 or v6"), to.parse().expect("v4 or v6"));
    let mut bytes = [0; 80];
    let addresses = addresses.expect("one version");
    let header = Header { addresses, protocol: ip::UDP, tos: 0, id: 0 };
    header.write(&mut bytes, 8).expect("room");
    let at = addresses.header_len();
    bytes[at..at + 2].copy_from_slice(&ports[0].to_be_bytes());
    bytes[at + 2..at + 4].copy_from_slice(&ports[1].to_be_bytes());
    let len = at + 8;
    parsed.takes(&dissect(LinkType::RAW, &bytes[..len]).expect("an IP packet"))
}

#[test]
fn hosts_networks_and_ports_are_found_on_either_side() {
    for (filter, is_taken) in [
        ("host 10.0.0.1", true),
        ("host 10.0.0.2", true),
        ("host 10.0.0.3", false),
        ("src host 10.0.0.2", false),
        ("dst net 10.0.0.0/30", true),
        ("net 10.0.1.0/24", false),
        ("net 0.0.0.0/0", true),
        ("net ::/0", false),
        ("port 53", true),
        ("src port 53", false),
        ("udp and port 53", true),
        ("tcp or ip6", false),
        ("not tcp and (port 1 or port 53)", true),
        ("!(udp && port 53)", false),
        ("tcp or udp and port 9", false),
        ("udp dst port 53", true),
        ("udp src port 53 or ip host 10.0.0.9", false),
    ] {
        assert_eq!(takes(filter, "10.0.0.1", "10.0.0.2", [4000, 53]), is_taken, "{filter}");
    }
    assert!(takes("src net 2001:db8::/32 and ip6", "2001:db8::1", "fe80::1", [1, 2]));
    assert!(!takes("src net 2001:db9::/32", "2001:db8::1", "fe80::1", [1, 2]));
}

#[test]
fn an_error_says_what_was_expected() {
    for (filter, said) in [
        ("", "expected host, net, port, ip, ip6, tcp, udp, icmp or icmp6 at its end"),
        ("host", "expected an address at its end"),
        ("host example", "expected an address, got `example`"),
        ("net 10.0.0.0/33", "expected a network such as 10.0.0.0/8, got `10.0.0.0/33`"),
        ("port 70000", "expected a port of 0 to 65535, got `70000`"),
        ("src tcp", "expected host, net or port after src or dst, got `tcp`"),
        ("tcp udp", "expected `and` or `or` before `udp`"),
        ("(tcp", "expected `)`"),
        ("vlan", "expected host, net, port, ip, ip6, tcp, udp, icmp or icmp6, got `vlan`"),
    ] {
        assert_eq!(Filter::parse(filter).unwrap_err(), said, "{filter}");
    }
    assert!(Filter::parse(&"(".repeat(100_000)).is_err());
}
