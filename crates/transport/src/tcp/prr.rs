//! Proportional rate reduction as Linux 5.4 does it (`tcp_cwnd_reduction`; RFC 6937 with the
//! slow-start bound only after an acknowledged retransmission).

/// Bookkeeping of one reduction, in segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    delivered: u32,
    out: u32,
}

/// What one acknowledgement did, as far as PRR cares.
#[derive(Clone, Copy, Debug)]
pub struct PrrAck {
    /// Segments newly acknowledged or SACKed.
    pub newly_delivered: u32,
    /// In flight now.
    pub in_flight: u32,
    /// A retransmission was acknowledged.
    pub retransmit_acked: bool,
    /// A retransmission was found lost.
    pub retransmit_lost: bool,
}

impl Prr {
    /// Segments left the sender during the reduction.
    pub fn sent(&mut self, segments: u32) {
        self.out += segments;
    }

    /// cwnd after this acknowledgement, or `None` if it delivers nothing.
    pub fn cwnd(&mut self, ack: PrrAck, ssthresh: u32, prior_cwnd: u32) -> Option<u32> {
        if ack.newly_delivered == 0 || prior_cwnd == 0 {
            return None;
        }
        self.delivered += ack.newly_delivered;
        let mut quota = if ack.in_flight > ssthresh {
            let target =
                (u64::from(ssthresh) * u64::from(self.delivered)).div_ceil(u64::from(prior_cwnd));
            i64::from(target as u32) - i64::from(self.out)
        } else {
            let room = i64::from(ssthresh - ack.in_flight);
            let newly = i64::from(ack.newly_delivered);
            if ack.retransmit_acked && !ack.retransmit_lost {
                let behind = i64::from(self.delivered) - i64::from(self.out);
                room.min(behind.max(newly) + 1)
            } else {
                room.min(newly)
            }
        };
        if self.out == 0 {
            quota = quota.max(1); // the fast retransmission itself
        }
        Some(ack.in_flight + quota.max(0) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One recovery episode: the first segment of the window is lost, three duplicates have
    /// triggered recovery after two segments of limited transmit.
    fn episode(window: u32, ssthresh: u32) -> (u32, u32, u32) {
        let mut prr = Prr::default();
        // Limited transmit sent two; three SACKs and one loss have left the flight.
        let mut in_flight = window + 2 - 3 - 1;
        let (mut sent, mut deliveries) = (0, 1);
        let mut cwnd = prr
            .cwnd(
                PrrAck {
                    newly_delivered: 1,
                    in_flight,
                    retransmit_acked: false,
                    retransmit_lost: false,
                },
                ssthresh,
                window,
            )
            .expect("the trigger delivers one");
        loop {
            while in_flight < cwnd {
                in_flight += 1;
                sent += 1;
                prr.sent(1);
            }
            if deliveries == window - 3 {
                return (sent, deliveries, in_flight);
            }
            deliveries += 1;
            in_flight -= 1;
            cwnd = prr
                .cwnd(
                    PrrAck {
                        newly_delivered: 1,
                        in_flight,
                        retransmit_acked: false,
                        retransmit_lost: false,
                    },
                    ssthresh,
                    window,
                )
                .expect("each delivery counts");
        }
    }

    // KAT cc.md §9 #14, KAT-PRR of 1.4: (sent, deliveries with the trigger, in flight at the end)
    #[test]
    fn prr_releases_the_published_number_of_segments() {
        assert_eq!(episode(100, 70), (68, 97, 70));
        assert_eq!(episode(20, 10), (8, 17, 10));
        assert_eq!(episode(20, 14), (12, 17, 14));
    }

    #[test]
    fn an_ack_without_delivery_leaves_cwnd_alone() {
        let ack = PrrAck {
            newly_delivered: 0,
            in_flight: 5,
            retransmit_acked: false,
            retransmit_lost: false,
        };
        assert_eq!(Prr::default().cwnd(ack, 3, 10), None);
    }
}
