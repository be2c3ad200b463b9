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
mod tests {
    use super::*;

    fn plain(rate: &str) -> RateConfig {
        RateConfig::new(Rate::parse_tc(rate).unwrap(), 0, 0, LinkLayer::Ethernet)
    }

    // KAT rate 2
    #[test]
    fn multiplier_and_shift_are_the_kernels() {
        for (rate, mult, shift) in [
            ("50Mbit", 2684354560, 24),
            ("5Mbit", 3355443200, 21),
            ("250Mbit", 2147483648, 26),
            ("47.5Mbit", 2825636378, 24),
            ("100Mbit", 2684354560, 25),
        ] {
            assert_eq!(plain(rate).mult_shift(), (mult, shift), "{rate}");
        }
    }

    // KAT rate 1
    #[test]
    fn full_frames_take_the_kernels_time() {
        for (rate, ns) in [
            ("50Mbit", 242_240),
            ("100Mbit", 121_120),
            ("10Mbit", 1_211_200),
            ("5Mbit", 2_422_400),
            ("1Mbit", 12_112_000),
            ("47.5Mbit", 254_989),
            ("52.5Mbit", 230_704),
        ] {
            assert_eq!(plain(rate).l2t(1514), ns, "{rate}");
        }
    }

    // KAT rate 2
    #[test]
    fn bursts_are_whole_ticks() {
        for (rate, ns) in [("50Mbit", 256_000), ("47.5Mbit", 269_504)] {
            assert_eq!(burst_time(Bytes(1600), Rate::parse_tc(rate).unwrap()), Dur(ns), "{rate}");
        }
    }

    #[test]
    fn overhead_mpu_and_cells_apply_in_that_order() {
        let rate = Rate(8_000_000_000);
        let ns = |overhead, mpu, layer, len| RateConfig::new(rate, overhead, mpu, layer).l2t(len);
        assert_eq!(ns(24, 84, LinkLayer::Ethernet, 1514), 1538);
        assert_eq!(ns(24, 84, LinkLayer::Ethernet, 40), 84);
        assert_eq!(ns(10, 64, LinkLayer::Atm, 20), 2 * 53);
        assert_eq!(ns(0, 0, LinkLayer::Atm, 96), 2 * 53);
    }

    #[test]
    fn the_largest_length_has_a_time_of_its_own() {
        let atm = |mpu| RateConfig::new(Rate(8_000_000_000), u16::MAX, mpu, LinkLayer::Atm);
        let most = (u64::from(u32::MAX) + u64::from(u16::MAX)).div_ceil(48) * 53;
        assert_eq!(atm(0).l2t(u32::MAX), most);
        assert_eq!(atm(u32::MAX).l2t(1514), u64::from(u32::MAX).div_ceil(48) * 53);
    }

    #[test]
    fn a_full_frame_is_charged_two_kilobytes_and_a_descriptor() {
        assert_eq!(truesize(1514), 2304);
        assert_eq!(truesize(66), 768);
    }
}
