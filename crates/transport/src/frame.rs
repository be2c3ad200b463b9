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
}

#[derive(Debug, Default)]
struct Content {
    packet: Packet,
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
}

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
        let mut content = self.free().unwrap_or_default();
        let own = Arc::get_mut(&mut content).expect("nobody else holds it");
        own.packet = packet;
        own.header = header.len();
        own.bytes.clear();
        own.bytes.extend_from_slice(header);
        own.bytes.extend_from_slice(bytes);
        if self.0.len() < MOST {
            self.0.push_back(Arc::clone(&content));
        }
        Frame { content, tos: packet.tos, ace: packet.ace }
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
