//! The two buckets of one class and the mode that they put it in, whatever tree it stands in.

use super::params::ClassParams;
use crate::aqm::psched::{LinkLayer, RateConfig, TICK_NS, burst_time};
use sojourn_core::units::Time;

/// The longest absence that a bucket remembers, and the deepest debt.
const MBUFFER_NS: i64 = 60_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Above its ceiling.
    CantSend,
    /// Between rate and ceiling: a parent would have to lend.
    MayBorrow,
    CanSend,
}

/// Tokens of one class in nanoseconds of its rate (`tokens`) and ceiling (`ctokens`).
#[derive(Debug)]
pub(super) struct Class {
    rate: RateConfig,
    ceil: RateConfig,
    buffer: i64,
    cbuffer: i64,
    pub(super) tokens: i64,
    pub(super) ctokens: i64,
    /// Instant of the last charge.
    charged: Time,
    pub(super) mode: Mode,
    /// When `mode` is to be looked at again.
    pub(super) due: Time,
    /// Packets sent on own tokens, by the class itself or by a descendant.
    pub(super) lends: u64,
    /// Packets sent on an ancestor's tokens.
    pub(super) borrows: u64,
    pub(super) overlimits: u64,
}

impl Class {
    pub(super) fn new(params: &ClassParams, now: Time) -> Self {
        let config = RateConfig::new(params.rate, 0, 0, LinkLayer::Ethernet);
        let mut class = Self {
            rate: config,
            ceil: config,
            buffer: 0,
            cbuffer: 0,
            tokens: 0,
            ctokens: 0,
            charged: now,
            mode: Mode::CanSend,
            due: Time::NEVER,
            lends: 0,
            borrows: 0,
            overlimits: 0,
        };
        class.configure(params);
        (class.tokens, class.ctokens) = (class.buffer, class.cbuffer);
        class
    }

    /// New rates and buckets; the tokens stay as they are, debts included.
    pub(super) fn configure(&mut self, p: &ClassParams) {
        let ceil = p.ceil();
        self.rate = RateConfig::new(p.rate, p.overhead, p.mpu, p.linklayer);
        self.ceil = RateConfig::new(ceil, p.overhead, p.mpu, p.linklayer);
        self.buffer = burst_time(p.burst_or_default(p.burst, p.rate), p.rate).0 as i64;
        self.cbuffer = burst_time(p.burst_or_default(p.cburst, ceil), ceil).0 as i64;
    }

    #[inline]
    fn elapsed(&self, now: Time) -> i64 {
        (now.since(self.charged).0 as i64).min(MBUFFER_NS)
    }

    /// The mode at `now`, and when it is to be looked at again.
    /// Linux 6.12 `htb_class_mode`, with its hysteresis off.
    #[inline]
    pub(super) fn mode_at(&self, now: Time) -> (Mode, Time) {
        let elapsed = self.elapsed(now);
        let (toks, ctoks) = (self.tokens + elapsed, self.ctokens + elapsed);
        if ctoks < 0 {
            (Mode::CantSend, Time(now.0 + ctoks.unsigned_abs()))
        } else if toks >= 0 {
            (Mode::CanSend, Time::NEVER)
        } else {
            (Mode::MayBorrow, Time(now.0 + toks.unsigned_abs()))
        }
    }

    #[inline]
    pub(super) fn set_mode(&mut self, (mode, due): (Mode, Time)) {
        if mode == Mode::CantSend && self.mode != Mode::CantSend {
            self.overlimits += 1;
        }
        (self.mode, self.due) = (mode, due);
    }

    /// Whether the class may send at `now` on its own tokens.
    #[inline]
    pub(super) fn may_send(&mut self, now: Time) -> bool {
        if now >= self.due {
            self.set_mode(self.mode_at(now));
        }
        self.mode == Mode::CanSend
    }

    /// Charges both buckets. The mode is the caller's to set. Linux 6.12 `htb_charge_class`.
    #[inline]
    pub(super) fn charge(&mut self, now: Time, len: u32) {
        let elapsed = self.elapsed(now);
        self.tokens = settle(self.tokens + elapsed, self.buffer, &self.rate, len);
        self.ctokens = settle(self.ctokens + elapsed, self.cbuffer, &self.ceil, len);
        self.charged = now;
    }

    /// Charges the ceiling only: an ancestor has lent the tokens of the rate.
    /// Linux 6.12 `htb_charge_class`.
    #[inline]
    pub(super) fn charge_borrowed(&mut self, now: Time, len: u32) {
        let elapsed = self.elapsed(now);
        self.tokens += elapsed;
        self.ctokens = settle(self.ctokens + elapsed, self.cbuffer, &self.ceil, len);
        self.charged = now;
        self.borrows += 1;
    }

    /// `tokens` and `ctokens` in tc's ticks.
    pub(super) fn ticks(&self) -> [f64; 2] {
        [self.tokens, self.ctokens].map(|ns| ns.div_euclid(TICK_NS as i64) as f64)
    }
}

/// What is left in a bucket of depth `buffer` after a packet of `len` bytes.
/// Linux 6.12 `htb_accnt_tokens`, `htb_accnt_ctokens`.
#[inline]
fn settle(tokens: i64, buffer: i64, config: &RateConfig, len: u32) -> i64 {
    let tokens = tokens.min(buffer) - config.l2t(len) as i64;
    if tokens <= -MBUFFER_NS { 1 - MBUFFER_NS } else { tokens }
}
