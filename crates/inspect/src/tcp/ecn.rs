//! What one end's data shows of marks in each round trip, and what its flags say: ECE and CWR of RFC 3168, ESCE of
//! SCE.

use sojourn_core::Ecn;

use super::side::RoundTrip;
use crate::report::Distribution;
use crate::samples::Samples;

/// Part of the smoothed round trip that a round takes at least: at the receiver's side acknowledgements follow at once.
const LEAST_ROUND: f64 = 0.9;

/// Where a round trip ends: with the acknowledgement of all that was sent when it began, but not before the time of
/// one is over.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    end: i64,
    since: u64,
}

/// Of an acknowledgement: how far it goes, what was sent, and the round trip before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) at: u64,
    pub(crate) una: i64,
    pub(crate) next: i64,
    pub(crate) rtt: RoundTrip,
}

impl Round {
    #[inline]
    fn is_over(&mut self, progress: &Progress) -> bool {
        if progress.una < self.end {
            return false;
        }
        let least = progress.rtt.get().map_or(0, |rtt| (rtt as f64 * LEAST_ROUND) as u64);
        let is_over = progress.at.saturating_sub(self.since) >= least;
        if is_over {
            *self = Self { end: progress.next, since: progress.at };
        }
        is_over
    }
}

/// Fractions of marks among the data packets of each round trip.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fractions {
    round: Round,
    packets: u32,
    ce: u32,
    ect1: u32,
    of_ce: Samples,
    of_ect1: Samples,
}

impl Fractions {
    #[inline]
    pub(crate) fn data(&mut self, ecn: Ecn) {
        self.packets += 1;
        self.ce += u32::from(ecn == Ecn::Ce);
        self.ect1 += u32::from(ecn == Ecn::Ect1);
    }

    #[inline]
    pub(crate) fn acked(&mut self, progress: &Progress) {
        if self.packets == 0 || !self.round.is_over(progress) {
            return;
        }
        let share = |n: u32| f64::from(n) / f64::from(self.packets);
        self.of_ce.record(share(self.ce));
        self.of_ect1.record(share(self.ect1));
        (self.packets, self.ce, self.ect1) = (0, 0, 0);
    }

    pub(crate) fn ce(&self) -> Option<Distribution> {
        self.of_ce.distribution()
    }

    pub(crate) fn ect1(&self) -> Option<Distribution> {
        self.of_ect1.distribution()
    }
}

/// ECE of one end's packets, and CWR of the other's that answers it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Episodes {
    since: Option<u64>,
    /// Where the data began whose CWR ended the last episode: acknowledgements up to it were sent before it came.
    answered: Option<i64>,
    ms: Samples,
}

impl Episodes {
    /// A packet with ECE that expects `ack` next.
    pub(crate) fn ece(&mut self, at: u64, ack: i64) {
        if self.answered.is_none_or(|from| ack > from) {
            self.since.get_or_insert(at);
        }
    }

    /// Data of the other end with CWR, from `seq` on.
    pub(crate) fn cwr(&mut self, at: u64, seq: i64) {
        if let Some(since) = self.since.take() {
            self.ms.record_ms(at.saturating_sub(since));
            self.answered = Some(seq);
        }
    }

    pub(crate) fn report(&self) -> Option<Distribution> {
        self.ms.distribution()
    }
}

/// Bytes that one end acknowledges, and those with ESCE (draft-grimes-tcpm-tcpsce).
#[derive(Clone, Debug, Default)]
pub(crate) struct Esce {
    acked: u64,
    marked: u64,
    round: Round,
    /// Those of the round.
    of_round: (u64, u64),
    fractions: Samples,
}

impl Esce {
    /// Bytes acknowledged by one packet.
    #[inline]
    pub(crate) fn acked(&mut self, bytes: u64, is_marked: bool, progress: &Progress) {
        let marked = if is_marked { bytes } else { 0 };
        self.acked += bytes;
        self.marked += marked;
        self.of_round = (self.of_round.0 + bytes, self.of_round.1 + marked);
        if self.of_round.0 > 0 && self.round.is_over(progress) {
            self.fractions.record(self.of_round.1 as f64 / self.of_round.0 as f64);
            self.of_round = (0, 0);
        }
    }

    pub(crate) fn percent(&self) -> Option<f64> {
        crate::stream::percent(self.marked, self.acked)
    }

    pub(crate) fn marked(&self) -> u64 {
        self.marked
    }

    pub(crate) fn per_rtt(&self) -> Option<Distribution> {
        self.fractions.distribution()
    }
}
