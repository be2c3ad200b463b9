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
    /// Not in flight any more: it or a later packet was acknowledged.
    pub(super) passed: bool,
    used: bool,
}

/// A ring indexed by the low bits of the sequence number.
#[derive(Debug, Default)]
pub(super) struct Flight {
    ring: Box<[Sent]>,
    /// Newest packet sent.
    pub(super) newest: Option<u16>,
    /// Highest acknowledged packet.
    pub(super) acked: Option<u16>,
    /// Nothing is known of packets before.
    oldest: u16,
    /// Newest RTP timestamp acknowledged.
    timestamp: Option<u32>,
}

/// Whether `seq` is after `other`, over the wrap.
pub(super) fn is_after(seq: u16, other: u16) -> bool {
    (seq.wrapping_sub(other) as i16) > 0
}

impl Flight {
    /// `packets` is a power of two.
    pub(super) fn new(packets: usize) -> Self {
        debug_assert!(packets.is_power_of_two() && packets <= 1 << 15);
        Self { ring: vec![Sent::default(); packets].into(), ..Self::default() }
    }

    fn slot(&self, seq: u16) -> usize {
        usize::from(seq) & (self.ring.len() - 1)
    }

    /// Files a packet; gives the bytes in flight of the one that it pushes out of the table.
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
        let span = packet.seq.wrapping_sub(self.oldest);
        if self.newest.is_none() || usize::from(span) >= self.ring.len() {
            let first = packet.seq.wrapping_sub(self.ring.len() as u16 - 1);
            self.oldest = self.newest.map_or(packet.seq, |_| first);
        }
        self.newest = Some(packet.seq);
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

    /// Forgets the packets before `begin`, if that is one of those sent; gives their bytes in flight.
    pub(super) fn forget_before(&mut self, begin: u16) -> u32 {
        let Some(newest) = self.newest.filter(|&newest| !is_after(begin, newest)) else { return 0 };
        let mut bytes = 0;
        while is_after(begin, self.oldest) && self.oldest != newest {
            let seq = self.oldest;
            if let Some(sent) = self.get(seq) {
                sent.used = false;
                bytes += if sent.passed { 0 } else { sent.bytes };
            }
            self.oldest = seq.wrapping_add(1);
        }
        bytes
    }

    /// Forgets all packets.
    pub(super) fn clear(&mut self) {
        self.ring.iter_mut().for_each(|sent| sent.used = false);
    }

    /// The oldest packet of which something is still to be known.
    pub(super) fn oldest(&mut self) -> u16 {
        while let Some(newest) = self.newest
            && is_after(newest, self.oldest)
            && self.get(self.oldest).is_none()
        {
            self.oldest = self.oldest.wrapping_add(1);
        }
        self.oldest
    }

    /// Notes an acknowledged packet, if it is the highest.
    pub(super) fn saw_acked(&mut self, seq: u16) {
        if self.acked.is_none_or(|acked| is_after(seq, acked)) {
            self.acked = Some(seq);
        }
    }

    /// Notes the timestamp of an acknowledged packet. Timestamps start anywhere and may jump.
    pub(super) fn saw_timestamp(&mut self, timestamp: u32) {
        let newest = *self.timestamp.get_or_insert(timestamp);
        if (timestamp.wrapping_sub(newest) as i32) > 0 {
            self.timestamp = Some(timestamp);
        }
    }

    /// Ticks by which the encoder made a packet before the newest that was acknowledged.
    pub(super) fn made_before(&self, timestamp: u32) -> u32 {
        let newest = self.timestamp.unwrap_or(timestamp);
        let behind = newest.wrapping_sub(timestamp) as i32;
        (behind.max(0) as u64 * 65_536 / 90_000) as u32
    }
}

#[cfg(test)]
mod tests;
