//! UDP (RFC 768), and the datagrams of one-way applications over it.

use sojourn_transport::Datagram;

use crate::stamp::{BYTES, Stamp};
use crate::{Addresses, Ip, be16, checksum, ip, put16};

/// Bytes of a header.
pub const HEADER_BYTES: usize = 8;

const LENGTH_AT: usize = 4;
const CHECKSUM_AT: usize = 6;

/// What a header says besides length and checksum, with its IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source and destination.
    pub addresses: Addresses,
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// DSCP and ECN.
    pub tos: u8,
    /// Identification of what is written, of IPv4; 0 of what was read.
    pub id: u16,
}

impl Header {
    /// Reads the header of a whole packet, and gives its payload. None if it is not UDP, a fragment, or
    /// its length is not possible.
    pub fn parse<'a>(ip: &Ip<'a>) -> Option<(Self, &'a [u8])> {
        if ip.protocol != ip::UDP || ip.is_fragment {
            return None;
        }
        let bytes = ip.payload();
        let length = usize::from(be16(bytes.get(..HEADER_BYTES)?, LENGTH_AT));
        let header = Self {
            addresses: ip.addresses(),
            source: be16(bytes, 0),
            destination: be16(bytes, 2),
            tos: ip.tos(),
            id: 0,
        };
        Some((header, bytes.get(HEADER_BYTES..length)?))
    }

    /// Writes a packet with this payload. None if there is no room for it.
    pub fn write<'a>(&self, payload: &[u8], out: &'a mut [u8]) -> Option<&'a mut [u8]> {
        self.write_with(payload.len(), |body| body.copy_from_slice(payload), out)
    }

    /// Writes an application's datagram: number and time, then zeros. None if there is no room for it, or none
    /// for these in the datagram ([`crate::STAMP_BYTES`]).
    pub fn write_datagram<'a>(
        &self,
        datagram: &Datagram,
        out: &'a mut [u8],
    ) -> Option<&'a mut [u8]> {
        let (len, stamp) =
            (datagram.bytes as usize, Stamp { seq: datagram.seq, sent: datagram.sent });
        (len >= BYTES).then_some(())?;
        self.write_with(len, |body| stamp.write(body), out)
    }

    pub(crate) fn write_with<'a>(
        &self,
        payload_len: usize,
        fill: impl FnOnce(&mut [u8]),
        out: &'a mut [u8],
    ) -> Option<&'a mut [u8]> {
        let Self { addresses, tos, id, .. } = *self;
        let header = ip::Header { addresses, protocol: ip::UDP, tos, id };
        let packet = header.write(out, HEADER_BYTES + payload_len)?;
        let datagram = &mut packet[addresses.header_len()..];
        put16(datagram, 0, self.source);
        put16(datagram, 2, self.destination);
        fill(&mut datagram[HEADER_BYTES..]);
        finish(datagram, &addresses);
        Some(packet)
    }
}

/// An application's datagram that begins with number and time.
pub fn read_datagram(payload: &[u8]) -> Option<Datagram> {
    let Stamp { seq, sent } = Stamp::read(payload)?;
    Some(Datagram { seq, sent, bytes: payload.len() as u32 })
}

/// Writes length and checksum of a whole datagram; a checksum of 0 is sent as 0xffff (RFC 768).
pub(crate) fn finish(datagram: &mut [u8], addresses: &Addresses) {
    put16(datagram, LENGTH_AT, datagram.len() as u16);
    put16(datagram, CHECKSUM_AT, 0);
    let checksum = match checksum::of_transport(addresses, ip::UDP, datagram) {
        0 => 0xffff,
        checksum => checksum,
    };
    put16(datagram, CHECKSUM_AT, checksum);
}

#[cfg(test)]
mod tests;
