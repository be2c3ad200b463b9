//! What the application has written and the peer has not acknowledged, in the memory that it takes (Linux 7.2
//! `tcp_sendmsg_locked` and `tcp_check_space`).

use std::collections::VecDeque;

use super::memory::Memory;
use super::output::GSO_MAX_BYTES;

/// What an application writes in one call, as that of the engine `linux` does.
const CHUNK: u64 = 128 << 10;
/// `TCP_MSS_DEFAULT`: of smaller windows a buffer may hold all.
const LEAST_WINDOW: u64 = 536;
/// `tcp_wmem[1]`.
const FIRST_LIMIT: u64 = 16 << 10;

/// What may leave before the application goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Push {
    /// As much as the windows, the pacer and Nagle's algorithm let (`tcp_push_pending_frames`).
    #[default]
    All,
    /// The same, but a short segment at the end waits for nothing (`TCP_NAGLE_PUSH`).
    Short,
    /// One packet, which waits for nothing (`tcp_push_one`).
    One,
    Nothing,
}

/// A buffer of data that were not sent whole.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    /// Sequence number after its last byte.
    end: u64,
    /// The last segment has PSH.
    pushes: bool,
}

/// The send buffer. An application that has more waits once it is full, and is woken when a third of it is free.
#[derive(Clone, Debug, Default)]
pub(super) struct WriteQueue {
    /// Sequence number after the last byte that was written.
    pub(super) written: u64,
    /// In order; the first one may be sent in part.
    unsent: VecDeque<Buffer>,
    /// Where the packets end that were sent and are not acknowledged.
    sent: VecDeque<u64>,
    /// How many more of these SACKs and retransmissions have made.
    pub(super) splits: i32,
    /// The largest window of the peer so far (`max_window`).
    window: u64,
    /// Up to where the application has pushed (`pushed_seq`).
    pushed: u64,
    /// What packets take.
    sizes: Memory,
    /// How many of cwnd the buffer should hold.
    windows: u64,
    /// `sk_sndbuf`, and its bound.
    limit: u64,
    most: u64,
    /// Bytes that the application's call has still to copy, and whether it has copied any.
    call: u64,
    has_copied: bool,
    pub(super) push: Push,
    /// The application waits for room (`SOCK_NOSPACE`).
    is_full: bool,
    /// An ACK has arrived that nobody has looked at: nothing else wakes an application (`tcp_data_snd_check`).
    is_acked: bool,
    /// What the packets since that ACK take of the host's small queue, until it is done (`sk_wmem_alloc`).
    in_host: u64,
    /// Segments in flight and memory when small queues held the next packet back.
    held: Option<(u32, u64)>,
}

impl WriteQueue {
    /// An empty queue from `seq`, for a peer whose handshake showed this `window`. `windows` is how many of cwnd
    /// the buffer should hold (`sndbuf_expand`), at `most` bytes.
    pub(super) fn new(seq: u64, window: u64, mss: u64, windows: u64, most: u64) -> Self {
        let mut queue = Self {
            written: seq,
            pushed: seq,
            window,
            sizes: Memory::of_7(mss),
            windows,
            limit: FIRST_LIMIT.min(most),
            most,
            ..Self::default()
        };
        queue.expand(0);
        queue
    }

    /// An empty queue after `written`, for a connection that has not begun or sends nothing more.
    pub(super) fn after(written: u64) -> Self {
        Self { written, ..Self::default() }
    }

    /// `tcp_sndbuf_expand`.
    fn expand(&mut self, cwnd: u32) {
        let wanted = self.sizes.send_buffer(self.windows, cwnd);
        self.limit = self.limit.max(wanted.min(self.most));
    }

    /// `sk_wmem_queued`, with everything before `una` acknowledged, which may be the FIN after what was written.
    fn memory(&self, una: u64) -> u64 {
        let packets = (self.unsent.len() + self.sent.len()) as u64;
        self.written.saturating_sub(una)
            + self.sizes.overhead() * packets.saturating_add_signed(self.splits.into())
    }

    /// Everything before `una` was acknowledged, and the peer's window is `window`.
    pub(super) fn on_ack(&mut self, una: u64, window: u64) {
        while self.sent.front().is_some_and(|end| *end <= una) {
            self.sent.pop_front();
        }
        self.window = self.window.max(window);
        self.is_acked = true;
        self.in_host = 0;
        self.held = None;
    }

    /// A packet leaves with the bytes from `next` to `end`; `in_flight` segments are under way without it, and `una` is
    /// the first byte that is not acknowledged. `rate` is what the pacing rate sends in 1 ms.
    ///
    /// An ACK is processed before the host forwards what it let leave. Small queues have room for a packet or two
    /// (`tcp_small_queue_check`), whose segments take more than the packet did: the rest leaves in the same instant, but
    /// after the ACK has woken the application, or not (`tcp_check_space`). That they take so much is inferred: with it
    /// the buffer grows when that of 7.2 does, over paths of 4, 20 and 100 ms (SO_MEMINFO).
    pub(super) fn on_sent(&mut self, (next, end): (u64, u64), in_flight: u32, una: u64, rate: u64) {
        let bytes = end - next;
        let is_held = self.in_host >= rate.max(2 * self.sizes.packet(bytes)) && self.sent.len() > 1;
        if is_held && self.held.is_none() {
            self.held = Some((in_flight, self.memory(una)));
        }
        self.in_host += self.sizes.segmented(bytes);
        self.sent.push_back(end);
        while self.unsent.front().is_some_and(|buffer| buffer.end <= end) {
            self.unsent.pop_front();
        }
    }

    /// Bytes from `seq`, which is sent next, to the end of its buffer.
    pub(super) fn left(&self, seq: u64) -> u64 {
        self.unsent.front().map_or(0, |buffer| buffer.end - seq)
    }

    /// Whether the segment that ends at `end`, before it is sent, is the last one of something pushed.
    pub(super) fn pushes(&self, end: u64) -> bool {
        self.unsent.iter().take_while(|buffer| buffer.end <= end).any(|buffer| buffer.pushes)
    }

    /// The application writes nothing more.
    pub(super) fn stop(&mut self) {
        self.call = 0;
    }

    /// `tcp_check_space`, after an ACK and all that it lets leave: whether an application that waited is woken. The
    /// buffer grows where it, and not `cwnd`, is what limits.
    pub(super) fn wakes(&mut self, una: u64, in_flight: u32, cwnd: u32) -> bool {
        if !std::mem::take(&mut self.is_acked) || !self.is_full {
            return false;
        }
        let (in_flight, memory) = self.held.unwrap_or_else(|| (in_flight, self.memory(una)));
        if in_flight < cwnd {
            self.expand(cwnd);
        }
        self.is_full = !self.is_writable(memory);
        !self.is_full
    }

    /// `sk_stream_is_writeable`.
    fn is_writable(&self, memory: u64) -> bool {
        self.limit.saturating_sub(memory) >= memory / 2
    }

    /// The application has data up to `end`, and begins a call if none is under way and `tcp_poll` finds room for
    /// one. Returns whether there is one.
    pub(super) fn calls(&mut self, end: u64, una: u64) -> bool {
        if self.call == 0 && !self.is_full && end > self.written {
            self.is_full = !self.is_writable(self.memory(una));
            self.has_copied = false;
            self.call = if self.is_full { 0 } else { (end - self.written).min(CHUNK) };
        }
        self.call > 0
    }

    /// The call copies until it has something to send, or is over (`tcp_sendmsg_locked`). `una` and `next` are the
    /// first bytes that are not acknowledged and not sent.
    pub(super) fn copy(&mut self, una: u64, next: u64) {
        let size = self.buffer_size();
        loop {
            let start = self.unsent.iter().rev().nth(1).map_or(next, |before| before.end.max(next));
            let room = self.unsent.back().map_or(0, |tail| size.saturating_sub(tail.end - start));
            if room == 0 {
                if self.memory(una) >= self.limit {
                    self.is_full = true;
                    self.call = 0;
                    break;
                }
                self.unsent.push_back(Buffer { end: self.written, pushes: false });
                continue;
            }
            let take = room.min(self.call);
            let is_first = self.unsent.len() == 1;
            let Some(tail) = self.unsent.back_mut() else { return };
            self.written += take;
            tail.end = self.written;
            // What continues a buffer that was pushed before takes that back.
            tail.pushes &= self.has_copied;
            self.has_copied = true;
            self.call -= take;
            if self.call == 0 {
                self.push(Push::All);
                return;
            }
            if take == room {
                // `forced_push`.
                if self.written > self.pushed + self.window / 2 {
                    break;
                }
                if is_first {
                    self.push = Push::One;
                    return;
                }
            }
        }
        if self.has_copied {
            self.push(Push::Short);
        }
    }

    /// `tcp_mark_push`.
    fn push(&mut self, push: Push) {
        self.push = push;
        self.pushed = self.written;
        if let Some(tail) = self.unsent.back_mut() {
            tail.pushes = true;
        }
    }

    /// Whole segments that a buffer holds at most: a GSO packet, or half the largest window
    /// (`tcp_xmit_size_goal`, `tcp_bound_to_half_wnd`).
    fn buffer_size(&self) -> u64 {
        let most = if self.window > LEAST_WINDOW { self.window / 2 } else { self.window };
        most.min(GSO_MAX_BYTES).max(self.sizes.mss) / self.sizes.mss * self.sizes.mss
    }
}

#[cfg(test)]
mod tests;
