//! Proportional rate reduction as Linux does it (`tcp_cwnd_reduction`) and as RFC 9937 has it.

use super::era::PrrRule;

/// Bookkeeping of one reduction, in segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    rule: PrrRule,
    /// Flight that the reduction began with: RecoverFS of RFC 9937, cwnd in Linux.
    flight: u32,
    delivered: u32,
    out: u32,
}

/// What one acknowledgement did, as far as PRR cares.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrrAck {
    /// Segments newly acknowledged or SACKed.
    pub newly_delivered: u32,
    /// In flight now.
    pub in_flight: u32,
    /// A retransmission was acknowledged.
    pub retransmit_acked: bool,
    /// A retransmission was found lost.
    pub retransmit_lost: bool,
    /// It advanced `snd_una` and found nothing lost (SafeACK of RFC 9937).
    pub safe: bool,
}

impl Prr {
    /// A reduction begins from `cwnd`, with `recover_fs` segments that can still be delivered.
    pub fn start(rule: PrrRule, cwnd: u32, recover_fs: u32) -> Self {
        let flight = if rule == PrrRule::Rfc9937 { recover_fs } else { cwnd };
        Self { rule, flight, delivered: 0, out: 0 }
    }

    /// Segments left the sender during the reduction.
    pub fn sent(&mut self, segments: u32) {
        self.out += segments;
    }

    /// cwnd after this acknowledgement, or `None` if it delivers nothing.
    pub fn cwnd(&mut self, ack: PrrAck, ssthresh: u32) -> Option<u32> {
        if ack.newly_delivered == 0 || self.flight == 0 {
            return None;
        }
        self.delivered += ack.newly_delivered;
        let mut quota = if ack.in_flight > ssthresh {
            // Proportional part (RFC 9937 and RFC 6937): what left is to what was delivered as
            // ssthresh is to the flight at the start.
            let target =
                (u64::from(ssthresh) * u64::from(self.delivered)).div_ceil(u64::from(self.flight));
            i64::from(target as u32) - i64::from(self.out)
        } else {
            // Below ssthresh the flight grows back: Linux 5 by the slow-start bound of RFC 6937
            // after a good retransmission, else by its conservation bound; Linux 6 and RFC 9937 one
            // segment faster where SafeACK holds.
            let room = i64::from(ssthresh - ack.in_flight);
            let newly = i64::from(ack.newly_delivered);
            let behind = (i64::from(self.delivered) - i64::from(self.out)).max(newly);
            room.min(match self.rule {
                PrrRule::Linux5 if ack.retransmit_acked && !ack.retransmit_lost => behind + 1,
                PrrRule::Linux5 => newly,
                PrrRule::Linux6 | PrrRule::Rfc9937 => behind + i64::from(ack.safe),
            })
        };
        if self.out == 0 {
            quota = quota.max(1); // the fast retransmission itself
        }
        Some(ack.in_flight + quota.max(0) as u32)
    }
}

#[cfg(test)]
mod tests;
