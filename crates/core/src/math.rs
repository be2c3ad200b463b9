//! Functions that a C library computes, and each in its own way: from `libm`, a port of musl's in Rust, so that
//! a result has the same bytes on every platform and with every compiler. Clippy refuses those of `std`, which
//! are the platform's.
//!
//! What IEEE 754 defines to the last bit (`sqrt`, `floor`, `round`, `abs`) is `std`'s.

/// The natural logarithm.
#[inline]
#[must_use]
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// The logarithm to base 10.
#[inline]
#[must_use]
pub fn log10(x: f64) -> f64 {
    libm::log10(x)
}

/// e to the power `x`.
#[inline]
#[must_use]
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// 2 to the power `x`; exact where `x` is whole.
#[inline]
#[must_use]
pub fn exp2(x: f64) -> f64 {
    libm::exp2(x)
}

/// e to the power `x`, less 1, also where that is near 0.
#[inline]
#[must_use]
pub fn exp_m1(x: f64) -> f64 {
    libm::expm1(x)
}

/// `x` to the power `y`.
#[inline]
#[must_use]
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// `x` to a whole power, by repeated squares. `f64::powi` may differ between platforms and versions of Rust.
#[inline]
#[must_use]
pub fn powi(mut x: f64, n: i32) -> f64 {
    let (mut product, mut left) = (1.0, n.unsigned_abs());
    while left != 0 {
        if left & 1 != 0 {
            product *= x;
        }
        x *= x;
        left >>= 1;
    }
    if n < 0 { 1.0 / product } else { product }
}

/// The cube root.
#[inline]
#[must_use]
pub fn cbrt(x: f64) -> f64 {
    libm::cbrt(x)
}

/// The cosine of an angle in radians.
#[inline]
#[must_use]
pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}

#[cfg(test)]
mod tests;
