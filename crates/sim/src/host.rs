//! Hosts: the end points of flows and pings, and the packets that they send.

use sojourn_core::cc::Feedback;
use sojourn_core::{Ecn, FlowId, Kind, Packet, Rng, cc};
use sojourn_scenario::{EcnMode, Flow, Ping, Scenario};
use sojourn_transport::ping::{Requester, Responder};
use sojourn_transport::tcp::{Config, Receiver, Sender};
use sojourn_transport::{Body, Endpoint, Transmit};

use crate::kernel::kernel;
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
            Body::Icmp(_) => (0, 0, 0),
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

/// The two ends of TCP flow number `index`.
pub(crate) fn tcp_ends(flow: &Flow, index: usize, seed: u64) -> [End; 2] {
    let controller = cc::build(&flow.cc).expect("the scenario has built it once");
    let ack_codepoint = controller.needs().codepoint.unwrap_or(Ecn::Ect0);
    let config = Config {
        kernel: kernel(&flow.tcp),
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
    let pings = pings.flat_map(|(i, p)| ping_ends(p, offset + i, scenario.seed));
    let mut ends: Vec<End> = tcp.chain(pings).collect();
    for (borrower, flow) in scenario.flows.iter().enumerate() {
        if let Some(lender) = flow.hash_of {
            for direction in 0..2 {
                ends[2 * borrower + direction].hash = ends[2 * lender + direction].hash;
            }
        }
    }
    ends
}
