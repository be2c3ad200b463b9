//! A connection that is analysed: each segment goes through everything that is counted.

use sojourn_wire::options::Options;
use sojourn_wire::tcp::{ACK, CWR, FIN, RST, SYN};

use super::Segment;
use super::accecn::Feedback;
use super::ecn::Progress;
use super::handshake::Handshake;
use super::loss::{Copy, Losses};
use super::scoreboard::{Piece, Placed};
use super::side::{RoundTrip, Side};
use crate::events::{Again, Events};
use crate::facts::{Ack, Data, Facts};
use crate::rounds::{self, Rounds};
use crate::{Budget, report};

const ECE: u16 = 0x40;
const AE: u16 = 0x100;
/// Payload of a segment where nothing tells: Ethernet's 1500 bytes less headers and timestamps.
const USUAL_MSS: u32 = 1448;
/// Longest IP packet of Ethernet, and with jumbo frames.
const ETHERNET_BYTES: u32 = 1500;
const JUMBO_BYTES: u32 = 9216;

/// Both ends: the opener first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connection {
    handshake: Handshake,
    is_accecn: bool,
    sides: [Side; 2],
    events: Events,
    rounds: [Rounds; 2],
}

impl Connection {
    /// Takes the next segment.
    pub(crate) fn segment(&mut self, segment: &Segment, options: &Options, budget: &mut Budget) {
        let is_handshake = self.handshake.segment(segment, options);
        self.count(segment);
        if segment.has(SYN) {
            let own = &mut self.sides[usize::from(!segment.forward)];
            own.board.begin(segment.seq);
            if segment.has(ACK) && self.handshake.is_accecn() {
                self.is_accecn = true;
                self.sides.iter_mut().for_each(|side| side.counters.begin());
            }
        }
        let window = self.window(segment);
        let ack = self.ack(segment, options, is_handshake);
        let data = self.data(segment);
        let facts = Facts {
            at: segment.at,
            forward: segment.forward,
            ecn: segment.ecn,
            flags: segment.flags,
            window: window.unwrap_or_else(|| u32::from(segment.window)),
            timestamps: segment.timestamps,
            data,
            ack,
        };
        self.observe(&facts, segment, options, budget);
    }

    /// Sides by role: who sends the segment, and who receives it.
    fn ends(&mut self, segment: &Segment) -> (&mut Side, &mut Side) {
        let [opener, peer] = &mut self.sides;
        if segment.forward { (opener, peer) } else { (peer, opener) }
    }

    /// What needs no other segment.
    fn count(&mut self, segment: &Segment) {
        let limit = self.handshake.mss();
        let (own, _) = self.ends(segment);
        own.stream.packet(segment.at, segment.ip_len, segment.data, segment.ecn);
        own.super_packets += u64::from(match limit {
            Some(mss) => segment.data > mss,
            None => segment.ip_len > JUMBO_BYTES,
        });
        if segment.ip_len <= ETHERNET_BYTES {
            own.largest = own.largest.max(segment.data);
        }
        if segment.has(SYN) {
            own.syn_ce += u64::from(segment.ecn == sojourn_core::Ecn::Ce);
        } else {
            own.pure_acks += u64::from(segment.data == 0 && !segment.has(FIN | RST));
            if segment.has(AE | CWR | ECE) {
                own.ece += u64::from(segment.has(ECE));
                own.cwr += u64::from(segment.has(CWR));
                own.ae += u64::from(segment.has(AE));
            }
        }
        if segment.has(ACK) {
            own.ack_packets += 1;
            own.first_ack.get_or_insert(segment.at);
        }
        if let Some((value, _)) = segment.timestamps.filter(|_| !segment.has(RST)) {
            own.overtaken += u64::from(own.stamps.is_old(value));
            let asks = segment.data > 0 || segment.has(SYN | FIN);
            own.stamps.sent(segment.at, value, asks);
        }
    }

    /// The window that the segment offers, bytes; None where its scale is not known.
    fn window(&mut self, segment: &Segment) -> Option<u32> {
        if segment.has(RST) || !segment.has(ACK) {
            return None;
        }
        // RFC 7323 2.2: that of a SYN is never scaled.
        let shift =
            if segment.has(SYN) { Some(0) } else { self.handshake.window_shift(segment.forward) };
        let window = shift.map(|shift| u32::from(segment.window) << shift);
        let (own, _) = self.ends(segment);
        if !segment.has(SYN) {
            own.has_zero_window = segment.window == 0;
            own.zero_windows += u64::from(own.has_zero_window);
            if let Some(window) = window {
                own.window.record(f64::from(window));
            }
        }
        window
    }

    /// What the segment says of the other end's data.
    fn ack(&mut self, segment: &Segment, options: &Options, is_handshake: bool) -> Option<Ack> {
        if !segment.has(ACK) || segment.has(RST) {
            return None;
        }
        let mss = self.handshake.mss();
        let rtt = self.round_trip();
        let is_accecn = self.is_accecn || options.accecn.is_some();
        let (own, other) = self.ends(segment);
        let mss = mss.unwrap_or(if other.largest > 0 { other.largest } else { USUAL_MSS });
        let number = other.board.numbers.extend(segment.ack)?;
        let echo = segment.timestamps.map(|(_, echo)| echo);
        let echoed = echo.and_then(|echo| other.stamps.echoed(segment.at, echo));
        let blocks = options.sack.as_slice().iter();
        let sacked = blocks.map(|&(_, right)| other.board.numbers.near(right)).max();
        let high = number.max(sacked.unwrap_or(number));
        let mut ack = Ack { ack: number, high, rtt: echoed, ..Ack::default() };
        // An acknowledgement that was overtaken says nothing new (RFC 9768 3.2.2.5).
        let is_overtaken = segment.timestamps.is_some_and(|(value, _)| own.stamps.is_old(value));
        let Some(delivered) = other.board.ack(segment.at, number, &options.sack, mss) else {
            ack.in_flight = other.board.in_flight();
            return Some(ack);
        };
        if let Some(sent) = delivered.sent {
            other.rtt_ms.record_ms(segment.at.saturating_sub(sent));
        }
        if let Some(oldest) = delivered.oldest {
            let rtt = segment.at.saturating_sub(oldest);
            other.delayed_ms.record_ms(rtt);
            other.smoothed.record(rtt);
            ack.rtt = Some(rtt);
        } else if let Some(rtt) = echoed {
            other.smoothed.record(rtt);
        }
        let news = delivered.acked + delivered.sacked;
        if delivered.advanced > 0 {
            // A SYN and a FIN are no payload.
            let bytes = delivered.advanced - u64::from(delivered.from < 1);
            if bytes > 0 {
                own.acks.add(segment.at, bytes);
                if let Some(echo) = echo {
                    other.losses.echoed(delivered.from, echo);
                }
            }
        }
        if news > 0 {
            other.losses.progress(segment.at, delivered.advanced > 0, other.board.una());
            other.delivered.add(segment.at, news);
        }
        if let Some(block) = delivered.duplicate {
            other.losses.arrived_twice(block);
        }
        own.sacked_bytes += delivered.sacked;
        let has_same_window = segment.window == own.last_window;
        own.last_window = segment.window;
        ack.is_duplicate = delivered.advanced == 0
            && segment.data == 0
            && !segment.has(SYN | FIN)
            && (has_same_window || delivered.sacked > 0)
            && other.board.in_flight() > 0;
        own.duplicate_acks += u64::from(ack.is_duplicate);
        if ack.is_duplicate && delivered.duplicate.is_none() {
            other.losses.duplicate_ack();
        }
        (ack.acked, ack.sacked, ack.segments) =
            (delivered.acked, delivered.sacked, delivered.segments);
        let progress =
            Progress { at: segment.at, una: other.board.una(), next: other.board.next(), rtt };
        other.fractions.acked(&progress);
        if is_accecn {
            if !is_handshake && !is_overtaken {
                let feedback =
                    Feedback { ace: segment.ace(), packets: ack.segments, bytes: news, mss };
                ack.ce = own.counters.packet(&feedback, options.accecn.as_ref());
            }
        } else if !segment.has(SYN) {
            (ack.ece, ack.esce) = (segment.has(ECE), segment.has(AE));
            // A byte once: SACKed, or else acknowledged. A SYN is no payload.
            let syn = u64::from(delivered.advanced > 0 && delivered.from < 1);
            own.esce.acked(news.saturating_sub(syn), ack.esce, &progress);
            if ack.ece {
                own.episodes.ece(segment.at, number);
                ack.ce = ack.segments;
                own.ece_acked += u64::from(ack.segments);
            }
        }
        ack.in_flight = other.board.in_flight();
        Some(ack)
    }

    /// The segment's own data.
    fn data(&mut self, segment: &Segment) -> Option<Data> {
        if segment.has(RST) {
            return None;
        }
        let (sack, mss) = (self.handshake.sack(), self.handshake.mss());
        let rtt = self.round_trip();
        let is_accecn = self.is_accecn;
        let (own, other) = self.ends(segment);
        let len = segment.data;
        // The byte behind the SYN.
        let first = segment.seq.wrapping_add(u32::from(segment.has(SYN)));
        if len == 0 && !segment.has(FIN) {
            return None;
        }
        let seq = own.board.numbers.extend(first)?;
        if segment.has(FIN) {
            own.board.end(seq + i64::from(len));
        }
        if len == 0 {
            return None;
        }
        if segment.has(CWR) && !is_accecn {
            other.episodes.cwr(segment.at, seq);
        }
        own.fractions.data(segment.ecn);
        let segments = mss.map_or(1, |mss| len.div_ceil(mss).min(u32::from(u16::MAX)) as u16);
        let stamp = segment.timestamps.map(|(value, _)| value);
        let piece = Piece { at: segment.at, seq, len, id: segment.id, segments, stamp };
        let copy = Copy { at: segment.at, start: seq, end: seq + i64::from(len), stamp };
        let again = match own.board.data(&piece, other.has_zero_window) {
            // In a hole with nothing behind it: the capture has its acknowledgement before it.
            Placed::New | Placed::Fills(_, 0) => Again::New,
            Placed::Fills(gap, depth) => {
                if Losses::is_copy(&gap, &copy, rtt.get()) {
                    own.losses.again(&copy, &own.board, rtt.get(), sack)
                } else {
                    own.reordered += 1;
                    own.depth.record_number(depth);
                    Again::Late
                }
            }
            Placed::Repeats => own.losses.again(&copy, &own.board, rtt.get(), sack),
            Placed::Duplicate => {
                own.captured_twice += 1;
                Again::Probe
            }
            Placed::Keepalive | Placed::Probe => {
                own.probes += 1;
                Again::Probe
            }
        };
        if matches!(again, Again::New | Again::Late) {
            own.losses.sent(segment.at);
        }
        let in_flight = own.board.in_flight();
        if other.acks.first.is_some() {
            own.in_flight.record_number(in_flight);
        }
        Some(Data { seq, len, again, in_flight })
    }

    /// The round trip as it is known so far.
    fn round_trip(&self) -> RoundTrip {
        let [opener, peer] = &self.sides;
        RoundTrip {
            halves: [opener.smoothed, peer.smoothed],
            handshake: self.handshake.round_trip(),
        }
    }

    /// Gives what a segment meant to those who make series, plots and rounds of it.
    fn observe(
        &mut self,
        facts: &Facts,
        segment: &Segment,
        options: &Options,
        budget: &mut Budget,
    ) {
        let handshake = self.handshake.round_trip();
        let [own, other] = [usize::from(!facts.forward), usize::from(facts.forward)];
        self.rounds[own].data(facts, handshake);
        self.rounds[other].ack(facts);
        if budget.events > 0 {
            let numbers = self.sides[usize::from(segment.forward)].board.numbers;
            self.events.record(facts, options.sack.as_slice(), |number| numbers.near(number));
            budget.events -= 1;
        } else {
            self.events.left_out += 1;
        }
    }

    /// Writes what was found.
    pub(crate) fn report(self, flow: &mut report::Flow) -> Events {
        let has_options = self.sides.iter().any(|side| side.counters.has_options());
        let connection = self.handshake.report(has_options);
        let is_accecn = self.is_accecn || has_options;
        let [opener, peer] = self.sides;
        let feedback = [
            is_accecn.then(|| opener.counters.report(peer.stream.ecn.ce - peer.syn_ce)),
            is_accecn.then(|| peer.counters.report(opener.stream.ecn.ce - opener.syn_ce)),
        ];
        let goodput = [peer.acks.goodput_mbps(), opener.acks.goodput_mbps()];
        let others = [peer.stream.data_packets, opener.stream.data_packets];
        let hears_esce = [peer.ae > 0, opener.ae > 0];
        let mut directions = [opener, peer].into_iter().enumerate().map(|(at, side)| {
            let mut direction = side.report(is_accecn, hears_esce[at]);
            if let Some(tcp) = &mut direction.tcp {
                tcp.accecn = feedback[at];
                tcp.goodput_mbps = goodput[at];
                tcp.acks_per_data_packet =
                    (others[at] > 0).then(|| tcp.pure_acks as f64 / others[at] as f64);
            }
            direction
        });
        if let (Some(forward), Some(backward)) = (directions.next(), directions.next()) {
            (flow.forward, flow.backward) = (forward, backward);
        }
        let [forward, backward] = self.rounds.map(Rounds::finish);
        for (direction, (rounds, left_out)) in
            [(&mut flow.forward, forward), (&mut flow.backward, backward)]
        {
            if let Some(tcp) = &mut direction.tcp {
                (tcp.round_ms, tcp.round_at_signals_ms) = rounds::durations(&rounds);
            }
            (direction.rounds, direction.rounds_left_out) = (rounds, left_out);
        }
        flow.tcp = Some(connection);
        self.events
    }
}

#[cfg(test)]
mod tests;
