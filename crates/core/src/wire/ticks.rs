//! The clock of SCReAM's wire format and arithmetic: 1/65536 s in 32 bits, the middle of an NTP
//! timestamp. It wraps after 18.2 hours.

use crate::units::Time;

/// Ticks per second.
pub const PER_SECOND: u32 = 65536;
/// What the clock shows at the start of a session: 1 ms, so that zero can mean never.
const FIRST: u64 = 65;
const NS_PER_S: u64 = 1_000_000_000;

/// An instant, or with [`Ticks::since`] a length, in 1/65536 s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ticks(pub u32);

impl Ticks {
    /// The clock of a session that began at `epoch`.
    pub fn at(now: Time, epoch: Time) -> Self {
        Self(Self::count(now, epoch) as u32)
    }

    /// The same clock without its wrap.
    pub fn count(now: Time, epoch: Time) -> u64 {
        let passed = now.since(epoch).0;
        let (whole, rest) = (passed / NS_PER_S, passed % NS_PER_S);
        let per_second = u64::from(PER_SECOND);
        whole * per_second + rest * per_second / NS_PER_S + FIRST
    }

    /// When the clock of a session that began at `epoch` first shows this count.
    pub fn reached(count: u64, epoch: Time) -> Time {
        let passed = u128::from(count.saturating_sub(FIRST)) * u128::from(NS_PER_S);
        let passed = passed.div_ceil(u128::from(PER_SECOND));
        Time(epoch.0.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX)))
    }

    /// Ticks from `earlier` to here, over the wrap.
    pub fn since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// Seconds that the clock shows.
    pub fn as_secs(self) -> f32 {
        self.0 as f32 / PER_SECOND as f32
    }
}

/// Seconds that `ticks` are; exact below 256 s.
pub fn seconds(ticks: u32) -> f32 {
    ticks as f32 * (1.0 / PER_SECOND as f32)
}

#[cfg(test)]
mod tests;
