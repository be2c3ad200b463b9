//! What an IP packet carries, if that is another packet.

use sojourn_wire::{Ip, ip};

use super::{Next, TunnelKind, be16, link};

/// Protocol numbers of IP in IP, of both versions, of GRE and of MPLS.
const IPV4: u8 = 4;
const IPV6: u8 = 41;
const GRE: u8 = 47;
const MPLS: u8 = 137;

/// UDP ports: VXLAN's, and the one that Linux had before there was a number (`drivers/net/vxlan`).
const VXLAN: [u16; 2] = [4789, 8472];
/// Of GENEVE (RFC 8926 3.3).
const GENEVE: u16 = 6081;

/// How it is carried, and the packet unless it is encrypted. None where there is none.
pub(crate) fn within<'a>(ip: &Ip<'a>) -> Option<(TunnelKind, Option<Next<'a>>)> {
    let bytes = match ip.protocol {
        IPV4 | IPV6 | GRE | MPLS | ip::UDP => ip.payload(),
        _ => return None,
    };
    // Only the first fragment of an outer packet has headers behind it.
    if ip.fragment().is_some_and(|fragment| fragment.offset > 0) {
        return None;
    }
    let (kind, next) = match ip.protocol {
        ip::UDP => return datagram(bytes),
        GRE => (TunnelKind::Gre, gre(bytes)?),
        MPLS => (TunnelKind::Mpls, Next::Typed(link::MPLS, bytes)),
        _ => (TunnelKind::IpIp, Next::Ip(bytes)),
    };
    Some((kind, Some(next)))
}

/// RFC 2784 2.1, RFC 2890 2: flags, protocol, then the checksum, key and sequence number that the flags announce.
fn gre(bytes: &[u8]) -> Option<Next<'_>> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    let flags = be16(bytes, 0)?;
    // RFC 2784 2.1: routing is reserved, and of another version the header is another one.
    if flags & (ROUTING | 7) != 0 {
        return None;
    }
    let fields = [CHECKSUM, KEY, SEQUENCE].into_iter().filter(|flag| flags & flag != 0).count();
    Some(Next::Typed(be16(bytes, 2)?, bytes.get(4 + 4 * fields..)?))
}

fn datagram(bytes: &[u8]) -> Option<(TunnelKind, Option<Next<'_>>)> {
    let port = be16(bytes, 2)?;
    let (head, payload) = bytes.split_at_checked(8)?;
    if VXLAN.contains(&port) {
        return vxlan(payload).map(|next| (TunnelKind::Vxlan, Some(next)));
    }
    if port == GENEVE {
        return geneve(payload).map(|next| (TunnelKind::Geneve, Some(next)));
    }
    let len = usize::from(be16(head, 4)?).checked_sub(8)?;
    is_wireguard(payload, len).then_some((TunnelKind::WireGuard, None))
}

/// RFC 7348 5: the flag I, then a network identifier between reserved bytes.
fn vxlan(payload: &[u8]) -> Option<Next<'_>> {
    let (head, frame) = payload.split_first_chunk::<8>()?;
    (head[0] & 8 != 0).then_some(Next::Frame(frame))
}

/// RFC 8926 3.4: version and length of the options in words, flags, protocol, network identifier, options.
fn geneve(payload: &[u8]) -> Option<Next<'_>> {
    let options = 4 * usize::from(payload.first()? & 0x3f);
    let is_version_0 = payload[0] >> 6 == 0;
    let packet = payload.get(8 + options..)?;
    is_version_0.then_some(Next::Typed(be16(payload, 2)?, packet))
}

/// WireGuard 5.4: a type and three zeros. The first three types have one length each; a message of data has whole
/// blocks of 16 bytes, and a counter that does not reach 2^32.
fn is_wireguard(payload: &[u8], len: usize) -> bool {
    match payload {
        [1, 0, 0, 0, ..] => len == 148,
        [2, 0, 0, 0, ..] => len == 92,
        [3, 0, 0, 0, ..] => len == 64,
        [4, 0, 0, 0, rest @ ..] => {
            len >= 32
                && len.is_multiple_of(16)
                && rest.get(8..12).is_some_and(|high| high == [0; 4])
        }
        _ => false,
    }
}
