//! The receiving end: records arrivals and reports them at the controller's interval.

use sojourn_core::{Dur, Ecn, Kind, Probe, Time};

use super::feedback::Recorder;
use super::{L2_HEADER, Message};
use crate::endpoint::{Body, Endpoint, FlowProbe, Transmit};

/// IPv4 and UDP headers of a report.
const REPORT_HEADERS: u32 = 28;

/// The receiving end of a media flow.
#[derive(Debug)]
pub struct Receiver {
    tos: u8,
    interval: Dur,
    recorder: Recorder,
    /// When the next report is due, if there is news by then.
    next: Time,
    bytes: u64,
    packets: u64,
    ce: u64,
    reports: u64,
}

impl Receiver {
    /// Waits for the first packet, which it reports at once.
    pub fn new(tos: u8, interval: Dur) -> Self {
        Self {
            tos,
            interval,
            recorder: Recorder::default(),
            next: Time::ZERO,
            bytes: 0,
            packets: 0,
            ce: 0,
            reports: 0,
        }
    }
}

impl Endpoint for Receiver {
    fn on_packet(&mut self, now: Time, body: &Body, ecn: Ecn) {
        let Body::Media(Message::Data(data)) = body else { return };
        self.packets += 1;
        self.bytes += u64::from(data.bytes - super::HEADERS);
        self.ce += u64::from(ecn == Ecn::Ce);
        self.recorder.on_packet(now, data.seq, ecn);
    }

    fn poll(&mut self, now: Time) -> Option<Transmit> {
        if now < self.next && !self.recorder.is_full() {
            return None;
        }
        let report = self.recorder.report(now)?;
        self.reports += 1;
        if !self.recorder.has_news() {
            self.next = now + self.interval;
        }
        Some(Transmit {
            len: L2_HEADER + REPORT_HEADERS + report.bytes(),
            body: Body::Media(Message::Feedback(report)),
            tos: Ecn::NotEct.on_tos(self.tos),
            kind: Kind::Udp,
        })
    }

    fn deadline(&self) -> Time {
        if self.recorder.has_news() { self.next } else { Time::NEVER }
    }

    fn sample(&self, _now: Time, probe: &mut Probe<'_>) {
        probe.put("goodput_bytes", "bytes", self.bytes as f64);
        probe.put("ce_received", "packets", self.ce as f64);
    }

    fn totals(&self) -> FlowProbe {
        FlowProbe(vec![
            ("delivered_bytes", self.bytes as f64),
            ("packets_received", self.packets as f64),
            ("ce_received", self.ce as f64),
            ("reports_sent", self.reports as f64),
        ])
    }
}

#[cfg(test)]
mod tests;
