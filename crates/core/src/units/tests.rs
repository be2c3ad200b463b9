use super::*;
use proptest::prelude::*;

#[test]
fn rates_follow_tc_including_its_bytes_per_second_trap() {
    for (text, bits) in [
        ("1000", 1_000),
        ("1kbit", 1_000),
        ("50Mbit", 50_000_000),
        ("47.5mbit", 47_500_000),
        ("2.5Gbit", 2_500_000_000),
        ("1tbit", 1_000_000_000_000),
        ("1Kibit", 1_024),
        ("1mibit", 1 << 20),
        ("1gibit", 1 << 30),
        ("1bps", 8),
        ("1kbps", 8_000),
        ("1mbps", 8_000_000),
        ("1MiBps", 8 << 20),
    ] {
        assert_eq!(Rate::parse_tc(text), Some(Rate(bits)), "{text}");
    }
}

#[test]
fn bytes_per_second_are_pointed_out() {
    assert_eq!(
        Rate::bytes_trap("10mbps").as_deref(),
        Some("`10mbps` counts bytes, as in tc: it is 80Mbit")
    );
    assert_eq!(Rate::bytes_trap("10mbit"), None);
}

#[test]
fn sizes_are_powers_of_1024() {
    for (text, bytes) in [
        ("1600", 1_600),
        ("1600b", 1_600),
        ("1k", 1_024),
        ("1.5kb", 1_536),
        ("32Mb", 32 << 20),
        ("1g", 1 << 30),
        ("1kbit", 128),
        ("1mbit", 131_072),
        ("1gbit", 1 << 27),
    ] {
        assert_eq!(Bytes::parse_tc(text), Some(Bytes(bytes)), "{text}");
    }
}

#[test]
fn bare_time_is_microseconds_except_where_tc_reads_64_bits() {
    for (text, ns) in [
        ("20", 20_000),
        ("20us", 20_000),
        ("20usecs", 20_000),
        ("1.5ms", 1_500_000),
        ("1sec", 1_000_000_000),
        ("0.25s", 250_000_000),
        ("7ns", 7),
    ] {
        assert_eq!(Dur::parse_tc(text), Some(Dur(ns)), "{text}");
    }
    assert_eq!(Dur::parse_tc64("20"), Some(Dur(20)));
    assert_eq!(Dur::parse_tc64("20us"), Some(Dur(20_000)));
}

#[test]
fn what_is_not_a_quantity_is_refused() {
    for text in ["", ".", "-1ms", "1.2.3ms", "ms", "1 ms", "1parsec", "inf", "1e3"] {
        assert_eq!(Dur::parse_tc(text), None, "{text}");
        assert_eq!(Rate::parse_tc(text), None, "{text}");
        assert_eq!(Bytes::parse_tc(text), None, "{text}");
    }
    assert_eq!(Rate::parse_tc("99999999999Gbit"), None);
    assert_eq!(Rate::parse_tc("1mb"), None);
}

#[test]
fn printing_takes_the_shortest_exact_form() {
    for (ns, text) in [
        (0, "0ns"),
        (5_000_000, "5ms"),
        (1_500_000, "1.5ms"),
        (242_240, "242.24us"),
        (1_000_001, "1000001ns"),
        (100_000_000, "100ms"),
    ] {
        assert_eq!(Dur(ns).to_string(), text);
    }
    for (bits, text) in [(47_500_000, "47.5Mbit"), (100_000_000, "100Mbit"), (999, "999bit")] {
        assert_eq!(Rate(bits).to_string(), text);
    }
    for (bytes, text) in [(1_600, "1600b"), (1_536, "1.5Kb"), (32 << 20, "32Mb")] {
        assert_eq!(Bytes(bytes).to_string(), text);
    }
}

proptest! {
    #[test]
    fn what_is_printed_parses_to_the_same_value(n in any::<u64>(), zeros in 0..20_u32) {
        let n = n / 10_u64.pow(zeros) * 10_u64.pow(zeros);
        prop_assert_eq!(Dur::parse_tc(&Dur(n).to_string()), Some(Dur(n)));
        prop_assert_eq!(Dur::parse_tc64(&Dur(n).to_string()), Some(Dur(n)));
        prop_assert_eq!(Rate::parse_tc(&Rate(n).to_string()), Some(Rate(n)));
        prop_assert_eq!(Bytes::parse_tc(&Bytes(n).to_string()), Some(Bytes(n)));
        let m = n >> (3 * zeros);
        prop_assert_eq!(Bytes::parse_tc(&Bytes(m).to_string()), Some(Bytes(m)));
    }
}
