//! Fuzzes what the analysis of captures reads: packets of media, QUIC, questions with answers and TCP, cut, changed,
//! repeated and out of order, seen at one point and at two.
//!
//! Nothing may panic, and what is counted adds up.

use std::net::Ipv4Addr;
use std::time::Duration;

use sojourn_capture::LinkType;
use sojourn_capture::layers::dissect;
use sojourn_core::wire::ccfb::{Count, Format, Metric, Writer};
use sojourn_core::wire::rtp::{self, Header};
use sojourn_core::wire::ticks::Ticks;
use sojourn_core::{Ecn, Rng, Time};
use sojourn_inspect::pair::{Joiner, Options};
use sojourn_inspect::{Analyser, Options as Kept};
use sojourn_wire::{Addresses, icmp, ip, udp};

use crate::computed;

/// Packets of one capture.
const PACKETS: u32 = 2000;

/// Analyses captures until there were `goal` packets or the time is over; announces each before. Gives captures and
/// packets.
pub(crate) fn run(
    goal: u64,
    limit: Duration,
    seed: u64,
    mut announce: impl FnMut(String),
) -> Result<(u64, u64), String> {
    let start = computed();
    let (mut captures, mut packets) = (0, 0);
    while packets < goal && (computed() < start + limit || packets == 0) {
        announce(format!("capture {captures} of seed {seed}"));
        let rng = Rng::named(seed, &format!("inspect.{captures}"));
        packets += capture(rng).map_err(|fault| format!("capture {captures}: {fault}"))?;
        captures += 1;
    }
    Ok((captures, packets))
}

fn capture(mut rng: Rng) -> Result<u64, String> {
    let mut analysis = Analysis::new(&mut rng);
    for number in 0..PACKETS {
        let mut bytes = packet(number, &mut rng);
        for _ in 0..rng.below(3) {
            spoil(&mut bytes, &mut rng);
        }
        analysis.see(&bytes, &mut rng);
    }
    analysis.finish()?;
    Ok(u64::from(PACKETS))
}

/// A capture and a pair of them under analysis.
pub(crate) struct Analysis {
    analyser: Analyser,
    joiner: Joiner,
    now: u64,
    joined: u64,
    read: u64,
}

impl Analysis {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let window_packets = 1 + rng.below(500) as usize;
        let translated = rng.below(2) == 0;
        Self {
            analyser: Analyser::new(Kept { events: true, ..Kept::default() }),
            joiner: Joiner::new(Options { translated, window_packets, window_s: 0.5 }),
            now: 1_000_000_000_000,
            joined: 0,
            read: 0,
        }
    }

    /// Bytes that may be a packet, at one point or two.
    pub(crate) fn see(&mut self, bytes: &[u8], rng: &mut Rng) {
        // Clocks go back, and jump.
        self.now = match rng.below(200) {
            0 => rng.u64(),
            1 => self.now.saturating_sub(u64::from(rng.u32())),
            _ => self.now.saturating_add(u64::from(rng.below(3_000_000))),
        };
        let Ok(layers) = dissect(LinkType::RAW, bytes) else { return };
        self.analyser.packet(Time(self.now), &layers);
        self.read += 1;
        let points = match rng.below(5) {
            0 => 0..1,
            1 => 1..2,
            _ => 0..2,
        };
        for point in points {
            let at = Time(self.now.saturating_add(point as u64 * 10_000_000));
            self.joiner.packet(point, at, &layers);
            self.joined += 1;
        }
        let _ = self.joiner.wants();
    }

    /// What is counted adds up.
    pub(crate) fn finish(self) -> Result<(), String> {
        let Self { analyser, joiner, joined, read, .. } = self;
        let report = analyser.finish();
        if report.packets != read {
            return Err(format!("{read} packets, {} in the report", report.packets));
        }
        for media in report.flows.iter().filter_map(|flow| flow.media.as_ref()) {
            if media.path.total() + media.reported_unseen != media.reported_received {
                return Err(format!("verdicts do not add up: {media:?}"));
            }
        }
        let pair = joiner.finish();
        let ways = pair.flows.iter().flat_map(|flow| [&flow.forward, &flow.backward]);
        let counted: u64 = ways.map(|way| 2 * way.both + way.lost + way.added).sum();
        let other: u64 = pair.outside.iter().chain(&pair.skipped).sum();
        if counted + other != joined {
            return Err(format!("{joined} packets at two points, {counted} in flows, {other} not"));
        }
        Ok(())
    }
}

/// A packet between two hosts.
fn packet(number: u32, rng: &mut Rng) -> Vec<u8> {
    let forward = rng.below(3) > 0;
    let ends = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
    let [source, destination] = if forward { ends } else { [ends[1], ends[0]] };
    let addresses = Addresses::V4 { source, destination };
    let tos = rng.below(4) as u8;
    let mut out = [0; 1500];
    let kind = rng.below(8);
    let packet = match kind {
        0 => {
            let header = icmp::Header {
                addresses,
                is_reply: !forward,
                identifier: 1,
                seq: number as u16 / 4,
                tos,
            };
            header.write(&[0; 40], &mut out)
        }
        1 => {
            let header = ip::Header { addresses, protocol: ip::TCP, tos, id: number as u16 };
            let packet = header.write(&mut out, 20 + rng.below(100) as usize).expect("it fits");
            packet[20..24].copy_from_slice(&[0, 80, 0, 80]);
            packet[24..28].copy_from_slice(&(number * 100).to_be_bytes());
            packet[32..34].copy_from_slice(&[0x50, 0x10]);
            Some(packet)
        }
        _ => {
            let payload = datagram(kind, number, forward, rng);
            let port = if kind == 7 { 53 } else { 1000 + kind as u16 };
            let header =
                udp::Header { addresses, source: port, destination: port, tos, id: number as u16 };
            header.write(&payload, &mut out)
        }
    };
    packet.expect("it fits").to_vec()
}

fn datagram(kind: u32, number: u32, forward: bool, rng: &mut Rng) -> Vec<u8> {
    let stamp = Ticks(number.wrapping_mul(66));
    match kind {
        // Media, and reports of them.
        2 | 3 if forward => {
            let seq = number as u16;
            let header = Header {
                marker: number.is_multiple_of(5),
                payload_type: rtp::PAYLOAD_TYPE,
                seq,
                timestamp: number / 5 * 1800,
                ssrc: rtp::TOOL_SSRC,
                payload: 0,
            };
            [&header.write()[..], &[0; 50]].concat()
        }
        2 => {
            let mut bytes = [0; 300];
            let count = if rng.below(2) == 0 { Count::Exact } else { Count::LessOne };
            let early = rng.below(8) == 0;
            let mut writer =
                Writer::new(&mut bytes, Format { count, early }, 10, stamp).expect("room");
            let metrics: Vec<_> = (0..=rng.below(64))
                .map(|_| Metric {
                    received: (rng.below(8) > 0)
                        .then(|| Ticks(stamp.0.wrapping_sub(rng.below(9000)))),
                    ecn: Ecn::from_tos(rng.below(4) as u8),
                })
                .collect();
            writer.block(
                rtp::TOOL_SSRC,
                number.wrapping_sub(rng.below(200)) as u16,
                metrics.into_iter(),
            );
            let len = writer.finish();
            bytes[..len].to_vec()
        }
        3 => {
            let mut bytes = vec![0x81, 200 + (number % 2) as u8, 0, 12, 0, 0, 0, 100, 0, 0];
            bytes.extend(number.to_be_bytes());
            bytes.resize(52, number as u8);
            bytes
        }
        // Long and short headers of both versions.
        4 | 5 => {
            let version = if kind == 4 { 1 } else { 0x6b33_43cf_u32 };
            let first = [0xc0, 0xd0, 0xe0, 0xf0, 0x40, 0x60][rng.below(6) as usize];
            let mut bytes = vec![first];
            bytes.extend(version.to_be_bytes());
            bytes.extend([4, 1, 2, 3, 4, 4, 5, 6, 7, 8, 0, 0x40, 100]);
            bytes.resize(118, number as u8);
            bytes
        }
        6 => vec![
            0,
            u8::from(!forward),
            0,
            0,
            0x21,
            0x12,
            0xa4,
            0x42,
            1,
            2,
            3,
            4,
            5,
            6,
            7,
            8,
            9,
            10,
            11,
            number as u8,
        ],
        _ => vec![1, number as u8, if forward { 1 } else { 0x81 }, 0, 0, 1, 0, 0, 0, 0, 0, 0],
    }
}

/// Changes a packet as only strangers do, and cuts it as captures do.
fn spoil(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let len = bytes.len() as u32;
    if len < 2 {
        return;
    }
    let at = rng.below(len) as usize;
    match rng.below(5) {
        0 => bytes.truncate(at),
        1 => bytes[at] ^= 1 << rng.below(8),
        2 => bytes[at] = [0, 1, 0x3f, 0x7f, 0x80, 0xff][rng.below(6) as usize],
        3 if at > 28 => bytes[at..].iter_mut().for_each(|byte| *byte = rng.u32() as u8),
        _ => bytes.extend((0..rng.below(40)).map(|n| n as u8)),
    }
}
