//! From the bytes of an IP packet to what a queue may know of it, and what the queue has changed back
//! into the bytes.

use sojourn_core::{Kind, Packet};

use crate::ethernet::HEADER_BYTES as ETHERNET;
use crate::{Addresses, Ip, be16, ip, tcp, udp};

/// Why a queue can see only the IP header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opaque {
    /// A fragment. All of a datagram's are treated alike, the first one, which has ports, too.
    Fragment,
    /// Neither TCP, UDP nor ICMP.
    Protocol,
    /// The transport header is not whole, or contradicts itself.
    Transport,
}

/// A packet for a queue, and whether it shows less than it should.
pub type Read = Result<(Packet, Option<Opaque>), ip::Error>;

/// Reads an IP packet; `gso_size` is the payload of each segment of a super-packet, and 0 of one that is
/// none. Its owner adds id, flow and hosts. What is [`Opaque`] counts as UDP, which no queue looks into.
pub fn read(bytes: &[u8], gso_size: u16) -> Read {
    let ip = Ip::parse(bytes)?;
    let (addresses, body) = (ip.addresses(), ip.payload());
    let mut packet = Packet {
        len: (ETHERNET + ip.len) as u32,
        tos: ip.tos(),
        kind: Kind::Udp,
        segs: 1,
        ..Packet::default()
    };
    let mut opaque = None;
    let mut ports = (0, 0);
    match (ip.protocol, addresses) {
        _ if ip.is_fragment => opaque = Some(Opaque::Fragment),
        (ip::TCP, _) => match tcp::Header::parse(body) {
            Ok((header, header_len)) => {
                ports = (header.source, header.destination);
                put_tcp(&mut packet, &header, body.len() - header_len);
                put_segments(&mut packet, &ip, header_len, gso_size);
            }
            Err(_) => opaque = Some(Opaque::Transport),
        },
        (ip::UDP, _) if body.len() >= udp::HEADER_BYTES => {
            ports = (be16(body, 0), be16(body, 2));
            put_segments(&mut packet, &ip, udp::HEADER_BYTES, gso_size);
        }
        (ip::UDP, _) => opaque = Some(Opaque::Transport),
        (ip::ICMP, Addresses::V4 { .. }) | (ip::ICMPV6, Addresses::V6 { .. }) => {
            packet.kind = Kind::Icmp;
        }
        _ => opaque = Some(Opaque::Protocol),
    }
    packet.hash = hash(&addresses, ports, ip.protocol);
    Ok((packet, opaque))
}

/// What ACK filters and middleboxes look at.
fn put_tcp(packet: &mut Packet, header: &tcp::Header, payload_len: usize) {
    let has = |flag: u16| header.flags & flag != 0;
    packet.ace = header.ace();
    if has(tcp::SYN) {
        packet.set_syn(has(tcp::ACK));
    }
    packet.kind = if payload_len > 0 {
        Kind::TcpData
    } else if has(tcp::SYN | tcp::FIN | tcp::RST) {
        Kind::TcpControl
    } else {
        Kind::TcpAck
    };
    if packet.kind == Kind::TcpAck {
        packet.ack = header.ack;
        // A duplicate is no news of what has arrived.
        let sack = &header.options.sack;
        let new = &sack.as_slice()[usize::from(sack.reports_duplicate(header.ack))..];
        let bytes = |(left, right): &(u32, u32)| right.wrapping_sub(*left);
        packet.sacked = new.iter().map(bytes).fold(0, u32::wrapping_add);
    }
}

/// Segments and length of a super-packet: each has its headers, as Linux's `qdisc_pkt_len_init` counts
/// them.
fn put_segments(packet: &mut Packet, ip: &Ip<'_>, header_len: usize, gso_size: u16) {
    let payload = ip.payload_len() - header_len;
    if gso_size > 0 && payload > 0 {
        let segments = payload.div_ceil(gso_size.into());
        packet.segs = u8::try_from(segments).unwrap_or(u8::MAX);
        packet.len += ((segments - 1) * (ETHERNET + ip.header_len() + header_len)) as u32;
    }
}

/// A hash of the 5-tuple, the same for both directions, as Linux's `skb_get_hash` is.
pub fn hash(addresses: &Addresses, ports: (u16, u16), protocol: u8) -> u32 {
    let (source, destination) = match *addresses {
        Addresses::V4 { source, destination } => {
            (source.to_bits().into(), destination.to_bits().into())
        }
        Addresses::V6 { source, destination } => (source.to_bits(), destination.to_bits()),
    };
    let (a, b) = ((source, ports.0), (destination, ports.1));
    let ((low, low_port), (high, high_port)) = if a <= b { (a, b) } else { (b, a) };
    let ports = u64::from(low_port) << 32 | u64::from(high_port) << 16 | u64::from(protocol);
    let words = [low as u64, (low >> 64) as u64, high as u64, (high >> 64) as u64, ports];
    // The finaliser of MurmurHash3 after each word.
    let mut hash = 0_u64;
    for word in words {
        hash ^= word;
        hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^= hash >> 33;
    }
    hash as u32
}

/// What the checksum field of a TCP or UDP header holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// The checksum.
    #[default]
    Complete,
    /// The sum of the pseudo-header alone, which offloading hardware completes
    /// (`VIRTIO_NET_HDR_F_NEEDS_CSUM`).
    Partial,
}

/// Writes into the bytes from which `packet` was read what queues have changed in it: DSCP, ECN, TCP's AE,
/// CWR and ECE, and, as the lowest bit of the last byte, a bit error, which the receiver's checksum finds.
pub fn write_back(packet: &Packet, bytes: &mut [u8], checksum: Checksum) -> Result<(), ip::Error> {
    let ip = Ip::parse(bytes)?;
    let (len, transport) = (ip.len, ip.header_len());
    let is_tcp = matches!(packet.kind, Kind::TcpData | Kind::TcpAck | Kind::TcpControl);
    let header = is_tcp.then(|| tcp::Header::parse(ip.payload()).ok()).flatten();
    if ip.tos() != packet.tos {
        ip::set_tos(bytes, packet.tos);
    }
    if header.is_some_and(|(header, _)| header.ace() != packet.ecn_flags()) {
        tcp::set_ace(&mut bytes[transport..], packet.ecn_flags(), checksum);
    }
    if packet.is_corrupt() {
        bytes[len - 1] ^= 1;
    }
    Ok(())
}

/// How many packets were read, and what was odd about how many of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets with all that a queue may know.
    pub whole: u64,
    /// Fragments.
    pub fragments: u64,
    /// Neither TCP, UDP nor ICMP.
    pub other_protocols: u64,
    /// Transport headers that are not whole, or contradict themselves.
    pub malformed_transport: u64,
    /// Neither IPv4 nor IPv6.
    pub not_ip: u64,
    /// Shorter than their IP header says.
    pub short: u64,
    /// IP headers that contradict themselves.
    pub malformed_ip: u64,
}

impl Counts {
    /// Counts an answer of [`read`].
    pub fn add(&mut self, read: &Read) {
        *match read {
            Ok((_, None)) => &mut self.whole,
            Ok((_, Some(Opaque::Fragment))) => &mut self.fragments,
            Ok((_, Some(Opaque::Protocol))) => &mut self.other_protocols,
            Ok((_, Some(Opaque::Transport))) => &mut self.malformed_transport,
            Err(ip::Error::Version) => &mut self.not_ip,
            Err(ip::Error::Short) => &mut self.short,
            Err(ip::Error::Header) => &mut self.malformed_ip,
        } += 1;
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Self) {
        self.whole += other.whole;
        self.fragments += other.fragments;
        self.other_protocols += other.other_protocols;
        self.malformed_transport += other.malformed_transport;
        self.not_ip += other.not_ip;
        self.short += other.short;
        self.malformed_ip += other.malformed_ip;
    }

    /// Each count with its name.
    pub fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("whole", self.whole),
            ("fragments", self.fragments),
            ("other_protocols", self.other_protocols),
            ("malformed_transport", self.malformed_transport),
            ("not_ip", self.not_ip),
            ("short", self.short),
            ("malformed_ip", self.malformed_ip),
        ]
    }
}

#[cfg(test)]
mod tests;
