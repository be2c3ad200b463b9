//! How a connection was opened: options, round trips, and which feedback of ECN the ends agreed on (RFC 3168 6.1.1,
//! RFC 9768 3.1).

use sojourn_core::Ecn;
use sojourn_wire::options::Options;
use sojourn_wire::tcp::{ACK, RST, SYN};

use super::Segment;
use crate::report::{Connection, EcnMode};

/// A SYN or SYN/ACK.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at: u64,
    seq: u32,
    ace: u8,
    ecn: Ecn,
    mss: Option<u16>,
    window_scale: Option<u8>,
    sack: bool,
    timestamps: bool,
    is_cut: bool,
    /// Copies after the first.
    again: u64,
}

impl Seen {
    fn of(segment: &Segment, options: &Options) -> Self {
        Self {
            at: segment.at,
            seq: segment.seq,
            ace: segment.ace(),
            ecn: segment.ecn,
            mss: options.mss,
            window_scale: options.window_scale,
            sack: options.sack_permitted,
            timestamps: segment.timestamps.is_some(),
            is_cut: segment.is_cut,
            again: 0,
        }
    }

    /// Behind an earlier copy: the flags and codepoint of the last one count, because a sender may ask for less in a
    /// copy (RFC 9768 3.1.4).
    fn after(self, earlier: Option<Self>) -> Self {
        Self { again: earlier.map_or(0, |earlier| earlier.again + 1), ..self }
    }
}

/// The first segments of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handshake {
    syn: Option<Seen>,
    answer: Option<Seen>,
    first_syn: u64,
    /// Time of the ACK that completes it, and its ACE if it has no data.
    third: Option<(u64, Option<u8>)>,
    is_over: bool,
    /// Of the opener, of the peer.
    fin: [bool; 2],
    reset: bool,
    agreed: Agreed,
}

/// What follows from these segments, which each later one asks for.
#[derive(Clone, Copy, Debug, Default)]
struct Agreed {
    mss: Option<u32>,
    /// Of the peer, of the opener.
    window_shifts: [Option<u8>; 2],
    round_trip: Option<u64>,
}

impl Handshake {
    /// Takes a segment; true if its ACE field is part of the handshake and no counter.
    #[inline]
    pub(crate) fn segment(&mut self, segment: &Segment, options: &Options) -> bool {
        self.reset |= segment.has(RST);
        self.fin[usize::from(!segment.forward)] |= segment.has(sojourn_wire::tcp::FIN);
        if segment.has(RST) {
            return true;
        }
        match (segment.has(SYN), segment.has(ACK)) {
            (false, true) => segment.forward && !self.is_over && self.complete(segment),
            (false, false) => true,
            (true, is_answer) => {
                self.open(segment, options, is_answer);
                true
            }
        }
    }

    /// Takes a SYN or SYN/ACK.
    fn open(&mut self, segment: &Segment, options: &Options, is_answer: bool) {
        let seen = Seen::of(segment, options);
        if is_answer {
            if !segment.forward {
                self.answer = Some(seen.after(self.answer));
            }
        } else if let Some(syn) = self.syn {
            if segment.forward && syn.seq == segment.seq {
                self.syn = Some(seen.after(self.syn));
            }
        } else {
            self.syn = Some(seen);
            self.first_syn = segment.at;
        }
        self.agree();
    }

    /// Takes the opener's first ACK behind the SYN/ACK; true if it completes the handshake and has no data.
    fn complete(&mut self, segment: &Segment) -> bool {
        let Some(answer) = &self.answer else { return false };
        let is_pure = segment.data == 0;
        let completes = segment.ack == answer.seq.wrapping_add(1);
        self.is_over = true;
        self.third = completes.then(|| (segment.at, is_pure.then(|| segment.ace())));
        self.agree();
        completes && is_pure
    }

    fn agree(&mut self) {
        self.agreed = Agreed {
            mss: self.least_mss(),
            window_shifts: self.window_shifts(),
            round_trip: self.whole_round_trip(),
        };
    }

    /// Shift count of the windows that an end offers. None without both SYNs, whose options were captured.
    #[inline]
    pub(crate) fn window_shift(&self, forward: bool) -> Option<u8> {
        self.agreed.window_shifts[usize::from(forward)]
    }

    fn window_shifts(&self) -> [Option<u8>; 2] {
        let Some((syn, answer)) = self.syn.zip(self.answer) else { return [None; 2] };
        if syn.is_cut || answer.is_cut {
            return [None; 2];
        }
        // RFC 7323 2.3: at most 14, and only if both offer it.
        match (syn.window_scale, answer.window_scale) {
            (Some(opener), Some(peer)) => [peer, opener].map(|shift| Some(shift.min(14))),
            _ => [Some(0); 2],
        }
    }

    /// Payload of the largest segments: the least offer (RFC 9293 3.7.1), less timestamps.
    #[inline]
    pub(crate) fn mss(&self) -> Option<u32> {
        self.agreed.mss
    }

    fn least_mss(&self) -> Option<u32> {
        let offers = [self.syn?.mss, self.answer.and_then(|answer| answer.mss)];
        let least = offers.into_iter().flatten().min()?;
        Some(u32::from(least).saturating_sub(if self.timestamps() { 12 } else { 0 }).max(1))
    }

    pub(crate) fn timestamps(&self) -> bool {
        self.syn.zip(self.answer).is_some_and(|(syn, answer)| syn.timestamps && answer.timestamps)
    }

    /// Both offered SACK; taken for granted where no SYN says otherwise.
    pub(crate) fn sack(&self) -> bool {
        let offers = |seen: Option<Seen>| seen.is_none_or(|seen| seen.sack);
        offers(self.syn) && offers(self.answer)
    }

    /// The whole round trip, ns: from the SYN to the ACK that completes the handshake.
    #[inline]
    pub(crate) fn round_trip(&self) -> Option<u64> {
        self.agreed.round_trip
    }

    fn whole_round_trip(&self) -> Option<u64> {
        let syn = self.syn.filter(|syn| syn.again == 0)?;
        self.answer.filter(|answer| answer.again == 0)?;
        Some(self.third?.0.saturating_sub(syn.at))
    }

    /// Both SYNs were captured, and agree on AccECN.
    pub(crate) fn is_accecn(&self) -> bool {
        self.mode() == Some(EcnMode::AccEcn)
            || (self.mode() == Some(EcnMode::Mangled) && self.asks_accecn())
    }

    fn asks_accecn(&self) -> bool {
        let answers = |ace| matches!(ace, 0b010 | 0b011 | 0b100 | 0b110);
        self.syn
            .zip(self.answer)
            .is_some_and(|(syn, answer)| syn.ace == 0b111 && answers(answer.ace))
    }

    /// What the flags agree on.
    pub(crate) fn mode(&self) -> Option<EcnMode> {
        let (syn, answer) = (self.syn?, self.answer?);
        Some(match (syn.ace, answer.ace) {
            // RFC 3168 6.1.1: a server that reflects both flags is broken; RFC 9768 3.1.1: one that reflects all three.
            (0b000, 0b000) | (0b011, 0b000 | 0b011) | (0b111, 0b000 | 0b111) => EcnMode::None,
            (0b011 | 0b111, 0b001 | 0b101) => EcnMode::Classic,
            // RFC 9768 table 2, with what the server says of the SYN's codepoint.
            (0b111, 0b010 | 0b011 | 0b100 | 0b110) if self.is_mangled(&syn, &answer) => {
                EcnMode::Mangled
            }
            (0b111, 0b010 | 0b011 | 0b100 | 0b110) => EcnMode::AccEcn,
            _ => EcnMode::Mangled,
        })
    }

    /// RFC 9768 3.2.2.3: the codepoint that the peer says it received is another than the one captured, and no mark;
    /// or the ACK that completes the handshake has no ACE, which nobody sends.
    fn is_mangled(&self, syn: &Seen, answer: &Seen) -> bool {
        let changed = |sent: Ecn, ace: u8| match ace {
            0b010 => sent != Ecn::NotEct,
            0b011 => sent != Ecn::Ect1,
            0b100 => sent != Ecn::Ect0,
            0b110 => sent == Ecn::NotEct,
            _ => true,
        };
        changed(syn.ecn, answer.ace)
            || self.third.and_then(|(_, ace)| ace).is_some_and(|ace| changed(answer.ecn, ace))
    }

    pub(crate) fn report(&self, accecn_options: bool) -> Connection {
        let flags = |ace: u8| format!("{ace:03b}");
        let (syn, answer) = (self.syn, self.answer);
        let ms = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e6;
        Connection {
            syn: syn.is_some(),
            syn_ack: answer.is_some(),
            syn_flags: syn.map(|seen| flags(seen.ace)),
            syn_ack_flags: answer.map(|seen| flags(seen.ace)),
            third_ack_flags: self.third.and_then(|(_, ace)| ace).map(flags),
            syn_codepoint: syn.map(|seen| seen.ecn as u8),
            syn_ack_codepoint: answer.map(|seen| seen.ecn as u8),
            ecn: self.mode().or_else(|| accecn_options.then_some(EcnMode::AccEcn)),
            syn_rtt_ms: syn
                .zip(answer)
                .filter(|(syn, _)| syn.again == 0)
                .map(|(syn, answer)| ms(syn.at, answer.at)),
            handshake_ms: syn.and(self.third).map(|(at, _)| ms(self.first_syn, at)),
            syn_retransmissions: syn.map_or(0, |seen| seen.again)
                + answer.map_or(0, |seen| seen.again),
            syn_ack_retransmissions: answer.map_or(0, |seen| seen.again),
            mss: [syn.and_then(|seen| seen.mss), answer.and_then(|seen| seen.mss)],
            window_scale: [syn, answer].map(|seen| seen.and_then(|seen| seen.window_scale)),
            sack: syn.zip(answer).is_some_and(|(syn, answer)| syn.sack && answer.sack),
            timestamps: self.timestamps(),
            fin: self.fin,
            reset: self.reset,
        }
    }
}

#[cfg(test)]
mod tests;
