//! Two ends and the pipe between them. Whatever a test does, the pipe asserts at every step what
//! must always hold: the receiver knows exactly what arrived, and the sender keeps to both windows.

use std::collections::{BTreeMap, VecDeque};

use sojourn_cc::{self as cc, Feedback, State};
use sojourn_core::{Dur, Ecn, Probe, Rate, Time};
use sojourn_transport::tcp::{Config, Receiver, Segment, Sender};
use sojourn_transport::{Body, Endpoint, Transmit};

pub(crate) const MSS: u64 = 1448;

/// A packet at the entrance of the pipe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passing {
    pub(crate) at: Time,
    /// From the sender to the receiver.
    pub(crate) forward: bool,
    pub(crate) segment: Segment,
    pub(crate) ecn: Ecn,
    /// Which full segment this is, from 0; for ACKs and control packets a running number.
    pub(crate) index: u64,
    /// How often it was sent before.
    pub(crate) copy: u32,
    /// Whether it is a tail-loss probe.
    pub(crate) probe: bool,
    /// Whether it carries payload or FIN.
    pub(crate) data: bool,
}

impl Passing {
    /// The first transmission of one of these segments.
    pub(crate) fn is_first_of(&self, indices: &[u64]) -> bool {
        self.data && self.copy == 0 && indices.contains(&self.index)
    }
}

/// What the pipe does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Pass,
    Drop,
    Mark,
    /// ECT(0) becomes ECT(1).
    Sce,
    /// A copy follows after this time.
    Twice(Dur),
    /// It is overtaken by what follows within this time.
    Late(Dur),
}

type Rule = Box<dyn FnMut(&Passing) -> Fate>;
/// Rewrites what passes; gives whether it may.
type Mangler = Box<dyn FnMut(&mut Passing) -> bool>;

/// A bottleneck: its rate, the packets that fit, and when those inside will have left.
struct Bottleneck {
    rate: Rate,
    limit: usize,
    inside: VecDeque<Time>,
}

pub(crate) struct Pipe {
    pub(crate) now: Time,
    pub(crate) tx: Sender,
    pub(crate) rx: Receiver,
    /// Everything that entered the pipe.
    pub(crate) log: Vec<Passing>,
    /// Every change of ssthresh: when, to what.
    pub(crate) reductions: Vec<(Time, u32)>,
    pub(crate) smallest_cwnd: u32,
    /// Smallest window in state Open before the first timeout.
    pub(crate) smallest_open_cwnd: u32,
    pub(crate) longest_silence: Dur,
    bytes: Option<u64>,
    /// The receiving host holds back what it merges.
    merges: bool,
    /// The receiver discards what its timestamp shows to be overtaken.
    paws: bool,
    delay: Dur,
    rule: Rule,
    mangler: Mangler,
    bottleneck: Option<Bottleneck>,
    flying: BTreeMap<(Time, u64), (bool, Body, Ecn)>,
    serial: u64,
    copies: BTreeMap<u64, u32>,
    /// Disjoint ranges that the receiver has to take.
    arrived: BTreeMap<u64, u64>,
    /// The timestamp that arrivals are compared with, and what the last ACK acknowledged (RFC 7323 4.3).
    recent: Time,
    acknowledged: u64,
    /// Highest right edge that reached the sender.
    edge: u64,
    last_departure: Time,
    /// End of the FIN, once it was sent.
    fin: Option<u64>,
}

impl Pipe {
    pub(crate) fn new(cc: &str, config: Config, delay: Dur) -> Self {
        let server = config.clone();
        Self::between(cc, config, server, delay)
    }

    pub(crate) fn between(cc: &str, client: Config, server: Config, delay: Dur) -> Self {
        let controller = cc::build(cc).expect("a controller of the registry");
        let needs = controller.needs();
        Self {
            now: Time::ZERO,
            bytes: client.bytes,
            merges: server.gro,
            paws: server.timestamps && server.paws,
            tx: Sender::new(client, controller),
            rx: Receiver::new(server, needs),
            log: Vec::new(),
            reductions: Vec::new(),
            smallest_cwnd: u32::MAX,
            smallest_open_cwnd: u32::MAX,
            longest_silence: Dur::ZERO,
            delay,
            rule: Box::new(|_| Fate::Pass),
            mangler: Box::new(|_| true),
            bottleneck: None,
            flying: BTreeMap::new(),
            serial: 0,
            copies: BTreeMap::new(),
            arrived: BTreeMap::new(),
            recent: Time::ZERO,
            acknowledged: 0,
            edge: 0,
            last_departure: Time::ZERO,
            fin: None,
        }
    }

    pub(crate) fn bottleneck(mut self, rate: Rate, limit: usize) -> Self {
        self.bottleneck = Some(Bottleneck { rate, limit, inside: VecDeque::new() });
        self
    }

    pub(crate) fn rule(mut self, rule: impl FnMut(&Passing) -> Fate + 'static) -> Self {
        self.rule = Box::new(rule);
        self
    }

    pub(crate) fn mangler(mut self, mangler: impl FnMut(&mut Passing) -> bool + 'static) -> Self {
        self.mangler = Box::new(mangler);
        self
    }

    pub(crate) fn start(mut self) -> Self {
        self.tx.start(self.now);
        self.collect();
        self
    }

    pub(crate) fn run_until(&mut self, end: Time) {
        while self.next_at() <= end {
            self.step();
        }
        self.now = end;
    }

    /// Until the sender has nothing outstanding and nothing to send, at most until `limit`.
    pub(crate) fn finish(&mut self, limit: Time) {
        while !self.complete() {
            let at = self.next_at();
            assert!(at != Time::NEVER, "nothing will ever happen, but data is missing");
            assert!(at <= limit, "not complete at {limit}: {} delivered", self.rx.delivered());
            self.step();
        }
    }

    pub(crate) fn complete(&self) -> bool {
        Some(self.rx.delivered()) == self.bytes && self.established() && !self.tx.is_alive()
    }

    fn established(&self) -> bool {
        self.edge > 0
    }

    fn next_at(&self) -> Time {
        let packet = self.flying.keys().next().map_or(Time::NEVER, |(at, _)| *at);
        packet.min(self.tx.deadline()).min(self.rx.deadline())
    }

    fn step(&mut self) {
        let at = self.next_at();
        assert!(at >= self.now, "a deadline in the past");
        self.now = at;
        if let Some(entry) = self.flying.first_entry().filter(|e| e.key().0 <= at) {
            let (forward, body, ecn) = entry.remove();
            self.arrive(forward, &body, ecn);
        } else if self.tx.deadline() <= at {
            let before = self.tx.window().ssthresh;
            self.tx.on_timer(at);
            self.note_reduction(before);
        } else {
            self.rx.on_timer(at);
        }
        self.collect();
        self.check_receiver();
    }

    fn arrive(&mut self, forward: bool, body: &Body, ecn: Ecn) {
        let Body::Tcp(segment) = body else { unreachable!("TCP sends TCP") };
        if forward {
            if segment.end() > segment.seq && (self.merges || self.is_timely(segment)) {
                insert(&mut self.arrived, segment.seq, segment.end());
            }
            self.rx.on_packet(self.now, body, ecn);
        } else {
            if !segment.flags.control {
                self.edge = self.edge.max(segment.ack + u64::from(segment.window));
            }
            let before = self.tx.window().ssthresh;
            self.tx.on_packet(self.now, body, ecn);
            self.note_reduction(before);
        }
    }

    /// Whether the receiver takes a segment by its timestamp, which may be a millisecond old (RFC 7323 5.3).
    fn is_timely(&mut self, segment: &Segment) -> bool {
        let ms = |t: Time| t.0 / 1_000_000;
        if self.paws && ms(segment.tsval) + 1 < ms(self.recent) {
            return false;
        }
        if segment.seq <= self.acknowledged && self.acknowledged <= segment.end() {
            self.recent = self.recent.max(segment.tsval);
        }
        true
    }

    fn note_reduction(&mut self, before: u32) {
        let win = *self.tx.window();
        if win.ssthresh != before {
            self.reductions.push((self.now, win.ssthresh));
        }
        self.smallest_cwnd = self.smallest_cwnd.min(win.cwnd);
        if self.tx.state() == State::Open && self.total("timeouts") == 0 {
            self.smallest_open_cwnd = self.smallest_open_cwnd.min(win.cwnd);
        }
    }

    /// Takes what both ends want to send.
    fn collect(&mut self) {
        loop {
            let probes = self.total("tail_loss_probes");
            let Some(sent) = self.tx.poll(self.now) else { break };
            let probe = self.total("tail_loss_probes") > probes;
            let passing = self.enter(true, &sent, probe);
            if passing.data {
                self.check_sender(&passing);
                let silence = self.now.since(self.last_departure);
                self.longest_silence = self.longest_silence.max(silence);
            }
            self.last_departure = self.now;
        }
        while let Some(sent) = self.rx.poll(self.now) {
            self.enter(false, &sent, false);
        }
    }

    fn enter(&mut self, forward: bool, sent: &Transmit, probe: bool) -> Passing {
        let Body::Tcp(segment) = sent.body else { unreachable!("TCP sends TCP") };
        let data = forward && segment.end() > segment.seq && !segment.flags.syn;
        let mut passing = Passing {
            at: self.now,
            forward,
            segment,
            ecn: Ecn::from_tos(sent.tos),
            index: self.serial,
            copy: 0,
            probe,
            data,
        };
        if data {
            passing.index = (segment.seq - 1) / MSS;
            let copies = self.copies.entry(segment.seq).or_default();
            passing.copy = *copies;
            if segment.flags.fin {
                self.fin = Some(segment.end());
            }
            *copies += 1;
        }
        self.log.push(passing);
        if !forward && !segment.flags.control {
            self.acknowledged = segment.ack;
        }
        let mut mangled = passing;
        if !(self.mangler)(&mut mangled) {
            return passing;
        }
        let fate = (self.rule)(&mangled);
        let ecn = match fate {
            Fate::Mark => Ecn::Ce,
            Fate::Sce if mangled.ecn == Ecn::Ect0 => Ecn::Ect1,
            _ => mangled.ecn,
        };
        let Some(arrival) = self.through(forward, sent.len).filter(|_| fate != Fate::Drop) else {
            return passing;
        };
        self.fly(arrival, forward, &Body::Tcp(mangled.segment), ecn, fate);
        passing
    }

    /// When a packet that enters now reaches the other end, `None` if the queue is full.
    fn through(&mut self, forward: bool, len: u32) -> Option<Time> {
        let now = self.now;
        let Some(b) = self.bottleneck.as_mut().filter(|_| forward) else {
            return Some(now + self.delay);
        };
        b.inside.retain(|left| *left > now);
        if b.inside.len() >= b.limit {
            return None;
        }
        let left = b.inside.back().copied().unwrap_or(now) + b.rate.time_for(u64::from(len));
        b.inside.push_back(left);
        Some(left + self.delay)
    }

    fn fly(&mut self, arrival: Time, forward: bool, body: &Body, ecn: Ecn, fate: Fate) {
        let (first, second) = match fate {
            Fate::Late(by) => (arrival + by, None),
            Fate::Twice(after) => (arrival, Some(arrival + after)),
            _ => (arrival, None),
        };
        for at in [Some(first), second].into_iter().flatten() {
            self.serial += 1;
            self.flying.insert((at, self.serial), (forward, body.clone(), ecn));
        }
    }

    fn check_sender(&self, sent: &Passing) {
        let end = sent.segment.end();
        assert!(end - u64::from(sent.segment.flags.fin) <= self.edge, "beyond the receive window");
        let (in_flight, cwnd) = (self.probe("in_flight"), self.probe("cwnd"));
        assert!(sent.probe || in_flight <= cwnd, "{in_flight} in flight, cwnd {cwnd}: {sent:?}");
        assert!(cwnd >= 1.0 && in_flight <= 1e6, "cwnd {cwnd}, in flight {in_flight}");
    }

    /// The receiver has delivered the longest prefix of what arrived, and reports nothing else.
    fn check_receiver(&self) {
        let prefix = self.arrived.get(&1).copied().unwrap_or(1);
        let bytes = prefix.saturating_sub(1 + u64::from(self.fin == Some(prefix)));
        if self.merges {
            assert!(self.rx.delivered() <= bytes, "delivered is what arrived in order");
        } else {
            assert_eq!(self.rx.delivered(), bytes, "delivered is what arrived in order");
        }
        let Some(last) = self.log.last().filter(|p| !p.forward && !p.segment.flags.syn) else {
            return;
        };
        let seen = |(from, to): (u64, u64)| {
            self.arrived.range(..=from).next_back().is_some_and(|(_, end)| to <= *end)
        };
        let ack = last.segment;
        assert!(ack.flags.control || ack.ack <= prefix, "acknowledged what has not arrived");
        assert!(ack.sack.as_slice().iter().all(|b| seen(*b)), "SACKed what has not arrived");
    }

    /// A sampled value of the sender.
    pub(crate) fn probe(&self, name: &str) -> f64 {
        let mut found = None;
        let mut put = |n: &str, _: &'static str, v: f64| {
            if n == name {
                found = Some(v);
            }
        };
        self.tx.sample(self.now, &mut Probe::new(&mut put));
        found.expect("a sampled value of this name")
    }

    /// A total of the sender.
    pub(crate) fn total(&self, name: &str) -> u64 {
        let totals = self.tx.totals().0;
        totals.iter().find(|(n, _)| *n == name).expect("a total of this name").1 as u64
    }

    pub(crate) fn data(&self) -> impl Iterator<Item = &Passing> {
        self.log.iter().filter(|p| p.data)
    }

    pub(crate) fn acks(&self) -> impl Iterator<Item = &Passing> {
        self.log.iter().filter(|p| !p.forward && !p.segment.flags.syn)
    }

    pub(crate) fn retransmissions(&self) -> Vec<Passing> {
        self.data().filter(|p| p.copy > 0).copied().collect()
    }
}

/// Merges a range into disjoint, not adjacent, ranges.
fn insert(ranges: &mut BTreeMap<u64, u64>, mut from: u64, mut to: u64) {
    let touching: Vec<u64> =
        ranges.range(..=to).filter(|(_, end)| **end >= from).map(|(start, _)| *start).collect();
    for start in touching {
        let end = ranges.remove(&start).expect("it was just found");
        from = from.min(start);
        to = to.max(end);
    }
    ranges.insert(from, to);
}

pub(crate) const fn ms(n: u64) -> Dur {
    Dur::from_millis(n)
}

pub(crate) const fn at_ms(n: u64) -> Time {
    Time(n * 1_000_000)
}

/// Both ends with this ECN mode and this much to send.
pub(crate) fn config(ecn: Feedback, segments: impl Into<Option<u64>>) -> Config {
    Config { ecn, bytes: segments.into().map(|n: u64| n * MSS), ..Config::default() }
}
