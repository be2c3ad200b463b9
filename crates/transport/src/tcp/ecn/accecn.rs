//! AccECN at the sender: from the 3-bit ACE counter to newly marked packets (RFC 9768 appendix A.2).

use crate::tcp::era::AceReading;

/// Mean segments per ACK from which a jump of the ACE field is taken for an ordinary large ACK.
const LARGE_ACK: u32 = 4;

/// Sender's side of AccECN: turns the 3-bit counter into newly marked packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct AccEcnSender {
    delivered_ce: u64,
    ce_bytes: u32,
    reading: AceReading,
    /// Segments per ACK, moving average of 1/64, in 1/64.
    per_ack: u32,
}

/// What an ACK delivered, for [`AccEcnSender::decode`].
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Segments newly delivered.
    pub segments: u32,
    /// Bytes newly delivered.
    pub bytes: u64,
    /// The connection is in Open or CWR with at least 16 segments delivered.
    pub regular: bool,
    /// Payload of a full segment.
    pub mss: u32,
}

impl AccEcnSender {
    /// A sender to which `delivered_ce` marks have been reported. Without an option an ACK of many
    /// segments is ambiguous, and `reading` decides.
    pub fn new(delivered_ce: u64, reading: AceReading) -> Self {
        Self { delivered_ce, ce_bytes: 0, reading, per_ack: 2 << 6 }
    }

    /// Newly reported CE packets of an ACK with this ACE field and option (RFC 9768 appendix A.2;
    /// Linux `__tcp_accecn_process`; without an option by the `reading` of [`AccEcnSender::new`]).
    pub fn decode(&mut self, ace: u8, option: Option<[u32; 3]>, progress: Progress) -> u32 {
        let ce = self.delta(ace, option, progress);
        self.delivered_ce += u64::from(ce);
        ce
    }

    fn delta(&mut self, ace: u8, option: Option<[u32; 3]>, progress: Progress) -> u32 {
        let segments = progress.segments;
        self.per_ack = self.per_ack - (self.per_ack >> 6) + segments;
        let optimistic = match self.reading {
            AceReading::Greatest => false,
            AceReading::ByAckSize => self.per_ack > LARGE_ACK << 6,
            AceReading::Least => true,
        };
        let delta = u32::from(ace).wrapping_sub(5).wrapping_sub(self.delivered_ce as u32) & 7;
        let new_ce_bytes = option.map(|[_, ce, _]| {
            let new = ce.wrapping_sub(self.ce_bytes) & 0x00ff_ffff;
            self.ce_bytes = ce;
            new
        });
        if segments <= 7 || segments < delta {
            return delta;
        }
        // The most marks that the counter's remainder allows: an ACK may hide a wrap.
        let safe = segments - ((segments - delta) & 7);
        match new_ce_bytes {
            None if optimistic => delta,
            Some(0) => delta,
            Some(new) if progress.regular && progress.bytes > 0 => {
                let by_bytes =
                    (u64::from(new) * u64::from(segments)).div_ceil(progress.bytes) as u32;
                safe.min(delta + (by_bytes & !7))
            }
            Some(new) if new > delta * progress.mss => safe,
            Some(new) if new < safe * progress.mss / 2 => delta,
            None | Some(_) => safe,
        }
    }
}

#[cfg(test)]
mod tests;
