//! What an acknowledgement does: scoreboard, ECN, RTT, then recovery and the controller, in the order
//! of Linux's `tcp_ack`.

use sojourn_cc::{AckEvent, Feedback, Signal, State};
use sojourn_core::{Dur, Time};

use super::Sender;
use crate::tcp::ecn::Progress;
use crate::tcp::segment::{AE, ECE, Segment};

/// Marks that take the ACE field from its initial 5 to 0.
const MARKS_TO_ZERO: u32 = 3;
/// Marks after which the ACE field repeats.
const ACE_VALUES: u32 = 8;

/// What the current acknowledgement has done so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effects {
    pub(super) una_advanced: bool,
    /// `snd_una` before.
    pub(super) prior_una: u64,
    pub(super) data_acked: bool,
    pub(super) data_sacked: bool,
    /// Congestion experienced was echoed (ECE, or a new CE count).
    pub(super) congestion: bool,
    /// Some congestion experienced was echoed (ESCE).
    pub(super) some_congestion: bool,
    pub(super) retransmit_acked: bool,
    pub(super) retransmission_lost: bool,
    pub(super) acked: u32,
    pub(super) sacked: u32,
    pub(super) acked_bytes: u64,
    pub(super) delivered_bytes: u64,
    pub(super) lost: u32,
    pub(super) ce: u32,
    /// A segment that was sent again was received twice.
    pub(super) duplicate: bool,
    /// That was the tail-loss probe.
    pub(super) probe_duplicate: bool,
    /// Sent after all ACKs so far, by its timestamp.
    pub(super) is_later: bool,
    /// RTT by the first and by the last cumulatively acknowledged segment.
    pub(super) rtt_first: Option<Dur>,
    pub(super) rtt_last: Option<Dur>,
    /// RTT by the first and by the last SACKed segment.
    pub(super) rtt_sack_first: Option<Dur>,
    pub(super) rtt_sack_last: Option<Dur>,
    pub(super) ack_delayed: bool,
    /// The timestamp that it echoes.
    pub(super) echo: Time,
    /// Data below `high_seq` that was sent once was delivered.
    pub(super) original_delivered: bool,
}

/// Linux `tcp_rtt_tsopt_us`: milliseconds that have begun since, at least one.
fn echoed_rtt(now: Time, echo: Time) -> Dur {
    Dur::from_millis((now.0 / 1_000_000).saturating_sub(echo.0 / 1_000_000).max(1))
}

/// Whether an ACK echoes a time before `sent`. Linux's timestamps count milliseconds.
pub(super) fn echoes_before(echo: Time, sent: Time) -> bool {
    let ms = |t: Time| t.0 / 1_000_000;
    echo != Time::NEVER && ms(echo) < ms(sent)
}

impl Sender {
    pub(super) fn on_ack(&mut self, now: Time, segment: &Segment) {
        if segment.ack > self.snd_nxt || self.is_overtaken(segment) {
            return;
        }
        let prior_in_flight = self.board.in_flight();
        let prior_una = self.snd_una;
        let mut fx = Effects { echo: segment.tsecr, prior_una, ..Effects::default() };
        // What lies below was overtaken, if it arrives at last (`prior_fack`).
        let prior = if self.board.sacked > 0 { self.board.highest_sacked() } else { self.snd_una };
        self.note_duplicate(segment, &mut fx);
        self.tag_sacked(now, segment, &mut fx);
        let old = segment.ack < self.snd_una;
        let mut news = None;
        if !old {
            fx.una_advanced = segment.ack > self.snd_una;
            if fx.una_advanced {
                self.recovery.timeout_streak = 0;
            }
            // Linux tcp_may_update_window: an overtaken ACK does not shrink it.
            let window_update = fx.una_advanced || u64::from(segment.window) > self.snd_wnd;
            if window_update && self.snd_wnd != u64::from(segment.window) {
                self.snd_wnd = segment.window.into();
                self.predict_ack();
            }
            let acked_bytes = segment.ack - self.snd_una;
            self.snd_una = segment.ack;
            if self.ack_events {
                news = Some((acked_bytes, window_update));
                if !self.config.counts_first() {
                    self.notify_controller(now, segment, &mut news);
                }
            }
            self.clean_acked(now, segment.ack, prior, &mut fx);
            if self.config.tso_buffers {
                self.app.queue.on_ack(self.snd_una, self.snd_wnd);
            }
        }
        fx.is_later = self.tsecr == Time::NEVER || echoes_before(self.tsecr, segment.tsval);
        if self.tsecr == Time::NEVER || segment.tsval > self.tsecr {
            self.tsecr = segment.tsval; // RFC 7323 4.3: an overtaken ACK does not set the clock back
        }
        self.read_ecn(segment, old, &mut fx);
        self.update_rtt(now, segment, &mut fx);
        if let Some(sampled) = self.rate.sampled_delivered() {
            self.recovery.rack.update_window(sampled, self.rate.delivered);
        }
        self.notify_controller(now, segment, &mut news);
        self.process_probe_ack(now, segment.ack, &fx);
        let dubious = !fx.una_advanced
            || fx.data_sacked
            || fx.duplicate
            || fx.congestion
            || self.state != State::Open;
        if fx.data_acked || (!old && self.sack_is_of_older_data(now, &fx)) {
            self.rearm_after_ack(now);
        }
        if dubious {
            self.state_machine(now, &mut fx);
        }
        let newly = fx.acked + fx.sacked;
        let sample = self.rate.finish(now, newly, self.rtt.min_rtt(), fx.ack_delayed);
        self.control_congestion(now, &fx, sample, prior_in_flight);
    }

    /// A SACK of data that were sent before the head was (again) sent puts off the timeout: the head's answer is not
    /// due before. One of later data does not, or the timeout would never end (Linux `tcp_clean_rtx_queue` since 4.13).
    fn sack_is_of_older_data(&self, now: Time, fx: &Effects) -> bool {
        let head = self.board.head().map(|head| now.since(head.sent));
        fx.rtt_sack_first.zip(head).is_some_and(|(sack, head)| sack > head)
    }

    /// RFC 7323 5.3, except for duplicate ACKs that do not move the window (Linux `tcp_disordered_ack`).
    /// The answers, two a second at most, bring the peer nothing and are left out.
    fn is_overtaken(&self, segment: &Segment) -> bool {
        let repeats = segment.ack == self.snd_una && u64::from(segment.window) <= self.snd_wnd;
        self.config.checks_timestamps() && !repeats && segment.is_before(self.tsecr)
    }

    /// Linux `tcp_in_ack_event`, once for each ACK: the bytes that it acknowledges, and whether it updates the window.
    fn notify_controller(&mut self, now: Time, segment: &Segment, news: &mut Option<(u64, bool)>) {
        let Some((acked_bytes, window_update)) = news.take() else { return };
        let path = self.path();
        let event = AckEvent {
            path: &path,
            acked_bytes,
            window_update,
            ece: self.echoes_in_flags() && segment.ace & ECE != 0,
            esce: self.ecn.feedback == Feedback::Sce && segment.ace & AE != 0,
        };
        self.cc.on_ack_event(now, &event, &mut self.win);
    }

    /// Linux `tcp_sacktag_write_queue`; an original delivered below a SACK was reordered
    /// (`tcp_check_sack_reordering`).
    pub(super) fn tag_sacked(&mut self, now: Time, segment: &Segment, fx: &mut Effects) {
        if segment.sack.is_empty() {
            return;
        }
        let before = self.board.highest_sacked();
        let min_rtt = self.rtt.min_rtt();
        let high_seq = self.recovery.high_seq;
        let may_be_late = self.state != State::Loss || self.recovery.undo.is_possible();
        let (rack, rate) = (&mut self.recovery.rack, &mut self.rate);
        self.board.tag_sacked(segment.sack.holes_above(), |s| {
            rate.segment_delivered(&s.tx, s.sent, s.end());
            s.tx.consumed = true;
            rack.delivered(now, s, min_rtt);
            if !s.ever_retransmitted {
                if s.end() < before && may_be_late {
                    let distance = (before - s.seq) / u64::from(s.len.max(1));
                    rack.saw_reordering(distance as u32);
                }
                fx.original_delivered |= s.end() <= high_seq;
                fx.rtt_sack_first.get_or_insert_with(|| now.since(s.sent));
                fx.rtt_sack_last = Some(now.since(s.sent));
            }
            fx.data_sacked = true;
            fx.sacked += 1;
            rate.delivered += 1;
            fx.delivered_bytes += u64::from(s.len);
        });
    }

    /// Linux `tcp_clean_rtx_queue`. Karn's rule (RFC 6298 3): no RTT sample from what was
    /// retransmitted. SACK blocks of earlier ACKs reach up to `prior`.
    pub(super) fn clean_acked(&mut self, now: Time, ack: u64, prior: u64, fx: &mut Effects) {
        let in_flight_before = self.board.in_flight();
        let min_rtt = self.rtt.min_rtt();
        let highest_sacked = self.board.highest_sacked();
        let mut popped = 0;
        while let Some(s) = self.board.head().filter(|s| s.end() <= ack) {
            popped += 1;
            fx.acked_bytes += u64::from(s.len);
            if s.ever_retransmitted {
                fx.retransmit_acked = true;
            } else if !s.sacked {
                fx.rtt_first.get_or_insert_with(|| now.since(s.sent));
                fx.rtt_last = Some(now.since(s.sent));
                fx.original_delivered |= s.end() <= self.recovery.high_seq;
                if s.seq < prior.min(highest_sacked) {
                    // Linux tcp_check_sack_reordering: an original filled the hole. One that this ACK's own blocks
                    // lie above did not, and one that was acknowledged in part has none above.
                    let distance = (highest_sacked - s.seq) / u64::from(s.len.max(1));
                    self.recovery.rack.saw_reordering(distance as u32);
                }
            }
            if !s.sacked {
                fx.acked += 1;
                fx.delivered_bytes += u64::from(s.len);
                self.rate.delivered += 1;
                self.rate.segment_delivered(&s.tx, s.sent, s.end());
                // Linux tcp_skb_spurious_retrans: the ACK answers the original.
                let by_original = self.config.timestamps
                    && s.ever_retransmitted
                    && echoes_before(fx.echo, s.sent);
                if !by_original {
                    self.recovery.rack.delivered(now, s, min_rtt);
                }
            }
            self.board.pop();
        }
        fx.data_acked = popped > 0;
        if fx.retransmit_acked {
            fx.rtt_first = None;
            fx.rtt_last = None;
        }
        fx.ack_delayed = popped == 1 && in_flight_before == 1;
    }

    /// The marks that an ACK reports: ACE (RFC 9768 3.2.2), ECE (RFC 3168 6.1.2, RFC 8257 3.3) or
    /// ESCE (draft-grimes-tcpm-tcpsce).
    pub(super) fn read_ecn(&mut self, segment: &Segment, old: bool, fx: &mut Effects) {
        match self.ecn.feedback {
            Feedback::AccEcn => {
                let segments = fx.acked + fx.sacked;
                if segments == 0 && !fx.is_later {
                    return; // nothing new: possibly a reordered old ACK
                }
                // RFC 9768 3.2.2.4: the first ACE after the handshake is not 0. It may be where more
                // segments could have been marked than the counter counts to.
                let zeroed = *self
                    .ecn
                    .ace_is_zeroed
                    .get_or_insert(segment.ace == 0 && segments < MARKS_TO_ZERO);
                if zeroed {
                    self.ecn.not_ect = true;
                    return;
                }
                if self.config.ace_prediction && self.is_predicted(segment, segments) {
                    return;
                }
                let progress = Progress { segments, bytes: fx.delivered_bytes, mss: self.mss };
                fx.ce = self.ecn.accecn.decode(segment.ace, segment.accecn, progress);
                self.rate.delivered_ce += u64::from(fx.ce);
                self.ecn.ce += u64::from(fx.ce);
                fx.congestion = fx.ce > 0;
            }
            Feedback::Rfc3168 | Feedback::Dctcp | Feedback::Sce => {
                // Linux tcp_ack reads ECE only of ACKs that are not older than snd_una.
                fx.congestion = segment.ace & ECE != 0 && !old;
                if fx.congestion {
                    fx.ce = fx.acked + fx.sacked;
                    self.rate.delivered_ce += u64::from(fx.ce);
                    self.ecn.ce += u64::from(fx.ce);
                }
                if self.ecn.feedback == Feedback::Sce && segment.ace & AE != 0 && !old {
                    fx.some_congestion = true;
                    self.ecn.sce += u64::from(fx.acked + fx.sacked);
                }
            }
            Feedback::None | Feedback::Ccfb | Feedback::Counters => {}
        }
    }

    /// The only place where the L4S tree of April 2020 makes a new prediction (`tcp_ack_update_window`): with the ACE of
    /// the marks reported so far, to which later ones add nothing.
    #[cold]
    pub(super) fn predict_ack(&mut self) {
        if self.config.ace_prediction {
            self.ecn.predicted_ace = self.ecn.accecn.expected_ace();
        }
    }

    /// An ACK as predicted, with the timestamps as its only option, takes the fast path of `tcp_rcv_established`, where
    /// `__tcp_accecn_process` reads the counter only if it could have wrapped. Cold, since no era asks.
    #[cold]
    fn is_predicted(&self, segment: &Segment, segments: u32) -> bool {
        segment.ace == self.ecn.predicted_ace
            && segments < ACE_VALUES
            && segment.sack.is_empty()
            && segment.accecn.is_none()
    }

    /// Linux `tcp_ack_update_rtt`: from the segments themselves, else, of what was sent again, from the echoed timestamp.
    /// That counts milliseconds, so that it may be less than the path takes, and is the minimum then.
    pub(super) fn update_rtt(&mut self, now: Time, segment: &Segment, fx: &mut Effects) {
        let mut smoothed = fx.rtt_first.or(fx.rtt_sack_first);
        fx.rtt_last = fx.rtt_sack_last.or(fx.rtt_last);
        let is_echoed = self.config.timestamps && segment.tsecr != Time::NEVER;
        if smoothed.is_none() && fx.data_acked && is_echoed {
            smoothed = Some(echoed_rtt(now, segment.tsecr));
            fx.rtt_last = smoothed;
        }
        if let Some(newest) = fx.rtt_last {
            self.rtt.sample_min(newest, now.0 / 1000);
        }
        if let Some(rtt) = smoothed {
            self.rtt.sample(rtt, self.snd_una, self.snd_nxt);
        }
    }

    /// RFC 8985 7.4, Linux `tcp_process_tlp_ack`: a probe that repaired a loss costs one reduction.
    pub(super) fn process_probe_ack(&mut self, now: Time, ack: u64, fx: &Effects) {
        if self.recovery.tlp_high_seq == 0 || ack < self.recovery.tlp_high_seq {
            return;
        }
        if !self.recovery.tlp_retransmits {
            self.recovery.tlp_high_seq = 0; // new data, which say nothing of a loss
        } else if fx.probe_duplicate {
            self.recovery.tlp_high_seq = 0; // both copies arrived: nothing was lost
        } else if ack > self.recovery.tlp_high_seq {
            self.begin_reduction(now, Signal::Loss, fx);
            self.set_state(now, State::Cwr);
            self.end_reduction();
            self.keep_open(now);
        } else if !fx.una_advanced && !fx.data_sacked {
            self.recovery.tlp_high_seq = 0; // a pure duplicate: the probe was redundant
        }
    }
}

#[cfg(test)]
mod tests;
