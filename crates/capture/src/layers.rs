//! From the bytes of a link to the innermost IP packet, through tags, labels and tunnels.

pub(crate) mod link;
pub(crate) mod tunnel;

use std::fmt;

use serde::{Serialize, Serializer};
use sojourn_core::Ecn;
use sojourn_wire::{Ip, ip};

use crate::LinkType;

/// Tunnels within tunnels, and headers of links within each, that are followed.
pub(crate) const MOST_LAYERS: usize = 16;

/// The innermost IP packet, and what carried it.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// The innermost packet whose headers are readable.
    pub ip: Ip<'a>,
    /// The outermost IP header, if that is another one; and of WireGuard, whose inner packets are encrypted, its
    /// own.
    pub tunnel: Option<Tunnel>,
}

/// What an IP packet was carried in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// Of the innermost encapsulation.
    pub kind: TunnelKind,
    /// ECN field of the outermost IP header.
    pub outer: Ecn,
}

/// How.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TunnelKind {
    /// IP directly in IP (RFC 2003, RFC 2473, RFC 4213).
    IpIp,
    /// Generic routing encapsulation (RFC 2784, RFC 2890).
    Gre,
    /// Virtual extensible LAN (RFC 7348).
    Vxlan,
    /// Generic network virtualisation encapsulation (RFC 8926).
    Geneve,
    /// MPLS labels in IP (RFC 4023).
    Mpls,
    /// WireGuard; what it carries cannot be read.
    WireGuard,
}

/// Why a record has no IP packet that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Skipped {
    /// A link type that is not read here.
    Link(LinkType),
    /// Another protocol than IP, by its EtherType; numbers below 1536 are lengths of IEEE 802.3 frames.
    Protocol(u16),
    /// The capture keeps too few bytes, or the packet is shorter than it says.
    Short,
    /// Its headers contradict themselves.
    Header,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Link(LinkType(number)) => write!(f, "link type {number}"),
            Self::Protocol(0x0806) => f.write_str("ARP"),
            Self::Protocol(0x8863) => f.write_str("PPPoE discovery"),
            Self::Protocol(0x888e) => f.write_str("EAPOL"),
            Self::Protocol(0x88cc) => f.write_str("LLDP"),
            Self::Protocol(0x88e5) => f.write_str("MACsec"),
            Self::Protocol(0..link::LEAST_TYPE) => f.write_str("IEEE 802.3 LLC"),
            Self::Protocol(number) => write!(f, "EtherType {number:#06x}"),
            Self::Short => f.write_str("headers cut off"),
            Self::Header => f.write_str("malformed headers"),
        }
    }
}

impl Serialize for Skipped {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// What comes next in a record.
#[derive(Clone, Copy)]
pub(crate) enum Next<'a> {
    /// An Ethernet frame.
    Frame(&'a [u8]),
    /// What this EtherType says.
    Typed(u16, &'a [u8]),
    /// An IP packet of either version.
    Ip(&'a [u8]),
}

/// Finds the innermost IP packet.
///
/// # Errors
/// There is none that can be read.
#[inline]
pub fn dissect(link: LinkType, bytes: &[u8]) -> Result<Layers<'_>, Skipped> {
    let ip = match bytes {
        // What nearly all records are.
        [_, _, _, _, _, _, _, _, _, _, _, _, 8, 0, packet @ ..] if link == LinkType::ETHERNET => {
            read(packet)?
        }
        _ => read(link::packet(link::payload(link, bytes)?)?)?,
    };
    if ip.protocol == ip::TCP {
        return Ok(Layers { ip, tunnel: None });
    }
    Ok(innermost(ip))
}

/// Follows tunnels as far as they can be read.
fn innermost(outermost: Ip<'_>) -> Layers<'_> {
    let outer = Ecn::from_tos(outermost.tos());
    let mut layers = Layers { ip: outermost, tunnel: None };
    for _ in 0..MOST_LAYERS {
        let Some((kind, next)) = tunnel::within(&layers.ip) else { break };
        let tunnel = Some(Tunnel { kind, outer });
        // Its inner packet is encrypted.
        let Some(next) = next else { return Layers { tunnel, ..layers } };
        let Ok(ip) = link::packet(next).and_then(read) else { break };
        layers = Layers { ip, tunnel };
    }
    layers
}

#[inline]
fn read(bytes: &[u8]) -> Result<Ip<'_>, Skipped> {
    Ip::parse_captured(bytes).map_err(|error| match error {
        ip::Error::Short => Skipped::Short,
        ip::Error::Version | ip::Error::Header => Skipped::Header,
    })
}

#[inline]
fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|word| u16::from_be_bytes([word[0], word[1]]))
}

#[cfg(test)]
mod tests;
