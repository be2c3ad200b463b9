//! AccECN at the sender: from the 3-bit ACE counter to newly marked packets (RFC 9768 appendix A.2).

/// Sender's side of AccECN: turns the 3-bit counter into newly marked packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct AccEcnSender {
    delivered_ce: u64,
    ce_bytes: u32,
    unsafe_cep: bool,
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
    /// segments is ambiguous: `unsafe_cep` takes the least number of marks, otherwise the greatest.
    pub fn new(delivered_ce: u64, unsafe_cep: bool) -> Self {
        Self { delivered_ce, ce_bytes: 0, unsafe_cep }
    }

    /// Newly reported CE packets of an ACK with this ACE field and option (RFC 9768 appendix A.2;
    /// without an option as [`AccEcnSender::new`] was told).
    pub fn decode(&mut self, ace: u8, option: Option<[u32; 3]>, progress: Progress) -> u32 {
        let ce = self.delta(ace, option, progress);
        self.delivered_ce += u64::from(ce);
        ce
    }

    fn delta(&mut self, ace: u8, option: Option<[u32; 3]>, progress: Progress) -> u32 {
        let segments = progress.segments;
        let delta = u32::from(ace).wrapping_sub(5).wrapping_sub(self.delivered_ce as u32) & 7;
        let new_ce_bytes = option.map(|[_, ce, _]| {
            let new = ce.wrapping_sub(self.ce_bytes) & 0x00ff_ffff;
            self.ce_bytes = ce;
            new
        });
        if segments <= 7 || segments < delta {
            return delta;
        }
        let safe = segments - ((segments - delta) & 7);
        match new_ce_bytes {
            None if self.unsafe_cep => delta,
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
mod tests {
    use super::*;

    fn decode(ace: u8, segments: u32, ce_bytes: Option<u32>) -> u32 {
        let progress =
            Progress { segments, bytes: u64::from(segments) * 1448, regular: true, mss: 1448 };
        AccEcnSender::new(10, false).decode(ace, ce_bytes.map(|b| [1, b, 1]), progress)
    }

    // KAT cc.md §9 #40 (vectors of 2.4)
    #[test]
    fn ace_decodes_to_the_published_vectors() {
        assert_eq!(decode(1, 2, None), 2);
        assert_eq!(decode(1, 20, None), 18);
        assert_eq!(decode(1, 20, Some(0)), 2);
        assert_eq!(decode(7, 7, None), 0);
        assert_eq!(decode(7, 9, None), 8);
        assert_eq!(decode(1, 20, Some(2896)), 2);
        assert_eq!(decode(1, 20, Some(14480)), 10);
    }

    #[test]
    fn unsafe_decoding_invents_no_marks() {
        let progress = Progress { segments: 9, bytes: 9 * 1448, regular: true, mss: 1448 };
        assert_eq!(AccEcnSender::new(10, false).decode(7, None, progress), 8);
        assert_eq!(AccEcnSender::new(10, true).decode(7, None, progress), 0);
        assert_eq!(AccEcnSender::new(10, true).decode(1, None, progress), 2);
    }
}
