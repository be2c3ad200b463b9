//! A UDP socket of the kernel as a device: what an end point sends by it leaves with the kernel's headers, and
//! what arrives has headers again.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::net::sockopt;
use sojourn_live::clock::Clock;
use sojourn_live::device::Device;
use sojourn_live::tun::{Read, Written};
use sojourn_live::udp::{Inbox, Opening, Socket};
use sojourn_wire::{Addresses, Ip, udp};

use crate::host::LARGEST;

/// A socket of one end point, over IPv4.
pub struct UdpPort {
    socket: Socket,
    address: IpAddr,
    port: u16,
    clock: Clock,
    state: Mutex<State>,
}

struct State {
    /// What arrives.
    inbox: Inbox,
    /// TOS of what leaves.
    tos: u8,
}

impl UdpPort {
    /// Opens the socket in the network namespace of this thread, whose host has this address.
    ///
    /// # Errors
    /// What the kernel says, of the port above all.
    pub fn open(address: IpAddr, port: u16) -> io::Result<Self> {
        let socket = Socket::open(&Opening { address: Some(address), port, ..Opening::default() })?;
        let state = State { inbox: Inbox::new(1, LARGEST), tos: 0 };
        Ok(Self { socket, address, port, clock: Clock::start(), state: Mutex::new(state) })
    }
}

impl AsFd for UdpPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Device for UdpPort {
    fn receive(&self, packet: &mut [u8]) -> io::Result<Read> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.inbox.receive(self.socket.as_fd(), self.clock)?;
        let Some(datagram) = state.inbox.datagrams().next() else { return Ok(Read::Nothing) };
        let Some(addresses) = Addresses::new(datagram.from.ip(), self.address) else {
            return Ok(Read::Nothing);
        };
        let header = udp::Header {
            addresses,
            source: datagram.from.port(),
            destination: self.port,
            tos: datagram.ecn as u8,
            id: 0,
        };
        let written = header.write(datagram.bytes, packet);
        Ok(written.map_or(Read::Nothing, |packet| Read::Packet(packet.len())))
    }

    fn send(&self, packet: &[u8]) -> io::Result<Written> {
        let ip = Ip::parse(packet).ok();
        let Some((header, payload)) = ip.as_ref().and_then(udp::Header::parse) else {
            return Ok(Written::Malformed);
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.tos != header.tos {
            sockopt::set_ip_tos(&self.socket, header.tos)?;
            state.tos = header.tos;
        }
        let to = SocketAddr::new(header.addresses.destination(), header.destination);
        self.socket.send_to(payload, to).map_or_else(unsent, |()| Ok(Written::Taken))
    }
}

/// What became of a datagram that the kernel did not send: a path that is gone, or is closed by a firewall, may
/// come back, as does a queue that is full.
fn unsent(error: io::Error) -> io::Result<Written> {
    match Errno::from_io_error(&error) {
        Some(Errno::MSGSIZE) => Ok(Written::TooLong),
        Some(
            Errno::AGAIN
            | Errno::INTR
            | Errno::NOBUFS
            | Errno::NOMEM
            | Errno::NETUNREACH
            | Errno::HOSTUNREACH
            | Errno::PERM
            | Errno::CONNREFUSED,
        ) => Ok(Written::Full),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests;
