//! The sender's queue of RTP packets that the encoder has made and the controller does not let go.

use std::collections::VecDeque;

use sojourn_core::{Dur, Time};

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtpPacket {
    /// Sequence number, unwrapped; packets that are discarded here have used theirs.
    pub seq: u64,
    /// IP bytes.
    pub bytes: u32,
    /// Its frame.
    pub frame: u64,
    /// Packets of that frame.
    pub packets: u32,
    /// When the encoder had that frame.
    pub captured: Time,
    /// It is the last of its frame.
    pub marker: bool,
}

/// First in, first out.
#[derive(Debug, Default)]
pub struct RtpQueue {
    packets: VecDeque<RtpPacket>,
    bytes: u64,
}

impl RtpQueue {
    /// Adds a packet.
    pub fn push(&mut self, packet: RtpPacket) {
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back(packet);
    }

    /// The oldest packet.
    pub fn front(&self) -> Option<&RtpPacket> {
        self.packets.front()
    }

    /// Takes the oldest packet.
    pub fn pop(&mut self) -> Option<RtpPacket> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// How long the oldest packet has waited since its frame was ready.
    pub fn delay(&self, now: Time) -> Dur {
        self.front().map_or(Dur::ZERO, |packet| now.since(packet.captured))
    }

    /// Throws everything away; gives the number of packets.
    pub fn clear(&mut self) -> u64 {
        let packets = self.packets.len() as u64;
        self.packets.clear();
        self.bytes = 0;
        packets
    }

    /// IP bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

#[cfg(test)]
mod tests;
