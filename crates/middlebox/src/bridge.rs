//! Two Ethernet interfaces as the ends of one cable: IP packets go through the network between them, all
//! else straight to the other one.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use sojourn_live::device::Head;
use sojourn_live::packet_socket::{Arrival, PacketSocket, Received};
use sojourn_live::tun::{Read, Written};
use sojourn_live::unfinished::{Segments, Unfinished};
use sojourn_wire::ethernet::{HEADER_BYTES, Other, complete_checksum, ip_at, put_tag};
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
    /// Super-packets pass whole: what is unfinished in a frame stands before it.
    has_super_packets: bool,
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
    /// The two ends. Super-packets of the hosts are cut into packets, unless they are to pass whole.
    pub fn pair(
        left: PacketSocket,
        right: PacketSocket,
        has_super_packets: bool,
    ) -> [Arc<Self>; 2] {
        let (left, right) = (Arc::new(left), Arc::new(right));
        [(&left, &right), (&right, &left)].map(|(socket, other)| {
            let (socket, other) = (Arc::clone(socket), Arc::clone(other));
            Arc::new(Self { socket, other, has_super_packets, state: Mutex::default() })
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

    /// Bytes before each frame that say what is unfinished in it.
    fn unfinished(&self) -> usize {
        if self.has_super_packets { Unfinished::BYTES } else { 0 }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Device for Port {
    fn receive(&self, packet: &mut [u8]) -> io::Result<Read> {
        let state = &mut *self.state();
        let Some((before, frame)) = packet.split_at_mut_checked(self.unfinished()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        before.fill(0);
        for _ in 0..BATCH {
            if let Some(len) = state.next_segment(frame) {
                return Ok(Read::Packet(before.len() + len));
            }
            match self.socket.receive(frame)? {
                Received::Nothing => return Ok(Read::Nothing),
                Received::Unreadable => state.frames.unreadable += 1,
                Received::Frame(arrival) => {
                    if let Some(before) = before.first_chunk_mut()
                        && passes_whole(frame, arrival)
                    {
                        arrival.unfinished.write(before);
                        return Ok(Read::Packet(before.len() + arrival.len));
                    }
                    let Some((len, found)) = state.finish(frame, arrival) else {
                        state.frames.unreadable += 1;
                        continue;
                    };
                    match (found, arrival.unfinished.segments()) {
                        (Ok(_), None) => return Ok(Read::Packet(before.len() + len)),
                        (Ok(ip_at), Some(segments)) => state.keep(&frame[..len], ip_at, segments),
                        (Err(_), _) => {
                            let done = self.other.send(Unfinished::default(), &frame[..len])?;
                            state.frames.add_lost(done);
                        }
                    }
                }
            }
        }
        Ok(Read::Nothing)
    }

    fn send(&self, packet: &[u8]) -> io::Result<Written> {
        let (before, frame) = packet.split_at(self.unfinished().min(packet.len()));
        let done = self.socket.send(Unfinished::read(before), frame)?;
        self.state().frames.add_lost(done);
        Ok(done)
    }

    fn head(&self, packet: &[u8]) -> Head {
        let (before, frame) = packet.split_at(self.unfinished().min(packet.len()));
        let (unfinished, link) = (Unfinished::read(before), ip_at(frame).unwrap_or_default());
        Head {
            len: before.len() + link,
            unfinished: before.len(),
            segments: unfinished.segments(),
            is_partial: unfinished.checksum().is_some(),
        }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Whether a frame may pass with what is unfinished in it: an IP packet that can still be cut, without a tag,
/// which would be in each segment.
fn passes_whole(frame: &[u8], arrival: Arrival) -> bool {
    let can_be_cut = arrival.unfinished.segments().is_none_or(|segments| segments.by_transport);
    let whole = frame.get(..arrival.len).unwrap_or_default();
    can_be_cut && arrival.tag.is_none() && ip_at(whole) == Ok(HEADER_BYTES)
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
        let unfinished = arrival.unfinished;
        // Those of segments are computed when it is cut.
        if let (Some((start, offset)), None) = (unfinished.checksum(), unfinished.segments()) {
            complete_checksum(buffer.get_mut(..len)?, start, offset).then_some(())?;
        }
        if let Some((protocol, control)) = arrival.tag {
            len = put_tag(buffer, len, protocol, control)?;
        }
        let found = ip_at(&buffer[..len]);
        let frames = &mut self.frames;
        match found {
            Err(Other::Short) => return None,
            Err(_) if unfinished.segments().is_some() => return None,
            Err(Other::Arp) => frames.arp += 1,
            Err(Other::Discovery) => frames.discovery += 1,
            Err(Other::Protocol) => frames.other_protocols += 1,
            Ok(HEADER_BYTES) => {}
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
