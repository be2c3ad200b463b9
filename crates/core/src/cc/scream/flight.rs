//! Packets of a stream that left and of which nothing final is known, by sequence number.

use super::{Rtp, Ticks};

/// A packet that left.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    pub(super) at: Ticks,
    pub(super) bytes: u32,
    /// RTP timestamp.
    pub(super) timestamp: u32,
    /// How long it was in the RTP queue, s.
    pub(super) queue_delay: f32,
    pub(super) seq: u16,
    pub(super) marker: bool,
    pub(super) acked: bool,
    /// Not in flight any more: a later packet was acknowledged.
    pub(super) passed: bool,
    used: bool,
}

/// A ring indexed by the low bits of the sequence number.
#[derive(Debug)]
pub(super) struct Flight {
    ring: Box<[Sent]>,
    /// Newest packet sent.
    pub(super) newest: u16,
    /// Highest acknowledged packet.
    pub(super) acked: u16,
    /// Whether anything was acknowledged yet.
    pub(super) any_acked: bool,
    /// Newest RTP timestamp acknowledged.
    timestamp: Option<u32>,
}

impl Flight {
    /// `packets` is a power of two.
    pub(super) fn new(packets: usize) -> Self {
        debug_assert!(packets.is_power_of_two() && packets <= 1 << 15);
        Self {
            ring: vec![Sent::default(); packets].into(),
            newest: 0,
            acked: 0,
            any_acked: false,
            timestamp: None,
        }
    }

    fn slot(&self, seq: u16) -> usize {
        usize::from(seq) & (self.ring.len() - 1)
    }

    /// Files a packet; the bytes in flight of a forgotten one in its place.
    pub(super) fn insert(&mut self, at: Ticks, packet: &Rtp, queue_delay: f32) -> u32 {
        let slot = self.slot(packet.seq);
        let old = self.ring[slot];
        self.ring[slot] = Sent {
            at,
            bytes: packet.bytes,
            timestamp: packet.timestamp,
            queue_delay,
            seq: packet.seq,
            marker: packet.marker,
            acked: false,
            passed: false,
            used: true,
        };
        self.newest = packet.seq;
        if old.used && !old.passed { old.bytes } else { 0 }
    }

    /// The packet with this number, if something is still to be known of it.
    pub(super) fn get(&mut self, seq: u16) -> Option<&mut Sent> {
        let slot = self.slot(seq);
        Some(&mut self.ring[slot]).filter(|sent| sent.used && sent.seq == seq)
    }

    pub(super) fn free(&mut self, seq: u16) {
        if let Some(sent) = self.get(seq) {
            sent.used = false;
        }
    }

    /// Forgets all packets.
    pub(super) fn clear(&mut self) {
        self.ring.iter_mut().for_each(|sent| sent.used = false);
    }

    /// Notes the timestamp of an acknowledged packet. Timestamps start anywhere and may jump.
    pub(super) fn saw_timestamp(&mut self, timestamp: u32) {
        let newest = *self.timestamp.get_or_insert(timestamp);
        if (timestamp.wrapping_sub(newest) as i32) > 0 {
            self.timestamp = Some(timestamp);
        }
    }

    /// Ticks by which the encoder made a packet before the newest that was acknowledged: packets that
    /// waited behind others of a lower priority are not lost because of that.
    pub(super) fn made_before(&self, timestamp: u32) -> u32 {
        let newest = self.timestamp.unwrap_or(timestamp);
        let behind = newest.wrapping_sub(timestamp) as i32;
        (behind.max(0) as u64 * 65536 / 90_000) as u32
    }

    /// How many packets can be remembered.
    pub(super) fn span(&self) -> u16 {
        self.ring.len() as u16
    }
}
