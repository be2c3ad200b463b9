//! What the two-second line and the summary of a session say (EricssonResearch/scream, ScreamV2Tx.cpp).

use super::Ticks;
use super::ticks::seconds;
use sojourn_core::ecn::Ecn;

const GAIN: f32 = 0.02;
const SLOT_SAMPLES: u32 = 10;
const SLOTS: usize = 10;
/// What has to be sent before a lasting share is shown, sum of rates in bit/s.
const ENOUGH: f64 = 100e3;
/// Least and greatest rate are those after, s.
const SETTLED: f32 = 5.0;

/// Statistics of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Transmitted rate, bit/s: average with a memory of 50 samples, one per window of the rates
    /// (50 ms in 2024, then 100 ms).
    pub rate: f32,
    /// RTT, s, with the same memory.
    pub rtt: f32,
    /// Queue delay, s, with the same memory.
    pub queue_delay: f32,
    /// Lost share of the last hundred samples, and of all, percent of the transmitted rate.
    pub loss: Shares,
    /// Marked share, likewise.
    pub ce: Shares,
    /// Acknowledged packets with Not-ECT, ECT(0), ECT(1) and CE, percent.
    pub ecn: [f32; 4],
    /// RTP payload, bytes.
    pub payload: u32,
    /// Least, greatest and mean transmitted rate of the session, bit/s; extremes after 5 s.
    pub rates: Extremes,
    /// Least, greatest and mean RTT, s; extremes after 5 s.
    pub rtts: Extremes,
    /// Greatest and mean queue delay, s.
    pub queue_delays: Extremes,
}

/// A share over a shorter and a longer time, percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// Of the last hundred samples.
    pub recent: f32,
    /// Of the session.
    pub all: f32,
}

/// Extremes and mean of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extremes {
    /// Least.
    pub min: f32,
    /// Greatest.
    pub max: f32,
    /// Mean of all samples.
    pub mean: f32,
}

/// One sample per window of the rates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// bit/s.
    pub(super) sent: f32,
    pub(super) lost: f32,
    pub(super) ce: f32,
    /// s.
    pub(super) rtt: f32,
    pub(super) queue_delay: f32,
}

#[derive(Clone, Debug, Default)]
struct Rolling {
    slot: f32,
    slots: [f32; SLOTS],
    sum: f64,
}

impl Rolling {
    fn add(&mut self, rate: f32) {
        self.slot += rate;
        self.sum += f64::from(rate);
    }

    fn close(&mut self, at: usize, sent: f32) {
        let mean = std::mem::take(&mut self.slot) / SLOT_SAMPLES as f32;
        self.slots[at] = if sent > 0.0 { mean / sent * 100.0 } else { 0.0 };
    }

    fn shares(&self, sent: f64) -> Shares {
        let all = if sent > ENOUGH { (100.0 * self.sum / sent) as f32 } else { 0.0 };
        Shares { recent: self.slots.iter().sum::<f32>() / SLOTS as f32, all }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Range {
    seen: Option<(f32, f32)>,
    sum: f64,
}

impl Range {
    fn add(&mut self, value: f32, settled: bool) {
        self.sum += f64::from(value);
        if settled {
            let (min, max) = self.seen.unwrap_or((value, value));
            self.seen = Some((min.min(value), max.max(value)));
        }
    }

    fn extremes(&self, samples: u64) -> Extremes {
        let (min, max) = self.seen.unwrap_or_default();
        Extremes { min, max, mean: (self.sum / samples.max(1) as f64) as f32 }
    }
}

/// Gathers the [`Summary`].
#[derive(Clone, Debug, Default)]
pub(super) struct Stats {
    started: Ticks,
    settled: bool,
    samples: u64,
    at: usize,
    averages: Option<(f32, f32, f32)>,
    sent: f64,
    loss: Rolling,
    ce: Rolling,
    ecn: [u64; 4],
    rates: Range,
    rtts: Range,
    queue_delays: Range,
}

impl Stats {
    pub(super) fn new(started: Ticks) -> Self {
        Self { started, ..Self::default() }
    }

    pub(super) fn acked(&mut self, ecn: Ecn) {
        self.ecn[ecn as usize] += 1;
    }

    pub(super) fn sample(&mut self, now: Ticks, sample: Sample) {
        self.samples += 1;
        let Sample { sent, lost, ce, rtt, queue_delay } = sample;
        let blend = |old: f32, new: f32| (1.0 - GAIN) * old + GAIN * new;
        let sent_before = self.averages.filter(|&(rate, ..)| rate > 0.0);
        let old = sent_before.unwrap_or((sent, rtt, queue_delay));
        self.averages = Some((blend(old.0, sent), blend(old.1, rtt), blend(old.2, queue_delay)));
        self.sent += f64::from(sent);
        self.loss.add(lost);
        self.ce.add(ce);
        if self.samples.is_multiple_of(u64::from(SLOT_SAMPLES)) {
            self.loss.close(self.at, sent);
            self.ce.close(self.at, sent);
            self.at = (self.at + 1) % SLOTS;
        }
        self.settled |= seconds(now.since(self.started)) > SETTLED;
        self.rates.add(sent, self.settled);
        self.rtts.add(rtt, self.settled);
        self.queue_delays.add(queue_delay, true);
    }

    pub(super) fn summary(&self, payload: u32) -> Summary {
        let (rate, rtt, queue_delay) = self.averages.unwrap_or_default();
        let packets = self.ecn.iter().sum::<u64>().max(1) as f32;
        let of = |ecn: Ecn| 100.0 * self.ecn[ecn as usize] as f32 / packets;
        Summary {
            rate,
            rtt,
            queue_delay,
            loss: self.loss.shares(self.sent),
            ce: self.ce.shares(self.sent),
            ecn: [of(Ecn::NotEct), of(Ecn::Ect0), of(Ecn::Ect1), of(Ecn::Ce)],
            payload,
            rates: self.rates.extremes(self.samples),
            rtts: self.rtts.extremes(self.samples),
            queue_delays: self.queue_delays.extremes(self.samples),
        }
    }
}

#[cfg(test)]
mod tests;
