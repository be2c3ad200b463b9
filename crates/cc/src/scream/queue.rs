//! The RTP queue of a stream: what the encoder made and the window has not let go yet. Packets are
//! metadata here; the driver keeps the bytes under [`Rtp::handle`].

use std::collections::VecDeque;

use super::{Rtp, Ticks, ticks::seconds};

/// Packets in order, at most `limit` of them. Those that were thrown away count until the driver has
/// taken their handles, so that nothing here grows without bound.
#[derive(Debug)]
pub(super) struct RtpQueue {
    packets: VecDeque<Rtp>,
    discarded: VecDeque<u64>,
    bytes: u32,
    limit: usize,
}

impl RtpQueue {
    pub(super) fn new(limit: usize) -> Self {
        Self { packets: VecDeque::new(), discarded: VecDeque::new(), bytes: 0, limit }
    }

    /// False if there is no room; the packet stays the driver's.
    pub(super) fn push(&mut self, packet: Rtp) -> bool {
        if self.packets.len() + self.discarded.len() >= self.limit {
            return false;
        }
        self.bytes = self.bytes.saturating_add(packet.bytes);
        self.packets.push_back(packet);
        true
    }

    pub(super) fn pop(&mut self) -> Option<Rtp> {
        let packet = self.packets.pop_front()?;
        self.bytes = self.packets.front().map_or(0, |_| self.bytes.saturating_sub(packet.bytes));
        Some(packet)
    }

    /// Throws all packets away; how many that were.
    pub(super) fn clear(&mut self) -> u32 {
        let packets = self.packets.len() as u32;
        self.discarded.extend(self.packets.drain(..).map(|packet| packet.handle));
        self.bytes = 0;
        packets
    }

    /// Takes the handle of a packet that was thrown away.
    pub(super) fn take_discarded(&mut self) -> Option<u64> {
        self.discarded.pop_front()
    }

    /// Bytes of the packet that is next.
    pub(super) fn next_bytes(&self) -> Option<u32> {
        self.packets.front().map(|packet| packet.bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// How long the oldest packet has waited, s.
    pub(super) fn delay(&self, now: Ticks) -> f32 {
        self.packets.front().map_or(0.0, |packet| seconds(now.since(packet.queued)))
    }
}
