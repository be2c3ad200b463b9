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
mod tests;
