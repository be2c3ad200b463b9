//! Hosts: the end points of flows and pings, and the slab that holds the headers of packets in
//! the network.

use sojourn_core::cc::Feedback;
use sojourn_core::{Ecn, FlowId, Kind, Packet, Rng, cc};
use sojourn_scenario::{EcnMode, Flow, Ping, Scenario};
use sojourn_transport::ping::{Requester, Responder};
use sojourn_transport::tcp::{Config, Receiver, Sender};
use sojourn_transport::{Body, Endpoint, Transmit};

use crate::link::Hop;

/// One end of a flow.
pub(crate) struct End {
    pub(crate) endpoint: Box<dyn Endpoint>,
    /// Id of the packets that it sends.
    pub(crate) flow: FlowId,
    /// Where they go first.
    pub(crate) first: Hop,
    hash: u32,
}

/// Headers of packets in the network, reused without allocation once warm.
#[derive(Default)]
pub(crate) struct Slab {
    bodies: Vec<Body>,
    /// Duplicates in the network beside the first packet with this body.
    shares: Vec<u32>,
    shared: usize,
    free: Vec<u32>,
}

impl Slab {
    fn store(&mut self, body: Body) -> u32 {
        if let Some(id) = self.free.pop() {
            self.bodies[id as usize] = body;
            return id;
        }
        self.bodies.push(body);
        self.shares.push(0);
        (self.bodies.len() - 1) as u32
    }

    pub(crate) fn get(&self, id: u32) -> &Body {
        &self.bodies[id as usize]
    }

    /// One more packet carries this body.
    pub(crate) fn share(&mut self, id: u32) {
        self.shares[id as usize] += 1;
        self.shared += 1;
    }

    /// One packet with this body is gone; with the last one goes the body.
    pub(crate) fn release(&mut self, id: u32) {
        let shares = &mut self.shares[id as usize];
        if *shares == 0 {
            self.free.push(id);
        } else {
            *shares -= 1;
            self.shared -= 1;
        }
    }

    /// Packets in the network.
    pub(crate) fn live(&self) -> usize {
        self.bodies.len() - self.free.len() + self.shared
    }

    /// The queue-visible packet of a transmission of `end`.
    pub(crate) fn packet(&mut self, end: &End, tx: &Transmit) -> Packet {
        let (ace, ack, sacked) = match &tx.body {
            Body::Tcp(s) if tx.kind == Kind::TcpAck => {
                let sacked: u64 = s.sack.holes_above().iter().map(|(a, b)| b - a).sum();
                (s.ace, s.ack as u32, sacked as u32)
            }
            Body::Tcp(s) => (s.ace, 0, 0),
            Body::Icmp(_) => (0, 0, 0),
        };
        let (src, dst) = if end.flow.is_forward() { (0, 1) } else { (1, 0) };
        Packet {
            id: self.store(tx.body),
            flow: end.flow,
            hash: end.hash,
            len: tx.len,
            src,
            dst,
            tos: tx.tos,
            kind: tx.kind,
            ace,
            segs: 1,
            stamp: sojourn_core::Time::ZERO,
            ack,
            sacked,
        }
    }
}

/// The two ends of TCP flow number `index`.
pub(crate) fn tcp_ends(flow: &Flow, index: usize, seed: u64) -> [End; 2] {
    let controller = cc::build(&flow.cc).expect("the scenario has built it once");
    let ack_codepoint = controller.needs().codepoint.unwrap_or(Ecn::Ect0);
    let config = Config {
        ecn: match flow.tcp.ecn {
            EcnMode::Off => Feedback::None,
            EcnMode::Rfc3168 => Feedback::Rfc3168,
            EcnMode::AccEcn => Feedback::AccEcn,
        },
        tos: flow.tos,
        mtu: flow.tcp.mtu,
        timestamps: flow.tcp.timestamps,
        initial_cwnd: flow.tcp.initial_cwnd,
        rmem_default: flow.tcp.rmem_default,
        rmem_max: flow.tcp.rmem_max,
        wmem_max: flow.tcp.wmem_max,
        pacing_ss_ratio: flow.tcp.pacing_ss_ratio,
        pacing_ca_ratio: flow.tcp.pacing_ca_ratio,
        pacing: flow.tcp.pacing,
        accecn_option: flow.tcp.accecn_option,
        hz: flow.tcp.hz,
        control_rtts: flow.control_rtts,
        bytes: flow.bytes,
    };
    pair(
        &flow.name,
        index,
        seed,
        Box::new(Sender::new(config.clone(), controller)),
        Box::new(Receiver::new(config, ack_codepoint)),
    )
}

/// The two ends of a ping that is flow number `index`.
pub(crate) fn ping_ends(ping: &Ping, index: usize, seed: u64) -> [End; 2] {
    pair(
        &ping.name,
        index,
        seed,
        Box::new(Requester::new(ping.interval, ping.tos, ping.size)),
        Box::new(Responder::new(ping.tos, ping.size)),
    )
}

fn pair(
    name: &str,
    index: usize,
    seed: u64,
    opener: Box<dyn Endpoint>,
    peer: Box<dyn Endpoint>,
) -> [End; 2] {
    let mut hashes = Rng::named(seed, &format!("flow.{name}.hash"));
    let flow = FlowId(2 * index as u32);
    let mut end =
        |endpoint, flow| End { endpoint, flow, first: Hop::End(u32::MAX), hash: hashes.u32() };
    [end(opener, flow), end(peer, flow.reversed())]
}

/// Flows and pings together, in the order that numbers them.
pub(crate) fn ends(scenario: &Scenario) -> Vec<End> {
    let flows = scenario.flows.iter().enumerate();
    let tcp = flows.flat_map(|(i, f)| tcp_ends(f, i, scenario.seed));
    let offset = scenario.flows.len();
    let pings = scenario.pings.iter().enumerate();
    tcp.chain(pings.flat_map(|(i, p)| ping_ends(p, offset + i, scenario.seed))).collect()
}
