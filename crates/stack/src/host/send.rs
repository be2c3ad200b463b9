//! From what end points send to packets.

use sojourn_core::{Kind, Time};
use sojourn_transport::tcp::Segment;
use sojourn_transport::udp::Message;
use sojourn_transport::{Body, Datagram, Echo, Transmit};
use sojourn_wire::{icmp, udp};

use super::Host;
use crate::seat::{Accepts, Place, port};
use crate::socket::{Key, Name, Role};

/// Ethernet header: end points count it.
const L2_HEADER: usize = 14;

impl Host {
    pub(super) fn send(&mut self, now: Time, end: usize, tx: &Transmit) {
        let Some(place) = &self.places[end] else { return };
        let Place { device, addresses, port, .. } = *place;
        let side = &mut self.sides[device];
        let udp = |id: u64| udp::Header {
            addresses,
            source: port,
            destination: port,
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
            Body::Counted(message) => {
                if let Message::Data(data) = message {
                    self.counted[end / 2] = data.seq;
                }
                udp(0).write_counted(now, message, out)
            }
            Body::Media(message) => {
                if let Some(media) = &mut self.media[end / 2] {
                    media.on_departure(message);
                }
                udp(0).write_media(message, out)
            }
            Body::Frame(_) => unreachable!("no end point of a scenario sends it"),
        };
        match written {
            Some(packet) => side.send(packet, &mut self.failure),
            None => side.counts.unsent += 1,
        }
    }

    fn send_tcp(&mut self, now: Time, end: usize, mut segment: Segment, tos: u8) {
        let name = (end, segment.connection);
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
        let key = (place.device, self.sockets.free_port(place.device, port)?, port);
        Some(self.insert(key, name, false))
    }

    pub(super) fn insert(&mut self, key: Key, name: Name, is_accepted: bool) -> usize {
        let place = self.places[name.0].as_ref().expect("whose connection it is");
        let tcp = &self.scenario.flows[name.0 / 2].tcp;
        let is_one_of_many = place.accepts == Accepts::Many;
        let role = Role { is_accepted, is_duplex: place.is_duplex };
        self.sockets.insert(key, name, is_one_of_many, role, (place.addresses, tcp))
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
    pub(super) fn attend(&mut self, now: Time, id: usize) {
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
}
