//! The words of `red_classic`, and Adaptive RED's choices for what is not given.

use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::units::{Dur, Rate};

pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "bandwidth",
        value: "RATE",
        default: "(required)",
        doc: "Link rate, by which the average decays while the queue is empty.",
    },
    Param {
        name: "packets|bytes",
        value: "",
        default: "packets",
        doc: "Unit of the average, of both thresholds and of limit; by bytes, long packets are \
              signalled in proportion more often.",
    },
    Param {
        name: "limit",
        value: "NUMBER",
        default: "1000 packets",
        doc: "What may wait, in the unit chosen.",
    },
    Param {
        name: "min_th",
        value: "NUMBER",
        default: "5 packets or half of target",
        doc: "Average below which nothing is signalled; the greater of the defaults.",
    },
    Param {
        name: "max_th",
        value: "NUMBER",
        default: "3*min_th",
        doc: "Average from which every packet is dropped.",
    },
    Param {
        name: "max_p",
        value: "PROBABILITY",
        default: "0.02",
        doc: "Probability at max_th; where adaptive begins.",
    },
    Param {
        name: "w",
        value: "WEIGHT|auto",
        default: "0.002, or auto with adaptive",
        doc: "Weight of a sample; auto is 1-exp(-1/C), C in packets per second.",
    },
    Param { name: "avpkt", value: "BYTES", default: "1000", doc: "Mean packet size." },
    Param {
        name: "target",
        value: "TIME",
        default: "5ms",
        doc: "Average delay for which thresholds that are not given are made.",
    },
    Param {
        name: "gentle|nogentle",
        value: "",
        default: "nogentle",
        doc: "From max_th to twice that the probability rises to 1 in place of a step.",
    },
    Param {
        name: "adaptive|noadaptive",
        value: "",
        default: "noadaptive",
        doc: "Adapt max_p every half second to keep the average between the thresholds.",
    },
    Param {
        name: "ecn|noecn",
        value: "",
        default: "noecn",
        doc: "Mark ECN-capable packets where the probability is below 1.",
    },
];

/// Values as written; what is absent follows from the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Params {
    bandwidth: Rate,
    pub(super) bytes: bool,
    limit: Option<u64>,
    min_th: Option<f64>,
    max_th: Option<f64>,
    pub(super) max_p: f64,
    weight: Option<Weight>,
    pub(super) avpkt: u32,
    target: Dur,
    pub(super) gentle: bool,
    pub(super) adaptive: bool,
    pub(super) ecn: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Weight {
    Auto,
    Given(f64),
}

/// What the law works with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Derived {
    pub(super) min_th: f64,
    pub(super) max_th: f64,
    pub(super) w: f64,
    /// Packets of the mean size that the link carries.
    pub(super) packets_per_sec: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            bandwidth: Rate(0),
            bytes: false,
            limit: None,
            min_th: None,
            max_th: None,
            max_p: 0.02,
            weight: None,
            avpkt: 1000,
            target: Dur::from_millis(5),
            gentle: false,
            adaptive: false,
            ecn: false,
        }
    }
}

impl Params {
    pub(super) fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        while let Some(key) = args.key() {
            match key {
                "bandwidth" => self.bandwidth = args.rate()?,
                "packets" => self.bytes = false,
                "bytes" => self.bytes = true,
                "limit" => self.limit = Some(args.number(1..=u64::from(u32::MAX))?),
                "min_th" => self.min_th = Some(args.decimal(0.0..=1e12)?),
                "max_th" => self.max_th = Some(args.decimal(0.0..=1e12)?),
                "max_p" => self.max_p = args.decimal(0.0..=1.0)?,
                "w" => {
                    let expected = "a weight above 0 up to 1, or `auto`";
                    self.weight = Some(args.value(expected, |w| match w {
                        "auto" => Some(Weight::Auto),
                        _ => w.parse().ok().filter(|w| *w > 0.0 && *w <= 1.0).map(Weight::Given),
                    })?);
                }
                "avpkt" => self.avpkt = args.number(1..=1 << 20)? as u32,
                "target" => self.target = args.time()?,
                "gentle" => self.gentle = true,
                "nogentle" => self.gentle = false,
                "adaptive" => self.adaptive = true,
                "noadaptive" => self.adaptive = false,
                "ecn" => self.ecn = true,
                "noecn" => self.ecn = false,
                _ => return Err(args.unknown()),
            }
        }
        if self.bandwidth == Rate(0) {
            let why = "`bandwidth` is required: the rate of the link, such as `20Mbit`";
            return Err(args.invalid(why));
        }
        let Derived { min_th, max_th, .. } = self.derive();
        if max_th <= min_th {
            return Err(args.invalid(format!("`max_th {max_th}` is not above `min_th {min_th}`")));
        }
        Ok(self)
    }

    pub(super) fn limit(&self) -> u64 {
        let unit = if self.bytes { u64::from(self.avpkt) } else { 1 };
        self.limit.unwrap_or(1000 * unit)
    }

    /// Adaptive RED 2001, 4: thresholds from the target delay, the weight from the link's rate.
    pub(super) fn derive(&self) -> Derived {
        let packets_per_sec = self.bandwidth.0 as f64 / 8.0 / f64::from(self.avpkt);
        let unit = if self.bytes { f64::from(self.avpkt) } else { 1.0 };
        let auto = (self.target.as_secs_f64() * packets_per_sec / 2.0).max(5.0) * unit;
        let min_th = self.min_th.unwrap_or(auto);
        let fallback = if self.adaptive { Weight::Auto } else { Weight::Given(0.002) };
        let w = match self.weight.unwrap_or(fallback) {
            Weight::Auto => -(-1.0 / packets_per_sec).exp_m1(),
            Weight::Given(w) => w,
        };
        Derived { min_th, max_th: self.max_th.unwrap_or(3.0 * min_th), w, packets_per_sec }
    }

    pub(super) fn describe(&self) -> String {
        let mut text = format!("bandwidth {}", self.bandwidth);
        text += if self.bytes { " bytes" } else { " packets" };
        if let Some(limit) = self.limit {
            text += &format!(" limit {limit}");
        }
        for (name, value) in [("min_th", self.min_th), ("max_th", self.max_th)] {
            if let Some(value) = value {
                text += &format!(" {name} {value}");
            }
        }
        text += &format!(" max_p {}", self.max_p);
        match self.weight {
            Some(Weight::Auto) => text += " w auto",
            Some(Weight::Given(w)) => text += &format!(" w {w}"),
            None => {}
        }
        text += &format!(" avpkt {} target {}", self.avpkt, self.target);
        text += if self.gentle { " gentle" } else { " nogentle" };
        text += if self.adaptive { " adaptive" } else { " noadaptive" };
        text + if self.ecn { " ecn" } else { " noecn" }
    }
}
