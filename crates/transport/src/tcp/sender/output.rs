//! What leaves, and when: pacing, TSO bursts, retransmissions, probes, window validation
//! (Linux 5.4 `tcp_write_xmit` and companions).

use sojourn_cc::{Feedback, Sent, State};
use sojourn_core::{Dur, Ecn, Kind, Time};

use super::memory::Memory;
use super::write_queue::Push;
use super::{Sender, Timer};
use crate::endpoint::{Body, Transmit};
use crate::tcp::ecn::{Role, codepoint};
use crate::tcp::era::CwndLimited;
use crate::tcp::sack::Outstanding;
use crate::tcp::segment::{CWR, FRESH_COUNTERS, Flags, SackBlocks, Segment};

/// Largest GSO packet: 64 KiB less headers (`gso_max_size - 1 - MAX_TCP_HEADER`).
pub(super) const GSO_MAX_BYTES: u64 = 65_536 - 1 - 320;
/// `sk_gso_max_size`.
const GSO_SIZE: u64 = 65_536;
/// `tcp_min_tso_segs`.
pub(super) const MIN_TSO_SEGMENTS: u32 = 2;
/// `tcp_tso_win_divisor`.
const TSO_WINDOW_DIVISOR: u64 = 3;
/// Segments that one packet may stand for (`Packet::segs`).
const MAX_SUPER_PACKET: u32 = u8::MAX as u32;
/// Layer-2 bytes of a segment without its payload.
const HEADERS: u64 = 66;
/// TSO may defer until 1 ms after the time from which pacing let the next burst leave.
const TSO_RECENT: Dur = Dur::from_millis(1);
/// An ACK is near, and TSO may defer, for 1 ms.
const TSO_SOON: Dur = Dur::from_millis(1);

/// A (super-)packet that leaves: a run of sequence numbers, and what its header says of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    seq: u64,
    /// Sequence numbers, the FIN's among them.
    len: u32,
    /// Payload of each segment of a super-packet, else 0.
    gso_size: u32,
    fin: bool,
    psh: bool,
    cwr: bool,
}

impl Outgoing {
    /// Payload bytes.
    fn payload(&self) -> u32 {
        self.len - u32::from(self.fin)
    }
}

impl Sender {
    #[inline]
    pub(super) fn next_packet(&mut self, now: Time) -> Option<Outgoing> {
        if self.pacing.burst_left > 0 {
            self.pacing.burst_left -= 1;
            return Some(self.send_new(now, true));
        }
        if self.pacing.again_left > 0 {
            self.pacing.again_left -= 1;
            self.pacing.again += 1;
            return Some(self.send_again(now, self.pacing.again));
        }
        match self.app.queue.push {
            Push::All | Push::Short => self.begin_burst(now),
            Push::One => {
                let packet = self.begin_burst(now);
                self.app.queue.push = Push::Nothing;
                packet
            }
            Push::Nothing => None,
        }
    }

    /// Linux `tcp_write_xmit` and `tcp_xmit_retransmit_queue`: retransmissions first, one at a
    /// time.
    fn begin_burst(&mut self, now: Time) -> Option<Outgoing> {
        self.pacing.blocked = false;
        if self.recovery.undo.new_data_first && self.snd_nxt >= self.send_end() {
            self.recovery.undo.give_up_frto();
        }
        let wants_retransmit = self.board.waiting > 0
            && self.state >= State::Recovery
            && !self.recovery.undo.new_data_first;
        if !wants_retransmit && !self.recovery.probe_due && self.snd_nxt >= self.send_end() {
            if !self.config.tso_buffers || self.app.write_end <= self.written() {
                self.rate.app_limited(self.board.in_flight());
            }
            return None;
        }
        if std::mem::take(&mut self.recovery.probe_due)
            && let Some(probe) = self.send_probe(now)
        {
            return Some(probe);
        }
        if self.paced() && !self.pacing.pacer.ready(now) {
            self.pacing.blocked = true;
            return None;
        }
        if wants_retransmit && self.board.in_flight() < self.win.cwnd {
            if self.host_queue_is_full(1, 1) {
                return None;
            }
            let id = self.board.next_retransmit()?;
            self.recovery.undo.retransmitted(now);
            let most = self.win.cwnd - self.board.in_flight();
            let most = if self.config.tso_buffers { most.min(self.tso_segments()) } else { 1 };
            let (segments, bytes) = self.board.with_joined(id, most);
            self.board.part(id + u64::from(segments));
            (self.pacing.again, self.pacing.again_left) = (id, segments - 1);
            self.pacing.pushes_burst = segments > 1 && self.config.push_bursts;
            self.pace(now, bytes);
            return Some(self.send_again(now, id));
        }
        let Some(burst) = self.burst_size(now) else {
            if self.recovery.undo.new_data_first && self.snd_nxt <= self.recovery.high_seq {
                return self.begin_without_frto(now);
            }
            return None;
        };
        if self.host_queue_is_full(burst, 0) {
            return None;
        }
        let end = self.burst_end(burst);
        self.pace(now, end - self.snd_nxt);
        self.pacing.burst_left = burst - 1;
        self.pacing.pushes = self.leaves_queue(end);
        self.pacing.pushes_burst = burst > 1 && self.config.push_bursts;
        Some(self.send_new(now, false))
    }

    /// A packet with `bytes` of payload leaves.
    fn pace(&mut self, now: Time, bytes: u64) {
        if self.config.tsq_netem {
            let sizes = self.sizes();
            let size = if self.config.gso { sizes.packet(bytes) } else { sizes.segmented(bytes) };
            self.pacing.small_queue.add(size);
        }
        let rate = self.paced().then_some(self.pacing.rate);
        self.pacing.pacer.departed(now, bytes, rate, self.sent.segments);
    }

    /// Where this many segments end, the last of which may be short.
    fn burst_end(&self, segments: u32) -> u64 {
        let end = self.snd_nxt + u64::from(segments) * u64::from(self.mss);
        end.min(self.written()).min(self.window_end()).max(self.snd_nxt)
    }

    /// Sequence number after the last one that the peer's window takes (`tcp_wnd_end`).
    fn window_end(&self) -> u64 {
        self.snd_una + self.snd_wnd
    }

    /// What is before `end` leaves the write queue as one packet. Returns whether the application has pushed it.
    fn leaves_queue(&mut self, end: u64) -> bool {
        if !self.config.tso_buffers {
            return false;
        }
        let pushes = self.app.queue.pushes(end);
        let (packet, rate) = ((self.snd_nxt, end), (self.pacing.rate.0 / 8) >> 10);
        self.app.queue.on_sent(packet, self.board.in_flight(), self.snd_una, rate);
        pushes
    }

    #[cold]
    #[inline(never)]
    fn begin_without_frto(&mut self, now: Time) -> Option<Outgoing> {
        self.recovery.undo.give_up_frto();
        self.begin_burst(now)
    }

    /// Segments of the next TSO packet, `None` if nothing may leave now.
    pub(super) fn burst_size(&mut self, now: Time) -> Option<u32> {
        let in_flight = self.board.in_flight();
        if self.snd_nxt >= self.send_end() || in_flight >= self.win.cwnd {
            return None;
        }
        let mss = u64::from(self.mss);
        let window_room = self.window_end().saturating_sub(self.snd_nxt);
        let write_room = self.send_end() - self.snd_nxt;
        let buffer_room = if self.config.tso_buffers {
            u64::MAX
        } else {
            (self.snd_una + self.config.wmem_max.0).saturating_sub(self.snd_nxt)
        };
        if window_room < mss.min(write_room) || buffer_room < mss.min(write_room) {
            return None;
        }
        let max_segments = self.tso_segments();
        let congestion_room = u64::from(self.win.cwnd - in_flight) * mss;
        // Linux `tcp_cwnd_test`: a burst is at most half of cwnd, so that ACKs keep coming.
        let quota = (self.win.cwnd / 2).max(1).min(self.win.cwnd - in_flight);
        let (mut buffer, mut held) = (write_room, 0);
        if self.config.tso_buffers {
            held = self.held_short(write_room);
            if held == write_room {
                return None;
            }
            let left = self.app.queue.left(self.snd_nxt);
            buffer = buffer.min(left.max(u64::from(quota.min(max_segments)) * mss));
        }
        let is_last = buffer == write_room;
        if max_segments > 1
            && write_room > mss
            && self.app.queue.push != Push::One
            && (is_last || window_room.min(congestion_room) < buffer)
            && self.defers(now, window_room, congestion_room, max_segments)
        {
            self.usage.deferred |= congestion_room < window_room && congestion_room <= buffer;
            return None;
        }
        let data = (self.written() - self.snd_nxt - held).max(1); // a FIN rides on the last segment
        let room = data.min(buffer_room);
        let segments = u64::from(quota.min(max_segments)).min(room.div_ceil(mss));
        if window_room >= room.min(segments * mss) {
            return Some((segments as u32).max(1));
        }
        // The window ends within a segment (`tcp_mss_split_point`).
        let short = !window_room.is_multiple_of(mss) && self.may_send_short();
        Some((window_room / mss) as u32 + u32::from(short))
    }

    /// Segments of a packet (Linux `tcp_tso_segs`).
    fn tso_segments(&self) -> u32 {
        let mss = u64::from(self.mss);
        let autosized = || {
            // Linux `tcp_tso_autosize`: a millisecond (2⁻¹⁰ s) of the pacing rate.
            let bytes = (self.pacing.rate.bytes_per_sec() >> 10) + self.short_path_bytes();
            let bytes = bytes.min(GSO_MAX_BYTES);
            ((bytes / mss) as u32).max(self.pacing.least_burst)
        };
        self.pacing.burst.unwrap_or_else(autosized).min((GSO_MAX_BYTES / mss) as u32)
    }

    /// Minshall's form of Nagle's algorithm: no second short segment is outstanding, unless the application pushes
    /// it (`tcp_nagle_check`).
    fn may_send_short(&self) -> bool {
        let is_pushed = self.app.queue.push != Push::All;
        self.sent.short_end <= self.snd_una || is_pushed
    }

    /// Bytes of a short segment at the end of the last `write_room`, which waits for an ACK or for more data. One with a
    /// FIN does not (`tcp_nagle_test`).
    fn held_short(&self, write_room: u64) -> u64 {
        let has_fin = self.send_end() > self.written();
        if has_fin || self.may_send_short() { 0 } else { write_room % u64::from(self.mss) }
    }

    /// Linux `tcp_small_queue_check`: a millisecond (2⁻¹⁰ s) at the pacing rate, at least two bursts, may
    /// wait in the host; of an unpaced connection at most `tcp_limit_output_bytes`; of
    /// retransmissions twice as much (`shift` 1).
    fn host_queue_is_full(&mut self, burst: u32, shift: u32) -> bool {
        if !self.config.tsq && !self.config.tsq_netem {
            return false;
        }
        let most = if self.paced() { u64::MAX } else { self.config.limit_output_bytes.0 };
        let millisecond = self.pacing.rate.bytes_per_sec() >> 10;
        let limit = |bytes: u64| (2 * bytes).max(millisecond).min(most) << shift;
        let payload = u64::from(burst) * u64::from(self.mss);
        let headers = u64::from(burst) * HEADERS;
        if self.config.tsq && self.pacing.queued > limit(payload + headers) {
            return true;
        }
        if !self.config.tsq_netem || self.board.packets_out() == 0 {
            return false;
        }
        let sizes = self.sizes();
        let buffer = sizes.send_buffer(2, self.win.cwnd).min(self.config.wmem_max.0);
        let limit = limit(sizes.packet(payload));
        self.pacing.small_queue.is_full(limit, self.snd_una, buffer, sizes)
    }

    /// What its packets take in a host with `tsq_netem`.
    fn sizes(&self) -> Memory {
        Memory::of_5(self.config.max_tcp_header, self.mss)
    }

    /// Takes the rest of the burst into the packet that its first segment began.
    pub(super) fn complete_super_packet(&mut self, now: Time, packet: &mut Outgoing) {
        let size = packet.payload();
        let mut segments = 1;
        while self.pacing.burst_left > 0
            && segments < MAX_SUPER_PACKET
            && packet.payload() == segments * size
        {
            self.pacing.burst_left -= 1;
            let next = self.send_new(now, true);
            debug_assert!(next.seq == packet.seq + u64::from(packet.len));
            debug_assert!(next.payload() <= size && !next.cwr);
            packet.gso_size = size;
            packet.len += next.len;
            packet.fin |= next.fin;
            packet.psh |= next.psh || self.config.push_bursts;
            segments += 1;
        }
    }

    /// What a short path adds to a burst, since aggregates cost no delay there that counts (Linux
    /// `tcp_tso_autosize` from 5.18, `tcp_tso_rtt_log`).
    fn short_path_bytes(&self) -> u64 {
        match self.config.tso_rtt_log {
            0 => 0,
            log => (self.rtt.min_rtt().as_micros() >> log)
                .try_into()
                .ok()
                .and_then(|halvings| GSO_SIZE.checked_shr(halvings))
                .unwrap_or(0),
        }
    }

    /// Linux `tcp_tso_should_defer`: wait for a fuller burst if the last write was recent and the next
    /// ACK is not far off: less than half an RTT, from 6.18 at most 1 ms.
    pub(super) fn defers(
        &self,
        now: Time,
        window: u64,
        congestion: u64,
        max_segments: u32,
    ) -> bool {
        if self.state >= State::Recovery || now.since(self.pacing.pacer.next()) > TSO_RECENT {
            return false;
        }
        let mss = u64::from(self.mss);
        let limit = window.min(congestion);
        let chunk = self.snd_wnd.min(u64::from(self.win.cwnd) * mss) / TSO_WINDOW_DIVISOR;
        if limit >= u64::from(max_segments) * mss || limit >= chunk {
            return false;
        }
        let half = self.rtt.srtt() / 2;
        let is_soon = self.config.tso_defer_soon;
        let age = if is_soon { self.rtt.srtt() - half.min(TSO_SOON) } else { half };
        self.board.head().is_some_and(|head| now.since(head.sent) >= age)
    }

    pub(super) fn send_new(&mut self, now: Time, joined: bool) -> Outgoing {
        let idle = self.board.packets_out() == 0;
        if idle && self.sent.segments > 0 {
            self.restart(now, now.since(self.sent.last));
        }
        let left = self.written() - self.snd_nxt;
        // The FIN rides on the last segment. What leaves as it is written is gone when the application closes
        // (tcp_send_fin).
        let most = u64::from(self.mss).min(self.window_end().saturating_sub(self.snd_nxt));
        let rides = left <= most && (now > self.app.done_at || left == 0);
        let fin = rides && self.send_end() > self.written();
        let payload = most.min(left) as u32;
        let len = payload + u32::from(fin);
        let tx = self.rate.sent(now, idle, self.board.in_flight());
        let seq = self.snd_nxt;
        let cwr = std::mem::take(&mut self.ecn.cwr_pending);
        let mut packet = self.outgoing(seq, len, cwr);
        let is_last = self.pacing.burst_left == 0;
        packet.psh |= is_last && self.pacing.pushes;
        let mut segment = Outstanding::new(seq, len, now, tx);
        (segment.joined, segment.psh) = (joined, packet.psh);
        packet.psh |= is_last && self.pacing.pushes_burst;
        self.board.push(segment);
        self.snd_nxt += u64::from(len);
        if payload < self.mss {
            self.sent.short_end = self.snd_nxt;
        }
        self.recovery.prr.sent(1);
        self.usage.sent_in_round = true;
        self.note_sent(now, len, false, idle);
        if self.timer != Timer::Reorder && !self.probe_after_data(now) && self.timer == Timer::None
        {
            self.rearm_rto(now);
        }
        packet
    }

    /// Linux `tcp_slow_start_after_idle_check`: half the window for each RTO of idleness.
    pub(super) fn restart(&mut self, now: Time, idle: Dur) {
        let rto = self.rtt.rto();
        if idle > rto && !self.needs.owns_cwnd {
            self.win.ssthresh = self.win.ssthresh.max(three_quarters(self.win.cwnd));
            self.win.cwnd = cwnd_after_idle(self.win.cwnd, self.config.initial_cwnd, idle, rto);
            self.usage.stamp = now;
            self.usage.cwnd_used = 0;
        }
        self.cc.on_restart(now, idle, &mut self.win);
    }

    pub(super) fn send_again(&mut self, now: Time, id: u64) -> Outgoing {
        let idle = self.board.in_flight() == 0;
        let tx = self.rate.sent(now, self.board.packets_out() == 0, self.board.in_flight());
        self.board.retransmit(id, now, tx);
        let (seq, len, psh) = {
            let s = self.board.get(id);
            (s.seq, s.len, s.psh)
        };
        self.recovery.prr.sent(1);
        self.sent.again += 1;
        self.note_sent(now, len, true, idle);
        // The rest of what is overdue is not forgotten (`tcp_xmit_retransmit_queue`).
        let is_head = seq == self.snd_una && self.timer != Timer::Reorder;
        if self.timer == Timer::None || is_head {
            self.rearm_rto(now);
        }
        let packet = self.outgoing(seq, len, false);
        let pushes_burst = self.pacing.again_left == 0 && self.pacing.pushes_burst;
        Outgoing { psh: packet.psh || psh || pushes_burst, ..packet }
    }

    /// A tail-loss probe: new data if the receiver has room, else the last segment again (RFC 8985 7.3;
    /// Linux `tcp_send_loss_probe`).
    fn send_probe(&mut self, now: Time) -> Option<Outgoing> {
        let is_new = self.has_new_data();
        // New data wait for the pacer, and then are no probe (`tcp_write_xmit`, which checks it); what is sent again
        // waits for nothing (`__tcp_retransmit_skb`).
        if is_new && self.paced() && !self.pacing.pacer.ready(now) {
            self.rearm_rto(now);
            return None;
        }
        self.sent.probes += 1;
        let packet = if is_new {
            self.pacing.pushes = self.leaves_queue(self.burst_end(1));
            self.pacing.pushes_burst = false;
            self.send_new(now, false)
        } else {
            let id = self.board.last_id().expect("a probe is armed only with data outstanding");
            self.board.part(id);
            self.pacing.pushes_burst = false;
            self.pace(now, u64::from(self.board.get(id).len));
            self.send_again(now, id)
        };
        if !is_new || self.config.probes_once() {
            self.recovery.tlp_high_seq = self.snd_nxt;
            self.recovery.tlp_retransmits = !is_new;
        }
        self.rearm_rto(now);
        Some(packet)
    }

    /// Data that were not sent, and for which the receiver has room.
    pub(super) fn has_new_data(&self) -> bool {
        let room = self.window_end().saturating_sub(self.snd_nxt);
        self.snd_nxt < self.send_end() && room >= u64::from(self.mss)
    }

    pub(super) fn note_sent(&mut self, now: Time, len: u32, retransmit: bool, from_idle: bool) {
        self.sent.segments += 1;
        self.sent.is_new = !retransmit;
        self.sent.last = now;
        let sent = Sent { bytes: len, segments: 1, retransmit, from_idle };
        self.cc.on_send(now, &sent, &mut self.win);
    }

    /// The segment that occupies `len` sequence numbers from `seq`, the FIN among them.
    fn outgoing(&self, seq: u64, len: u32, cwr: bool) -> Outgoing {
        let fin = self.app.closing && seq + u64::from(len) > self.app.write_end;
        let psh = seq + u64::from(len) >= self.app.write_end; // the end of a write
        Outgoing { seq, len, gso_size: 0, fin, psh, cwr }
    }

    #[inline]
    pub(super) fn segment(&self, now: Time, packet: Outgoing) -> Segment {
        let Outgoing { seq, gso_size, fin, psh, cwr, .. } = packet;
        Segment {
            seq,
            len: packet.payload(),
            gso_size,
            ack: 1,
            flags: Flags { ack: true, fin, psh, ..Flags::default() },
            ace: match self.ecn.feedback {
                Feedback::AccEcn => 5,
                _ if cwr => CWR,
                _ => 0,
            },
            window: 0,
            sack: SackBlocks::default(),
            // The peer sends no data: counters as they began.
            accecn: self.sends_accecn_option().then_some(FRESH_COUNTERS),
            tsval: now,
            tsecr: self.tsecr,
            connection: 0,
        }
    }

    pub(super) fn probe_of_window(&self, now: Time) -> Segment {
        self.pure_ack(now, self.snd_una - 1)
    }

    pub(super) fn pure_ack(&self, now: Time, seq: u64) -> Segment {
        let nothing = Outgoing { seq, len: 0, gso_size: 0, fin: false, psh: false, cwr: false };
        self.segment(now, nothing)
    }

    /// Linux `tcp_cwnd_validate`, once per transmission opportunity that sent something; 6.1 and
    /// later also where cwnd left no room to.
    pub(super) fn validate_cwnd(&mut self, now: Time) {
        let sent = std::mem::take(&mut self.usage.sent_in_round);
        let full = self.board.in_flight() >= self.win.cwnd;
        let waits = self.snd_nxt < self.send_end() && (full || self.usage.deferred);
        if !sent && (!waits || self.config.cwnd_limited != CwndLimited::Sticky) {
            return;
        }
        let limited = full || std::mem::take(&mut self.usage.deferred);
        let out = self.board.packets_out();
        let renews = match self.config.cwnd_limited {
            CwndLimited::Latest => out > self.usage.max_packets_out,
            CwndLimited::Sticky => {
                limited || (!self.usage.cwnd_limited && out > self.usage.max_packets_out)
            }
        };
        if self.snd_una >= self.usage.max_packets_seq || renews {
            self.usage.max_packets_out = out;
            self.usage.max_packets_seq = self.snd_nxt;
            self.usage.cwnd_limited = limited;
        }
        if self.is_cwnd_limited() {
            self.usage.cwnd_used = 0;
            self.usage.stamp = now;
            return;
        }
        self.usage.cwnd_used = self.usage.cwnd_used.max(out);
        if now.since(self.usage.stamp) >= self.rtt.rto() && !self.needs.owns_cwnd {
            // RFC 2861 as Linux does it: the window decays towards what was used.
            if self.state == State::Open && self.snd_nxt >= self.send_end() {
                let used = self.usage.cwnd_used.max(self.config.initial_cwnd);
                if used < self.win.cwnd {
                    self.win.ssthresh = self.win.ssthresh.max(three_quarters(self.win.cwnd));
                    self.win.cwnd = u32::midpoint(self.win.cwnd, used);
                }
            }
            self.usage.cwnd_used = 0;
            self.usage.stamp = now;
        }
    }

    #[cold]
    pub(super) fn send_control(&mut self) -> Option<Transmit> {
        let segment = self.handshake.segment.take()?;
        Some(self.transmit(segment))
    }

    #[inline(always)]
    pub(super) fn transmit(&self, segment: Segment) -> Transmit {
        let (role, mode) = if segment.flags.syn {
            (Role::Syn, self.mode_of_syn())
        } else if segment.len == 0 {
            (Role::PureAck, self.ecn.feedback)
        } else if self.sent.is_new {
            (Role::Data, self.ecn.feedback)
        } else {
            (Role::Retransmission, self.ecn.feedback)
        };
        let ecn = if self.ecn.not_ect {
            Ecn::NotEct
        } else {
            codepoint(role, mode, self.needs, self.config.ecn_plus_plus)
        };
        Transmit {
            len: segment.frame_len(self.config.timestamps),
            tos: ecn.on_tos(self.config.tos),
            kind: if segment.len > 0 { Kind::TcpData } else { Kind::TcpControl },
            body: Body::Tcp(segment),
        }
    }
}

/// What an unused window leaves in ssthresh (Linux `tcp_current_ssthresh`).
fn three_quarters(cwnd: u32) -> u32 {
    (cwnd >> 1) + (cwnd >> 2)
}

/// Linux `tcp_cwnd_restart`.
fn cwnd_after_idle(mut cwnd: u32, initial: u32, idle: Dur, rto: Dur) -> u32 {
    let floor = initial.min(cwnd);
    let mut left = idle.saturating_sub(rto);
    while left > Dur::ZERO && cwnd > floor {
        cwnd /= 2;
        left = left.saturating_sub(rto);
    }
    cwnd.max(floor)
}

#[cfg(test)]
mod tests;
