//! Quantities with their units as types. Text follows tc's grammar and printing is its shortest
//! exact form, so that values can be copied between a scenario and a tc command line.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

mod text;

pub use text::{Quantity, RateOrNone};

/// Nanoseconds since the start of the run (virtual time) or of the process (real time).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dur(pub u64);

/// A data rate in bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than every event.
    pub const NEVER: Self = Self(u64::MAX);

    /// Time elapsed since `earlier`, zero if `earlier` is in the future.
    #[inline]
    pub const fn since(self, earlier: Self) -> Dur {
        Dur(self.0.saturating_sub(earlier.0))
    }

    /// Seconds as a float, for series and reports.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Dur {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// The longest duration.
    pub const MAX: Self = Self(u64::MAX);

    /// `n` microseconds.
    pub const fn from_micros(n: u64) -> Self {
        Self(n * 1_000)
    }

    /// `n` milliseconds.
    pub const fn from_millis(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// `n` seconds.
    pub const fn from_secs(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }

    /// Whole microseconds, truncated.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Milliseconds as a float.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Seconds as a float.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The difference, zero if `other` is longer.
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl From<Bytes> for u64 {
    fn from(bytes: Bytes) -> Self {
        bytes.0
    }
}

impl Rate {
    /// Time that `bytes` take at this rate, rounded down; [`Dur::MAX`] at rate zero.
    #[inline]
    pub fn time_for(self, bytes: u64) -> Dur {
        // A packet's worth of bits fits into 64 bits, where division is several times faster.
        if let Some(bits) = bytes.checked_mul(8_000_000_000) {
            return bits.checked_div(self.0).map_or(Dur::MAX, Dur);
        }
        match (u128::from(bytes) * 8_000_000_000).checked_div(u128::from(self.0)) {
            Some(ns) => Dur(ns.min(u128::from(u64::MAX)) as u64),
            None => Dur::MAX,
        }
    }

    /// Bytes that fit into `time` at this rate, rounded down.
    #[inline]
    pub fn bytes_in(self, time: Dur) -> u64 {
        (u128::from(self.0) * u128::from(time.0) / 8_000_000_000) as u64
    }

    /// Bytes per second, rounded down: the unit of tc's and the kernel's rates.
    pub const fn bytes_per_sec(self) -> u64 {
        self.0 / 8
    }

    /// Megabits (10^6) per second.
    pub fn as_mbps(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add<Dur> for Time {
    type Output = Self;
    #[inline]
    fn add(self, d: Dur) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Dur> for Time {
    #[inline]
    fn add_assign(&mut self, d: Dur) {
        *self = *self + d;
    }
}

impl Sub<Dur> for Time {
    type Output = Self;
    #[inline]
    fn sub(self, d: Dur) -> Self {
        Self(self.0.saturating_sub(d.0))
    }
}

impl Add for Dur {
    type Output = Self;
    #[inline]
    fn add(self, d: Self) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl AddAssign for Dur {
    #[inline]
    fn add_assign(&mut self, d: Self) {
        *self = *self + d;
    }
}

impl Sub for Dur {
    type Output = Self;
    #[inline]
    fn sub(self, d: Self) -> Self {
        Self(self.0 - d.0)
    }
}

impl SubAssign for Dur {
    #[inline]
    fn sub_assign(&mut self, d: Self) {
        *self = *self - d;
    }
}

impl Mul<u64> for Dur {
    type Output = Self;
    #[inline]
    fn mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl Div<u64> for Dur {
    type Output = Self;
    #[inline]
    fn div(self, n: u64) -> Self {
        Self(self.0 / n)
    }
}

impl Sum for Dur {
    fn sum<I: Iterator<Item = Self>>(durs: I) -> Self {
        durs.fold(Self::ZERO, Add::add)
    }
}

impl Dur {
    /// Parses tc's time: `s`, `sec`, `secs`, `ms`, `msec`, `us`, `usec`, `ns`; a bare number is
    /// microseconds.
    pub fn parse_tc(text: &str) -> Option<Self> {
        Self::parse(text, 1_000)
    }

    /// As [`Dur::parse_tc`], but a bare number is nanoseconds: the reading of tc's 64-bit times
    /// (netem's `delay` and `slot`).
    pub fn parse_tc64(text: &str) -> Option<Self> {
        Self::parse(text, 1)
    }

    fn parse(text: &str, bare: u64) -> Option<Self> {
        let (number, unit) = Decimal::split(text)?;
        let factor = match unit.to_ascii_lowercase().as_str() {
            "s" | "sec" | "secs" => 1_000_000_000,
            "ms" | "msec" | "msecs" => 1_000_000,
            "us" | "usec" | "usecs" => 1_000,
            "ns" | "nsec" | "nsecs" => 1,
            "" => bare,
            _ => return None,
        };
        number.scaled(factor, 1).map(Self)
    }
}

impl Rate {
    /// Parses tc's rate: SI (`kbit`, `Mbit`, ...), IEC (`kibit`, ...), and the trap `bps`, `kbps`,
    /// `mbps`, which mean BYTES per second. A bare number is bit/s.
    pub fn parse_tc(text: &str) -> Option<Self> {
        let (number, unit) = Decimal::split(text)?;
        let unit = unit.to_ascii_lowercase();
        let (prefix, per_unit) = match unit.strip_suffix("bit") {
            Some(prefix) => (prefix, 1),
            None if unit.is_empty() => ("", 1),
            None => (unit.strip_suffix("bps")?, 8),
        };
        let factor: u64 = match prefix {
            "" => 1,
            "k" => 1_000,
            "m" => 1_000_000,
            "g" => 1_000_000_000,
            "t" => 1_000_000_000_000,
            "ki" => 1 << 10,
            "mi" => 1 << 20,
            "gi" => 1 << 30,
            "ti" => 1 << 40,
            _ => return None,
        };
        number.scaled(factor * per_unit, 1).map(Self)
    }

    /// A sentence for the user if `text` is a rate in tc's bytes per second, which most people
    /// read as bits.
    pub fn bytes_trap(text: &str) -> Option<String> {
        let rate = Self::parse_tc(text)?;
        let trapped = text.to_ascii_lowercase().ends_with("bps");
        trapped.then(|| format!("`{text}` counts bytes, as in tc: it is {rate}"))
    }
}

impl Bytes {
    /// Parses tc's size: `b`, `k`/`kb`, `m`/`mb`, `g`/`gb` are powers of 1024 bytes; `kbit`,
    /// `mbit`, `gbit` are powers of 1024 bits. A bare number is bytes.
    pub fn parse_tc(text: &str) -> Option<Self> {
        let (number, unit) = Decimal::split(text)?;
        let (factor, divisor) = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => (1, 1),
            "k" | "kb" => (1 << 10, 1),
            "m" | "mb" => (1 << 20, 1),
            "g" | "gb" => (1 << 30, 1),
            "kbit" => (1 << 10, 8),
            "mbit" => (1 << 20, 8),
            "gbit" => (1 << 30, 8),
            _ => return None,
        };
        number.scaled(factor, divisor).map(Self)
    }
}

/// An unsigned decimal number without rounding: `digits / 10^places`.
struct Decimal {
    digits: u128,
    places: u32,
}

impl Decimal {
    /// `"1.5ms"` into `(1.5, "ms")`; anything else than digits with at most one point is refused.
    fn split(text: &str) -> Option<(Self, &str)> {
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        // 20 + 12 digits hold every u64 in the largest unit, and keep the products within u128.
        if whole.len() + fraction.len() == 0 || whole.len() > 20 || fraction.len() > 12 {
            return None;
        }
        let digits = format!("{whole}{fraction}").parse().ok()?;
        Some((Self { digits, places: fraction.len() as u32 }, unit))
    }

    /// The number times `factor / divisor`, rounded to the nearest whole, half up.
    fn scaled(&self, factor: u64, divisor: u64) -> Option<u64> {
        let unit = 10_u128.pow(self.places) * u128::from(divisor);
        let product = self.digits.checked_mul(u128::from(factor))?;
        u64::try_from((product + unit / 2) / unit).ok()
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Dur(self.0).fmt(f)
    }
}

impl fmt::Display for Dur {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        shortest(f, self.0, &[(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")])
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1_000_000_000, "Gbit"), (1_000_000, "Mbit"), (1_000, "kbit"), (1, "bit")];
        shortest(f, self.0, &units)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        shortest(f, self.0, &[(1 << 30, "Gb"), (1 << 20, "Mb"), (1 << 10, "Kb"), (1, "b")])
    }
}

/// The shortest exact decimal text; of equally long ones that with the largest unit.
fn shortest(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let text = units
        .iter()
        .filter(|(factor, _)| value >= *factor)
        .filter_map(|(factor, name)| Some(exact(value, *factor)? + name))
        .min_by_key(String::len);
    match (text, units.last()) {
        (Some(text), _) => f.write_str(&text),
        (None, Some((_, name))) => write!(f, "{value}{name}"),
        (None, None) => write!(f, "{value}"),
    }
}

/// `value / factor` in decimal, if at most 12 places write it exactly.
fn exact(value: u64, factor: u64) -> Option<String> {
    let mut text = (value / factor).to_string();
    let mut rest = value % factor;
    let point = text.len();
    while rest != 0 {
        if text.len() - point > 12 {
            return None;
        }
        if text.len() == point {
            text.push('.');
        }
        // Factors stay below 2^40, so ten times the rest fits.
        text.push(char::from(b'0' + (rest * 10 / factor) as u8));
        rest = rest * 10 % factor;
    }
    Some(text)
}

#[cfg(test)]
mod tests;
