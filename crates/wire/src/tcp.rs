//! TCP headers (RFC 9293 3.1).

use etherparse::TcpSlice;

use crate::options::{self, Options};
use crate::packet::Checksum;
use crate::{Addresses, be16, be32, checksum, ip, put16, put32};

/// Bytes of a header without options.
pub const HEADER_BYTES: usize = 20;

/// Control bits: no more data.
pub const FIN: u16 = 0x001;
/// Synchronise sequence numbers.
pub const SYN: u16 = 0x002;
/// Reset the connection.
pub const RST: u16 = 0x004;
/// Push.
pub const PSH: u16 = 0x008;
/// The acknowledgement number is valid.
pub const ACK: u16 = 0x010;
/// Congestion window reduced (RFC 3168 6.1).
pub const CWR: u16 = 0x080;
/// AE, CWR and ECE: the flags of RFC 3168, the ACE field of RFC 9768 3.2.2. AE was NS; SCE's ESCE is
/// this bit (draft-grimes-tcpm-tcpsce).
const ECN_SHIFT: u16 = 6;
const ECN_BITS: u16 = 0b111 << ECN_SHIFT;
/// All that are defined.
const CONTROL_BITS: u16 = 0x1ff;

const FLAGS_AT: usize = 12;
const CHECKSUM_AT: usize = 16;

/// Why bytes are no TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Fewer bytes than a header, or than its data offset says, or a data offset below 5.
    Short,
    /// The length of an option runs over the end of the header.
    Options,
}

/// What a header says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Control bits, AE to FIN.
    pub flags: u16,
    /// Window, scaled.
    pub window: u16,
    /// Options.
    pub options: Options,
}

impl Header {
    /// Reads the header at the beginning of an IP packet's payload, and gives its length.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), Error> {
        let slice = TcpSlice::from_slice(bytes).map_err(|_| Error::Short)?;
        let header = Self {
            source: slice.source_port(),
            destination: slice.destination_port(),
            seq: slice.sequence_number(),
            ack: slice.acknowledgment_number(),
            flags: be16(bytes, FLAGS_AT) & CONTROL_BITS,
            window: slice.window_size(),
            options: Options::parse(&bytes[HEADER_BYTES..slice.header_len()])
                .ok_or(Error::Options)?,
        };
        Ok((header, slice.header_len()))
    }

    /// AE, CWR and ECE in bits 2, 1, 0.
    pub const fn ace(&self) -> u8 {
        ((self.flags & ECN_BITS) >> ECN_SHIFT) as u8
    }

    /// The control bits that say so.
    pub const fn ace_bits(ace: u8) -> u16 {
        ((ace as u16) << ECN_SHIFT) & ECN_BITS
    }

    /// Writes a packet without data. None if there is no room for it.
    pub fn write(self, addresses: Addresses, out: &mut [u8]) -> Option<&mut [u8]> {
        let (header, header_len) = self.to_bytes();
        let ip = ip::Header { addresses, protocol: ip::TCP, tos: 0, id: 0 };
        let packet = ip.write(out, header_len)?;
        let body = &mut packet[addresses.header_len()..];
        body.copy_from_slice(&header[..header_len]);
        set_checksum(body, &addresses);
        Some(packet)
    }

    /// The header's bytes and how many they are; the checksum is not yet there.
    pub(crate) fn to_bytes(self) -> ([u8; HEADER_BYTES + options::MAX], usize) {
        let mut out = [0; HEADER_BYTES + options::MAX];
        let len = HEADER_BYTES + self.options.write(&mut out[HEADER_BYTES..]);
        put16(&mut out, 0, self.source);
        put16(&mut out, 2, self.destination);
        put32(&mut out, 4, self.seq);
        put32(&mut out, 8, self.ack);
        put16(&mut out, FLAGS_AT, ((len as u16 / 4) << 12) | self.flags);
        put16(&mut out, 14, self.window);
        (out, len)
    }
}

/// Replaces AE, CWR and ECE in a segment that was read. A complete checksum follows (RFC 1624); a partial
/// one does not cover them.
pub fn set_ace(segment: &mut [u8], ace: u8, checksum: Checksum) {
    let flags = (be16(segment, FLAGS_AT) & !ECN_BITS) | Header::ace_bits(ace);
    match checksum {
        Checksum::Complete => checksum::replace(segment, FLAGS_AT, flags, CHECKSUM_AT),
        Checksum::Partial => put16(segment, FLAGS_AT, flags),
    }
}

/// Adds to the sequence number and clears control bits; the checksum is wrong until
/// [`set_checksum`].
pub(crate) fn advance(segment: &mut [u8], bytes: u32, cleared: u16) {
    put32(segment, 4, be32(segment, 4).wrapping_add(bytes));
    put16(segment, FLAGS_AT, be16(segment, FLAGS_AT) & !cleared);
}

/// Writes the checksum of a whole segment (RFC 9293 3.1).
pub(crate) fn set_checksum(segment: &mut [u8], addresses: &Addresses) {
    put16(segment, CHECKSUM_AT, 0);
    put16(segment, CHECKSUM_AT, checksum::of_transport(addresses, ip::TCP, segment));
}

#[cfg(test)]
mod tests;
