//! ICMP echo, version 4 (RFC 792) and 6 (RFC 4443 4).

use sojourn_transport::Echo;

use crate::stamp::{BYTES, Stamp};
use crate::{Addresses, Ip, be16, checksum, ip, put16};

/// Type, code, checksum, identifier, sequence number.
pub const HEADER_BYTES: usize = 8;

const V4_REPLY: u8 = 0;
const V4_REQUEST: u8 = 8;
const V6_REQUEST: u8 = 128;
const V6_REPLY: u8 = 129;

/// What a message says, with its IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source and destination.
    pub addresses: Addresses,
    /// An answer.
    pub is_reply: bool,
    /// Which program asks.
    pub identifier: u16,
    /// Sequence number.
    pub seq: u16,
    /// DSCP and ECN.
    pub tos: u8,
}

impl Header {
    /// Reads an echo request or reply, and gives its payload. None if the packet is something else.
    pub fn parse<'a>(ip: &Ip<'a>) -> Option<(Self, &'a [u8])> {
        let (head, payload) = ip.payload().split_first_chunk::<HEADER_BYTES>()?;
        let addresses = ip.addresses();
        let is_reply = match (addresses, ip.protocol, head[0], head[1]) {
            _ if ip.is_fragment => return None,
            (Addresses::V4 { .. }, ip::ICMP, V4_REQUEST, 0)
            | (Addresses::V6 { .. }, ip::ICMPV6, V6_REQUEST, 0) => false,
            (Addresses::V4 { .. }, ip::ICMP, V4_REPLY, 0)
            | (Addresses::V6 { .. }, ip::ICMPV6, V6_REPLY, 0) => true,
            _ => return None,
        };
        let (identifier, seq) = (be16(head, 4), be16(head, 6));
        Some((Self { addresses, is_reply, identifier, seq, tos: ip.tos() }, payload))
    }

    /// Writes a message with this payload. None if there is no room for it.
    pub fn write<'a>(&self, payload: &[u8], out: &'a mut [u8]) -> Option<&'a mut [u8]> {
        self.write_with(payload.len(), |body| body.copy_from_slice(payload), out)
    }

    /// Writes a message with number and time of `echo` and zeros in a payload of `bytes`. None if there is no
    /// room for it, or none for these in the payload ([`crate::STAMP_BYTES`]).
    pub fn write_echo<'a>(
        &self,
        echo: &Echo,
        bytes: usize,
        out: &'a mut [u8],
    ) -> Option<&'a mut [u8]> {
        let stamp = Stamp { seq: echo.seq.into(), sent: echo.sent };
        (bytes >= BYTES).then_some(())?;
        Self { seq: echo.seq as u16, ..*self }.write_with(bytes, |body| stamp.write(body), out)
    }

    fn write_with<'a>(
        &self,
        payload_len: usize,
        fill: impl FnOnce(&mut [u8]),
        out: &'a mut [u8],
    ) -> Option<&'a mut [u8]> {
        let Self { addresses, is_reply, identifier, seq, tos } = *self;
        let (protocol, kind) = match (addresses, is_reply) {
            (Addresses::V4 { .. }, false) => (ip::ICMP, V4_REQUEST),
            (Addresses::V4 { .. }, true) => (ip::ICMP, V4_REPLY),
            (Addresses::V6 { .. }, false) => (ip::ICMPV6, V6_REQUEST),
            (Addresses::V6 { .. }, true) => (ip::ICMPV6, V6_REPLY),
        };
        let header = ip::Header { addresses, protocol, tos, id: seq };
        let packet = header.write(out, HEADER_BYTES + payload_len)?;
        let message = &mut packet[addresses.header_len()..];
        message[..HEADER_BYTES].copy_from_slice(&[kind, 0, 0, 0, 0, 0, 0, 0]);
        put16(message, 4, identifier);
        put16(message, 6, seq);
        fill(&mut message[HEADER_BYTES..]);
        let checksum = match addresses {
            Addresses::V4 { .. } => checksum::of(message),
            Addresses::V6 { .. } => checksum::of_transport(&addresses, protocol, message),
        };
        put16(message, 2, checksum);
        Some(packet)
    }
}

/// An echo whose payload begins with number and time, as [`Header::write_echo`] wrote them.
pub fn read_echo(payload: &[u8]) -> Option<Echo> {
    let Stamp { seq, sent } = Stamp::read(payload)?;
    Some(Echo { seq: u32::try_from(seq).ok()?, sent })
}

#[cfg(test)]
mod tests;
