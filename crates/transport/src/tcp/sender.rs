//! The sending half: Linux 5.4's output engine and congestion state machine around a
//! [`Controller`]. The order of steps per acknowledgement is that of `tcp_ack`.

mod handshake;
mod input;
mod memory;
mod output;
mod recovery;
mod small_queue;
mod timers;
mod undo;
mod write_queue;

use sojourn_cc::{Controller, Feedback, Needs, Path, Signal, State, Window};
use sojourn_core::{Dur, Ecn, Probe, Rate, Time};

use self::small_queue::SmallQueue;
use self::undo::Undo;
use self::write_queue::{Push, WriteQueue};
use super::Config;
use super::ecn::AccEcnSender;
use super::era::CwndLimited;
use super::pacer::Pacer;
use super::prr::Prr;
use super::rack::Rack;
use super::rate::RateEstimator;
use super::rto::RttEstimator;
use super::sack::Scoreboard;
use super::segment::Segment;
use crate::endpoint::{Body, Endpoint, FlowProbe, Transmit, put_rtt};

/// The one timer of Linux's output side (`icsk_pending`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    None,
    Retransmit,
    /// Tail-loss probe.
    Probe,
    /// The receiver has no room (RFC 9293 3.8.6.1).
    Persist,
    /// RACK's reordering window.
    Reorder,
}

/// The sending end of a connection.
pub struct Sender {
    config: Config,
    cc: Box<dyn Controller>,
    /// What it needs; settled with the handshake.
    needs: Needs,
    ack_events: bool,
    win: Window,
    state: State,
    /// Payload bytes of a new segment: the path's, or fewer as the controller asks.
    mss: u32,
    snd_una: u64,
    snd_nxt: u64,
    snd_wnd: u64,
    /// Latest timestamp of the peer.
    tsecr: Time,
    board: Scoreboard,
    rtt: RttEstimator,
    rate: RateEstimator,
    timer: Timer,
    timer_at: Time,
    /// When the timer was last set after new data, to what further data at that instant would set it to.
    probe_set: Time,
    handshake: Handshake,
    app: Application,
    ecn: EcnState,
    recovery: Recovery,
    pacing: Pacing,
    usage: Usage,
    sent: Departed,
}

/// The way to an open connection.
#[derive(Default)]
struct Handshake {
    done: bool,
    /// SYNs that were not answered in time, and when the first and the last one left.
    syn_timeouts: u32,
    first_syn: Time,
    syn_sent: Time,
    /// Until when no SYN/ACK is challenged.
    rests: Time,
    /// Handshake segment or message of the control connection, to be sent.
    segment: Option<Segment>,
    /// Round trips of the control connection still to be made.
    control_left: u32,
}

/// What the application writes.
struct Application {
    /// Byte after the last that it will write.
    write_end: u64,
    /// A FIN follows the last byte.
    closing: bool,
    /// When it had written everything.
    done_at: Time,
    /// Without `tso_buffers` it only knows that everything was written, and `wmem_max` bytes count as the buffer.
    queue: WriteQueue,
}

/// What was negotiated, and what the peer has reported.
#[derive(Default)]
struct EcnState {
    feedback: Feedback,
    accecn: AccEcnSender,
    /// The path spoils ECN: data are Not-ECT.
    not_ect: bool,
    /// ACE fields mean nothing; absent until the first one of the open connection.
    ace_is_zeroed: Option<bool>,
    /// With `ace_prediction`: the field that an ACK is expected to have.
    predicted_ace: u8,
    /// RFC 3168: put CWR on the next new segment.
    cwr_pending: bool,
    /// Segments reported as marked.
    ce: u64,
    /// Segments acknowledged with ESCE.
    sce: u64,
}

/// Losses and reductions.
#[derive(Default)]
struct Recovery {
    rack: Rack,
    prr: Prr,
    undo: Undo,
    /// End of the running reduction's window.
    high_seq: u64,
    /// What was sent when the probe under way was; 0 without one.
    tlp_high_seq: u64,
    /// That probe is a retransmission.
    tlp_retransmits: bool,
    probe_due: bool,
    /// Timeouts since something new was acknowledged.
    timeout_streak: u32,
    timeouts: u64,
}

/// When and in what bursts new data leave.
#[derive(Default)]
struct Pacing {
    pacer: Pacer,
    rate: Rate,
    /// Segments of a burst, if the controller chooses.
    burst: Option<u32>,
    /// What autosizing gives at least.
    least_burst: u32,
    burst_left: u32,
    /// The segment that was sent again, and how many follow it in its packet.
    again: u64,
    again_left: u32,
    /// The last segment of the burst has PSH.
    pushes: bool,
    /// PSH is on its last segment because it is one of several. Another burst has that anew (`__tcp_transmit_skb`, which
    /// sets it on a copy).
    pushes_burst: bool,
    /// The pacer holds data back; its deadline counts.
    blocked: bool,
    /// Layer-2 bytes in the first queue of the path (`sk_wmem_alloc`), counted with `tsq` only.
    queued: u64,
    small_queue: SmallQueue,
}

/// How much of cwnd is used (`tcp_cwnd_validate`).
#[derive(Default)]
struct Usage {
    cwnd_limited: bool,
    max_packets_out: u32,
    max_packets_seq: u64,
    cwnd_used: u32,
    stamp: Time,
    sent_in_round: bool,
    deferred: bool,
}

/// What has left.
#[derive(Default)]
struct Departed {
    segments: u64,
    /// Those sent again.
    again: u64,
    /// Tail-loss probes.
    probes: u64,
    last: Time,
    /// Where the last short segment ends (`snd_sml`).
    short_end: u64,
    /// The segment that leaves now carries new data.
    is_new: bool,
}

impl Sender {
    /// A closed connection under this controller; [`Endpoint::start`] opens it.
    pub fn new(config: Config, cc: Box<dyn Controller>) -> Self {
        let accecn = AccEcnSender::new(0, config.ace_reading());
        let write_end = config.bytes.map_or(u64::MAX, |bytes| bytes + 1);
        Self {
            needs: needs(&config, &*cc),
            ack_events: cc.hears_ack_events(),
            cc,
            win: Window::new(config.initial_cwnd),
            state: State::Open,
            mss: config.mss(),
            snd_una: 0,
            snd_nxt: 0,
            snd_wnd: 0,
            tsecr: Time::NEVER,
            board: Scoreboard::new(),
            rtt: RttEstimator::new(config.hz),
            rate: RateEstimator::new(config.samples_last_sent()),
            timer: Timer::None,
            timer_at: Time::NEVER,
            probe_set: Time::NEVER,
            handshake: Handshake { control_left: config.control_rtts, ..Handshake::default() },
            app: Application {
                write_end,
                closing: config.bytes.is_some(),
                done_at: Time::ZERO,
                queue: WriteQueue::after(if config.tso_buffers { 0 } else { write_end }),
            },
            ecn: EcnState { accecn, ..EcnState::default() },
            recovery: Recovery::default(),
            pacing: Pacing { rate: Rate(u64::MAX), ..Pacing::default() },
            usage: Usage::default(),
            sent: Departed::default(),
            config,
        }
    }

    /// A connection whose application writes with [`Sender::write`] and never closes.
    #[must_use]
    pub(super) fn on_demand(mut self) -> Self {
        self.write_until(1);
        self.app.closing = false;
        self
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, bytes: u64) {
        self.write_until(self.app.write_end + bytes);
    }

    /// The application has data before `end`.
    fn write_until(&mut self, end: u64) {
        self.app.write_end = end;
        self.pacing.small_queue.clear();
        if !self.config.tso_buffers {
            self.app.queue.written = end;
        }
    }

    /// The application writes on where it can, once all was sent that may be. Returns whether more may leave now.
    fn writes(&mut self, now: Time) -> bool {
        let in_flight = self.board.in_flight();
        self.app.queue.splits = self.board.splits();
        let wakes = self.app.queue.wakes(self.snd_una, in_flight, self.win.cwnd);
        if !self.app.queue.calls(self.app.write_end, self.snd_una) {
            self.app.queue.push = Push::All;
            return false;
        }
        if wakes {
            // `tcp_rate_check_app_limited`, as the application writes again.
            let is_repaired = self.board.lost <= self.board.retransmitted;
            let has_segment = self.written() - self.snd_nxt >= u64::from(self.mss);
            if !has_segment && in_flight < self.win.cwnd && is_repaired {
                self.rate.app_limited(in_flight);
            }
        }
        self.app.queue.copy(self.snd_una, self.snd_nxt);
        self.app.done_at = now;
        true
    }

    /// Byte after the last that it has written.
    fn written(&self) -> u64 {
        self.app.queue.written
    }

    /// Sends nothing more, whatever is not acknowledged (RFC 9293 3.10.7.4, a reset).
    fn abort(&mut self) {
        self.handshake.done = true;
        self.handshake.segment = None;
        self.board = Scoreboard::new();
        // As if a FIN had been acknowledged here.
        self.app.closing = true;
        self.app.write_end = self.snd_una.max(1);
        self.app.queue = WriteQueue::after(self.app.write_end);
        self.snd_una = self.app.write_end + 1;
        self.snd_nxt = self.snd_una;
        self.pacing.burst_left = 0;
        self.pacing.again_left = 0;
        self.recovery.probe_due = false;
        self.disarm();
    }

    /// Whether everything was acknowledged, the FIN included.
    pub fn is_finished(&self) -> bool {
        self.handshake.done && self.app.closing && self.snd_una > self.app.write_end
    }

    /// Segments sent again so far.
    pub fn retransmits(&self) -> u64 {
        self.sent.again
    }

    /// Whether the handshake is over.
    pub fn is_established(&self) -> bool {
        self.handshake.done
    }

    /// Smallest round-trip time measured.
    pub fn min_rtt(&self) -> Dur {
        self.rtt.min_rtt()
    }

    /// What was agreed on in the handshake.
    pub(super) fn feedback(&self) -> Feedback {
        self.ecn.feedback
    }

    /// Sequence number of what is sent next.
    pub(super) fn next_seq(&self) -> u64 {
        self.snd_nxt
    }

    /// Retransmission timeout in jiffies, and smoothed round trip.
    pub(super) fn path_times(&self) -> (u64, Dur) {
        (self.rtt.rto_jiffies(), self.rtt.srtt())
    }

    /// Payload bytes of a full segment.
    pub(super) fn mss(&self) -> u32 {
        self.mss
    }

    /// Layer-2 bytes of a segment of this connection.
    pub(super) fn frame_len(&self, segment: &Segment) -> u32 {
        segment.frame_len(self.config.timestamps)
    }

    /// Congestion state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Congestion window and threshold.
    pub fn window(&self) -> &Window {
        &self.win
    }

    #[inline(always)]
    fn path(&self) -> Path {
        Path {
            mss: self.config.mss(),
            mtu: self.config.mtu,
            srtt: self.rtt.srtt(),
            mdev: self.rtt.mdev(),
            min_rtt: self.rtt.min_rtt(),
            packets_out: self.board.packets_out(),
            in_flight: self.board.in_flight(),
            snd_nxt: self.snd_nxt,
            snd_una: self.snd_una,
            delivered: self.rate.delivered,
            delivered_ce: self.rate.delivered_ce,
            state: self.state,
            feedback: self.ecn.feedback,
            signal: Signal::Loss,
            cwnd_limited: self.is_cwnd_limited(),
            max_packets_out: self.usage.max_packets_out,
            backlogged: self.snd_nxt < self.send_end(),
            queued: 0,
            paced: self.paced(),
            departure: self.pacing.pacer.next(),
            pacing_ss_ratio: self.config.pacing_ss_ratio,
            pacing_ca_ratio: self.config.pacing_ca_ratio,
            max_pacing_rate: self.config.max_pacing_rate.0,
            hz: self.config.hz,
            hystart: self.config.hystart,
        }
    }

    /// ECE and CWR are flags, not a part of AccECN's counter.
    fn echoes_in_flags(&self) -> bool {
        matches!(self.ecn.feedback, Feedback::Rfc3168 | Feedback::Dctcp | Feedback::Sce)
    }

    /// Sequence number after everything that can be sent, the FIN included.
    fn send_end(&self) -> u64 {
        let written = self.written();
        written.saturating_add(u64::from(self.app.closing && written == self.app.write_end))
    }

    fn sends_accecn_option(&self) -> bool {
        self.config.accecn_option && self.ecn.feedback == Feedback::AccEcn
    }

    fn paced(&self) -> bool {
        self.needs.pacing
    }

    /// Linux `tcp_is_cwnd_limited`.
    fn is_cwnd_limited(&self) -> bool {
        if self.config.cwnd_limited == CwndLimited::Sticky && self.usage.cwnd_limited {
            return true;
        }
        if self.win.in_slow_start() {
            self.win.cwnd < 2 * self.usage.max_packets_out
        } else {
            self.usage.cwnd_limited
        }
    }
}

/// What the controller needs; where the host paces every flow or the application bounds the rate, pacing among it.
fn needs(config: &Config, cc: &dyn Controller) -> Needs {
    let needs = cc.needs();
    Needs { pacing: needs.pacing || config.is_paced(), ..needs }
}

impl Endpoint for Sender {
    fn start(&mut self, now: Time) {
        self.open(now);
    }

    fn stop(&mut self, _now: Time) {
        if !self.app.closing {
            self.app.closing = true;
            // What the send buffer holds is still sent.
            let written = if self.config.tso_buffers { self.written() } else { self.snd_nxt };
            self.write_until(written.max(1));
            self.app.queue.stop();
        }
    }

    fn on_packet(&mut self, now: Time, body: &Body, ecn: Ecn) {
        let Body::Tcp(segment) = body else { return };
        self.pacing.small_queue.clear();
        if segment.flags.control {
            // A copy of an earlier answer means nothing.
            if self.handshake.control_left > 0
                && segment.seq == u64::from(self.handshake.control_left)
            {
                self.handshake.control_left -= 1;
                self.open(now);
            }
        } else if segment.flags.syn {
            self.on_syn_ack(now, segment, ecn);
        } else if self.handshake.done {
            self.on_ack(now, segment);
        }
    }

    fn on_reset(&mut self, _now: Time, _connection: u32) {
        self.abort();
    }

    fn poll(&mut self, now: Time) -> Option<Transmit> {
        if self.handshake.segment.is_some() {
            return self.send_control();
        }
        if !self.handshake.done {
            return None;
        }
        let mut next = self.next_packet(now);
        while next.is_none() && self.config.tso_buffers && self.writes(now) {
            next = self.next_packet(now);
        }
        let Some(mut packet) = next else {
            self.await_window(now);
            self.validate_cwnd(now);
            return None;
        };
        if self.config.gso && self.pacing.burst_left > 0 {
            self.complete_super_packet(now, &mut packet);
        }
        let segment = self.segment(now, packet);
        if self.config.tsq {
            self.pacing.queued += u64::from(segment.frame_len(self.config.timestamps));
        }
        Some(self.transmit(segment))
    }

    fn on_departed(&mut self, _now: Time, _connection: u32, bytes: u32) {
        self.pacing.queued = self.pacing.queued.saturating_sub(u64::from(bytes));
    }

    fn deadline(&self) -> Time {
        let pacing = if self.pacing.blocked { self.pacing.pacer.next() } else { Time::NEVER };
        self.timer_at.min(pacing).min(self.cc.wake())
    }

    fn on_timer(&mut self, now: Time) {
        if self.cc.wake() <= now {
            self.cc.on_wake(now, &mut self.win);
            self.update_output();
        }
        self.pacing.small_queue.clear();
        if self.timer_at > now {
            return;
        }
        match std::mem::replace(&mut self.timer, Timer::None) {
            Timer::None => self.timer_at = Time::NEVER,
            Timer::Retransmit => self.on_retransmission_timeout(now),
            Timer::Reorder => self.on_reorder_timeout(now),
            Timer::Persist => self.on_persist_timeout(now),
            Timer::Probe => self.on_probe_timeout(now),
        }
    }

    fn is_alive(&self) -> bool {
        self.handshake.done && !self.is_finished()
    }

    fn sample(&self, _now: Time, probe: &mut Probe<'_>) {
        let rate = self.rate.shown(self.mss).map_or(0.0, Rate::as_mbps);
        probe.put("delivery_rate", "Mbit/s", rate);
        put_rtt(probe, self.rtt.srtt());
        probe.put("cwnd", "segments", f64::from(self.win.cwnd));
        let ssthresh =
            if self.win.ssthresh >= Window::INFINITE { f64::NAN } else { self.win.ssthresh.into() };
        probe.put("ssthresh", "segments", ssthresh);
        probe.put("in_flight", "segments", f64::from(self.board.in_flight()));
        let pacing = if self.pacing.rate.0 == u64::MAX { 0.0 } else { self.pacing.rate.as_mbps() };
        probe.put("pacing_rate", "Mbit/s", pacing);
        probe.put("retransmits", "segments", self.sent.again as f64);
        probe.put("ce", "segments", self.ecn.ce as f64);
    }

    fn sample_controller(&self, probe: &mut Probe<'_>) {
        self.cc.probe(probe);
    }

    fn totals(&self) -> FlowProbe {
        let mut totals = vec![
            ("segments_sent", self.sent.segments as f64),
            ("retransmits", self.sent.again as f64),
            ("lost", self.rate.lost as f64),
            ("timeouts", self.recovery.timeouts as f64),
            ("tail_loss_probes", self.sent.probes as f64),
            ("undone_reductions", self.recovery.undo.undone as f64),
            ("spurious_timeouts", self.recovery.undo.spurious_timeouts as f64),
            ("spurious_retransmits", self.recovery.undo.spurious_retransmits as f64),
            ("ce_reported", self.ecn.ce as f64),
            ("acked_bytes", (self.snd_una.min(self.app.write_end)).saturating_sub(1) as f64),
        ];
        if self.ecn.feedback == Feedback::Sce {
            totals.push(("sce_reported", self.ecn.sce as f64));
        }
        FlowProbe(totals)
    }
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender")
            .field("win", &self.win)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
