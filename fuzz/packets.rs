//! Fuzzes what arrives from a network: packets of TCP, UDP and ICMP over both versions of IP, cut, changed in
//! bits and words, and made up.
//!
//! Nothing may panic. What is read can be written back with right checksums, and cut into segments that are
//! read.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use sojourn_core::{Dur, Packet, Rng, Time};
use sojourn_transport::Echo;
use sojourn_transport::tcp::{Flags, Segment};
use sojourn_wire::packet::{self, Checksum, Counts};
use sojourn_wire::segment::{Connection, Settings};
use sojourn_wire::split::{Cwr, Split};
use sojourn_wire::{Addresses, Ip, icmp, udp};

use crate::computed;

/// Packets of one connection.
const PACKETS: u32 = 1000;
/// Longest segment's packet.
const LONGEST: usize = 3000;

/// Opens connections until there were `goal` packets or the time is over; announces each before. Gives the
/// packets, and how many of them showed all that a queue may know.
pub(crate) fn run(
    goal: u64,
    limit: Duration,
    seed: u64,
    mut announce: impl FnMut(String),
) -> Result<(u64, u64), String> {
    let start = computed();
    let mut counts = Counts::default();
    let (mut connections, mut packets) = (0, 0);
    while packets < goal && (computed() < start + limit || packets == 0) {
        announce(format!("connection {connections} of seed {seed}"));
        let mut rng = Rng::named(seed, &format!("packets.{connections}"));
        let mut ends = Ends::new(&mut rng);
        for _ in 0..PACKETS {
            let mut packet = ends.packet(&mut rng);
            for _ in 0..rng.below(4) {
                spoil(&mut packet, &mut rng);
            }
            ends.receive(&packet);
            counts.add(&packet::read(&packet, 0));
            anything(&packet, &mut rng)
                .map_err(|fault| format!("connection {connections}: {fault}: {packet:02x?}"))?;
        }
        connections += 1;
        packets += u64::from(PACKETS);
    }
    Ok((packets, counts.whole))
}

/// Bytes that may be a packet.
pub(crate) fn anything(bytes: &[u8], rng: &mut Rng) -> Result<(), String> {
    match packet::read(bytes, rng.u32() as u16) {
        Ok((seen, _)) => check(bytes.to_vec(), seen, rng),
        Err(_) => Ok(()),
    }
}

/// A packet that was read: a queue changes it, and a box cuts it.
fn check(mut bytes: Vec<u8>, mut seen: Packet, rng: &mut Rng) -> Result<(), String> {
    let state =
        |bytes: &[u8]| Ip::parse(bytes).map(|ip| (ip.has_valid_checksum(), ip.has_valid_payload()));
    let before = state(&bytes);
    seen.tos = rng.u32() as u8;
    seen.ace ^= rng.below(8) as u8;
    packet::write_back(&seen, &mut bytes, Checksum::Complete).map_err(|e| e.to_string())?;
    if state(&bytes) != before {
        return Err("a change of marks changes what the checksums say".to_owned());
    }
    let Ok(split) = Split::new(&bytes, rng.below(2000) as u16, Cwr::First) else { return Ok(()) };
    let mut out = [0; LONGEST];
    let index = rng.below(split.segments() as u32) as usize;
    match split.write(index, &mut out).map(|segment| state(segment)) {
        None | Some(Ok((_, Some(true)))) => Ok(()),
        Some(other) => Err(format!("segment {index} of it: {other:?}")),
    }
}

/// Two ends of a connection; what goes on between them is spoilt.
struct Ends {
    client: Connection,
    server: Connection,
    addresses: Addresses,
    seq: u64,
}

impl Ends {
    fn new(rng: &mut Rng) -> Self {
        let addresses = if rng.below(2) == 0 {
            Addresses::V4 { source: Ipv4Addr::LOCALHOST, destination: Ipv4Addr::BROADCAST }
        } else {
            Addresses::V6 { source: Ipv6Addr::LOCALHOST, destination: Ipv6Addr::UNSPECIFIED }
        };
        let settings = Settings {
            addresses,
            port: 1,
            peer_port: 2,
            isn: rng.u32(),
            mss: 1460,
            window_scale: Some(7),
            timestamps: true,
            sack: true,
            tick: Dur::from_millis(1),
            first_tick: rng.u32(),
            first_id: 0,
        };
        let peer = Settings {
            addresses: addresses.reversed(),
            port: 2,
            peer_port: 1,
            isn: rng.u32(),
            ..settings
        };
        let (client, server) = (Connection::new(settings), Connection::new(peer));
        let mut ends = Self { client, server, addresses, seq: 1 };
        let flags = Flags { syn: true, ..Flags::default() };
        ends.pass(true, &Segment { flags, ..Segment::default() });
        let flags = Flags { ack: true, ..flags };
        ends.pass(false, &Segment { flags, ack: 1, ..Segment::default() });
        ends
    }

    fn pass(&mut self, from_client: bool, segment: &Segment) -> Vec<u8> {
        let (from, to) = if from_client {
            (&mut self.client, &mut self.server)
        } else {
            (&mut self.server, &mut self.client)
        };
        let mut out = [0; LONGEST];
        let packet = from.write(segment, 1, &[], &mut out).expect("it fits");
        to.read(&Ip::parse(packet).expect("a packet")).expect("a segment");
        packet.to_vec()
    }

    /// A packet as our ends write it; the other end has read it once.
    fn packet(&mut self, rng: &mut Rng) -> Vec<u8> {
        let mut out = [0; LONGEST];
        let addresses = self.addresses;
        let payload = &[7; 300][..rng.below(300) as usize];
        let packet = match rng.below(8) {
            0 => {
                let header = udp::Header { addresses, source: 1, destination: 2, tos: 3, id: 4 };
                header.write(payload, &mut out)
            }
            1 => {
                let header =
                    icmp::Header { addresses, is_reply: false, identifier: 1, seq: 0, tos: 2 };
                header.write_echo(&Echo { seq: 9, sent: Time(8) }, 56, &mut out)
            }
            kind => {
                let flags = Flags { ack: true, psh: kind == 2, fin: kind == 3, ..Flags::default() };
                let mut segment = Segment {
                    seq: self.seq,
                    ack: self.seq,
                    len: rng.below(2) * rng.below(1400),
                    window: rng.below(1 << 20),
                    ace: rng.below(8) as u8,
                    accecn: (kind == 4).then(|| [0; 3].map(|_: u32| rng.below(1 << 24))),
                    tsval: Time(self.seq * 1000),
                    flags,
                    ..Segment::default()
                };
                let answer = Segment { len: 1000, ack: 1, flags, ..segment };
                self.pass(false, &answer);
                for _ in 0..rng.below(4) {
                    let left = self.seq + u64::from(rng.below(900));
                    segment.sack.push((left, left + 100));
                }
                self.seq += 1000;
                return self.pass(true, &segment);
            }
        };
        packet.expect("it fits").to_vec()
    }

    /// What strangers made of a packet arrives, at both ends.
    fn receive(&mut self, bytes: &[u8]) {
        let Ok(ip) = Ip::parse_captured(bytes) else { return };
        // A copy, for a hostile packet may move numbers out of our own packets' reach.
        for mut end in [self.client.clone(), self.server.clone()] {
            let _ = end.read(&ip);
        }
        if let Some((_, payload)) = udp::Header::parse(&ip) {
            let _ = udp::read_datagram(payload);
        }
        if let Some((_, payload)) = icmp::Header::parse(&ip) {
            let _ = icmp::read_echo(payload);
        }
    }
}

/// Changes a packet as only strangers do; mostly in its headers.
fn spoil(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let head = bytes.len().min(100) as u32;
    if head == 0 {
        return;
    }
    let at = rng.below(head) as usize;
    match rng.below(6) {
        0 => bytes.truncate(rng.below(bytes.len() as u32 + 1) as usize),
        1 => bytes.iter_mut().take(at).for_each(|byte| *byte = rng.u32() as u8),
        2 => bytes.extend((0..rng.below(100)).map(|n| n as u8)),
        3 => bytes[at] ^= 1 << rng.below(8),
        4 => {
            // Lengths, options and extension headers that parsers are tempted by.
            const BYTES: [u8; 12] = [0, 1, 2, 5, 8, 17, 43, 44, 51, 60, 172, 255];
            bytes[at] = BYTES[rng.below(12) as usize];
        }
        _ => {
            let from = rng.below(head) as usize;
            bytes[at] = bytes[from];
        }
    }
}
