//! The congestion state machine (Linux 5.4 `tcp_fastretrans_alert` with RACK), reductions, and the
//! step that lets the controller act.

use sojourn_cc::{Ack, Path, RateSample, Signal, State, StateChange, Window};
use sojourn_core::{Dur, Time};

use super::input::Effects;
use super::output::MIN_TSO_SEGMENTS;
use super::timers::TIMEOUT_MIN;
use super::{Sender, Timer};
use crate::tcp::prr::{Prr, PrrAck};
use crate::tcp::segment::ACCECN_OPTION;

impl Sender {
    /// Linux `tcp_fastretrans_alert` with RACK.
    pub(super) fn state_machine(&mut self, now: Time, fx: &mut Effects) {
        if fx.congestion {
            self.recovery.undo.keep_reduction();
        }
        if self.state != State::Open && self.snd_una >= self.recovery.high_seq {
            match self.state {
                // CWR lasts until something beyond high_seq is acknowledged.
                State::Cwr if self.snd_una > self.recovery.high_seq => {
                    self.end_reduction();
                    self.set_state(now, State::Open);
                }
                State::Recovery => {
                    self.recovery.rack.recovered();
                    self.undo_at_end(now, fx);
                    self.end_reduction();
                    self.set_state(now, State::Open);
                }
                _ => {}
            }
        }
        match self.state {
            State::Recovery => {
                if fx.una_advanced && self.undo_partial(now, fx) || self.undo_recovery(now) {
                    return;
                }
                self.identify_losses(now, fx);
                // Late originals end a recovery; what is lost besides begins the next (5.14).
                if self.state != State::Recovery && self.board.lost > 0 {
                    self.enter_recovery(now, fx);
                }
                return;
            }
            State::Loss => {
                self.process_loss(now, fx);
                self.identify_losses(now, fx);
                if self.state != State::Open && !fx.retransmission_lost {
                    return;
                }
            }
            _ => {}
        }
        if self.state <= State::Disorder {
            self.undo_by_duplicates(now);
        }
        self.identify_losses(now, fx);
        if self.board.lost > 0 {
            self.enter_recovery(now, fx);
        } else {
            if fx.congestion {
                self.enter_cwr(now, fx);
            }
            if self.state != State::Cwr {
                self.keep_open(now);
            }
        }
    }

    /// Linux `tcp_identify_packet_loss`.
    pub(super) fn identify_losses(&mut self, now: Time, fx: &mut Effects) {
        let window = self.reordering_window();
        let (cc, win, rate) = (&mut self.cc, &self.win, &mut self.rate);
        let found = self.recovery.rack.detect_if_advanced(now, &mut self.board, window, |tx| {
            cc.on_lost(now, &rate.segment_lost(tx), win);
        });
        self.await_reordering(now, found.wait);
        fx.lost += found.lost;
        fx.retransmission_lost |= found.retransmission_lost;
    }

    pub(super) fn reordering_window(&self) -> Dur {
        self.recovery.rack.window(
            self.state >= State::Recovery,
            self.board.sacked,
            self.rtt.min_rtt(),
            self.rtt.srtt(),
        )
    }

    /// Looks again when the next segment is overdue (RFC 8985 6.2, step 5; Linux `tcp_rack_mark_lost`).
    pub(super) fn await_reordering(&mut self, now: Time, wait: Option<Dur>) {
        if let Some(wait) = wait {
            self.arm(Timer::Reorder, now, self.rtt.jiffies().of(wait) + TIMEOUT_MIN);
        }
    }

    /// Linux `tcp_enter_cwr`, RFC 3168 6.1.2: one reduction per window of data, and none for a mark
    /// while a loss is repaired.
    pub(super) fn enter_cwr(&mut self, now: Time, fx: &Effects) {
        self.recovery.undo.forbid();
        if self.state < State::Cwr {
            self.begin_reduction(now, Signal::Mark, fx);
            self.set_state(now, State::Cwr);
        }
    }

    /// Linux `tcp_enter_recovery`: a mark in the same window has paid for the loss. It follows a timeout, too, of which
    /// a repair is lost.
    pub(super) fn enter_recovery(&mut self, now: Time, fx: &Effects) {
        let reduces = !matches!(self.state, State::Cwr | State::Recovery);
        let prior = (reduces && !fx.congestion).then(|| self.current_ssthresh());
        self.recovery.undo.begin(self.snd_una, self.board.retransmitted, prior);
        if reduces {
            self.begin_reduction(now, Signal::Loss, fx);
        }
        self.set_state(now, State::Recovery);
    }

    /// Linux `tcp_init_cwnd_reduction`.
    pub(super) fn begin_reduction(&mut self, now: Time, signal: Signal, fx: &Effects) {
        self.recovery.high_seq = self.snd_nxt;
        self.recovery.tlp_high_seq = 0;
        self.win.cwnd_cnt = 0;
        self.win.prior_cwnd = self.win.cwnd;
        self.win.prior_ssthresh = self.win.ssthresh;
        let undelivered = self.board.packets_out() - self.board.sacked;
        self.recovery.prr =
            Prr::start(self.config.prr, self.win.cwnd, undelivered + fx.acked + fx.sacked);
        let path = Path { signal, ..self.path() };
        self.win.ssthresh = self.cc.ssthresh(now, &path, &self.win);
        self.ecn.cwr_pending = self.echoes_in_flags();
    }

    /// Linux `tcp_end_cwnd_reduction`.
    pub(super) fn end_reduction(&mut self) {
        let is_reduced = self.state == State::Cwr || self.recovery.undo.is_possible();
        if is_reduced && !self.needs.owns_cwnd && self.win.ssthresh < Window::INFINITE {
            self.win.cwnd = self.win.ssthresh;
        }
    }

    /// Linux `tcp_try_keep_open`.
    pub(super) fn keep_open(&mut self, now: Time) {
        let quiet = self.board.sacked + self.board.lost == 0;
        self.set_state(now, if quiet { State::Open } else { State::Disorder });
    }

    pub(super) fn set_state(&mut self, now: Time, to: State) {
        if self.state == to {
            return;
        }
        let change = StateChange { from: self.state, to };
        self.state = to;
        let path = self.path();
        self.cc.on_state(now, change, &path, &mut self.win);
    }

    /// Linux `tcp_cong_control`.
    pub(super) fn control_congestion(
        &mut self,
        now: Time,
        fx: &Effects,
        rate: Option<RateSample>,
        prior_in_flight: u32,
    ) {
        let owns = self.needs.owns_cwnd;
        let reducing = matches!(self.state, State::Cwr | State::Recovery);
        if reducing && !owns {
            let ack = PrrAck {
                newly_delivered: fx.acked + fx.sacked,
                in_flight: self.board.in_flight(),
                retransmit_acked: fx.retransmit_acked,
                retransmit_lost: fx.retransmission_lost,
                safe: fx.una_advanced && fx.lost == 0,
            };
            if let Some(cwnd) = self.recovery.prr.cwnd(ack, self.win.ssthresh) {
                self.win.cwnd = cwnd;
            }
        }
        // Linux `tcp_may_raise_cwnd`: with much reordering, SACKs are progress too.
        let raises = if self.recovery.rack.reordering > 3 {
            fx.data_acked || fx.data_sacked
        } else {
            fx.data_acked
        };
        let mut path = self.path();
        let ack = Ack {
            path: &path,
            acked: fx.acked,
            sacked: fx.sacked,
            acked_bytes: fx.acked_bytes,
            lost: fx.lost,
            ce: fx.ce,
            ect1: if fx.some_congestion { fx.acked + fx.sacked } else { 0 },
            ece: self.echoes_in_flags() && fx.congestion,
            esce: fx.some_congestion,
            rtt: fx.rtt_last,
            rate,
            prior_in_flight,
            may_raise: raises && !reducing,
            app_limited: self.snd_nxt >= self.send_end(),
            reports: &[],
        };
        self.cc.on_ack(now, &ack, &mut self.win);
        if raises && !reducing {
            self.usage.stamp = now; // tcp_cong_avoid: a window that grows is in use
        }
        // Of the path it has moved nothing but what follows from cwnd.
        path.cwnd_limited = self.is_cwnd_limited();
        self.apply_output(&path);
    }

    pub(super) fn update_output(&mut self) {
        self.apply_output(&self.path());
    }

    fn apply_output(&mut self, path: &Path) {
        let out = self.cc.output(path, &self.win);
        let rate = out.pacing_rate.unwrap_or_else(|| path.linux_pacing_rate(&self.win));
        self.pacing.rate = path.bounded(rate);
        self.pacing.burst = out.burst;
        self.pacing.least_burst = out.least_burst.unwrap_or(MIN_TSO_SEGMENTS);
        self.mss = out.mss.unwrap_or(path.mss).min(path.mss);
        if self.sends_accecn_option() {
            self.mss -= ACCECN_OPTION;
        }
        if out.app_limited {
            self.rate.app_limited(self.board.in_flight());
        }
    }
}
