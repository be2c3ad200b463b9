//! Stored bits: what a platform would change.

use super::*;

/// By name, argument and the bits that every platform has to give.
#[test]
fn bits_are_the_same_everywhere() {
    let all = [
        ln(0.1),
        ln(12_345.678),
        log10(0.02),
        exp(-0.7),
        exp(20.3),
        exp2(0.3),
        exp_m1(-1e-5),
        pow(1.08, 0.37),
        pow(0.9375, 12.5),
        powi(0.99, 33),
        powi(1.7, -9),
        cbrt(2.0 / 3.0),
        cos(1.1),
        cos(6.2),
    ]
    .map(f64::to_bits);
    assert_eq!(all, BITS, "{all:#x?}");
}

const BITS: [u64; 14] = [
    0xc0026bb1bbb55515,
    0x4022d79559791e31,
    0xbffb2efb2bd82180,
    0x3fdfc80db9dd5542,
    0x41c3848660139d52,
    0x3ff3b2c47bff8329,
    0xbee4f8aea9acf2c9,
    0x3ff0765000c2cc64,
    0x3fdc906a8371dbf0,
    0x3fe6f7a6059b3543,
    0x3f814517bde6a6e1,
    0x3febf45f04cef0b8,
    0x3fdd07b806c76111,
    0x3fefe3ac4079a9ce,
];

#[test]
#[expect(clippy::disallowed_methods, reason = "a second implementation, to compare")]
fn they_are_what_they_are_called() {
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-14 * b.abs(), "{a} {b}");
    for x in [1e-3, 0.2, 0.9, 1.0, 1.5, 7.0, 30.0] {
        close(ln(x), x.ln());
        close(log10(x), x.log10());
        close(exp(x), x.exp());
        close(exp2(x), x.exp2());
        close(exp_m1(-x), (-x).exp_m1());
        close(pow(x, 1.3), x.powf(1.3));
        close(powi(x, 5), x.powi(5));
        close(powi(x, -3), x.powi(-3));
        close(cbrt(x), x.cbrt());
        close(cos(x), x.cos());
    }
}

#[test]
fn whole_powers_of_two_are_exact() {
    for n in -60..60 {
        assert_eq!(exp2(f64::from(n)), powi(2.0, n));
    }
    assert_eq!(powi(3.0, 0), 1.0);
}
