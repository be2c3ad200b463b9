//! Capture files, read and written, and the headers of the packets in them.
//!
//! A file, or what a network interface receives, is a sequence of [`Record`]s; [`layers`] finds the
//! innermost IP packet of one, and what carried it. Nothing here knows of connections: what packets of one
//! flow say together is `sojourn-inspect`.
//!
//! Functions that read take any bytes: they return an error, never panic, and what they allocate has a bound.

#![warn(missing_docs)]

pub mod anonymise;
pub mod facts;
pub mod layers;
mod pcapng;
pub mod read;
pub mod write;

pub use facts::Facts;
pub use read::Capture;

use serde::Serialize;
use sojourn_core::Time;

/// What the bytes of a record begin with: a number of the tcpdump group's list (LINKTYPE_).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: the address family in the host's order, then IP.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// PPP, with or without its framing's address and control.
    pub const PPP: Self = Self(9);
    /// PPPoE's session header, then PPP.
    pub const PPP_ETHER: Self = Self(51);
    /// IP without a link header.
    pub const RAW: Self = Self(101);
    /// Cisco's HDLC.
    pub const C_HDLC: Self = Self(104);
    /// OpenBSD loopback: the address family in network order, then IP.
    pub const LOOP: Self = Self(108);
    /// Linux "cooked" capture, as of the interface `any`.
    pub const LINUX_SLL: Self = Self(113);
    /// IPv4 alone.
    pub const IPV4: Self = Self(228);
    /// IPv6 alone.
    pub const IPV6: Self = Self(229);
    /// Linux "cooked" capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);
}

/// One packet as captured.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// When, since 1970-01-01 00:00 UTC.
    pub time: Time,
    /// Which interface of the file, from 0 in the order of their descriptions.
    pub interface: u32,
    /// What `bytes` begins with.
    pub link: LinkType,
    /// Bytes that were on the wire.
    pub original_len: u32,
    /// What was kept of them.
    pub bytes: &'a [u8],
    /// What the capture says of the packet besides.
    pub options: read::Options<'a>,
}
