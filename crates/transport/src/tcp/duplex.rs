//! A connection in which both directions carry data: at each end a sender and a receiver, whose segments acknowledge
//! what the other one has got (RFC 9293 3.10.7.4; Linux 7.2 `tcp_rcv_established`).

use sojourn_cc::Feedback;
use sojourn_core::{Ecn, Time};

use super::segment::Segment;
use super::{Receiver, Sender};
use crate::endpoint::{Body, Endpoint, Transmit};

/// Bytes of a SACK option with three blocks, and its padding.
const MOST_SACK: u32 = 28;

/// One end of a connection that carries data both ways.
#[derive(Debug)]
pub struct Duplex {
    sends: Sender,
    hears: Receiver,
    /// It has asked for the connection.
    opens: bool,
    /// The peer's SYN, until it is known that the peer has the answer.
    syn: Option<Segment>,
}

impl Duplex {
    /// A closed connection, which [`Endpoint::start`] or the peer opens. The application writes with [`Duplex::write`].
    pub fn new(sends: Sender, hears: Receiver) -> Self {
        Self { sends: sends.on_demand(), hears, opens: false, syn: None }
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, bytes: u64) {
        self.sends.write(bytes);
    }

    /// Payload bytes delivered in order.
    pub fn delivered(&self) -> u64 {
        self.hears.delivered()
    }

    /// The direction in which this end sends.
    pub fn sender(&self) -> &Sender {
        &self.sends
    }

    /// The direction in which it receives.
    pub fn receiver(&self) -> &Receiver {
        &self.hears
    }

    fn on_syn(&mut self, now: Time, body: &Body, segment: &Segment, ecn: Ecn) {
        if !self.opens {
            if !self.sends.is_established() {
                self.syn.get_or_insert(*segment);
            }
            return self.hears.on_packet(now, body, ecn);
        }
        let was_open = self.sends.is_established();
        self.sends.on_packet(now, body, ecn);
        if !was_open && self.sends.is_established() {
            self.hears.begin(segment, self.sends.feedback());
        }
    }

    /// The peer's answer to the SYN/ACK, or data after it.
    fn accept(&mut self, now: Time, segment: &Segment) {
        if let Some(syn) = self.syn.take_if(|_| segment.flags.ack) {
            self.sends.accept(now, (&syn, segment), self.hears.agreed());
        }
    }

    /// What leaves acknowledges what has arrived.
    fn complete(&mut self, now: Time, tx: &mut Transmit) {
        let Body::Tcp(segment) = &mut tx.body else { return };
        if segment.flags.control {
            return;
        }
        if segment.flags.syn {
            segment.window = self.hears.first_window();
            return;
        }
        let is_handshake = segment.len == 0 && self.hears.delivered() == 0;
        let Segment { ack, window, sack, ace, accecn, tsecr, .. } =
            self.hears.ride(now, segment.len > 0);
        (segment.ack, segment.window, segment.tsecr) = (ack, window, tsecr);
        if !is_handshake {
            // A counter takes the place of the flags, of which ECE is the receiver's and CWR the sender's.
            let is_counter = self.sends.feedback() == Feedback::AccEcn;
            segment.ace = if is_counter { ace } else { segment.ace | ace };
            segment.accecn = accecn;
        }
        // Linux takes the room of the blocks from the payload (`tcp_current_mss`).
        if segment.len + MOST_SACK <= self.sends.mss() {
            segment.sack = sack;
        }
        tx.len = self.sends.frame_len(segment);
    }
}

impl Endpoint for Duplex {
    fn start(&mut self, now: Time) {
        self.opens = true;
        self.hears.ask();
        self.sends.start(now);
    }

    fn stop(&mut self, now: Time) {
        self.sends.stop(now);
    }

    fn on_packet(&mut self, now: Time, body: &Body, ecn: Ecn) {
        let Body::Tcp(segment) = body else { return };
        if segment.flags.control && self.opens {
            return self.sends.on_packet(now, body, ecn);
        }
        if segment.flags.control {
            return self.hears.on_packet(now, body, ecn);
        }
        if segment.flags.syn {
            return self.on_syn(now, body, segment, ecn);
        }
        // Who has answered a SYN hears there what the peer's answer says.
        let has_data = segment.end() > segment.seq;
        let is_answer = self.hears.is_asked();
        if is_answer && !has_data {
            self.hears.on_packet(now, body, ecn);
        } else if is_answer {
            self.hears.conclude(now);
        }
        self.accept(now, segment);
        self.sends.on_packet(now, body, ecn);
        // An acknowledgement waits no longer than this end's own data show that it may.
        let (rto, srtt) = self.sends.path_times();
        self.hears.learn_path(rto, srtt);
        if has_data {
            self.hears.on_packet(now, body, ecn);
        } else {
            self.hears.on_pure_ack(segment);
        }
        if self.hears.is_closed() {
            self.sends.stop(now);
        }
    }

    fn on_departed(&mut self, now: Time, connection: u32, bytes: u32) {
        self.sends.on_departed(now, connection, bytes);
    }

    fn on_reset(&mut self, now: Time, connection: u32) {
        self.sends.on_reset(now, connection);
    }

    /// Data that an acknowledgement lets leave take along the one that is due (`tcp_data_snd_check` comes before
    /// `tcp_ack_snd_check`).
    fn poll(&mut self, now: Time) -> Option<Transmit> {
        if let Some(mut tx) = self.sends.poll(now) {
            self.complete(now, &mut tx);
            return Some(tx);
        }
        let mut tx = self.hears.poll(now)?;
        if let Body::Tcp(segment) = &mut tx.body
            && !segment.flags.syn
        {
            segment.seq = self.sends.next_seq();
        }
        Some(tx)
    }

    fn deadline(&self) -> Time {
        self.sends.deadline().min(self.hears.deadline())
    }

    fn on_timer(&mut self, now: Time) {
        if self.sends.deadline() <= now {
            self.sends.on_timer(now);
        }
        if self.hears.deadline() <= now {
            self.hears.on_timer(now);
        }
    }

    fn is_alive(&self) -> bool {
        self.sends.is_alive()
    }
}

#[cfg(test)]
mod tests;
