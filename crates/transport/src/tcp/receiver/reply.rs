//! Acknowledgements of an end that sends data, too: piggybacked on those, and waiting for them where each answers the other
//! (Linux `tcp_event_data_sent`, pingpong mode).

use sojourn_cc::Feedback;
use sojourn_core::{Dur, Time};

use super::Receiver;
use super::window::DynamicWindow;
use crate::tcp::segment::Segment;

impl Receiver {
    /// This end asks for the connection.
    pub(in crate::tcp) fn ask(&mut self) {
        self.window = DynamicWindow::asking(&self.config, self.mss);
    }

    /// Whether the answer to a SYN is not acknowledged yet.
    pub(in crate::tcp) fn is_asked(&self) -> bool {
        self.request.is_some()
    }

    /// Whether the peer has closed, and all is here.
    pub(in crate::tcp) fn is_closed(&self) -> bool {
        self.fin.is_some_and(|fin| self.rcv_nxt >= fin)
    }

    /// The feedback that was agreed on, whether the path spoils ECN, and the round trip of the handshake if one was
    /// measured.
    pub(in crate::tcp) fn agreed(&self) -> (Feedback, bool, Option<Dur>) {
        let rtt = self.handshake_rtt;
        (self.ecn.mode(), self.not_ect, (rtt > Dur::ZERO).then_some(rtt))
    }

    /// The window that a SYN shows.
    pub(in crate::tcp) fn first_window(&self) -> u32 {
        self.window.shown()
    }

    /// What this end's own data show of the path: timeout in jiffies, and smoothed round trip.
    pub(in crate::tcp) fn learn_path(&mut self, rto: u64, srtt: Dur) {
        self.rto = rto;
        self.bound_delay(srtt);
    }

    /// A segment without data has arrived: its timestamp is news (RFC 7323 4.3).
    pub(in crate::tcp) fn on_pure_ack(&mut self, segment: &Segment) {
        let newer = self.echo == Time::NEVER || segment.tsval >= self.echo;
        if segment.seq <= self.acked && newer && segment.tsval != Time::NEVER {
            self.echo = segment.tsval;
        }
    }

    /// What a segment that leaves now says of what has arrived. With `data` it is a reply if what has arrived is not
    /// older than a delayed ACK would be.
    pub(in crate::tcp) fn piggyback(&mut self, now: Time, data: bool) -> Segment {
        // Only what waited to be acknowledged uses a quick ACK up (`tcp_dec_quickack_mode`).
        let (quick, waits) = (self.quick, self.rcv_nxt > self.acked || self.ack_now);
        let ack = self.acknowledge(now);
        if !waits {
            self.quick = quick;
        }
        if data {
            self.note_reply(self.jiffies.at(now));
        } else {
            self.acks += 1; // of the handshake, or a probe
        }
        ack
    }

    /// Linux `tcp_event_data_sent`. Before 6.0 only the first segment of each reply counts.
    fn note_reply(&mut self, now: u64) {
        let is_reply = now - self.last_arrival < self.ato;
        if is_reply && (self.config.counts_all_replies() || self.last_reply < self.last_arrival) {
            self.replies = self.replies.saturating_add(1);
        }
        self.last_reply = now;
    }

    /// Linux `inet_csk_in_pingpong_mode`.
    pub(super) fn is_interactive(&self) -> bool {
        self.replies >= self.config.interactive_after()
    }

    /// No data took the ACK along in time (`tcp_delack_timer_handler`).
    pub(super) fn on_late_ack(&mut self) {
        if self.is_interactive() {
            self.replies = 0;
            self.ato = self.ato_min;
        } else {
            self.ato = (self.ato * 2).min(self.rto);
        }
    }
}
