//! A connection in which both directions carry data: a sender and a receiver at each end, where every segment also
//! acknowledges what has arrived (RFC 9293 3.10.7.4; Linux 7.2 `tcp_rcv_established`).

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
    sender: Sender,
    receiver: Receiver,
    /// It has asked for the connection.
    opens: bool,
    /// The peer's SYN, until it is known that the peer has the answer.
    syn: Option<Segment>,
}

impl Duplex {
    /// A closed connection, which [`Endpoint::start`] or the peer opens. The application writes with [`Duplex::write`].
    pub fn new(sender: Sender, receiver: Receiver) -> Self {
        Self { sender: sender.on_demand(), receiver, opens: false, syn: None }
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
    }

    /// Payload bytes delivered in order.
    pub fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    /// The direction in which this end sends.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The direction in which it receives.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    fn on_syn(&mut self, now: Time, body: &Body, segment: &Segment, ecn: Ecn) {
        if !self.opens {
            if !self.sender.is_established() {
                self.syn.get_or_insert(*segment);
            }
            return self.receiver.on_packet(now, body, ecn);
        }
        let was_open = self.sender.is_established();
        self.sender.on_packet(now, body, ecn);
        if !was_open && self.sender.is_established() {
            self.receiver.begin(segment, self.sender.feedback());
        }
    }

    /// The peer's answer to the SYN/ACK, or data after it.
    fn accept(&mut self, now: Time, segment: &Segment) {
        if let Some(syn) = self.syn.take_if(|_| segment.flags.ack) {
            self.sender.accept(now, (&syn, segment), self.receiver.agreed());
        }
    }

    /// What leaves acknowledges what has arrived.
    fn complete(&mut self, now: Time, tx: &mut Transmit) {
        let Body::Tcp(segment) = &mut tx.body else { return };
        if segment.flags.control {
            return;
        }
        if segment.flags.syn {
            segment.window = self.receiver.first_window();
            return;
        }
        let is_handshake = segment.len == 0 && self.receiver.delivered() == 0;
        let Segment { ack, window, sack, ace, accecn, tsecr, .. } =
            self.receiver.piggyback(now, segment.len > 0);
        (segment.ack, segment.window, segment.tsecr) = (ack, window, tsecr);
        if !is_handshake {
            // A counter takes the place of the flags, of which ECE is the receiver's and CWR the sender's.
            let is_counter = self.sender.feedback() == Feedback::AccEcn;
            segment.ace = if is_counter { ace } else { segment.ace | ace };
            segment.accecn = accecn;
        }
        // Linux takes the room of the blocks from the payload (`tcp_current_mss`).
        if segment.len + MOST_SACK <= self.sender.mss() {
            segment.sack = sack;
        }
        tx.len = self.sender.frame_len(segment);
    }
}

impl Endpoint for Duplex {
    fn start(&mut self, now: Time) {
        self.opens = true;
        self.receiver.ask();
        self.sender.start(now);
    }

    fn stop(&mut self, now: Time) {
        self.sender.stop(now);
    }

    fn on_packet(&mut self, now: Time, body: &Body, ecn: Ecn) {
        let Body::Tcp(segment) = body else { return };
        if segment.flags.control && self.opens {
            return self.sender.on_packet(now, body, ecn);
        }
        if segment.flags.control {
            return self.receiver.on_packet(now, body, ecn);
        }
        if segment.flags.syn {
            return self.on_syn(now, body, segment, ecn);
        }
        // Until the SYN/ACK is acknowledged, segments without data are the receiver's, too.
        let has_data = segment.end() > segment.seq;
        let is_answer = self.receiver.is_asked();
        if is_answer && !has_data {
            self.receiver.on_packet(now, body, ecn);
        } else if is_answer {
            self.receiver.conclude(now);
        }
        self.accept(now, segment);
        self.sender.on_packet(now, body, ecn);
        // An acknowledgement waits no longer than this end's own data show that it may.
        let (rto, srtt) = self.sender.path_times();
        self.receiver.learn_path(rto, srtt);
        if has_data {
            self.receiver.on_packet(now, body, ecn);
        } else {
            self.receiver.on_pure_ack(segment);
        }
    }

    fn on_departed(&mut self, now: Time, connection: u32, bytes: u32) {
        self.sender.on_departed(now, connection, bytes);
    }

    fn on_reset(&mut self, now: Time, connection: u32) {
        self.sender.on_reset(now, connection);
    }

    /// Data that an acknowledgement lets leave take along the one that is due (`tcp_data_snd_check` comes before
    /// `tcp_ack_snd_check`).
    fn poll(&mut self, now: Time) -> Option<Transmit> {
        if self.receiver.is_closed() {
            self.sender.stop(now);
        }
        if let Some(mut tx) = self.sender.poll(now) {
            self.complete(now, &mut tx);
            return Some(tx);
        }
        let mut tx = self.receiver.poll(now)?;
        if let Body::Tcp(segment) = &mut tx.body
            && !segment.flags.syn
        {
            segment.seq = self.sender.next_seq();
        }
        Some(tx)
    }

    fn deadline(&self) -> Time {
        self.sender.deadline().min(self.receiver.deadline())
    }

    fn on_timer(&mut self, now: Time) {
        if self.sender.deadline() <= now {
            self.sender.on_timer(now);
        }
        if self.receiver.deadline() <= now {
            self.receiver.on_timer(now);
        }
    }

    fn is_alive(&self) -> bool {
        self.sender.is_alive()
    }
}

#[cfg(test)]
mod tests;
