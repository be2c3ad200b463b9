//! IPv4 (RFC 791) and IPv6 with its extension headers (RFC 8200).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{IpNumber, Ipv4Header, Ipv6Header, LaxIpSlice};

use crate::checksum;
use crate::{be16, be32, put16};

/// Protocol numbers.
pub const ICMP: u8 = 1;
/// TCP.
pub const TCP: u8 = 6;
/// UDP.
pub const UDP: u8 = 17;
/// ICMP over IPv6 (RFC 4443).
pub const ICMPV6: u8 = 58;
/// The extension header of fragments (RFC 8200 4.5).
pub const FRAGMENT: u8 = 44;
/// The one of authentication (RFC 4302).
pub const AUTHENTICATION: u8 = 51;

/// Time to live of what is written here (RFC 1700).
const HOPS: u8 = 64;
/// Where an IPv4 header has its checksum.
const V4_CHECKSUM: usize = 10;
/// Where an IPv4 header has its identification.
const V4_ID: usize = 4;

/// Why bytes are no IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The version is neither 4 nor 6.
    Version,
    /// Fewer bytes than the header says.
    Short,
    /// Lengths within the header, or the order of extension headers, contradict each other.
    Header,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Version => "the IP version is neither 4 nor 6",
            Self::Short => "shorter than its IP header says",
            Self::Header => "lengths in the IP header contradict each other",
        })
    }
}

impl std::error::Error for Error {}

/// Source and destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Addresses {
    /// Of IPv4.
    V4 {
        /// Who sends.
        source: Ipv4Addr,
        /// Who receives.
        destination: Ipv4Addr,
    },
    /// Of IPv6.
    V6 {
        /// Who sends.
        source: Ipv6Addr,
        /// Who receives.
        destination: Ipv6Addr,
    },
}

impl Addresses {
    /// Two addresses of one version.
    pub const fn new(source: IpAddr, destination: IpAddr) -> Option<Self> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Some(Self::V4 { source, destination }),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Some(Self::V6 { source, destination }),
            _ => None,
        }
    }

    /// Who receives.
    pub const fn destination(&self) -> IpAddr {
        match *self {
            Self::V4 { destination, .. } => IpAddr::V4(destination),
            Self::V6 { destination, .. } => IpAddr::V6(destination),
        }
    }

    /// Those of the answer.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::V4 { source, destination } => {
                Self::V4 { source: destination, destination: source }
            }
            Self::V6 { source, destination } => {
                Self::V6 { source: destination, destination: source }
            }
        }
    }

    /// Bytes of a header without options.
    pub const fn header_len(&self) -> usize {
        match self {
            Self::V4 { .. } => Ipv4Header::MIN_LEN,
            Self::V6 { .. } => Ipv6Header::LEN,
        }
    }
}

/// A part of a packet that was too long for a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The same in all parts of a packet.
    pub id: u32,
    /// Where in the packet's payload it begins, bytes.
    pub offset: usize,
}

/// A packet whose headers were read.
#[derive(Clone, Copy, Debug)]
pub struct Ip<'a> {
    bytes: &'a [u8],
    header_len: usize,
    /// Bytes of the packet as its header says.
    pub len: usize,
    /// What follows the headers: the protocol number, behind extension headers the last one's.
    pub protocol: u8,
    /// It is a fragment; where it is not the first one, no transport header follows.
    pub is_fragment: bool,
}

impl<'a> Ip<'a> {
    /// Reads a whole packet; bytes behind its end are padding of the link.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let ip = Self::parse_captured(bytes)?;
        if ip.len > bytes.len() { Err(Error::Short) } else { Ok(ip) }
    }

    /// Reads the beginning of a packet, as captures keep it and ICMP errors quote it. The headers
    /// have to be there.
    #[inline]
    pub fn parse_captured(bytes: &'a [u8]) -> Result<Self, Error> {
        match Self::parse_plain(bytes) {
            Some(ip) => Ok(ip),
            None => Self::parse_with_extensions(bytes),
        }
    }

    /// Reads a header without options or extensions, as nearly all are, in a tenth of the time.
    #[inline]
    fn parse_plain(bytes: &'a [u8]) -> Option<Self> {
        let (header_len, len, protocol, is_fragment) = match bytes {
            [0x45, ..] if bytes.len() >= Ipv4Header::MIN_LEN => {
                // RFC 791 3.1: the flag of more fragments, and the offset.
                let is_fragment = be16(bytes, 6) & 0x3fff != 0;
                (Ipv4Header::MIN_LEN, usize::from(be16(bytes, 2)), bytes[9], is_fragment)
            }
            [0x60..=0x6f, ..] if bytes.len() >= Ipv6Header::LEN => {
                let payload_len = usize::from(be16(bytes, 4));
                if payload_len == 0 {
                    return None;
                }
                (Ipv6Header::LEN, Ipv6Header::LEN + payload_len, bytes[6], false)
            }
            _ => return None,
        };
        let is_plain = matches!(protocol, TCP | UDP | ICMP | ICMPV6) && len >= header_len;
        let bytes = &bytes[..len.min(bytes.len())];
        is_plain.then_some(Self { bytes, header_len, len, protocol, is_fragment })
    }

    fn parse_with_extensions(bytes: &'a [u8]) -> Result<Self, Error> {
        match bytes.first().ok_or(Error::Short)? >> 4 {
            4 | 6 => {}
            _ => return Err(Error::Version),
        }
        let (slice, stopped) = LaxIpSlice::from_slice(bytes).map_err(|error| match error {
            etherparse::err::ip::LaxHeaderSliceError::Len(_) => Error::Short,
            etherparse::err::ip::LaxHeaderSliceError::Content(_) => Error::Header,
        })?;
        if stopped.is_some() {
            return Err(Error::Header);
        }
        let (header_len, len) = match &slice {
            LaxIpSlice::Ipv4(v4) => {
                let options_end = v4.header().slice().len();
                let auth = v4.extensions().auth.map_or(0, |auth| auth.slice().len());
                (options_end + auth, usize::from(v4.header().total_len()))
            }
            // RFC 2675 3: the length of a jumbogram is elsewhere.
            LaxIpSlice::Ipv6(v6) if v6.header().payload_length() == 0 => {
                (Ipv6Header::LEN + v6.extensions().slice().len(), bytes.len())
            }
            LaxIpSlice::Ipv6(v6) => {
                let len = Ipv6Header::LEN + usize::from(v6.header().payload_length());
                (Ipv6Header::LEN + v6.extensions().slice().len(), len)
            }
        };
        if len < header_len {
            return Err(Error::Header);
        }
        Ok(Self {
            bytes: &bytes[..len.min(bytes.len())],
            header_len,
            len,
            protocol: slice.payload_ip_number().0,
            is_fragment: slice.is_fragmenting_payload(),
        })
    }

    /// The packet, without padding behind it.
    #[inline]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Bytes of the header and extension headers.
    pub const fn header_len(&self) -> usize {
        self.header_len
    }

    /// What follows the headers, as far as it is there.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_len..]
    }

    /// Bytes that follow the headers.
    #[inline]
    pub const fn payload_len(&self) -> usize {
        self.len - self.header_len
    }

    /// Source and destination.
    #[inline]
    pub fn addresses(&self) -> Addresses {
        let bytes = self.bytes;
        if bytes[0] >> 4 == 4 {
            let address = |at: usize| Ipv4Addr::from_bits(be32(bytes, at));
            Addresses::V4 { source: address(12), destination: address(16) }
        } else {
            let address = |at: usize| {
                let octets = bytes[at..].first_chunk::<16>().expect("a header has 40 bytes");
                Ipv6Addr::from(*octets)
            };
            Addresses::V6 { source: address(8), destination: address(24) }
        }
    }

    /// Which part of a fragmented packet this is. None of a whole one.
    pub fn fragment(&self) -> Option<Fragment> {
        if !self.is_fragment {
            return None;
        }
        let bytes = self.bytes;
        if bytes[0] >> 4 == 4 {
            let offset = usize::from(be16(bytes, 6) & 0x1fff) * 8;
            return Some(Fragment { id: be16(bytes, V4_ID).into(), offset });
        }
        let (mut kind, mut at) = (bytes[6], Ipv6Header::LEN);
        while at + 8 <= self.header_len {
            // RFC 8200 4.5: an offset in units of eight bytes above three bits.
            if kind == FRAGMENT {
                let offset = usize::from(be16(bytes, at + 2) & 0xfff8);
                return Some(Fragment { id: be32(bytes, at + 4), offset });
            }
            let words = usize::from(bytes[at + 1]);
            // RFC 4302 2.2: this one counts in other units.
            let len = if kind == AUTHENTICATION { 4 * (words + 2) } else { 8 * (words + 1) };
            (kind, at) = (bytes[at], at + len);
        }
        None
    }

    /// DSCP and ECN: type of service or traffic class (RFC 2474 3, RFC 3168 5).
    #[inline]
    pub fn tos(&self) -> u8 {
        if self.bytes[0] >> 4 == 4 { self.bytes[1] } else { (be16(self.bytes, 0) >> 4) as u8 }
    }

    /// Whether the header's checksum is right (RFC 791 3.1); IPv6 has none.
    pub fn has_valid_checksum(&self) -> bool {
        match self.bytes[0] >> 4 {
            4 => checksum::of(&self.bytes[..4 * usize::from(self.bytes[0] & 0x0f)]) == 0,
            _ => true,
        }
    }

    /// Whether the checksum of the TCP segment, UDP datagram or ICMP message is right. None if that
    /// is unknown: of fragments, of captures that were cut, and of other protocols.
    pub fn has_valid_payload(&self) -> Option<bool> {
        if self.is_fragment || self.len > self.bytes.len() {
            return None;
        }
        let (payload, addresses) = (self.payload(), self.addresses());
        match (self.protocol, addresses) {
            // RFC 768: the sender has made none. RFC 8200 8.1 forbids that over IPv6.
            (UDP, Addresses::V4 { .. }) if payload.len() >= 8 && be16(payload, 6) == 0 => {
                Some(true)
            }
            (TCP | UDP, _) | (ICMPV6, Addresses::V6 { .. }) => {
                Some(checksum::of_transport(&addresses, self.protocol, payload) == 0)
            }
            (ICMP, Addresses::V4 { .. }) => Some(checksum::of(payload) == 0),
            _ => None,
        }
    }
}

/// Writes DSCP and ECN into a packet that was read. The checksum of IPv4 follows (RFC 1624); the traffic
/// class of IPv6 has none.
pub fn set_tos(bytes: &mut [u8], tos: u8) {
    let first = be16(bytes, 0);
    if first >> 12 == 4 {
        checksum::replace(bytes, 0, (first & 0xff00) | u16::from(tos), V4_CHECKSUM);
    } else {
        put16(bytes, 0, (first & 0xf00f) | (u16::from(tos) << 4));
    }
}

/// What a header says besides its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source and destination.
    pub addresses: Addresses,
    /// What follows.
    pub protocol: u8,
    /// DSCP and ECN.
    pub tos: u8,
    /// Identification, of IPv4: packets are not to be fragmented, so that it may be any (RFC 6864 4.1).
    pub id: u16,
}

impl Header {
    /// Writes the header of a packet with this many bytes behind it, and gives the packet. None if the
    /// buffer or the length field is too small for it.
    pub fn write<'a>(&self, out: &'a mut [u8], payload_len: usize) -> Option<&'a mut [u8]> {
        let header_len = self.addresses.header_len();
        let packet = out.get_mut(..header_len + payload_len)?;
        match self.addresses {
            Addresses::V4 { source, destination } => {
                let payload_len = u16::try_from(payload_len).ok()?;
                let (protocol, source) = (IpNumber(self.protocol), source.octets());
                let mut header =
                    Ipv4Header::new(payload_len, HOPS, protocol, source, destination.octets())
                        .ok()?;
                header.identification = self.id;
                packet[..header_len].copy_from_slice(&header.to_bytes());
                let checksum = checksum::of(&packet[..header_len]);
                put16(packet, V4_CHECKSUM, checksum);
            }
            Addresses::V6 { source, destination } => {
                let header = Ipv6Header {
                    payload_length: u16::try_from(payload_len).ok()?,
                    next_header: IpNumber(self.protocol),
                    hop_limit: HOPS,
                    source: source.octets(),
                    destination: destination.octets(),
                    ..Ipv6Header::default()
                };
                packet[..header_len].copy_from_slice(&header.to_bytes());
            }
        }
        set_tos(packet, self.tos);
        Some(packet)
    }
}

/// Makes of a copied header that of a packet of `len` bytes, the `index`th of a super-packet: length,
/// identification and checksum.
pub(crate) fn set_len(packet: &mut [u8], len: usize, index: u16) {
    if packet[0] >> 4 == 4 {
        let id = be16(packet, V4_ID).wrapping_add(index);
        checksum::replace(packet, V4_ID, id, V4_CHECKSUM);
        checksum::replace(packet, 2, len as u16, V4_CHECKSUM);
    } else {
        put16(packet, 4, (len - Ipv6Header::LEN) as u16);
    }
}

#[cfg(test)]
mod tests;
