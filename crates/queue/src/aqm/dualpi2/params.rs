//! The parameters of `dualpi2`.

use std::fmt;

use super::controller::{Law, to_gain};
use sojourn_core::grammar::forms::{custom, maybe, packets, time_from};
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::units::{Bytes, Dur};
use sojourn_core::{choices, parameters};

parameters! {
    /// Parameters of `dualpi2`.
    #[derive(Copy, PartialEq, Eq)]
    pub(super) struct Params {
        /// Packets in both queues.
        pub(super) limit: u32 = 10_000 => packets(1..=u32::MAX.into());
        /// Memory of both queues, as the kernel's truesize counts them; version mainline only.
        memlimit: Option<Bytes> = None, default "limit of 3028b each";
        /// L4S packets are marked above it: sojourn (a bare number is microseconds), or `5p`.
        pub(super) step_thresh: Step = Step::Time(Dur::from_millis(1)) =>
            custom("TIME|PACKETS", read_step, Step::to_string);
        /// Step only packets that found this many in the L4S queue; version mainline only.
        pub(super) min_qlen_step: u32 = 0 => packets(0..=u32::MAX.into());
        /// On overload drop L4S packets too, or let both queues fill to the limit.
        pub(super) drop_on_overload: bool = true, name "drop_on_overload|overflow";
        /// Where the controller signals.
        pub(super) drop_enqueue: bool = false, name "drop_enqueue|drop_dequeue";
        /// Who enters the L4S queue: ECT(1) and CE, or every ECN-capable packet.
        pub(super) l4s_ect: bool = true, name "l4s_ect|any_ect";
        /// Share of the classic queue when both are backlogged.
        pub(super) classic_protection: u8 = 10 =>
            custom("PERCENT", read_share, |share: &u8| format!("{share}%"));
        /// Derives target, tupdate, alpha and beta from the longest round-trip time.
        max_rtt: Option<Dur> = None => maybe(time_from(Dur::from_micros(1))),
            default "6 * typical_rtt";
        /// Derives target, tupdate, alpha and beta from the usual round-trip time.
        typical_rtt: Option<Dur> = None => maybe(time_from(Dur::from_micros(1))),
            default "max_rtt / 6";
        /// Super-packets (`tcp.gso`) are queued segment by segment, or as one packet as all are in
        /// versions 2019 and 2020 by default.
        pub(super) split_gso: bool = true, name SPLIT;
        /// Linux 6.17 (July 2025), or L4STeam in 2019, on 1 March 2020 or at e1ec6e7.
        pub(super) version: Version = Version::Mainline, tc false;
    }
    groups { pub(super) law: Law = Law::default(); }
    derive follow;
    settle refuse;
}

const SPLIT: &str = "split_gso|no_split_gso";

choices! {
    /// Whose tree.
    pub(super) enum Version {
        /// L4STeam's tree of 2019: a timer in jiffies, half the gains.
        Y2019 = "2019",
        /// L4STeam's tag testing/01-03-2020.
        Y2020 = "2020",
        /// L4STeam's tree at e1ec6e7.
        L4steam = "l4steam",
        Mainline = "mainline",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Time(Dur),
    Packets(u32),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(threshold) => threshold.fmt(f),
            Self::Packets(threshold) => write!(f, "{threshold}p"),
        }
    }
}

fn read_step(args: &mut Args<'_>) -> Result<Step, GrammarError> {
    args.value("a time such as `1ms` or packets such as `5p`", |w| {
        match w.strip_suffix("pkt").or_else(|| w.strip_suffix('p')) {
            Some(packets) => packets.parse().ok().map(Step::Packets),
            None => Dur::parse_tc(w).map(Step::Time),
        }
    })
}

fn read_share(args: &mut Args<'_>) -> Result<u8, GrammarError> {
    args.value("a percentage from 0% to 100%", |w| {
        w.strip_suffix('%').unwrap_or(w).parse().ok().filter(|share| *share <= 100)
    })
}

impl Params {
    /// What the version implies, and tc's derivation from round-trip times in whole microseconds
    /// (RFC 9332 A.1), where the text does not say otherwise.
    fn follow(&mut self, given: &Given) {
        if given.has("version") && !given.has(SPLIT) {
            self.split_gso = matches!(self.version, Version::L4steam | Version::Mainline);
        }
        let us = |d: Dur| Dur::from_micros(d.as_micros());
        let (max, typical) = (self.max_rtt.take(), self.typical_rtt.take());
        let Some(typical) = typical.or_else(|| max.map(|max| us(max / 6))) else { return };
        let max = max.unwrap_or(typical * 6);
        let tupdate = typical.min(us(max / 3)).max(Dur::from_micros(1));
        // In microseconds: 0.3 / 0.1 is below 3 in binary, and to_gain truncates.
        let rtt = max.as_micros() as f64;
        let alpha = to_gain(0.1e6 * tupdate.as_micros() as f64 / (rtt * rtt));
        let law = Law { target: typical, tupdate, alpha, beta: to_gain(0.3e6 / rtt), ..self.law };
        let stated = std::mem::replace(&mut self.law, law);
        if given.has("target") {
            self.law.target = stated.target;
        }
        if given.has("tupdate") {
            self.law.tupdate = stated.tupdate;
        }
        if given.has("alpha") {
            self.law.alpha = stated.alpha;
        }
        if given.has("beta") {
            self.law.beta = stated.beta;
        }
    }

    fn refuse(&self, _given: &Given) -> Result<(), String> {
        if self.version != Version::Mainline && (self.memlimit.is_some() || self.min_qlen_step > 0)
        {
            return Err("`memlimit` and `min_qlen_step` need `version mainline`".to_owned());
        }
        Ok(())
    }

    /// Bytes of memory; by default as much as `limit` packets of `per_packet` bytes.
    pub(super) fn memory_limit(&self, per_packet: u64) -> u64 {
        match (self.version, self.memlimit) {
            (Version::Mainline, Some(limit)) => limit.0,
            (Version::Mainline, None) => u64::from(self.limit) * per_packet,
            _ => u64::MAX,
        }
    }
}
