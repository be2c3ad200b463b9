//! The two ends of a one-way UDP flow that answers no congestion signal: the sender asks its
//! [`Source`] for one packet after the other, the receiver counts.

use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::{Form, rate_from, time_from, whole};
use sojourn_core::math;
use sojourn_core::{Dur, Ecn, Kind, Probe, Rate, Rng, Time, parameters};

use super::Source;
use crate::endpoint::{Body, Datagram, Endpoint, FlowProbe, Transmit};

/// Layer-2 header bytes on Ethernet.
const L2_HEADER: u32 = 14;
/// IPv4 and UDP headers.
pub(crate) const HEADERS: u32 = 28;

parameters! {
    /// Parameters of a stream of equal packets.
    #[derive(Copy)]
    pub(super) struct Stream {
        /// Bits of IP packets per second: while `onoff` is on, and on average in `poisson`.
        pub(super) rate: Rate = Rate(0) => positive_rate(), default "none, required";
        /// IP bytes of a packet, 29 to 65535.
        pub(super) size: u32 = 1200 => size();
    }
    settle check;
}

impl Stream {
    /// Refuses a rate at which packets have no gap between them.
    fn check(&self, _given: &Given) -> Result<(), String> {
        if self.rate == Rate(0) {
            return Err("`rate` is missing".to_owned());
        }
        if self.rate.time_for(u64::from(self.size)) == Dur::ZERO {
            return Err("expected at most a packet per nanosecond".to_owned());
        }
        Ok(())
    }
}

/// IP bytes of a packet that has a byte of payload.
pub(super) fn size() -> impl Form<u32> {
    whole("BYTES", u64::from(HEADERS) + 1..=65_535, "")
}

/// A time above zero.
pub(super) fn positive_time() -> impl Form<Dur> {
    time_from(Dur(1))
}

/// A rate above zero.
pub(super) fn positive_rate() -> impl Form<Rate> {
    rate_from(Rate(1))
}

/// A packet of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Time since the previous packet, or since the start of the flow.
    pub after: Dur,
    /// IP bytes.
    pub size: u32,
}

/// Equal intervals that keep their sum exact: packet `n` leaves `n * size / rate` after the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Pacing {
    bits: u128,
    at: Dur,
}

impl Pacing {
    /// The gap after which the packet leaves that follows those so far; `size` IP bytes it has.
    pub(super) fn gap(&mut self, rate: Rate, size: u32) -> Dur {
        let at = Dur((self.bits * 1_000_000_000 / u128::from(rate.0)) as u64);
        self.bits += u128::from(size) * 8;
        at.saturating_sub(std::mem::replace(&mut self.at, at))
    }
}

/// An exponentially distributed time.
pub fn exponential(mean: Dur, rng: &mut Rng) -> Dur {
    Dur((-math::ln(1.0 - rng.unit()) * mean.0 as f64) as u64)
}

/// A standard normal number (Box-Muller).
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * math::ln(1.0 - rng.unit())).sqrt();
    radius * math::cos(std::f64::consts::TAU * rng.unit())
}

/// The sending end.
#[derive(Debug)]
pub struct Sender {
    source: Box<dyn Source>,
    rng: Rng,
    tos: u8,
    next: Time,
    size: u32,
    started: bool,
    sent: u64,
    bytes: u64,
}

impl Sender {
    /// `tos` goes on every packet, ECN bits included.
    pub fn new(source: &dyn Source, tos: u8, rng: Rng) -> Self {
        Self {
            source: source.fresh(),
            rng,
            tos,
            next: Time::NEVER,
            size: 0,
            started: false,
            sent: 0,
            bytes: 0,
        }
    }

    fn draw(&mut self, from: Time) {
        let Departure { after, size } = self.source.next(&mut self.rng);
        (self.next, self.size) = (from + after, size);
    }
}

impl Endpoint for Sender {
    fn start(&mut self, now: Time) {
        self.started = true;
        self.draw(now);
    }

    fn stop(&mut self, _now: Time) {
        self.next = Time::NEVER;
    }

    fn on_packet(&mut self, _now: Time, _body: &Body, _ecn: Ecn) {}

    fn poll(&mut self, now: Time) -> Option<Transmit> {
        if now < self.next {
            return None;
        }
        let bytes = self.size - HEADERS;
        let datagram = Datagram { seq: self.sent, sent: now, bytes };
        self.sent += 1;
        self.bytes += u64::from(bytes);
        let len = self.size + L2_HEADER;
        self.draw(self.next);
        Some(Transmit { body: Body::Udp(datagram), len, tos: self.tos, kind: Kind::Udp })
    }

    fn deadline(&self) -> Time {
        self.next
    }

    /// Sampled to the end of the run: what is under way still arrives after a stop.
    fn is_alive(&self) -> bool {
        self.started
    }

    fn totals(&self) -> FlowProbe {
        FlowProbe(vec![("packets_sent", self.sent as f64), ("bytes_sent", self.bytes as f64)])
    }
}

/// The receiving end.
#[derive(Debug, Default)]
pub struct Receiver {
    packets: u64,
    bytes: u64,
    ect0: u64,
    ect1: u64,
    ce: u64,
}

impl Endpoint for Receiver {
    fn on_packet(&mut self, _now: Time, body: &Body, ecn: Ecn) {
        let Body::Udp(datagram) = body else { return };
        self.packets += 1;
        self.bytes += u64::from(datagram.bytes);
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.ect0 += 1,
            Ecn::Ect1 => self.ect1 += 1,
            Ecn::Ce => self.ce += 1,
        }
    }

    fn poll(&mut self, _now: Time) -> Option<Transmit> {
        None
    }

    fn sample(&self, _now: Time, probe: &mut Probe<'_>) {
        probe.put("goodput_bytes", "bytes", self.bytes as f64);
        probe.put("ce_received", "packets", self.ce as f64);
    }

    fn totals(&self) -> FlowProbe {
        FlowProbe(vec![
            ("delivered_bytes", self.bytes as f64),
            ("packets_received", self.packets as f64),
            ("ect0_received", self.ect0 as f64),
            ("ect1_received", self.ect1 as f64),
            ("ce_received", self.ce as f64),
        ])
    }
}

#[cfg(test)]
pub(super) mod tests;
