//! UDP sockets of a measurement: buffers of a size, the ECN field in both directions, packets in
//! batches, arrival times of the kernel.
//!
//! A library would be `quinn-udp`; 0.6 loses the ECN field of bundles (its control buffer is too
//! small for all that the kernel reports), 0.5 has neither arrival times nor `sendmmsg`.

pub(crate) mod batch;

pub use batch::{Datagram, Inbox, Outbox};

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::net::sockopt;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, ipproto, socket_with};

/// What is asked for as socket buffers, bytes: 0.2 s at 800 Mbit/s.
pub const BUFFER: usize = 20 << 20;

/// How a socket is opened.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// Takes IPv6, and IPv4 as well unless `only_v6`.
    pub is_v6: bool,
    /// Takes no IPv4.
    pub only_v6: bool,
    /// Local address; none: any.
    pub address: Option<IpAddr>,
    /// Local port; 0: any.
    pub port: u16,
    /// Network interface.
    pub interface: Option<String>,
    /// TOS or traffic class of what is sent: DSCP and ECN.
    pub tos: u8,
    /// Takes bundles of packets from the kernel.
    pub gro: bool,
}

/// A UDP socket that does not block.
#[derive(Debug)]
pub struct Socket {
    inner: UdpSocket,
    is_v6: bool,
}

impl Socket {
    /// Opens and binds a socket.
    ///
    /// # Errors
    /// What the kernel says, of the port above all (`AddrInUse`).
    pub fn open(o: &Opening) -> io::Result<Self> {
        let family = if o.is_v6 { AddressFamily::INET6 } else { AddressFamily::INET };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = socket_with(family, SocketType::DGRAM, flags, Some(ipproto::UDP))?;
        if o.is_v6 {
            sockopt::set_ipv6_v6only(&fd, o.only_v6)?;
            sockopt::set_ipv6_recvtclass(&fd, true)?;
            sockopt::set_ipv6_tclass(&fd, o.tos.into())?;
        }
        // An IPv6 socket carries IPv4 as well, with IPv4's options.
        if !o.only_v6 {
            sockopt::set_ip_recvtos(&fd, true)?;
            sockopt::set_ip_tos(&fd, o.tos)?;
        }
        // Beyond the system's limit for those who may; the limit for the others.
        if sockopt::set_socket_recv_buffer_size_force(&fd, BUFFER).is_err() {
            sockopt::set_socket_recv_buffer_size(&fd, BUFFER)?;
        }
        if sockopt::set_socket_send_buffer_size_force(&fd, BUFFER).is_err() {
            sockopt::set_socket_send_buffer_size(&fd, BUFFER)?;
        }
        batch::prepare(fd.as_fd(), o.gro)?;
        if let Some(name) = &o.interface {
            batch::bind_to_device(fd.as_fd(), name)?;
        }
        let local = any(o.is_v6, o.port);
        bind(&fd, &SocketAddr::new(o.address.unwrap_or_else(|| local.ip()), o.port))?;
        Ok(Self { inner: fd.into(), is_v6: o.is_v6 })
    }

    /// Sends to and takes from `peer` only.
    pub fn connect(&self, peer: SocketAddr) -> io::Result<()> {
        self.inner.connect(self.native(peer))
    }

    /// The address that the kernel chose.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr().map(canonical)
    }

    /// The receive buffer's size, bytes, as asked for (the kernel doubles it for its bookkeeping).
    pub fn receive_buffer(&self) -> io::Result<usize> {
        Ok(sockopt::socket_recv_buffer_size(&self.inner)? / 2)
    }

    /// One datagram to the connected peer.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.inner.send(bytes).map(drop)
    }

    /// One datagram to `to`.
    pub fn send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<()> {
        self.inner.send_to(bytes, self.native(to)).map(drop)
    }

    /// `addr` as this socket's family writes it.
    fn native(&self, addr: SocketAddr) -> SocketAddr {
        match addr {
            SocketAddr::V4(v4) if self.is_v6 => (v4.ip().to_ipv6_mapped(), v4.port()).into(),
            other => other,
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

fn any(is_v6: bool, port: u16) -> SocketAddr {
    if is_v6 { (Ipv6Addr::UNSPECIFIED, port).into() } else { (Ipv4Addr::UNSPECIFIED, port).into() }
}

/// IPv4 in IPv6 as IPv4.
fn canonical(addr: SocketAddr) -> SocketAddr {
    match addr.ip().to_canonical() {
        v4 @ IpAddr::V4(_) => (v4, addr.port()).into(),
        IpAddr::V6(_) => addr,
    }
}

/// The first address of `host`, which is an address or a name, of the family that is asked for.
///
/// # Errors
/// A line for the user.
pub fn look_up(host: &str, port: u16, is_v6: Option<bool>) -> Result<SocketAddr, String> {
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    let mut found = (bare, port).to_socket_addrs().map_err(|e| format!("{host}: {e}"))?;
    let chosen = found.find(|a| is_v6.is_none_or(|v6| a.is_ipv6() == v6));
    chosen.ok_or_else(|| {
        let family = if is_v6 == Some(true) { "IPv6" } else { "IPv4" };
        format!("{host}: has no {family} address")
    })
}

/// Whether `addr` is an address of this machine.
pub fn is_own(addr: SocketAddr) -> bool {
    let probe = UdpSocket::bind(any(addr.is_ipv6(), 0));
    // Without a packet: the kernel chooses the source as for one.
    let local = probe.and_then(|s| s.connect(addr).and_then(|()| s.local_addr()));
    local.is_ok_and(|local| local.ip() == addr.ip())
}

#[cfg(test)]
mod tests;
