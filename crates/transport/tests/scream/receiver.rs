//! The tools' receiver, for one stream from sequence number 0 without loss of order.

use sojourn_core::Ecn;
use sojourn_core::cc::scream::{Metric, Ticks, Version};

const REPORTED: u16 = 64;
const ACK_DIFF: u16 = REPORTED / 2;
const SLOTS: usize = 512;

/// A report: what its datagram says.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) begin: u16,
    pub(crate) metrics: Vec<Metric>,
}

#[derive(Debug)]
pub(crate) struct Receiver {
    slots: Vec<Option<(u16, u32, Ecn)>>,
    highest: u16,
    reported: u16,
    unreported: u32,
    last_report: u32,
    interval: u32,
    settled: u32,
    since: u32,
    least: u32,
    y2024: bool,
    first: bool,
}

impl Receiver {
    pub(crate) fn new(version: Version, now: u32) -> Self {
        let y2024 = version <= Version::V2024b;
        Self {
            slots: vec![None; SLOTS],
            highest: 0,
            reported: 0,
            unreported: 0,
            last_report: now,
            interval: 13_107,
            settled: if y2024 { 327 } else { 2621 },
            since: now,
            least: if y2024 { 8 } else { 16 },
            y2024,
            first: true,
        }
    }

    pub(crate) fn receive(&mut self, now: u32, seq: u16, ecn: Ecn, marker: bool) -> Option<Report> {
        self.slots[usize::from(seq) % SLOTS] = Some((seq, now, ecn));
        if self.first || (seq.wrapping_sub(self.highest) as i16) > 0 {
            self.highest = seq;
        }
        self.unreported += 1;
        if self.first {
            self.first = false;
            self.since = now;
        }
        if now - self.since > 6554 {
            self.since = now;
            self.interval = self.settled;
        }
        if self.many() || marker { self.build(now, marker) } else { None }
    }

    fn many(&self) -> bool {
        // The original's integers: a highest number below the reported one counts as far ahead.
        let new = u32::from(self.highest).wrapping_sub(u32::from(self.reported));
        new >= u32::from(ACK_DIFF)
    }

    pub(crate) fn timer(&mut self, now: u32) -> Option<Report> {
        let due = self.unreported >= 1 && (self.many() || now - self.last_report > self.interval);
        if due { self.build(now, true) } else { None }
    }

    fn build(&mut self, now: u32, marker: bool) -> Option<Report> {
        let limit = if self.y2024 { 655 } else { self.interval };
        let enough = self.unreported >= self.least.min(u32::from(ACK_DIFF))
            || now - self.last_report > limit
            || (marker && self.unreported >= 1);
        if !enough {
            return None;
        }
        self.last_report = now;
        self.unreported = 0;
        self.reported = self.highest;
        let begin = self.highest.wrapping_sub(REPORTED - 1);
        let metrics = (0..REPORTED)
            .map(|offset| {
                let seq = begin.wrapping_add(offset);
                match self.slots[usize::from(seq) % SLOTS] {
                    Some((number, at, ecn)) if number == seq => {
                        let age = ((now - at) >> 6).min(8190);
                        Metric { received: Some(Ticks(now.wrapping_sub(age << 6))), ecn }
                    }
                    _ => Metric { received: None, ecn: Ecn::NotEct },
                }
            })
            .collect();
        Some(Report { begin, metrics })
    }
}
