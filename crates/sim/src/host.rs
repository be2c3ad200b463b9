//! Hosts: the end points of flows and pings, and the packets that they send.

use sojourn_core::cc::{Controller, Feedback};
use sojourn_core::{FlowId, Kind, Packet, Rng, cc};
use sojourn_scenario::{EcnMode, Flow, Ping, SceMode, Scenario};
use sojourn_transport::ping::{Requester, Responder};
use sojourn_transport::tcp::{Config, Receiver, SceFeedback, Sender};
use sojourn_transport::{Body, Endpoint, Transmit, udp};

use crate::link::Hop;
use crate::slab::Slab;

/// One end of a flow.
pub(crate) struct End {
    pub(crate) endpoint: Box<dyn Endpoint>,
    /// Id of the packets that it sends.
    pub(crate) flow: FlowId,
    /// Where they go first.
    pub(crate) first: Hop,
    hash: u32,
}

impl End {
    /// The queue-visible packet of a transmission; its header goes into `slab`.
    pub(crate) fn packet(&self, tx: &Transmit, slab: &mut Slab) -> Packet {
        let (ace, ack, sacked) = match &tx.body {
            Body::Tcp(s) if tx.kind == Kind::TcpAck => {
                let sacked: u64 = s.sack.holes_above().iter().map(|(a, b)| b - a).sum();
                (s.ace, s.ack as u32, sacked as u32)
            }
            Body::Tcp(s) => (s.ace, 0, 0),
            Body::Icmp(_) | Body::Udp(_) => (0, 0, 0),
        };
        let (src, dst) = if self.flow.is_forward() { (0, 1) } else { (1, 0) };
        let mut packet = Packet {
            id: slab.store(tx.body),
            flow: self.flow,
            hash: self.hash,
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
        };
        if let Body::Tcp(segment) = &tx.body
            && segment.flags.syn
        {
            packet.set_syn(segment.flags.ack);
        }
        packet
    }
}

/// The two ends of flow number `index`: UDP for a controller that reads its counters, else TCP.
fn flow_ends(flow: &Flow, index: usize, seed: u64) -> [End; 2] {
    let mut controller = cc::build(&flow.cc).expect("the scenario has built it once");
    controller.seed(Rng::named(seed, &format!("flow.{}.cc", flow.name)));
    if controller.needs().feedback == Some(Feedback::Counters) {
        udp_ends(flow, index, seed, controller)
    } else {
        tcp_ends(flow, index, seed, controller)
    }
}

fn udp_ends(flow: &Flow, index: usize, seed: u64, controller: Box<dyn Controller>) -> [End; 2] {
    let config = udp::Config { tos: flow.tos, mtu: flow.tcp.mtu, bytes: flow.bytes };
    pair(
        &flow.name,
        index,
        seed,
        Box::new(udp::Sender::new(config, controller)),
        Box::new(udp::Receiver::new(config)),
    )
}

fn tcp_ends(flow: &Flow, index: usize, seed: u64, controller: Box<dyn Controller>) -> [End; 2] {
    let needs = controller.needs();
    let config = Config {
        ecn: match flow.tcp.ecn {
            EcnMode::Off => Feedback::None,
            EcnMode::Rfc3168 => Feedback::Rfc3168,
            EcnMode::AccEcn => Feedback::AccEcn,
            EcnMode::Dctcp => Feedback::Dctcp,
            EcnMode::Sce => Feedback::Sce,
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
        ecn_unsafe_cep: flow.tcp.ecn_unsafe_cep,
        sce_feedback: match flow.tcp.sce_feedback {
            SceMode::Advanced => SceFeedback::Advanced,
            SceMode::Dithered => SceFeedback::Dithered,
        },
        ecn_plus_plus: flow.tcp.ecn_plus_plus,
        hz: flow.tcp.hz,
        control_rtts: flow.control_rtts,
        bytes: flow.bytes,
    };
    pair(
        &flow.name,
        index,
        seed,
        Box::new(Sender::new(config.clone(), controller)),
        Box::new(Receiver::new(config, needs)),
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
    let flows = flows.flat_map(|(i, f)| flow_ends(f, i, scenario.seed));
    let offset = scenario.flows.len();
    let pings = scenario.pings.iter().enumerate();
    let pings = pings.flat_map(|(i, p)| ping_ends(p, offset + i, scenario.seed));
    let mut ends: Vec<End> = flows.chain(pings).collect();
    for (borrower, flow) in scenario.flows.iter().enumerate() {
        if let Some(lender) = flow.hash_of {
            for direction in 0..2 {
                ends[2 * borrower + direction].hash = ends[2 * lender + direction].hash;
            }
        }
    }
    ends
}
