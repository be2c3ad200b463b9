//! The one timer of the output side: retransmission timeout, tail-loss probe, reordering window.

use sojourn_cc::{State, StateChange};
use sojourn_core::{Dur, Time};

use super::input::Effects;
use super::{Sender, Timer};
use crate::tcp::prr::PrrAck;

/// Allowance for a delayed ACK when a single segment is outstanding (`TCP_RTO_MIN`).
const PROBE_DELACK: Dur = Dur::from_millis(200);
/// `TCP_TIMEOUT_MIN` in jiffies.
pub(super) const TIMEOUT_MIN: u64 = 2;

impl Sender {
    pub(super) fn arm(&mut self, timer: Timer, now: Time, jiffies: u64) {
        self.timer = timer;
        self.timer_at = self.rtt.expiry(now, jiffies);
        self.probe_set = Time::NEVER;
    }

    /// The probe after new data at `now`. Linux `tcp_write_xmit` sets it once after a run of segments, and
    /// all but the first of a run would set the same time.
    pub(super) fn probe_after_data(&mut self, now: Time) -> bool {
        if self.probe_set == now {
            return true;
        }
        let is_set = self.schedule_probe(now, false);
        if is_set && self.board.packets_out() > 1 {
            self.probe_set = now;
        }
        is_set
    }

    pub(super) fn disarm(&mut self) {
        self.timer = Timer::None;
        self.timer_at = Time::NEVER;
        self.probe_set = Time::NEVER;
    }

    pub(super) fn rearm_after_ack(&mut self, now: Time) {
        if self.board.packets_out() == 0 {
            self.disarm();
        } else if !self.schedule_probe(now, true) {
            if matches!(self.timer, Timer::Probe | Timer::Reorder) {
                self.rearm_rto_from_head(now);
            } else {
                self.rearm_rto(now);
            }
        }
    }

    /// The timeout counted from the head's transmission: what Linux's `tcp_rearm_rto` does when
    /// another timer was in its place.
    fn rearm_rto_from_head(&mut self, now: Time) {
        match self.board.head().map(|head| head.sent) {
            None => self.disarm(),
            Some(sent) => {
                let left = self.rtt.jiffies().of((sent + self.rtt.rto()).since(now)).max(1);
                self.arm(Timer::Retransmit, now, left);
            }
        }
    }

    /// RFC 6298 5.1 to 5.3.
    pub(super) fn rearm_rto(&mut self, now: Time) {
        if self.board.packets_out() == 0 {
            self.disarm();
        } else {
            self.arm(Timer::Retransmit, now, self.rtt.rto_jiffies());
        }
    }

    /// Where the receiver has no room for a segment, and nothing is under way whose acknowledgement could
    /// tell of room, the sender has to ask (RFC 9293 3.8.6.1).
    pub(super) fn await_window(&mut self, now: Time) {
        if self.timer != Timer::None || self.board.packets_out() > 0 {
            return;
        }
        let room = (self.snd_una + self.snd_wnd).saturating_sub(self.snd_nxt);
        let left = self.send_end().saturating_sub(self.snd_nxt);
        if room < left.min(self.mss.into()) {
            self.arm(Timer::Persist, now, self.rtt.rto_jiffies());
        }
    }

    /// A window probe: what was acknowledged before, which asks for an acknowledgement (Linux
    /// `tcp_xmit_probe_skb`).
    pub(super) fn on_persist_timeout(&mut self, now: Time) {
        self.rearm_rto(now);
        if self.board.packets_out() == 0 {
            self.rtt.back_off();
            self.sent.is_new = false;
            self.handshake.segment = Some(self.probe_of_window(now));
        }
    }

    /// RFC 8985 7.2; Linux `tcp_schedule_loss_probe`. The probe is not later than the retransmission timeout would be,
    /// which counts from now if an ACK `advances` the window, else from when the oldest segment was sent.
    pub(super) fn schedule_probe(&mut self, now: Time, advances: bool) -> bool {
        let allowed = matches!(self.state, State::Open | State::Cwr)
            && self.board.packets_out() > 0
            && self.board.sacked == 0;
        if !allowed {
            return false;
        }
        let jiffies = self.rtt.jiffies();
        let mut timeout = self.rtt.double_srtt();
        if self.rtt.srtt() > Dur::ZERO {
            let alone = self.board.packets_out() == 1;
            timeout += if alone { jiffies.of(PROBE_DELACK) } else { TIMEOUT_MIN };
        }
        let rto = self.rtt.rto_jiffies();
        let left = match self.board.head() {
            Some(head) if !advances => jiffies.of((head.sent + jiffies.dur(rto)).since(now)),
            _ => rto,
        };
        self.arm(Timer::Probe, now, if left > 0 { timeout.min(left) } else { timeout });
        true
    }

    /// RFC 8985 7.3; Linux `tcp_send_loss_probe`: one retransmission at most is under way, and since 5.9 one probe.
    pub(super) fn on_probe_timeout(&mut self, now: Time) {
        if self.recovery.tlp_high_seq > 0 && (self.config.probes_once() || !self.has_new_data()) {
            self.rearm_rto_from_head(now);
        } else {
            self.recovery.probe_due = self.board.packets_out() > 0;
            self.rearm_rto(now);
        }
    }

    /// RFC 6298 5.4 to 5.7 and RFC 5681 3.1; Linux `tcp_retransmit_timer` and `tcp_enter_loss`.
    /// ssthresh falls once per episode: repeated timeouts say nothing new.
    pub(super) fn on_retransmission_timeout(&mut self, now: Time) {
        if !self.handshake.done {
            self.on_syn_timeout(now);
            return;
        }
        self.recovery.timeouts += 1;
        let first_of_episode = self.state <= State::Disorder
            || self.snd_una >= self.recovery.high_seq
            || (self.state == State::Loss && self.recovery.timeout_streak == 0);
        self.recovery.timeout_streak += 1;
        // RFC 5682 3, step 1.
        let watch =
            self.config.frto && (self.state < State::Recovery || self.recovery.timeout_streak > 1);
        if first_of_episode {
            let prior = self.current_ssthresh();
            self.recovery.undo.begin(self.snd_una, self.board.retransmitted, Some(prior));
            self.win.prior_cwnd = self.win.cwnd;
            self.win.prior_ssthresh = self.win.ssthresh;
            let path = self.path();
            self.win.ssthresh = self.cc.ssthresh(now, &path, &self.win);
        }
        let (cc, win, rate) = (&mut self.cc, &self.win, &mut self.rate);
        self.recovery.rack.mark_on_timeout(now, &mut self.board, |tx| {
            cc.on_lost(now, &rate.segment_lost(tx), win);
        });
        self.win.cwnd = self.board.in_flight() + 1;
        self.win.cwnd_cnt = 0;
        self.usage.stamp = now;
        let change = StateChange { from: self.state, to: State::Loss };
        self.state = State::Loss; // a repeated timeout is an event of its own
        let path = self.path();
        self.cc.on_state(now, change, &path, &mut self.win);
        self.recovery.high_seq = self.snd_nxt;
        self.recovery.tlp_high_seq = 0;
        self.recovery.undo.timed_out(watch);
        self.ecn.cwr_pending = self.echoes_in_flags(); // tcp_enter_loss
        self.rtt.back_off();
        self.arm(Timer::Retransmit, now, self.rtt.rto_jiffies());
    }

    /// Linux `tcp_rack_reo_timeout`.
    pub(super) fn on_reorder_timeout(&mut self, now: Time) {
        let window = self.reordering_window();
        let (cc, win, rate) = (&mut self.cc, &self.win, &mut self.rate);
        let found = self.recovery.rack.detect(now, &mut self.board, window, |tx| {
            cc.on_lost(now, &rate.segment_lost(tx), win);
        });
        self.await_reordering(now, found.wait);
        if found.lost > 0 && self.state != State::Recovery {
            self.enter_recovery(now, &Effects::default());
            if !self.needs.owns_cwnd {
                let ack = PrrAck {
                    newly_delivered: 1,
                    in_flight: self.board.in_flight(),
                    retransmit_lost: found.retransmission_lost,
                    ..PrrAck::default()
                };
                if let Some(cwnd) = self.recovery.prr.cwnd(ack, self.win.ssthresh) {
                    self.win.cwnd = cwnd;
                }
            }
        }
        if found.wait.is_none() {
            self.rearm_rto_from_head(now);
        }
    }
}
