//! What packets take in the memory of their host, by which the kernel bounds what a socket may send (`alloc_skb`).

/// `sk_buff`, and `skb_shared_info` at the end of each head.
const DESCRIPTOR: u64 = 256;
const SHARED_INFO: u64 = 320;
const CACHE_LINE: u64 = 64;
/// `SKB_SMALL_HEAD_CACHE_SIZE`: heads of this size are not rounded up, from 6.3 on.
const SMALL_HEAD: u64 = 704;
/// TCP's option in every segment.
const TIMESTAMPS: u64 = 12;
/// `TCP_INIT_CWND`.
const INITIAL_CWND: u64 = 10;

/// The sizes of a kernel that keeps `header` bytes of each packet for headers (`MAX_TCP_HEADER`), for segments of `mss`
/// bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    header: u64,
    pub(super) mss: u64,
    has_small_heads: bool,
}

impl Memory {
    /// Of a kernel before 6.3.
    pub(super) fn of_5(header: u32, mss: u32) -> Self {
        Self { header: header.into(), mss: mss.into(), has_small_heads: false }
    }

    /// Of 7.2, as the engine `linux` has it.
    pub(super) fn of_7(mss: u64) -> Self {
        Self { header: 320, mss, has_small_heads: true }
    }

    /// What a packet takes besides its data, which are elsewhere (`sk_stream_alloc_skb`).
    pub(super) fn overhead(self) -> u64 {
        let head = self.header.next_multiple_of(CACHE_LINE) + SHARED_INFO;
        if self.has_small_heads && head <= SMALL_HEAD {
            SMALL_HEAD + DESCRIPTOR
        } else {
            allocated(head)
        }
    }

    /// A packet with its data.
    pub(super) fn packet(self, bytes: u64) -> u64 {
        self.overhead() + bytes
    }

    /// A packet that leaves for a device without offloads. The host makes segments of a larger one and copies each into a
    /// head of its own (`skb_segment`), all of which count (`tcp_gso_segment`); one of one segment stays what it is.
    pub(super) fn segmented(self, bytes: u64) -> u64 {
        if bytes <= self.mss {
            return self.packet(bytes);
        }
        let head = (self.mss + self.header).next_multiple_of(CACHE_LINE) + SHARED_INFO;
        bytes.div_ceil(self.mss.max(1)) * allocated(head)
    }

    /// A send buffer of so many `windows` of `cwnd` (`tcp_sndbuf_expand`).
    pub(super) fn send_buffer(self, windows: u64, cwnd: u32) -> u64 {
        let segment = allocated(self.mss + TIMESTAMPS + self.header + SHARED_INFO);
        windows * segment * u64::from(cwnd).max(INITIAL_CWND)
    }
}

/// A head of this size and its descriptor.
fn allocated(head: u64) -> u64 {
    head.next_power_of_two() + DESCRIPTOR
}

#[cfg(test)]
mod tests;
