//! The header that Linux puts before a packet whose checksum or segmentation is left to others.
//!
//! Source: `struct virtio_net_hdr` (virtio 1.2, 5.1.6; `include/linux/virtio_net.h`), as TUN devices with
//! IFF_VNET_HDR and packet sockets with PACKET_VNET_HDR have it.

/// What is unfinished in a packet; all zero: nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unfinished {
    flags: u8,
    gso_type: u8,
    hdr_len: u16,
    gso_size: u16,
    csum_start: u16,
    csum_offset: u16,
}

/// How a super-packet is to be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// Payload of each, bytes.
    pub size: u16,
    /// `VIRTIO_NET_HDR_GSO_ECN`: CWR is the first one's only.
    pub cwr_first: bool,
    /// Whether it is to be cut as TCP or UDP; fragments of a datagram otherwise.
    pub by_transport: bool,
}

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`, and the values of `gso_type`.
const NEEDS_CSUM: u8 = 1;
const GSO_ECN: u8 = 0x80;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_UDP_L4: u8 = 5;

impl Unfinished {
    /// Bytes of the header.
    pub const BYTES: usize = size_of::<Self>();

    /// As it is in the first bytes of what was read, in this machine's byte order; nothing if they are too few.
    pub fn read(bytes: &[u8]) -> Self {
        let Some(bytes) = bytes.get(..Self::BYTES) else { return Self::default() };
        let number = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Self {
            flags: bytes[0],
            gso_type: bytes[1],
            hdr_len: number(2),
            gso_size: number(4),
            csum_start: number(6),
            csum_offset: number(8),
        }
    }

    /// Writes it, as it is read.
    pub fn write(self, bytes: &mut [u8; Self::BYTES]) {
        [bytes[0], bytes[1]] = [self.flags, self.gso_type];
        let numbers = [self.hdr_len, self.gso_size, self.csum_start, self.csum_offset];
        for (place, number) in bytes[2..].chunks_exact_mut(2).zip(numbers) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
    }

    /// Where the sum starts that has to be completed, and how far behind that is its field.
    pub fn checksum(self) -> Option<(usize, usize)> {
        let needs = self.flags & NEEDS_CSUM != 0;
        needs.then_some((self.csum_start.into(), self.csum_offset.into()))
    }

    /// How it is to be cut, if it is a super-packet.
    pub fn segments(self) -> Option<Segments> {
        let kind = self.gso_type & !GSO_ECN;
        (kind != GSO_NONE).then(|| Segments {
            size: self.gso_size,
            cwr_first: self.gso_type & GSO_ECN != 0,
            by_transport: [GSO_TCPV4, GSO_TCPV6, GSO_UDP_L4].contains(&kind),
        })
    }
}

#[cfg(test)]
mod tests;
