//! RACK loss detection (RFC 8985; Linux 5.4 `tcp_recovery.c`).

use sojourn_core::{Dur, Time};

use super::rate::TxSnapshot;
use super::sack::{Outstanding, Scoreboard};

/// Largest reordering window in quarters of the minimum RTT.
const MAX_STEPS: u32 = 255;
/// Recoveries for which a widened window is kept.
const PERSISTENCE: u32 = 16;

/// Most recent delivery and the reordering window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// Transmission number of the most recently sent segment that was delivered. RFC 8985 compares
    /// times and breaks ties by sequence; the number is the order that both stand for.
    newest: u64,
    rtt: Dur,
    advanced: bool,
    /// Reordering has been seen on this connection.
    pub(crate) reordering_seen: bool,
    /// Reordering degree in segments (`tp->reordering`).
    pub(crate) reordering: u32,
    /// Reordering window in quarters of the minimum RTT.
    steps: u32,
    /// Recoveries until `steps` falls back to one.
    persist: u32,
    /// Delivered count when `steps` last grew: at most one step per round trip.
    grown_at: u64,
    /// A duplicate was reported that may widen the window.
    duplicate_seen: bool,
}

/// Result of a detection pass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Detection {
    pub(crate) lost: u32,
    pub(crate) retransmission_lost: bool,
    /// Time until the next segment would be overdue.
    pub(crate) wait: Option<Dur>,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            newest: 0,
            rtt: Dur::ZERO,
            advanced: false,
            reordering_seen: false,
            reordering: 3,
            steps: 1,
            persist: 0,
            grown_at: 0,
            duplicate_seen: false,
        }
    }
}

impl Rack {
    /// A segment was delivered (RFC 8985 6.2, step 2; Linux tcp_rack_advance()).
    #[inline]
    pub(crate) fn delivered(&mut self, now: Time, segment: &Outstanding, min_rtt: Dur) {
        let rtt = now.since(segment.sent);
        // A retransmission answered faster than the path allows: the original arrived.
        if segment.ever_retransmitted && rtt < min_rtt {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        self.newest = self.newest.max(segment.order);
    }

    /// Marks overdue segments after an acknowledgement that delivered something.
    pub(crate) fn detect_if_advanced(
        &mut self,
        now: Time,
        board: &mut Scoreboard,
        window: Dur,
        on_lost: impl FnMut(&TxSnapshot),
    ) -> Detection {
        if std::mem::take(&mut self.advanced) {
            self.detect(now, board, window, on_lost)
        } else {
            Detection::default()
        }
    }

    /// Marks every segment lost that was sent before the most recently delivered one and is
    /// overdue by the reordering window, and calls `on_lost` for each (RFC 8985 6.2, step 5; Linux
    /// tcp_rack_detect_loss()).
    pub(crate) fn detect(
        &self,
        now: Time,
        board: &mut Scoreboard,
        window: Dur,
        mut on_lost: impl FnMut(&TxSnapshot),
    ) -> Detection {
        let mut found = Detection::default();
        let mut at = board.oldest();
        while let Some(id) = at {
            at = board.next_sent(id);
            let segment = board.get(id);
            if segment.order >= self.newest {
                break;
            }
            let due = segment.sent + self.rtt + window;
            if due <= now {
                let tx = segment.tx;
                found.retransmission_lost |= board.mark_lost(id);
                found.lost += 1;
                on_lost(&tx);
            } else {
                found.wait = found.wait.max(Some(due.since(now)));
            }
        }
        found
    }

    /// Marks what a retransmission timeout gives up: the head, and all that was sent more than the
    /// latest RTT ago (RFC 8985 6.3; Linux tcp_timeout_mark_lost() since 4.20).
    pub(crate) fn mark_on_timeout(
        &self,
        now: Time,
        board: &mut Scoreboard,
        mut on_lost: impl FnMut(&TxSnapshot),
    ) {
        for (n, id) in board.ids().enumerate() {
            let segment = board.get(id);
            if !segment.sacked && (n == 0 || segment.sent + self.rtt <= now) {
                let (tx, newly) = (segment.tx, !segment.lost);
                board.mark_lost(id);
                if newly {
                    on_lost(&tx);
                }
            }
        }
    }

    /// The reordering window: nothing while recovering or with three SACKs and no reordering ever
    /// seen, else a quarter of the minimum RTT per step (RFC 8985 6.2, step 4; Linux
    /// tcp_rack_reo_wnd()).
    pub(crate) fn window(&self, recovering: bool, sacked: u32, min_rtt: Dur, srtt: Dur) -> Dur {
        if !self.reordering_seen && (recovering || sacked >= self.reordering) {
            return Dur::ZERO;
        }
        (Dur(min_rtt.0 / 4) * u64::from(self.steps)).min(srtt)
    }

    /// The receiver reported a duplicate: a retransmission was spurious, so the window was too small.
    pub(crate) fn saw_duplicate(&mut self) {
        self.duplicate_seen = true;
    }

    /// An ACK delivers a segment; `sampled` of `delivered` had been when that was sent (RFC 8985 6.2, step 4; Linux
    /// `tcp_rack_update_reo_wnd`).
    pub(crate) fn update_window(&mut self, sampled: u64, delivered: u64) {
        if std::mem::take(&mut self.duplicate_seen) && sampled >= self.grown_at {
            self.steps = (self.steps + 1).min(MAX_STEPS);
            self.persist = PERSISTENCE;
            self.grown_at = delivered;
        }
    }

    /// A recovery ended; after sixteen without duplicates the window returns to its minimum.
    pub(crate) fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// The next acknowledgement re-examines what may be lost, though it delivers nothing.
    pub(crate) fn reexamine(&mut self) {
        self.advanced = true;
    }

    /// Every retransmission of a recovery was spurious: that recovery does not count as clean.
    pub(crate) fn saw_spurious_recovery(&mut self) {
        self.persist = PERSISTENCE.min(self.persist + 1);
    }

    /// A segment that was never retransmitted arrived `distance` segments late (Linux
    /// tcp_check_sack_reordering(), with tcp_max_reordering of 300).
    pub(crate) fn saw_reordering(&mut self, distance: u32) {
        self.reordering_seen = true;
        self.reordering = self.reordering.max(distance.min(300));
    }
}

#[cfg(test)]
mod tests;
