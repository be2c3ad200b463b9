//! Where the buffers of the write queue end (Linux 7.2 `tcp_sendmsg_locked`, `tcp_bound_to_half_wnd`).

use super::output::GSO_MAX_BYTES;

/// The write queue of an application that writes ahead of what is sent. A buffer holds as many whole
/// segments as a GSO packet or half of the largest window known when it was filled. What fits into the first
/// window was written before a larger one was known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Buffers {
    start: u64,
    first_window: u64,
    /// End of the first buffer.
    end: u64,
}

impl Buffers {
    /// An empty queue from `seq`, with the window of the handshake.
    pub(super) fn new(seq: u64, first_window: u64) -> Self {
        Self { start: seq, first_window, end: seq }
    }

    /// Bytes from `seq` to the end of its buffer.
    pub(super) fn left(&mut self, seq: u64, window: u64, mss: u64) -> u64 {
        while self.end <= seq {
            let half = (self.first_window / 2).min(GSO_MAX_BYTES).max(mss) / mss * mss;
            let is_early = self.end + half <= self.start + self.first_window;
            let is_half = is_early || window <= self.first_window;
            self.end += if is_half { half } else { GSO_MAX_BYTES / mss * mss };
        }
        self.end - seq
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The buffers of a 7.2 kernel whose peer offered 65,536 bytes in the handshake end after 44 segments
    // of 1436 bytes and then after every 45: there its bursts are short.
    #[test]
    fn buffers_hold_half_the_first_window_and_later_a_whole_gso_packet() {
        let mut buffers = Buffers::new(1, 65_536);
        let mut ends = vec![];
        let mut seq = 1;
        for _ in 0..4 {
            seq += buffers.left(seq, 200_000, 1436);
            ends.push((seq - 1) / 1436);
        }
        assert_eq!(ends, [22, 44, 89, 134]);
        assert_eq!(buffers.left(seq + 1436, 200_000, 1436), 44 * 1436, "of a buffer begun");
    }

    #[test]
    fn a_window_that_stays_small_keeps_buffers_at_half_of_it() {
        let mut buffers = Buffers::new(1, 65_536);
        assert_eq!(buffers.left(1 + 100 * 22 * 1436, 65_536, 1436), 22 * 1436);
        assert_eq!(Buffers::new(1, 1000).left(1, 1000, 1436), 1436);
    }
}
