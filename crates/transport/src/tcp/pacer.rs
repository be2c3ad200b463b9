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
mod tests {
    use super::*;

    const RATE: Option<Rate> = Some(Rate(8_000_000)); // one byte per microsecond

    #[test]
    fn first_ten_segments_are_not_paced() {
        let mut pacer = Pacer::default();
        pacer.departed(Time(100), 1000, RATE, 9);
        assert!(pacer.ready(Time(100)));
        pacer.departed(Time(100), 1000, RATE, 10);
        assert_eq!(pacer.next(), Time(1_000_100));
    }

    #[test]
    fn a_late_burst_earns_back_at_most_half_its_time() {
        let mut pacer = Pacer { next: Time(1_000_000) };
        pacer.departed(Time(1_200_000), 1000, RATE, 50);
        assert_eq!(pacer.next(), Time(2_000_000));
        pacer.departed(Time(5_000_000), 1000, RATE, 51);
        assert_eq!(pacer.next(), Time(5_500_000));
    }
}
