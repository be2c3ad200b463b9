use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::{Addresses, Key};

/// The key of the sample trace that Crypto-PAn 1.0 comes with.
const SAMPLE: Key = Key([
    21, 34, 23, 141, 51, 164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16, 216, 152, 143, 131, 121,
    121, 101, 39, 98, 87, 76, 45, 42, 132, 34, 2,
]);

fn check(cases: &[(&str, &str)]) {
    let mut addresses = Addresses::new(&SAMPLE);
    for (address, expected) in cases {
        let address: IpAddr = address.parse().unwrap();
        assert_eq!(addresses.map(address).to_string(), *expected, "{address}");
        // Again, from memory.
        assert_eq!(addresses.map(address).to_string(), *expected, "{address}");
    }
}

// KAT cryptopan 1
#[test]
fn addresses_of_the_sample_trace_become_those_of_its_sanitized_one() {
    check(&[
        ("128.11.68.132", "135.242.180.132"),
        ("129.118.74.4", "134.136.186.123"),
        ("141.233.145.108", "141.129.237.235"),
        ("192.102.249.13", "252.138.62.131"),
        ("208.147.89.59", "227.237.98.191"),
        ("24.0.250.221", "100.15.198.226"),
        ("4.3.88.225", "124.60.155.63"),
        ("64.39.15.238", "0.219.7.41"),
        ("10.185.25.118", "117.161.29.118"),
    ]);
}

// KAT cryptopan 2
#[test]
fn addresses_of_ipv6_become_those_of_another_implementation() {
    check(&[
        ("::1", "78ff:f001:9fc0:20df:8380:b1f1:704:ed"),
        ("::2", "78ff:f001:9fc0:20df:8380:b1f1:704:ef"),
        ("::ffff", "78ff:f001:9fc0:20df:8380:b1f1:704:f838"),
        ("2001:db8::1", "4401:2bc:603f:d91d:27f:ff8e:e6f1:dc1e"),
        ("2001:db8::2", "4401:2bc:603f:d91d:27f:ff8e:e6f1:dc1c"),
    ]);
}

#[test]
fn random_keys_differ_and_do_not_print() {
    let key = Key::random().unwrap();
    assert!(key != Key::random().unwrap());
    assert_eq!(format!("{key:?}"), "Key(..)");
}

proptest! {
    #[test]
    fn common_prefixes_are_as_long_as_before(a: u32, b: u32, c: u128, d: u128, key: [u8; 32], cut in 0_u32..128) {
        let mut addresses = Addresses::new(&Key(key));
        let mut v4 = |bits| match addresses.map(Ipv4Addr::from_bits(bits).into()) {
            IpAddr::V4(v4) => v4.to_bits(),
            IpAddr::V6(_) => unreachable!("versions stay"),
        };
        let near = a ^ (b | 1 << 31).wrapping_shr(cut);
        for other in [b, near] {
            prop_assert_eq!((v4(a) ^ v4(other)).leading_zeros(), (a ^ other).leading_zeros());
        }
        let mut v6 = |bits| match addresses.map(Ipv6Addr::from_bits(bits).into()) {
            IpAddr::V6(v6) => v6.to_bits(),
            IpAddr::V4(_) => unreachable!("versions stay"),
        };
        let near = c ^ (d | 1 << 127).wrapping_shr(cut);
        for other in [d, near] {
            prop_assert_eq!((v6(c) ^ v6(other)).leading_zeros(), (c ^ other).leading_zeros());
        }
    }
}
