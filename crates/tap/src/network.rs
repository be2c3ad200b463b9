//! Addresses of the simulator's hosts, which have none.

use std::net::Ipv4Addr;

use sojourn_wire::Addresses;
use sojourn_wire::ethernet::HEADER_BYTES;

/// Address of the first host; the others follow (RFC 1918).
const FIRST_HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// A locally administered address of one station (IEEE 802 8.2), without the host's number.
const STATION: [u8; 4] = [0x02, 0, 0, 0];
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];

/// From one host to another.
pub(crate) fn addresses(source: u16, destination: u16) -> Addresses {
    let of = |host: u16| Ipv4Addr::from(u32::from(FIRST_HOST) + u32::from(host));
    Addresses::V4 { source: of(source), destination: of(destination) }
}

/// The header of a frame that carries this IP packet from one host to another.
pub(crate) fn ethernet(source: u16, destination: u16, ip: &[u8]) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    for (at, host) in [(0, destination), (6, source)] {
        header[at..at + 4].copy_from_slice(&STATION);
        header[at + 4..at + 6].copy_from_slice(&host.to_be_bytes());
    }
    let is_v6 = ip.first().is_some_and(|first| first >> 4 == 6);
    header[12..].copy_from_slice(if is_v6 { &IPV6 } else { &IPV4 });
    header
}
