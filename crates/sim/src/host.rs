//! Hosts: the end points of flows and pings, and the packets that they send.

use std::cell::Cell;

use sojourn_cc as cc;
use sojourn_cc::{Controller, Feedback};
use sojourn_core::{FlowId, Kind, Packet, Rng, Time};
use sojourn_scenario::{Flow, Measure, Ping, Scenario};
use sojourn_trace::{Frames, OneWay};
use sojourn_transport::app::exec::Absent;
use sojourn_transport::app::voip::Voice;
use sojourn_transport::app::{self, App, MediaFlow, Tcp};
use sojourn_transport::media::Encoder;
use sojourn_transport::ping::{Requester, Responder};
use sojourn_transport::tcp::{Config, Segment};
use sojourn_transport::{Body, Endpoint, Transmit, media, udp};

use crate::link::Hop;

/// One end of a flow.
pub(crate) struct End {
    pub(crate) endpoint: Box<dyn Endpoint>,
    /// Id of the packets that it sends.
    pub(crate) flow: FlowId,
    /// Where they go first.
    pub(crate) first: Hop,
    hash: u32,
    /// Hosts from which and to which its packets go.
    hosts: (u16, u16),
    /// What arrives of a one-way or media flow.
    pub(crate) arrivals: Option<Box<Arrivals>>,
}

/// The receiving side of a one-way or media flow.
pub(crate) struct Arrivals {
    /// Within each window, the main one first; its series are of the whole run.
    pub(crate) windows: Vec<Arrived>,
    /// How a listener judges them, if they are speech.
    pub(crate) voice: Option<Voice>,
}

/// What arrived within a window.
#[derive(Clone)]
pub(crate) struct Arrived {
    pub(crate) one_way: OneWay,
    /// Frames, if they are media.
    pub(crate) frames: Option<Frames>,
}

impl Arrivals {
    /// Nothing yet, in one window.
    fn of(frames: Option<Frames>, voice: Option<Voice>) -> Self {
        let windows = vec![Arrived { one_way: OneWay::default(), frames }];
        Self { windows, voice }
    }

    /// A packet arrives.
    pub(crate) fn record(&mut self, now: Time, body: &Body, scenario: &Scenario) {
        for (arrived, window) in self.windows.iter_mut().zip(scenario.all_windows()) {
            arrived.record(now, body, window);
        }
    }
}

impl Arrived {
    fn record(&mut self, now: Time, body: &Body, window: Measure) {
        let measured = |sent: Time| window.contains(sent);
        match body {
            Body::Udp(d) => {
                self.one_way.record(now, d.seq, d.sent, measured(d.sent));
            }
            Body::Media(media::Message::Data(d)) => {
                let first = self.one_way.record(now, d.number, d.sent, measured(d.sent));
                if let Some(frames) = self.frames.as_mut().filter(|_| first) {
                    frames.record(now, d.frame, d.packets, d.captured, measured(d.captured));
                }
            }
            _ => {}
        }
    }
}

impl End {
    /// The queue-visible packet of a transmission without the id of its header.
    pub(crate) fn packet(&self, tx: &Transmit) -> Packet {
        let (src, dst) = self.hosts;
        let mut packet = Packet {
            id: 0,
            flow: self.flow,
            hash: self.hash,
            len: tx.len,
            src,
            dst,
            tos: tx.tos,
            kind: tx.kind,
            ace: 0,
            segs: 1,
            stamp: Time::ZERO,
            ack: 0,
            sacked: 0,
        };
        match &tx.body {
            Body::Tcp(segment) => put_tcp(&mut packet, segment),
            Body::Frame(frame) => packet = Packet { flow: self.flow, src, dst, ..*frame.packet() },
            _ => {}
        }
        packet
    }
}

/// What queues look at in a segment.
#[inline]
fn put_tcp(packet: &mut Packet, segment: &Segment) {
    packet.ace = segment.ace;
    if packet.kind == Kind::TcpAck {
        let blocks = segment.sack.holes_above().iter();
        packet.ack = segment.ack as u32;
        packet.sacked = blocks.map(|(start, end)| end - start).sum::<u64>() as u32;
    }
    if segment.flags.syn {
        packet.set_syn(segment.flags.ack);
    }
    if segment.connection != 0 {
        packet.hash ^= spread(segment.connection);
    }
    if segment.gso_size > 0 {
        packet.segs = segment.segments() as u8;
    }
}

/// A bijection that spreads small numbers over all bits (the finaliser of MurmurHash3): different
/// connections of a flow have different hashes.
fn spread(mut n: u32) -> u32 {
    n = (n ^ (n >> 16)).wrapping_mul(0x85eb_ca6b);
    n = (n ^ (n >> 13)).wrapping_mul(0xc2b2_ae35);
    n ^ (n >> 16)
}

/// The two ends of flow number `index`: UDP for an application over UDP, for media and for a
/// controller that reads its receiver's counters, else TCP.
fn flow_ends(flow: &Flow, index: usize, seed: u64) -> [End; 2] {
    let stream = |part: &str| Rng::named(seed, &format!("flow.{}.{part}", flow.name));
    let app = flow.app.build();
    let pair = |ends| pair(&flow.name, index, seed, ends);
    if matches!(app, App::Exec { .. }) {
        return pair([Box::new(Absent), Box::new(Absent)]);
    }
    if let App::Media(media) = &app {
        let mut ends = pair(media_ends(flow, media, seed, stream("source")));
        ends[1].arrivals = Some(Box::new(Arrivals::of(Some(Frames::default()), None)));
        return ends;
    }
    let App::Udp(source) = &app else {
        let make = controllers(flow, seed);
        let controller = make();
        if controller.needs().feedback == Some(Feedback::Counters) {
            let config = udp::Config { tos: flow.tos, mtu: flow.tcp.mtu, bytes: flow.bytes };
            let sender = Box::new(udp::Sender::new(config, controller));
            return pair([sender, Box::new(udp::Receiver::new(config))]);
        }
        return pair(app::tcp_ends(&app, || tcp(flow, seed), &stream));
    };
    let sender = app::udp::Sender::new(source.as_ref(), flow.tos, stream("source"));
    let mut ends = pair([Box::new(sender), Box::new(app::udp::Receiver::default())]);
    ends[1].arrivals = Some(Box::new(Arrivals::of(None, source.voice())));
    ends
}

/// The two ends of a media flow: SCReAM's own, or those of the controllers that read reports.
fn media_ends(flow: &Flow, media: &MediaFlow, seed: u64, dice: Rng) -> [Box<dyn Endpoint>; 2] {
    if let Some(setup) = algorithm(flow).scream() {
        let sender = media::ScreamSender::new(setup, media, flow.tos, dice);
        let receiver = media::ScreamReceiver::new(setup, media.priorities.len(), flow.tos);
        return [Box::new(sender), Box::new(receiver)];
    }
    let Encoder::Video(params) = media.encoder else {
        unreachable!("the scenario has checked that SCReAM controls its tool's encoder")
    };
    let controller = controllers(flow, seed)();
    let receiver = media::Receiver::new(flow.tos, controller.report_interval());
    let sender = media::Sender::new(params, flow.tos, flow.tcp.mtu, controller, dice);
    [Box::new(sender), Box::new(receiver)]
}

fn algorithm(flow: &Flow) -> &cc::Spec {
    flow.cc.as_ref().expect("an application over TCP has a controller")
}

/// Makes the controllers of a flow's connections, each with a random stream of its own.
fn controllers(flow: &Flow, seed: u64) -> impl Fn() -> Box<dyn Controller> + Send + 'static {
    let cc = algorithm(flow).clone();
    let (flow, made) = (format!("flow.{}", flow.name), Cell::new(0));
    let stream = format!("{flow}.cc");
    move || {
        let number = made.replace(made.get() + 1);
        let name = if number == 0 { stream.clone() } else { format!("{stream}.{number}") };
        let mut controller = cc.build();
        controller.named(&flow);
        controller.seed(Rng::named(seed, &name));
        controller
    }
}

fn tcp(flow: &Flow, seed: u64) -> Tcp {
    let controller = controllers(flow, seed);
    let needs = algorithm(flow).needs();
    let Flow { tos, control_rtts, bytes, .. } = *flow;
    let config = Config { tos, control_rtts, bytes, ..flow.tcp.clone() };
    Tcp { config, controller: Box::new(controller), needs }
}

/// The two ends of a ping that is flow number `index`.
fn ping_ends(ping: &Ping, index: usize, seed: u64) -> [End; 2] {
    let kind = if ping.udp { Kind::Udp } else { Kind::Icmp };
    let requester = Requester::new(kind, ping.interval, ping.tos, ping.size);
    let responder = Responder::new(kind, ping.tos, ping.size);
    pair(&ping.name, index, seed, [Box::new(requester), Box::new(responder)])
}

fn pair(name: &str, index: usize, seed: u64, [opener, peer]: [Box<dyn Endpoint>; 2]) -> [End; 2] {
    let mut hashes = Rng::named(seed, &format!("flow.{name}.hash"));
    let flow = FlowId(2 * index as u32);
    let mut end = |endpoint, flow| End {
        endpoint,
        flow,
        first: Hop::End(u32::MAX),
        hash: hashes.u32(),
        hosts: (0, 0),
        arrivals: None,
    };
    [end(opener, flow), end(peer, flow.reversed())]
}

/// Flows and pings together, in the order that numbers them.
pub(crate) fn ends(scenario: &Scenario) -> Vec<End> {
    let flows = scenario.flows.iter().enumerate();
    let flows = flows.flat_map(|(i, f)| flow_ends(f, i, scenario.seed));
    let offset = scenario.flows.len();
    let pings = scenario.pings.iter().enumerate();
    let pings = pings.flat_map(|(i, p)| ping_ends(p, offset + i, scenario.seed));
    let mut ends: Vec<End> = flows.chain(pings).collect();
    for arrivals in ends.iter_mut().filter_map(|end| end.arrivals.as_mut()) {
        let first = arrivals.windows[0].clone();
        arrivals.windows.resize(1 + scenario.windows.len(), first);
    }
    for (borrower, flow) in scenario.flows.iter().enumerate() {
        if let Some(lender) = flow.hash_of {
            for direction in 0..2 {
                ends[2 * borrower + direction].hash = ends[2 * lender + direction].hash;
            }
        }
    }
    for (end, hosts) in ends.iter_mut().zip(hosts(scenario)) {
        end.hosts = hosts;
    }
    ends
}

/// The hosts from which and to which each end sends. In a graph each node at which a path begins or ends
/// is a host, numbered as in [`Scenario::hosts`]; in a chain all paths are between the same two.
pub fn hosts(scenario: &Scenario) -> Vec<(u16, u16)> {
    let hosts = scenario.hosts();
    let flows = scenario.flows.iter().map(|flow| (flow.path(), flow.opens_far));
    let paths = flows.chain(scenario.pings.iter().map(|ping| (&ping.paths[0], false)));
    let mut numbers = vec![0; scenario.nodes.len()];
    for (number, node) in hosts.iter().enumerate() {
        numbers[*node] = number as u16;
    }
    let pair = |(path, opens_far)| {
        let [near, far] = match scenario.ends(path) {
            Some(nodes) => nodes.map(|node| numbers[node]),
            None => [0, 1],
        };
        let (opener, peer) = if opens_far { (far, near) } else { (near, far) };
        [(opener, peer), (peer, opener)]
    };
    paths.flat_map(pair).collect()
}
