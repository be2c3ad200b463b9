//! The words of `docsis_pie`, and the delay and the gain that follow from them.

use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::units::{Bytes, Dur, Rate};

pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "msr",
        value: "RATE",
        default: "(required)",
        doc: "Maximum sustained rate of the service flow.",
    },
    Param {
        name: "peak_rate",
        value: "RATE",
        default: "msr",
        doc: "Rate while the token bucket lasts, at least msr.",
    },
    Param {
        name: "max_burst_bytes",
        value: "BYTES",
        default: "3044b",
        doc: "Depth of the token bucket: DOCSIS's maximum traffic burst.",
    },
    Param {
        name: "limit",
        value: "BYTES",
        default: "250ms of msr",
        doc: "Bytes that may wait: BUFFER_SIZE.",
    },
    Param {
        name: "target",
        value: "TIME",
        default: "10ms",
        doc: "LATENCY_TARGET; DOCSIS allows 10 to 100 ms.",
    },
    Param { name: "interval", value: "TIME", default: "16ms", doc: "Period of the controller." },
    Param {
        name: "alpha",
        value: "HZ",
        default: "0.25",
        doc: "Integral gain A per update, above 0 up to 100.",
    },
    Param {
        name: "beta",
        value: "HZ",
        default: "2.5",
        doc: "Proportional gain B per update, above 0 up to 100.",
    },
    Param {
        name: "max_burst",
        value: "TIME",
        default: "142ms",
        doc: "How long nothing is dropped after the drop that ends a quiet time.",
    },
    Param {
        name: "burst_reset_timeout",
        value: "TIME",
        default: "1s",
        doc: "Quiet time after which the queue may fill to a third without a drop.",
    },
    Param {
        name: "mean_pktsize",
        value: "BYTES",
        default: "1024b",
        doc: "Packet size for which the probability holds.",
    },
    Param {
        name: "min_pktsize",
        value: "BYTES",
        default: "64b",
        doc: "Smallest packet size, which bounds the probability.",
    },
    Param {
        name: "prob_low",
        value: "NUMBER",
        default: "0.85",
        doc: "No drop below this accumulated probability; also the largest for one packet.",
    },
    Param {
        name: "prob_high",
        value: "NUMBER",
        default: "8.5",
        doc: "A certain drop from this accumulated probability.",
    },
    Param {
        name: "latency_low",
        value: "TIME",
        default: "5ms",
        doc: "The probability decays while two delays are below.",
    },
    Param {
        name: "latency_high",
        value: "TIME",
        default: "200ms",
        doc: "The probability rises by another 2 % per update above.",
    },
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Params {
    pub(super) msr: Rate,
    peak_rate: Option<Rate>,
    pub(super) bucket: Bytes,
    limit: Option<Bytes>,
    pub(super) target: Dur,
    pub(super) interval: Dur,
    pub(super) alpha: f64,
    pub(super) beta: f64,
    pub(super) max_burst: Dur,
    pub(super) burst_reset_timeout: Dur,
    pub(super) mean_pktsize: u32,
    min_pktsize: u32,
    pub(super) prob_low: f64,
    pub(super) prob_high: f64,
    pub(super) latency_low: Dur,
    pub(super) latency_high: Dur,
}

impl Params {
    /// RFC 8034's constants.
    pub(super) const RFC: Self = Self {
        msr: Rate(0),
        peak_rate: None,
        bucket: Bytes(3044),
        limit: None,
        target: Dur::from_millis(10),
        interval: Dur::from_millis(16),
        alpha: 0.25,
        beta: 2.5,
        max_burst: Dur::from_millis(142),
        burst_reset_timeout: Dur::from_secs(1),
        mean_pktsize: 1024,
        min_pktsize: 64,
        prob_low: 0.85,
        prob_high: 8.5,
        latency_low: Dur::from_millis(5),
        latency_high: Dur::from_millis(200),
    };

    pub(super) fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        while let Some(key) = args.key() {
            match key {
                "msr" => self.msr = rate(args)?,
                "peak_rate" => self.peak_rate = Some(rate(args)?),
                "max_burst_bytes" => self.bucket = args.size()?,
                "limit" => self.limit = Some(args.size()?),
                "target" => self.target = time(args)?,
                "interval" => self.interval = time(args)?,
                "alpha" => self.alpha = gain(args)?,
                "beta" => self.beta = gain(args)?,
                "max_burst" => self.max_burst = args.time()?,
                "burst_reset_timeout" => self.burst_reset_timeout = args.time()?,
                "mean_pktsize" => self.mean_pktsize = pktsize(args)?,
                "min_pktsize" => self.min_pktsize = pktsize(args)?,
                "prob_low" => self.prob_low = args.decimal(0.0..=1.0)?,
                "prob_high" => self.prob_high = args.decimal(0.0..=1000.0)?,
                "latency_low" => self.latency_low = args.time()?,
                "latency_high" => self.latency_high = args.time()?,
                _ => return Err(args.unknown()),
            }
        }
        if self.msr == Rate(0) {
            return Err(args.invalid("`msr` is required: the rate of the link, such as `20Mbit`"));
        }
        if self.peak_rate() < self.msr {
            return Err(args.invalid(format!(
                "`peak_rate {}` is below `msr {}`",
                self.peak_rate(),
                self.msr
            )));
        }
        if self.min_pktsize > self.mean_pktsize || self.prob_low > self.prob_high {
            return Err(args.invalid(
                "`min_pktsize` and `prob_low` cannot exceed `mean_pktsize` and `prob_high`",
            ));
        }
        Ok(self)
    }

    pub(super) fn peak_rate(&self) -> Rate {
        self.peak_rate.unwrap_or(self.msr)
    }

    /// Bytes that may wait.
    #[inline]
    pub(super) fn buffer_size(&self) -> u64 {
        self.limit.map_or_else(|| self.msr.bytes_in(Dur::from_millis(250)), |limit| limit.0)
    }

    /// The largest probability: that of a packet of the mean size when one of the smallest size
    /// has `prob_low`.
    pub(super) fn max_prob(&self) -> f64 {
        self.prob_low * f64::from(self.mean_pktsize) / f64::from(self.min_pktsize)
    }

    pub(super) fn describe(&self) -> String {
        let mut text = format!("msr {}", self.msr);
        if let Some(rate) = self.peak_rate {
            text += &format!(" peak_rate {rate}");
        }
        text += &format!(" max_burst_bytes {}", self.bucket);
        if let Some(limit) = self.limit {
            text += &format!(" limit {limit}");
        }
        text += &format!(
            " target {} interval {} alpha {} beta {} max_burst {} burst_reset_timeout {}",
            self.target,
            self.interval,
            self.alpha,
            self.beta,
            self.max_burst,
            self.burst_reset_timeout
        );
        text += &format!(" mean_pktsize {}b min_pktsize {}b", self.mean_pktsize, self.min_pktsize);
        text += &format!(" prob_low {} prob_high {}", self.prob_low, self.prob_high);
        text + &format!(" latency_low {} latency_high {}", self.latency_low, self.latency_high)
    }
}

fn rate(args: &mut Args<'_>) -> Result<Rate, GrammarError> {
    args.value("a rate from 8bit such as `20Mbit`", |w| Rate::parse_tc(w).filter(|r| r.0 >= 8))
}

fn time(args: &mut Args<'_>) -> Result<Dur, GrammarError> {
    args.value("a time from 1us such as `10ms`", |w| Dur::parse_tc(w).filter(|d| d.0 >= 1000))
}

fn gain(args: &mut Args<'_>) -> Result<f64, GrammarError> {
    args.value("a number above 0 up to 100", |w| w.parse().ok().filter(|g| *g > 0.0 && *g <= 100.0))
}

fn pktsize(args: &mut Args<'_>) -> Result<u32, GrammarError> {
    args.value("a size from 1b to 64Kb", |w| {
        Bytes::parse_tc(w).filter(|b| (1..=65_536).contains(&b.0)).map(|b| b.0 as u32)
    })
}
