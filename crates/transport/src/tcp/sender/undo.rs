//! Reductions that prove spurious: Eifel by timestamps (RFC 3522, 4015), D-SACK for every
//! retransmission (RFC 3708), and forward RTO recovery (RFC 5682 §3, SACK). What is restored, and
//! when, is Linux's (`tcp_try_undo_*`, `tcp_process_loss`).

use sojourn_cc::State;
use sojourn_core::Time;

use super::Sender;
use super::input::{Effects, echoes_before};
use crate::tcp::segment::Segment;

/// What must be known to take a reduction back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// `snd_una` when the episode began; `None` if nothing can be taken back.
    marker: Option<u64>,
    /// Retransmissions that no D-SACK has proved spurious; `None` before the first.
    unproven: Option<u32>,
    /// When the first retransmission of the episode left.
    first_retransmit: Option<Time>,
    /// ssthresh to return to; `None` if an ECN mark has justified the reduction anyway.
    prior_ssthresh: Option<u32>,
    /// F-RTO watches whether originals arrive after a timeout.
    frto: bool,
    /// F-RTO sends new data first (RFC 5682 step 2b).
    pub(super) new_data_first: bool,
    /// Reductions taken back, timeouts among them, segments that the peer received twice.
    pub(super) undone: u64,
    pub(super) spurious_timeouts: u64,
    pub(super) spurious_retransmits: u64,
    /// Segments that the peer reported as received twice, whoever sent the second copy.
    duplicates: u64,
}

impl Undo {
    /// A recovery or a timeout begins at `snd_una` with `in_flight` retransmissions of before.
    pub(super) fn begin(&mut self, snd_una: u64, in_flight: u32, prior_ssthresh: Option<u32>) {
        self.marker = Some(snd_una);
        self.unproven = (in_flight > 0).then_some(in_flight);
        self.prior_ssthresh = prior_ssthresh;
        // Recovery also repairs losses beyond its end, so retransmissions may outlive their episode:
        // their ACKs echo times before this one's first.
        if in_flight == 0 {
            self.first_retransmit = None;
        }
    }

    /// A reduction for an ECN mark begins, which nothing takes back.
    pub(super) fn forbid(&mut self) {
        self.marker = None;
        self.keep_reduction();
    }

    /// A mark has justified the running reduction.
    pub(super) fn keep_reduction(&mut self) {
        self.prior_ssthresh = None;
    }

    pub(super) fn is_possible(&self) -> bool {
        self.marker.is_some()
    }

    /// A retransmission leaves.
    pub(super) fn retransmitted(&mut self, now: Time) {
        self.first_retransmit.get_or_insert(now);
        self.unproven = Some(self.unproven.unwrap_or(0) + 1);
    }

    /// A timeout begins; `watch` if F-RTO applies (RFC 5682 step 1).
    pub(super) fn timed_out(&mut self, watch: bool) {
        self.frto = watch;
        self.new_data_first = false;
    }

    /// RFC 5682 step 2b had no new data to send: conventional recovery.
    pub(super) fn give_up_frto(&mut self) {
        self.frto = false;
        self.new_data_first = false;
    }

    /// `segments` up to `end` were received twice.
    fn prove(&mut self, end: u64, segments: u32) {
        if self.marker.is_some_and(|marker| end > marker) {
            self.unproven = self.unproven.map(|n| n.saturating_sub(segments));
        }
    }

    /// Every retransmission of the episode was received twice.
    fn all_proven(&self) -> bool {
        self.marker.is_some() && self.unproven == Some(0)
    }

    /// The ACK echoes a time before the first retransmission: an original triggered it (Linux `tcp_packet_delayed`).
    /// `if_none` is what holds as long as nothing was sent again.
    fn original_acked(&self, echo: Time, if_none: bool) -> bool {
        let answers_earlier = |first| echoes_before(echo, first);
        self.marker.is_some() && self.first_retransmit.map_or(if_none, answers_earlier)
    }
}

impl Sender {
    /// A D-SACK (RFC 2883): a segment has arrived twice (Linux `tcp_check_dsack`, `tcp_dsack_seen`).
    pub(super) fn note_duplicate(&mut self, segment: &Segment, fx: &mut Effects) {
        if !segment.sack.duplicate {
            return;
        }
        let (start, end) = segment.sack.as_slice()[0];
        let segments = (end - start).div_ceil(u64::from(self.mss));
        let of_probe = segments == 1 && self.recovery.tlp_high_seq == end;
        let undo = &mut self.recovery.undo;
        undo.duplicates += segments;
        // More than were sent again: the network makes copies, and a D-SACK says nothing of what was sent.
        if self.config.doubts_duplicates() && undo.duplicates > self.sent.again {
            return;
        }
        fx.duplicate = true;
        fx.probe_duplicate = of_probe || !self.config.doubts_duplicates();
        if self.config.doubts_duplicates() {
            // A second copy is delivered, too (5.9).
            fx.sacked += segments as u32;
            self.rate.delivered += segments;
        }
        undo.spurious_retransmits += segments;
        if !self.config.doubts_duplicates() || self.recovery.rack.reordering_seen && !of_probe {
            self.recovery.rack.saw_duplicate();
        }
        if end <= self.snd_una {
            undo.prove(end, segments as u32);
        } else {
            self.board.sent_again_in(start, end).for_each(|end| undo.prove(end, 1));
        }
    }

    fn may_undo(&self, fx: &Effects) -> bool {
        self.config.undo && (self.recovery.undo.all_proven() || self.is_original_acked(fx))
    }

    fn is_original_acked(&self, fx: &Effects) -> bool {
        self.recovery.undo.original_acked(fx.echo, self.config.undoes_unsent())
    }

    /// Linux `tcp_undo_cwnd_reduction`.
    fn take_back(&mut self, now: Time, forget_losses: bool) {
        if forget_losses {
            self.board.forget_losses();
        }
        if let Some(prior) = self.recovery.undo.prior_ssthresh {
            self.win.cwnd = self.cc.undo_cwnd(&self.win);
            if prior > self.win.ssthresh {
                self.win.ssthresh = prior;
                self.ecn.cwr_pending = false;
            }
        }
        self.usage.stamp = now;
        self.recovery.undo.marker = None;
        self.recovery.undo.undone += 1;
        self.recovery.rack.reexamine();
    }

    /// All of the episode is acknowledged: was it spurious? (`tcp_try_undo_recovery`)
    pub(super) fn undo_at_end(&mut self, now: Time, fx: &Effects) {
        if self.may_undo(fx) {
            self.take_back(now, false);
        }
    }

    /// D-SACKs have covered every retransmission (`tcp_try_undo_dsack`).
    pub(super) fn undo_by_duplicates(&mut self, now: Time) -> bool {
        let spurious = self.config.undo && self.recovery.undo.all_proven();
        if spurious {
            self.recovery.rack.saw_spurious_recovery();
            self.take_back(now, false);
        }
        spurious
    }

    /// In Recovery, an original fills the hole (`tcp_try_undo_partial`). Returns whether that is all that the ACK does:
    /// with a retransmission in flight nothing more is marked lost; else the reduction is taken back.
    pub(super) fn undo_partial(&mut self, now: Time, fx: &Effects) -> bool {
        if !self.config.undo || !self.is_original_acked(fx) {
            return false;
        }
        // `tcp_check_sack_reordering`: what fills the hole was overtaken, and not lost.
        let highest =
            if self.board.sacked > 0 { self.board.highest_sacked() } else { self.snd_una };
        let distance = (highest - fx.prior_una).div_ceil(u64::from(self.mss));
        self.recovery.rack.saw_reordering(distance as u32);
        if self.board.retransmitted > 0 {
            return true;
        }
        if self.board.head().is_none_or(|head| !head.ever_retransmitted) {
            self.recovery.undo.first_retransmit = None;
        }
        self.take_back(now, true);
        self.keep_open(now);
        !self.config.recovers_again()
    }

    /// In Recovery, D-SACKs have covered every retransmission. Returns whether that is all that the ACK does.
    pub(super) fn undo_recovery(&mut self, now: Time) -> bool {
        let undone = self.undo_by_duplicates(now);
        if undone {
            self.keep_open(now);
        }
        undone && !self.config.recovers_again()
    }

    /// After a timeout, originals turn up (`tcp_try_undo_loss`).
    fn undo_timeout(&mut self, now: Time, by_frto: bool) {
        self.take_back(now, true);
        self.recovery.undo.spurious_timeouts += 1;
        if by_frto {
            self.recovery.timeout_streak = 0;
        }
        self.recovery.undo.give_up_frto();
        self.set_state(now, State::Open);
    }

    /// An ACK in state Loss (`tcp_process_loss`).
    pub(super) fn process_loss(&mut self, now: Time, fx: &Effects) {
        let recovered = self.snd_una >= self.recovery.high_seq;
        self.recovery.undo.new_data_first = false;
        if fx.una_advanced && self.may_undo(fx) {
            return self.undo_timeout(now, false);
        }
        if self.recovery.undo.frto {
            // RFC 5682 step 3b: data that was sent once and before the timeout arrives.
            if fx.original_delivered {
                return self.undo_timeout(now, true);
            }
            if self.snd_nxt > self.recovery.high_seq {
                if fx.data_sacked {
                    self.recovery.undo.frto = false; // step 3a: the loss was real
                }
            } else if fx.una_advanced && !recovered {
                self.recovery.high_seq = self.snd_nxt;
                self.recovery.undo.new_data_first = true;
            }
        }
        if recovered {
            self.undo_at_end(now, fx);
            self.recovery.undo.give_up_frto();
            self.set_state(now, State::Open);
        }
    }

    /// What ssthresh is without the running reduction (Linux `tcp_current_ssthresh`).
    pub(super) fn current_ssthresh(&self) -> u32 {
        if matches!(self.state, State::Cwr | State::Recovery) {
            self.win.ssthresh
        } else {
            self.win.ssthresh.max((self.win.cwnd >> 1) + (self.win.cwnd >> 2))
        }
    }
}
