//! From the first message to the open connection: a control connection's round trips, SYN, SYN/ACK.

use sojourn_cc::Feedback;
use sojourn_core::{Dur, Ecn, Time};

use super::write_queue::WriteQueue;
use super::{Sender, Timer, needs};
use crate::tcp::ecn::{Negotiation, Role, codepoint};
use crate::tcp::segment::{FRESH_COUNTERS, Flags, Segment};

/// SYNs that ask for AccECN before one does not (RFC 9768 3.1.4, Linux 7.2).
const SYNS_WITH_ACCECN: u32 = 2;
/// SYNs that ask for other ECN: no repeated one (RFC 3168 6.1.1.1, Linux `tcp_ecn_clear_syn`).
const SYNS_WITH_ECN: u32 = 1;
/// At most one in this time (`tcp_invalid_ratelimit`).
const CHALLENGE_GAP: Dur = Dur::from_millis(500);
/// Least payload of a full segment, with all options (Linux `tcp_min_snd_mss`).
const LEAST_MSS: u32 = 48 + 40;
/// Headers of IPv4 and TCP without options.
const IP_AND_TCP: u32 = 40;

impl Sender {
    /// The next step towards an open connection: a message of the control connection, or the SYN.
    pub(super) fn open(&mut self, now: Time) {
        if self.handshake.control_left == 0 {
            self.send_syn(now);
            return;
        }
        self.handshake.segment = Some(Segment {
            seq: u64::from(self.handshake.control_left),
            flags: Flags { control: true, ..Flags::default() },
            tsval: now,
            tsecr: Time::NEVER,
            ..Segment::default()
        });
        self.arm(Timer::Retransmit, now, self.rtt.rto_jiffies());
    }

    /// The feedback that a SYN asks for now. Where SYNs were lost, a middlebox may be the reason that drops
    /// those with ECN (`tcp_ecn_fallback`).
    fn wish(&self) -> Feedback {
        let (asked, most) = self.asked();
        if self.handshake.syn_timeouts < most { asked } else { Feedback::None }
    }

    /// What the codepoint of a SYN follows. DCTCP sets the socket's, which a SYN without ECN's flags has, too.
    pub(super) fn mode_of_syn(&self) -> Feedback {
        match self.asked() {
            (Feedback::Dctcp, _) => Feedback::Dctcp,
            _ => self.wish(),
        }
    }

    /// The feedback that the first SYN asks for, and how many of them.
    pub(super) fn asked(&self) -> (Feedback, u32) {
        match self.config.ecn {
            Feedback::Rfc3168 if self.needs.accecn_only => (Feedback::AccEcn, SYNS_WITH_ACCECN),
            Feedback::AccEcn => (Feedback::AccEcn, SYNS_WITH_ACCECN),
            configured => (configured, SYNS_WITH_ECN),
        }
    }

    /// A SYN was not answered in time. The first few times the next one waits no longer (`tcp_syn_linear_timeouts`).
    pub(super) fn on_syn_timeout(&mut self, now: Time) {
        let is_syn = self.handshake.control_left == 0;
        self.handshake.syn_timeouts += u32::from(is_syn);
        if !is_syn || self.handshake.syn_timeouts > self.config.linear_syn_timeouts() {
            self.rtt.back_off();
        }
        self.open(now);
    }

    /// The answer to a repeated SYN is one to the first (Linux `tcp_try_undo_spurious_syn`).
    fn is_of_first_syn(&self, echo: Time) -> bool {
        echo != Time::NEVER && echo.0 / 1_000_000 == self.handshake.first_syn.0 / 1_000_000
    }

    fn send_syn(&mut self, now: Time) {
        self.handshake.segment = Some(Segment {
            flags: Flags { syn: true, ..Flags::default() },
            ace: Negotiation::syn(self.wish()),
            tsval: now,
            tsecr: Time::NEVER,
            ..Segment::default()
        });
        self.handshake.syn_sent = now;
        if self.handshake.syn_timeouts == 0 {
            self.handshake.first_syn = now;
        }
        self.arm(Timer::Retransmit, now, self.rtt.rto_jiffies());
    }

    /// The round trip of the handshake; after a repeated SYN only the echo says which one was answered
    /// (RFC 6298 3).
    fn handshake_rtt(&self, now: Time, echo: Time) -> Option<Dur> {
        match self.handshake.syn_timeouts {
            0 => Some(now.since(self.handshake.syn_sent)),
            _ => (echo != Time::NEVER).then(|| now.since(echo)),
        }
    }

    /// The send buffer.
    fn open_buffer(&mut self) {
        if !self.config.tso_buffers {
            return;
        }
        // `bbr_sndbuf_expand`, and what the others have.
        let windows = if self.needs.owns_cwnd { 3 } else { 2 };
        let (mss, most) = (self.mss.into(), self.config.wmem_max.0);
        self.app.queue = WriteQueue::new(self.snd_nxt, self.snd_wnd, mss, windows, most);
    }

    /// What the peer's SYN says of it (RFC 9293 3.7.1, RFC 7323 3.2); a size below that of Linux's
    /// `tcp_min_snd_mss` would leave no room for data beside options.
    fn learn_peer(&mut self, syn: &Segment) {
        if syn.gso_size > 0 {
            let mss = syn.gso_size.max(LEAST_MSS);
            self.config.mtu = self.config.mtu.min(mss + IP_AND_TCP);
        }
        self.config.timestamps &= syn.tsval != Time::NEVER;
    }

    pub(super) fn on_syn_ack(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        if !segment.flags.ack || segment.ack != 1 {
            return;
        }
        if self.handshake.done {
            self.challenge(now);
            return;
        }
        // The first SYN may be the one that is answered, though the last one asked for nothing (`tcp_ecn_rcv_synack`).
        let (asked, _) = self.asked();
        self.begin(now, segment, Negotiation::conclude(asked, segment.ace));
        // Linux tcp_enter_loss queues it, at SYNs, too.
        self.ecn.cwr_pending = self.handshake.syn_timeouts > 0 && self.echoes_in_flags();
        let sent = codepoint(Role::Syn, asked, self.needs, self.config.ecn_plus_plus);
        self.ecn.not_ect =
            self.ecn.feedback == Feedback::AccEcn && !Negotiation::is_plausible(sent, segment.ace);
        self.snd_wnd = segment.window.into();
        self.tsecr = segment.tsval;
        let rtt = self.handshake_rtt(now, segment.tsecr);
        // RFC 5681 3.1, Linux `tcp_init_transfer`.
        if self.handshake.syn_timeouts > 1 && !self.is_of_first_syn(segment.tsecr) {
            self.win.cwnd = 1;
        }
        let syn_marked =
            self.ecn.feedback == Feedback::AccEcn && segment.ace == Negotiation::reflect(Ecn::Ce);
        if self.config.ecn_plus_plus && syn_marked {
            self.win.cwnd = 1; // the start is not clean (draft-ietf-tcpm-generalized-ecn)
        }
        self.establish(now, rtt);
        // The third ACK reflects the codepoint of the SYN/ACK, and has an option (RFC 9768 3.2.2.1, 3.2.3.2.1).
        self.handshake.segment = Some(Segment {
            seq: 1,
            ack: 1,
            flags: Flags { ack: true, ..Flags::default() },
            ace: if self.ecn.feedback == Feedback::AccEcn { Negotiation::reflect(ecn) } else { 0 },
            tsval: now,
            tsecr: segment.tsval,
            accecn: self.sends_accecn_option().then_some(FRESH_COUNTERS),
            ..Segment::default()
        });
    }

    /// The peer, whose `syn` was answered, has the answer: `segment` shows it. The receiving half has agreed on the feedback
    /// and measured the handshake.
    pub(in crate::tcp) fn accept(
        &mut self,
        now: Time,
        (syn, segment): (&Segment, &Segment),
        (feedback, not_ect, rtt): (Feedback, bool, Option<Dur>),
    ) {
        self.begin(now, syn, feedback);
        self.ecn.not_ect = not_ect;
        self.snd_wnd = segment.window.into();
        self.tsecr = segment.tsval;
        self.establish(now, rtt);
    }

    /// The connection is open, and what the peer's SYN said is known.
    fn begin(&mut self, now: Time, syn: &Segment, agreed: Feedback) {
        self.handshake.done = true;
        self.learn_peer(syn);
        self.ecn.feedback = match agreed {
            Feedback::Rfc3168 if self.needs.accecn_only => Feedback::None,
            agreed => agreed,
        };
        self.snd_una = 1;
        self.snd_nxt = 1;
        self.recovery.high_seq = 1;
        self.timer = Timer::None;
        self.timer_at = Time::NEVER;
        self.usage.stamp = now;
    }

    /// Data may leave (Linux `tcp_init_transfer`).
    fn establish(&mut self, now: Time, rtt: Option<Dur>) {
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt, 1, 1);
            self.rtt.sample_min(rtt, now.0 / 1000);
        }
        let path = self.path();
        self.predict_ack();
        self.cc.on_established(now, &path, &mut self.win);
        self.needs = needs(&self.config, &*self.cc);
        self.update_output();
        self.open_buffer();
    }

    /// The answer to a SYN/ACK of the open connection (RFC 5961 4.2, Linux `tcp_send_challenge_ack`).
    fn challenge(&mut self, now: Time) {
        if now >= self.handshake.rests {
            self.handshake.rests = now + CHALLENGE_GAP;
            self.handshake.segment = Some(self.pure_ack(now, self.snd_nxt));
        }
    }
}
