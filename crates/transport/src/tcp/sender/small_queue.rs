//! TCP small queues of a host whose packets reach netem, in another network namespace, after what sent them is done:
//! netem takes them from their socket then and, up to Linux 5.12, wakes nobody (`skb_orphan_partial`).

use super::memory::Memory;
use super::output::GSO_MAX_BYTES;

/// What one ACK or timer has let leave.
#[derive(Debug, Default)]
pub(super) struct SmallQueue {
    /// What has left since the last ACK or timer (`sk_wmem_alloc`).
    bytes: u64,
    state: Hold,
    /// What has to be acknowledged before the application writes again.
    writes_at: u64,
    /// Its send buffer (`sk_sndbuf`), which grows only.
    buffer: u64,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Hold {
    /// There is room.
    #[default]
    Room,
    /// The rest waits for the next ACK.
    Held,
    /// The application writes: what is sent in its context reaches netem at once.
    Writes,
}

impl SmallQueue {
    /// An ACK or a timer comes: what was sent before has left the host.
    pub(super) fn clear(&mut self) {
        (self.bytes, self.state) = (0, Hold::Room);
    }

    /// A packet leaves that takes this many bytes.
    pub(super) fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Whether nothing more leaves (`tcp_small_queue_check`; `sk_wmem_alloc` begins at one). An application is woken when
    /// a third of its send buffer is free (`sk_stream_is_writeable`), which is at least `buffer` now.
    pub(super) fn is_full(&mut self, limit: u64, una: u64, buffer: u64, sizes: Memory) -> bool {
        self.buffer = self.buffer.max(buffer);
        if una >= self.writes_at {
            self.writes_at = una + written(self.buffer, sizes);
            self.state = Hold::Writes;
        }
        if self.state == Hold::Room && self.bytes >= limit {
            self.state = Hold::Held;
        }
        self.state == Hold::Held
    }
}

/// What an application writes once a third of `buffer` is free: the largest packets, and the last of them whole
/// (`tcp_sendmsg`).
fn written(buffer: u64, sizes: Memory) -> u64 {
    let goal = GSO_MAX_BYTES / sizes.mss * sizes.mss;
    (buffer / 3).div_ceil(sizes.packet(goal)) * goal
}

#[cfg(test)]
mod tests;
