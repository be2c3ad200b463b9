//! Requests and responses over one persistent connection, in a closed loop: the client asks, the
//! server answers at once, the client thinks for an exponentially distributed time and asks again.
//! The response time runs from the request to the last byte of the response in order.

use sojourn_core::grammar::Args;
use sojourn_core::grammar::forms::custom;
use sojourn_core::{Bytes, Dur, Ecn, Probe, Rng, Time, parameters};

use super::application::line;
use super::sizes::Sizes;
use super::udp::exponential;
use super::{App, Application, Entry, Tcp};
use crate::endpoint::{Body, Endpoint, FlowProbe, Transmit};
use crate::tcp::Duplex;

pub(super) const ENTRY: Entry = line::<Params>(
    "request",
    "Requests and responses over one TCP connection, with time to think between them",
    "netperf TCP_RR with sizes and think time",
);

parameters! {
    /// Parameters of `request`.
    #[derive(PartialEq)]
    pub struct Params {
        /// Bytes of a request.
        pub query: u64 = 400 => custom(
            "SIZE",
            |args: &mut Args<'_>| Ok(args.size()?.0.max(1)),
            |bytes: &u64| Bytes(*bytes).to_string(),
        );
        /// Mean time from a response to the next request.
        pub think: Dur = Dur::from_millis(1000);
    }
    groups {
        /// Sizes of the responses.
        pub sizes: Sizes = Sizes::default();
    }
}

impl Application for Params {
    fn build(&self) -> App {
        App::Request(self.clone())
    }
}

/// The asking end: it opens the connection.
#[derive(Debug)]
pub struct Client {
    params: Params,
    sizes: Rng,
    thoughts: Rng,
    connection: Duplex,
    /// Requests written.
    asked: u64,
    asked_at: Time,
    /// Bytes that all responses so far and the next one have.
    expected: u64,
    waiting: bool,
    /// When the next request is due.
    next: Time,
    stopped: bool,
    answered: u64,
    size: u64,
    samples: Vec<(Time, Dur, u64)>,
}

impl Client {
    /// `rng` gives the streams `sizes`, which the server draws too, and `thoughts`.
    pub fn new(params: &Params, tcp: &Tcp, rng: &dyn Fn(&str) -> Rng) -> Self {
        Self {
            params: params.clone(),
            sizes: rng("sizes"),
            thoughts: rng("thoughts"),
            connection: Duplex::new(tcp.sender(), tcp.receiver()),
            asked: 0,
            asked_at: Time::ZERO,
            expected: 0,
            waiting: false,
            next: Time::NEVER,
            stopped: false,
            answered: 0,
            size: 0,
            samples: vec![],
        }
    }

    fn ask(&mut self, now: Time) {
        self.next = Time::NEVER;
        self.size = self.params.sizes.draw(self.asked, &mut self.sizes);
        self.expected += self.size;
        self.asked += 1;
        self.asked_at = now;
        self.waiting = true;
        self.connection.write(self.params.query);
    }

    /// Whether the response is complete now.
    fn hear(&mut self, now: Time) {
        if self.waiting && self.connection.delivered() >= self.expected {
            self.waiting = false;
            self.answered += 1;
            self.samples.push((now, now.since(self.asked_at), self.size));
            if !self.stopped {
                self.next = now + exponential(self.params.think, &mut self.thoughts);
            }
        }
    }
}

impl Endpoint for Client {
    fn start(&mut self, now: Time) {
        self.connection.start(now);
    }

    fn stop(&mut self, _now: Time) {
        self.stopped = true;
        self.next = Time::NEVER;
    }

    fn on_packet(&mut self, now: Time, body: &Body, ecn: Ecn) {
        let was_open = self.connection.sender().is_established();
        self.connection.on_packet(now, body, ecn);
        if !was_open && self.connection.sender().is_established() && !self.stopped {
            self.ask(now);
        }
        self.hear(now);
    }

    fn on_reset(&mut self, now: Time, connection: u32) {
        self.connection.on_reset(now, connection);
        self.stop(now);
    }

    fn poll(&mut self, now: Time) -> Option<Transmit> {
        if self.next <= now {
            self.ask(now);
        }
        let tx = self.connection.poll(now);
        self.hear(now); // with receive offload data get there only now
        tx
    }

    fn deadline(&self) -> Time {
        self.connection.deadline().min(self.next)
    }

    fn on_timer(&mut self, now: Time) {
        self.connection.on_timer(now);
    }

    fn on_departed(&mut self, now: Time, connection: u32, bytes: u32) {
        self.connection.on_departed(now, connection, bytes);
    }

    fn is_alive(&self) -> bool {
        self.connection.is_alive()
    }

    fn sample(&self, now: Time, probe: &mut Probe<'_>) {
        self.connection.receiver().sample(now, probe);
        probe.put("completed", "responses", self.answered as f64);
    }

    fn take_samples(&mut self, sink: &mut dyn FnMut(Time, &'static str, &'static str, f64)) {
        for (at, took, bytes) in self.samples.drain(..) {
            sink(at, "fct", "ms", took.as_millis_f64());
            sink(at, "fct_bytes", "bytes", bytes as f64);
        }
    }

    fn totals(&self) -> FlowProbe {
        let mut totals = self.connection.receiver().totals();
        totals.0.push(("asked", self.asked as f64));
        totals.0.push(("completed", self.answered as f64));
        let min_rtt = self.connection.sender().min_rtt();
        if min_rtt > Dur::ZERO {
            totals.0.push(("min_rtt_ms", min_rtt.as_millis_f64()));
        }
        totals
    }
}

/// The answering end: the data's sender, under the flow's controller.
#[derive(Debug)]
pub struct Server {
    params: Params,
    sizes: Rng,
    connection: Duplex,
    answered: u64,
}

impl Server {
    /// `rng` is the client's: both draw the same sizes.
    pub fn new(params: &Params, tcp: &Tcp, rng: &dyn Fn(&str) -> Rng) -> Self {
        Self {
            params: params.clone(),
            sizes: rng("sizes"),
            connection: Duplex::new(tcp.sender(), tcp.receiver()),
            answered: 0,
        }
    }

    /// Answers the next request, if it is complete. Returns whether it was.
    fn answer(&mut self) -> bool {
        let is_complete = self.connection.delivered() >= (self.answered + 1) * self.params.query;
        if is_complete {
            self.connection.write(self.params.sizes.draw(self.answered, &mut self.sizes));
            self.answered += 1;
        }
        is_complete
    }
}

impl Endpoint for Server {
    fn on_packet(&mut self, now: Time, body: &Body, ecn: Ecn) {
        self.connection.on_packet(now, body, ecn);
    }

    fn on_reset(&mut self, now: Time, connection: u32) {
        self.connection.on_reset(now, connection);
    }

    /// TCP acknowledges what it does not delay before the application has read it.
    fn poll(&mut self, now: Time) -> Option<Transmit> {
        loop {
            let tx = self.connection.poll(now);
            if tx.is_some() || !self.answer() {
                return tx;
            }
        }
    }

    fn deadline(&self) -> Time {
        self.connection.deadline()
    }

    fn on_timer(&mut self, now: Time) {
        self.connection.on_timer(now);
    }

    fn on_departed(&mut self, now: Time, connection: u32, bytes: u32) {
        self.connection.on_departed(now, connection, bytes);
    }

    fn sample(&self, now: Time, probe: &mut Probe<'_>) {
        self.connection.sender().sample(now, probe);
    }

    fn sample_controller(&self, probe: &mut Probe<'_>) {
        self.connection.sender().sample_controller(probe);
    }

    fn totals(&self) -> FlowProbe {
        self.connection.sender().totals()
    }
}
