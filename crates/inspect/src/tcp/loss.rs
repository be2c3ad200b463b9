//! Why data was sent again, and whether that was needed.
//!
//! The sender's reason is inferred from what the capture shows it had: SACK blocks and duplicate ACKs, silence, the
//! place of the data. Captured at the receiver, all of this comes half a round trip later, in the same order.

use std::collections::VecDeque;

use super::rtt::is_newer;
use super::scoreboard::{Gap, Scoreboard};
use crate::events::Again;
use crate::report::Retransmissions;

/// Retransmissions that a D-SACK or a timestamp can still show to be spurious; of more the oldest is forgotten.
const MOST_PENDING: usize = 256;
/// Duplicate ACKs after which a segment counts as lost (RFC 5681 3.2).
const DUPLICATES: u32 = 3;
/// Least retransmission timeout of Linux less the jitter of its clock, ns (RFC 6298 2.4 has one second): it is added
/// to the round trip.
const LEAST_RTO: u64 = 180_000_000;
/// Round trips of a tail loss probe, which are two (RFC 8985 7.2), less their variation.
const PROBE_ROUNDS: f64 = 1.5;
/// Part of a round trip after which a copy can be an answer to a loss, less its variation.
const ANSWER_ROUNDS: f64 = 0.8;
/// The same where no round trip is known, ns: what tshark takes too.
const ANSWER: u64 = 3_000_000;

/// Data sent again.
#[derive(Clone, Copy, Debug)]
struct Pending {
    start: i64,
    end: i64,
    stamp: Option<u32>,
    is_spurious: bool,
}

/// A copy of data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) at: u64,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) stamp: Option<u32>,
}

/// Retransmissions of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses {
    pub(crate) counts: Retransmissions,
    /// Bytes of them.
    pub(crate) bytes: u64,
    /// D-SACKs received.
    pub(crate) duplicates_reported: u64,
    /// When data was last sent.
    sent_at: u64,
    /// When something was last acknowledged or SACKed for the first time.
    progress_at: u64,
    duplicate_acks: u32,
    /// End of what was under way at the last fast retransmission, and at the last timeout.
    recovery: i64,
    timeout: i64,
    /// A tail loss probe is out since the last progress.
    has_probed: bool,
    pending: VecDeque<Pending>,
}

impl Losses {
    /// New data was sent.
    #[inline]
    pub(crate) fn sent(&mut self, at: u64) {
        self.sent_at = self.sent_at.max(at);
    }

    /// Whether what came late into a hole was sent again, and not overtaken: its timestamp is newer than that of the
    /// segment behind the hole, or, in one tick or without timestamps, a round trip has passed.
    pub(crate) fn is_copy(gap: &Gap, copy: &Copy, rtt: Option<u64>) -> bool {
        let enough = rtt.map_or(ANSWER, |rtt| (rtt as f64 * ANSWER_ROUNDS) as u64);
        match (copy.stamp, gap.stamp) {
            (Some(own), Some(behind)) if own != behind => is_newer(own, behind),
            _ => copy.at.saturating_sub(gap.at) > enough,
        }
    }

    /// Data was sent again: counts it by its cause.
    pub(crate) fn again(
        &mut self,
        copy: &Copy,
        board: &Scoreboard,
        rtt: Option<u64>,
        sack: bool,
    ) -> Again {
        self.counts.all += 1;
        self.bytes += (copy.end - copy.start) as u64;
        let cause = self.cause(copy, board, rtt, sack);
        match cause {
            Again::Fast => {
                self.counts.fast += 1;
                self.recovery = self.recovery.max(board.next());
            }
            Again::Rto => {
                self.counts.rto += 1;
                if copy.start >= self.timeout {
                    self.timeout = board.next();
                }
                // Everything is lost: what was said before is no evidence (RFC 6675 5.1).
                (self.duplicate_acks, self.recovery) = (0, 0);
            }
            Again::Tlp => {
                self.counts.tlp += 1;
                self.has_probed = true;
            }
            _ => self.counts.other += 1,
        }
        if self.pending.len() == MOST_PENDING {
            self.pending.pop_front();
        }
        let &Copy { start, end, stamp, .. } = copy;
        self.pending.push_back(Pending { start, end, stamp, is_spurious: false });
        self.sent(copy.at);
        cause
    }

    fn cause(&self, copy: &Copy, board: &Scoreboard, rtt: Option<u64>, sack: bool) -> Again {
        if copy.start < self.timeout {
            return Again::Rto;
        }
        let is_first = copy.start <= board.una();
        let is_last = copy.end >= board.next();
        let is_evident = board.highest_sacked > copy.start.max(board.una())
            || self.duplicate_acks >= DUPLICATES
            || copy.start < self.recovery;
        let silence = copy.at.saturating_sub(self.sent_at.max(self.progress_at));
        let rounds = |n: f64| rtt.map(|rtt| (rtt as f64 * n) as u64);
        // RFC 8985 7.3: one probe, of the last segment, when its timer or that of the retransmission expires.
        let is_probe = sack && is_last && !self.has_probed && board.highest_sacked <= copy.start;
        if is_probe && silence >= rounds(PROBE_ROUNDS).unwrap_or(LEAST_RTO) {
            Again::Tlp
        } else if is_first && silence >= rtt.unwrap_or(0) + LEAST_RTO {
            Again::Rto
        } else if is_evident {
            Again::Fast
        } else if is_first && rounds(PROBE_ROUNDS).is_some_and(|least| silence >= least) {
            // Timeouts below 200 ms, as data centres configure them.
            Again::Rto
        } else {
            Again::Unknown
        }
    }

    /// An acknowledgement that reports something new.
    #[inline]
    pub(crate) fn progress(&mut self, at: u64, advanced: bool, una: i64) {
        self.progress_at = self.progress_at.max(at);
        if advanced {
            self.duplicate_acks = 0;
            self.has_probed = false;
            if una >= self.timeout {
                self.timeout = 0;
            }
            if una >= self.recovery {
                self.recovery = 0;
            }
        }
    }

    /// A duplicate acknowledgement (RFC 5681 2).
    #[inline]
    pub(crate) fn duplicate_ack(&mut self) {
        self.duplicate_acks += 1;
    }

    /// A D-SACK: each copy of data within it that is not yet known to be spurious, once.
    pub(crate) fn arrived_twice(&mut self, (left, right): (i64, i64)) {
        self.duplicates_reported += 1;
        let mut counted = None;
        for copy in &mut self.pending {
            let is_within = copy.start >= left && copy.end <= right;
            if is_within && !copy.is_spurious && counted.is_none_or(|start| copy.start > start) {
                copy.is_spurious = true;
                self.counts.spurious += 1;
                counted = Some(copy.start);
            }
        }
    }

    /// The data from `from` on is acknowledged with this echo: if it is older than the copy's timestamp, the first
    /// transmission had arrived (RFC 3522 3.2).
    #[inline]
    pub(crate) fn echoed(&mut self, from: i64, echo: u32) {
        let Some(copy) = self.pending.iter_mut().find(|copy| copy.start == from) else { return };
        if !copy.is_spurious && copy.stamp.is_some_and(|stamp| is_newer(stamp, echo)) {
            copy.is_spurious = true;
            self.counts.spurious += 1;
        }
    }
}
