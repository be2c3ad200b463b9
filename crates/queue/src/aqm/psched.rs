//! Rate arithmetic of the Linux packet schedulers: transmission times by multiply and shift, and
//! tc's 64 ns ticks. Linux 6.12 `psched_ratecfg`, iproute2 7.3 `tc_calc_xmittime`.

use sojourn_core::grammar::forms::{OneOf, Value};
use sojourn_core::units::{Bytes, Dur, Rate};

/// Nanoseconds in one tick of tc's bucket sizes.
pub const TICK_NS: u64 = 64;

/// Ethernet, or the cells of ATM: 53 bytes on the wire for each 48 begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkLayer {
    /// Length as it is.
    #[default]
    Ethernet,
    /// Whole cells.
    Atm,
}

impl Value for LinkLayer {
    type Form = OneOf<Self>;
    /// tc's names; `adsl` is another one for `atm`.
    const FORM: OneOf<Self> = OneOf {
        value: "ethernet|atm|adsl",
        all: &[("ethernet", Self::Ethernet), ("atm", Self::Atm), ("adsl", Self::Atm)],
    };
}

/// A rate prepared for length-to-time conversion without division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateConfig {
    mult: u32,
    shift: u32,
    overhead: u32,
    mpu: u32,
    layer: LinkLayer,
}

impl RateConfig {
    /// The kernel's multiplier and shift for `rate`.
    pub fn new(rate: Rate, overhead: u16, mpu: u32, layer: LinkLayer) -> Self {
        let bytes_per_sec = rate.bytes_per_sec().max(1);
        let mut factor = 1_000_000_000_u64;
        let mut shift = 0;
        let mut mult = factor / bytes_per_sec;
        while mult & (1 << 31) == 0 && factor & (1 << 63) == 0 {
            factor <<= 1;
            shift += 1;
            mult = factor / bytes_per_sec;
        }
        Self { mult: mult as u32, shift, overhead: u32::from(overhead), mpu, layer }
    }

    /// Nanoseconds that a frame of `len` bytes takes. Linux 6.12 `psched_l2t_ns`.
    #[inline]
    pub fn l2t(&self, len: u32) -> u64 {
        // DEVIATION: the kernel's length wraps at 4 GB, which a `mtu` may come to with its cells.
        let len = (u64::from(len) + u64::from(self.overhead)).max(u64::from(self.mpu));
        let len = match self.layer {
            LinkLayer::Ethernet => len,
            LinkLayer::Atm => len.div_ceil(48) * 53,
        };
        ((u128::from(len) * u128::from(self.mult)) >> self.shift) as u64
    }

    /// Multiplier and shift.
    pub const fn mult_shift(&self) -> (u32, u32) {
        (self.mult, self.shift)
    }
}

/// Depth in time of a bucket of `burst` bytes at `rate`, as tc hands it to the kernel: rounded up
/// to 64 ns. The arithmetic is tc's own in doubles.
pub fn burst_time(burst: Bytes, rate: Rate) -> Dur {
    let seconds = burst.0 as f64 / rate.bytes_per_sec().max(1) as f64;
    let ticks = (1e6 * seconds * 15.625).ceil();
    Dur((ticks as u64).min(u64::from(u32::MAX)) * TICK_NS)
}

/// Memory that Linux charges for a frame (`skb->truesize`), as a model: 256 bytes of descriptor
/// and a power of two that holds 64 bytes of headroom, the frame, and 320 bytes of shared info.
#[inline]
pub const fn truesize(len: u32) -> u32 {
    let data = (len + 64).next_multiple_of(64) + 320;
    256 + data.next_power_of_two()
}

#[cfg(test)]
mod tests;
