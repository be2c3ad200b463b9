//! Echo over ICMP, or UDP as irtt does it: a requester that sends at fixed intervals, and the responder.

use sojourn_core::{Dur, Ecn, Kind, Time};

use crate::endpoint::{Body, Echo, Endpoint, FlowProbe, Transmit};

/// Layer-2 header bytes on Ethernet.
const L2_HEADER: u32 = 14;

/// Sends requests and measures round-trip times.
#[derive(Debug)]
pub struct Requester {
    interval: Dur,
    kind: Kind,
    tos: u8,
    size: u32,
    next: Time,
    stopped: bool,
    sent: u32,
    received: u32,
    samples: Vec<(Time, Dur)>,
}

impl Requester {
    /// `size` is the IP length in bytes; `tos` goes on requests; `kind` says ICMP or UDP.
    pub fn new(kind: Kind, interval: Dur, tos: u8, size: u32) -> Self {
        Self {
            interval,
            kind,
            tos,
            size,
            next: Time::NEVER,
            stopped: false,
            sent: 0,
            received: 0,
            samples: Vec::new(),
        }
    }
}

impl Endpoint for Requester {
    fn start(&mut self, now: Time) {
        self.next = now;
    }

    fn stop(&mut self, _now: Time) {
        self.stopped = true;
        self.next = Time::NEVER;
    }

    fn on_packet(&mut self, now: Time, body: &Body, _ecn: Ecn) {
        if let Body::Icmp(echo) = body {
            self.received += 1;
            self.samples.push((now, now.since(echo.sent)));
        }
    }

    fn poll(&mut self, now: Time) -> Option<Transmit> {
        if self.stopped || now < self.next {
            return None;
        }
        self.next += self.interval;
        self.sent += 1;
        Some(Transmit {
            body: Body::Icmp(Echo { seq: self.sent, sent: now }),
            len: self.size + L2_HEADER,
            tos: self.tos,
            kind: self.kind,
        })
    }

    fn deadline(&self) -> Time {
        self.next
    }

    fn take_samples(&mut self, sink: &mut dyn FnMut(Time, &'static str, &'static str, f64)) {
        for (at, rtt) in self.samples.drain(..) {
            sink(at, "rtt", "ms", rtt.as_millis_f64());
        }
    }

    fn totals(&self) -> FlowProbe {
        FlowProbe(vec![("sent", f64::from(self.sent)), ("received", f64::from(self.received))])
    }
}

/// Answers each request at once, with the TOS byte that the requester chose (a Linux host copies
/// the request's).
#[derive(Debug)]
pub struct Responder {
    kind: Kind,
    tos: u8,
    size: u32,
    pending: Option<Echo>,
}

impl Responder {
    /// `size` is the IP length in bytes; `tos` goes on replies; `kind` says ICMP or UDP.
    pub fn new(kind: Kind, tos: u8, size: u32) -> Self {
        Self { kind, tos, size, pending: None }
    }
}

impl Endpoint for Responder {
    fn on_packet(&mut self, _now: Time, body: &Body, _ecn: Ecn) {
        if let Body::Icmp(echo) = body {
            self.pending = Some(*echo);
        }
    }

    fn poll(&mut self, _now: Time) -> Option<Transmit> {
        let echo = self.pending.take()?;
        Some(Transmit {
            body: Body::Icmp(echo),
            len: self.size + L2_HEADER,
            tos: self.tos,
            kind: self.kind,
        })
    }
}

#[cfg(test)]
mod tests;
