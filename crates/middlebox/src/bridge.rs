//! Two Ethernet interfaces as the ends of one cable: IP packets go through the network between them, all
//! else straight to the other one.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use sojourn_live::device::Head;
use sojourn_live::packet_socket::{Arrival, PacketSocket, Received};
use sojourn_live::tun::{Read, Written};
use sojourn_live::unfinished::Segments;
use sojourn_wire::ethernet::{Other, complete_checksum, ip_at, put_tag};
use sojourn_wire::split::{Cwr, Split};

use crate::Device;

/// Frames that are looked at for one that has an IP packet.
const BATCH: usize = 64;
/// Frames that did not go the way of an ordinary packet, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Frames {
    /// ARP, past the network.
    pub arp: u64,
    /// Neighbour discovery, past the network.
    pub discovery: u64,
    /// Other protocols than IP, past the network.
    pub other_protocols: u64,
    /// With VLAN tags; their IP packets go through the network.
    pub tagged: u64,
    /// Super-packets of the sending host, cut into packets.
    pub cut: u64,
    /// Lost: too long to be read, not to be cut, or no whole header.
    pub unreadable: u64,
    /// Lost: longer than the MTU of the interface that they were to leave by.
    pub too_long: u64,
    /// Lost: that interface had no room, or was down.
    pub refused: u64,
    /// Lost: they arrived faster than they were read.
    pub overflowed: u64,
}

/// One of the two interfaces.
pub struct Port {
    socket: Arc<PacketSocket>,
    other: Arc<PacketSocket>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    frames: Frames,
    /// A super-packet of which segments are left.
    whole: Vec<u8>,
    left: Option<Left>,
}

/// What is left of a super-packet.
struct Left {
    ip_at: usize,
    segments: Segments,
    next: usize,
}

impl Port {
    /// The two ends.
    pub fn pair(left: PacketSocket, right: PacketSocket) -> [Arc<Self>; 2] {
        let (left, right) = (Arc::new(left), Arc::new(right));
        [(&left, &right), (&right, &left)].map(|(socket, other)| {
            let (socket, other) = (Arc::clone(socket), Arc::clone(other));
            Arc::new(Self { socket, other, state: Mutex::default() })
        })
    }

    /// What it has counted so far.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn frames(&self) -> io::Result<Frames> {
        let overflowed = self.socket.overflowed()?;
        let frames = &mut self.state().frames;
        frames.overflowed += overflowed;
        Ok(*frames)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Device for Port {
    fn receive(&self, packet: &mut [u8]) -> io::Result<Read> {
        let state = &mut *self.state();
        for _ in 0..BATCH {
            if let Some(len) = state.next_segment(packet) {
                return Ok(Read::Packet(len));
            }
            match self.socket.receive(packet)? {
                Received::Nothing => return Ok(Read::Nothing),
                Received::Unreadable => state.frames.unreadable += 1,
                Received::Frame(arrival) => {
                    let Some((len, found)) = state.finish(packet, arrival) else {
                        state.frames.unreadable += 1;
                        continue;
                    };
                    match (found, arrival.segments) {
                        (Ok(_), None) => return Ok(Read::Packet(len)),
                        (Ok(ip_at), Some(segments)) => state.keep(&packet[..len], ip_at, segments),
                        (Err(_), _) => {
                            let done = self.other.send(&packet[..len])?;
                            state.frames.add_lost(done);
                        }
                    }
                }
            }
        }
        Ok(Read::Nothing)
    }

    fn send(&self, frame: &[u8]) -> io::Result<Written> {
        let done = self.socket.send(frame)?;
        self.state().frames.add_lost(done);
        Ok(done)
    }

    fn head(&self, frame: &[u8]) -> Head {
        Head { len: ip_at(frame).unwrap_or_default(), ..Head::default() }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl State {
    /// Completes a frame that was just read; gives its length, and where its IP packet begins or what it
    /// holds instead. None if it cannot be completed.
    fn finish(
        &mut self,
        buffer: &mut [u8],
        arrival: Arrival,
    ) -> Option<(usize, Result<usize, Other>)> {
        let mut len = arrival.len;
        // Those of segments are computed when it is cut.
        if let (Some((start, offset)), None) = (arrival.checksum, arrival.segments) {
            complete_checksum(buffer.get_mut(..len)?, start, offset).then_some(())?;
        }
        if let Some((protocol, control)) = arrival.tag {
            len = put_tag(buffer, len, protocol, control)?;
        }
        let found = ip_at(&buffer[..len]);
        let frames = &mut self.frames;
        match found {
            Err(Other::Short) => return None,
            Err(_) if arrival.segments.is_some() => return None,
            Err(Other::Arp) => frames.arp += 1,
            Err(Other::Discovery) => frames.discovery += 1,
            Err(Other::Protocol) => frames.other_protocols += 1,
            Ok(sojourn_wire::ethernet::HEADER_BYTES) => {}
            Ok(_) => frames.tagged += 1,
        }
        Some((len, found))
    }

    fn keep(&mut self, frame: &[u8], ip_at: usize, segments: Segments) {
        self.whole.clear();
        self.whole.extend_from_slice(frame);
        self.left = Some(Left { ip_at, segments, next: 0 });
        self.frames.cut += 1;
    }

    /// Writes the next segment of the super-packet, with the link's header; gives its length.
    fn next_segment(&mut self, out: &mut [u8]) -> Option<usize> {
        let left = self.left.as_mut()?;
        let (header, packet) = self.whole.split_at(left.ip_at);
        let cwr = if left.segments.cwr_first { Cwr::First } else { Cwr::All };
        let whole = Split::new(packet, left.segments.size, cwr).ok();
        let Some(whole) = whole.filter(|_| left.segments.by_transport) else {
            self.frames.unreadable += 1;
            self.left = None;
            return None;
        };
        let (front, back) = out.split_at_mut_checked(header.len())?;
        let Some(segment) = whole.write(left.next, back) else {
            self.left = None;
            return None;
        };
        front.copy_from_slice(header);
        left.next += 1;
        Some(header.len() + segment.len())
    }
}

impl Frames {
    fn add_lost(&mut self, done: Written) {
        match done {
            Written::Taken => {}
            Written::TooLong => self.too_long += 1,
            Written::Down | Written::Full | Written::Malformed => self.refused += 1,
        }
    }
}

#[cfg(test)]
mod tests;
