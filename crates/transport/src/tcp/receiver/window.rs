//! The receive window.

use sojourn_core::{Dur, Time};

use crate::tcp::Config;
use crate::tcp::reassembly::{MOST_PIECES, Reassembly, pieces};
use crate::tcp::segment::Segment;

/// Headers of IPv4 and TCP without options.
const IP_AND_TCP: u32 = 40;
/// What a packet takes of a receive buffer besides its data: `sk_buff` (256), `skb_shared_info` (320) and the
/// head that a sender allocates (384), as between hosts of one kernel. 7.2 advertises 153/256 of a buffer for
/// segments of 1448 bytes, 138 for 1138, 107 for 694: data/(data + 960). Drivers have other buffers.
const OVERHEAD: u64 = 960;
/// The same of a buffer of 2 KiB (`SKB_TRUESIZE`: 2304 bytes), which holds a packet of 1448 bytes between network
/// namespaces of 5.4: windows of captures of L4STeam/l4steam.github.io, `ect1-tests`. No packet takes in another one.
const LINEAR_OVERHEAD: u64 = 856;
/// `TCP_DEFAULT_SCALING_RATIO` from 6.13: the share before a segment has come.
const FIRST_SHARE: u64 = 128;
/// `TCP_MSS_DEFAULT`: smaller segments tell nothing about the share (`tcp_initialize_rcv_mss`).
const LEAST_FULL: u64 = 536;
/// Smaller packets in order earn no window (`tcp_event_data_recv`).
const LEAST_EARNING: u32 = 128;
/// `tcp_rcvbuf_low_rtt`: over a shorter round trip the window grows in proportion to it (6.19 `tcp_rcvbuf_grow`).
const LOW_RTT: Dur = Dur::from_millis(1);
/// `rmem_max` of sockets from 6.17, and before; the window scale lets the window reach it
/// (`tcp_select_initial_window`).
const SOCKET_BUFFER: u64 = 4 << 20;
const SOCKET_BUFFER_BEFORE: u64 = 212_992;

/// Dynamic right-sizing (Linux 5.4 `tcp_rcv_space_adjust`): the advertised window follows twice
/// what the application reads per RTT, at most the share of the receive buffer that counts as
/// payload.
#[derive(Clone, Debug, Default)]
pub(super) struct DynamicWindow {
    mss: u64,
    /// Window that is advertised now, bytes.
    pub(super) advertised: u64,
    /// Right edge advertised last; a window never shrinks.
    pub(super) edge: u64,
    /// `rcv_wnd`: the window of the last ACK as it was sent.
    sent: u64,
    /// `rcv_ssthresh`: what segments' truesize has earned so far.
    ssthresh: u64,
    /// `sk_rcvbuf`, and its bound.
    buffer: u64,
    buffer_max: u64,
    /// `scaling_ratio`: payload in 256 bytes of the buffer.
    share: u64,
    /// The share follows from what arrives; the largest segment so far.
    is_measured: bool,
    rcv_mss: u64,
    /// `window_clamp`: the share of the receive buffer.
    clamp: u64,
    /// Windows are multiples of this.
    unit: u64,
    /// Bytes of the buffer that data behind a hole take.
    held: u64,
    /// Where these end; 0 without any.
    held_end: u64,
    /// Bytes of the buffer that data take until the application reads them, at the end of this instant.
    queued: u64,
    queued_at: Time,
    /// Payload of that, and of its first packet.
    payload: u64,
    first: u64,
    /// Pieces of payload in the last packet of that (`tcp_try_coalesce`).
    last_pieces: u32,
    /// Receiver's own RTT estimate, from timestamps.
    pub(super) rtt: Dur,
    rtt_echo: Time,
    /// End of the window of data whose time is measured, and when it began.
    window_end: u64,
    window_from: Time,
    /// Since when the application's reading is measured; `NEVER` before the connection is open.
    measured_from: Time,
    measured_seq: u64,
    /// What was read in the best round trip so far (`rcvq_space.space`).
    space: u64,
    /// What this instant brought is read at its end, which may enlarge the buffer.
    is_unread: bool,
    is_exact: bool,
    has_timestamps: bool,
    slack: u64,
    rcv_nxt: u64,
}

impl DynamicWindow {
    /// Of an end that a SYN has told which options the segments of `mss` bytes have.
    pub(super) fn new(config: &Config, mss: u32) -> Self {
        Self::with_step(config, mss, mss)
    }

    /// Of an end that asks for the connection: whether segments need room for timestamps is not known yet.
    pub(super) fn asking(config: &Config, mss: u32) -> Self {
        Self::with_step(config, mss, config.mtu - IP_AND_TCP)
    }

    /// The first window is a multiple of `step` (`tcp_select_initial_window`).
    fn with_step(config: &Config, mss: u32, step: u32) -> Self {
        let (mss, step) = (u64::from(mss), u64::from(step));
        let is_measured = config.window_share == 0;
        let share = if is_measured { FIRST_SHARE } else { config.window_share.into() };
        let whole = config.rmem_default.0 * share / 256;
        let initial = whole.min(65_535) / step * step;
        // One segment of the share is kept back when the connection opens (`tcp_init_buffer_space`, 7.2, where `advmss`
        // has no room for timestamps).
        let options = if config.timestamps { 12 } else { 0 };
        let advertised_mss = u64::from(config.mtu) - 40 - options;
        let clamp = whole - advertised_mss.min(whole / 2);
        let ssthresh = initial.min(clamp);
        let space = ssthresh.min(10 * advertised_mss);
        let sockets = if is_measured { SOCKET_BUFFER } else { SOCKET_BUFFER_BEFORE };
        let reach = config.rmem_max.0.max(sockets).ilog2().clamp(15, 29);
        Self {
            mss,
            advertised: initial,
            edge: 1 + initial,
            sent: initial,
            ssthresh,
            buffer: config.rmem_default.0,
            buffer_max: config.rmem_max.0,
            share,
            is_measured,
            rcv_mss: mss.min(LEAST_FULL),
            clamp,
            unit: 1 << (reach - 15),
            rtt_echo: Time::NEVER,
            measured_from: if config.drs_exact { Time::NEVER } else { Time::ZERO },
            measured_seq: 1,
            space,
            is_exact: config.drs_exact,
            has_timestamps: config.timestamps,
            slack: if config.drs_exact { 0 } else { 16 * mss },
            rcv_nxt: 1,
            ..Self::default()
        }
    }

    /// Linux `tcp_win_from_space`.
    fn payload(&self, space: u64) -> u64 {
        space * self.share / 256
    }

    /// Linux `tcp_space`.
    fn free(&self, now: Time) -> u64 {
        self.payload(self.buffer.saturating_sub(self.unread(now) + self.held))
    }

    /// A segment of `len` bytes: a larger one than before tells how much of the buffer is payload
    /// (`tcp_measure_rcv_mss` from 6.6).
    fn measure_share(&mut self, len: u64) {
        if len < self.rcv_mss {
            return;
        }
        let share = (len << 8) / (len + OVERHEAD);
        if len != self.rcv_mss && share != self.share {
            // `tcp_set_window_clamp`: 7.2 earns the rest of a larger one.
            self.share = share;
            let clamp = self.payload(self.buffer);
            self.ssthresh = self.ssthresh.min(clamp);
            self.clamp = clamp;
            self.space = self.space.min(clamp);
        }
        self.rcv_mss = len.min(self.mss);
    }

    /// Linux `tcp_rcv_rtt_measure_ts`. Without timestamps a window of data is all that tells (`measure_window`).
    pub(super) fn measure_rtt(&mut self, now: Time, segment: &Segment) {
        self.read(now);
        let is_told = self.has_timestamps || !self.is_exact;
        // Timestamps count milliseconds: what was sent in one of them is one sample.
        let echo = if self.is_exact { whole_ms(segment.tsecr) } else { segment.tsecr };
        if !is_told || segment.tsecr == Time::NEVER || echo == self.rtt_echo {
            return;
        }
        self.rtt_echo = echo;
        let elapsed = now.since(segment.tsecr);
        if !self.is_exact {
            self.update_rtt(now, Dur(elapsed.0.div_ceil(1_000_000) * 1_000_000));
            return;
        }
        // None says nothing from 6.16 on.
        let sample = whole_ms(now).since(echo);
        if sample > Dur::ZERO {
            self.update_rtt(now, sample);
        }
    }

    /// Linux `tcp_rcv_rtt_update`. From 6.16 on a smaller sample counts at once, and a larger one does not
    /// while data wait for the reader.
    fn update_rtt(&mut self, now: Time, sample: Dur) {
        if self.rtt == Dur::ZERO || (self.is_exact && sample < self.rtt) {
            self.rtt = sample;
        } else if !self.is_exact || self.unread(now) == 0 {
            self.rtt = Dur(self.rtt.0 - self.rtt.0 / 8 + sample.0 / 8);
        }
    }

    /// Linux `tcp_rcv_rtt_measure`: no window of data takes less than a round trip.
    fn measure_window(&mut self, now: Time) {
        if self.rcv_nxt < self.window_end {
            return;
        }
        let sample = now.since(self.window_from).max(Dur::from_micros(1));
        if self.window_end > 0 && (self.rtt == Dur::ZERO || sample < self.rtt) {
            self.rtt = sample;
        }
        self.window_end = self.rcv_nxt + self.sent;
        self.window_from = now;
    }

    /// Pieces of the payload of a packet with these `segments`. A linear buffer has no room for more.
    pub(super) fn pieces(&self, range: (u64, u64), segments: u32) -> u32 {
        if self.is_measured { pieces(range, segments) } else { MOST_PIECES }
    }

    /// A packet whose payload has `pieces` waits for the reader. The last one takes it in if it has room for all of
    /// them, so that up to 17 segments share the overhead of one. Before 6.6 the reader is taken to be as fast as they come.
    pub(super) fn queue(&mut self, now: Time, bytes: u64, pieces: u32) {
        if !self.is_measured {
            return;
        }
        let is_first = self.unread(now) == 0;
        if is_first {
            (self.payload, self.first) = (0, 0);
        }
        let last = if is_first { MOST_PIECES } else { self.last_pieces };
        let own = if last + pieces <= MOST_PIECES { 0 } else { OVERHEAD };
        // Larger ones are several packets in a list.
        let more = u64::from(pieces.saturating_sub(1) / MOST_PIECES) * OVERHEAD;
        self.last_pieces = if own > 0 { pieces.min(MOST_PIECES) } else { last + pieces };
        if own == 0 && self.first == self.payload || is_first {
            self.first += bytes;
        }
        self.payload += bytes;
        self.queued = self.unread(now) + bytes + own + more;
        self.queued_at = now;
    }

    /// Linux `tcp_grow_window`: gives whether there is room to grow.
    fn grow(&mut self, now: Time, len: u32) -> bool {
        let room = self.free(now).min(self.clamp);
        let grows = self.ssthresh < room;
        let earned = 2 * self.mss.max(u64::from(len));
        self.ssthresh = self.ssthresh.max((self.ssthresh + earned).min(room));
        grows
    }

    /// In-order data up to `rcv_nxt` was read, the last `len` bytes of one packet of `segments`. Returns whether
    /// the window grew (Linux `tcp_event_data_recv`).
    pub(super) fn on_data(&mut self, now: Time, rcv_nxt: u64, len: u32, segments: u32) -> bool {
        self.read(now);
        self.rcv_nxt = rcv_nxt;
        if len == 0 {
            return false; // a FIN alone
        }
        if self.is_measured {
            let range = (rcv_nxt.saturating_sub(len.into()), rcv_nxt);
            self.queue(now, len.into(), pieces(range, segments.max(1)));
            self.measure_share(u64::from(len / segments.max(1)));
        }
        if self.is_exact {
            if self.measured_from == Time::NEVER {
                self.measured_from = now; // the connection has just been opened (`tcp_init_buffer_space`)
            }
            self.measure_window(now);
            self.is_unread = true;
        }
        len >= LEAST_EARNING && self.grow(now, len)
    }

    /// All that a segment has brought is in the queue. Before 6.16 the application is taken to read it at once.
    pub(super) fn arrived(&mut self, now: Time) {
        if !self.is_exact {
            self.adjust(now);
        }
    }

    /// The application reads at the end of an instant, after what that instant brought was acknowledged.
    fn read(&mut self, now: Time) {
        if self.is_unread && now > self.queued_at {
            self.is_unread = false;
            self.adjust(self.queued_at);
        }
    }

    /// Linux `tcp_rcv_space_adjust`, once per round trip: a sender in slow start doubles, so twice what was read in
    /// the last one has to fit, and more while that grows (`tcp_rcvbuf_grow`).
    fn adjust(&mut self, now: Time) {
        if self.rtt == Dur::ZERO || now.since(self.measured_from) < self.rtt {
            return;
        }
        // The first packet is copied, and then measured; from 6.16 on what waits behind it is taken off.
        let waiting = if self.is_exact { self.payload - self.first } else { 0 };
        // Segments that overlap count twice in what waits.
        let read = self.rcv_nxt.saturating_sub(waiting).max(self.measured_seq);
        let copied = (read - self.measured_seq).saturating_sub(waiting);
        if copied > self.space {
            self.grow_buffer(copied);
            self.space = copied;
        }
        self.measured_seq = read;
        self.measured_from = now;
    }

    /// Room for twice `space`, for as much more as the sender may have sped up, and from 6.16 on for what is behind a
    /// hole (`tcp_rcvbuf_grow`).
    fn grow_buffer(&mut self, space: u64) {
        let window = 2 * space + self.slack;
        let growth = if self.is_exact && self.rtt < LOW_RTT {
            window * self.rtt.as_micros() / LOW_RTT.as_micros()
        } else {
            2 * window * (space - self.space) / self.space
        };
        let behind = if self.is_exact { self.held_end.saturating_sub(self.rcv_nxt) } else { 0 };
        self.enlarge(window + growth + behind);
    }

    /// `len` bytes beyond a hole arrived in `segments`; `is_in` if a packet that was there took them in. Returns whether the
    /// window grew: Linux `tcp_data_queue_ofo` with `tcp_grow_window`, before a packet of its own counts, and from 6.16
    /// on `tcp_rcvbuf_grow`, so that a round trip of data fits behind a hole, too.
    pub(super) fn on_hole(
        &mut self,
        now: Time,
        (len, segments): (u32, u32),
        is_in: bool,
        held: &Reassembly,
    ) -> bool {
        self.read(now);
        if self.is_measured && self.is_exact {
            self.measure_share(u64::from(len / segments.max(1))); // from 6.17 on
        }
        if is_in {
            self.hold(held);
        }
        let grows = self.grow(now, len);
        self.hold(held);
        self.make_room(now);
        grows
    }

    fn hold(&mut self, held: &Reassembly) {
        let overhead = if self.is_measured { OVERHEAD } else { LINEAR_OVERHEAD };
        self.held = held.bytes() + held.packets() * overhead;
        self.held_end = held.end();
    }

    /// Something has arrived behind a hole.
    pub(super) fn make_room(&mut self, now: Time) {
        self.read(now);
        if self.is_exact {
            self.grow_buffer(self.space);
        }
    }

    /// A hole is filled (`tcp_ofo_queue`): all up to `rcv_nxt` waits for the reader, and others are still `held`.
    pub(super) fn absorb(&mut self, rcv_nxt: u64, held: &Reassembly) {
        self.rcv_nxt = rcv_nxt;
        self.hold(held);
    }

    fn unread(&self, now: Time) -> u64 {
        if self.queued_at == now { self.queued } else { 0 }
    }

    /// The receive buffer grows to hold this window.
    fn enlarge(&mut self, window: u64) {
        let buffer = (window * 256 / self.share).min(self.buffer_max);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = self.clamp.max(self.payload(buffer));
        }
    }

    /// Linux `__tcp_select_window`: what has been earned, if it is free.
    fn selected(&self, now: Time) -> u64 {
        let mut free = self.free(now);
        if self.is_tight(now) {
            free -= free % self.unit;
            if free < self.payload(self.buffer) / 16 || free < self.rcv_mss {
                return 0;
            }
        }
        self.ssthresh.min(free).next_multiple_of(self.unit)
    }

    /// An ACK now would show no smaller window than the last one: what waits for the reader takes nothing of it.
    pub(super) fn holds(&self, now: Time) -> bool {
        self.is_measured && self.selected(now) >= self.advertised
    }

    /// What the reader takes out makes at least twice the window that the sender knows (`tcp_cleanup_rbuf`).
    pub(super) fn opens(&self, now: Time) -> bool {
        if self.unread(now) == 0 {
            return false;
        }
        let known = self.edge.saturating_sub(self.rcv_nxt);
        2 * known <= self.clamp && self.selected(now + Dur(1)) >= 2 * known.max(1)
    }

    /// Less than half of the buffer is free: no time for quick ACKs.
    pub(super) fn is_tight(&self, now: Time) -> bool {
        self.free(now) < self.clamp.min(self.payload(self.buffer)) / 2
    }

    /// The window of an ACK that leaves now (Linux `tcp_select_window`): it never shrinks, RFC 9293
    /// 3.8.6.
    pub(super) fn advertise(&mut self, now: Time) -> u32 {
        self.read(now);
        let kept = self.edge.saturating_sub(self.rcv_nxt).next_multiple_of(self.unit);
        self.advertised = self.selected(now).max(kept);
        self.edge = self.edge.max(self.rcv_nxt + self.advertised);
        self.sent = self.advertised;
        self.shown()
    }

    /// The advertised window as a header holds it.
    pub(super) fn shown(&self) -> u32 {
        self.advertised.try_into().unwrap_or(u32::MAX)
    }
}

/// The last millisecond that had begun.
fn whole_ms(time: Time) -> Time {
    Time(time.0 - time.0 % 1_000_000)
}

#[cfg(test)]
mod tests;
