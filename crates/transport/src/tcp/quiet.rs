//! The direction of a connection in which no data flow: how it opens and closes, and what else a real peer
//! expects of it (RFC 9293 3.5, 3.6 and 3.10).
//!
//! The end points model one direction, that of the data. A real peer sees both: it waits for a FIN after its
//! own, repeats a SYN/ACK or FIN that was not acknowledged, asks whether the connection is still there,
//! and resets it. A [`Quiet`] stands between an end point and the wire and does this for it, so that
//! the end points are the same as in the simulator, where no peer does any of it.

use sojourn_cc::Feedback;
use sojourn_core::{Dur, Time};

use super::ecn::Negotiation;
use super::segment::{CWR, Flags, Segment};

/// First timeout of the FIN (RFC 6298 2.1), and how often it is sent (Linux `tcp_orphan_retries`).
const FIN_TIMEOUT: Dur = Dur::from_secs(1);
const FIN_TRIES: u32 = 8;
/// The window of an end to which no data come: Linux's first one on a path of 1500 bytes, and what that is
/// when it is shifted by 7.
const SYN_WINDOW: u32 = 64_240;
const WINDOW: u32 = 64_256;

/// What an end to which no data come says of its window.
pub fn quiet_window(is_syn: bool) -> u32 {
    if is_syn { SYN_WINDOW } else { WINDOW }
}

/// Which direction carries no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// This end sends the data and opened the connection.
    Incoming,
    /// This end receives them.
    Outgoing,
    /// None: the end point does everything itself.
    Neither,
}

/// What to do with a segment that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The end point has to see it.
    Pass,
    /// It was for the quiet direction only.
    Taken,
    /// Nobody here reads data: the connection is reset, as Linux does where the reader has gone.
    Refuse,
}

/// The direction without data of one connection, at one of its ends.
#[derive(Clone, Debug)]
pub struct Quiet {
    side: Side,
    /// What left last: its timestamps, acknowledgement and ECN state are those of what is sent here.
    last: Segment,
    /// Sequence number after what has left.
    sent: u64,
    /// AccECN was agreed on: the ACE field is a counter, and no flags.
    counts: bool,
    /// Latest timestamp of the peer.
    recent: Time,
    ack_due: bool,
    /// Sequence number after the peer's FIN, once it has arrived.
    peer_fin: Option<u64>,
    /// Sequence number after this end's FIN, once it has left.
    fin: Option<u64>,
    fin_acked: bool,
    fin_tries: u32,
    fin_at: Time,
}

impl Quiet {
    fn new(side: Side) -> Self {
        Self {
            side,
            last: Segment::default(),
            sent: 0,
            counts: false,
            recent: Time::NEVER,
            ack_due: false,
            peer_fin: None,
            fin: None,
            fin_acked: false,
            fin_tries: 0,
            fin_at: Time::NEVER,
        }
    }

    /// Of the end that opens the connection and sends the data.
    pub fn of_sender() -> Self {
        Self::new(Side::Incoming)
    }

    /// Of the end that receives the data.
    pub fn of_receiver() -> Self {
        Self::new(Side::Outgoing)
    }

    /// Of an end of a connection that carries data both ways. It answers probes, and knows when the connection is closed.
    pub fn of_both() -> Self {
        Self::new(Side::Neither)
    }

    /// A segment arrives.
    pub fn on_arrival(&mut self, segment: &Segment) -> Arrival {
        self.recent = segment.tsval;
        self.note_agreement(segment);
        self.fin_acked |= segment.flags.ack && self.fin.is_some_and(|end| segment.ack >= end);
        if self.fin_acked {
            self.fin_at = Time::NEVER;
        }
        match self.side {
            Side::Incoming => self.on_quiet_arrival(segment),
            Side::Outgoing | Side::Neither => {
                if segment.flags.fin {
                    self.peer_fin = Some(segment.end());
                }
                // RFC 9293 3.8.4 and 3.8.6.1: a probe repeats the last sequence number.
                let is_probe = segment.end() == segment.seq && !segment.flags.syn;
                self.ack_due |= is_probe && segment.seq + 1 == self.last.ack;
                Arrival::Pass
            }
        }
    }

    /// A SYN/ACK tells what both ends have agreed on.
    fn note_agreement(&mut self, segment: &Segment) {
        if segment.flags.syn && segment.flags.ack {
            self.counts = Negotiation::conclude(Feedback::AccEcn, segment.ace) == Feedback::AccEcn;
        }
    }

    /// Nothing but SYN and FIN, numbers 0 and 1, comes in this direction.
    fn on_quiet_arrival(&mut self, segment: &Segment) -> Arrival {
        if segment.flags.syn {
            // RFC 9293 3.10.7.4: a repeated one means that its acknowledgement was lost.
            let is_news = self.sent <= 1 && self.last.flags.syn;
            self.ack_due |= !is_news;
            return if is_news { Arrival::Pass } else { Arrival::Taken };
        }
        if segment.len > 0 {
            let is_probe = segment.end() <= 1; // of one byte before the window
            self.ack_due |= is_probe;
            return if is_probe { Arrival::Taken } else { Arrival::Refuse };
        }
        if segment.flags.fin && segment.seq == 1 {
            self.peer_fin = Some(2);
            self.ack_due = true;
        }
        self.ack_due |= segment.seq == 0;
        Arrival::Pass
    }

    /// A segment of the end point leaves: it gets the numbers and the window of the quiet direction.
    pub fn on_departure(&mut self, now: Time, segment: &mut Segment) {
        match self.side {
            Side::Incoming => {
                segment.window = quiet_window(segment.flags.syn);
                if segment.flags.ack {
                    segment.ack = self.peer_fin.unwrap_or(1);
                }
                if segment.flags.fin {
                    self.fin = Some(segment.end());
                }
            }
            Side::Outgoing => {
                if !segment.flags.syn {
                    segment.seq = self.fin.unwrap_or(1);
                }
                let is_end = self.peer_fin.is_some_and(|end| segment.ack >= end);
                if is_end && self.fin.is_none() {
                    self.fin_at = now; // the reader has read all, and closes
                }
            }
            Side::Neither => {
                if segment.flags.fin {
                    self.fin = Some(segment.end());
                }
            }
        }
        self.note_agreement(segment);
        self.ack_due &= !segment.flags.ack;
        self.sent = self.sent.max(segment.end() + u64::from(segment.flags.syn));
        self.last = *segment;
    }

    /// The next segment to send now for this direction alone.
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        if self.fin_at <= now && self.fin_tries < FIN_TRIES {
            self.fin = Some(2);
            self.fin_at = now + FIN_TIMEOUT * (1 << self.fin_tries);
            self.fin_tries += 1;
            self.sent = 2;
            return Some(self.segment(now, 1, true));
        }
        std::mem::take(&mut self.ack_due).then(|| self.segment(now, self.sent, false))
    }

    fn segment(&self, now: Time, seq: u64, fin: bool) -> Segment {
        let Segment { ack, window, ace, accecn, .. } = self.last;
        // CWR is said once, with data.
        let ace = if self.counts { ace } else { ace & !CWR };
        Segment {
            seq,
            ack: if self.side == Side::Incoming { self.peer_fin.unwrap_or(1) } else { ack },
            window,
            flags: Flags { ack: true, fin, ..Flags::default() },
            ace,
            tsval: now,
            tsecr: self.recent,
            accecn,
            connection: self.last.connection,
            ..Segment::default()
        }
    }

    /// When [`Quiet::poll`] has something to send, [`Time::NEVER`] if no timer runs.
    pub fn deadline(&self) -> Time {
        if self.fin_tries < FIN_TRIES { self.fin_at } else { Time::NEVER }
    }

    /// Whether a reset with this sequence number is the peer's (RFC 5961 3.2): it is the next one. To
    /// another one the answer is an acknowledgement, after which a real peer repeats it with the right one.
    pub fn on_reset(&mut self, seq: u64) -> bool {
        let expected = match self.side {
            Side::Incoming if self.recent == Time::NEVER && self.last.flags.syn => 0,
            Side::Incoming => self.peer_fin.unwrap_or(1),
            Side::Outgoing | Side::Neither => self.last.ack,
        };
        self.ack_due |= seq != expected;
        seq == expected
    }

    /// Whether both ends have closed, and know it of each other; the last FIN of the peer may come again
    /// (TIME-WAIT).
    pub fn is_closed(&self) -> bool {
        self.peer_fin.is_some() && (self.fin_acked || self.fin_tries == FIN_TRIES)
    }
}

#[cfg(test)]
mod tests;
