//! Sizes of an encoder's frames: how much larger than the mean the large ones are, and how far the
//! RTP queue is behind (EricssonResearch/scream c8f84c3, ScreamV2TxStream.cpp, newMediaFrame()).

use super::super::Ticks;
use super::super::ticks::seconds;
use super::rules::Rules;

const BINS: usize = 50;
/// Excess over the mean, in means, that the histogram covers.
const RANGE: f32 = 2.0;
const DECAY: f32 = 1.0 - 1.0 / 1024.0;
/// Frames before the histogram is used.
const PREAMBLE: u32 = 50;
/// Frames smaller than this on average say nothing of bursts, bytes.
const SMALL_FRAME: f32 = 500.0;
const ADJUST_GAIN: f32 = 0.2;
const ADJUST_MEMORY: f32 = 1.0 / 8.0;
const MAX_ADJUST: f32 = 0.5;
const FIRST_PERIOD: f32 = 0.02;

#[derive(Clone, Debug)]
pub(super) struct Frames {
    /// Bytes of the current frame, and of the last one.
    bytes: u32,
    previous: u32,
    count: u32,
    last: Option<Ticks>,
    /// Time between frames, s.
    period: f32,
    histogram: [f32; BINS],
    /// Large frames over the mean.
    pub(super) large: f32,
    /// Share that is taken off the target for the RTP queue's sake.
    pub(super) adjust: f32,
    /// Factor of the pacing rate for this frame.
    pub(super) pace_scale: f32,
}

/// What the RTP queue and the target are at the end of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameEnd {
    pub(super) queue_bytes: u32,
    /// Delay of the oldest packet, s.
    pub(super) queue_delay: f32,
    /// bit/s.
    pub(super) target: f32,
    /// Greatest factor of the pacing rate.
    pub(super) max_pace_scale: f32,
}

impl Frames {
    pub(super) fn new() -> Self {
        let mut histogram = [0.0; BINS];
        histogram[0] = 1.0;
        Self {
            bytes: 0,
            previous: 0,
            count: 0,
            last: None,
            period: FIRST_PERIOD,
            histogram,
            large: 1.0,
            adjust: 0.0,
            pace_scale: 1.0,
        }
    }

    pub(super) fn packet(&mut self, bytes: u32) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// The frame is whole.
    pub(super) fn end(&mut self, now: Ticks, rules: &Rules, parity: bool, end: FrameEnd) {
        self.count = self.count.saturating_add(1);
        if let Some(last) = self.last.replace(now) {
            let passed = seconds(now.since(last));
            // The original has the weights the wrong way round.
            let memory = if parity { 0.1 } else { 0.9 };
            self.period = (1.0 - memory) * passed + memory * self.period;
        }
        let mean = end.target * self.period / 8.0;
        if rules.adjusts_to_queue && self.period > 0.0 {
            let behind = ADJUST_GAIN * (end.queue_delay - self.period / 2.0) / self.period;
            self.adjust = (self.adjust + behind * ADJUST_MEMORY).clamp(0.0, MAX_ADJUST);
        }
        let bytes = std::mem::take(&mut self.bytes);
        let size = end.queue_bytes.max(bytes) as f32;
        if bytes as f32 > mean {
            self.count_excess(bytes, mean, rules);
        }
        self.pace_scale =
            if mean > SMALL_FRAME { (size / mean).clamp(1.0, end.max_pace_scale) } else { 1.0 };
    }

    fn count_excess(&mut self, bytes: u32, mean: f32, rules: &Rules) {
        let mut excess = bytes as f32 - mean;
        if rules.limits_excess_by_previous {
            excess = excess.min(bytes as f32 - self.previous as f32).max(0.0);
        }
        self.previous = bytes;
        let bin = (excess / (RANGE * mean) * BINS as f32) as usize;
        self.histogram[bin.min(BINS - 1)] += 1.0;
        self.histogram.iter_mut().for_each(|bin| *bin *= DECAY);
        if self.count > PREAMBLE {
            let wanted = rules.frame_percentile * self.histogram.iter().sum::<f32>();
            let mut cumulative = 0.0;
            let bin = self.histogram.iter().position(|share| {
                cumulative += share;
                cumulative >= wanted
            });
            self.large = 1.0 + bin.unwrap_or(BINS - 1) as f32 * (RANGE / BINS as f32);
        }
    }
}

#[cfg(test)]
mod tests;
