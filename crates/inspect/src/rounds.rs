//! A TCP flow round trip by round trip: what was sent in each, marked, lost and in flight.
//!
//! A round begins with a data segment. It lasts until the receiver has that segment and the sender has sent
//! something after it heard so: as RFC 8257 3.3 and the round counter of draft-ietf-ccwg-bbr have it, but from where
//! the capture was made. Behind the bottleneck or at the receiver an ACK follows its data at once, and what the sender
//! heard is known by the timestamp that its data echo (RFC 7323 3).

use sojourn_core::Ecn;

use crate::events::Again;
use crate::facts::Facts;
use crate::report::Distribution;
use crate::samples::Samples;

/// Rounds of a direction that are kept; later ones are counted.
pub const MOST: usize = 4096;
/// Rounds without a signal before the next one begins.
const QUIET: usize = 3;
/// Without timestamps a round is no shorter than this part of the handshake's round trip.
const LEAST_ROUND: f64 = 0.9;
/// Usual gaps between data packets, beside a round trip, after which a sender had nothing to send.
const IDLE_GAPS: u64 = 4;
/// Part of the offered window from which on a flow is limited by it.
const NEARLY_FULL: f64 = 0.9;

/// One round trip of a direction's data. At a capture point behind the sender this is what passed there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Round {
    /// Since the first packet of the capture, ns.
    pub start: u64,
    /// How long it took, ns.
    pub duration: u64,
    /// Data packets.
    pub packets: u32,
    /// Payload of them.
    pub bytes: u64,
    /// Those of them with CE.
    pub ce_seen: u32,
    /// With ECT(1): marks of SCE, if the sender sends ECT(0).
    pub ect1_seen: u32,
    /// Packets acknowledged in this round.
    pub acked_packets: u32,
    /// Payload acknowledged or SACKed: over `duration` the delivery rate.
    pub delivered: u64,
    /// CE that ACKs reported for the first time; with classic feedback every packet acknowledged with ECE.
    pub ce_fed: u32,
    /// ACKs with ECE of RFC 3168.
    pub ece: u32,
    /// Payload acknowledged or SACKed with ESCE.
    pub esce_bytes: u64,
    /// Retransmissions.
    pub lost: u32,
    /// Of these after a timeout.
    pub timeouts: u32,
    /// Largest number of bytes in flight, as seen here.
    pub in_flight_max: u64,
    /// The same at its end.
    pub in_flight_end: u64,
    /// Least round trip that an ACK completed: of the path between here and the receiver. ns, 0 if there is none.
    pub rtt_min: u64,
    /// Their mean.
    pub rtt_mean: u64,
    /// Mean time between data packets, ns.
    pub gap_mean: u64,
    /// Standard deviation of these over their mean: 0 if evenly paced, above 1 in bursts.
    pub gap_variation: f32,
    /// What the receiver offered at its end, bytes; 0 if not known.
    pub window: u64,
    /// The sender was silent for a round trip, or more, without having to wait.
    pub is_idle: bool,
    /// The flow fills the receiver's window.
    pub is_window_limited: bool,
}

impl Round {
    /// Part of its packets that carry CE, or, of those acknowledged, for which it was reported: the larger one,
    /// because a capture point sees one of both.
    pub fn ce_fraction(&self) -> f64 {
        fraction(self.ce_seen, self.packets).max(fraction(self.ce_fed, self.acked_packets))
    }

    /// The same by what is seen alone if any is, `sees`, else by what is reported alone.
    pub(crate) fn marked(&self, sees: bool) -> f64 {
        if sees {
            fraction(self.ce_seen, self.packets)
        } else {
            fraction(self.ce_fed, self.acked_packets)
        }
    }

    /// The window is not the congestion controller's.
    pub(crate) const fn is_limited(&self) -> bool {
        self.is_idle || self.is_window_limited
    }

    /// Part of the payload acknowledged with ESCE.
    pub fn sce_fraction(&self) -> f64 {
        let fed =
            if self.delivered > 0 { self.esce_bytes as f64 / self.delivered as f64 } else { 0.0 };
        fed.min(1.0)
    }

    /// CE or a loss.
    pub fn has_signal(&self) -> bool {
        self.has_ce() || self.lost > 0
    }

    /// CE in either form.
    pub fn has_ce(&self) -> bool {
        self.ce_seen > 0 || self.ce_fed > 0 || self.ece > 0
    }

    /// Payload sent per second, Mbit/s.
    pub fn rate_mbps(&self) -> f64 {
        if self.duration > 0 { self.bytes as f64 * 8e3 / self.duration as f64 } else { 0.0 }
    }
}

/// Distributions of durations, ms: of rounds without pauses, and of those around the beginning of CE or losses, the longest
/// of three: what was lost is sent again about a round later. One recovery may have rounds without copies. The first of several is left out: slow start fills a queue in
/// bursts that rounds do not show.
pub(crate) fn durations(rounds: &[Round]) -> (Option<Distribution>, Option<Distribution>) {
    let (mut all, mut at_signals) = (Samples::default(), Samples::default());
    rounds.iter().filter(|round| !round.is_idle).for_each(|round| all.record_ms(round.duration));
    let begins = |&at: &usize| {
        rounds[at].has_signal()
            && !rounds[at.saturating_sub(QUIET)..at].iter().any(Round::has_signal)
    };
    let begin: Vec<usize> = (1..rounds.len()).filter(begins).collect();
    for &at in &begin[usize::from(begin.len() > 1)..] {
        let around = &rounds[at - 1..rounds.len().min(at + 2)];
        at_signals.record_ms(around.iter().map(|round| round.duration).max().unwrap_or(0));
    }
    (all.distribution(), at_signals.distribution())
}

fn fraction(part: u32, of: u32) -> f64 {
    if of > 0 { (f64::from(part) / f64::from(of)).min(1.0) } else { 0.0 }
}

/// What the end of the round waits for.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The ACK of this byte.
    Ack(i64),
    /// Data that echo this timestamp or a later one.
    Echo(u32),
    /// Any data.
    Data,
}

/// The round that is under way.
#[derive(Clone, Copy, Debug)]
struct Open {
    stage: Stage,
    round: Round,
    rtts: u32,
    rtt_sum: u64,
    gaps: u32,
    gap_sum: f64,
    gap_squares: f64,
}

impl Open {
    fn new(start: u64, mark: i64) -> Self {
        Self {
            stage: Stage::Ack(mark),
            round: Round { start, ..Round::default() },
            rtts: 0,
            rtt_sum: 0,
            gaps: 0,
            gap_sum: 0.0,
            gap_squares: 0.0,
        }
    }
}

/// The rounds of one direction's data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    open: Option<Open>,
    kept: Vec<Round>,
    left_out: u64,
    /// Highest byte sent.
    next: i64,
    last_data: u64,
    last_ack: u64,
    /// Smoothed duration of a round without pauses, ns.
    smoothed: Option<u64>,
    /// Smoothed time between data packets, ns.
    gap: u64,
}

impl Rounds {
    /// Rounds in their order, and how many more there were.
    pub(crate) fn finish(self) -> (Vec<Round>, u64) {
        (self.kept, self.left_out)
    }

    /// Takes a segment that this direction's end sent; `handshake` is the round trip of the handshake, ns.
    #[inline]
    pub(crate) fn data(&mut self, facts: &Facts, handshake: Option<u64>) {
        let Some(data) = facts.data.filter(|data| data.again != Again::Probe) else { return };
        let at = facts.at;
        self.next = self.next.max(data.seq + i64::from(data.len));
        let is_again = !matches!(data.again, Again::New | Again::Late);
        if let Some(open) = &self.open {
            let lasted = at.saturating_sub(open.round.start);
            let ends = match open.stage {
                Stage::Ack(_) => false,
                Stage::Echo(value) => {
                    facts.timestamps.is_none_or(|(_, echo)| echo.wrapping_sub(value) as i32 >= 0)
                }
                Stage::Data => {
                    handshake.is_none_or(|rtt| lasted as f64 >= LEAST_ROUND * rtt as f64)
                }
            };
            if ends {
                let silence = at.saturating_sub(self.last_data.max(self.last_ack));
                let usual = self.smoothed.or(handshake).unwrap_or(u64::MAX / 2);
                let is_idle = !is_again && silence > usual.saturating_add(self.gap * IDLE_GAPS);
                self.close(at, is_idle);
            }
        }
        let gap = at.saturating_sub(self.last_data);
        if self.open.is_some() {
            self.gap = self.gap - self.gap / 8 + gap / 8;
        }
        let open = match &mut self.open {
            Some(open) => {
                open.gaps += 1;
                open.gap_sum += gap as f64;
                open.gap_squares += gap as f64 * gap as f64;
                open
            }
            None => self.open.insert(Open::new(at, self.next)),
        };
        let round = &mut open.round;
        round.packets += 1;
        round.bytes += u64::from(data.len);
        round.ce_seen += u32::from(facts.ecn == Ecn::Ce);
        round.ect1_seen += u32::from(facts.ecn == Ecn::Ect1);
        round.lost += u32::from(is_again);
        round.timeouts += u32::from(data.again == Again::Rto);
        round.in_flight_max = round.in_flight_max.max(data.in_flight);
        round.in_flight_end = data.in_flight;
        self.last_data = at;
    }

    /// Takes a segment of the other end.
    #[inline]
    pub(crate) fn ack(&mut self, facts: &Facts) {
        let Some(ack) = facts.ack else { return };
        let Some(open) = &mut self.open else { return };
        if let Stage::Ack(mark) = open.stage
            && ack.high >= mark
        {
            open.stage = facts.timestamps.map_or(Stage::Data, |(value, _)| Stage::Echo(value));
        }
        let round = &mut open.round;
        round.acked_packets += ack.segments;
        round.delivered += ack.acked + ack.sacked;
        round.ce_fed += ack.ce;
        round.ece += u32::from(ack.ece);
        round.esce_bytes += if ack.esce { ack.acked + ack.sacked } else { 0 };
        round.in_flight_end = ack.in_flight;
        round.window = u64::from(facts.window);
        if let Some(rtt) = ack.rtt {
            round.rtt_min = if open.rtts == 0 { rtt } else { round.rtt_min.min(rtt) };
            open.rtt_sum += rtt;
            open.rtts += 1;
        }
        self.last_ack = facts.at;
    }

    /// Ends the round and begins the next one.
    fn close(&mut self, at: u64, is_idle: bool) {
        let Some(open) = self.open.replace(Open::new(at, self.next)) else { return };
        let mut round = open.round;
        round.duration = at.saturating_sub(round.start);
        round.rtt_mean = open.rtt_sum.checked_div(u64::from(open.rtts)).unwrap_or(0);
        if open.gaps > 0 {
            let mean = open.gap_sum / f64::from(open.gaps);
            let variance = (open.gap_squares / f64::from(open.gaps) - mean * mean).max(0.0);
            round.gap_mean = mean as u64;
            round.gap_variation = if mean > 0.0 { (variance.sqrt() / mean) as f32 } else { 0.0 };
        }
        round.is_idle = is_idle;
        round.is_window_limited = round.window > 0
            && round.bytes.max(round.in_flight_max) as f64 >= NEARLY_FULL * round.window as f64;
        if !is_idle {
            let took = round.duration;
            self.smoothed = Some(self.smoothed.map_or(took, |old| old - old / 8 + took / 8));
        }
        if self.kept.len() < MOST {
            self.kept.push(round);
        } else {
            self.left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests;
