//! AccECN at the sender: from the 3-bit ACE counter to newly marked packets (RFC 9768 appendix A.2).

use crate::tcp::era::AceReading;

/// Mean segments per ACK from which a jump of the ACE field is taken for an ordinary large ACK.
const LARGE_ACK: u32 = 4;

/// Of a byte counter that is not the one of CE: ECT(0), CE, ECT(1).
const CE: usize = 1;
/// The order of the counters in Linux's option.
const ORDER: [usize; 3] = [2, CE, 0];
/// Where the counters begin (RFC 9768 3.2.1).
const INITIAL: [u32; 3] = [1, 0, 1];
/// Segments per ACK from which the bytes tell how many of them were marked.
const MANY: u32 = 16;

/// Sender's side of AccECN: turns the 3-bit counter into newly marked packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct AccEcnSender {
    delivered_ce: u64,
    /// What the options have reported, and what ACKs without one are taken to have added.
    bytes: [u32; 3],
    /// The counter that has changed last, and alone: to which ACKs without an option add.
    estimate: Option<usize>,
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
    /// Payload of a full segment.
    pub mss: u32,
}

impl AccEcnSender {
    /// A sender to which `delivered_ce` marks have been reported. Without an option an ACK of many
    /// segments is ambiguous, and `reading` decides.
    pub fn new(delivered_ce: u64, reading: AceReading) -> Self {
        // The SYN is the first segment that an ACK has delivered.
        Self { delivered_ce, reading, per_ack: 1 << 6, ..Self::default() }
    }

    /// The ACE field of an ACK that reports no more marks (RFC 9768 3.2.1).
    pub(crate) fn expected_ace(&self) -> u8 {
        (self.delivered_ce as u8).wrapping_add(5) & 7
    }

    /// Newly reported CE packets of an ACK with this ACE field and option (RFC 9768 appendix A.2;
    /// Linux 7.2 `__tcp_accecn_process`; without an option by the `reading` of [`AccEcnSender::new`]).
    pub fn decode(&mut self, ace: u8, option: Option<[u32; 3]>, progress: Progress) -> u32 {
        let ce = self.delta(ace, option, progress);
        self.delivered_ce += u64::from(ce);
        ce
    }

    fn delta(&mut self, ace: u8, option: Option<[u32; 3]>, progress: Progress) -> u32 {
        let Progress { segments, bytes, mss } = progress;
        let new_ce_bytes = self.new_ce_bytes(option, bytes as u32);
        if segments > 0 {
            self.per_ack = self.per_ack - self.per_ack.div_ceil(1 << 6) + segments;
        }
        let optimistic = match self.reading {
            AceReading::Greatest => false,
            AceReading::ByAckSize => self.per_ack > LARGE_ACK << 6,
            AceReading::Least => true,
        };
        let delta = u32::from(ace).wrapping_sub(5).wrapping_sub(self.delivered_ce as u32) & 7;
        if segments <= 7 || segments < delta {
            return delta;
        }
        // The most marks that the counter's remainder allows: an ACK may hide a wrap.
        let safe = segments - ((segments - delta) & 7);
        match new_ce_bytes {
            None if optimistic => delta,
            Some(0) => delta,
            Some(new) if segments >= MANY && bytes > u64::from(new) => {
                let by_bytes = (u64::from(new) * u64::from(segments)).div_ceil(bytes) as u32;
                safe.min(delta + (by_bytes & !7))
            }
            Some(_) if segments >= MANY => safe,
            Some(new) if new > delta * mss => safe,
            Some(new) if new < safe * mss / 2 => delta,
            None | Some(_) => safe,
        }
    }

    /// Bytes newly marked, absent where that is not known (Linux 7.2 `tcp_accecn_process_option`). An ACK without
    /// option, such as one with several SACK blocks, adds to the counter that grows.
    fn new_ce_bytes(&mut self, option: Option<[u32; 3]>, delivered: u32) -> Option<u32> {
        let Some(counters) = option else {
            let grows = self.estimate?;
            self.bytes[grows] = self.bytes[grows].wrapping_add(delivered);
            return Some(if grows == CE { delivered } else { 0 });
        };
        let (expected, before) = (self.estimate, self.bytes[CE]);
        let mut is_known = expected.is_some();
        let mut changed = None;
        for field in ORDER {
            let counter = counters[field].wrapping_sub(INITIAL[field]);
            // 24 bits with a sign: an estimate may have been too high.
            let delta = (counter.wrapping_sub(self.bytes[field]) << 8).cast_signed() >> 8;
            self.bytes[field] = self.bytes[field].wrapping_add_signed(delta);
            let is_news = delta != 0 && expected != Some(field);
            if delta < 0 || (is_news && changed.is_some()) {
                is_known = false;
                changed = Some(None);
            } else if is_news {
                changed = Some(Some(field));
            }
        }
        self.estimate = changed.unwrap_or(expected);
        is_known.then(|| self.bytes[CE].wrapping_sub(before))
    }
}

#[cfg(test)]
mod tests;
