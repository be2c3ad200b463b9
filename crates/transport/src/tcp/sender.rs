//! The sending half: Linux 5.4's output engine and congestion state machine around a
//! [`Controller`]. The order of steps per acknowledgement is that of `tcp_ack`.

mod buffers;
mod input;
mod output;
mod recovery;
mod timers;
mod undo;

use sojourn_cc::{Controller, Feedback, Needs, Path, Signal, State, Window};
use sojourn_core::{Dur, Ecn, Probe, Rate, Time};

use self::buffers::Buffers;
use super::Config;
use super::ecn::{AccEcnSender, Negotiation, Role, codepoint};
use super::era::CwndLimited;
use super::pacer::Pacer;
use super::prr::Prr;
use super::rack::Rack;
use super::rate::RateEstimator;
use super::rto::RttEstimator;
use super::sack::Scoreboard;
use super::segment::{Flags, Segment};
use crate::endpoint::{Body, Endpoint, FlowProbe, Transmit, put_rtt};

/// SYNs that ask for ECN before one does not.
const SYNS_WITH_ECN: u32 = 2;

/// The one timer of Linux's output side (`icsk_pending`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    None,
    Retransmit,
    /// Tail-loss probe.
    Probe,
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
    board: Scoreboard,
    rtt: RttEstimator,
    rack: Rack,
    rate: RateEstimator,
    prr: Prr,
    undo: undo::Undo,
    pacer: Pacer,
    accecn: AccEcnSender,
    feedback: Feedback,
    established: bool,
    /// SYNs that were not answered in time.
    syn_timeouts: u32,
    /// The path spoils ECN: data are Not-ECT.
    not_ect: bool,
    /// ACE fields mean nothing; absent until the first one of the open connection.
    ace_is_zeroed: Option<bool>,
    state: State,
    /// Payload bytes of a new segment: the path's, or fewer as the controller asks.
    mss: u32,
    snd_una: u64,
    snd_nxt: u64,
    /// Byte after the last that the application will write.
    write_end: u64,
    /// A FIN follows the last byte.
    closing: bool,
    snd_wnd: u64,
    /// End of the running reduction's window.
    high_seq: u64,
    tlp_high_seq: u64,
    /// RFC 3168: put CWR on the next new segment.
    cwr_pending: bool,
    timer: Timer,
    timer_at: Time,
    /// Timeouts since something new was acknowledged.
    timeout_streak: u32,
    /// The pacer holds data back; its deadline counts.
    pacing_blocked: bool,
    burst_left: u32,
    /// Layer-2 bytes in the first queue of the path (`sk_wmem_alloc`), counted with `tsq` only.
    queued: u64,
    probe_due: bool,
    /// The segment that leaves now carries new data.
    sends_new: bool,
    sent_in_round: bool,
    deferred: bool,
    cwnd_limited: bool,
    max_packets_out: u32,
    max_packets_seq: u64,
    cwnd_used: u32,
    cwnd_stamp: Time,
    last_sent: Time,
    buffers: Buffers,
    /// Handshake segment or message of the control connection, to be sent.
    control: Option<Segment>,
    /// Round trips of the control connection still to be made.
    control_left: u32,
    tsecr: Time,
    segments_sent: u64,
    retransmits: u64,
    timeouts: u64,
    probes: u64,
    ce: u64,
    /// Segments acknowledged with ESCE.
    sce: u64,
    /// Delivered count when the latest sampled segment was sent.
    sampled_delivered: u64,
    pacing_rate: Rate,
    burst: Option<u32>,
}

impl Sender {
    /// A closed connection under this controller; [`Endpoint::start`] opens it.
    pub fn new(config: Config, cc: Box<dyn Controller>) -> Self {
        let mss = config.mss();
        Self {
            win: Window::new(config.initial_cwnd),
            board: Scoreboard::new(),
            rtt: RttEstimator::new(config.hz),
            rack: Rack::new(),
            rate: RateEstimator::default(),
            prr: Prr::default(),
            undo: undo::Undo::default(),
            pacer: Pacer::default(),
            accecn: AccEcnSender::new(0, config.ace_reading()),
            feedback: Feedback::None,
            established: false,
            syn_timeouts: 0,
            not_ect: false,
            ace_is_zeroed: None,
            state: State::Open,
            mss,
            snd_una: 0,
            snd_nxt: 0,
            write_end: config.bytes.map_or(u64::MAX, |b| b + 1),
            closing: config.bytes.is_some(),
            snd_wnd: 0,
            high_seq: 0,
            tlp_high_seq: 0,
            cwr_pending: false,
            timer: Timer::None,
            timer_at: Time::NEVER,
            timeout_streak: 0,
            pacing_blocked: false,
            burst_left: 0,
            queued: 0,
            probe_due: false,
            sends_new: false,
            sent_in_round: false,
            deferred: false,
            cwnd_limited: false,
            max_packets_out: 0,
            max_packets_seq: 0,
            cwnd_used: 0,
            cwnd_stamp: Time::ZERO,
            last_sent: Time::ZERO,
            buffers: Buffers::default(),
            control: None,
            control_left: config.control_rtts,
            tsecr: Time::NEVER,
            segments_sent: 0,
            retransmits: 0,
            timeouts: 0,
            probes: 0,
            ce: 0,
            sce: 0,
            sampled_delivered: 0,
            pacing_rate: Rate(u64::MAX),
            burst: None,
            needs: cc.needs(),
            ack_events: cc.hears_ack_events(),
            config,
            cc,
        }
    }

    /// A connection whose application writes with [`Sender::write`] and never closes.
    #[must_use]
    pub fn on_demand(mut self) -> Self {
        self.write_end = 1;
        self.closing = false;
        self
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, bytes: u64) {
        self.write_end += bytes;
    }

    /// Whether everything was acknowledged, the FIN included.
    pub fn is_finished(&self) -> bool {
        self.established && self.closing && self.snd_una >= self.send_end()
    }

    /// Segments sent again so far.
    pub fn retransmits(&self) -> u64 {
        self.retransmits
    }

    /// Whether the handshake is over.
    pub fn is_established(&self) -> bool {
        self.established
    }

    /// Smallest round-trip time measured.
    pub fn min_rtt(&self) -> Dur {
        self.rtt.min_rtt()
    }

    /// Congestion state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Congestion window and threshold.
    pub fn window(&self) -> &Window {
        &self.win
    }

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
            feedback: self.feedback,
            signal: Signal::Loss,
            cwnd_limited: self.is_cwnd_limited(),
            max_packets_out: self.max_packets_out,
            backlogged: self.snd_nxt < self.send_end(),
            queued: 0,
            paced: self.paced(),
            departure: self.pacer.next(),
            pacing_ss_ratio: self.config.pacing_ss_ratio,
            pacing_ca_ratio: self.config.pacing_ca_ratio,
            hz: self.config.hz,
            hystart: self.config.hystart,
        }
    }

    /// ECE and CWR are flags, not a part of AccECN's counter.
    fn echoes_in_flags(&self) -> bool {
        matches!(self.feedback, Feedback::Rfc3168 | Feedback::Dctcp | Feedback::Sce)
    }

    /// Sequence number after everything that is to be sent, the FIN included.
    fn send_end(&self) -> u64 {
        self.write_end.saturating_add(u64::from(self.closing))
    }

    fn sends_accecn_option(&self) -> bool {
        self.config.accecn_option && self.feedback == Feedback::AccEcn
    }

    fn paced(&self) -> bool {
        self.config.pacing || self.needs.pacing
    }

    /// Linux `tcp_is_cwnd_limited`.
    fn is_cwnd_limited(&self) -> bool {
        if self.config.cwnd_limited == CwndLimited::Sticky && self.cwnd_limited {
            return true;
        }
        if self.win.in_slow_start() {
            self.win.cwnd < 2 * self.max_packets_out
        } else {
            self.cwnd_limited
        }
    }

    /// The next step towards an open connection: a message of the control connection, or the SYN.
    fn open(&mut self, now: Time) {
        if self.control_left == 0 {
            self.send_syn(now);
            return;
        }
        self.control = Some(Segment {
            seq: u64::from(self.control_left),
            flags: Flags { control: true, ..Flags::default() },
            tsval: now,
            tsecr: Time::NEVER,
            ..Segment::default()
        });
        self.arm(Timer::Retransmit, now + self.rtt.rto());
    }

    /// The feedback that a SYN asks for now. Where two were lost, a middlebox may be the reason that drops
    /// those with ECN (`tcp_ecn_fallback`).
    fn wish(&self) -> Feedback {
        match self.config.ecn {
            _ if self.syn_timeouts >= SYNS_WITH_ECN => Feedback::None,
            Feedback::Rfc3168 if self.needs.accecn_only => Feedback::AccEcn,
            configured => configured,
        }
    }

    fn send_syn(&mut self, now: Time) {
        self.control = Some(Segment {
            flags: Flags { syn: true, ..Flags::default() },
            ace: Negotiation::syn(self.wish()),
            tsval: now,
            tsecr: Time::NEVER,
            ..Segment::default()
        });
        self.arm(Timer::Retransmit, now + self.rtt.rto());
    }

    fn on_syn_ack(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        if self.established {
            return;
        }
        self.established = true;
        self.feedback = match Negotiation::conclude(self.wish(), segment.ace) {
            Feedback::Rfc3168 if self.needs.accecn_only => Feedback::None,
            agreed => agreed,
        };
        let sent = codepoint(Role::Syn, self.wish(), self.needs, self.config.ecn_plus_plus);
        self.not_ect =
            self.feedback == Feedback::AccEcn && !Negotiation::is_plausible(sent, segment.ace);
        self.snd_una = 1;
        self.snd_nxt = 1;
        self.high_seq = 1;
        self.snd_wnd = segment.window.into();
        self.buffers = Buffers::new(self.snd_nxt, self.snd_wnd);
        self.tsecr = segment.tsval;
        let rtt = now.since(segment.tsecr);
        self.rtt.sample(rtt, 1, 1);
        self.rtt.sample_min(rtt, now.0 / 1000);
        self.timer = Timer::None;
        self.timer_at = Time::NEVER;
        self.cwnd_stamp = now;
        let syn_marked =
            self.feedback == Feedback::AccEcn && segment.ace == Negotiation::reflect(Ecn::Ce);
        if self.config.ecn_plus_plus && syn_marked {
            self.win.cwnd = 1; // the start is not clean (draft-ietf-tcpm-generalized-ecn)
        }
        let path = self.path();
        self.cc.on_established(now, &path, &mut self.win);
        self.needs = self.cc.needs();
        self.update_output();
        // The third ACK reflects the codepoint of the SYN/ACK.
        self.control = Some(Segment {
            seq: 1,
            ack: 1,
            flags: Flags { ack: true, ..Flags::default() },
            ace: if self.feedback == Feedback::AccEcn { Negotiation::reflect(ecn) } else { 0 },
            tsval: now,
            tsecr: segment.tsval,
            ..Segment::default()
        });
    }
}

impl Endpoint for Sender {
    fn start(&mut self, now: Time) {
        self.open(now);
    }

    fn stop(&mut self, _now: Time) {
        if !self.closing {
            self.closing = true;
            self.write_end = self.snd_nxt.max(1);
        }
    }

    fn on_packet(&mut self, now: Time, body: &Body, ecn: Ecn) {
        let Body::Tcp(segment) = body else { return };
        if segment.flags.control {
            // A copy of an earlier answer means nothing.
            if self.control_left > 0 && segment.seq == u64::from(self.control_left) {
                self.control_left -= 1;
                self.open(now);
            }
        } else if segment.flags.syn {
            self.on_syn_ack(now, segment, ecn);
        } else if self.established {
            self.on_ack(now, segment);
        }
    }

    fn poll(&mut self, now: Time) -> Option<Transmit> {
        if self.control.is_some() {
            return self.send_control();
        }
        if !self.established {
            return None;
        }
        let Some(mut packet) = self.next_packet(now) else {
            self.validate_cwnd(now);
            return None;
        };
        if self.config.gso && self.burst_left > 0 {
            self.complete_super_packet(now, &mut packet);
        }
        let segment = self.segment(now, packet);
        if self.config.tsq {
            self.queued += u64::from(segment.frame_len(self.config.timestamps));
        }
        Some(self.transmit(segment))
    }

    fn on_departed(&mut self, _now: Time, _connection: u32, bytes: u32) {
        self.queued = self.queued.saturating_sub(u64::from(bytes));
    }

    fn deadline(&self) -> Time {
        let pacing = if self.pacing_blocked { self.pacer.next() } else { Time::NEVER };
        self.timer_at.min(pacing).min(self.cc.wake())
    }

    fn on_timer(&mut self, now: Time) {
        if self.cc.wake() <= now {
            self.cc.on_wake(now, &mut self.win);
            self.update_output();
        }
        if self.timer_at > now {
            return;
        }
        match std::mem::replace(&mut self.timer, Timer::None) {
            Timer::None => self.timer_at = Time::NEVER,
            Timer::Retransmit => self.on_retransmission_timeout(now),
            Timer::Reorder => self.on_reorder_timeout(now),
            Timer::Probe => {
                self.probe_due = self.board.packets_out() > 0;
                self.rearm_rto(now);
            }
        }
    }

    fn is_alive(&self) -> bool {
        self.established && !(self.closing && self.snd_una >= self.send_end())
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
        let pacing = if self.pacing_rate.0 == u64::MAX { 0.0 } else { self.pacing_rate.as_mbps() };
        probe.put("pacing_rate", "Mbit/s", pacing);
        probe.put("retransmits", "segments", self.retransmits as f64);
        probe.put("ce", "segments", self.ce as f64);
    }

    fn sample_controller(&self, probe: &mut Probe<'_>) {
        self.cc.probe(probe);
    }

    fn totals(&self) -> FlowProbe {
        let mut totals = vec![
            ("segments_sent", self.segments_sent as f64),
            ("retransmits", self.retransmits as f64),
            ("lost", self.rate.lost as f64),
            ("timeouts", self.timeouts as f64),
            ("tail_loss_probes", self.probes as f64),
            ("undone_reductions", self.undo.undone as f64),
            ("spurious_timeouts", self.undo.spurious_timeouts as f64),
            ("spurious_retransmits", self.undo.spurious_retransmits as f64),
            ("ce_reported", self.ce as f64),
            ("acked_bytes", (self.snd_una.min(self.write_end)).saturating_sub(1) as f64),
        ];
        if self.feedback == Feedback::Sce {
            totals.push(("sce_reported", self.sce as f64));
        }
        FlowProbe(totals)
    }
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender")
            .field("cc", &self.cc.describe())
            .field("win", &self.win)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
