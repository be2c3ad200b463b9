//! From what travels in the simulator to bytes.

use std::sync::Arc;

use sojourn_core::{Kind, Packet, Time};
use sojourn_scenario::{Scenario, Topology};
use sojourn_transport::udp::Message;
use sojourn_transport::{Body, Datagram, Echo, Frame};
use sojourn_wire::ethernet::HEADER_BYTES;
use sojourn_wire::packet::{Checksum, write_back};
use sojourn_wire::split::{Cwr, Split};
use sojourn_wire::{Ip, checksum, icmp, ip, udp};

use crate::connections::{Connections, port};
use crate::network::{addresses, ethernet};
use crate::tunnels::{self, Tunnels};

/// Bytes of the largest packet.
const LARGEST: usize = 65_600;
/// Room for the header of its link before it: Ethernet, with tags.
const FRONT: usize = 32;
/// Bytes before a packet of a TUN device that takes super-packets (`struct virtio_net_hdr`).
const UNFINISHED: usize = 10;

/// Bytes of the least datagram of udp_prague that has its header.
const COUNTED_BYTES: u32 = 13;

/// A packet of the simulator's end points as it was sent.
#[derive(Clone, Default)]
struct Sent {
    /// Which packet it is, of all that were sent.
    number: u64,
    /// From the IP header on; zeros follow up to `len`.
    bytes: Vec<u8>,
    len: usize,
    /// Payload bytes of each segment of a super-packet; else 0.
    segment: u32,
}

/// A packet as it passes.
pub(crate) struct Passing<'a> {
    /// From the link's header on.
    pub(crate) bytes: &'a [u8],
    /// The same wherever it passes; none of a host outside.
    pub(crate) number: Option<u64>,
}

/// Packets in the network.
pub(crate) struct Packets {
    scenario: Arc<Scenario>,
    tunnels: Tunnels,
    connections: Connections,
    /// By [`Packet::id`].
    sent: Vec<Sent>,
    count: u64,
    /// Where packets are written; zero between two calls.
    scratch: Vec<u8>,
    part: Vec<u8>,
}

impl Packets {
    pub(crate) fn new(scenario: Arc<Scenario>, topology: &Topology) -> Self {
        Self {
            tunnels: Tunnels::of(topology),
            scenario,
            connections: Connections::default(),
            sent: Vec::new(),
            count: 0,
            scratch: vec![0; FRONT + LARGEST],
            part: vec![0; LARGEST],
        }
    }

    /// An end sends a packet. Of a host outside there is nothing to remember.
    pub(crate) fn on_sent(&mut self, now: Time, end: usize, packet: &Packet, body: &Body) {
        if matches!(body, Body::Frame(_)) {
            return;
        }
        let len = self.write(now, end, packet, body).unwrap_or_default();
        let written = &mut self.scratch[FRONT..FRONT + len];
        let used = used(written);
        let segment = match body {
            Body::Tcp(segment) => segment.gso_size,
            _ => 0,
        };
        let number = self.count;
        self.count += 1;
        let sent = place(&mut self.sent, packet.id);
        (sent.number, sent.len, sent.segment) = (number, len, segment);
        sent.bytes.clear();
        sent.bytes.extend_from_slice(&written[..used]);
        written[..used].fill(0);
    }

    /// Writes a packet as its host sends it; gives its length.
    fn write(&mut self, now: Time, end: usize, packet: &Packet, body: &Body) -> Option<usize> {
        let addresses = addresses(packet.src, packet.dst);
        let own = port(end / 2);
        let id = self.count as u16;
        let header = udp::Header { addresses, source: own, destination: own, tos: packet.tos, id };
        let out = &mut self.scratch[FRONT..];
        let len = (packet.len as usize).checked_sub(HEADER_BYTES + addresses.header_len())?;
        let datagram_len = len.saturating_sub(udp::HEADER_BYTES);
        let written = match body {
            Body::Tcp(segment) => {
                let sent = (segment, packet.tos);
                self.connections.write(&self.scenario, end, addresses, sent, out)
            }
            Body::Udp(datagram) => write_datagram(header, datagram, out),
            &Body::Icmp(Echo { seq, sent }) if packet.kind == Kind::Udp => {
                let datagram = Datagram { seq: seq.into(), sent, bytes: datagram_len as u32 };
                write_datagram(header, &datagram, out)
            }
            Body::Icmp(echo) => {
                // Pings count from 1, as identifiers.
                let identifier = (1 + (end / 2).checked_sub(self.scenario.flows.len())?) as u16;
                let (is_reply, seq) = (!end.is_multiple_of(2), echo.seq as u16);
                let header = icmp::Header { addresses, is_reply, identifier, seq, tos: packet.tos };
                let bytes = len.saturating_sub(icmp::HEADER_BYTES);
                match header.write_echo(echo, bytes, out) {
                    Some(packet) => Some(packet),
                    None => header.write(&vec![0; bytes], &mut self.scratch[FRONT..]),
                }
            }
            Body::Counted(Message::Data(data)) if data.len < COUNTED_BYTES => {
                header.write(&vec![0; data.len as usize], out)
            }
            Body::Counted(message) => header.write_counted(now, message, out),
            Body::Media(message) => header.write_media(message, out),
            Body::Frame(_) => None,
        };
        written.map(|packet| packet.len())
    }

    /// A super-packet is cut: segment number `index` has this id.
    pub(crate) fn on_split(&mut self, id: u32, segment: u32, index: u32) {
        let Some(super_packet) = self.sent.get(id as usize).filter(|sent| sent.segment > 0) else {
            return;
        };
        let size = super_packet.segment as u16;
        let (filled, len) = (super_packet.bytes.len(), super_packet.len);
        let whole = &mut self.scratch[FRONT..FRONT + len];
        whole[..filled].copy_from_slice(&super_packet.bytes);
        let cut = Split::new(whole, size, Cwr::First).ok();
        let part = cut.and_then(|cut| Some(cut.write(index as usize, &mut self.part)?.len()));
        whole[..filled].fill(0);
        let number = self.count;
        self.count += 1;
        let sent = place(&mut self.sent, segment);
        (sent.number, sent.len, sent.segment) = (number, part.unwrap_or_default(), 0);
        let bytes = &self.part[..sent.len];
        sent.bytes.clear();
        sent.bytes.extend_from_slice(&bytes[..used(bytes)]);
    }

    /// Hands a packet to `take` as it shows at a port, or at an end if there is none. None if the wire has no such
    /// packet.
    pub(crate) fn show<T>(
        &mut self,
        packet: &Packet,
        body: &Body,
        port: Option<usize>,
        take: impl FnOnce(&Passing<'_>) -> T,
    ) -> Option<T> {
        let tunnel = port.and_then(|port| self.tunnels.around(port, packet.flow.0));
        let out = &mut self.scratch[FRONT..];
        let mut link: &[u8] = &[];
        let mut number = None;
        let len = match (tunnel, body) {
            (Some(tunnel), _) => {
                let addresses = addresses(packet.src, packet.dst);
                tunnels::write(packet, tunnel, addresses, out)?.len()
            }
            (None, Body::Frame(frame)) => {
                link = frame.header();
                copy(frame, out)?
            }
            (None, _) => {
                let sent = self.sent.get(packet.id as usize).filter(|sent| sent.len > 0)?;
                out[..sent.bytes.len()].copy_from_slice(&sent.bytes);
                number = Some(sent.number);
                sent.len
            }
        };
        if tunnel.is_none() {
            // What was written can be read.
            let _ = write_back(packet, &mut out[..len], Checksum::Complete);
        }
        let own = ethernet(packet.src, packet.dst, &out[..len]);
        // A TUN device has none, or what is unfinished in the packet.
        let is_ethernet = (HEADER_BYTES..=FRONT).contains(&link.len());
        let link = if is_ethernet { link } else { &own };
        let (from, to) = (FRONT - link.len(), FRONT + len);
        self.scratch[from..FRONT].copy_from_slice(link);
        let taken = take(&Passing { bytes: &self.scratch[from..to], number });
        self.scratch[from..to].fill(0);
        Some(taken)
    }
}

/// Where the packet with this id is remembered.
fn place(sent: &mut Vec<Sent>, id: u32) -> &mut Sent {
    if sent.len() <= id as usize {
        sent.resize(id as usize + 1, Sent::default());
    }
    &mut sent[id as usize]
}

/// Bytes without the zeros at the end.
fn used(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1)
}

/// An application's datagram; one that is too short for number and time is of zeros.
fn write_datagram<'a>(
    header: udp::Header,
    datagram: &Datagram,
    out: &'a mut [u8],
) -> Option<&'a mut [u8]> {
    if datagram.bytes as usize >= sojourn_wire::STAMP_BYTES {
        header.write_datagram(datagram, out)
    } else {
        header.write(&vec![0; datagram.bytes as usize], out)
    }
}

/// Copies what a host outside has sent, of a super-packet that was cut its segment; gives the length.
fn copy(frame: &Frame, out: &mut [u8]) -> Option<usize> {
    let bytes = frame.bytes();
    if let Some(part) = frame.part {
        let cwr = if frame.segments().cwr_first { Cwr::First } else { Cwr::All };
        return Some(
            Split::new(bytes, frame.segments().size, cwr).ok()?.write(part.into(), out)?.len(),
        );
    }
    let copied = out.get_mut(..bytes.len())?;
    copied.copy_from_slice(bytes);
    if frame.header().len() == UNFINISHED {
        complete(copied);
    }
    Some(copied.len())
}

/// Completes a transport checksum that a host has left to its device.
fn complete(bytes: &mut [u8]) {
    let Ok(ip) = Ip::parse(bytes) else { return };
    let (addresses, protocol, start) = (ip.addresses(), ip.protocol, ip.header_len());
    let field = match protocol {
        _ if ip.is_fragment => return,
        ip::TCP => 16,
        ip::UDP => 6,
        _ => return,
    };
    let transport = &mut bytes[start..];
    let Some(place) = transport.get_mut(field..field + 2) else { return };
    place.fill(0);
    let sum = checksum::of_transport(&addresses, protocol, transport);
    // RFC 768: a sum of zero is sent as all ones; for TCP they are the same (RFC 1624).
    let sum = if sum == 0 { u16::MAX } else { sum };
    transport[field..field + 2].copy_from_slice(&sum.to_be_bytes());
}
