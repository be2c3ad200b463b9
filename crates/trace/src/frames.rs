//! Video frames as they arrive: a frame is there when all of its packets are. Its delay runs from
//! the encoder to the last packet, the wait in the sender's queue included.

use serde::{Deserialize, Serialize};
use sojourn_core::{Dur, Time};

use crate::metrics::{DelayHistogram, DelayStatistics};

/// Frames whose packets may be under way at once; a packet of an older frame counts for nothing.
const OPEN: usize = 128;

#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    /// Its number plus one; 0 is none.
    id: u64,
    arrived: u32,
}

/// Which frames are there.
#[derive(Clone, Debug)]
pub struct Frames {
    open: Vec<Frame>,
    /// Lowest and highest number of those encoded within the window.
    range: Option<(u64, u64)>,
    complete: u64,
    delay: DelayHistogram,
    /// Of the step that is sampled next: sum, largest, frames.
    step: (Dur, Dur, u64),
}

impl Default for Frames {
    fn default() -> Self {
        Self {
            open: vec![Frame::default(); OPEN],
            range: None,
            complete: 0,
            delay: DelayHistogram::default(),
            step: (Dur::ZERO, Dur::ZERO, 0),
        }
    }
}

/// Statistics of frames.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct FrameSummary {
    /// Frames between the first and the last of which something arrived.
    pub expected: u64,
    /// Frames that arrived whole.
    pub complete: u64,
    /// Share of the expected that did not.
    pub incomplete: f64,
    /// Time from the encoder to the last packet, ms.
    pub delay_ms: Option<DelayStatistics>,
}

impl Frames {
    /// A packet of frame `number`, which has this number of `packets`, arrives for the first time. The
    /// frame counts for the summary if it was encoded within the window, which `measured` says.
    pub fn record(&mut self, now: Time, number: u64, packets: u32, captured: Time, measured: bool) {
        if measured {
            let (low, high) = self.range.unwrap_or((number, number));
            self.range = Some((low.min(number), high.max(number)));
        }
        let frame = &mut self.open[number as usize % OPEN];
        if frame.id > number + 1 {
            return;
        }
        if frame.id < number + 1 {
            *frame = Frame { id: number + 1, arrived: 0 };
        }
        frame.arrived += 1;
        if frame.arrived != packets {
            return;
        }
        let delay = now.since(captured);
        self.step = (self.step.0 + delay, self.step.1.max(delay), self.step.2 + 1);
        if measured {
            self.complete += 1;
            self.delay.record(delay);
        }
    }

    /// Mean and largest delay in ms since the last call, if frames arrived.
    pub fn take_step(&mut self) -> Option<(f64, f64)> {
        let (sum, max, n) = std::mem::take(&mut self.step);
        (n > 0).then(|| (sum.as_millis_f64() / n as f64, max.as_millis_f64()))
    }

    /// The statistics, `None` without packets.
    pub fn summary(&self) -> Option<FrameSummary> {
        let (low, high) = self.range?;
        let expected = high - low + 1;
        Some(FrameSummary {
            expected,
            complete: self.complete,
            incomplete: 1.0 - self.complete as f64 / expected as f64,
            delay_ms: self.delay.statistics(),
        })
    }
}

#[cfg(test)]
mod tests;
