//! Which flow a packet belongs to: a table of the ends of all flows, in the order of their first packets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sojourn_capture::layers::{Tunnel, TunnelKind};
use sojourn_wire::options::Options as TcpOptions;
use sojourn_wire::{Addresses, Ip, ip};

use crate::events::Events;
use crate::report::{self, End, Protocol, Report};
use crate::{Budget, Options, Packet, datagrams, diagnose, family, tcp};

/// Slots that are looked at before a flow counts as one too many: a table that is half full has such a run by
/// design of whoever wrote the capture, and by chance never.
const LONGEST_PROBE: usize = 256;
const FREE: u32 = u32::MAX;

/// The ends of a flow, the lower one first, so that both directions have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    low: u128,
    high: u128,
    /// Port of the lower end (16 bits), of the other one (16), protocol (8), whether this is IPv6 (8).
    rest: u64,
}

impl Key {
    #[inline]
    fn new(
        [source, destination]: [(u128, u16); 2],
        from_low: bool,
        protocol: u8,
        v6: bool,
    ) -> Self {
        let (low, high) = if from_low { (source, destination) } else { (destination, source) };
        let rest = u64::from(low.1) << 32
            | u64::from(high.1) << 16
            | u64::from(protocol) << 8
            | u64::from(v6);
        Self { low: low.0, high: high.0, rest }
    }

    /// Of a packet, and whether its source is the lower end.
    #[inline]
    fn of(ip: &Ip<'_>, payload: &[u8]) -> (Self, bool) {
        let (source_port, destination_port) = ports(ip.protocol, payload);
        let from_low;
        let key = match ip.addresses() {
            Addresses::V4 { source, destination } => {
                let (source, destination) = (source.to_bits(), destination.to_bits());
                let end = |address: u32, port: u16| u64::from(address) << 16 | u64::from(port);
                from_low = end(source, source_port) <= end(destination, destination_port);
                let ends = [(source.into(), source_port), (destination.into(), destination_port)];
                Self::new(ends, from_low, ip.protocol, false)
            }
            Addresses::V6 { source, destination } => {
                let (source, destination) = (source.to_bits(), destination.to_bits());
                from_low = (source, source_port) <= (destination, destination_port);
                let ends = [(source, source_port), (destination, destination_port)];
                Self::new(ends, from_low, ip.protocol, true)
            }
        };
        (key, from_low)
    }

    /// The same for the same packets on every machine. Each step multiplies to 128 bits and adds both halves.
    fn hash(&self) -> u64 {
        const ODD: [u64; 3] = [0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93, 0xa076_1d64_78bd_642f];
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            (product as u64) ^ (product >> 64) as u64
        };
        let mut hash = fold(self.rest ^ ODD[0], ODD[1]);
        hash = fold(hash ^ self.low as u64, ODD[2] ^ (self.high as u64).rotate_left(32));
        if self.is_v6() {
            hash = fold(hash ^ (self.low >> 64) as u64, ODD[0] ^ (self.high >> 64) as u64);
        }
        fold(hash ^ ODD[2], ODD[1])
    }

    fn is_v6(&self) -> bool {
        self.rest & 1 != 0
    }

    fn protocol(&self) -> u8 {
        (self.rest >> 8) as u8
    }

    /// Of the lower end, and of the other one.
    fn ports(&self) -> (u16, u16) {
        ((self.rest >> 32) as u16, (self.rest >> 16) as u16)
    }

    fn end(&self, low: bool) -> End {
        let (bits, port) =
            if low { (self.low, self.ports().0) } else { (self.high, self.ports().1) };
        let address = if self.is_v6() {
            IpAddr::V6(Ipv6Addr::from_bits(bits))
        } else {
            IpAddr::V4(Ipv4Addr::from_bits(bits as u32))
        };
        End { address, port }
    }
}

/// Source and destination port; of ICMP's echo twice its identifier, so that each ping is a flow; else none.
fn ports(protocol: u8, payload: &[u8]) -> (u16, u16) {
    let word = |at: usize| u16::from_be_bytes([payload[at], payload[at + 1]]);
    match protocol {
        // TCP, UDP, DCCP, SCTP, UDP-Lite: each begins with its ports.
        6 | 17 | 33 | 132 | 136 if payload.len() >= 4 => (word(0), word(2)),
        ip::ICMP if payload.len() >= 6 && matches!(payload[0], 0 | 8) => (word(4), word(4)),
        ip::ICMPV6 if payload.len() >= 6 && matches!(payload[0], 128 | 129) => (word(4), word(4)),
        _ => (0, 0),
    }
}

/// What a flow keeps, by its protocol.
#[derive(Clone, Debug)]
enum State {
    Tcp(tcp::Flow),
    Datagrams(Box<datagrams::Flow>),
}

#[derive(Clone, Debug)]
pub(crate) struct Flow {
    key: Key,
    /// Its lower end opened it.
    low_opened: bool,
    first: u64,
    last: u64,
    packets: u64,
    tunnel: Option<Box<Carried>>,
    state: State,
}

/// What packets were carried in.
#[derive(Clone, Debug)]
struct Carried {
    kind: TunnelKind,
    ect_hidden: u64,
    outer_ce: u64,
}

impl Carried {
    #[inline]
    fn packet(&mut self, tunnel: Tunnel, inner: sojourn_core::Ecn) {
        use sojourn_core::Ecn::{Ce, NotEct};
        self.ect_hidden += u64::from(inner != NotEct && tunnel.outer == NotEct);
        self.outer_ce += u64::from(tunnel.outer == Ce && inner != Ce);
    }

    fn report(&self) -> report::Tunnel {
        report::Tunnel {
            kind: format!("{:?}", self.kind).to_lowercase(),
            ect_hidden: self.ect_hidden,
            outer_ce: self.outer_ce,
        }
    }
}

impl Flow {
    /// Takes a packet of the flow.
    pub(crate) fn packet(
        &mut self,
        packet: &Packet<'_>,
        segment: Option<&(tcp::Segment, Option<TcpOptions>)>,
        tunnel: Option<Tunnel>,
        budget: &mut Budget,
    ) {
        self.first = self.first.min(packet.at);
        self.last = self.last.max(packet.at);
        self.packets += 1;
        if let Some(tunnel) = tunnel {
            let carried = Carried { kind: tunnel.kind, ect_hidden: 0, outer_ce: 0 };
            self.tunnel.get_or_insert_with(|| Box::new(carried)).packet(tunnel, packet.ecn);
        }
        match (&mut self.state, segment) {
            (State::Tcp(tcp), Some((segment, options))) => {
                tcp.segment(segment, options.as_ref(), budget);
            }
            (State::Datagrams(datagrams), _) => datagrams.packet(self.key.protocol(), packet),
            (State::Tcp(_), None) => unreachable!("the protocol is part of the key"),
        }
    }

    fn report(self, budget: &mut Budget) -> (report::Flow, Events) {
        let mut flow = report::Flow {
            protocol: Protocol::Other,
            opener: self.key.end(self.low_opened),
            peer: self.key.end(!self.low_opened),
            start_s: self.first as f64 / 1e9,
            end_s: self.last as f64 / 1e9,
            packets_not_analysed: 0,
            tunnel: self.tunnel.as_deref().map(Carried::report),
            forward: report::Direction::default(),
            backward: report::Direction::default(),
            tcp: None,
            media: None,
            quic: None,
            family: None,
            diagnoses: Vec::new(),
        };
        let events = match self.state {
            State::Tcp(tcp) => tcp.report(budget, &mut flow),
            State::Datagrams(datagrams) => datagrams.report(self.key.protocol(), &mut flow),
        };
        flow.family = family::answer(&flow);
        flow.diagnoses = diagnose::flow(&flow);
        (flow, events)
    }
}

/// A place of the index.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Bits of the hash that do not choose the slot.
    tag: u32,
    /// Which flow, or [`FREE`].
    flow: u32,
}

/// All flows, and an index of the latest of each key: open addressing, at most half full.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    slots: Vec<Slot>,
    flows: Vec<Flow>,
    most: usize,
}

/// Where a packet belongs.
pub(crate) enum Found<'a> {
    /// Its flow, and whether it is from the opener.
    Flow { flow: &'a mut Flow, forward: bool },
    /// There are too many flows.
    Full,
}

impl Table {
    pub(crate) fn new(most: usize) -> Self {
        let most = most.min(FREE as usize - 1);
        Self { slots: vec![Slot { tag: 0, flow: FREE }; 1024], flows: Vec::new(), most }
    }

    /// The flow of a packet, which may be its first.
    #[inline]
    pub(crate) fn find(
        &mut self,
        ip: &Ip<'_>,
        packet: &Packet<'_>,
        segment: Option<&tcp::Segment>,
    ) -> Found<'_> {
        let (key, from_low) = Key::of(ip, packet.payload);
        let hash = key.hash();
        let Some(slot) = self.slot(&key, hash) else { return Found::Full };
        let mut at = self.slots[slot].flow;
        let begins_another = at != FREE
            && segment.is_some_and(|segment| match &self.flows[at as usize].state {
                State::Tcp(tcp) => tcp.is_over(segment),
                State::Datagrams(_) => false,
            });
        if at == FREE || begins_another {
            if self.flows.len() >= self.most {
                return Found::Full;
            }
            at = self.flows.len() as u32;
            self.slots[slot] = Slot { tag: (hash >> 32) as u32, flow: at };
            self.open(key, from_low, packet.at, segment);
        }
        let flow = &mut self.flows[at as usize];
        Found::Flow { forward: from_low == flow.low_opened, flow }
    }

    /// Appends the flow of a key's first packet.
    #[cold]
    fn open(&mut self, key: Key, from_low: bool, at: u64, segment: Option<&tcp::Segment>) {
        let (low, high) = key.ports();
        let ports = if from_low { (low, high) } else { (high, low) };
        let from_opener = segment.is_none_or(|segment| segment.is_from_opener(ports));
        let state = if key.protocol() == ip::TCP {
            State::Tcp(tcp::Flow::default())
        } else {
            State::Datagrams(Box::default())
        };
        let (first, last) = (at, at);
        let low_opened = from_low == from_opener;
        self.flows.push(Flow { key, low_opened, first, last, packets: 0, tunnel: None, state });
        self.grow();
    }

    /// Where the key is, or could be.
    #[inline]
    fn slot(&self, key: &Key, hash: u64) -> Option<usize> {
        let (mask, tag) = (self.slots.len() - 1, (hash >> 32) as u32);
        (0..LONGEST_PROBE).map(|step| (hash as usize + step) & mask).find(|&at| {
            let slot = self.slots[at];
            slot.flow == FREE || (slot.tag == tag && self.flows[slot.flow as usize].key == *key)
        })
    }

    /// Keeps the index at most half full.
    fn grow(&mut self) {
        if self.flows.len() * 2 <= self.slots.len() {
            return;
        }
        let free = vec![Slot { tag: 0, flow: FREE }; self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, free);
        for slot in old.into_iter().filter(|slot| slot.flow != FREE) {
            let key = self.flows[slot.flow as usize].key;
            if let Some(at) = self.slot(&key, key.hash()) {
                self.slots[at] = slot;
            }
        }
    }

    /// Writes all flows, or those of most packets, into the report.
    pub(crate) fn report(mut self, options: &Options, mut budget: Budget, report: &mut Report) {
        self.slots = Vec::new();
        // Flows with more packets than `least` are listed, and the first ones with as many.
        let (mut least, mut with_least) = (0, options.max_listed);
        if self.flows.len() > options.max_listed {
            let mut packets: Vec<u64> = self.flows.iter().map(|flow| flow.packets).collect();
            let at = (packets.len() - options.max_listed).min(packets.len() - 1);
            least = *packets.select_nth_unstable(at).1;
            with_least -= packets.iter().filter(|n| **n > least).count().min(with_least);
        }
        for flow in self.flows {
            let is_listed = options.max_listed > 0 && flow.packets > least
                || (flow.packets == least && with_least > 0);
            if !is_listed {
                report.packets_of_unlisted_flows += flow.packets;
                continue;
            }
            with_least -= usize::from(flow.packets == least);
            let (flow, events) = flow.report(&mut budget);
            report.flows.push(flow);
            if options.events {
                report.events.push(events);
            }
        }
        family::only_where_peers_are_heard(&mut report.flows);
    }
}

#[cfg(test)]
mod tests;
