//! The sending half: Linux 5.4's output engine and congestion state machine around a
//! [`Controller`]. The order of steps per acknowledgement is that of `tcp_ack`.

use sojourn_core::cc::{
    Ack, Controller, Feedback, Path, RateSample, Sent, State, StateChange, Window,
};
use sojourn_core::{Dur, Ecn, Kind, Probe, Rate, Time};

use super::Config;
use super::ecn::{AccEcnSender, Negotiation, Progress};
use super::pacer::Pacer;
use super::prr::{Prr, PrrAck};
use super::rack::Rack;
use super::rate::RateEstimator;
use super::rto::RttEstimator;
use super::sack::{Outstanding, Scoreboard};
use super::segment::{CWR, ECE, Flags, Segment};
use crate::endpoint::{Body, Endpoint, FlowProbe, Transmit};

/// Largest GSO packet: 64 KiB less headers (`gso_max_size - 1 - MAX_TCP_HEADER`).
const GSO_MAX_BYTES: u64 = 65_536 - 1 - 320;
/// `tcp_min_tso_segs`.
const MIN_TSO_SEGMENTS: u32 = 2;
/// `tcp_tso_win_divisor`.
const TSO_WINDOW_DIVISOR: u64 = 3;
/// A write is recent, and TSO may defer, for 1 ms.
const TSO_RECENT: Dur = Dur::from_millis(1);
/// Allowance for a delayed ACK when a single segment is outstanding (`TCP_RTO_MIN`).
const PROBE_DELACK: Dur = Dur::from_millis(200);
/// `TCP_TIMEOUT_MIN` in jiffies.
const TIMEOUT_MIN_JIFFIES: u64 = 2;

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

/// What the current acknowledgement has done so far.
#[derive(Clone, Copy, Debug, Default)]
struct Effects {
    una_advanced: bool,
    data_acked: bool,
    data_sacked: bool,
    /// Congestion experienced was echoed (ECE, or a new CE count).
    congestion: bool,
    retransmit_acked: bool,
    retransmission_lost: bool,
    acked: u32,
    sacked: u32,
    acked_bytes: u64,
    delivered_bytes: u64,
    lost: u32,
    ce: u32,
    duplicate: bool,
    /// RTT by the first and by the last cumulatively acknowledged segment.
    rtt_first: Option<Dur>,
    rtt_last: Option<Dur>,
    /// RTT by the first and by the last SACKed segment.
    rtt_sack_first: Option<Dur>,
    rtt_sack_last: Option<Dur>,
    ack_delayed: bool,
}

/// The sending end of a connection.
pub struct Sender {
    config: Config,
    cc: Box<dyn Controller>,
    win: Window,
    board: Scoreboard,
    rtt: RttEstimator,
    rack: Rack,
    rate: RateEstimator,
    prr: Prr,
    pacer: Pacer,
    accecn: AccEcnSender,
    feedback: Feedback,
    established: bool,
    state: State,
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
    last_write: Time,
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
    lost: u64,
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
            pacer: Pacer::default(),
            accecn: AccEcnSender::default(),
            feedback: Feedback::None,
            established: false,
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
            last_write: Time::ZERO,
            control: None,
            control_left: config.control_rtts,
            tsecr: Time::NEVER,
            segments_sent: 0,
            retransmits: 0,
            timeouts: 0,
            probes: 0,
            ce: 0,
            lost: 0,
            sampled_delivered: 0,
            pacing_rate: Rate(u64::MAX),
            burst: None,
            config,
            cc,
        }
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
            mss: self.mss,
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
            cwnd_limited: self.is_cwnd_limited(),
            backlogged: self.snd_nxt < self.send_end(),
            paced: self.paced(),
            pacing_ss_ratio: self.config.pacing_ss_ratio,
            pacing_ca_ratio: self.config.pacing_ca_ratio,
            hz: self.config.hz,
        }
    }

    /// Sequence number after everything that is to be sent, the FIN included.
    fn send_end(&self) -> u64 {
        self.write_end.saturating_add(u64::from(self.closing))
    }

    fn paced(&self) -> bool {
        self.config.pacing || self.cc.needs().pacing
    }

    /// Linux `tcp_is_cwnd_limited`.
    fn is_cwnd_limited(&self) -> bool {
        if self.win.in_slow_start() {
            self.win.cwnd < 2 * self.max_packets_out
        } else {
            self.cwnd_limited
        }
    }

    // ---- handshake ------------------------------------------------------------------------

    /// The next step towards an open connection: a message of the control connection, or the SYN.
    fn open(&mut self, now: Time) {
        if self.control_left == 0 {
            self.send_syn(now);
            return;
        }
        self.control = Some(Segment {
            flags: Flags { control: true, ..Flags::default() },
            tsval: now,
            tsecr: Time::NEVER,
            ..Segment::default()
        });
        self.arm(Timer::Retransmit, now + self.rtt.rto());
    }

    fn send_syn(&mut self, now: Time) {
        self.control = Some(Segment {
            flags: Flags { syn: true, ..Flags::default() },
            ace: Negotiation::syn(self.config.ecn),
            tsval: now,
            tsecr: Time::NEVER,
            ..Segment::default()
        });
        self.arm(Timer::Retransmit, now + self.rtt.rto());
    }

    fn on_syn_ack(&mut self, now: Time, segment: &Segment) {
        if self.established {
            return;
        }
        self.established = true;
        self.feedback = Negotiation::conclude(self.config.ecn, segment.ace);
        self.snd_una = 1;
        self.snd_nxt = 1;
        self.high_seq = 1;
        self.snd_wnd = segment.window;
        self.tsecr = segment.tsval;
        let rtt = now.since(segment.tsecr);
        self.rtt.sample(rtt, 1, 1);
        self.rtt.sample_min(rtt, now.0 / 1000);
        self.timer = Timer::None;
        self.timer_at = Time::NEVER;
        self.cwnd_stamp = now;
        let path = self.path();
        self.cc.on_established(now, &path, &mut self.win);
        self.update_output();
        // The third ACK reflects the codepoint of the SYN/ACK, which arrives Not-ECT here.
        self.control = Some(Segment {
            seq: 1,
            ack: 1,
            flags: Flags { ack: true, ..Flags::default() },
            ace: if self.feedback == Feedback::AccEcn {
                Negotiation::reflect(Ecn::NotEct)
            } else {
                0
            },
            tsval: now,
            tsecr: segment.tsval,
            ..Segment::default()
        });
    }

    // ---- acknowledgements -------------------------------------------------------------------

    fn on_ack(&mut self, now: Time, segment: &Segment) {
        if segment.ack > self.snd_nxt {
            return;
        }
        let prior_in_flight = self.board.in_flight();
        let mut fx = Effects { duplicate: segment.sack.duplicate, ..Effects::default() };
        self.tag_sacked(now, segment, &mut fx);
        if segment.ack >= self.snd_una {
            fx.una_advanced = segment.ack > self.snd_una;
            if fx.una_advanced {
                self.timeout_streak = 0;
            }
            self.snd_wnd = segment.window;
            self.clean_acked(now, segment.ack, &mut fx);
            self.snd_una = segment.ack;
        }
        self.tsecr = segment.tsval;
        self.read_ecn(segment, &mut fx);
        self.update_rtt(now, segment, &mut fx);
        if fx.duplicate {
            self.rack.saw_duplicate(self.rate.delivered, self.sampled_delivered);
        }
        self.process_probe_ack(now, segment.ack, &fx);
        let dubious = (!fx.una_advanced && !fx.data_sacked)
            || fx.data_sacked
            || fx.congestion
            || self.state != State::Open;
        if fx.data_acked {
            self.rearm_after_ack(now);
        }
        if dubious {
            self.state_machine(now, &mut fx);
        }
        let newly = fx.acked + fx.sacked;
        if let Some(sampled) = self.rate.sampled_delivered() {
            self.sampled_delivered = sampled;
        }
        let sample = self.rate.finish(now, newly, self.rtt.min_rtt(), fx.ack_delayed);
        self.control_congestion(now, &fx, sample, prior_in_flight);
    }

    fn tag_sacked(&mut self, now: Time, segment: &Segment, fx: &mut Effects) {
        if segment.sack.is_empty() {
            return;
        }
        let before = self.board.highest_sacked();
        let min_rtt = self.rtt.min_rtt();
        let (rack, rate) = (&mut self.rack, &mut self.rate);
        self.board.tag_sacked(segment.sack.holes_above(), |s| {
            rate.segment_delivered(&mut s.tx, s.sent);
            rack.delivered(now, s, min_rtt);
            if !s.ever_retransmitted {
                if s.end() < before {
                    let distance = (before - s.seq) / u64::from(s.len.max(1));
                    rack.saw_reordering(distance as u32);
                }
                fx.rtt_sack_first.get_or_insert(now.since(s.sent));
                fx.rtt_sack_last = Some(now.since(s.sent));
            }
            fx.sacked += 1;
            fx.delivered_bytes += u64::from(s.len);
        });
        fx.data_sacked = fx.sacked > 0;
        self.rate.delivered += u64::from(fx.sacked);
    }

    fn clean_acked(&mut self, now: Time, ack: u64, fx: &mut Effects) {
        let in_flight_before = self.board.in_flight();
        let min_rtt = self.rtt.min_rtt();
        let mut popped = 0;
        while let Some(mut s) = self.board.pop_acked(ack) {
            popped += 1;
            fx.acked_bytes += u64::from(s.len);
            if s.ever_retransmitted {
                fx.retransmit_acked = true;
            } else if !s.sacked {
                fx.rtt_first.get_or_insert(now.since(s.sent));
                fx.rtt_last = Some(now.since(s.sent));
            }
            if !s.sacked {
                fx.acked += 1;
                fx.delivered_bytes += u64::from(s.len);
                self.rate.delivered += 1;
                self.rate.segment_delivered(&mut s.tx, s.sent);
                self.rack.delivered(now, &s, min_rtt);
            }
        }
        fx.data_acked = popped > 0;
        if fx.retransmit_acked {
            fx.rtt_first = None;
            fx.rtt_last = None;
        }
        fx.ack_delayed = popped == 1 && in_flight_before == 1;
    }

    fn read_ecn(&mut self, segment: &Segment, fx: &mut Effects) {
        match self.feedback {
            Feedback::AccEcn => {
                let segments = fx.acked + fx.sacked;
                if segments == 0 {
                    return; // nothing new: possibly a reordered old ACK
                }
                let progress = Progress {
                    segments,
                    bytes: fx.delivered_bytes,
                    regular: self.rate.delivered >= 16
                        && matches!(self.state, State::Open | State::Cwr),
                    mss: self.mss,
                };
                fx.ce = self.accecn.decode(segment.ace, segment.accecn, progress);
                self.rate.delivered_ce += u64::from(fx.ce);
                self.ce += u64::from(fx.ce);
                fx.congestion = fx.ce > 0;
            }
            Feedback::Rfc3168 | Feedback::Dctcp | Feedback::Sce => {
                fx.congestion = segment.ace & ECE != 0;
                if fx.congestion {
                    fx.ce = fx.acked + fx.sacked;
                    self.rate.delivered_ce += u64::from(fx.ce);
                    self.ce += u64::from(fx.ce);
                }
            }
            Feedback::None | Feedback::Ccfb => {}
        }
    }

    fn update_rtt(&mut self, now: Time, segment: &Segment, fx: &mut Effects) {
        let timestamp = || {
            (fx.una_advanced && segment.tsecr != Time::NEVER && self.config.timestamps)
                .then(|| Dur(now.since(segment.tsecr).0.div_ceil(1_000_000) * 1_000_000))
        };
        let smoothed = fx.rtt_first.or(fx.rtt_sack_first).or_else(timestamp);
        fx.rtt_last = fx.rtt_sack_last.or(fx.rtt_last);
        if let Some(newest) = fx.rtt_last {
            self.rtt.sample_min(newest, now.0 / 1000);
        }
        if let Some(rtt) = smoothed {
            self.rtt.sample(rtt, self.snd_una, self.snd_nxt);
        }
    }

    /// Linux `tcp_process_tlp_ack`: a probe that repaired a loss costs one reduction.
    fn process_probe_ack(&mut self, now: Time, ack: u64, fx: &Effects) {
        if self.tlp_high_seq == 0 || ack < self.tlp_high_seq {
            return;
        }
        if fx.duplicate {
            self.tlp_high_seq = 0; // both copies arrived: nothing was lost
        } else if ack > self.tlp_high_seq {
            self.begin_reduction(now);
            self.set_state(now, State::Cwr);
            self.end_reduction();
            self.keep_open(now);
        } else if !fx.una_advanced && !fx.data_sacked {
            self.tlp_high_seq = 0; // a pure duplicate: the probe was redundant
        }
    }

    /// Linux `tcp_fastretrans_alert` with RACK.
    fn state_machine(&mut self, now: Time, fx: &mut Effects) {
        if self.state != State::Open && self.snd_una >= self.high_seq {
            match self.state {
                State::Cwr => {
                    // CWR lasts until something beyond high_seq is acknowledged.
                    if self.snd_una != self.high_seq {
                        self.end_reduction();
                        self.set_state(now, State::Open);
                    }
                }
                State::Recovery => {
                    self.rack.recovered();
                    self.end_reduction();
                    self.set_state(now, State::Open);
                }
                _ => {}
            }
        }
        match self.state {
            State::Recovery => {
                self.identify_losses(now, fx);
            }
            State::Loss => {
                if self.snd_una >= self.high_seq {
                    self.set_state(now, State::Open);
                    self.keep_open(now);
                    return;
                }
                self.identify_losses(now, fx);
            }
            _ => {
                self.identify_losses(now, fx);
                if self.board.lost > 0 {
                    self.enter_recovery(now);
                } else {
                    if fx.congestion {
                        self.enter_cwr(now);
                    }
                    if self.state != State::Cwr {
                        self.keep_open(now);
                    }
                }
            }
        }
    }

    fn identify_losses(&mut self, now: Time, fx: &mut Effects) {
        let window = self.reordering_window();
        let found = self.rack.detect_if_advanced(now, &mut self.board, window);
        self.note_losses(now, found.lost, found.wait);
        fx.lost += found.lost;
        fx.retransmission_lost |= found.retransmission_lost;
    }

    fn reordering_window(&self) -> Dur {
        self.rack.window(
            self.state >= State::Recovery,
            self.board.sacked,
            self.rtt.min_rtt(),
            self.rtt.srtt(),
        )
    }

    fn note_losses(&mut self, now: Time, lost: u32, wait: Option<Dur>) {
        self.lost += u64::from(lost);
        if let Some(wait) = wait {
            self.arm(Timer::Reorder, now + self.rtt.jiffies(wait) + self.timeout_min());
        }
    }

    fn enter_cwr(&mut self, now: Time) {
        if self.state < State::Cwr {
            self.begin_reduction(now);
            self.set_state(now, State::Cwr);
        }
    }

    fn enter_recovery(&mut self, now: Time) {
        if self.state < State::Cwr {
            self.begin_reduction(now);
        }
        self.set_state(now, State::Recovery);
    }

    /// Linux `tcp_init_cwnd_reduction`.
    fn begin_reduction(&mut self, now: Time) {
        self.high_seq = self.snd_nxt;
        self.tlp_high_seq = 0;
        self.win.cwnd_cnt = 0;
        self.win.prior_cwnd = self.win.cwnd;
        self.win.prior_ssthresh = self.win.ssthresh;
        self.prr = Prr::default();
        let path = self.path();
        self.win.ssthresh = self.cc.ssthresh(now, &path, &self.win);
        self.cwr_pending = self.feedback == Feedback::Rfc3168;
    }

    /// Linux `tcp_end_cwnd_reduction`.
    fn end_reduction(&mut self) {
        if !self.cc.needs().owns_cwnd && self.win.ssthresh < Window::INFINITE {
            self.win.cwnd = self.win.ssthresh;
        }
    }

    fn keep_open(&mut self, now: Time) {
        let quiet = self.board.sacked + self.board.lost == 0;
        self.set_state(now, if quiet { State::Open } else { State::Disorder });
    }

    fn set_state(&mut self, now: Time, to: State) {
        if self.state == to {
            return;
        }
        let change = StateChange { from: self.state, to };
        self.state = to;
        let path = self.path();
        self.cc.on_state(now, change, &path, &mut self.win);
    }

    /// Linux `tcp_cong_control`.
    fn control_congestion(
        &mut self,
        now: Time,
        fx: &Effects,
        rate: Option<RateSample>,
        prior_in_flight: u32,
    ) {
        let owns = self.cc.needs().owns_cwnd;
        let reducing = matches!(self.state, State::Cwr | State::Recovery);
        if reducing && !owns {
            let ack = PrrAck {
                newly_delivered: fx.acked + fx.sacked,
                in_flight: self.board.in_flight(),
                retransmit_acked: fx.retransmit_acked,
                retransmit_lost: fx.retransmission_lost,
            };
            if let Some(cwnd) = self.prr.cwnd(ack, self.win.ssthresh, self.win.prior_cwnd) {
                self.win.cwnd = cwnd;
            }
        }
        let raises =
            if self.rack.reordering > 3 { fx.data_acked || fx.data_sacked } else { fx.data_acked };
        let path = self.path();
        let ack = Ack {
            path: &path,
            acked: fx.acked,
            sacked: fx.sacked,
            acked_bytes: fx.acked_bytes,
            lost: fx.lost,
            ce: fx.ce,
            ect1: 0,
            ece: self.feedback == Feedback::Rfc3168 && fx.congestion,
            esce: false,
            rtt: fx.rtt_last,
            rate,
            prior_in_flight,
            may_raise: raises && !reducing,
            app_limited: self.snd_nxt >= self.send_end(),
            reports: &[],
        };
        self.cc.on_ack(now, &ack, &mut self.win);
        self.update_output();
    }

    fn update_output(&mut self) {
        let path = self.path();
        let out = self.cc.output(&path, &self.win);
        self.pacing_rate = out.pacing_rate.unwrap_or_else(|| path.linux_pacing_rate(&self.win));
        self.burst = out.burst;
    }

    // ---- timers ---------------------------------------------------------------------------

    fn arm(&mut self, timer: Timer, at: Time) {
        self.timer = timer;
        self.timer_at = at;
    }

    fn timeout_min(&self) -> Dur {
        self.rtt.jiffies(Dur(1)) * TIMEOUT_MIN_JIFFIES
    }

    fn rearm_after_ack(&mut self, now: Time) {
        if self.board.packets_out() == 0 {
            self.arm(Timer::None, Time::NEVER);
        } else if !self.schedule_probe(now) {
            self.rearm_rto(now);
        }
    }

    fn rearm_rto(&mut self, now: Time) {
        if self.board.packets_out() == 0 {
            self.arm(Timer::None, Time::NEVER);
        } else {
            self.arm(Timer::Retransmit, now + self.rtt.rto());
        }
    }

    /// Linux `tcp_schedule_loss_probe`.
    fn schedule_probe(&mut self, now: Time) -> bool {
        let allowed = matches!(self.state, State::Open | State::Cwr)
            && self.tlp_high_seq == 0
            && self.board.packets_out() > 0
            && self.board.sacked == 0;
        if !allowed {
            return false;
        }
        let mut timeout = if self.rtt.srtt() == Dur::ZERO {
            Dur::from_secs(1)
        } else {
            self.rtt.jiffies(self.rtt.srtt() * 2)
                + if self.board.packets_out() == 1 { PROBE_DELACK } else { self.timeout_min() }
        };
        let head_sent = self.board.head().map_or(now, |s| s.sent);
        timeout = timeout.min((head_sent + self.rtt.rto()).since(now).max(self.timeout_min()));
        self.arm(Timer::Probe, now + timeout);
        true
    }

    fn on_retransmission_timeout(&mut self, now: Time) {
        if !self.established {
            self.rtt.back_off();
            self.open(now);
            return;
        }
        self.timeouts += 1;
        let first_of_episode = self.state <= State::Disorder
            || self.snd_una >= self.high_seq
            || (self.state == State::Loss && self.timeout_streak == 0);
        self.timeout_streak += 1;
        if first_of_episode {
            self.win.prior_cwnd = self.win.cwnd;
            self.win.prior_ssthresh = self.win.ssthresh;
            let path = self.path();
            self.win.ssthresh = self.cc.ssthresh(now, &path, &self.win);
        }
        let before = self.board.lost;
        self.rack.mark_on_timeout(now, &mut self.board);
        self.lost += u64::from(self.board.lost - before);
        self.win.cwnd = self.board.in_flight() + 1;
        self.win.cwnd_cnt = 0;
        self.cwnd_stamp = now;
        let change = StateChange { from: self.state, to: State::Loss };
        self.state = State::Loss; // a repeated timeout is an event of its own
        let path = self.path();
        self.cc.on_state(now, change, &path, &mut self.win);
        self.high_seq = self.snd_nxt;
        self.tlp_high_seq = 0;
        self.rtt.back_off();
        self.arm(Timer::Retransmit, now + self.rtt.rto());
    }

    fn on_reorder_timeout(&mut self, now: Time) {
        let window = self.reordering_window();
        let found = self.rack.detect(now, &mut self.board, window);
        self.note_losses(now, found.lost, found.wait);
        if found.lost > 0 {
            if self.state != State::Recovery {
                self.enter_recovery(now);
                if !self.cc.needs().owns_cwnd {
                    let ack = PrrAck {
                        newly_delivered: 1,
                        in_flight: self.board.in_flight(),
                        retransmit_acked: false,
                        retransmit_lost: found.retransmission_lost,
                    };
                    if let Some(cwnd) = self.prr.cwnd(ack, self.win.ssthresh, self.win.prior_cwnd) {
                        self.win.cwnd = cwnd;
                    }
                }
            }
        }
        if found.wait.is_none() {
            self.rearm_rto(now);
        }
    }

    // ---- output -----------------------------------------------------------------------------

    fn next_segment(&mut self, now: Time) -> Option<Segment> {
        if self.burst_left > 0 {
            self.burst_left -= 1;
            return Some(self.send_new(now));
        }
        self.pacing_blocked = false;
        let wants_retransmit = self.board.waiting > 0 && self.state >= State::Recovery;
        if !wants_retransmit && !self.probe_due && self.snd_nxt >= self.send_end() {
            self.rate.app_limited(self.board.in_flight());
            return None;
        }
        if self.paced() && !self.pacer.ready(now) {
            self.pacing_blocked = true;
            return None;
        }
        if self.probe_due {
            self.probe_due = false;
            return Some(self.send_probe(now));
        }
        if wants_retransmit && self.board.in_flight() < self.win.cwnd {
            let id = self.board.next_retransmit()?;
            return Some(self.send_again(now, id));
        }
        let burst = self.burst_size(now)?;
        self.pacer.departed(
            now,
            u64::from(burst) * u64::from(self.mss),
            self.paced().then_some(self.pacing_rate),
            self.segments_sent,
        );
        self.last_write = now.max(self.last_write);
        self.burst_left = burst - 1;
        Some(self.send_new(now))
    }

    /// Segments of the next TSO packet, `None` if nothing may leave now.
    fn burst_size(&mut self, now: Time) -> Option<u32> {
        let in_flight = self.board.in_flight();
        if self.snd_nxt >= self.send_end() || in_flight >= self.win.cwnd {
            return None;
        }
        let mss = u64::from(self.mss);
        let window_end = self.snd_una + self.snd_wnd;
        let window_room = window_end.saturating_sub(self.snd_nxt);
        let write_room = self.send_end() - self.snd_nxt;
        let buffer_room = (self.snd_una + self.config.wmem_max).saturating_sub(self.snd_nxt);
        if window_room < mss.min(write_room) || buffer_room < mss.min(write_room) {
            return None;
        }
        let gso_max = (GSO_MAX_BYTES / mss) as u32;
        let max_segments = self
            .burst
            .unwrap_or_else(|| {
                let bytes = (self.pacing_rate.bytes_per_sec() >> 10).min(GSO_MAX_BYTES);
                ((bytes / mss) as u32).max(MIN_TSO_SEGMENTS)
            })
            .min(gso_max);
        let congestion_room = u64::from(self.win.cwnd - in_flight) * mss;
        if max_segments > 1
            && write_room > mss
            && self.defers(now, window_room, congestion_room, max_segments)
        {
            self.deferred |= congestion_room < window_room;
            return None;
        }
        let quota = (self.win.cwnd / 2).max(1).min(self.win.cwnd - in_flight);
        let room = window_room.min(write_room).min(buffer_room).div_ceil(mss) as u32;
        let whole = (window_room / mss).max(1) as u32;
        Some(quota.min(max_segments).min(room).min(whole).max(1))
    }

    /// Linux 5.4 `tcp_tso_should_defer`: wait for a fuller burst if the last write was recent and
    /// the next ACK is not far off.
    fn defers(&self, now: Time, window: u64, congestion: u64, max_segments: u32) -> bool {
        if self.state >= State::Recovery || now.since(self.last_write) > TSO_RECENT {
            return false;
        }
        let mss = u64::from(self.mss);
        let limit = window.min(congestion);
        let chunk = self.snd_wnd.min(u64::from(self.win.cwnd) * mss) / TSO_WINDOW_DIVISOR;
        if limit >= u64::from(max_segments) * mss || limit >= chunk {
            return false;
        }
        self.board.head().is_some_and(|head| now.since(head.sent) >= self.rtt.srtt() / 2)
    }

    fn send_new(&mut self, now: Time) -> Segment {
        let idle = self.board.packets_out() == 0;
        if idle && self.segments_sent > 0 {
            self.restart(now, now.since(self.last_sent));
        }
        let fin = self.snd_nxt == self.write_end;
        let len = u64::from(self.mss).min(self.write_end - self.snd_nxt) as u32 + u32::from(fin);
        let tx = self.rate.sent(now, idle, self.board.in_flight());
        let seq = self.snd_nxt;
        self.board.push(Outstanding::new(seq, len, now, tx));
        self.snd_nxt += u64::from(len);
        self.prr.sent(1);
        self.sent_in_round = true;
        let cwr = std::mem::take(&mut self.cwr_pending);
        self.note_sent(now, len, false, idle);
        if self.timer != Timer::Reorder && !self.schedule_probe(now) && self.timer == Timer::None {
            self.rearm_rto(now);
        }
        self.segment(now, seq, len, cwr)
    }

    /// Linux `tcp_slow_start_after_idle_check`: half the window for each RTO of idleness.
    fn restart(&mut self, now: Time, idle: Dur) {
        let rto = self.rtt.rto();
        if idle > rto && !self.cc.needs().owns_cwnd {
            self.win.ssthresh = self.win.ssthresh.max(self.win.cwnd / 4 * 3);
            self.win.cwnd = cwnd_after_idle(self.win.cwnd, self.config.initial_cwnd, idle, rto);
            self.cwnd_stamp = now;
            self.cwnd_used = 0;
        }
        self.cc.on_restart(now, idle, &mut self.win);
    }

    fn send_again(&mut self, now: Time, id: u64) -> Segment {
        let idle = self.board.in_flight() == 0;
        let tx = self.rate.sent(now, self.board.packets_out() == 0, self.board.in_flight());
        self.board.retransmit(id, now, tx);
        let (seq, len) = {
            let s = self.board.get(id);
            (s.seq, s.len)
        };
        self.prr.sent(1);
        self.retransmits += 1;
        self.pacer.departed(
            now,
            u64::from(len),
            self.paced().then_some(self.pacing_rate),
            self.segments_sent,
        );
        self.note_sent(now, len, true, idle);
        if self.timer == Timer::None || seq == self.snd_una {
            self.rearm_rto(now);
        }
        self.segment(now, seq, len, false)
    }

    /// A tail-loss probe: new data if the receiver has room, else the last segment again.
    fn send_probe(&mut self, now: Time) -> Segment {
        self.probes += 1;
        let room = (self.snd_una + self.snd_wnd).saturating_sub(self.snd_nxt);
        if self.snd_nxt < self.send_end() && room >= u64::from(self.mss) {
            let segment = self.send_new(now);
            self.rearm_rto(now);
            return segment;
        }
        let id = self.board.last_id().expect("a probe is armed only with data outstanding");
        self.tlp_high_seq = self.snd_nxt;
        let segment = self.send_again(now, id);
        self.rearm_rto(now);
        segment
    }

    fn note_sent(&mut self, now: Time, len: u32, retransmit: bool, from_idle: bool) {
        self.segments_sent += 1;
        self.sends_new = !retransmit;
        self.last_sent = now;
        let sent = Sent { bytes: len, segments: 1, retransmit, from_idle };
        self.cc.on_send(now, &sent, &mut self.win);
    }

    /// The segment that occupies `len` sequence numbers from `seq`, the FIN among them.
    fn segment(&self, now: Time, seq: u64, len: u32, cwr: bool) -> Segment {
        let fin = self.closing && seq + u64::from(len) > self.write_end;
        Segment {
            seq,
            len: len - u32::from(fin),
            ack: 1,
            flags: Flags { ack: true, fin, ..Flags::default() },
            ace: match self.feedback {
                Feedback::AccEcn => 5,
                _ if cwr => CWR,
                _ => 0,
            },
            tsval: now,
            tsecr: self.tsecr,
            ..Segment::default()
        }
    }

    /// Linux `tcp_cwnd_validate`, once per transmission opportunity.
    fn validate_cwnd(&mut self, now: Time) {
        let in_flight = self.board.in_flight();
        let limited = in_flight >= self.win.cwnd || std::mem::take(&mut self.deferred);
        let out = self.board.packets_out();
        if self.snd_una >= self.max_packets_seq || out > self.max_packets_out {
            self.max_packets_out = out;
            self.max_packets_seq = self.snd_nxt;
            self.cwnd_limited = limited;
        }
        if self.is_cwnd_limited() {
            self.cwnd_used = 0;
            self.cwnd_stamp = now;
            return;
        }
        self.cwnd_used = self.cwnd_used.max(out);
        if now.since(self.cwnd_stamp) >= self.rtt.rto() && !self.cc.needs().owns_cwnd {
            // RFC 2861 as Linux does it: the window decays towards what was used.
            if self.state == State::Open && self.snd_nxt >= self.send_end() {
                self.win.ssthresh = self.win.ssthresh.max(self.win.cwnd / 4 * 3);
                let used = self.cwnd_used.max(self.config.initial_cwnd);
                if used < self.win.cwnd {
                    self.win.cwnd = u32::midpoint(self.win.cwnd, used);
                }
            }
            self.cwnd_used = 0;
            self.cwnd_stamp = now;
        }
    }

    fn transmit(&self, segment: Segment) -> Transmit {
        let ecn_on = self.feedback != Feedback::None;
        let needs = self.cc.needs();
        let wanted = needs.codepoint.unwrap_or(Ecn::Ect0);
        let ecn = if segment.flags.syn {
            // A controller that marks its control packets asks for ECT on the SYN too.
            if needs.ect_on_control && self.config.ecn == Feedback::AccEcn {
                wanted
            } else {
                Ecn::NotEct
            }
        } else if ecn_on && (self.feedback == Feedback::AccEcn || self.sends_new) {
            wanted
        } else {
            Ecn::NotEct // RFC 3168: neither retransmissions nor pure ACKs
        };
        Transmit {
            len: segment.frame_len(self.config.timestamps),
            tos: ecn.on_tos(self.config.tos),
            kind: if segment.len > 0 { Kind::TcpData } else { Kind::TcpControl },
            body: Body::Tcp(segment),
        }
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

    fn on_packet(&mut self, now: Time, body: &Body, _ecn: Ecn) {
        let Body::Tcp(segment) = body else { return };
        if segment.flags.control {
            self.control_left = self.control_left.saturating_sub(1);
            self.open(now);
        } else if segment.flags.syn {
            self.on_syn_ack(now, segment);
        } else if self.established {
            self.on_ack(now, segment);
        }
    }

    fn poll(&mut self, now: Time) -> Option<Transmit> {
        if let Some(segment) = self.control.take() {
            return Some(self.transmit(segment));
        }
        if !self.established {
            return None;
        }
        let Some(segment) = self.next_segment(now) else {
            if std::mem::take(&mut self.sent_in_round) {
                self.validate_cwnd(now);
            }
            return None;
        };
        Some(self.transmit(segment))
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
        probe.put("rtt", "ms", self.rtt.srtt().as_millis_f64());
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
        FlowProbe(vec![
            ("segments_sent", self.segments_sent as f64),
            ("retransmits", self.retransmits as f64),
            ("lost", self.lost as f64),
            ("timeouts", self.timeouts as f64),
            ("tail_loss_probes", self.probes as f64),
            ("ce_reported", self.ce as f64),
            ("acked_bytes", (self.snd_una.min(self.write_end)).saturating_sub(1) as f64),
        ])
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
mod tests {
    use super::*;

    // KAT cc.md §9 #62
    #[test]
    fn idle_restart_halves_once_per_timeout_down_to_the_initial_window() {
        let rto = Dur::from_millis(300);
        assert_eq!(cwnd_after_idle(80, 10, Dur::from_millis(1050), rto), 10);
        assert_eq!(cwnd_after_idle(80, 10, Dur::from_millis(900), rto), 20);
        assert_eq!(cwnd_after_idle(80, 10, Dur::from_millis(200), rto), 80);
    }
}
