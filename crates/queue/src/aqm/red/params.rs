//! The words of `red`, and what tc derives from them.

use super::super::psched::{TICK_NS, burst_time};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::units::{Bytes, Rate};

pub(super) const PARAMS: &[Param] = &[
    Param { name: "limit", value: "BYTES", default: "(required)", doc: "Bytes that may wait." },
    Param {
        name: "min",
        value: "BYTES",
        default: "max/3",
        doc: "Average below which nothing is signalled.",
    },
    Param {
        name: "max",
        value: "BYTES",
        default: "3*min, or limit/4",
        doc: "Average from which every packet is signalled.",
    },
    Param { name: "avpkt", value: "BYTES", default: "(required)", doc: "Usual packet size." },
    Param {
        name: "burst",
        value: "PACKETS",
        default: "(2*min+max)/(3*avpkt)",
        doc: "Burst that the average lets through from an empty queue.",
    },
    Param {
        name: "adaptive",
        value: "",
        default: "off",
        doc: "Adapt the probability to the load.",
    },
    Param {
        name: "probability",
        value: "PROBABILITY",
        default: "0.02",
        doc: "Signal probability just below max, above 0 and below 1.",
    },
    Param {
        name: "bandwidth",
        value: "RATE",
        default: "10Mbit",
        doc: "Link rate, by which the average decays while the queue is idle.",
    },
    Param { name: "ecn", value: "", default: "off", doc: "Mark ECN-capable packets." },
    Param {
        name: "harddrop",
        value: "",
        default: "off",
        doc: "Drop instead of marking when the average is above max.",
    },
    Param {
        name: "nodrop",
        value: "",
        default: "off",
        doc: "Queue packets that cannot be marked instead of dropping them; needs ecn.",
    },
    Param {
        name: "gentle",
        value: "",
        default: "off",
        doc: "From max to 2*max the probability rises to 1 in place of a step; not a word of tc.",
    },
    Param {
        name: "idle",
        value: "linux|exact",
        default: "linux",
        doc: "Decay while idle: 22.5 times too slow as on Linux, or as designed; not a word of tc.",
    },
    Param {
        name: "sce",
        value: "",
        default: "off",
        doc: "Mark ECT(0) packets SCE on a lower ramp, as does each of the words below; not a \
              word of tc.",
    },
    Param {
        name: "sce_min",
        value: "BYTES",
        default: "sce_max/3",
        doc: "Average below which nothing is marked SCE, less than min; not a word of tc.",
    },
    Param {
        name: "sce_max",
        value: "BYTES",
        default: "min",
        doc: "Average from which every packet is marked SCE, at most max; not a word of tc.",
    },
    Param {
        name: "sce_probability",
        value: "PROBABILITY",
        default: "1",
        doc: "Probability of SCE just below sce_max, above 0 and at most 1; not a word of tc.",
    },
];

/// Values as written; what is absent follows from the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Params {
    pub(super) limit: u32,
    min: Option<u32>,
    max: Option<u32>,
    avpkt: u32,
    burst: Option<u32>,
    probability: f64,
    bandwidth: Rate,
    pub(super) adaptive: bool,
    pub(in super::super) ecn: bool,
    pub(in super::super) harddrop: bool,
    pub(super) nodrop: bool,
    pub(super) gentle: bool,
    exact_idle: bool,
    sce: Option<SceWords>,
}

/// The words of the lower ramp.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct SceWords {
    min: Option<u32>,
    max: Option<u32>,
    probability: Option<f64>,
}

/// What the kernel is told.
#[derive(Clone, Debug)]
pub(in super::super) struct Derived {
    pub(super) min: u32,
    pub(super) max: u32,
    pub(super) burst: u32,
    /// Fraction bits of the average: its weight is `2^-wlog`.
    pub(super) wlog: u32,
    /// Probability at `max`, Q0.32.
    pub(super) max_p: u32,
    /// Microseconds of idleness per step of `stab`, as a power of two.
    pub(super) scell_log: u32,
    /// Right shift of the average by idle time.
    pub(super) stab: [u8; 256],
    /// SCE's thresholds in bytes, and its probability at the upper one, Q0.32 and up to 1.
    pub(super) sce: Option<(u32, u32, u64)>,
}

impl Params {
    const BLANK: Self = Self {
        limit: 0,
        min: None,
        max: None,
        avpkt: 0,
        burst: None,
        probability: 0.02,
        bandwidth: Rate(10_000_000),
        adaptive: false,
        ecn: false,
        harddrop: false,
        nodrop: false,
        gentle: false,
        exact_idle: false,
        sce: None,
    };

    /// Reads a whole configuration: as in tc, nothing is taken over from an earlier one.
    pub(super) fn read(args: &mut Args<'_>) -> Result<Self, GrammarError> {
        let mut p = Self::BLANK;
        while let Some(key) = args.key() {
            match key {
                "limit" => p.limit = size(args)?,
                "min" => p.min = Some(size(args)?),
                "max" => p.max = Some(size(args)?),
                "avpkt" => p.avpkt = size(args)?,
                "burst" => p.burst = Some(args.number(1..=u64::from(u32::MAX))? as u32),
                "probability" => p.probability = probability(args)?,
                "bandwidth" => p.bandwidth = args.rate()?,
                "adaptive" => p.adaptive = true,
                "ecn" => p.ecn = true,
                "harddrop" => p.harddrop = true,
                "nodrop" => p.nodrop = true,
                "gentle" => p.gentle = true,
                "idle" => p.exact_idle = args.choice(&["linux", "exact"])? == 1,
                "sce" => _ = p.sce.get_or_insert_default(),
                "sce_min" => p.sce.get_or_insert_default().min = Some(size(args)?),
                "sce_max" => p.sce.get_or_insert_default().max = Some(size(args)?),
                "sce_probability" => {
                    let value = args.value("a number above 0 and at most 1", |w| {
                        w.parse().ok().filter(|n| *n > 0.0 && *n <= 1.0)
                    })?;
                    p.sce.get_or_insert_default().probability = Some(value);
                }
                _ => return Err(args.unknown()),
            }
        }
        if p.limit == 0 || p.avpkt == 0 {
            return Err(args.invalid("`limit` and `avpkt` are required"));
        }
        if p.nodrop && !p.ecn {
            return Err(args.invalid("`nodrop` needs `ecn`"));
        }
        if p.bandwidth < Rate(8) {
            return Err(args.invalid("`bandwidth` must be at least 8bit"));
        }
        Ok(p)
    }

    /// RED of each flow of `sfq`, before its parameters.
    pub(in super::super) fn of_flow() -> Self {
        Self { avpkt: 1000, ..Self::BLANK }
    }

    /// Reads one of the words that `sfq` has too; false if `key` is none of them. Sizes are bare numbers there.
    pub(in super::super) fn read_word(
        &mut self,
        key: &str,
        args: &mut Args<'_>,
    ) -> Result<bool, GrammarError> {
        let mut number = || args.number(1..=u64::from(u32::MAX)).map(|n| n as u32);
        match key {
            "min" => self.min = Some(number()?),
            "max" => self.max = Some(number()?),
            "avpkt" => self.avpkt = number()?,
            "burst" => self.burst = Some(number()?),
            "probability" => self.probability = probability(args)?,
            "ecn" => self.ecn = true,
            "harddrop" => self.harddrop = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The parameters that `read_word` was given.
    pub(in super::super) fn describe_flow(&self) -> String {
        let mut text = String::new();
        for (name, value) in [
            ("min", self.min),
            ("max", self.max),
            ("avpkt", Some(self.avpkt)),
            ("burst", self.burst),
        ] {
            text += &value.map_or(String::new(), |v| format!(" {name} {v}"));
        }
        text += &format!(" probability {}", self.probability);
        for (name, on) in [("ecn", self.ecn), ("harddrop", self.harddrop)] {
            if on {
                text += &format!(" {name}");
            }
        }
        text
    }

    /// [`derive`](Self::derive) as tc does it for `sfq`, whose `max` does not follow from `min`.
    pub(in super::super) fn derive_within(
        &self,
        limit: u32,
        args: &Args<'_>,
    ) -> Result<Derived, GrammarError> {
        let max = self.max.unwrap_or(limit / 4);
        if max > limit {
            return Err(args.invalid(format_args!("`max` {max} is larger than `redflowlimit`")));
        }
        if self.min.is_some_and(|min| min >= max) {
            return Err(args.invalid(format_args!("`min` is not smaller than `max` {max}")));
        }
        Self { limit, max: Some(max), ..*self }.derive(args)
    }

    /// tc's derivations and the kernel's checks.
    pub(super) fn derive(&self, args: &Args<'_>) -> Result<Derived, GrammarError> {
        let tripled = self.min.map(|min| min.saturating_mul(3));
        let max = self.max.or(tripled).unwrap_or(self.limit / 4);
        let min = self.min.unwrap_or(max / 3);
        let (min64, max64) = (u64::from(min), u64::from(max));
        let burst = (2 * min64 + max64) / (3 * u64::from(self.avpkt));
        let burst = self.burst.unwrap_or(burst as u32);
        if max < min {
            return Err(args.invalid(format_args!("`max` {max} is below `min` {min}")));
        }
        let wlog = self.wlog(min, burst).ok_or_else(|| {
            let least = min / self.avpkt + 1;
            args.invalid(format_args!("burst {burst} is too small; at least {least}"))
        })?;
        let (scell_log, stab) = self.idle_table(wlog).ok_or_else(|| {
            args.invalid(format_args!("`bandwidth {}` is too low", self.bandwidth))
        })?;
        if bits(max) + wlog >= 32 {
            return Err(args.invalid(format_args!("`max` {max} is too large for burst {burst}")));
        }
        let max_p = (self.probability * 4_294_967_296.0) as u32;
        if self.probability / f64::from((max - min).max(1)) <= 2.0_f64.powi(-31) {
            return Err(args.invalid("`probability` is too small"));
        }
        let sce = self.sce.map(|sce| sce.derive(min, max, args)).transpose()?;
        Ok(Derived { min, max, burst, wlog, max_p, scell_log, stab, sce })
    }

    /// The least weight exponent with which a burst from an empty queue keeps the average at
    /// `min`.
    fn wlog(&self, min: u32, burst: u32) -> Option<u32> {
        let excess = f64::from(burst) + 1.0 - f64::from(min) / f64::from(self.avpkt);
        if excess < 1.0 {
            return None;
        }
        (1..32).find(|wlog| {
            let w = (-f64::from(*wlog)).exp2();
            excess <= (1.0 - (1.0 - w).powf(f64::from(burst))) / w
        })
    }

    /// Step and shifts of the decay while idle.
    fn idle_table(&self, wlog: u32) -> Option<(u32, [u8; 256])> {
        let ns = burst_time(Bytes(u64::from(self.avpkt)), self.bandwidth).0 as f64;
        let nats = -(1.0 - (-f64::from(wlog)).exp2()).ln();
        // DEVIATION: tc takes the packet time in 64 ns ticks, where the kernel indexes by
        // microseconds, and natural logarithms for shifts.
        let decay = if self.exact_idle {
            nats / std::f64::consts::LN_2 / (ns / 1000.0)
        } else {
            nats / (ns / TICK_NS as f64)
        };
        let longest = 31.0 / decay;
        let log = (0..32).find(|log| longest / f64::from(*log).exp2() < 512.0)?;
        let mut stab = [0; 256];
        for (i, shift) in stab.iter_mut().enumerate() {
            *shift = (((i as u64) << log) as f64 * decay).min(31.0) as u8;
        }
        stab[255] = 31;
        Some((log, stab))
    }

    pub(super) fn describe(&self) -> String {
        let mut text = format!("limit {}b", self.limit);
        for (name, value) in [("min", self.min), ("max", self.max), ("avpkt", Some(self.avpkt))] {
            text += &value.map_or(String::new(), |v| format!(" {name} {v}b"));
        }
        text += &self.burst.map_or(String::new(), |v| format!(" burst {v}"));
        text += &format!(" probability {} bandwidth {}", self.probability, self.bandwidth);
        for (name, on) in [
            ("adaptive", self.adaptive),
            ("ecn", self.ecn),
            ("harddrop", self.harddrop),
            ("nodrop", self.nodrop),
            ("gentle", self.gentle),
            ("idle exact", self.exact_idle),
        ] {
            if on {
                text += &format!(" {name}");
            }
        }
        if let Some(SceWords { min, max, probability }) = self.sce {
            text += " sce";
            text += &min.map_or(String::new(), |v| format!(" sce_min {v}b"));
            text += &max.map_or(String::new(), |v| format!(" sce_max {v}b"));
            text += &probability.map_or(String::new(), |v| format!(" sce_probability {v}"));
        }
        text
    }
}

impl SceWords {
    /// The lower ramp, which ends where `ce_min` begins unless told otherwise.
    fn derive(
        &self,
        ce_min: u32,
        ce_max: u32,
        args: &Args<'_>,
    ) -> Result<(u32, u32, u64), GrammarError> {
        let max = self.max.unwrap_or(ce_min);
        let min = self.min.unwrap_or(max / 3);
        if min >= ce_min {
            return Err(args.invalid(format_args!("`sce_min` {min} is not below `min` {ce_min}")));
        }
        if !(min..=ce_max).contains(&max) {
            let why = format_args!("`sce_max` {max} is not from {min} to {ce_max}");
            return Err(args.invalid(why));
        }
        let probability = self.probability.unwrap_or(1.0);
        Ok((min, max, (probability * 4_294_967_296.0) as u64))
    }
}

/// Position of the highest bit set, from 1.
const fn bits(n: u32) -> u32 {
    32 - n.leading_zeros()
}

fn size(args: &mut Args<'_>) -> Result<u32, GrammarError> {
    args.value("a size from 1b such as `150000` or `1Mb`", |w| {
        Bytes::parse_tc(w).and_then(|b| u32::try_from(b.0).ok()).filter(|b| *b > 0)
    })
}

fn probability(args: &mut Args<'_>) -> Result<f64, GrammarError> {
    args.value("a number above 0 and below 1", |w| w.parse().ok().filter(|n| *n > 0.0 && *n < 1.0))
}
