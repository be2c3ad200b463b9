//! From the bytes of a link to the innermost IP packet, through tags, labels and tunnels.

use sojourn_core::Ecn;
use sojourn_wire::Ip;

use crate::LinkType;

/// The innermost IP packet, and what carried it.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// The innermost packet whose headers are readable.
    pub ip: Ip<'a>,
    /// The outermost IP header, if that is another one.
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
}

/// Why a record has no IP packet that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Skipped {
    /// A link type that is not read here.
    Link(LinkType),
    /// Another protocol than IP, by its EtherType.
    Protocol(u16),
    /// The capture keeps too few bytes, or the packet is shorter than it says.
    Short,
    /// Its headers contradict themselves.
    Header,
}

/// Finds the innermost IP packet.
///
/// # Errors
/// There is none that can be read.
pub fn dissect(link: LinkType, bytes: &[u8]) -> Result<Layers<'_>, Skipped> {
    match link {
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => {
            let ip = Ip::parse_captured(bytes).map_err(|error| match error {
                sojourn_wire::ip::Error::Short => Skipped::Short,
                _ => Skipped::Header,
            })?;
            Ok(Layers { ip, tunnel: None })
        }
        other => Err(Skipped::Link(other)),
    }
}
