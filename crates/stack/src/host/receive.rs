//! From packets to what end points receive.

use sojourn_core::{Ecn, Time};
use sojourn_transport::tcp::Arrival;
use sojourn_transport::udp::Message;
use sojourn_transport::{Body, Datagram, Echo};
use sojourn_wire::segment::{Unreadable, refuse};
use sojourn_wire::{Addresses, Ip, icmp, ip, tcp, udp, udp_prague};

use super::Host;
use crate::seat::{Accepts, number};
use crate::socket::Key;

/// No sender sends as many packets as this: what claims to be one of more is forged.
const MOST_PACKETS: u64 = 1 << 48;

impl Host {
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
        let (end, connection) = socket.name;
        match socket.wire.read(ip) {
            Ok(mut segment) => {
                segment.connection = connection;
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
        let end = 2 * number(key.1)? + 1;
        let place = self.places.get(end)?.as_ref()?;
        let is_peer = (place.device, place.addresses) == (key.0, ip.addresses().reversed());
        let name = (end, 0);
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
        let (end, connection) = socket.name;
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
            let body = self.meaning(now, end, payload)?;
            let place = self.places[end].as_ref()?;
            let is_peer =
                header.addresses.reversed() == place.addresses && header.source == place.port;
            is_peer.then_some((end, body))
        });
        match found {
            Some((end, body)) => self.deliver(now, end, &body, ip),
            None => self.sides[device].counts.strays += 1,
        }
    }

    /// What a datagram says to an end point.
    fn meaning(&self, now: Time, end: usize, payload: &[u8]) -> Option<Body> {
        let flow = self.scenario.flows.get(end / 2);
        if let Some(Some(media)) = self.media.get(end / 2) {
            let is_sender = end.is_multiple_of(2);
            let message = if is_sender { media.report(payload) } else { media.packet(payload) };
            return message.map(Body::Media);
        }
        if flow.is_some_and(|flow| flow.cc.is_some()) {
            let message =
                udp_prague::read(now, payload).filter(|message| self.was_sent(end, message));
            return message.map(Body::Counted);
        }
        let datagram = udp::read_datagram(payload).filter(is_possible)?;
        Some(match flow {
            Some(_) => Body::Udp(datagram),
            None => Body::Icmp(Echo { seq: datagram.seq as u32, sent: datagram.sent }),
        })
    }

    /// Whether a counted datagram can be one of its sender, as far as that is here.
    fn was_sent(&self, end: usize, message: &Message) -> bool {
        match message {
            Message::Data(data) => {
                self.places[end ^ 1].is_none() || data.seq <= self.counted[end / 2]
            }
            Message::Report(_) => true,
        }
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

/// Whether a sender of ours can have sent it.
fn is_possible(datagram: &Datagram) -> bool {
    datagram.seq < MOST_PACKETS
}
