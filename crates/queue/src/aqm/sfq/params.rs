//! The parameters of `sfq`, and what tc and the kernel make of them.

use super::super::PSCHED_MTU;
use super::super::red::{Curve, default_burst, probability};
use sojourn_core::grammar::forms::{Form, bytes, custom, maybe, number, whole};
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::parameters;

parameters! {
    /// Parameters of `sfq`. As in tc, nothing is taken over from an earlier configuration, and what is 0
    /// has its default.
    #[derive(Copy, PartialEq)]
    pub(super) struct Params {
        /// Packets in all flows, at least 2; at most depth times flows if it is given.
        limit: Option<u32> = None => maybe(number(2..=u32::MAX.into())), default "127";
        /// Time between changes of the hash, a bare number; 0 is never.
        pub(super) perturb: u32 = 0 => whole("SECONDS", 0..=2_147_483, "");
        /// Bytes per flow and round, at least 256; 0 is the default.
        pub(super) quantum: u32 = PSCHED_MTU => bytes(0..=u32::MAX);
        /// Hash buckets, a power of two up to 65536.
        divisor: Option<u32> = None => maybe(custom("NUMBER", power_of_two, u32::to_string)),
            default "1024";
        /// Flows at a time, at most 65408, and no more than divisor or limit if these are given.
        pub(super) flows: u32 = 128 => number(0..=u32::MAX.into());
        /// Packets of one flow, at most 127.
        pub(super) depth: u32 = MOST_DEPTH => number(0..=u32::MAX.into());
        /// Drop the oldest packet of a flow instead of the newest.
        pub(super) headdrop: bool = false;
        /// RED on each flow; limits nothing but the default of max.
        redflowlimit: Option<u32> = None => positive(), default "no RED";
        /// Average backlog of a flow below which nothing is signalled.
        min: Option<u32> = None => maybe(whole("BYTES", 0..=u32::MAX.into(), "")), default "max/3";
        /// Average from which every packet is signalled.
        max: Option<u32> = None => maybe(whole("BYTES", 0..=u32::MAX.into(), "")),
            default "redflowlimit/4";
        /// Usual packet size.
        avpkt: Option<u32> = None => positive(), default "1000";
        /// Burst that the average lets through from an empty queue.
        burst: Option<u32> = None => maybe(whole("PACKETS", 1..=u32::MAX.into(), "")),
            default "(2*min+max)/(3*avpkt)";
        /// Signal probability just below max, above 0 and below 1.
        probability: Option<f64> = None => maybe(probability()), default "0.02";
        /// RED marks ECN-capable packets; with headdrop a flow's first one before its last.
        pub(super) ecn: bool = false;
        /// Drop instead of marking when the average is above max.
        pub(super) harddrop: bool = false;
    }
    begin forget;
    derive complete;
    settle check;
}

const MOST_FLOWS: u32 = 65408;
const MOST_DEPTH: u32 = 127;
const LEAST_QUANTUM: u32 = 256;
/// The kernel's hash buckets.
const BUCKETS: u32 = 1024;

/// Sizes are bare numbers here.
fn positive() -> impl Form<Option<u32>> {
    maybe(whole("BYTES", 1..=u32::MAX.into(), ""))
}

fn power_of_two(args: &mut Args<'_>) -> Result<u32, GrammarError> {
    args.value("a power of two from 1 to 65536", |word| {
        word.parse().ok().filter(|n: &u32| n.is_power_of_two() && *n <= 65536)
    })
}

impl Params {
    pub(super) fn limit(&self) -> u32 {
        self.limit.unwrap_or(127)
    }

    pub(super) fn divisor(&self) -> u32 {
        self.divisor.unwrap_or(BUCKETS)
    }

    /// RED of each flow.
    pub(super) fn red(&self) -> Option<Curve> {
        let sizes = [self.min?, self.max?, self.avpkt?, self.burst?];
        Some(Curve::of_flow(sizes, self.probability?))
    }

    fn forget(&mut self) {
        *self = Self::default();
    }

    /// The kernel's bounds (Linux 7.2 `sfq_change`), and tc's defaults of RED (iproute2 7.3
    /// `sfq_parse_opt`).
    fn complete(&mut self, _given: &Given) {
        let or = |value: u32, default| if value == 0 { default } else { value };
        self.quantum = or(self.quantum, PSCHED_MTU).max(LEAST_QUANTUM);
        self.depth = or(self.depth, MOST_DEPTH).min(MOST_DEPTH);
        self.flows = or(self.flows, 128).min(MOST_FLOWS);
        if let Some(divisor) = self.divisor {
            self.flows = self.flows.min(divisor);
        } else if self.flows <= BUCKETS {
            self.divisor = Some(BUCKETS);
        }
        if let Some(limit) = &mut self.limit {
            *limit = (*limit).min(self.depth.saturating_mul(self.flows));
            self.flows = self.flows.min(*limit);
        }
        if let Some(limit) = self.redflowlimit {
            let max = or(self.max.unwrap_or(0), limit / 4);
            let min = or(self.min.unwrap_or(0), max / 3);
            let avpkt = *self.avpkt.get_or_insert(1000);
            self.burst.get_or_insert_with(|| default_burst(min, max, avpkt));
            self.probability.get_or_insert(0.02);
            (self.min, self.max) = (Some(min), Some(max));
        }
    }

    fn check(&self, given: &Given) -> Result<(), String> {
        if self.limit() < 2 {
            return Err("`depth` times `flows` must be at least 2 with `limit`".to_owned());
        }
        let Some(limit) = self.redflowlimit else {
            let of_red = ["min", "max", "avpkt", "burst", "probability", "ecn", "harddrop"];
            return match of_red.iter().find(|name| given.has(name)) {
                Some(name) => Err(format!("`{name}` needs `redflowlimit`")),
                None => Ok(()),
            };
        };
        let Some(curve) = self.red() else { return Ok(()) };
        if curve.max > limit {
            return Err(format!("`max` {} is larger than `redflowlimit`", curve.max));
        }
        if curve.min > 0 && curve.min >= curve.max {
            return Err(format!("`min` is not smaller than `max` {}", curve.max));
        }
        curve.check()
    }
}
