//! Internal pacing by earliest departure time (Linux 5.4 `tcp_update_skb_after_send`).

use sojourn_core::{Dur, Rate, Time};

/// Segments that leave unpaced at the start of a connection.
const UNPACED_SEGMENTS: u64 = 10;

/// Departure clock of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    next: Time,
}

impl Pacer {
    /// When the next burst may leave; in the past if it may leave now.
    pub(crate) fn next(self) -> Time {
        self.next
    }

    /// Whether a burst may leave at `now`.
    pub(crate) fn ready(self, now: Time) -> bool {
        self.next <= now
    }

    /// A burst of `bytes` leaves at `now` as segments `sent_before..` of the connection. A late
    /// departure earns back at most half of the burst's own time.
    pub(crate) fn departed(&mut self, now: Time, bytes: u64, rate: Option<Rate>, sent_before: u64) {
        let scheduled = self.next;
        self.next = self.next.max(now);
        let Some(rate) = rate else { return };
        if sent_before < UNPACED_SEGMENTS || rate.0 == u64::MAX || rate.0 == 0 {
            return;
        }
        let len = rate.time_for(bytes);
        let credit = self.next.since(scheduled);
        self.next += len.saturating_sub(Dur((len.0 / 2).min(credit.0)));
    }
}

#[cfg(test)]
mod tests;
