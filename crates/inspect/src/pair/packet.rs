//! What of a packet stays the same on its way, and what may change.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::net::IpAddr;

use sojourn_wire::{Addresses, Ip, ip, tcp};

use crate::report::{End, Protocol};

/// Payload that is compared: it must be kept by both captures.
const PREFIX: usize = 32;
/// TCP's flags that no box changes: FIN, SYN, RST.
const FIRM_FLAGS: u16 = tcp::FIN | tcp::SYN | tcp::RST;
/// Kinds of AccECN's options (RFC 9768 3.2.3), in the bits of [`Packet::options`] that no other kind uses.
const ACCECN: [(u8, u32); 2] = [(172, 62), (174, 63)];

/// The ends of a flow, the lower one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ends {
    pub(super) low: (IpAddr, u16),
    pub(super) high: (IpAddr, u16),
    pub(super) protocol: u8,
}

impl Ends {
    /// Lower or higher end.
    pub(super) fn end(&self, low: bool) -> End {
        let (address, port) = if low { self.low } else { self.high };
        End { address, port }
    }

    pub(super) fn protocol(&self) -> Protocol {
        match self.protocol {
            ip::TCP => Protocol::Tcp,
            ip::UDP => Protocol::Udp,
            ip::ICMP | ip::ICMPV6 => Protocol::Icmp,
            _ => Protocol::Other,
        }
    }
}

/// A packet as one point saw it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// Hash of what does not change.
    pub(super) key: u64,
    pub(super) tos: u8,
    pub(super) ttl: u8,
    /// Identification, of IPv4.
    pub(super) id: Option<u16>,
    /// Of TCP, 12 bits.
    pub(super) flags: u16,
    /// Timestamp and echo of TCP.
    pub(super) timestamps: Option<(u32, u32)>,
    /// Kinds of TCP options, one bit each; none if they were not kept.
    pub(super) options: Option<u64>,
    /// None if it cannot be known.
    pub(super) is_valid: Option<bool>,
}

impl Packet {
    /// Reads a packet, and whose it is: whether the lower end sent it. None of fragments, of what the capture
    /// keeps too little of, and of what stays on its link.
    pub(super) fn read(ip: &Ip<'_>, hashes: &RandomState) -> Option<(Self, Ends, bool)> {
        if ip.is_fragment {
            return None;
        }
        let (bytes, body) = (ip.bytes(), ip.payload());
        let is_v4 = bytes[0] >> 4 == 4;
        let mut packet = Self {
            key: 0,
            tos: ip.tos(),
            ttl: if is_v4 { bytes[8] } else { bytes[7] },
            id: is_v4.then(|| u16::from_be_bytes([bytes[4], bytes[5]])),
            flags: 0,
            timestamps: None,
            options: None,
            is_valid: ip.has_valid_payload(),
        };
        let mut hash = hashes.build_hasher();
        ip.protocol.hash(&mut hash);
        let mut ports = [0; 2];
        if ip.protocol == ip::TCP {
            packet.read_tcp(body, ip.payload_len(), &mut hash)?;
            ports = two_ports(body)?;
        } else {
            ip.payload_len().hash(&mut hash);
            let firm = match ip.protocol {
                ip::UDP => {
                    ports = two_ports(body)?;
                    body.get(8..)?
                }
                // Type, code, identifier and number.
                ip::ICMP | ip::ICMPV6 => {
                    let head = body.first_chunk::<8>()?;
                    (&head[..2], &head[4..]).hash(&mut hash);
                    if matches!((head[0], head[1]), (0 | 8 | 128 | 129, 0)) {
                        ports = [u16::from_be_bytes([head[4], head[5]]); 2];
                    }
                    &body[8..]
                }
                _ => body,
            };
            firm[..firm.len().min(PREFIX)].hash(&mut hash);
        }
        let (source, destination): (IpAddr, IpAddr) = match ip.addresses() {
            Addresses::V4 { source, destination } => (source.into(), destination.into()),
            Addresses::V6 { source, destination } => (source.into(), destination.into()),
        };
        if stays_on_its_link(source) || stays_on_its_link(destination) {
            return None;
        }
        let (from, to) = ((source, ports[0]), (destination, ports[1]));
        let from_low = from <= to;
        packet.key = hash.finish();
        let (low, high) = if from_low { (from, to) } else { (to, from) };
        Some((packet, Ends { low, high, protocol: ip.protocol }, from_low))
    }

    fn read_tcp(&mut self, body: &[u8], len: usize, hash: &mut impl Hasher) -> Option<()> {
        let head = body.first_chunk::<{ tcp::HEADER_BYTES }>()?;
        self.flags = u16::from_be_bytes([head[12] & 0x0f, head[13]]);
        let header = 4 * usize::from(head[12] >> 4);
        let data = len.checked_sub(header)?;
        (&head[4..8], self.flags & FIRM_FLAGS, data).hash(hash);
        if self.flags & tcp::ACK != 0 {
            head[8..12].hash(hash);
        }
        if let Some(options) = body.get(tcp::HEADER_BYTES..header) {
            let (kinds, timestamps) = read_options(options);
            (self.options, self.timestamps) = (Some(kinds), timestamps);
        }
        Some(())
    }
}

/// Addresses that no router forwards (RFC 4291 2.5.6 and 2.7, RFC 5771 4, RFC 3927 7), whose packets repeat each
/// other byte by byte.
fn stays_on_its_link(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local() || address.octets()[..3] == [224, 0, 0],
        IpAddr::V6(address) => {
            address.is_unicast_link_local() || address.segments()[0] & 0xff0f == 0xff02
        }
    }
}

fn two_ports(body: &[u8]) -> Option<[u16; 2]> {
    let head = body.first_chunk::<4>()?;
    Some([u16::from_be_bytes([head[0], head[1]]), u16::from_be_bytes([head[2], head[3]])])
}

/// Kinds of options, and the timestamps (RFC 9293 3.1, RFC 7323 3.2). What follows one that contradicts its length
/// is not read.
fn read_options(mut rest: &[u8]) -> (u64, Option<(u32, u32)>) {
    let (mut kinds, mut timestamps) = (0, None);
    while let Some((&kind, behind)) = rest.split_first() {
        match kind {
            0 => break,
            1 => {
                rest = behind;
                continue;
            }
            _ => {}
        }
        let Some(len) = behind.first().map(|len| usize::from(*len)).filter(|len| *len >= 2) else {
            break;
        };
        let Some((option, next)) = rest.split_at_checked(len) else { break };
        if let (8, Some(body)) = (kind, option.get(2..).and_then(<[u8]>::first_chunk::<8>)) {
            let word = |at: usize| {
                u32::from_be_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]])
            };
            timestamps = Some((word(0), word(4)));
        }
        let own = ACCECN.iter().find(|own| own.0 == kind).map(|own| own.1);
        if let Some(bit) = own.or_else(|| Some(kind.into()).filter(|bit| *bit < 62)) {
            kinds |= 1 << bit;
        }
        rest = next;
    }
    (kinds, timestamps)
}

/// The kinds whose bits are set.
pub(super) fn kinds(bits: u64) -> impl Iterator<Item = u8> {
    (0..64_u32).filter(move |bit| bits >> bit & 1 == 1).map(|bit| {
        let own = ACCECN.iter().find(|own| own.1 == bit);
        own.map_or(bit as u8, |own| own.0)
    })
}
