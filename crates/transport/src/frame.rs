//! Packets from outside: what real hosts have sent, on its way through the queues.

use std::collections::VecDeque;
use std::sync::Arc;

use sojourn_core::Packet;

/// A packet from outside.
#[derive(Clone, Debug)]
pub struct Frame {
    content: Arc<Content>,
    /// DSCP and ECN as it arrives.
    pub tos: u8,
    /// [`Packet::ace`] as it arrives.
    pub ace: u8,
    /// Of a super-packet that was split on its way, the number of the segment that this is.
    pub part: Option<u8>,
}

/// How a super-packet is cut.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segments {
    /// Payload bytes of each; 0: it is one packet.
    pub size: u16,
    /// Whether CWR is the first one's only (RFC 3168, 6.1.2), not a bit of the ACE field (RFC 9768, 3.2.2).
    pub cwr_first: bool,
}

#[derive(Debug, Default)]
struct Content {
    packet: Packet,
    segments: Segments,
    /// Where in the bytes the IP packet begins.
    header: usize,
    bytes: Vec<u8>,
}

impl Frame {
    /// What queues see of it, as it was sent.
    pub fn packet(&self) -> &Packet {
        &self.content.packet
    }

    /// From the IP header on, as it was sent.
    pub fn bytes(&self) -> &[u8] {
        &self.content.bytes[self.content.header..]
    }

    /// What stands before that: the header of the link, if the device has one.
    pub fn header(&self) -> &[u8] {
        &self.content.bytes[..self.content.header]
    }

    /// Payload bytes of a super-packet. Its length has the headers of each segment, its bytes one of them.
    pub(crate) fn payload(&self) -> u32 {
        let (packet, once) = (self.packet(), ETHERNET + self.bytes().len() as u32);
        let headers = (packet.len - once) / (u32::from(packet.segs) - 1).max(1);
        once - headers
    }

    /// How it is cut, if it is a super-packet.
    pub fn segments(&self) -> Segments {
        self.content.segments
    }

    /// Segment number `index` of a super-packet, and its payload bytes.
    pub(crate) fn split(&self, index: u32) -> (Self, u32) {
        let size = u32::from(self.content.segments.size);
        let part = Self { part: Some(index as u8), ..self.clone() };
        (part, self.payload().saturating_sub(index * size).min(size))
    }
}

/// Header of the link, bytes, which lengths have and the bytes do not.
const ETHERNET: u32 = 14;

/// Most buffers that are looked at for one that is free.
const LOOKS: usize = 8;
/// Most buffers that are kept, 25 MB of full packets.
const MOST: usize = 1 << 14;

/// Buffers that are used again, so that hardly a packet allocates once the first ones have passed.
#[derive(Debug, Default)]
pub struct Pool(VecDeque<Arc<Content>>);

impl Pool {
    /// A frame with a copy of the link's header and of the IP packet after it.
    pub fn frame(&mut self, packet: Packet, header: &[u8], bytes: &[u8]) -> Frame {
        self.super_packet(packet, Segments::default(), header, bytes)
    }

    /// The same of what may be a super-packet.
    pub fn super_packet(
        &mut self,
        packet: Packet,
        segments: Segments,
        header: &[u8],
        bytes: &[u8],
    ) -> Frame {
        let mut content = self.free().unwrap_or_default();
        let own = Arc::get_mut(&mut content).expect("nobody else holds it");
        own.packet = packet;
        own.segments = segments;
        own.header = header.len();
        own.bytes.clear();
        own.bytes.extend_from_slice(header);
        own.bytes.extend_from_slice(bytes);
        if self.0.len() < MOST {
            self.0.push_back(Arc::clone(&content));
        }
        Frame { content, tos: packet.tos, ace: packet.ace, part: None }
    }

    /// A buffer whose packet is gone, if one of the next few is.
    fn free(&mut self) -> Option<Arc<Content>> {
        for _ in 0..LOOKS.min(self.0.len()) {
            let mut oldest = self.0.pop_front()?;
            if Arc::get_mut(&mut oldest).is_some() {
                return Some(oldest);
            }
            self.0.push_back(oldest);
        }
        None
    }
}

#[cfg(test)]
mod tests;
