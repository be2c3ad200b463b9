//! The words of `grant`.

use crate::impair::trace::{DIGEST, FILE, FileWords, UNIT, read_unit};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::units::{Dur, Rate};

pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "rate",
        value: "RATE",
        default: "(required without file)",
        doc: "Constant rate of the grants, layer-2 bytes.",
    },
    Param {
        default: "none",
        doc: "Rate trace instead of `rate`, read as `rate_trace` does.",
        ..FILE
    },
    DIGEST,
    UNIT,
    Param {
        name: "repeat|hold",
        value: "",
        default: "repeat",
        doc: "After the last step of the file, start over or keep its rate.",
    },
    Param {
        name: "slot",
        value: "TIME",
        default: "1ms",
        doc: "Period of the grants: 1ms in LTE, 500us in NR at 30 kHz.",
    },
    Param {
        name: "loss",
        value: "PERCENT",
        default: "0%",
        doc: "Probability that a block fails, in each attempt.",
    },
    Param {
        name: "harq",
        value: "TIME",
        default: "8ms",
        doc: "From an attempt to the next, in whole slots.",
    },
    Param {
        name: "attempts",
        value: "NUMBER",
        default: "4",
        doc: "Attempts until HARQ gives a block up.",
    },
    Param {
        name: "request",
        value: "TIME",
        default: "0ns",
        doc: "From the arrival of bytes to the first grant for them (buffer status report).",
    },
    Param {
        name: "am|um",
        value: "",
        default: "am",
        doc: "Acknowledged mode: in order, and a block given up is sent as if it were new; or \
                  unacknowledged: as they complete, and without those given up.",
    },
];

const SLOT_MAX: Dur = Dur::from_secs(1);

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Params {
    pub(super) rate: Rate,
    pub(super) trace: FileWords,
    pub(super) unit: Rate,
    pub(super) slot: Dur,
    pub(super) loss_percent: f64,
    pub(super) harq: Dur,
    pub(super) attempts: u32,
    pub(super) request: Dur,
    pub(super) is_acknowledged: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            rate: Rate(0),
            trace: FileWords::new(true),
            unit: Rate(1000),
            slot: Dur::from_millis(1),
            loss_percent: 0.0,
            harq: Dur::from_millis(8),
            attempts: 4,
            request: Dur::ZERO,
            is_acknowledged: true,
        }
    }
}

impl Params {
    pub(super) fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        while let Some(key) = args.key() {
            match key {
                "rate" => self.rate = args.rate()?,
                "unit" => self.unit = read_unit(args)?,
                "slot" => {
                    let time = |w| Dur::parse_tc(w).filter(|d| d.0 >= 1000 && *d <= SLOT_MAX);
                    self.slot = args.value("a time from 1us to 1s", time)?;
                }
                "loss" => {
                    let percent = |w: &str| w.strip_suffix('%')?.parse().ok();
                    let allowed = |n: &f64| (0.0..=99.0).contains(n);
                    let read = |w| percent(w).filter(allowed);
                    self.loss_percent = args.value("a percentage from 0% to 99%", read)?;
                }
                "harq" => self.harq = args.time()?,
                "attempts" => self.attempts = args.number(1..=1000)? as u32,
                "request" => self.request = args.time()?,
                "am" => self.is_acknowledged = true,
                "um" => self.is_acknowledged = false,
                key => self.trace.read(key, "hold", args)?,
            }
        }
        if (self.rate == Rate(0)) == self.trace.file.is_empty() {
            return Err(args.invalid("either `rate`, above zero, or `file` is required"));
        }
        Ok(self)
    }

    pub(super) fn describe(&self) -> String {
        let source = if self.trace.file.is_empty() {
            format!("rate {}", self.rate)
        } else {
            format!("{} unit {}", self.trace.describe("hold"), self.unit)
        };
        let mode = if self.is_acknowledged { "am" } else { "um" };
        format!(
            "{source} slot {} loss {}% harq {} attempts {} request {} {mode}",
            self.slot, self.loss_percent, self.harq, self.attempts, self.request
        )
    }
}
