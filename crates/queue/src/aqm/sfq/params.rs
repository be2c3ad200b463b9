//! The parameters of `sfq`, and what the kernel makes of them.

use super::super::red;
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::units::Bytes;

pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "limit",
        value: "NUMBER",
        default: "127",
        doc: "Packets in all flows, at least 2; at most depth times flows if it is given.",
    },
    Param {
        name: "perturb",
        value: "SECONDS",
        default: "0",
        doc: "Time between changes of the hash, a bare number; 0 is never.",
    },
    Param {
        name: "quantum",
        value: "BYTES",
        default: "1514",
        doc: "Bytes per flow and round, at least 256; 0 is the default.",
    },
    Param {
        name: "divisor",
        value: "NUMBER",
        default: "1024",
        doc: "Hash buckets, a power of two up to 65536.",
    },
    Param {
        name: "flows",
        value: "NUMBER",
        default: "128",
        doc: "Flows at a time, at most 65408, and no more than divisor or limit if these are given.",
    },
    Param {
        name: "depth",
        value: "NUMBER",
        default: "127",
        doc: "Packets of one flow, at most 127.",
    },
    Param {
        name: "headdrop",
        value: "",
        default: "off",
        doc: "Drop the oldest packet of a flow instead of the newest.",
    },
    Param {
        name: "redflowlimit",
        value: "BYTES",
        default: "no RED",
        doc: "RED on each flow; limits nothing but the default of max.",
    },
    Param {
        name: "min",
        value: "BYTES",
        default: "max/3",
        doc: "Average backlog of a flow below which nothing is signalled.",
    },
    Param {
        name: "max",
        value: "BYTES",
        default: "redflowlimit/4",
        doc: "Average from which every packet is signalled.",
    },
    Param { name: "avpkt", value: "BYTES", default: "1000", doc: "Usual packet size." },
    Param {
        name: "burst",
        value: "PACKETS",
        default: "(2*min+max)/(3*avpkt)",
        doc: "Burst that the average lets through from an empty queue.",
    },
    Param {
        name: "probability",
        value: "PROBABILITY",
        default: "0.02",
        doc: "Signal probability just below max, above 0 and below 1.",
    },
    Param {
        name: "ecn",
        value: "",
        default: "off",
        doc: "RED marks ECN-capable packets; with headdrop a flow's first one before its last.",
    },
    Param {
        name: "harddrop",
        value: "",
        default: "off",
        doc: "Drop instead of marking when the average is above max.",
    },
];

const MOST_FLOWS: u32 = 65408;
const MOST_DEPTH: u32 = 127;
const LEAST_QUANTUM: u32 = 256;

/// What the kernel works by, after its own bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Params {
    pub(super) limit: u32,
    /// Whether `limit` was given, which bounds others too.
    has_limit: bool,
    pub(super) perturb_s: u32,
    pub(super) quantum: u32,
    pub(super) divisor: u32,
    pub(super) flows: u32,
    pub(super) depth: u32,
    pub(super) headdrop: bool,
    pub(super) red: Option<Red>,
}

/// RED of each flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Red {
    pub(super) limit: u32,
    pub(super) words: red::Params,
}

impl Params {
    pub(super) fn read(
        args: &mut Args<'_>,
        psched_mtu: u32,
    ) -> Result<(Self, Option<red::Derived>), GrammarError> {
        let all = u64::from(u32::MAX);
        let (mut limit, mut divisor, mut flows) = (0, 0, 0);
        let mut p = Self {
            limit: 127,
            has_limit: false,
            perturb_s: 0,
            quantum: psched_mtu,
            divisor: 1024,
            flows: 128,
            depth: MOST_DEPTH,
            headdrop: false,
            red: None,
        };
        let (mut red, mut red_limit, mut has_red) = (red::Params::of_flow(), 0, false);
        while let Some(key) = args.key() {
            match key {
                "limit" => limit = args.number(2..=all)? as u32,
                "perturb" => p.perturb_s = args.number(0..=2_147_483)? as u32,
                "quantum" => {
                    let quantum = args.value("a size such as `1514` or `3kb`", |w| {
                        Bytes::parse_tc(w).and_then(|b| u32::try_from(b.0).ok())
                    })?;
                    p.quantum = if quantum == 0 { psched_mtu } else { quantum.max(LEAST_QUANTUM) };
                }
                "divisor" => {
                    divisor = args.value("a power of two from 1 to 65536", |w| {
                        w.parse().ok().filter(|n: &u32| n.is_power_of_two() && *n <= 65536)
                    })?;
                }
                "flows" => flows = args.number(0..=all)? as u32,
                "depth" => match args.number(0..=all)? as u32 {
                    0 => {}
                    depth => p.depth = depth.min(MOST_DEPTH),
                },
                "headdrop" => p.headdrop = true,
                "redflowlimit" => red_limit = args.number(1..=all)? as u32,
                _ if red.read_word(key, args)? => has_red = true,
                _ => return Err(args.unknown()),
            }
        }
        if flows > 0 {
            p.flows = flows.min(MOST_FLOWS);
        }
        if divisor > 0 {
            (p.divisor, p.flows) = (divisor, p.flows.min(divisor));
        }
        if limit > 0 {
            p.has_limit = true;
            p.limit = limit.min(p.depth.saturating_mul(p.flows));
            p.flows = p.flows.min(p.limit);
        }
        if p.limit < 2 {
            return Err(args.invalid("`depth` times `flows` must be at least 2 with `limit`"));
        }
        if red_limit == 0 {
            if has_red {
                return Err(args.invalid("words of RED need `redflowlimit`"));
            }
            return Ok((p, None));
        }
        let derived = red.derive_within(red_limit, args)?;
        p.red = Some(Red { limit: red_limit, words: red });
        Ok((p, Some(derived)))
    }

    pub(super) fn describe(&self) -> String {
        let Self { limit, perturb_s, quantum, divisor, flows, depth, headdrop, red, .. } = self;
        let mut text = String::from("sfq");
        if self.has_limit {
            text += &format!(" limit {limit}");
        }
        text += &format!(" quantum {quantum} depth {depth} flows {flows}");
        // More flows than buckets are there only if nobody named the buckets.
        if flows <= divisor {
            text += &format!(" divisor {divisor}");
        }
        if *headdrop {
            text += " headdrop";
        }
        if *perturb_s > 0 {
            text += &format!(" perturb {perturb_s}");
        }
        if let Some(red) = red {
            text += &format!(" redflowlimit {}{}", red.limit, red.words.describe_flow());
        }
        text
    }
}
