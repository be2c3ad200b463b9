//! Quantities with their units as types. Text follows tc's grammar and printing is its shortest
//! exact form, so that values can be copied between a scenario and a tc command line.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

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

impl Rate {
    /// Time that `bytes` take at this rate, rounded down; [`Dur::MAX`] at rate zero.
    #[inline]
    pub fn time_for(self, bytes: u64) -> Dur {
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
        let (number, unit) = split_unit(text)?;
        let factor = match unit.to_ascii_lowercase().as_str() {
            "s" | "sec" | "secs" => 1e9,
            "ms" | "msec" | "msecs" => 1e6,
            "" | "us" | "usec" | "usecs" => 1e3,
            "ns" | "nsec" | "nsecs" => 1.0,
            _ => return None,
        };
        scaled(number, factor).map(Self)
    }
}

impl Rate {
    /// Parses tc's rate: SI (`kbit`, `Mbit`, ...), IEC (`kibit`, ...), and the trap `bps`, `kbps`,
    /// `mbps`, which mean BYTES per second. A bare number is bit/s.
    pub fn parse_tc(text: &str) -> Option<Self> {
        let (number, unit) = split_unit(text)?;
        let unit = unit.to_ascii_lowercase();
        let (prefix, per_unit) = match unit.strip_suffix("bit") {
            Some(prefix) => (prefix, 1.0),
            None if unit.is_empty() => ("", 1.0),
            None => (unit.strip_suffix("bps")?, 8.0),
        };
        let factor = match prefix {
            "" => 1.0,
            "k" => 1e3,
            "m" => 1e6,
            "g" => 1e9,
            "t" => 1e12,
            "ki" => 1024.0,
            "mi" => 1024_f64.powi(2),
            "gi" => 1024_f64.powi(3),
            "ti" => 1024_f64.powi(4),
            _ => return None,
        };
        scaled(number, factor * per_unit).map(Self)
    }
}

impl Bytes {
    /// Parses tc's size: `b`, `k`/`kb`, `m`/`mb`, `g`/`gb` are powers of 1024 bytes; `kbit`,
    /// `mbit`, `gbit` are powers of 1024 bits. A bare number is bytes.
    pub fn parse_tc(text: &str) -> Option<Self> {
        let (number, unit) = split_unit(text)?;
        let factor = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1.0,
            "k" | "kb" => 1024.0,
            "m" | "mb" => 1024_f64.powi(2),
            "g" | "gb" => 1024_f64.powi(3),
            "kbit" => 1024.0 / 8.0,
            "mbit" => 1024_f64.powi(2) / 8.0,
            "gbit" => 1024_f64.powi(3) / 8.0,
            _ => return None,
        };
        scaled(number, factor).map(Self)
    }
}

/// `"1.5ms"` into `(1.5, "ms")`; negative and non-finite numbers are refused.
fn split_unit(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, &text[end..]))
}

fn scaled(number: f64, factor: f64) -> Option<u64> {
    let value = (number * factor).round();
    (value < u64::MAX as f64).then_some(value as u64)
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

/// The largest unit in which `value` is a whole number.
fn shortest(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let (factor, name) = units
        .iter()
        .find(|(factor, _)| value >= *factor && value.is_multiple_of(*factor))
        .or_else(|| units.last())
        .expect("at least one unit");
    write!(f, "{}{name}", value / factor)
}
