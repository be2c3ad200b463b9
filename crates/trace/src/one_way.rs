//! One-way delay, its variation, loss and order of a packet stream with sequence numbers.
//! RFC 7679 (delay), RFC 5481 (PDV: delay less the smallest; IPDV: delay less that of the packet
//! before), RFC 3550 A.3 (loss: expected less received), RFC 4737 (reordering).

use serde::{Deserialize, Serialize};
use sojourn_core::{Dur, Time};

use crate::metrics::{DelayHistogram, DelayStatistics};

/// What arrives.
#[derive(Clone, Debug, Default)]
pub struct OneWay {
    delay: DelayHistogram,
    ipdv: DelayHistogram,
    /// Lowest and highest sequence number, of what was sent within the window.
    range: Option<(u64, u64)>,
    received: u64,
    duplicates: u64,
    reordered: u64,
    /// The newest arrival: sequence number and delay.
    last: Option<(u64, Dur)>,
    /// The newest sequence number and the 63 before it, as bits: what has arrived of them.
    seen: u64,
    /// Of the step that is sampled next: sum, largest, packets.
    step: (Dur, Dur, u64),
}

/// Statistics of a stream.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct OneWaySummary {
    /// Packets of the sequence between the first and the last that arrived.
    pub expected: u64,
    /// Packets that arrived, each counted once.
    pub received: u64,
    /// Share of the expected that did not arrive.
    pub loss: f64,
    /// Second arrivals of the same packet.
    pub duplicates: u64,
    /// Packets that arrived after one with a higher sequence number.
    pub reordered: u64,
    /// One-way delay, ms.
    pub delay_ms: DelayStatistics,
    /// The smallest one-way delay, ms.
    pub min_ms: f64,
    /// Packet delay variation: delay less the smallest, ms.
    pub pdv_ms: Variation,
    /// Absolute inter-packet delay variation of packets that follow one another, ms.
    pub ipdv_ms: Option<DelayStatistics>,
    /// What a listener makes of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voice: Option<Voice>,
}

/// Quantiles of a packet delay variation, ms.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Variation {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile, which Y.1541 bounds.
    pub p999: f64,
    /// Maximum.
    pub max: f64,
}

/// Quality of a call.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Voice {
    /// E-model rating factor.
    pub r_factor: f64,
    /// Mean opinion score, 1 to 4.5.
    pub mos: f64,
    /// Share of frames that were lost or came too late for the playout buffer.
    pub lost_or_late: f64,
}

impl OneWay {
    /// Packet number `seq`, sent at `sent`, arrives at `now`. It counts for the summary if it was
    /// sent within the window, which `measured` says. Gives whether it is the first with its number.
    #[inline]
    pub fn record(&mut self, now: Time, seq: u64, sent: Time, measured: bool) -> bool {
        let delay = now.since(sent);
        self.step = (self.step.0 + delay, self.step.1.max(delay), self.step.2 + 1);
        let repeated = !self.is_first(seq);
        if !measured {
            self.last = self.last.filter(|(newest, _)| *newest > seq).or(Some((seq, delay)));
            return !repeated;
        }
        if repeated {
            self.duplicates += 1;
            return false;
        }
        self.received += 1;
        self.delay.record(delay);
        let (low, high) = self.range.unwrap_or((seq, seq));
        self.range = Some((low.min(seq), high.max(seq)));
        match self.last {
            Some((newest, _)) if newest > seq => self.reordered += 1,
            Some((newest, before)) => {
                if newest + 1 == seq {
                    self.ipdv.record(Dur(delay.0.abs_diff(before.0)));
                }
                self.last = Some((seq, delay));
            }
            None => self.last = Some((seq, delay)),
        }
        true
    }

    /// Whether `seq` arrives for the first time; what is 64 or more behind counts as first.
    fn is_first(&mut self, seq: u64) -> bool {
        let Some((newest, _)) = self.last else {
            self.seen = 1;
            return true;
        };
        if seq > newest {
            self.seen = self.seen.checked_shl((seq - newest).min(64) as u32).unwrap_or(0) | 1;
            return true;
        }
        let Some(bit) = 1_u64.checked_shl((newest - seq).min(64) as u32) else { return true };
        let first = self.seen & bit == 0;
        self.seen |= bit;
        first
    }

    /// Mean and largest delay in ms since the last call, if packets arrived.
    pub fn take_step(&mut self) -> Option<(f64, f64)> {
        let (sum, max, n) = std::mem::take(&mut self.step);
        (n > 0).then(|| (sum.as_millis_f64() / n as f64, max.as_millis_f64()))
    }

    /// Share of the packets of the window that did not arrive, or later than `buffer` after the
    /// fastest: what a playout buffer of that size misses.
    pub fn missed(&self, buffer: Dur) -> Option<f64> {
        let (low, high) = self.range?;
        let expected = (high - low + 1) as f64;
        let late = self.delay.above(self.delay.min()? + buffer);
        Some(((expected - self.received as f64) + late as f64) / expected)
    }

    /// The smallest one-way delay.
    pub fn min(&self) -> Option<Dur> {
        self.delay.min()
    }

    /// The statistics, `None` without packets.
    pub fn summary(&self) -> Option<OneWaySummary> {
        let ((low, high), delay) = (self.range?, self.delay.statistics()?);
        let expected = high - low + 1;
        let min = self.delay.min()?.as_millis_f64();
        // A histogram's bucket may begin below the smallest delay.
        let over = |ms: f64| (ms - min).max(0.0);
        Some(OneWaySummary {
            expected,
            received: self.received,
            loss: 1.0 - self.received as f64 / expected as f64,
            duplicates: self.duplicates,
            reordered: self.reordered,
            delay_ms: delay,
            min_ms: min,
            pdv_ms: Variation {
                mean: over(delay.mean),
                p50: over(delay.p50),
                p95: over(delay.p95),
                p99: over(delay.p99),
                p999: over(delay.p999),
                max: over(delay.max),
            },
            ipdv_ms: self.ipdv.statistics(),
            voice: None,
        })
    }
}

#[cfg(test)]
mod tests;
