//! The receiver's lines on lost packets: the original's, but no more of them than a screen can take.

use sojourn_core::{Dur, Time};

use super::lines::gap_line;

/// Lines at once.
const BURST: u32 = 100;
/// A further line may come after each of these.
const REFILL: Dur = Dur::from_millis(100);

/// Reports gaps in the sequence numbers.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    lines: Allowance,
    /// Gaps that were not reported, and the packets in them.
    unreported: (u64, u64),
}

/// A bucket of lines.
#[derive(Debug)]
pub(super) struct Allowance {
    left: u32,
    refilled: Time,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { left: BURST, refilled: Time::ZERO }
    }
}

impl Allowance {
    /// Takes a line out of the bucket, if there is one.
    pub(super) fn take(&mut self, now: Time) -> bool {
        let refills = now.since(self.refilled).0 / REFILL.0;
        self.refilled += REFILL * refills;
        self.left = (u64::from(self.left) + refills).min(u64::from(BURST)) as u32;
        let has_one = self.left > 0;
        self.left -= u32::from(has_one);
        has_one
    }
}

impl Gaps {
    /// Number `seq` came after `previous`; lines to print.
    pub(super) fn on(&mut self, now: Time, seq: u16, previous: u16) -> Option<String> {
        let line = gap_line(seq, previous);
        if self.lines.take(now) {
            let unreported = self.unreported();
            return Some(
                unreported
                    .map_or_else(|| line.clone(), |unreported| format!("{unreported}\n{line}")),
            );
        }
        let step = seq.wrapping_sub(previous);
        // A late packet makes a step of nearly all numbers: a gap, but nothing lost by it.
        let lost = if step < 1 << 15 { u64::from(step) - 1 } else { 0 };
        self.unreported = (self.unreported.0 + 1, self.unreported.1 + lost);
        None
    }

    /// What was left out since the last report.
    pub(super) fn unreported(&mut self) -> Option<String> {
        let (gaps, packets) = std::mem::take(&mut self.unreported);
        (gaps > 0)
            .then(|| format!("... and {gaps} more lines of this kind, {packets} packets lost"))
    }
}

#[cfg(test)]
mod tests;
