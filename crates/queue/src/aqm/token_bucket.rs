//! What the token buckets of Linux 6.12 `sch_tbf` and `act_police` share: the parameters that say what
//! a frame is charged (tc's `tc_ratespec`), and the account of tokens in nanoseconds.

use super::psched::{LinkLayer, RateConfig};
use sojourn_core::grammar::forms::whole;
use sojourn_core::parameters;
use sojourn_core::units::Rate;

parameters! {
    /// What a frame is charged beside its bytes.
    #[derive(Copy, PartialEq)]
    pub(crate) struct Charge {
        /// Least size charged.
        mpu: u16 = 0 => whole("BYTES", 0..=0xffff, "");
        /// Added to each packet.
        overhead: u16 = 0 => whole("BYTES", 0..=0xffff, "");
        /// Framing below the packet.
        linklayer: LinkLayer = LinkLayer::Ethernet;
    }
}

impl Charge {
    pub(crate) fn config(self, rate: Rate) -> RateConfig {
        RateConfig::new(rate, self.overhead, u32::from(self.mpu), self.linklayer)
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
    /// Linux 6.12 `tbf_dequeue`, `tcf_police_act`.
    #[inline]
    pub(crate) fn after(&self, elapsed: i64, len: u32) -> i64 {
        (elapsed + self.tokens).min(self.depth) - self.config.l2t(len) as i64
    }
}
