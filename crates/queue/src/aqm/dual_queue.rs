//! An L4S and a Classic FIFO behind one scheduler, and the parameters that its users share. RFC 9332
//! section 2 and A.1.

use std::collections::VecDeque;

use super::{Backlog, Log, PSCHED_MTU, Reason, Stats};
use sojourn_core::grammar::forms::{decimal, maybe, rate_from};
use sojourn_core::packet::{self, Packet};
use sojourn_core::probe::Probe;
use sojourn_core::units::{Bytes, Dur, Rate, Time};
use sojourn_core::{choices, parameters};

parameters! {
    /// How much may wait.
    #[derive(Copy, PartialEq, Eq)]
    pub(super) struct Room {
        /// Bytes in both queues, and room for one more full frame.
        limit: Option<Bytes> = None, default "250ms of rate";
    }
}

impl Room {
    /// RFC 9332 A.1: a quarter of a second at the highest rate, by default 100 Mbit/s.
    pub(super) fn limit(&self, rate: Option<Rate>) -> u64 {
        let rate = rate.unwrap_or(Rate(100_000_000));
        self.limit.map_or_else(|| rate.bytes_in(Dur::from_millis(250)), |bytes| bytes.0)
    }
}

parameters! {
    /// How much may wait before this link.
    #[derive(Copy, PartialEq, Eq)]
    pub(super) struct Link {
        /// Highest rate of the link, from which the default limit follows.
        pub(super) rate: Option<Rate> = None => maybe(rate_from(Rate(1000))), default "100Mbit";
    }
    groups { room: Room = Room::default(); }
}

impl Link {
    pub(super) fn limit(&self) -> u64 {
        self.room.limit(self.rate)
    }
}

parameters! {
    /// Who is served when both queues hold packets.
    #[derive(Copy, PartialEq)]
    pub(super) struct Scheduler {
        /// Weighted round robin, or the older head after the time shift.
        pub(super) order: Order = Order::Wrr, name "scheduler";
        /// Share of the Classic queue when both are backlogged (wrr).
        pub(super) classic_weight: f64 = 0.0625 => decimal("FRACTION", 0.0..=1.0);
        /// Head start of the L4S queue in the order of arrival (tsfifo).
        pub(super) tshift: Dur = Dur::from_millis(50);
    }
}

choices! {
    /// What decides.
    pub(super) enum Order {
        Wrr = "wrr",
        Tsfifo = "tsfifo",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    L4s,
    Classic,
}

impl Side {
    /// RFC 9331 section 5.1: ECT(1) and CE identify L4S.
    #[inline]
    pub(super) const fn of(pkt: &Packet) -> Self {
        if pkt.tos & 1 == 1 { Self::L4s } else { Self::Classic }
    }
}

/// The two queues.
#[derive(Debug, Default)]
pub(super) struct DualQueue {
    l4s: VecDeque<Packet>,
    classic: VecDeque<Packet>,
    backlog: Backlog,
    classic_bytes: u64,
    /// Bytes owed to the Classic queue times the weights; it is served while this is positive.
    credit: f64,
    /// The largest backlog that an arrival found, in packets.
    max_queue: u32,
    /// Arrivals admitted to the L4S and to the Classic queue.
    packets_in: [u64; 2],
    /// Arrivals refused for want of room.
    pub(super) overlimits: u64,
    ecn_mark: u64,
    step_mark: u64,
}

impl DualQueue {
    /// Empty, at the start of a round.
    pub(super) fn new(by: &Scheduler) -> Self {
        let mut queue = Self::default();
        queue.reset_credit(by);
        queue
    }

    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        self.backlog
    }

    #[inline]
    pub(super) fn packets(&self, side: Side) -> usize {
        match side {
            Side::L4s => self.l4s.len(),
            Side::Classic => self.classic.len(),
        }
    }

    #[inline]
    pub(super) fn bytes(&self, side: Side) -> u64 {
        match side {
            Side::L4s => self.backlog.bytes - self.classic_bytes,
            Side::Classic => self.classic_bytes,
        }
    }

    /// Age of the head of a queue at `now`, zero if it is empty.
    #[inline]
    pub(super) fn age(&self, side: Side, now: Time) -> Dur {
        let head = match side {
            Side::L4s => self.l4s.front(),
            Side::Classic => self.classic.front(),
        };
        head.map_or(Dur::ZERO, |pkt| now.since(pkt.stamp))
    }

    /// RFC 9332 A.1: whether a full frame would still fit; drops `pkt` otherwise.
    #[inline]
    pub(super) fn admits(&mut self, pkt: &Packet, limit: u64, log: &mut Log) -> bool {
        // Longer than the device's MTU only if somebody put it there by hand.
        let fits = self.backlog.bytes + u64::from(PSCHED_MTU.max(pkt.len)) <= limit;
        if !fits {
            self.overlimits += 1;
            log.drop(pkt, Reason::TailLimit);
        }
        fits
    }

    /// Takes `pkt` to the side that its codepoint names, if it fits.
    #[inline]
    pub(super) fn enqueue(&mut self, now: Time, pkt: Packet, limit: u64, log: &mut Log) -> bool {
        let fits = self.admits(&pkt, limit, log);
        if fits {
            self.push(Side::of(&pkt), now, pkt);
        }
        fits
    }

    #[inline]
    pub(super) fn push(&mut self, side: Side, now: Time, mut pkt: Packet) {
        pkt.stamp = now;
        self.max_queue = self.max_queue.max(self.backlog.packets);
        self.packets_in[side as usize] += 1;
        self.backlog.add(&pkt);
        match side {
            Side::L4s => self.l4s.push_back(pkt),
            Side::Classic => {
                self.classic_bytes += u64::from(pkt.len);
                self.classic.push_back(pkt);
            }
        }
    }

    /// The head that the scheduler prefers; call [`DualQueue::sent`] if it leaves.
    /// RFC 9332 A.1 (`scheduler`).
    #[inline]
    pub(super) fn pop(&mut self, now: Time, by: &Scheduler) -> Option<(Side, Packet)> {
        let side = match (self.l4s.front(), self.classic.front()) {
            (None, None) => {
                self.reset_credit(by);
                return None;
            }
            (Some(_), None) => Side::L4s,
            (None, Some(_)) => Side::Classic,
            (Some(l4s), Some(classic)) => {
                let prefers_l4s = if by.order == Order::Tsfifo {
                    now.since(l4s.stamp) + by.tshift >= now.since(classic.stamp)
                } else {
                    self.credit <= 0.0
                };
                if prefers_l4s { Side::L4s } else { Side::Classic }
            }
        };
        let mut pkt = match side {
            Side::L4s => self.l4s.pop_front(),
            Side::Classic => self.classic.pop_front(),
        }?;
        pkt.set_side(match side {
            Side::L4s => packet::Side::L4s,
            Side::Classic => packet::Side::Classic,
        });
        self.backlog.remove(&pkt);
        if side == Side::Classic {
            self.classic_bytes -= u64::from(pkt.len);
        }
        Some((side, pkt))
    }

    /// Charges a packet that leaves while the other queue waits.
    /// A credit in bytes, as Linux 6.17 `dequeue_packet` has it.
    #[inline]
    pub(super) fn sent(&mut self, side: Side, pkt: &Packet, by: &Scheduler) {
        let len = f64::from(pkt.len);
        match side {
            Side::L4s if !self.classic.is_empty() => self.credit += by.classic_weight * len,
            Side::Classic if !self.l4s.is_empty() => {
                self.credit -= (1.0 - by.classic_weight) * len;
            }
            _ => {}
        }
    }

    /// The start of a round in which the L4S queue goes first.
    pub(super) fn reset_credit(&mut self, by: &Scheduler) {
        self.credit = (2.0 * by.classic_weight - 1.0) * f64::from(PSCHED_MTU);
    }

    /// The scheduler's parameters have changed from `old` to `new`.
    pub(super) fn reschedule(&mut self, old: &Scheduler, new: &Scheduler) {
        if new.classic_weight != old.classic_weight {
            self.reset_credit(new);
        }
    }

    /// Counts a mark.
    #[inline]
    pub(super) fn marked(&mut self, reason: Reason) {
        self.ecn_mark += 1;
        self.step_mark += u64::from(reason == Reason::Step);
    }

    /// The common counters; the delays are those of the Classic and of the L4S queue.
    pub(super) fn stats(&self, [classic, l4s]: [Dur; 2], limit: u64, out: &mut Stats) {
        out.put("delay_c", classic.as_micros() as f64);
        out.put("delay_l", l4s.as_micros() as f64);
        out.put("pkts_in_c", self.packets_in[Side::Classic as usize] as f64);
        out.put("pkts_in_l", self.packets_in[Side::L4s as usize] as f64);
        out.put("maxq", self.max_queue);
        out.put("ecn_mark", self.ecn_mark as f64);
        out.put("step_mark", self.step_mark as f64);
        out.put("limit", limit as f64);
    }

    /// The common series, with the delays as in [`Self::stats`].
    pub(super) fn probe(&self, [classic, l4s]: [Dur; 2], out: &mut Probe<'_>) {
        out.put("delay_c", "ms", classic.as_millis_f64());
        out.put("delay_l", "ms", l4s.as_millis_f64());
        out.put("packets_c", "packets", self.packets(Side::Classic) as f64);
        out.put("packets_l", "packets", self.packets(Side::L4s) as f64);
    }

    pub(super) fn purge(&mut self, log: &mut Log) {
        for pkt in self.l4s.drain(..).chain(self.classic.drain(..)) {
            log.drop(&pkt, Reason::Purge);
        }
        (self.backlog, self.classic_bytes) = (Backlog::default(), 0);
    }
}
