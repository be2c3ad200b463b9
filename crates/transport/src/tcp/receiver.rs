//! The receiving half: reassembly, acknowledgement policy (delayed, quick and compressed ACKs),
//! SACK, window growth and ECN counting, as Linux 5.4 does them. The application reads at once.

mod handshake;
mod reply;
mod window;

use sojourn_cc::{Feedback, Needs};
use sojourn_core::jiffies::Jiffies;
use sojourn_core::{Dur, Ecn, Kind, Probe, Time};

use self::handshake::Request;
use self::window::DynamicWindow;
use super::Config;
use super::ecn::{EcnReceiver, Role, codepoint};
use super::gro::Gro;
use super::reassembly::Reassembly;
use super::segment::{Flags, Segment};
use crate::endpoint::{Body, Endpoint, FlowProbe, READING, Transmit};

/// `TCP_ATO_MIN`: shortest delayed-ACK timeout.
const ATO_MIN: Dur = Dur::from_millis(40);
/// `TCP_MAX_QUICKACKS`.
const MAX_QUICKACKS: u32 = 16;
/// SACKs sent at once before compression starts (`TCP_FASTRETRANS_THRESH`).
pub(super) const UNCOMPRESSED_SACKS: u32 = 3;
const COMPRESSION_MAX: Dur = Dur::from_millis(1);

/// The receiving end of a connection.
#[derive(Debug)]
pub struct Receiver {
    config: Config,
    mss: u32,
    open: bool,
    /// The path spoils ECN: ACKs are Not-ECT.
    not_ect: bool,
    /// Sequence number after the peer's FIN, once it was seen.
    fin: Option<u64>,
    ecn: EcnReceiver,
    /// Of this end's controller, which chooses the codepoint of ACKs.
    needs: Needs,
    rcv_nxt: u64,
    /// What the last ACK acknowledged.
    acked: u64,
    /// What the host holds back to merge it.
    gro: Gro,
    out_of_order: Reassembly,
    duplicate: Option<(u64, u64)>,
    window: DynamicWindow,
    echo: Time,
    quick: u32,
    jiffies: Jiffies,
    /// In jiffies, as the times that follow.
    ato: u64,
    /// `TCP_ATO_MIN`, and the most that `tcp_send_delayed_ack` waits.
    ato_min: u64,
    ato_max: u64,
    last_arrival: u64,
    /// Data that were sent soon after data had arrived (`pingpong`): ACKs wait for the next such (Linux
    /// `inet_csk_in_pingpong_mode`).
    replies: u8,
    /// When the last data were sent.
    last_reply: u64,
    /// `icsk_rto`; of a host that sends no data it has one sample, the handshake.
    rto: u64,
    handshake_rtt: Dur,
    /// The SYN that was answered, until the peer has the answer.
    request: Option<Request>,
    delayed_at: Time,
    /// When the timer of delayed ACKs fires, which an ACK that leaves before does not stop.
    delack_timer: Time,
    /// The application reads, and TCP acknowledges what it has read.
    read_at: Time,
    compressed_at: Time,
    compressed: u32,
    compressed_for: u64,
    ack_now: bool,
    pending: Option<Segment>,
    ce: u64,
    /// Segments with ECT(1): SCE where the sender uses ECT(0).
    sce: u64,
    segments: u64,
    acks: u64,
    duplicates: u64,
    /// Segments discarded because of their timestamps.
    discarded: u64,
    /// Segments discarded because there was no room for them.
    refused: u64,
}

impl Receiver {
    /// A listening end whose controller has these `needs`: it chooses the codepoint of ACKs.
    pub fn new(config: Config, needs: Needs) -> Self {
        let mss = config.mss();
        let jiffies = Jiffies::new(config.hz);
        let ato_min = jiffies.of(ATO_MIN);
        Self {
            mss,
            open: false,
            not_ect: false,
            fin: None,
            ecn: EcnReceiver::default(),
            needs,
            rcv_nxt: 0,
            acked: 0,
            gro: Gro::new(config.gro_flush_timeout, config.timestamps),
            out_of_order: Reassembly::new(),
            duplicate: None,
            window: DynamicWindow::new(&config, mss),
            echo: Time::NEVER,
            quick: 0,
            jiffies,
            ato: 0,
            ato_min,
            ato_max: ato_min,
            last_arrival: 0,
            replies: 0,
            last_reply: 0,
            rto: jiffies.second(),
            handshake_rtt: Dur::ZERO,
            request: None,
            delayed_at: Time::NEVER,
            delack_timer: Time::NEVER,
            read_at: Time::NEVER,
            compressed_at: Time::NEVER,
            compressed: 0,
            compressed_for: 0,
            ack_now: false,
            pending: None,
            ce: 0,
            sce: 0,
            segments: 0,
            acks: 0,
            duplicates: 0,
            discarded: 0,
            refused: 0,
            config,
        }
    }

    /// Payload bytes delivered in order.
    pub fn delivered(&self) -> u64 {
        self.rcv_nxt.saturating_sub(1 + u64::from(self.is_closed()))
    }

    fn on_data(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        let segments = segment.segments();
        // `tcpi_data_segs_in`: a FIN alone is none.
        self.segments += u64::from(segments) * u64::from(segment.len > 0);
        self.ce += u64::from(ecn == Ecn::Ce) * u64::from(segments);
        self.sce += u64::from(ecn == Ecn::Ect1) * u64::from(segments);
        let range = (segment.seq, segment.end());
        // RFC 9293 3.10.7.4: what is beyond the window, or has no place in the buffer, is discarded and answered.
        let is_beyond = segment.seq + u64::from(segment.len) > self.window.edge;
        let is_in_order = segment.seq <= self.rcv_nxt;
        let is_full = !is_in_order && self.out_of_order.is_full(self.config.rmem_max);
        if is_beyond || is_full {
            self.refused += u64::from(segments);
            self.ack_now = true;
            return;
        }
        if self.config.checks_timestamps() && segment.is_before(self.echo) {
            // RFC 7323 5.3: sent before a retransmission that has overtaken it. It is discarded and answered
            // (Linux tcp_send_dupack; only the answers to pure ACKs have a limited rate).
            self.discarded += u64::from(segments);
            if range.0 < self.rcv_nxt {
                self.report_duplicate((range.0, range.1.min(self.rcv_nxt)));
            }
            self.ack_now = true;
            return;
        }
        let newer = self.echo == Time::NEVER || segment.tsval >= self.echo;
        if range.0 <= self.acked && self.acked <= range.1 && newer {
            // RFC 7323 4.3 (tcp_replace_ts_recent). What ends below the last ACK is outside the window, and
            // discarded before (tcp_sequence).
            self.echo = segment.tsval;
        }
        if range.1 < self.acked {
            // Before the window (tcp_sequence): answered, and not looked at.
            self.report_duplicate(range);
            return;
        }
        let asked = self.ecn.on_arrival(ecn, segment.ace, segment.len, segments);
        self.duplicate = None; // only the latest segment is reported, and only by the ACK that it brings
        if range.1 <= self.rcv_nxt {
            // RFC 2883: report the duplicate, and notify the sender quickly.
            self.report_duplicate(range);
            return;
        }
        if self.ecn.divides(ecn) {
            self.close_run(now);
        }
        let asks = self.ecn.on_data(ecn, segment.len);
        if asks.quick {
            self.enter_quickack(2);
        }
        self.ack_now |= asked || asks.now;
        if segment.flags.fin {
            self.fin = Some(segment.end());
        }
        self.window.measure_rtt(now, segment);
        if segment.seq > self.rcv_nxt {
            if self.out_of_order.holds(range) {
                // The report of a copy that waits behind a hole may be held back, and the next segment takes its
                // place (tcp_data_queue_ofo).
                self.duplicates += 1;
                self.duplicate = Some(range);
                self.window.make_room(now);
            } else {
                let is_in = self.out_of_order.hold(range, self.window.pieces(range, segments));
                let size = (segment.len, segments);
                if self.window.on_hole(now, size, is_in, &self.out_of_order) {
                    self.quick |= 1;
                }
            }
            // A block that leaves these positions has been reported before (tcp_sack_new_ofo_skb). That ACK is
            // the answer to this segment too (tcp_ack_snd_check), and reports it only if it extends a block.
            let certain = self.config.certain_sacks();
            let displaces = self.out_of_order.displaces(range, certain);
            if self.compressed_at != Time::NEVER && displaces {
                self.out_of_order.extend(range);
                self.pending = Some(self.ack(now));
                self.out_of_order.touch(range);
            } else {
                self.out_of_order.touch(range);
                self.schedule_sack(now);
            }
            return;
        }
        self.rcv_nxt = segment.end();
        self.ack_now |= segment.flags.fin;
        if segment.len > 0 {
            self.track_arrivals(now);
        }
        if self.window.on_data(now, self.rcv_nxt, segment.len, segments) {
            self.quick |= 1; // a growing window is shown at once (tcp_grow_window)
        }
        let had_holes = !self.out_of_order.is_empty();
        if had_holes {
            let Self { window, out_of_order, .. } = self;
            let queue = |bytes, pieces| window.queue(now, bytes, pieces);
            self.rcv_nxt = out_of_order.absorb(self.rcv_nxt, queue);
            window.absorb(self.rcv_nxt, out_of_order);
        }
        if segment.len > 0 {
            self.window.arrived(now);
        }
        if had_holes && self.out_of_order.is_empty() {
            self.ack_now = true; // RFC 5681 §4.2: a filled gap is acknowledged at once
        }
        let config = &self.config;
        // RFC 5681 4.2, RFC 9293 3.8.6.3: every second full segment is acknowledged.
        let second = self.rcv_nxt - self.acked > u64::from(self.mss);
        // From 6.6 on: the reader has emptied the queue, and the sender waits for nothing else.
        let pushed = config.ack_pushed && segment.flags.psh && !self.is_interactive();
        // Where the window does not shrink by what waits for the reader, the segment itself is acknowledged
        // (__tcp_ack_snd_check).
        let at_once =
            if config.reader_acks { second && self.window.holds(now) } else { second || pushed };
        if self.ack_now || self.acks_quickly() || at_once {
            self.ack_now = true;
            return;
        }
        if self.out_of_order.is_empty() {
            self.delay(now);
        } else {
            self.schedule_sack(now);
        }
        // Linux tcp_cleanup_rbuf: where the window does not move the reader acknowledges, once all that arrived
        // in this instant is in the queue. It takes no time there; here the next nanosecond is after all of it.
        if (second || pushed || self.reading_opens(now)) && self.read_at == Time::NEVER {
            self.read_at = now + READING;
        }
    }

    /// Linux `tcp_send_delayed_ack`: an ACK that is nearly due leaves now.
    fn delay(&mut self, now: Time) {
        let ato = self.ato.min(self.ato_max);
        if self.delayed_at != Time::NEVER && self.delayed_at <= self.jiffies.expiry(now, ato / 4) {
            self.ack_now = true;
            return;
        }
        self.delayed_at = self.delayed_at.min(self.jiffies.expiry(now, ato));
        if self.config.flushes_sacks() {
            self.delack_timer = self.delayed_at;
        }
    }

    /// The window at least doubles once the reader has read, who then shows it.
    fn reading_opens(&self, now: Time) -> bool {
        self.config.reader_acks && self.window.opens(now)
    }

    fn report_duplicate(&mut self, range: (u64, u64)) {
        self.duplicates += 1;
        self.duplicate = Some(range);
        self.enter_quickack(MAX_QUICKACKS);
        self.ack_now = true;
    }

    /// The ECN state changes with this segment: what waits to be acknowledged is reported first.
    fn close_run(&mut self, now: Time) {
        if self.delayed_at != Time::NEVER {
            self.pending = Some(self.ack(now));
        }
        if self.ecn.mode() == Feedback::Sce {
            self.enter_quickack(0);
        }
    }

    /// Linux `tcp_event_data_recv`: the adaptive delayed-ACK timeout, and quick ACKs at the start and after
    /// a pause, where the sender's window is small and waits for them.
    fn track_arrivals(&mut self, now: Time) {
        let (now, least) = (self.jiffies.at(now), self.ato_min);
        let gap = now - self.last_arrival;
        if self.ato == 0 {
            self.quick = self.quick.max(self.quickack_credit(MAX_QUICKACKS));
            self.ato = least;
        } else if gap <= least / 2 {
            self.ato = self.ato / 2 + least / 2;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(self.rto);
        } else if gap > self.rto {
            // Since data in order: a hole that was long open is a pause, too.
            self.quick = self.quick.max(self.quickack_credit(MAX_QUICKACKS));
        }
        self.last_arrival = now;
    }

    /// Linux `tcp_incr_quickack`.
    fn quickack_credit(&self, most: u32) -> u32 {
        let half_window = (self.window.advertised / (2 * u64::from(self.mss))) as u32;
        half_window.max(2).min(most)
    }

    /// Linux `tcp_enter_quickack_mode`.
    fn enter_quickack(&mut self, most: u32) {
        self.quick = self.quick.max(self.quickack_credit(most));
        self.replies = 0;
        self.ato = self.ato_min;
    }

    /// Linux `tcp_in_quickack_mode`.
    fn acks_quickly(&self) -> bool {
        self.quick > 0 && !self.is_interactive()
    }

    /// While data is missing, every arrival is acknowledged; after a few, SACKs are held back for
    /// 5 % of the RTT (33 % in newer kernels), at most 1 ms: SACK compression, Linux
    /// `__tcp_ack_snd_check` with `tcp_comp_sack_*`.
    fn schedule_sack(&mut self, now: Time) {
        // What leaves at once for another reason is not counted.
        let is_quick = self.ack_now || self.acks_quickly();
        if is_quick || self.compressed >= self.config.most_compressed() {
            self.ack_now = true;
            return;
        }
        if self.compressed_for != self.rcv_nxt {
            self.compressed_for = self.rcv_nxt;
            self.compressed = 0;
        }
        self.compressed += 1;
        if self.compressed <= UNCOMPRESSED_SACKS {
            self.ack_now = true;
        } else if self.compressed_at == Time::NEVER {
            let config = &self.config;
            // The path's round trip, if the flow's own is longer.
            let rtt = match self.handshake_rtt {
                Dur::ZERO => self.window.rtt,
                rtt => self.window.rtt.min(rtt),
            };
            let share = rtt * u64::from(config.comp_sack_rtt_percent) / 100;
            self.compressed_at = now + COMPRESSION_MAX.min(share) + config.comp_sack_slack;
            if self.delack_timer <= now {
                self.delack_timer = Time::NEVER;
            }
        }
    }

    /// An ACK without data.
    fn ack(&mut self, now: Time) -> Segment {
        // A host that reads to the end and closes acknowledges a FIN with its own (`tcp_fin` enters pingpong mode), and what
        // came before it, if that waits: no more than a segment does (`tcp_cleanup_rbuf`).
        let waiting = self.rcv_nxt - self.acked;
        let is_of_fin =
            self.fin == Some(self.rcv_nxt) && (1..=u64::from(self.mss)).contains(&waiting);
        self.acks += u64::from(!is_of_fin);
        self.acknowledge(now)
    }

    /// What the header of a segment that leaves now says of what has arrived (Linux `tcp_event_ack_sent`).
    fn acknowledge(&mut self, now: Time) -> Segment {
        let mut sack = self.out_of_order.report(self.duplicate.take());
        let accecn = self.ecn.option(self.config.timestamps, &mut sack);
        let ace = self.ecn.ace(self.rcv_nxt - self.acked);
        if self.window.is_tight(now) {
            self.quick = 0; // __tcp_select_window
        }
        if self.quick == 1 {
            self.ato = self.ato_min; // tcp_dec_quickack_mode
        }
        self.quick = self.quick.saturating_sub(1);
        self.acked = self.rcv_nxt;
        self.ack_now = false;
        self.delayed_at = Time::NEVER;
        self.read_at = Time::NEVER;
        self.compressed_at = Time::NEVER;
        // Linux tcp_event_ack_sent: what was held back has been reported.
        self.compressed = self.compressed.min(UNCOMPRESSED_SACKS);
        let window = self.window.advertise(now);
        if self.reading_opens(now) {
            self.read_at = now + READING;
        }
        Segment {
            seq: 1,
            ack: self.rcv_nxt,
            window,
            flags: Flags { ack: true, ..Flags::default() },
            ace,
            sack,
            tsval: now,
            tsecr: self.echo,
            accecn,
            ..Segment::default()
        }
    }

    fn transmit(&self, segment: Segment) -> Transmit {
        let role = if segment.flags.syn { Role::SynAck } else { Role::PureAck };
        let ecn = if segment.flags.control || self.not_ect {
            Ecn::NotEct
        } else {
            codepoint(role, self.ecn.mode(), self.needs, self.config.ecn_plus_plus)
        };
        Transmit {
            body: Body::Tcp(segment),
            len: segment.frame_len(self.config.timestamps),
            tos: ecn.on_tos(self.config.tos),
            kind: if segment.flags.syn || segment.flags.control {
                Kind::TcpControl
            } else {
                Kind::TcpAck
            },
        }
    }
}

impl Endpoint for Receiver {
    fn on_packet(&mut self, now: Time, body: &Body, ecn: Ecn) {
        let Body::Tcp(segment) = body else { return };
        if !segment.flags.syn && !segment.flags.control {
            self.conclude(now);
        }
        if segment.flags.control {
            self.pending = Some(*segment);
        } else if segment.flags.syn {
            self.on_syn(now, segment, ecn);
        } else if self.open && segment.end() > segment.seq {
            if self.config.gro {
                self.gro.receive(now, segment, ecn);
            } else {
                self.on_data(now, segment, ecn);
            }
        } else if self.open && self.rcv_nxt == 1 && self.ecn.mode() == Feedback::AccEcn {
            // RFC 9768 3.2.2.1: the third ACK never says 0.
            self.not_ect = segment.ace == 0;
        }
    }

    fn poll(&mut self, now: Time) -> Option<Transmit> {
        if let Some(segment) = self.pending.take() {
            return Some(self.transmit(segment));
        }
        while !self.ack_now {
            let (segment, ecn) = self.gro.flush(now)?;
            self.on_data(now, &segment, ecn);
            if let Some(segment) = self.pending.take() {
                return Some(self.transmit(segment));
            }
        }
        let segment = self.ack(now);
        Some(self.transmit(segment))
    }

    fn deadline(&self) -> Time {
        // tcp_delack_timer_handler: SACKs that are held back leave with it.
        let held = match self.compressed_at {
            Time::NEVER => Time::NEVER,
            at => at.min(self.delack_timer),
        };
        let request = self.request.map_or(Time::NEVER, |request| request.timer());
        self.delayed_at.min(self.read_at).min(held).min(self.gro.due()).min(request)
    }

    fn on_timer(&mut self, now: Time) {
        self.on_request_timer(now);
        let flushes = self.compressed_at != Time::NEVER && self.delack_timer <= now;
        if flushes {
            self.ack_now = true;
        } else if self.delayed_at <= now {
            self.on_late_ack();
            self.ack_now = true;
        }
        if self.compressed_at.min(self.read_at) <= now {
            self.ack_now = true;
        }
    }

    fn sample(&self, _now: Time, probe: &mut Probe<'_>) {
        probe.put("goodput_bytes", "bytes", self.delivered() as f64);
        probe.put("rcv_wnd", "bytes", self.window.advertised as f64);
        probe.put("ce_received", "packets", self.ce as f64);
    }

    fn totals(&self) -> FlowProbe {
        let mut totals = vec![
            ("delivered_bytes", self.delivered() as f64),
            ("segments_received", self.segments as f64),
            ("ce_received", self.ce as f64),
            ("duplicates_received", self.duplicates as f64),
            ("discarded_by_timestamp", self.discarded as f64),
            ("acks_sent", self.acks as f64),
        ];
        if self.ecn.mode() == Feedback::Sce {
            totals.push(("sce_received", self.sce as f64));
        }
        if self.refused > 0 {
            totals.push(("refused", self.refused as f64));
        }
        FlowProbe(totals)
    }
}

#[cfg(test)]
mod tests;
