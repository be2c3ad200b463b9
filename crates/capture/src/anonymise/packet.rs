//! The headers of one record, copied into zeros.

use std::net::IpAddr;

use sojourn_wire::{Ip, checksum, ip};

use super::Addresses;
use crate::LinkType;
use crate::layers::{MOST_LAYERS, Next, TunnelKind, link, tunnel};

/// Bytes of the fixed headers.
const IPV4: usize = 20;
const IPV6: usize = 40;
const TCP: usize = 20;
const UDP: usize = 8;
const ICMP: usize = 8;

/// Where the header of IPv4 has its checksum, and the transport headers theirs.
const IPV4_CHECKSUM: usize = 10;
const TCP_CHECKSUM: usize = 16;
const UDP_CHECKSUM: usize = 6;
const ICMP_CHECKSUM: usize = 2;

pub(super) struct Copy<'a, 'b> {
    pub(super) source: &'a [u8],
    /// As long, and zero at first.
    pub(super) out: &'b mut [u8],
    pub(super) addresses: &'b mut Addresses,
}

impl<'a> Copy<'a, '_> {
    pub(super) fn record(&mut self, link: LinkType) {
        let Ok(next) = link::payload(link, self.source) else { return };
        self.layer(next, 0, MOST_LAYERS);
        // The link address in a cooked header.
        match link {
            LinkType::LINUX_SLL => self.out[6..14].fill(0),
            LinkType::LINUX_SLL2 => self.out[12..20].fill(0),
            _ => {}
        }
    }

    /// Copies headers of links from `from` on, and the packet behind them.
    fn layer(&mut self, mut next: Next<'a>, mut from: usize, depth: usize) {
        const MAC_ADDRESSES: usize = 12;
        let Some(depth) = depth.checked_sub(1) else { return };
        for _ in 0..MOST_LAYERS {
            let at = match next {
                Next::Ip(rest) | Next::Typed(_, rest) | Next::Frame(rest) => self.place(rest),
            };
            self.keep(from, at);
            from = at;
            next = match next {
                Next::Ip(packet) | Next::Typed(link::IPV4 | link::IPV6, packet) => {
                    return self.packet(packet, depth);
                }
                Next::Frame(_) => {
                    from += MAC_ADDRESSES;
                    next
                }
                Next::Typed(..) => next,
            };
            let Ok(inner) = link::step(next) else { return };
            next = inner;
        }
    }

    fn packet(&mut self, bytes: &'a [u8], depth: usize) {
        let Ok(ip) = Ip::parse_captured(bytes) else { return };
        let start = self.place(bytes);
        let behind = start + ip.header_len();
        let end = start + ip.bytes().len();
        if bytes[0] >> 4 == 4 {
            let options = start + 4 * usize::from(bytes[0] & 0x0f);
            self.keep(start, start + IPV4);
            self.address(start + 12, 4);
            self.address(start + 16, 4);
            self.extensions(ip::AUTHENTICATION, options, behind);
            self.update(start + IPV4_CHECKSUM, &[(start, options)]);
        } else {
            self.keep(start, start + IPV6);
            self.address(start + 8, 16);
            self.address(start + 24, 16);
            self.extensions(bytes[6], start + IPV6, behind);
        }
        // Only the first fragment has headers behind it.
        if ip.fragment().is_some_and(|fragment| fragment.offset > 0) {
            return;
        }
        self.payload(&ip, behind, end, depth);
        let pseudo =
            if bytes[0] >> 4 == 4 { (start + 12, start + 20) } else { (start + 8, start + 40) };
        match ip.protocol {
            ip::TCP => self.update(behind + TCP_CHECKSUM, &[pseudo, (behind, end)]),
            ip::UDP
                if end >= behind + UDP && self.source[behind + UDP_CHECKSUM..][..2] != [0, 0] =>
            {
                self.update(behind + UDP_CHECKSUM, &[pseudo, (behind, end)]);
                // RFC 768: zero would say that there is none.
                let field = &mut self.out[behind + UDP_CHECKSUM..][..2];
                if field == [0, 0] {
                    field.fill(0xff);
                }
            }
            ip::ICMP => self.update(behind + ICMP_CHECKSUM, &[(behind, end)]),
            ip::ICMPV6 => self.update(behind + ICMP_CHECKSUM, &[pseudo, (behind, end)]),
            _ => {}
        }
    }

    fn payload(&mut self, ip: &Ip<'a>, at: usize, end: usize, depth: usize) {
        const GRE: u8 = 47;
        match ip.protocol {
            ip::TCP => self.tcp(at, end),
            ip::UDP => self.keep(at, end.min(at + UDP)),
            ip::ICMP | ip::ICMPV6 => self.icmp(ip, at, end, depth),
            _ => {}
        }
        match tunnel::within(ip) {
            Some((_, Some(next))) => self.layer(next, at, depth),
            // Its type, by which it is known.
            Some((TunnelKind::WireGuard, None)) => self.keep(at + UDP, at + UDP + 4),
            _ => {}
        }
        // RFC 2784 2.1: the flag of a checksum, which covers what follows too.
        if ip.protocol == GRE && end >= at + 8 && self.out[at] & 0x80 != 0 {
            self.update(at + 4, &[(at, end)]);
        }
    }

    /// Extension headers: what they are and how long, and all of the one of fragments. RFC 8200 4.
    fn extensions(&mut self, mut kind: u8, mut at: usize, end: usize) {
        while at + 8 <= end {
            let words = usize::from(self.source[at + 1]);
            let (len, kept) = match kind {
                ip::FRAGMENT => (8, 8),
                // RFC 4302 2: up to the integrity check value.
                ip::AUTHENTICATION => (4 * (words + 2), 12),
                _ => (8 * (words + 1), 2),
            };
            let next = at + len;
            self.keep(at, (at + kept).min(end));
            (kind, at) = (self.source[at], next);
        }
    }

    /// The header, and of its options those that say nothing of who it is.
    fn tcp(&mut self, at: usize, end: usize) {
        let header = &self.source[at..end];
        let Some(offset) = header.get(12) else { return self.keep(at, end) };
        let len = (4 * usize::from(offset >> 4)).clamp(TCP, header.len().max(TCP));
        self.keep(at, (at + TCP).min(end));
        let mut from = at + TCP;
        let to = (at + len).min(end);
        while from + 1 < to {
            let (kind, option) = (self.source[from], &self.source[from..to]);
            let len = if kind <= 1 { 1 } else { usize::from(option[1]).max(2).min(option.len()) };
            let is_harmless = match kind {
                // No operation, segment size, window scale, SACK, timestamps (RFC 9293 3.1, RFC 7323, RFC 2018),
                // AccECN (RFC 9768 3.2.3).
                1..=5 | 8 | 172 | 174 => true,
                // RFC 6994: experiments; those of AccECN before it had numbers.
                253 | 254 => matches!(option.get(2..4), Some([0xac, 0xc0 | 0xc1 | 0xce])),
                _ => false,
            };
            self.keep(from, if is_harmless { from + len } else { from + len.min(2) });
            if kind == 0 {
                break;
            }
            from += len;
        }
    }

    /// Types and codes, and what errors quote; of neighbour discovery the addresses.
    fn icmp(&mut self, ip: &Ip<'a>, at: usize, end: usize, depth: usize) {
        const V4_REDIRECT: u8 = 5;
        let Some(kind) = self.source.get(at).filter(|_| at < end) else { return };
        self.keep(at, end.min(at + ICMP));
        let quotes = match (ip.protocol, *kind) {
            (ip::ICMP, V4_REDIRECT) => {
                if at + ICMP <= end {
                    self.address(at + 4, 4);
                }
                true
            }
            // RFC 792: unreachable, source quench, time exceeded, parameter problem. RFC 4443 3: errors.
            (ip::ICMP, 3 | 4 | 11 | 12) | (ip::ICMPV6, 1..=4) => true,
            // RFC 4861 4: the target, and of a redirect the destination.
            (ip::ICMPV6, 135..=137) => {
                let most = if *kind == 137 { 2 } else { 1 };
                for place in (0..most).map(|index| at + ICMP + 16 * index) {
                    if place + 16 <= end {
                        self.address(place, 16);
                    }
                }
                false
            }
            _ => false,
        };
        if quotes && at + ICMP < end {
            self.layer(Next::Ip(&self.source[at + ICMP..end]), at + ICMP, depth);
        }
    }

    /// Where in the record a part of it begins.
    fn place(&self, part: &[u8]) -> usize {
        part.as_ptr().addr() - self.source.as_ptr().addr()
    }

    fn keep(&mut self, from: usize, to: usize) {
        let to = to.min(self.source.len());
        if from < to {
            self.out[from..to].copy_from_slice(&self.source[from..to]);
        }
    }

    fn address(&mut self, at: usize, len: usize) {
        let (source, out) = (&self.source[at..at + len], &mut self.out[at..at + len]);
        let address = match (source.first_chunk::<4>(), source.first_chunk::<16>()) {
            (_, Some(octets)) => IpAddr::from(*octets),
            (Some(octets), None) => IpAddr::from(*octets),
            _ => return,
        };
        match self.addresses.map(address) {
            IpAddr::V4(v4) => out.copy_from_slice(&v4.octets()),
            IpAddr::V6(v6) => out.copy_from_slice(&v6.octets()),
        }
    }

    /// Brings the checksum at `field` up to date for all words of these ranges that differ (RFC 1624 3).
    fn update(&mut self, field: usize, ranges: &[(usize, usize)]) {
        let last = ranges.last().map_or(0, |(_, end)| *end);
        if field + 2 > last.min(self.source.len()) {
            return;
        }
        let word = |bytes: &[u8], at: usize, end: usize| {
            u16::from_be_bytes([bytes[at], if at + 1 < end { bytes[at + 1] } else { 0 }])
        };
        let mut sum = word(self.source, field, last);
        for &(from, to) in ranges {
            for at in (from..to).step_by(2).filter(|at| *at != field) {
                let (old, new) = (word(self.source, at, to), word(self.out, at, to));
                if old != new {
                    sum = checksum::updated(sum, old, new);
                }
            }
        }
        self.out[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    }
}
