use std::net::Ipv4Addr;

use proptest::prelude::*;
use sojourn_capture::LinkType;
use sojourn_capture::layers::{Layers, dissect};
use sojourn_core::Time;
use sojourn_wire::ip::Header;

use super::*;
use crate::Analyser;

/// A packet of TCP without options: from `10.0.0.source` and the port of the same number.
fn tcp(source: u8, destination: u8, seq: u32, flags: u16, data: usize) -> Vec<u8> {
    let mut body = vec![0; 20 + data];
    body[0..2].copy_from_slice(&(u16::from(source) + 2000).to_be_bytes());
    body[2..4].copy_from_slice(&(u16::from(destination) + 2000).to_be_bytes());
    body[4..8].copy_from_slice(&seq.to_be_bytes());
    body[12..14].copy_from_slice(&(5 << 12 | flags).to_be_bytes());
    let address = |n| Ipv4Addr::new(10, 0, 0, n);
    let addresses = Addresses::V4 { source: address(source), destination: address(destination) };
    let header = Header { addresses, protocol: ip::TCP, tos: 0, id: 0 };
    let mut out = vec![0; 1600];
    let packet = header.write(&mut out, body.len()).expect("room");
    packet[20..].copy_from_slice(&body);
    packet.to_vec()
}

fn analyse(options: Options, packets: &[Vec<u8>]) -> Report {
    let mut analyser = Analyser::new(options);
    for (at, bytes) in packets.iter().enumerate() {
        let ip = Ip::parse(bytes).expect("a packet");
        analyser.packet(Time(at as u64 * 1000), &Layers { ip, tunnel: None });
    }
    analyser.finish()
}

const SYN: u16 = 2;
const FIN_ACK: u16 = 0x11;
const ACK: u16 = 0x10;

#[test]
fn both_directions_are_one_flow_and_the_syn_opened_it() {
    let packets = [tcp(9, 1, 5, SYN, 0), tcp(1, 9, 7, SYN | ACK, 0), tcp(9, 1, 6, ACK, 10)];
    let report = analyse(Options::default(), &packets);
    let [flow] = &report.flows[..] else { panic!("{report:?}") };
    assert_eq!((flow.opener.port, flow.peer.port), (2009, 2001));
    assert_eq!((flow.forward.packets, flow.backward.packets, flow.forward.data_bytes), (2, 1, 10));
}

#[test]
fn a_syn_after_the_close_is_another_flow_and_a_repeated_one_is_not() {
    let open = [tcp(1, 2, 5, SYN, 0), tcp(1, 2, 5, SYN, 0), tcp(1, 2, 6, FIN_ACK, 0)];
    let again = [tcp(1, 2, 99, SYN, 0), tcp(1, 2, 100, ACK, 7)];
    let report = analyse(Options::default(), &[&open[..], &again[..]].concat());
    let packets: Vec<u64> = report.flows.iter().map(|flow| flow.forward.packets).collect();
    assert_eq!(packets, [3, 2]);
}

#[test]
fn flows_beyond_the_bounds_are_counted() {
    let packets: Vec<Vec<u8>> = (1..=40)
        .flat_map(|n| (0..n).map(move |_| tcp(n, 200, 1, ACK, 1)))
        .chain((1..=40).map(|n| tcp(200, n, 1, ACK, 1)))
        .collect();
    let all = packets.len() as u64;
    let counted = |report: &Report| {
        let flows = report.flows.iter();
        let listed: u64 = flows
            .map(|flow| flow.forward.packets + flow.backward.packets + flow.packets_not_analysed)
            .sum();
        (report.flows.len(), listed + report.packets_of_unlisted_flows)
    };
    for (options, flows) in [
        (Options::default(), 40),
        (Options { max_flows: 30, ..Options::default() }, 30),
        (Options { max_listed: 10, ..Options::default() }, 10),
        (Options { max_long: 3, ..Options::default() }, 40),
    ] {
        let report = analyse(options, &packets);
        assert_eq!(counted(&report), (flows, all), "{options:?}");
    }
    let busiest = analyse(Options { max_listed: 1, ..Options::default() }, &packets);
    assert_eq!(busiest.flows[0].opener.port, 2040);
}

/// Segments of a connection wait for each other: what others bring between them changes nothing.
#[test]
fn a_flow_among_others_is_what_it_is_alone() {
    const FLOWS: usize = 3;
    let turns = |turn: u32| {
        (2..2 + FLOWS as u8).flat_map(move |source| {
            let data = tcp(source, 1, 1 + turn * 10 + turn / 7 * 10, ACK, 10 + usize::from(source));
            [data, tcp(1, source, 1, ACK, usize::from(turn.is_multiple_of(9)))]
        })
    };
    let first = tcp(9, 8, 1, ACK, 1);
    let packets: Vec<_> = std::iter::once(first).chain((0..50).flat_map(turns)).collect();
    let of = |belongs: &dyn Fn(usize) -> bool| {
        let mut analyser = Analyser::new(Options::default());
        for (at, bytes) in packets.iter().enumerate().filter(|(at, _)| *at == 0 || belongs(*at)) {
            let ip = Ip::parse(bytes).expect("a packet");
            analyser.packet(Time(at as u64 * 1000), &Layers { ip, tunnel: None });
        }
        analyser.finish()
    };
    let among = of(&|_| true);
    assert_eq!(among.flows.len(), 1 + FLOWS);
    for number in 0..FLOWS {
        let alone = of(&|at| (at - 1) / 2 % FLOWS == number);
        let [alone, among] = [&alone.flows[1], &among.flows[1 + number]];
        assert!(alone.forward.packets == 50 && alone.backward.packets == 50);
        assert_eq!((&alone.forward, &alone.backward), (&among.forward, &among.backward));
    }
}

#[test]
fn similar_ends_share_few_probes() {
    let mut longest = 0;
    let mut table = Table::new(usize::MAX);
    for n in 0..100_000_u32 {
        let low = (
            u128::from(Ipv4Addr::new(10, 0, (n >> 8) as u8, n as u8).to_bits()),
            1024 + (n >> 16) as u16,
        );
        let key = Key::new([low, (u128::from(u32::MAX), 443)], true, ip::TCP, false);
        let hash = key.hash();
        let slot = table.slot(&key, hash).expect("room");
        let mask = table.slots.len() - 1;
        longest = longest.max(slot.wrapping_sub(hash as usize) & mask);
        let at = table.flows.len() as u32;
        table.slots[slot] = Slot { tag: (hash >> 32) as u32, flow: at };
        let state = State::Tcp(tcp::Flow::default());
        table.flows.push(Flow {
            key,
            low_opened: true,
            first: 0,
            last: 0,
            packets: 0,
            tunnel: None,
            state,
        });
        table.grow();
    }
    assert!(longest < 64, "{longest}");
}

/// Bytes that begin as a packet of TCP between few ends, so that many of one flow follow each other.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    (any::<bool>(), 0..4_u8, prop::collection::vec(any::<u8>(), 0..70)).prop_map(
        |(back, port, body)| {
            let (source, destination) = if back { (1, 2) } else { (2, 1) };
            let mut packet = tcp(source, destination, 0, 0, 0);
            packet.truncate(20);
            packet[9] = if port == 3 { body.len() as u8 } else { ip::TCP };
            packet.extend([0, source + port, 0, destination + port]);
            packet.extend(&body);
            let len = (packet.len() + 20 * usize::from(port)) as u16;
            packet[2..4].copy_from_slice(&len.to_be_bytes());
            packet
        },
    )
}

proptest! {
    #[test]
    fn hostile_packets_are_counted_and_never_panic(
        packets in prop::collection::vec((hostile(), any::<u32>()), 1..200),
    ) {
        let mut analyser = Analyser::new(Options { events: true, max_flows: 6, ..Options::default() });
        for (bytes, time) in &packets {
            match dissect(LinkType::RAW, bytes) {
                Ok(layers) => analyser.packet(Time(u64::from(*time)), &layers),
                Err(why) => analyser.skip(why),
            }
        }
        let report = analyser.finish();
        let of_flows = |flow: &report::Flow| flow.forward.packets + flow.backward.packets;
        let listed: u64 = report.flows.iter().map(of_flows).sum();
        let skipped: u64 = report.skipped.values().sum();
        let all = listed + skipped + report.packets_of_unlisted_flows;
        prop_assert_eq!(all, packets.len() as u64);
        let document = crate::scetrace::document(&report);
        prop_assert!(document["TCP"].is_array());
    }
}

#[test]
fn a_constant_rate_that_nobody_answers_is_unresponsive_where_answers_would_be_seen() {
    // A datagram of 1000 bytes every 10 ms for ten seconds.
    let datagram = |source: u8, destination: u8| {
        let mut bytes = tcp(source, destination, 0, 0, 988);
        bytes[9] = ip::UDP;
        bytes[24..26].copy_from_slice(&1008_u16.to_be_bytes());
        bytes
    };
    let family = |others: &[Vec<u8>]| {
        let mut analyser = Analyser::new(Options::default());
        let mut take = |at: u64, bytes: &[u8]| {
            let ip = Ip::parse(bytes).expect("a packet");
            analyser.packet(Time(at), &Layers { ip, tunnel: None });
        };
        for bytes in others {
            take(0, bytes);
        }
        (0..1000).for_each(|number| take(number * 10_000_000, &datagram(1, 2)));
        let report = analyser.finish();
        let flow = report
            .flows
            .iter()
            .find(|flow| flow.forward.packets + flow.backward.packets >= 1000)
            .expect("it");
        flow.family.as_ref().map(|answer| answer.family)
    };
    assert_eq!(family(&[]), Some(report::Family::Unresponsive));
    assert_eq!(family(&[tcp(2, 1, 5, SYN, 0)]), Some(report::Family::Unresponsive));
    // It is answered; and of a capture with others, and nothing from its peer.
    assert_eq!(family(&[datagram(2, 1)]), None);
    assert_eq!(family(&[tcp(3, 4, 5, SYN, 0)]), None);
}
