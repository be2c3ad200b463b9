//! Where in an Ethernet frame its IP packet begins, or why it holds none that a queue should delay.
//!
//! Source: IEEE 802.3 3.2, IEEE 802.1Q 9.3 (tags), RFC 894, RFC 2464, RFC 4861 4 (neighbour discovery).

use crate::be16;

/// Bytes of two addresses and the type.
pub const HEADER_BYTES: usize = 14;
/// Bytes of a VLAN tag.
pub const TAG_BYTES: usize = 4;

const ARP: u16 = 0x0806;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// Tag of a VLAN, and of a provider's VLAN around it.
const TAGS: [u16; 2] = [0x8100, 0x88a8];
/// Tags before one packet.
const MOST_TAGS: usize = 2;

/// What a frame holds instead of a packet for a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// ARP.
    Arp,
    /// Neighbour and router discovery of IPv6.
    Discovery,
    /// Another protocol, or more tags than two.
    Protocol,
    /// It ends within its header.
    Short,
}

/// Where the IP packet of a frame begins: behind the header and up to two VLAN tags. The packet itself is
/// not looked at beyond what tells discovery.
pub fn ip_at(frame: &[u8]) -> Result<usize, Other> {
    for at in (0..=MOST_TAGS).map(|tags| HEADER_BYTES + tags * TAG_BYTES) {
        if frame.len() < at {
            return Err(Other::Short);
        }
        match be16(frame, at - 2) {
            IPV6 if is_discovery(&frame[at..]) => return Err(Other::Discovery),
            IPV4 | IPV6 => return Ok(at),
            ARP => return Err(Other::Arp),
            tag if TAGS.contains(&tag) => {}
            _ => break,
        }
    }
    Err(Other::Protocol)
}

/// ICMPv6 of types 133 to 137, directly after the IPv6 header, as RFC 6980 wants it.
fn is_discovery(packet: &[u8]) -> bool {
    const NEXT_HEADER: usize = 6;
    const TYPE: usize = 40;
    let is_icmp = packet.get(NEXT_HEADER).is_some_and(|next| *next == crate::ip::ICMPV6);
    is_icmp && packet.get(TYPE).is_some_and(|kind| (133..=137).contains(kind))
}

/// Puts a VLAN tag into the frame that the first `len` bytes of `buffer` hold; gives its new length. None if
/// it is no frame, or there is no room.
pub fn put_tag(buffer: &mut [u8], len: usize, protocol: u16, control: u16) -> Option<usize> {
    const AT: usize = HEADER_BYTES - 2;
    if len < HEADER_BYTES || buffer.len() < len + TAG_BYTES {
        return None;
    }
    buffer.copy_within(AT..len, AT + TAG_BYTES);
    buffer[AT..AT + 2].copy_from_slice(&protocol.to_be_bytes());
    buffer[AT + 2..AT + 4].copy_from_slice(&control.to_be_bytes());
    Some(len + TAG_BYTES)
}

/// Completes the checksum that the sum of the bytes from `start` on gives, and whose field, `offset` bytes
/// after, holds the sum of the pseudo-header (`VIRTIO_NET_HDR_F_NEEDS_CSUM`). False if it is not in the frame.
pub fn complete_checksum(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let Some(field) = start.checked_add(offset).filter(|at| at + 2 <= frame.len()) else {
        return false;
    };
    // RFC 768: a sum of zero is sent as all ones; for TCP they are the same (RFC 1624).
    let sum = match crate::checksum::of(&frame[start..]) {
        0 => u16::MAX,
        sum => sum,
    };
    crate::put16(frame, field, sum);
    true
}

#[cfg(test)]
mod tests;
