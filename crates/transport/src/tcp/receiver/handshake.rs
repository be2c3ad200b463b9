//! The answering end's handshake: the SYN/ACK, its repetitions, and what follows once the peer's answer is there
//! (RFC 9293 3.10.7, RFC 6298 5.7). Linux 7.2: `tcp_conn_request`, `tcp_check_req`, `reqsk_timer_handler`.

use std::mem;

use sojourn_cc::Feedback;
use sojourn_core::{Dur, Ecn, Time};

use super::Receiver;
use crate::tcp::ecn::{EcnReceiver, Negotiation};
use crate::tcp::segment::{FRESH_COUNTERS, Flags, Segment};

/// Timeouts of a request that repeat the SYN/ACK (`tcp_synack_retries`).
const MOST_TIMEOUTS: u32 = 5;
/// Repeated SYNs are answered once in this time at most (`tcp_invalid_ratelimit`).
const ANSWER_GAP: Dur = Dur::from_millis(500);
/// `TCP_RTO_MIN`.
const RTO_MIN: Dur = Dur::from_millis(200);
/// `TCP_DELACK_MAX`.
const DELACK_MAX: Dur = Dur::from_millis(200);

/// A connection that was asked for (`request_sock`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// What answers the SYN. It echoes the first one's timestamp, whichever is repeated.
    answer: Segment,
    answered: Time,
    repeated: u32,
    timeouts: u32,
    timer: Time,
    /// Until when no repeated SYN is answered.
    rests: Time,
}

impl Request {
    pub(super) fn timer(&self) -> Time {
        self.timer
    }
}

impl Receiver {
    pub(super) fn on_syn(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        match &mut self.request {
            None if self.open => self.ack_now = true, // Linux tcp_send_challenge_ack: the connection is open
            None => self.create_request(now, segment, ecn),
            Some(request) if now < request.rests => {}
            Some(request) => {
                request.rests = now + ANSWER_GAP;
                self.repeat_answer(now);
            }
        }
    }

    fn create_request(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        let (mode, ace) = Negotiation::answer(self.config.ecn, segment.ace, ecn);
        self.begin(segment, mode);
        let option = self.config.accecn_option;
        let answer = Segment {
            flags: Flags { syn: true, ack: true, ..Flags::default() },
            ack: 1,
            ace,
            window: self.window.shown(),
            tsval: now,
            tsecr: segment.tsval,
            ..Segment::default()
        };
        // RFC 9768 3.2.3.2.2: a SYN/ACK has the option, but where it may have been lost for that.
        let tries_option = option && mode == Feedback::AccEcn;
        self.pending = Some(Segment { accecn: tries_option.then_some(FRESH_COUNTERS), ..answer });
        let timer = self.jiffies.expiry(now, self.jiffies.second());
        let (answered, rests) = (now, Time::ZERO);
        self.request = Some(Request { answer, answered, repeated: 0, timeouts: 0, timer, rests });
    }

    /// The peer's SYN or SYN/ACK has arrived, and the feedback is agreed on.
    pub(in crate::tcp) fn begin(&mut self, syn: &Segment, mode: Feedback) {
        let (option, edges) = (self.config.accecn_option, self.config.accecn_edge_acks);
        self.ecn = EcnReceiver::new(mode, option, edges, self.config.sce_feedback);
        self.open = true;
        if syn.gso_size > 0 {
            self.mss = self.mss.min(syn.gso_size);
        }
        self.rcv_nxt = 1;
        self.acked = 1;
        self.echo = syn.tsval;
    }

    /// The SYN/ACK again. The second time ECN may be why it does not arrive (RFC 9768 3.1.4; 7.0 `tcp_ecn_make_synack`).
    fn repeat_answer(&mut self, now: Time) {
        let Some(request) = &mut self.request else { return };
        request.repeated += 1;
        if request.repeated > 1 && self.config.answers_without_ecn() {
            request.answer.ace = 0;
        }
        self.pending = Some(Segment { tsval: now, ..request.answer });
        let wait = self.jiffies.second() << request.timeouts;
        request.timer = self.jiffies.expiry(now, wait);
    }

    pub(super) fn on_request_timer(&mut self, now: Time) {
        let Some(request) = self.request.as_mut().filter(|request| request.timer <= now) else {
            return;
        };
        request.timer = Time::NEVER;
        request.timeouts += 1;
        if request.timeouts <= MOST_TIMEOUTS {
            self.repeat_answer(now);
        }
    }

    /// The peer has the SYN/ACK.
    pub(in crate::tcp) fn conclude(&mut self, now: Time) {
        let Some(request) = mem::take(&mut self.request) else { return };
        if request.repeated > 0 {
            return; // which one it answers is not known (`tcp_synack_rtt_meas`)
        }
        self.handshake_rtt = now.since(request.answered);
        let rtt = self.handshake_rtt;
        // tcp_rtt_estimator: thrice the first sample, or 200 ms more than that (RFC 6298 2.2).
        self.rto = self.jiffies.of(rtt + (rtt * 2).max(RTO_MIN)).max(1);
        self.bound_delay(rtt);
    }

    /// ACKs are delayed for no longer than a round trip, which is `srtt` (`tcp_send_delayed_ack`).
    pub(super) fn bound_delay(&mut self, srtt: Dur) {
        self.ato_max = self.jiffies.of(srtt).clamp(self.ato_min, self.jiffies.of(DELACK_MAX));
    }
}
