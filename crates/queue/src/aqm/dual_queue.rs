//! An L4S and a Classic FIFO behind one scheduler, and the words that its users share. RFC 9332
//! section 2 and A.1.

use std::collections::VecDeque;

use super::{Backlog, Env, Log, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::{self, Packet};
use sojourn_core::probe::Probe;
use sojourn_core::units::{Bytes, Dur, Rate, Time};

pub(super) const LIMIT: Param = Param {
    name: "limit",
    value: "BYTES",
    default: "250ms of rate",
    doc: "Bytes in both queues, and room for one more full frame.",
};
pub(super) const RATE: Param = Param {
    name: "rate",
    value: "RATE",
    default: "100Mbit",
    doc: "Highest rate of the link, from which the default limit follows.",
};
pub(super) const CLASSIC_WEIGHT: Param = Param {
    name: "classic_weight",
    value: "FRACTION",
    default: "0.0625",
    doc: "Share of the Classic queue when both are backlogged (wrr).",
};
pub(super) const TSHIFT: Param = Param {
    name: "tshift",
    value: "TIME",
    default: "50ms",
    doc: "Head start of the L4S queue in the order of arrival (tsfifo).",
};

/// The word `scheduler` of a discipline that has this default.
pub(super) const fn scheduler_param(default: &'static str) -> Param {
    Param {
        name: "scheduler",
        value: "wrr|tsfifo",
        default,
        doc: "Weighted round robin, or the older head after the time shift.",
    }
}

/// How much may wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) rate: Option<Rate>,
    limit: Option<Bytes>,
}

impl Room {
    /// Reads one of its words; false if `key` is none of them.
    pub(super) fn read(&mut self, key: &str, args: &mut Args<'_>) -> Result<bool, GrammarError> {
        match key {
            "limit" => self.limit = Some(args.size()?),
            "rate" => {
                let expected = "a rate from 1kbit such as `50Mbit`";
                let rate = |w: &str| Rate::parse_tc(w).filter(|r| r.0 >= 1000);
                self.rate = Some(args.value(expected, rate)?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// RFC 9332 A.1: a quarter of a second at the highest rate.
    pub(super) fn limit(&self) -> u64 {
        let rate = self.rate.unwrap_or(Rate(100_000_000));
        self.limit.map_or_else(|| rate.bytes_in(Dur::from_millis(250)), |bytes| bytes.0)
    }

    /// Its words, each after a space.
    pub(super) fn describe(&self) -> String {
        let rate = self.rate.map_or(String::new(), |rate| format!(" rate {rate}"));
        rate + &self.limit.map_or(String::new(), |limit| format!(" limit {limit}"))
    }
}

/// Who is served when both queues hold packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scheduler {
    /// Whether the time-shifted FIFO decides, or the weight.
    pub(super) tsfifo: bool,
    pub(super) classic_weight: f64,
    pub(super) tshift: Dur,
}

impl Scheduler {
    pub(super) const WRR: Self =
        Self { tsfifo: false, classic_weight: 0.0625, tshift: Dur::from_millis(50) };
    pub(super) const TSFIFO: Self = Self { tsfifo: true, ..Self::WRR };

    /// Reads one of its words; false if `key` is none of them.
    pub(super) fn read(&mut self, key: &str, args: &mut Args<'_>) -> Result<bool, GrammarError> {
        match key {
            "scheduler" => self.tsfifo = args.choice(&["wrr", "tsfifo"])? == 1,
            "classic_weight" => self.classic_weight = args.decimal(0.0..=1.0)?,
            "tshift" => self.tshift = args.time()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn describe(&self) -> String {
        let name = if self.tsfifo { "tsfifo" } else { "wrr" };
        let (weight, shift) = (self.classic_weight, self.tshift);
        format!("scheduler {name} classic_weight {weight} tshift {shift}")
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
#[derive(Debug)]
pub(super) struct DualQueue {
    l4s: VecDeque<Packet>,
    classic: VecDeque<Packet>,
    backlog: Backlog,
    classic_bytes: u64,
    mtu: u64,
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
    pub(super) fn new(env: &Env) -> Self {
        Self {
            l4s: VecDeque::new(),
            classic: VecDeque::new(),
            backlog: Backlog::default(),
            classic_bytes: 0,
            mtu: u64::from(env.psched_mtu),
            credit: 0.0,
            max_queue: 0,
            packets_in: [0; 2],
            overlimits: 0,
            ecn_mark: 0,
            step_mark: 0,
        }
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
        let fits = self.backlog.bytes + self.mtu.max(u64::from(pkt.len)) <= limit;
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
                let prefers_l4s = if by.tsfifo {
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
        self.credit = (2.0 * by.classic_weight - 1.0) * self.mtu as f64;
    }

    /// The scheduler's words have changed from `old` to `new`.
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
