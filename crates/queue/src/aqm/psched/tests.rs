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
