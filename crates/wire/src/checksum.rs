//! The Internet checksum (RFC 1071), alone, over a pseudo-header, and brought up to date (RFC 1624).

use etherparse::checksum::Sum16BitWords;

use crate::{Addresses, be16, put16};

/// The checksum of these bytes: of an IPv4 header (RFC 791 3.1) or an ICMP message (RFC 792). Over
/// bytes that contain their own right checksum it is 0.
pub fn of(bytes: &[u8]) -> u16 {
    Sum16BitWords::new().add_slice(bytes).ones_complement().to_be()
}

/// The checksum of a TCP segment, UDP datagram or ICMPv6 message with the pseudo-header of RFC 9293
/// 3.1 or RFC 8200 8.1.
pub fn of_transport(addresses: &Addresses, protocol: u8, bytes: &[u8]) -> u16 {
    let sum = match addresses {
        Addresses::V4 { source, destination } => {
            Sum16BitWords::new().add_4bytes(source.octets()).add_4bytes(destination.octets())
        }
        Addresses::V6 { source, destination } => {
            Sum16BitWords::new().add_16bytes(source.octets()).add_16bytes(destination.octets())
        }
    };
    sum.add_2bytes([0, protocol])
        .add_4bytes((bytes.len() as u32).to_be_bytes())
        .add_slice(bytes)
        .ones_complement()
        .to_be()
}

/// The checksum after one of the words that it covers has changed: RFC 1624 3, equation 3,
/// HC' = ~(~HC + ~m + m').
#[inline]
pub const fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = !checksum as u32 + !old as u32 + new as u32;
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

/// Changes the word at `at`, and the checksum at `checksum` that covers it.
pub(crate) fn replace(bytes: &mut [u8], at: usize, new: u16, checksum: usize) {
    let old = be16(bytes, at);
    put16(bytes, at, new);
    put16(bytes, checksum, updated(be16(bytes, checksum), old, new));
}

#[cfg(test)]
mod tests;
