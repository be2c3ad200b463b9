//! Cuts a super-packet into the packets that leave (GSO), in software: TCP and UDP, as Linux's
//! `tcp_gso_segment` and `__udp_gso_segment` do.

use std::fmt;

use crate::{Addresses, Ip, ip, tcp, udp};

/// What becomes of CWR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cwr {
    /// RFC 3168 6.1.2: only the first segment carries it (`VIRTIO_NET_HDR_GSO_ECN`).
    #[default]
    First,
    /// RFC 9768 3.2.2: a bit of the ACE field, which all segments repeat.
    All,
}

/// Why a packet cannot be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// It is no IP packet.
    Ip(ip::Error),
    /// It is a fragment, neither TCP nor UDP, or its transport header is not whole.
    Transport,
    /// A segment of 0 bytes, or one that with its headers exceeds the length field.
    Size,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(error) => error.fmt(f),
            Self::Transport => f.write_str("no whole TCP or UDP header"),
            Self::Size => f.write_str("segments of 0 or too many bytes"),
        }
    }
}

impl std::error::Error for Error {}

/// A super-packet and where it is cut.
#[derive(Clone, Copy, Debug)]
pub struct Split<'a> {
    headers: &'a [u8],
    payload: &'a [u8],
    addresses: Addresses,
    is_tcp: bool,
    transport: usize,
    size: usize,
    cwr: Cwr,
}

impl<'a> Split<'a> {
    /// A packet to be cut after every `size` bytes of payload.
    pub fn new(bytes: &'a [u8], size: u16, cwr: Cwr) -> Result<Self, Error> {
        let ip = Ip::parse(bytes).map_err(Error::Ip)?;
        let body = ip.payload();
        let header_len = match ip.protocol {
            _ if ip.is_fragment => return Err(Error::Transport),
            ip::TCP => tcp::Header::parse(body).map_err(|_| Error::Transport)?.1,
            ip::UDP if body.len() >= udp::HEADER_BYTES => udp::HEADER_BYTES,
            _ => return Err(Error::Transport),
        };
        let (headers, payload) = ip.bytes().split_at(ip.header_len() + header_len);
        let size = usize::from(size);
        if size == 0 || headers.len() + size.min(payload.len()) > usize::from(u16::MAX) {
            return Err(Error::Size);
        }
        Ok(Self {
            headers,
            payload,
            addresses: ip.addresses(),
            is_tcp: ip.protocol == ip::TCP,
            transport: ip.header_len(),
            size,
            cwr,
        })
    }

    /// How many packets it becomes.
    pub fn segments(&self) -> usize {
        self.payload.len().div_ceil(self.size).max(1)
    }

    /// Writes packet number `index` with its own sequence number, identification, lengths and checksums; FIN
    /// and PSH are in the last one. None if there is no such packet, or no room for it.
    pub fn write<'b>(&self, index: usize, out: &'b mut [u8]) -> Option<&'b mut [u8]> {
        let (from, is_last) = (index * self.size, index + 1 == self.segments());
        if index >= self.segments() {
            return None;
        }
        let payload = &self.payload[from..self.payload.len().min(from + self.size)];
        let len = self.headers.len() + payload.len();
        let packet = out.get_mut(..len)?;
        packet[..self.headers.len()].copy_from_slice(self.headers);
        packet[self.headers.len()..].copy_from_slice(payload);
        ip::set_len(packet, len, index as u16);
        let body = &mut packet[self.transport..];
        if self.is_tcp {
            let ends = if is_last { 0 } else { tcp::FIN | tcp::PSH };
            let cwr = if index > 0 && self.cwr == Cwr::First { tcp::CWR } else { 0 };
            tcp::advance(body, from as u32, ends | cwr);
            tcp::set_checksum(body, &self.addresses);
        } else {
            udp::finish(body, &self.addresses);
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests;
