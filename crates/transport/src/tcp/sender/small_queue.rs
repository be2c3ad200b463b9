//! TCP small queues of a host whose packets reach netem, in another network namespace, after what sent them is done:
//! netem takes them from their socket then and, up to Linux 5.12, wakes nobody (`skb_orphan_partial`).

/// `sk_buff`, and `skb_shared_info` at the end of each head.
const DESCRIPTOR: u64 = 256;
const SHARED_INFO: u64 = 320;
const CACHE_LINE: u64 = 64;
/// TCP's option in every segment.
const TIMESTAMPS: u64 = 12;
/// `TCP_INIT_CWND`.
const INITIAL_CWND: u64 = 10;

/// What packets take in a host of 5.x, whose kernel keeps `header` bytes for headers (`MAX_TCP_HEADER`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    header: u64,
    mss: u64,
}

impl Memory {
    pub(super) fn new(header: u32, mss: u32) -> Self {
        Self { header: header.into(), mss: mss.into() }
    }

    /// A packet whose head has headers only, and its data elsewhere (`sk_stream_alloc_skb`).
    pub(super) fn packet(self, bytes: u64) -> u64 {
        allocated(self.header) + bytes
    }

    /// A segment that was copied out of a larger packet, for a device without scatter/gather (`skb_segment`).
    fn copied(self, bytes: u64) -> u64 {
        allocated(bytes + self.header)
    }

    /// A send buffer of two windows (`tcp_sndbuf_expand`).
    fn send_buffer(self, cwnd: u32) -> u64 {
        let head = self.mss + TIMESTAMPS + self.header + SHARED_INFO;
        2 * (head.next_power_of_two() + DESCRIPTOR) * u64::from(cwnd).max(INITIAL_CWND)
    }

    /// What an application writes that was woken because a third of `buffer` is free: packets of `goal` bytes, and the
    /// last of them whole (`tcp_sendmsg`).
    fn written(self, buffer: u64, goal: u64) -> u64 {
        (buffer / 3).div_ceil(self.packet(goal)) * goal
    }
}

/// A head of `size` bytes and its descriptor (`__alloc_skb`).
fn allocated(size: u64) -> u64 {
    (size.next_multiple_of(CACHE_LINE) + SHARED_INFO).next_power_of_two() + DESCRIPTOR
}

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

    /// A packet leaves. Without segmentation offload the host makes segments of a larger one, each of which counts
    /// (`tcp_gso_segment`); a packet of one segment stays what it is.
    pub(super) fn add(&mut self, memory: Memory, bytes: u64, offloads: bool) {
        self.bytes += if offloads || bytes <= memory.mss {
            memory.packet(bytes)
        } else {
            bytes.div_ceil(memory.mss) * memory.copied(memory.mss)
        };
    }

    /// The window is this many segments, and a send buffer has at most `most` bytes.
    pub(super) fn grow(&mut self, memory: Memory, cwnd: u32, most: u64) {
        self.buffer = self.buffer.max(memory.send_buffer(cwnd).min(most));
    }

    /// Whether nothing more leaves (`tcp_small_queue_check`; `sk_wmem_alloc` begins at one). An application is woken when
    /// a third of its send buffer is free (`sk_stream_is_writeable`), and writes packets of `goal` bytes.
    pub(super) fn is_full(&mut self, memory: Memory, limit: u64, una: u64, goal: u64) -> bool {
        if una >= self.writes_at {
            self.writes_at = una + memory.written(self.buffer, goal);
            self.state = Hold::Writes;
        }
        if self.state == Hold::Room && self.bytes >= limit {
            self.state = Hold::Held;
        }
        self.state == Hold::Held
    }
}

#[cfg(test)]
mod tests;
