//! Round trips from the timestamps of one direction, and what they say of its clock.

use std::collections::VecDeque;

use crate::samples::Samples;

/// Values that wait for their echo: of more the oldest is forgotten.
const MOST_STAMPS: usize = 4096;
/// Least ticks from which the clock's tick is estimated.
const LEAST_TICKS: u32 = 20;
/// Ticks of clocks that there are (RFC 7323 5.4 asks for 1 ms to 1 s; Linux has 1 us too), ms.
const TICKS: [f64; 6] = [0.001, 1.0, 4.0, 10.0, 100.0, 500.0];
/// An estimate this near to one of them is it.
const NEAR: f64 = 0.05;

/// `a` is newer than `b` (RFC 7323 5.2).
#[inline]
pub(crate) fn is_newer(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

/// Timestamps of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stamps {
    /// Value and time of the first packet that has it and is to be acknowledged: the echo of a pure ACK's comes whenever
    /// there are data, which may be never.
    waiting: VecDeque<(u32, u64)>,
    /// The newest of these values.
    asked: Option<u32>,
    first: Option<(u32, u64)>,
    newest: Option<(u32, u64)>,
    pub(crate) rtt_ms: Samples,
}

impl Stamps {
    /// A packet of this direction, which the other end acknowledges if it `asks`. Values that do not grow are of
    /// reordered packets, or of a tick that has a packet.
    #[inline]
    pub(crate) fn sent(&mut self, at: u64, value: u32, asks: bool) {
        self.first.get_or_insert((value, at));
        if self.newest.is_none_or(|(newest, _)| is_newer(value, newest)) {
            self.newest = Some((value, at));
        }
        if !asks || self.asked.is_some_and(|asked| !is_newer(value, asked)) {
            return;
        }
        self.asked = Some(value);
        if self.waiting.len() == MOST_STAMPS {
            self.waiting.pop_front();
        }
        self.waiting.push_back((value, at));
    }

    /// A packet of the other direction echoes a value: the first that does gives a round trip, in ns.
    #[inline]
    pub(crate) fn echoed(&mut self, at: u64, echo: u32) -> Option<u64> {
        while let Some(&(value, sent)) = self.waiting.front() {
            if is_newer(value, echo) {
                return None;
            }
            self.waiting.pop_front();
            if value == echo {
                let rtt = at.saturating_sub(sent);
                self.rtt_ms.record_ms(rtt);
                return Some(rtt);
            }
        }
        None
    }

    /// The value is older than another before it.
    #[inline]
    pub(crate) fn is_old(&self, value: u32) -> bool {
        self.newest.is_some_and(|(newest, _)| is_newer(newest, value))
    }

    /// Tick of the clock, ms; none of too few ticks.
    pub(crate) fn tick_ms(&self) -> Option<f64> {
        let ((first, from), (newest, to)) = (self.first?, self.newest?);
        let ticks = newest.wrapping_sub(first);
        if !(LEAST_TICKS..=u32::MAX / 2).contains(&ticks) {
            return None;
        }
        let tick = to.saturating_sub(from) as f64 / 1e6 / f64::from(ticks);
        let known = TICKS.into_iter().find(|known| (tick / known - 1.0).abs() < NEAR);
        Some(known.unwrap_or(tick))
    }
}

#[cfg(test)]
mod tests;
