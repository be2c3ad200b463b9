//! The words of `fq`.

use super::super::Env;
use super::super::pfifo_fast::BAND_OF_PRIORITY;
use super::BANDS;
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::units::{Bytes, Dur, Rate};

pub(super) const PARAMS: &[Param] = &[
    Param { name: "limit", value: "PACKETS", default: "10000p", doc: "Packets in each band." },
    Param {
        name: "flow_limit",
        value: "PACKETS",
        default: "100p",
        doc: "Packets that one flow may have waiting.",
    },
    Param {
        name: "quantum",
        value: "BYTES",
        default: "3028b",
        doc: "Bytes per flow and round; clamped to 256 bytes to 1 MB.",
    },
    Param {
        name: "initial_quantum",
        value: "BYTES",
        default: "15140b",
        doc: "Bytes that a flow never seen before may send at once.",
    },
    Param {
        name: "maxrate",
        value: "RATE",
        default: "unlimited",
        doc: "Rate at which each flow is paced.",
    },
    Param {
        name: "low_rate_threshold",
        value: "RATE",
        default: "550kbit",
        doc: "Up to this rate every packet is paced by itself, above it a quantum at a time.",
    },
    Param {
        name: "pacing|nopacing",
        value: "",
        default: "pacing",
        doc: "Whether maxrate is in force.",
    },
    Param {
        name: "refill_delay",
        value: "TIME",
        default: "40ms",
        doc: "A flow off the lists for longer gets a quantum.",
    },
    Param {
        name: "bands",
        value: "3 priomap P0 ... P15",
        default: "3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1",
        doc: "Band, 0 to 2, of each of the sixteen priorities.",
    },
    Param {
        name: "weights",
        value: "W0 W1 W2",
        default: "589824 196608 65536",
        doc: "Bytes per band and round, at least 16384.",
    },
    Param {
        name: "orphan_mask",
        value: "MASK",
        default: "1023",
        doc: "Bits of the hash that tell flows apart, 0 to 65535.",
    },
    Param {
        name: "buckets",
        value: "NUMBER",
        default: "1024",
        doc: "Width of the kernel's table, 2 to 262144, up to a power of two; without effect here.",
    },
    Param {
        name: "timer_slack",
        value: "TIME",
        default: "10us",
        doc: "How late the timer of a paced flow fires.",
    },
    Param {
        name: "ce_threshold",
        value: "TIME",
        default: "off",
        doc: "Mark packets that leave later than this after they were due.",
    },
    Param {
        name: "horizon",
        value: "TIME",
        default: "10s",
        doc: "How far ahead a departure time may lie; without effect here.",
    },
    Param {
        name: "horizon_drop|horizon_cap",
        value: "",
        default: "horizon_drop",
        doc: "What happens to a packet beyond the horizon; without effect here.",
    },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Params {
    pub(super) limit: u32,
    pub(super) flow_limit: u32,
    pub(super) quantum: u32,
    pub(super) initial_quantum: u32,
    pub(super) max_rate: Option<Rate>,
    pub(super) low_rate_threshold: Rate,
    pub(super) paces: bool,
    pub(super) refill_delay: Dur,
    pub(super) band_of: [u8; 16],
    pub(super) weights: [u32; BANDS],
    pub(super) orphan_mask: u32,
    buckets: u32,
    pub(super) timer_slack: Dur,
    pub(super) ce_threshold: Option<Dur>,
    horizon: Dur,
    caps: bool,
}

impl Params {
    pub(super) fn new(env: &Env) -> Self {
        Self {
            limit: 10_000,
            flow_limit: 100,
            quantum: 2 * env.psched_mtu,
            initial_quantum: 10 * env.psched_mtu,
            max_rate: None,
            low_rate_threshold: Rate(550_000),
            paces: true,
            refill_delay: Dur::from_millis(40),
            band_of: BAND_OF_PRIORITY,
            weights: [589_824, 196_608, 65_536],
            orphan_mask: 1023,
            buckets: 1024,
            timer_slack: Dur::from_micros(10),
            ce_threshold: None,
            horizon: Dur::from_secs(10),
            caps: false,
        }
    }

    pub(super) fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        let most = u64::from(u32::MAX);
        while let Some(key) = args.key() {
            match key {
                "limit" => self.limit = args.number(0..=most)? as u32,
                "flow_limit" => self.flow_limit = args.number(0..=most)? as u32,
                "quantum" => self.quantum = size(args)?.clamp(256, 1 << 20),
                "initial_quantum" => self.initial_quantum = size(args)?,
                "maxrate" => self.max_rate = Some(whole_bytes(args.rate()?)),
                "low_rate_threshold" => self.low_rate_threshold = whole_bytes(args.rate()?),
                "pacing" => self.paces = true,
                "nopacing" => self.paces = false,
                "refill_delay" => self.refill_delay = args.time()?,
                "bands" => {
                    args.number(BANDS as u64..=BANDS as u64)?;
                    args.choice(&["priomap"])?;
                    for band in &mut self.band_of {
                        *band = args.number(0..=BANDS as u64 - 1)? as u8;
                    }
                }
                "weights" => {
                    for weight in &mut self.weights {
                        *weight = args.number(16_384..=i32::MAX as u64)? as u32;
                    }
                }
                "orphan_mask" => self.orphan_mask = u32::from(mask(args)?),
                "buckets" => {
                    self.buckets = (args.number(2..=262_144)? as u32).next_power_of_two();
                }
                "timer_slack" => self.timer_slack = slack(args)?,
                "ce_threshold" => self.ce_threshold = Some(args.time()?),
                "horizon" => self.horizon = args.time()?,
                "horizon_drop" => self.caps = false,
                "horizon_cap" => self.caps = true,
                _ => return Err(args.unknown()),
            }
        }
        Ok(self)
    }

    /// The words after the name, as tc prints them.
    pub(super) fn describe(&self) -> String {
        let Self { limit, flow_limit, buckets, orphan_mask, .. } = self;
        let mut text = format!(
            "limit {limit}p flow_limit {flow_limit}p buckets {buckets} orphan_mask {orphan_mask}"
        );
        text += if self.paces { "" } else { " nopacing" };
        text += " bands 3 priomap";
        for band in self.band_of {
            text += &format!(" {band}");
        }
        text += " weights";
        for weight in self.weights {
            text += &format!(" {weight}");
        }
        let (quantum, initial) = (self.quantum, self.initial_quantum);
        text += &format!(" quantum {quantum}b initial_quantum {initial}b");
        if let Some(rate) = self.max_rate {
            text += &format!(" maxrate {rate}");
        }
        let (low, refill) = (self.low_rate_threshold, self.refill_delay);
        text += &format!(" low_rate_threshold {low} refill_delay {refill}");
        if let Some(threshold) = self.ce_threshold {
            text += &format!(" ce_threshold {threshold}");
        }
        text += &format!(" timer_slack {} horizon {}", self.timer_slack, self.horizon);
        text + if self.caps { " horizon_cap" } else { " horizon_drop" }
    }
}

fn size(args: &mut Args<'_>) -> Result<u32, GrammarError> {
    args.value("a size below 2Gb such as `3028b`", |w| {
        Bytes::parse_tc(w).filter(|b| i32::try_from(b.0).is_ok()).map(|b| b.0 as u32)
    })
}

fn mask(args: &mut Args<'_>) -> Result<u16, GrammarError> {
    args.value("a mask from 0 to 65535 such as `1023` or `0x3ff`", |w| {
        w.strip_prefix("0x").map_or_else(|| w.parse(), |hex| u16::from_str_radix(hex, 16)).ok()
    })
}

fn slack(args: &mut Args<'_>) -> Result<Dur, GrammarError> {
    args.value("a time up to 4.29s such as `10us`", |w| {
        Dur::parse_tc64(w).filter(|d| u32::try_from(d.0).is_ok())
    })
}

/// Rates are whole bytes per second in the kernel.
const fn whole_bytes(rate: Rate) -> Rate {
    Rate(rate.bytes_per_sec() * 8)
}
