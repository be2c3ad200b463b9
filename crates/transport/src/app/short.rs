//! Short TCP flows: connections that arrive as a Poisson process, each with a size of its own, as
//! web traffic does. The completion time runs from the SYN to the acknowledgement of the last byte
//! (and FIN). RFC 7928 7 (web traffic in bursts), RFC 5166 2.1 (completion times).
//!
//! A flow keeps its name and path for all its connections; each has a hash of its own, so queues
//! that distinguish flows distinguish them.

use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::{decimal, maybe, number};
use sojourn_core::{Dur, Ecn, Probe, Rate, Rng, Time, parameters};

use super::application::line;
use super::multiplex::{MAX_SLOTS, Multiplex, Sum};
use super::sizes::Sizes;
use super::udp::{exponential, positive_rate};
use super::{App, Application, Entry, Tcp};
use crate::endpoint::{Body, Endpoint, FlowProbe, Transmit};
use crate::tcp::{Receiver, Sender};

pub(super) const ENTRY: Entry = line::<Params>(
    "short",
    "TCP connections that arrive at random, each with a size of its own",
    "RFC 7928 7",
);

parameters! {
    /// Parameters of `short`.
    #[derive(PartialEq)]
    pub struct Params {
        /// Mean connections per second, 0.001 to 1000000.
        arrivals: Option<f64> = None => maybe(decimal("NUMBER", 0.001..=1e6)), default "10";
        /// Mean payload offered, instead of `arrivals`.
        load: Option<Rate> = None => maybe(positive_rate()), default "none";
        /// Most connections at once, 1 to 65536; what arrives above is turned away and counted.
        pub limit: u32 = 10_000 => number(1..=MAX_SLOTS.into());
    }
    groups {
        /// Sizes of the transfers.
        pub sizes: Sizes = Sizes::default();
    }
    transient {
        /// Mean time between arrivals.
        pub gap: Dur = Dur::ZERO;
    }
    settle complete;
}

impl Params {
    fn complete(&mut self, _given: &Given) -> Result<(), String> {
        let per_second = match (self.arrivals, self.load) {
            (Some(_), Some(_)) => return Err("expected `arrivals` or `load`, not both".to_owned()),
            (_, None) => *self.arrivals.get_or_insert(10.0),
            (None, Some(load)) => load.0 as f64 / 8.0 / self.sizes.mean(),
        };
        self.gap = Dur((1e9 / per_second) as u64);
        if self.gap == Dur::ZERO {
            return Err("expected at most a connection per nanosecond".to_owned());
        }
        Ok(())
    }
}

impl Application for Params {
    fn build(&self) -> App {
        App::Short(self.clone())
    }
}

/// When a connection opened and what it is to send.
#[derive(Clone, Copy, Debug, Default)]
struct Transfer {
    opened: Time,
    bytes: u64,
}

/// A finished transfer.
#[derive(Clone, Copy, Debug)]
struct Completion {
    at: Time,
    took: Dur,
    bytes: u64,
}

/// The end that opens connections and sends.
#[derive(Debug)]
pub struct Opener {
    params: Params,
    tcp: Tcp,
    arrivals: Rng,
    sizes: Rng,
    connections: Multiplex<Sender>,
    /// Per slot.
    transfers: Vec<Transfer>,
    free: Vec<u32>,
    next_arrival: Time,
    started: bool,
    arrived: u64,
    turned_away: u64,
    completed: u64,
    /// Connections that the peer has refused or reset.
    reset: u64,
    open: u32,
    completions: Vec<Completion>,
    closed: Sum,
    min_rtt: Dur,
}

impl Opener {
    /// `rng` gives the streams `arrivals` and `sizes`.
    pub fn new(params: &Params, tcp: Tcp, rng: &dyn Fn(&str) -> Rng) -> Self {
        Self {
            params: params.clone(),
            tcp,
            arrivals: rng("arrivals"),
            sizes: rng("sizes"),
            connections: Multiplex::new(),
            transfers: vec![],
            free: vec![],
            next_arrival: Time::NEVER,
            started: false,
            arrived: 0,
            turned_away: 0,
            completed: 0,
            reset: 0,
            open: 0,
            completions: vec![],
            closed: Sum::default(),
            min_rtt: Dur(u64::MAX),
        }
    }

    fn arrive(&mut self, now: Time) {
        let bytes = self.params.sizes.draw(self.arrived, &mut self.sizes);
        self.arrived += 1;
        self.next_arrival += exponential(self.params.gap, &mut self.arrivals).max(Dur(1));
        if self.open >= self.params.limit {
            self.turned_away += 1;
            return;
        }
        self.open += 1;
        let slot = self.free.pop().unwrap_or(self.connections.len());
        let number = self.connections.successor(slot);
        self.tcp.config.bytes = Some(bytes);
        let mut sender = self.tcp.sender();
        sender.start(now);
        self.connections.insert(number, sender);
        if self.transfers.len() <= slot as usize {
            self.transfers.push(Transfer::default());
        }
        self.transfers[slot as usize] = Transfer { opened: now, bytes };
    }

    fn complete(&mut self, now: Time, number: u32) {
        let Some(sender) = self.connections.remove(number) else { return };
        let slot = number % MAX_SLOTS;
        let Transfer { opened, bytes } = self.transfers[slot as usize];
        self.completions.push(Completion { at: now, took: now.since(opened), bytes });
        let rtt = sender.min_rtt();
        if rtt > Dur::ZERO {
            self.min_rtt = self.min_rtt.min(rtt); // a SYN that was repeated may measure none
        }
        self.closed.add(sender.totals());
        self.completed += 1;
        self.open -= 1;
        self.free.push(slot);
    }
}

impl Endpoint for Opener {
    fn start(&mut self, now: Time) {
        self.started = true;
        self.next_arrival = now + exponential(self.params.gap, &mut self.arrivals);
    }

    fn stop(&mut self, _now: Time) {
        self.next_arrival = Time::NEVER;
    }

    fn on_packet(&mut self, now: Time, body: &Body, ecn: Ecn) {
        let Body::Tcp(segment) = body else { return };
        let number = segment.connection;
        let Some(sender) = self.connections.get(number) else { return };
        sender.on_packet(now, body, ecn);
        if sender.is_finished() {
            self.complete(now, number);
        } else {
            self.connections.wake(number % MAX_SLOTS);
        }
    }

    fn on_reset(&mut self, _now: Time, connection: u32) {
        let Some(sender) = self.connections.remove(connection) else { return };
        self.closed.add(sender.totals());
        self.reset += 1;
        self.open -= 1;
        self.free.push(connection % MAX_SLOTS);
    }

    fn poll(&mut self, now: Time) -> Option<Transmit> {
        while self.next_arrival <= now {
            self.arrive(now);
        }
        self.connections.poll(now)
    }

    fn deadline(&self) -> Time {
        self.connections.deadline().min(self.next_arrival)
    }

    fn on_timer(&mut self, now: Time) {
        self.connections.on_timer(now);
    }

    fn on_departed(&mut self, now: Time, connection: u32, bytes: u32) {
        if let Some(sender) = self.connections.get(connection) {
            sender.on_departed(now, connection, bytes);
            self.connections.wake(connection % MAX_SLOTS);
        }
    }

    fn is_alive(&self) -> bool {
        self.started
    }

    fn sample(&self, _now: Time, probe: &mut Probe<'_>) {
        probe.put("connections", "connections", f64::from(self.open));
        probe.put("completed", "connections", self.completed as f64);
        let open: f64 = self.connections.iter().map(|s| s.retransmits() as f64).sum();
        probe.put("retransmits", "segments", self.closed.get("retransmits") + open);
    }

    fn take_samples(&mut self, sink: &mut dyn FnMut(Time, &'static str, &'static str, f64)) {
        for Completion { at, took, bytes } in self.completions.drain(..) {
            sink(at, "fct", "ms", took.as_millis_f64());
            sink(at, "fct_bytes", "bytes", bytes as f64);
        }
    }

    fn totals(&self) -> FlowProbe {
        let mut totals = FlowProbe(vec![
            ("arrived", self.arrived as f64),
            ("turned_away", self.turned_away as f64),
            ("completed", self.completed as f64),
        ]);
        if self.reset > 0 {
            totals.0.push(("reset", self.reset as f64));
        }
        if self.min_rtt < Dur(u64::MAX) {
            totals.0.push(("min_rtt_ms", self.min_rtt.as_millis_f64()));
        }
        totals.0.extend(self.closed.with(self.connections.iter()).0);
        totals
    }
}

/// The end that receives.
#[derive(Debug)]
pub struct Acceptor {
    tcp: Tcp,
    connections: Multiplex<Receiver>,
    closed: Sum,
}

impl Acceptor {
    /// Accepts whatever connects.
    pub fn new(tcp: Tcp) -> Self {
        Self { tcp, connections: Multiplex::new(), closed: Sum::default() }
    }
}

impl Endpoint for Acceptor {
    fn on_packet(&mut self, now: Time, body: &Body, ecn: Ecn) {
        let Body::Tcp(segment) = body else { return };
        let number = segment.connection;
        // The slot keeps the last receiver, which repeats ACKs until the next one opens.
        if segment.flags.syn && self.connections.is_news(number) {
            let old = self.connections.insert(number, self.tcp.receiver());
            if let Some(old) = old {
                self.closed.add(old.totals());
            }
        }
        if let Some(receiver) = self.connections.get(number) {
            receiver.on_packet(now, body, ecn);
            self.connections.wake(number % MAX_SLOTS);
        }
    }

    fn poll(&mut self, now: Time) -> Option<Transmit> {
        self.connections.poll(now)
    }

    fn deadline(&self) -> Time {
        self.connections.deadline()
    }

    fn on_timer(&mut self, now: Time) {
        self.connections.on_timer(now);
    }

    fn sample(&self, _now: Time, probe: &mut Probe<'_>) {
        let open: u64 = self.connections.iter().map(Receiver::delivered).sum();
        let closed = self.closed.get("delivered_bytes");
        probe.put("goodput_bytes", "bytes", closed + open as f64);
    }

    fn totals(&self) -> FlowProbe {
        self.closed.with(self.connections.iter())
    }
}

#[cfg(test)]
mod tests;
