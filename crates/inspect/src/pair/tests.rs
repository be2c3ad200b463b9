use std::net::Ipv4Addr;

use proptest::prelude::*;
use sojourn_capture::LinkType;
use sojourn_core::{Ecn, Rng};
use sojourn_wire::{Addresses, ip};

use super::*;
use crate::report::pair::{DscpChange, FlagChange, Way};

const MS: u64 = 1_000_000;
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 9, 9);
const NAT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// What a box does to packets on the way to the server.
#[derive(Clone, Copy, Debug)]
struct Middle {
    /// Of a hundred packets.
    lost: u32,
    marked: u32,
    bleaches: bool,
    clears_ae: bool,
    strips_options: bool,
    dscp: u8,
    translates: bool,
    changes_ids: bool,
    /// Delays vary by this, so that packets overtake each other, ns.
    jitter: u64,
    /// Bytes that captures keep.
    snap: usize,
    /// The server's clock is ahead, and gains this number of millionths.
    ahead: u64,
    ppm: u64,
}

/// A segment of a connection, or its acknowledgement.
fn segment(from_client: bool, number: u32, tos: u8) -> Vec<u8> {
    let (source, destination, ports) =
        if from_client { (CLIENT, SERVER, [4000_u16, 80]) } else { (SERVER, CLIENT, [80, 4000]) };
    let addresses = Addresses::V4 { source, destination };
    let header = ip::Header { addresses, protocol: ip::TCP, tos, id: number as u16 };
    let data = if from_client { 100 } else { 0 };
    let mut out = [0; 300];
    let packet = header.write(&mut out, 32 + data).expect("room");
    let body = &mut packet[20..];
    body[..2].copy_from_slice(&ports[0].to_be_bytes());
    body[2..4].copy_from_slice(&ports[1].to_be_bytes());
    let (seq, ack) = if from_client { (number * 100, 1) } else { (1, number * 100) };
    body[4..8].copy_from_slice(&seq.to_be_bytes());
    body[8..12].copy_from_slice(&ack.to_be_bytes());
    // AE, ACK; NOP, NOP, timestamps.
    body[12..14].copy_from_slice(&[0x81, 0x10]);
    body[20..24].copy_from_slice(&[1, 1, 8, 10]);
    body[24..28].copy_from_slice(&(number / 4).to_be_bytes());
    packet.to_vec()
}

#[derive(Debug, Default, PartialEq)]
struct Truth {
    sent: u64,
    lost: u64,
    marked: u64,
}

/// The packet behind the box.
fn pass(mut bytes: Vec<u8>, by: &Middle, is_marked: bool) -> Vec<u8> {
    let ecn = match (is_marked, by.bleaches) {
        (true, _) => Ecn::Ce,
        (_, true) => Ecn::NotEct,
        _ => Ecn::from_tos(bytes[1]),
    };
    ip::set_tos(&mut bytes, by.dscp << 2 | ecn as u8);
    bytes[8] -= 3;
    if by.clears_ae {
        bytes[32] &= 0xf0;
    }
    if by.strips_options {
        bytes[40..52].fill(1);
    }
    if by.changes_ids {
        let id = u16::from_be_bytes([bytes[4], bytes[5]]).wrapping_mul(31).wrapping_add(7);
        bytes[4..6].copy_from_slice(&id.to_be_bytes());
    }
    bytes
}

/// A connection of some seconds, seen before and behind the box; data take 10 ms, acknowledgements 8 ms.
fn run(by: Middle, seed: u64, options: Options) -> (Report, Truth) {
    let mut rng = Rng::named(seed, "pair");
    let mut truth = Truth::default();
    let [mut first, mut second] = [Vec::new(), Vec::new()];
    let behind = |at: u64| at + by.ahead + at * by.ppm / 1_000_000;
    for number in 0..3000_u32 {
        let at = u64::from(number) * 5 * MS;
        let data = segment(true, number, Ecn::Ect1 as u8);
        first.push((at, data.clone()));
        truth.sent += 1;
        if rng.below(100) < by.lost {
            truth.lost += 1;
            continue;
        }
        let is_marked = rng.below(100) < by.marked;
        truth.marked += u64::from(is_marked);
        // A mark is of a queue: 2 ms; every other packet finds none.
        let queue = if is_marked { 2 * MS } else { u64::from(rng.below(2)) * MS };
        let jitter = if by.jitter > 0 { u64::from(rng.below(by.jitter as u32)) } else { 0 };
        let arrived = at + 10 * MS + queue + jitter;
        let mut data = pass(data, &by, is_marked);
        let mut ack = segment(false, number, 0);
        let returned = ack.clone();
        if by.translates {
            data[12..16].copy_from_slice(&NAT.octets());
            data[20..22].copy_from_slice(&60_000_u16.to_be_bytes());
            ack[16..20].copy_from_slice(&NAT.octets());
            ack[22..24].copy_from_slice(&60_000_u16.to_be_bytes());
        }
        second.push((behind(arrived), data));
        second.push((behind(arrived) + 1, ack));
        let mut returned = returned;
        returned[8] -= 3;
        first.push((arrived + 8 * MS, returned));
    }
    (join([first, second], by.snap, options), truth)
}

fn join(captures: [Vec<(u64, Vec<u8>)>; 2], snap: usize, options: Options) -> Report {
    let mut joiner = Joiner::new(options);
    let mut captures = captures.map(|mut packets| {
        packets.sort_by_key(|(at, _)| *at);
        packets.into_iter()
    });
    while let Some(point) = joiner.wants() {
        match captures[point].next() {
            Some((at, bytes)) => {
                let kept = &bytes[..bytes.len().min(snap)];
                let layers = dissect(LinkType::RAW, kept).expect("a packet");
                joiner.packet(point, Time(1_000_000_000_000 + at), &layers);
            }
            None => joiner.end(point),
        }
    }
    joiner.finish()
}

fn forward(report: &Report) -> &Way {
    assert_eq!(report.flows.len(), 1, "{:?}", report.flows);
    &report.flows[0].forward
}

const PLAIN: Middle = Middle {
    lost: 0,
    marked: 0,
    bleaches: false,
    clears_ae: false,
    strips_options: false,
    dscp: 0,
    translates: false,
    changes_ids: false,
    jitter: 0,
    snap: 96,
    ahead: 0,
    ppm: 0,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn losses_marks_and_clocks_are_found(
        seed in any::<u64>(), lost in 0..30_u32, marked in 0..40_u32, jitter in 0..30_u64,
        ahead in 0..3000_u64, ppm in 0..100_u64, snap in 60..200_usize,
        changes_ids in any::<bool>(), translates in any::<bool>(),
    ) {
        let by = Middle {
            lost, marked, jitter: jitter * MS, ahead: ahead * MS, ppm, snap, changes_ids, translates, ..PLAIN
        };
        let options = Options { translated: translates, ..Options::default() };
        let (report, truth) = run(by, seed, options);
        let way = forward(&report);
        // Before the first and behind the last packet that both have, nobody knows.
        let missed = way.lost + report.outside[0];
        prop_assert_eq!((way.both, missed, way.added), (truth.sent - truth.lost, truth.lost, 0));
        prop_assert!(report.outside[0] < 20);
        prop_assert_eq!(way.path.marked(), truth.marked);
        prop_assert_eq!(way.first_before, Some(true));
        prop_assert_eq!(report.flows[0].backward.both, truth.sent - truth.lost);
        prop_assert_eq!(report.flows[0].translated.is_some(), translates);
        // Packets leave every 5 ms, and queues differ by 2 ms.
        prop_assert!(jitter > 3 || way.reordered == 0, "{}", way.reordered);
        prop_assert!(jitter < 8 || way.reordered > 0);
        prop_assert_eq!(way.hops, Some([3, 3]));
        let clocks = report.clocks.expect("both directions");
        let slack = 4.0 * clocks.skew_error_ppm + 0.5;
        prop_assert!((clocks.skew_ppm - ppm as f64).abs() <= slack, "{ppm} {clocks:?}");
        let [offset, error] = [clocks.offset_s, clocks.offset_error_s].map(Option::unwrap);
        prop_assert!((offset - ahead as f64 / 1e3).abs() <= error + 1e-4, "{ahead} {clocks:?}");
    }
}

#[test]
fn what_a_box_changes_is_listed() {
    let by = Middle { bleaches: true, clears_ae: true, strips_options: true, dscp: 10, ..PLAIN };
    let (report, truth) = run(by, 1, Options::default());
    let way = forward(&report);
    assert_eq!((way.path.bleached(), way.path.marked()), (truth.sent, 0));
    assert_eq!(way.dscp, [DscpChange { from: 0, to: 10, packets: truth.sent }]);
    assert_eq!(way.tcp_flags["AE"], FlagChange { set: 0, cleared: truth.sent });
    assert_eq!(way.options_removed, [(8, truth.sent)].into());
    assert!(report.flows[0].backward.tcp_flags.is_empty());
}

#[test]
fn a_queue_that_marks_is_longer_when_it_does() {
    let (report, truth) = run(Middle { marked: 20, ..PLAIN }, 1, Options::default());
    let way = forward(&report);
    let [marked, unmarked] =
        [way.queue_delay_marked_ms, way.queue_delay_unmarked_ms].map(Option::unwrap);
    assert_eq!((marked.n, unmarked.n), (truth.marked, truth.sent - truth.marked));
    assert!(
        (marked.mean - 2.0).abs() < 1e-6 && unmarked.max < 1.0 + 1e-6,
        "{marked:?} {unmarked:?}"
    );
    let one_way = way.one_way_ms.expect("both directions");
    assert!((one_way.min - 9.0).abs() < 1e-3, "10 and 8 ms are taken for 9 each: {one_way:?}");
}

#[test]
fn the_order_of_the_captures_does_not_matter() {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for number in 0..100 {
        let at = u64::from(number) * 5 * MS;
        first.push((at, segment(true, number, 1)));
        second.push((at + 10 * MS, segment(true, number, 3)));
        second.push((at + 11 * MS, segment(false, number, 0)));
        first.push((at + 20 * MS, segment(false, number, 0)));
    }
    let there = join([first.clone(), second.clone()], 100, Options::default());
    let back = join([second, first], 100, Options::default());
    let [way, other] = [&there, &back].map(|report| &report.flows[0].forward);
    assert_eq!((way.first_before, other.first_before), (Some(true), Some(false)));
    assert_eq!((way.path.marked(), other.path), (100, way.path));
    assert_eq!(
        there.clocks.and_then(|it| it.base_rtt_ms),
        back.clocks.and_then(|it| it.base_rtt_ms)
    );
}

/// The second capture began later and ended earlier; what it lacks is not lost.
#[test]
fn captures_need_not_begin_and_end_together() {
    let data = |number: u32, at| (at + u64::from(number) * MS, segment(true, number, 1));
    let first = (0..5000).map(|number| data(number, 0)).collect();
    let second = (2000..4000).map(|number| data(number, 10 * MS)).collect();
    let options = Options { window_packets: 1000, ..Options::default() };
    let report = join([first, second], 100, options);
    let way = forward(&report);
    assert_eq!((way.both, way.lost, way.added), (2000, 0, 0));
    assert_eq!(report.outside, [3000, 0]);
}

#[test]
fn windows_have_a_bound() {
    let packets = |source: bool| {
        (0..5000_u32).map(move |number| (u64::from(number), segment(source, number, 1))).collect()
    };
    let options = Options { window_packets: 100, ..Options::default() };
    let report = join([packets(true), packets(false)], 100, options);
    assert_eq!((report.matched, report.given_up), (0, [4900, 4900]));
    assert_eq!(report.outside, [5000, 5000]);
}
