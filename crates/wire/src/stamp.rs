//! Number and time of sending: what our own end points put at the beginning of a payload, since UDP and
//! ICMP have no room for them. The far end returns or reads it; zeros fill the rest.

use sojourn_core::Time;

/// Bytes of number and time.
pub const BYTES: usize = 16;

/// What a payload begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Sequence number.
    pub(crate) seq: u64,
    /// Clock of the end that sent it first.
    pub(crate) sent: Time,
}

impl Stamp {
    /// Fills a payload. The caller knows that there is room.
    pub(crate) fn write(self, payload: &mut [u8]) {
        let (stamp, rest) = payload.split_at_mut(BYTES);
        stamp[..8].copy_from_slice(&self.seq.to_be_bytes());
        stamp[8..].copy_from_slice(&self.sent.0.to_be_bytes());
        rest.fill(0);
    }

    /// What a payload begins with.
    pub(crate) fn read(payload: &[u8]) -> Option<Self> {
        let (seq, rest) = payload.split_first_chunk()?;
        let sent = rest.first_chunk()?;
        Some(Self { seq: u64::from_be_bytes(*seq), sent: Time(u64::from_be_bytes(*sent)) })
    }
}
