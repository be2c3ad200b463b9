//! Headers of links, and what lies between them and IP: tags, labels, PPPoE.
//!
//! Source: the tcpdump group's list of link types; IEEE 802.3 3.2.6, IEEE 802.1Q 9; RFC 1042 (SNAP),
//! RFC 3032 (MPLS), RFC 4385 (its control word), RFC 2516 (PPPoE), RFC 1661, RFC 1662 (PPP).

use super::{MOST_LAYERS, Next, Skipped};
use crate::LinkType;

/// IEEE 802.3 3.2.6: smaller numbers are lengths.
pub(super) const LEAST_TYPE: u16 = 0x0600;

pub(crate) const IPV4: u16 = 0x0800;
pub(crate) const IPV6: u16 = 0x86dd;
/// Transparent Ethernet bridging (RFC 1701): a whole frame.
pub(super) const BRIDGED: u16 = 0x6558;
pub(super) const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
const PPPOE_SESSION: u16 = 0x8864;

/// What a record of this link type begins with, without its header.
#[inline]
pub(crate) fn payload(link: LinkType, bytes: &[u8]) -> Result<Next<'_>, Skipped> {
    match link {
        LinkType::ETHERNET => Ok(Next::Frame(bytes)),
        // 12 and 14 are what BSDs wrote for it.
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 | LinkType(12 | 14) => Ok(Next::Ip(bytes)),
        LinkType::NULL | LinkType::LOOP => loopback(bytes),
        LinkType::LINUX_SLL => typed(bytes, 14, 16),
        LinkType::LINUX_SLL2 => typed(bytes, 0, 20),
        LinkType::PPP => ppp(bytes),
        // Address and control, as PPP's, then an EtherType.
        LinkType::C_HDLC => typed(bytes, 2, 4),
        LinkType::PPP_ETHER => pppoe(bytes),
        other => Err(Skipped::Link(other)),
    }
}

/// The IP packet, behind tags and labels.
#[inline]
pub(super) fn packet(mut next: Next<'_>) -> Result<&[u8], Skipped> {
    for _ in 0..MOST_LAYERS {
        next = match next {
            Next::Ip(bytes) | Next::Typed(IPV4 | IPV6, bytes) => return Ok(bytes),
            other => step(other)?,
        };
    }
    Err(Skipped::Header)
}

/// What is behind one header that is not IP's.
#[inline]
pub(crate) fn step(next: Next<'_>) -> Result<Next<'_>, Skipped> {
    match next {
        Next::Ip(_) => Ok(next),
        Next::Frame(bytes) => typed(bytes, 12, 14),
        Next::Typed(protocol, bytes) => inner(protocol, bytes),
    }
}

fn inner(protocol: u16, bytes: &[u8]) -> Result<Next<'_>, Skipped> {
    match protocol {
        // A VLAN's tag, a provider's around it, and what was used for one before there was a standard.
        0x8100 | 0x88a8 | 0x9100 | 0x9200 => typed(bytes, 2, 4),
        MPLS | MPLS_MULTICAST => labels(bytes),
        PPPOE_SESSION => pppoe(bytes),
        BRIDGED => Ok(Next::Frame(bytes)),
        0..LEAST_TYPE => match bytes {
            // RFC 1042: LLC and SNAP before an EtherType.
            [0xaa, 0xaa, 3, 0, 0, 0, ..] => typed(bytes, 6, 8),
            _ => Err(Skipped::Protocol(protocol)),
        },
        other => Err(Skipped::Protocol(other)),
    }
}

/// The EtherType at `at` of a header of `len` bytes.
#[inline]
fn typed(bytes: &[u8], at: usize, len: usize) -> Result<Next<'_>, Skipped> {
    let (head, rest) = bytes.split_at_checked(len).ok_or(Skipped::Short)?;
    Ok(Next::Typed(u16::from_be_bytes([head[at], head[at + 1]]), rest))
}

/// The address family in four bytes, whose order is the capturing host's (NULL) or the network's (LOOP).
fn loopback(bytes: &[u8]) -> Result<Next<'_>, Skipped> {
    let (family, rest) = bytes.split_first_chunk::<4>().ok_or(Skipped::Short)?;
    let family = u32::from_ne_bytes(*family);
    // AF_INET; AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, Darwin.
    let is_ip = |family| matches!(family, 2 | 10 | 24 | 28 | 30);
    if is_ip(family) || is_ip(family.swap_bytes()) {
        Ok(Next::Ip(rest))
    } else {
        Err(Skipped::Header)
    }
}

/// RFC 3032 2.1: the last label of the stack has the bit S. What follows it is recognised by its first four bits
/// (RFC 4928 2): IP's version, or 0 for a control word before a frame.
fn labels(mut bytes: &[u8]) -> Result<Next<'_>, Skipped> {
    loop {
        let (label, rest) = bytes.split_first_chunk::<4>().ok_or(Skipped::Short)?;
        bytes = rest;
        if label[2] & 1 != 0 {
            break;
        }
    }
    match bytes.first().ok_or(Skipped::Short)? >> 4 {
        4 | 6 => Ok(Next::Ip(bytes)),
        0 => Ok(Next::Frame(bytes.get(4..).ok_or(Skipped::Short)?)),
        _ => Err(Skipped::Protocol(MPLS)),
    }
}

/// RFC 2516 4: six bytes before the PPP protocol.
fn pppoe(bytes: &[u8]) -> Result<Next<'_>, Skipped> {
    ppp(bytes.get(6..).ok_or(Skipped::Short)?)
}

/// RFC 1662 3.1: address and control, unless they are left out; RFC 1661 6.5: the protocol, of one byte if it is
/// odd.
fn ppp(bytes: &[u8]) -> Result<Next<'_>, Skipped> {
    let bytes = bytes.strip_prefix(&[0xff, 3]).unwrap_or(bytes);
    let (protocol, rest) = match *bytes {
        [first, ref rest @ ..] if first & 1 != 0 => (u16::from(first), rest),
        [first, second, ref rest @ ..] => (u16::from_be_bytes([first, second]), rest),
        _ => return Err(Skipped::Short),
    };
    match protocol {
        0x21 | 0x57 => Ok(Next::Ip(rest)),
        0x281 => labels(rest),
        _ => Err(Skipped::Protocol(PPPOE_SESSION)),
    }
}
