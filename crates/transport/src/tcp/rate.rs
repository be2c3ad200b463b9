//! Delivery-rate estimation (draft-cheng-iccrg-delivery-rate-estimation; Linux 5.4 `tcp_rate.c`).

use sojourn_cc::{Lost, RateSample};
use sojourn_core::{Dur, Rate, Time};

/// Snapshot that a segment carries from its transmission.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TxSnapshot {
    pub(crate) delivered: u64,
    pub(crate) delivered_ce: u64,
    pub(crate) lost: u64,
    pub(crate) delivered_at: Time,
    pub(crate) first_tx: Time,
    /// This segment included.
    pub(crate) in_flight: u32,
    pub(crate) app_limited: bool,
    /// Already used for a sample.
    pub(crate) consumed: bool,
}

/// Connection-wide state of the estimator.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RateEstimator {
    pub(crate) delivered: u64,
    pub(crate) delivered_ce: u64,
    /// Segments marked lost.
    pub(crate) lost: u64,
    delivered_at: Time,
    first_tx: Time,
    /// What is sent while no more than this is delivered is application-limited. That is the first flight, too: the
    /// application writes when nothing waits (`tcp_rate_check_app_limited` in `tcp_sendmsg`).
    app_limited_until: u64,
    /// Of what an ACK delivers that sent last is the sample (Linux 5.19); before, that sent after the most was delivered.
    takes_last: bool,
    /// The sample that `ss` shows.
    shown: Option<(u32, Dur, bool)>,
    pending: Option<Pending>,
}

/// The segment of a sample.
#[derive(Clone, Copy, Debug)]
struct Pending {
    snapshot: TxSnapshot,
    /// When it was sent, and its last byte.
    sent: (Time, u64),
    send_time: Dur,
}

impl RateEstimator {
    pub(crate) fn new(takes_last: bool) -> Self {
        Self { takes_last, ..Self::default() }
    }

    /// A segment leaves; `idle` if nothing was outstanding. `in_flight` is without it (Linux
    /// tcp_rate_skb_sent()).
    pub(crate) fn sent(&mut self, now: Time, idle: bool, in_flight: u32) -> TxSnapshot {
        if idle {
            self.first_tx = now;
            self.delivered_at = now;
        }
        TxSnapshot {
            delivered: self.delivered,
            delivered_ce: self.delivered_ce,
            lost: self.lost,
            delivered_at: self.delivered_at,
            first_tx: self.first_tx,
            in_flight: in_flight + 1,
            app_limited: self.delivered <= self.app_limited_until,
            consumed: false,
        }
    }

    /// The segment up to `end` that was sent at `sent` was acknowledged or SACKed (Linux tcp_rate_skb_delivered(),
    /// tcp_skb_sent_after()).
    #[inline]
    pub(crate) fn segment_delivered(&mut self, snapshot: &TxSnapshot, sent: Time, end: u64) {
        if snapshot.consumed {
            return;
        }
        let sent = (sent, end);
        let is_later = |p: Pending| {
            if self.takes_last { sent > p.sent } else { snapshot.delivered > p.snapshot.delivered }
        };
        if self.pending.is_none_or(is_later) {
            let send_time = sent.0.since(snapshot.first_tx);
            self.pending = Some(Pending { snapshot: *snapshot, sent, send_time });
            self.first_tx = sent.0;
        }
    }

    /// The transmission with this snapshot was marked lost.
    pub(crate) fn segment_lost(&mut self, snapshot: &TxSnapshot) -> Lost {
        self.lost += 1;
        Lost {
            tx_in_flight: snapshot.in_flight,
            lost: (self.lost - snapshot.lost) as u32,
            app_limited: snapshot.app_limited,
            delivered: self.delivered,
        }
    }

    /// The application had nothing to send with `in_flight` outstanding (Linux
    /// tcp_rate_check_app_limited()).
    pub(crate) fn app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = self.delivered + u64::from(in_flight);
    }

    /// Delivered count when the segment of the running sample was sent.
    pub(crate) fn sampled_delivered(&self) -> Option<u64> {
        self.pending.map(|pending| pending.snapshot.delivered)
    }

    /// Ends an acknowledgement that delivered `newly` segments; a valid sample, if any (Linux
    /// tcp_rate_gen()): the longer of send and ACK time, so that neither bursts nor aggregated ACKs
    /// show a rate that the path does not have; none below the minimum RTT.
    pub(crate) fn finish(
        &mut self,
        now: Time,
        newly: u32,
        min_rtt: Dur,
        ack_delayed: bool,
    ) -> Option<RateSample> {
        if newly > 0 {
            self.delivered_at = now;
        }
        let Pending { snapshot, send_time, .. } = self.pending.take()?;
        let interval = send_time.max(now.since(snapshot.delivered_at));
        if interval < min_rtt || interval == Dur::ZERO {
            return None;
        }
        let delivered = (self.delivered - snapshot.delivered) as u32;
        let faster = self.shown.is_none_or(|(d, i, _)| {
            u128::from(delivered) * u128::from(i.0) >= u128::from(d) * u128::from(interval.0)
        });
        if !snapshot.app_limited || faster {
            self.shown = Some((delivered, interval, snapshot.app_limited));
        }
        Some(RateSample {
            delivered,
            delivered_ce: (self.delivered_ce - snapshot.delivered_ce) as u32,
            interval,
            prior_delivered: snapshot.delivered,
            tx_in_flight: snapshot.in_flight,
            lost: (self.lost - snapshot.lost) as u32,
            app_limited: snapshot.app_limited,
            ack_delayed,
        })
    }

    /// The rate that `ss` prints as `delivery_rate`.
    pub(crate) fn shown(&self, mss: u32) -> Option<Rate> {
        let (delivered, interval, _) = self.shown?;
        let bits = u128::from(delivered) * u128::from(mss) * 8;
        Some(Rate((bits * 1_000_000_000 / u128::from(interval.0)) as u64))
    }
}

#[cfg(test)]
mod tests;
