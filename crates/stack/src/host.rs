//! What a host does with packets and time. It has no clock: [`Host::run`] gives it one.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use sojourn_core::{Ecn, Kind, Rng, Time};
use sojourn_live::device::Device;
use sojourn_live::lateness::Lateness;
use sojourn_live::tun::Written;
use sojourn_scenario::Scenario;
use sojourn_sim::{Ends, Item, agenda};
use sojourn_transport::tcp::{Arrival, Segment};
use sojourn_transport::{Body, Datagram, Echo, Endpoint, Transmit};
use sojourn_wire::segment::{Unreadable, refuse};
use sojourn_wire::{Addresses, Ip, icmp, ip, tcp, udp};

use crate::absent::Absent;
use crate::seat::{Accepts, Place, RESPONSES, Seat, accepts, answers, lacks, number, port};
use crate::socket::{Key, Name};
use crate::sockets::Sockets;

/// Bytes of the largest packet.
pub(crate) const LARGEST: usize = 65_600;
/// Ethernet header: end points count it.
const L2_HEADER: usize = 14;
/// What the header of IPv6 is larger than that of IPv4, for which end points reckon their MTU.
const V6_EXCESS: u32 = 20;

/// Why there is no host, or it ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// End points that exist only in the simulator.
    #[error(
        "flow.{flow}: {what} has no packets on the wire; expected a flow over TCP, UDP or a ping"
    )]
    Unreal {
        /// The flow.
        flow: String,
        /// What of it.
        what: String,
    },
    /// A seat that cannot be.
    #[error(
        "end point {0}: expected one of the scenario's, one of the devices, and a port below 65536"
    )]
    Seat(usize),
    /// A device failed.
    #[error("device: {0}")]
    Device(#[source] io::Error),
}

/// Packets of a device, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// For an end point.
    pub delivered: u64,
    /// Of no connection; a TCP segment was answered with a reset.
    pub strays: u64,
    /// Neither IP nor whole, or with a wrong checksum.
    pub corrupt: u64,
    /// Of a connection, but not possible at its state.
    pub outside: u64,
    /// Connections that the peer refused or reset.
    pub resets: u64,
    /// Echo requests, which were answered.
    pub echoed: u64,
    /// Written to the device.
    pub sent: u64,
    /// Not taken by the device.
    pub refused: u64,
    /// Not written: no room in the packet for what its receiver needs, or no connection any more.
    pub unsent: u64,
}

/// A device and what it has carried.
pub struct Side {
    device: Arc<dyn Device>,
    pub(crate) counts: Counts,
}

impl Side {
    pub(crate) fn device(&self) -> &dyn Device {
        self.device.as_ref()
    }

    fn send(&mut self, packet: &[u8], failure: &mut Option<io::Error>) {
        match self.device.send(packet) {
            Ok(Written::Taken) => self.counts.sent += 1,
            Ok(_) => self.counts.refused += 1,
            Err(error) => *failure = Some(error),
        }
    }
}

/// End points of a scenario on one or more devices.
pub struct Host {
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) ends: Ends,
    /// By end point; none for those elsewhere.
    places: Vec<Option<Place>>,
    /// When each end point has something to do.
    due: Vec<Time>,
    /// UDP ports of end points.
    ports: BTreeMap<(usize, u16), usize>,
    agenda: Vec<(Time, Item)>,
    agenda_at: usize,
    sample_at: Time,
    sockets: Sockets,
    pub(crate) sides: Vec<Side>,
    /// A packet to be sent.
    packet: Vec<u8>,
    pub(crate) lateness: Lateness,
    failure: Option<io::Error>,
}

impl Host {
    /// The end points of `scenario` that have a seat, at these devices.
    ///
    /// # Errors
    /// End points without a form on the wire; a seat that cannot be.
    pub fn new(
        scenario: &Scenario,
        seats: &[Seat],
        devices: Vec<Arc<dyn Device>>,
    ) -> Result<Self, Error> {
        let mut scenario = scenario.clone();
        let count = 2 * (scenario.flows.len() + scenario.pings.len());
        let mut sockets = Sockets::new(Rng::named(scenario.seed, "stack"));
        let mut places: Vec<Option<Place>> = (0..count).map(|_| None).collect();
        let mut ports = BTreeMap::new();
        for &Seat { end, device, addresses } in seats {
            let is_possible = end < count && device < devices.len() && places[end].is_none();
            let port = port(end).filter(|_| is_possible).ok_or(Error::Seat(end))?;
            if let Some(what) = lacks(&scenario, end / 2) {
                return Err(Error::Unreal { flow: scenario.flows[end / 2].name.clone(), what });
            }
            let opens = end.is_multiple_of(2);
            let free = opens.then(|| sockets.free_port(device, port)).flatten();
            let own = free.unwrap_or(port);
            ports.insert((device, own), end);
            let accepts = match (opens, answers(&scenario, end / 2)) {
                (true, false) => Accepts::Nothing,
                (true, true) => Accepts::One,
                (false, _) => accepts(&scenario, end / 2),
            };
            let mut counts_departures = false;
            if let Some(flow) = scenario.flows.get_mut(end / 2) {
                flow.control_rtts = 0;
                counts_departures = flow.tcp.tsq;
            }
            places[end] = Some(Place {
                device,
                addresses,
                port: own,
                peer_port: port,
                accepts,
                counts_departures,
            });
        }
        for (n, flow) in scenario.flows.iter_mut().enumerate() {
            let is_v6 = |place: &Place| matches!(place.addresses, Addresses::V6 { .. });
            if places[2 * n..2 * n + 2].iter().flatten().any(is_v6) {
                flow.tcp.mtu -= V6_EXCESS;
            }
        }
        let scenario = Arc::new(scenario);
        let ends = Ends::with_outside(Arc::clone(&scenario), |end| {
            places[end].is_none().then(|| Box::new(Absent) as Box<dyn Endpoint>)
        });
        let is_here = |item: &Item| match *item {
            Item::Start(n) | Item::Stop(n) => places[2 * n].is_some(),
            Item::Change(_) => false,
        };
        let mut agenda = agenda(&scenario);
        agenda.retain(|(_, item)| is_here(item));
        let side = |device| Side { device, counts: Counts::default() };
        Ok(Self {
            ends,
            due: vec![Time::NEVER; count],
            places,
            ports,
            agenda,
            agenda_at: 0,
            sample_at: Time::ZERO,
            sockets,
            sides: devices.into_iter().map(side).collect(),
            packet: vec![0; LARGEST],
            lateness: Lateness::default(),
            failure: None,
            scenario,
        })
    }

    /// When it has something to do without a packet.
    pub fn due(&self) -> Time {
        let agenda = self.agenda.get(self.agenda_at).map_or(Time::NEVER, |(at, _)| *at);
        let ends = self.due.iter().copied().min().unwrap_or(Time::NEVER);
        ends.min(agenda).min(self.sample_at).min(self.sockets.due())
    }

    /// Does what is due until `now`.
    pub fn advance(&mut self, now: Time) {
        while let Some(&(at, item)) = self.agenda.get(self.agenda_at).filter(|(at, _)| *at <= now) {
            self.agenda_at += 1;
            self.lateness.record(now.since(at));
            match item {
                Item::Start(n) => self.with(now, 2 * n, |end| end.start(now)),
                Item::Stop(n) => self.with(now, 2 * n, |end| end.stop(now)),
                Item::Change(_) => {}
            }
        }
        for end in 0..self.due.len() {
            if self.due[end] <= now {
                self.lateness.record(now.since(self.due[end]));
                self.with(now, end, |end| {
                    if end.deadline() <= now {
                        end.on_timer(now);
                    }
                });
            }
        }
        while let Some(id) = self.sockets.next_due(now) {
            self.attend(now, id);
        }
        while self.sample_at <= now {
            self.ends.sample(self.sample_at);
            self.sample_at += self.scenario.step;
        }
    }

    /// Why a device failed, if one has.
    pub(crate) fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// Has `act` act on an end point, and sends what it then has to send.
    fn with(&mut self, now: Time, end: usize, act: impl FnOnce(&mut dyn Endpoint)) {
        act(self.ends.get(end));
        self.poll(now, end);
    }

    fn poll(&mut self, now: Time, end: usize) {
        while let Some(tx) = self.ends.get(end).poll(now) {
            self.send(now, end, &tx);
        }
        self.due[end] = self.ends.get(end).deadline();
    }

    // ---- sending --------------------------------------------------------------------------

    fn send(&mut self, now: Time, end: usize, tx: &Transmit) {
        let Some(place) = &self.places[end] else { return };
        let Place { device, addresses, port, peer_port, .. } = *place;
        let side = &mut self.sides[device];
        let udp = |id: u64| udp::Header {
            addresses,
            source: port,
            destination: peer_port,
            tos: tx.tos,
            id: id as u16,
        };
        let out = &mut self.packet;
        let len = (tx.len as usize).saturating_sub(L2_HEADER + addresses.header_len());
        let written = match &tx.body {
            Body::Tcp(segment) => return self.send_tcp(now, end, *segment, tx.tos),
            Body::Udp(datagram) => udp(datagram.seq).write_datagram(datagram, out),
            &Body::Icmp(Echo { seq, sent }) if tx.kind == Kind::Udp => {
                let bytes = len.saturating_sub(udp::HEADER_BYTES) as u32;
                let datagram = Datagram { seq: seq.into(), sent, bytes };
                udp(seq.into()).write_datagram(&datagram, out)
            }
            Body::Icmp(echo) => {
                // Pings count from 1.
                let ping = end / 2 - self.scenario.flows.len();
                let (identifier, seq) = (1 + ping as u16, echo.seq as u16);
                let header =
                    icmp::Header { addresses, is_reply: false, identifier, seq, tos: tx.tos };
                header.write_echo(echo, len.saturating_sub(icmp::HEADER_BYTES), out)
            }
            Body::Counted(_) | Body::Media(_) | Body::Frame(_) => {
                unreachable!("`lacks` has refused those that send them")
            }
        };
        match written {
            Some(packet) => side.send(packet, &mut self.failure),
            None => side.counts.unsent += 1,
        }
    }

    fn send_tcp(&mut self, now: Time, end: usize, mut segment: Segment, tos: u8) {
        let name = (end, segment.connection, segment.flags.response);
        let Some(id) = self.sockets.of_name(name).or_else(|| self.open(name, &segment)) else {
            self.count(end, |counts| counts.unsent += 1);
            return;
        };
        if let Some(socket) = self.sockets.get(id) {
            socket.on_departure(now, &mut segment, tos);
        }
        if segment.gso_size > 0 {
            for index in 0..segment.segments() {
                self.write(id, &segment.split(index), tos);
            }
        } else {
            self.write(id, &segment, tos);
        }
        if self.places[end].as_ref().is_some_and(|place| place.counts_departures) {
            let bytes = segment.frame_len(true);
            self.ends.get(end).on_departed(now, segment.connection, bytes);
        }
        self.attend(now, id);
    }

    /// The connection that a SYN of an end point opens.
    fn open(&mut self, name: Name, segment: &Segment) -> Option<usize> {
        let place = self.places[name.0].as_ref()?;
        if !segment.flags.syn || segment.flags.ack || !self.sockets.has_room() {
            return None;
        }
        let port = port(name.0)?;
        let (own, peer) = if name.2 {
            (port, RESPONSES)
        } else {
            (self.sockets.free_port(place.device, port)?, port)
        };
        let key = (place.device, own, peer);
        Some(self.insert(key, name, false))
    }

    fn insert(&mut self, key: Key, name: Name, is_accepted: bool) -> usize {
        let place = self.places[name.0].as_ref().expect("whose connection it is");
        let tcp = &self.scenario.flows[name.0 / 2].tcp;
        let is_one_of_many = place.accepts == Accepts::Many;
        self.sockets.insert(key, name, is_one_of_many, is_accepted, (place.addresses, tcp))
    }

    /// Writes a segment to a connection's device.
    fn write(&mut self, id: usize, segment: &Segment, tos: u8) {
        let Some(socket) = self.sockets.get(id) else { return };
        let side = &mut self.sides[socket.key.0];
        match socket.wire.write(segment, tos, &[], &mut self.packet) {
            Ok(packet) => side.send(packet, &mut self.failure),
            Err(_) => side.counts.unsent += 1,
        }
    }

    /// Sends what a connection has to send in its direction without data.
    fn attend(&mut self, now: Time, id: usize) {
        while let Some(socket) = self.sockets.get(id)
            && let Some((segment, tos)) = socket.poll(now)
        {
            self.write(id, &segment, tos);
        }
        self.sockets.arm(now, id);
    }

    /// Ends all connections that are open (RFC 9293 3.9.1.5), for peers that live on.
    pub(crate) fn abort(&mut self) {
        for socket in self.sockets.iter_mut().filter(|socket| !socket.is_closed()) {
            if let Some(packet) = socket.wire.write_reset(&mut self.packet) {
                self.sides[socket.key.0].send(packet, &mut self.failure);
            }
        }
    }

    fn count(&mut self, end: usize, count: impl FnOnce(&mut Counts)) {
        let device = self.places[end].as_ref().map(|place| place.device);
        if let Some(device) = device {
            count(&mut self.sides[device].counts);
        }
    }

    // ---- receiving ------------------------------------------------------------------------

    /// A packet arrives at a device.
    pub fn receive(&mut self, now: Time, device: usize, packet: &[u8]) {
        let ip = match Ip::parse(packet) {
            Ok(ip) if ip.has_valid_checksum() && ip.has_valid_payload() != Some(false) => ip,
            _ => {
                self.sides[device].counts.corrupt += 1;
                return;
            }
        };
        match (ip.protocol, ip.addresses()) {
            (ip::TCP, _) => self.receive_tcp(now, device, &ip),
            (ip::UDP, _) => self.receive_udp(now, device, &ip),
            (ip::ICMP, Addresses::V4 { .. }) | (ip::ICMPV6, Addresses::V6 { .. }) => {
                self.receive_icmp(now, device, &ip);
            }
            _ => self.sides[device].counts.strays += 1,
        }
    }

    fn receive_tcp(&mut self, now: Time, device: usize, ip: &Ip<'_>) {
        let Some((header, _)) = tcp::Header::parse(ip.payload()).ok().filter(|_| !ip.is_fragment)
        else {
            self.sides[device].counts.corrupt += 1;
            return;
        };
        let key = (device, header.destination, header.source);
        let known = self.sockets.of_key(key);
        let Some(id) = known.or_else(|| self.accept(key, ip, &header)) else {
            let side = &mut self.sides[device];
            side.counts.strays += 1;
            if let Some(answer) = refuse(ip, &mut self.packet) {
                side.send(answer, &mut self.failure);
            }
            return;
        };
        let Some(socket) = self.sockets.get(id) else { return };
        let (end, connection, response) = socket.name;
        match socket.wire.read(ip) {
            Ok(mut segment) => {
                segment.connection = connection;
                segment.flags.response = response;
                match socket.on_arrival(&segment) {
                    Arrival::Pass => self.deliver(now, end, &Body::Tcp(segment), ip),
                    Arrival::Taken => self.sides[device].counts.delivered += 1,
                    Arrival::Refuse => return self.refuse(now, id, ip),
                }
            }
            Err(Unreadable::Reset(seq)) => {
                if socket.quiet.on_reset(seq) {
                    return self.reset(now, id);
                }
            }
            Err(_) => {
                self.sides[device].counts.outside += 1;
                if known.is_none() {
                    self.sockets.remove(id);
                    return;
                }
            }
        }
        self.attend(now, id);
    }

    /// The connection that a SYN from the wire opens, if an end point waits for it.
    fn accept(&mut self, key: Key, ip: &Ip<'_>, header: &tcp::Header) -> Option<usize> {
        if header.flags & (tcp::SYN | tcp::ACK | tcp::RST) != tcp::SYN {
            return None;
        }
        let (end, response) = match key.1 {
            RESPONSES => (2 * number(key.2)?, true),
            port => (2 * number(port)? + 1, false),
        };
        let place = self.places.get(end)?.as_ref()?;
        let is_peer = (place.device, place.addresses) == (key.0, ip.addresses().reversed());
        let name = (end, 0, response);
        let is_taken = self.sockets.of_name(name).is_some();
        let waits = is_peer && place.accepts != Accepts::Nothing && !is_taken;
        (waits && self.sockets.has_room()).then(|| self.insert(key, name, true))
    }

    fn deliver(&mut self, now: Time, end: usize, body: &Body, ip: &Ip<'_>) {
        self.count(end, |counts| counts.delivered += 1);
        self.ends.deliver(now, end, body, Ecn::from_tos(ip.tos()));
        self.poll(now, end);
    }

    /// The peer has ended a connection.
    fn reset(&mut self, now: Time, id: usize) {
        let Some(socket) = self.sockets.remove(id) else { return };
        let (end, connection, _) = socket.name;
        self.count(end, |counts| counts.resets += 1);
        self.with(now, end, |end| end.on_reset(now, connection));
    }

    /// Ends a connection whose peer sends what nobody reads.
    fn refuse(&mut self, now: Time, id: usize, ip: &Ip<'_>) {
        let Some(socket) = self.sockets.get(id) else { return };
        if let Some(answer) = refuse(ip, &mut self.packet) {
            self.sides[socket.key.0].send(answer, &mut self.failure);
        }
        self.reset(now, id);
    }

    fn receive_udp(&mut self, now: Time, device: usize, ip: &Ip<'_>) {
        let read = udp::Header::parse(ip);
        let found = read.and_then(|(header, payload)| {
            let end = *self.ports.get(&(device, header.destination))?;
            let place = self.places[end].as_mut()?;
            (header.addresses.reversed() == place.addresses).then_some(())?;
            let datagram = udp::read_datagram(payload)?;
            place.peer_port = header.source;
            Some((end, datagram))
        });
        let Some((end, datagram)) = found else {
            self.sides[device].counts.strays += 1;
            return;
        };
        let body = match self.scenario.flows.get(end / 2) {
            Some(_) => Body::Udp(datagram),
            None => Body::Icmp(Echo { seq: datagram.seq as u32, sent: datagram.sent }),
        };
        self.deliver(now, end, &body, ip);
    }

    /// A host repeats what it is asked (RFC 1122 3.2.2.6), with the TOS of the request as Linux does.
    fn receive_icmp(&mut self, now: Time, device: usize, ip: &Ip<'_>) {
        let Some((header, payload)) = icmp::Header::parse(ip) else {
            self.sides[device].counts.strays += 1;
            return;
        };
        if !header.is_reply {
            let answer =
                icmp::Header { addresses: header.addresses.reversed(), is_reply: true, ..header };
            let side = &mut self.sides[device];
            side.counts.echoed += 1;
            match answer.write(payload, &mut self.packet) {
                Some(packet) => side.send(packet, &mut self.failure),
                None => side.counts.unsent += 1,
            }
            return;
        }
        let ping = usize::from(header.identifier).checked_sub(1);
        let end = ping.map(|ping| 2 * (self.scenario.flows.len() + ping)).filter(|end| {
            let place = self.places.get(*end).and_then(Option::as_ref);
            place.is_some_and(|place| place.addresses == header.addresses.reversed())
        });
        match (end, icmp::read_echo(payload)) {
            (Some(end), Some(echo)) => self.deliver(now, end, &Body::Icmp(echo), ip),
            _ => self.sides[device].counts.strays += 1,
        }
    }
}

#[cfg(test)]
mod tests;
