//! What the token buckets of Linux 6.12 `sch_tbf` and `act_police` share: the words that say what
//! a frame is charged (tc's `tc_ratespec`), and the account of tokens in nanoseconds.

use super::psched::{LinkLayer, RateConfig};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::units::Rate;

pub(crate) const MPU: Param =
    Param { name: "mpu", value: "BYTES", default: "0", doc: "Least size charged." };
pub(crate) const OVERHEAD: Param =
    Param { name: "overhead", value: "BYTES", default: "0", doc: "Added to each packet." };
pub(crate) const LINKLAYER: Param = Param {
    name: "linklayer",
    value: "ethernet|atm|adsl",
    default: "ethernet",
    doc: "Framing below the packet.",
};

/// What a frame is charged beside its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Charge {
    mpu: u16,
    overhead: u16,
    layer: LinkLayer,
}

impl Charge {
    /// Reads one of its words; false if `key` is none of them.
    pub(crate) fn read(&mut self, key: &str, args: &mut Args<'_>) -> Result<bool, GrammarError> {
        match key {
            "mpu" => self.mpu = args.number(0..=0xffff)? as u16,
            "overhead" => self.overhead = args.number(0..=0xffff)? as u16,
            "linklayer" => self.layer = LinkLayer::from_index(args.choice(&LinkLayer::WORDS)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Its words other than the defaults, each after a space.
    pub(crate) fn describe(self) -> String {
        let mut text = String::new();
        if self.mpu != 0 {
            text += &format!(" mpu {}", self.mpu);
        }
        if self.overhead != 0 {
            text += &format!(" overhead {}", self.overhead);
        }
        if self.layer != LinkLayer::Ethernet {
            text += &format!(" linklayer {}", self.layer.name());
        }
        text
    }

    pub(crate) fn config(self, rate: Rate) -> RateConfig {
        RateConfig::new(rate, self.overhead, u32::from(self.mpu), self.layer)
    }
}

/// Tokens in nanoseconds of one rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    pub(crate) config: RateConfig,
    pub(crate) depth: i64,
    pub(crate) tokens: i64,
}

impl Bucket {
    pub(crate) fn full(config: RateConfig, depth: i64) -> Self {
        Self { config, depth, tokens: depth }
    }

    /// What would be left after `elapsed` and a packet of `len` bytes; negative is a debt.
    #[inline]
    pub(crate) fn after(&self, elapsed: i64, len: u32) -> i64 {
        (elapsed + self.tokens).min(self.depth) - self.config.l2t(len) as i64
    }
}
