use super::super::Event;
use super::hosts::FlowMode;
use super::params::Version;
use super::priority::TinMode;
use super::shaper::RateTargets;
use super::*;
use crate::aqm::virtual_clock::ByteTime;
use crate::qdiscs::{build, change};
use sojourn_core::packet::FlowId;

mod filter_and_sce;

const MS: u64 = 1_000_000;
const FULL: u64 = 242_240;

fn make(options: &str) -> Box<dyn Qdisc> {
    build(&format!("cake {options}"), Env::ethernet(Rng::named(1, "t"))).unwrap()
}

fn concrete(options: &str) -> Cake {
    let spec: Spec = format!("cake {options}").parse().unwrap();
    Cake::new(*spec.params().unwrap(), Env::ethernet(Rng::named(1, "t")))
}

fn packet(flow: u32, id: u32) -> Packet {
    let flow = FlowId(2 * flow);
    Packet { id, flow, hash: flow.0, len: 1514, tos: 2, ..Packet::default() }
}

fn stat(q: &dyn Qdisc, name: &str) -> f64 {
    let mut stats = Stats::default();
    q.stats(&mut stats);
    stats.value(name).unwrap_or_else(|| panic!("{name} in {stats:?}"))
}

/// Serves the queue from `from` on, awake when it asks to be, until `until` or `most` packets.
fn serve(q: &mut dyn Qdisc, from: u64, until: u64, most: usize) -> Vec<(u64, Packet)> {
    let (mut log, mut now, mut sent) = (Log::default(), from, Vec::new());
    while sent.len() < most {
        if let Some(pkt) = q.dequeue(Time(now), &mut log) {
            sent.push((now, pkt));
        } else {
            let wake = q.wake();
            if wake > Time(until) {
                break;
            }
            assert!(wake > Time(now), "sends nothing although awake");
            now = wake.0;
            q.on_wake(wake, &mut log);
        }
    }
    sent
}

/// Serves the queue while each of `flows` always has two packets waiting. Packets per flow.
fn saturate(q: &mut dyn Qdisc, flows: &[Packet], until: u64) -> Vec<usize> {
    let mut log = Log::default();
    for pkt in flows.iter().chain(flows) {
        q.enqueue(Time::ZERO, *pkt, &mut log);
    }
    let (mut now, mut counts) = (0, vec![0; flows.len()]);
    while now < until {
        if let Some(pkt) = q.dequeue(Time(now), &mut log) {
            let i = flows.iter().position(|f| f.id == pkt.id).unwrap();
            counts[i] += 1;
            q.enqueue(Time(now), flows[i], &mut log);
        } else {
            now = q.wake().0;
        }
    }
    assert!(!log.events().iter().any(|e| matches!(e, Event::Drop(..))));
    counts
}

// KAT cake 1
#[test]
fn rates_give_the_kernels_targets_and_quanta() {
    for (text, ns, shift, mtu_time, target, interval, quantum) in [
        ("50Mbit", 10737418240, 26, 242_240, 5_000_000, 100_000_000, 1514),
        ("1Mbit", 16777216000, 21, 12_112_000, 18_168_000, 113_168_000, 300),
        ("2Mbit", 16777216000, 22, 6_056_000, 9_084_000, 104_084_000, 300),
        ("100kbit", 10485760000, 17, 121_120_000, 181_680_000, 363_360_000, 300),
        ("4Mbit", 16777216000, 23, 3_028_000, 5_000_000, 100_000_000, 300),
        ("10Mbit", 13421772800, 24, 1_211_200, 5_000_000, 100_000_000, 305),
    ] {
        let rate = Rate::parse_tc(text).unwrap().bytes_per_sec();
        let t = RateTargets::new(rate, 5 * MS, 100 * MS);
        assert_eq!((t.time.ns, t.time.shift), (ns, shift), "{text}");
        assert_eq!((t.mtu_time, t.target, t.interval), (mtu_time, target, interval), "{text}");
        // 50 Mbit exceeds a frame: 6250000 >> 12 = 1525.
        assert_eq!(t.flow_quantum, quantum, "{text}");
    }
    assert_eq!(ByteTime::new(0).of(1514), 0);
    assert_eq!(ByteTime::new(1), ByteTime::new(64));
}

// KAT cake 2
#[test]
fn memory_limit_follows_from_rate_and_rtt() {
    for (options, limit) in [
        ("bandwidth 50Mbit", 4_194_304),
        ("bandwidth 200Mbit", 10_000_000),
        ("", 15_503_360),
        ("bandwidth 10Gbit", 15_503_360),
        ("memlimit 32Mb", 32 << 20),
        ("memlimit 100kb", 100 << 10),
    ] {
        assert_eq!(stat(&*make(options), "memory_limit"), f64::from(limit), "{options}");
    }
}

// KAT cake 6
#[test]
fn saturated_shaper_departs_exactly_every_frame_time() {
    let mut q = make("bandwidth 50Mbit");
    for id in 0..100 {
        q.enqueue(Time(77), packet(1, id), &mut Log::default());
    }
    let sent = serve(&mut *q, 77, u64::MAX - 1, 100);
    let times: Vec<u64> = sent.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, (0..100).map(|i| 77 + i * FULL).collect::<Vec<_>>());
}

// Linux 6.12 sch_cake.c cake_enqueue(), cake_advance_shaper().
#[test]
fn pause_earns_no_burst() {
    let mut q = make("bandwidth 50Mbit");
    q.enqueue(Time(0), packet(1, 0), &mut Log::default());
    assert_eq!(serve(&mut *q, 0, 0, 9).len(), 1);
    for id in 1..4 {
        q.enqueue(Time(1000 * MS), packet(1, id), &mut Log::default());
    }
    let times: Vec<u64> = serve(&mut *q, 1000 * MS, u64::MAX - 1, 9).iter().map(|s| s.0).collect();
    assert_eq!(times, [0, 1, 2].map(|i| 1000 * MS + i * FULL));
}

// KAT cake 3
#[test]
fn late_service_is_made_up_without_bound() {
    let mut q = make("bandwidth 50Mbit");
    for id in 0..100 {
        q.enqueue(Time(0), packet(1, id), &mut Log::default());
    }
    assert_eq!(serve(&mut *q, 0, 0, 100).len(), 1);
    // One packet was due when the service stalled for 10 ms.
    let late = FULL + 10 * MS;
    assert_eq!(serve(&mut *q, late, late, 100).len(), 1 + 41);
}

// KAT cake 4
#[test]
fn sizes_on_the_wire_follow_the_keywords() {
    for (options, wire) in [
        ("raw", 1514),
        ("overhead 0", 1500),
        ("conservative", 1749),
        ("ethernet", 1538),
        ("ethernet ether-vlan", 1542),
        ("docsis", 1518),
        ("pppoe-ptm", 1530 + 24),
        ("bridged-ptm", 1522 + 24),
        ("pppoa-vcmux", 32 * 53),
        ("overhead -20 noatm", 1480),
    ] {
        let mut q = make(options);
        q.enqueue(Time::ZERO, packet(1, 0), &mut Log::default());
        assert_eq!(stat(&*q, "max_adj_size"), f64::from(wire), "{options}");
    }
    let mut q = make("ethernet");
    q.enqueue(Time::ZERO, Packet { len: 54, ..packet(1, 0) }, &mut Log::default());
    assert_eq!((stat(&*q, "min_network_size"), stat(&*q, "min_adj_size")), (40.0, 84.0));
}

// Linux 6.12 sch_cake.c cake_config_diffserv3() and its siblings.
#[test]
fn codepoints_find_their_tins() {
    let tin = |mode: TinMode, dscp| mode.tin(dscp, Version::Mainline);
    let in_tin = |mode, t| (0..64).filter(|d| tin(mode, *d) == t).collect::<Vec<u8>>();
    assert_eq!(in_tin(TinMode::Diffserv3, 1), [1, 8]);
    assert_eq!(in_tin(TinMode::Diffserv3, 2), [4, 44, 46, 48, 56]);
    assert_eq!(in_tin(TinMode::Diffserv4, 3), [32, 40, 44, 46, 48, 56]);
    let video = [4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38];
    assert_eq!(in_tin(TinMode::Diffserv4, 2), video);
    assert_eq!(in_tin(TinMode::Diffserv8, 0), [1]);
    assert_eq!(in_tin(TinMode::Diffserv8, 1), [2, 8, 10, 12, 14]);
    assert_eq!(in_tin(TinMode::Diffserv8, 7), [48, 56]);
    assert_eq!(in_tin(TinMode::Precedence, 5), (40..48).collect::<Vec<u8>>());
    assert_eq!(in_tin(TinMode::Besteffort, 0).len(), 64);
    assert_eq!(TinMode::Diffserv3.tin(1, Version::Chromi), 0);
    assert_eq!(TinMode::Diffserv8.tin(1, Version::Chromi), 2);
}

#[test]
fn eight_tins_fall_by_an_eighth_each() {
    let q = make("diffserv8 bandwidth 64Mbit");
    assert_eq!(stat(&*q, "tin0.thresh"), 64e6);
    assert_eq!(stat(&*q, "tin2.thresh"), 49e6);
    let shares = [0, 1, 2, 7].map(|i| TinMode::Precedence.share(i, 8000).1);
    assert_eq!(shares, [256, 224, 196, 98]);
}

// KAT cake 7
#[test]
fn dual_srchost_halves_between_hosts_of_one_and_four_flows() {
    let flows: Vec<Packet> =
        (0..5).map(|i| Packet { src: u16::from(i > 0), ..packet(i, i) }).collect();
    let counts = saturate(&mut *make("bandwidth 50Mbit dual-srchost"), &flows, 2_000 * MS);
    let total: usize = counts.iter().sum();
    let share = counts[0] as f64 / total as f64;
    assert!((share - 0.5).abs() < 0.01, "{counts:?}");
    let counts = saturate(&mut *make("bandwidth 50Mbit flows"), &flows, 2_000 * MS);
    let share = counts[0] as f64 / counts.iter().sum::<usize>() as f64;
    assert!((share - 0.2).abs() < 0.01, "{counts:?}");
}

#[test]
fn isolation_counts_the_hosts_that_its_mode_names() {
    // One destination with one flow, one with four, all of one source.
    let flows: Vec<Packet> =
        (0..5).map(|i| Packet { dst: u16::from(i > 0), ..packet(i, i) }).collect();
    for (mode, expected) in [
        ("dual-srchost", 0.2),
        ("dual-dsthost", 0.5),
        ("triple-isolate", 0.2),
        ("dsthost", 0.5),
        ("hosts", 0.5),
        ("srchost", 0.2),
    ] {
        let options = format!("bandwidth 50Mbit {mode}");
        let counts = saturate(&mut *make(&options), &flows, 2_000 * MS);
        let share = counts[0] as f64 / counts.iter().sum::<usize>() as f64;
        assert!((share - expected).abs() < 0.01, "{mode} {counts:?}");
    }
}

// KAT cake 8
#[test]
fn flowblind_is_one_fifo() {
    let mut q = make("flowblind besteffort");
    for id in 0..200 {
        q.enqueue(Time::ZERO, packet(id % 7, id), &mut Log::default());
    }
    let order: Vec<u32> = serve(&mut *q, 0, 0, 200).iter().map(|(_, p)| p.id).collect();
    assert_eq!(order, (0..200).collect::<Vec<_>>());
}

// KAT cake 9
#[test]
fn ninth_flow_of_a_set_collides() {
    let mut q = make("besteffort flows");
    for i in 0..9 {
        let pkt = Packet { hash: 1024 * (i + 1) + 16 + i % 8, ..packet(i, i) };
        q.enqueue(Time::ZERO, pkt, &mut Log::default());
    }
    assert_eq!(stat(&*q, "tin0.way_cols"), 1.0);
    assert_eq!(stat(&*q, "tin0.way_miss"), 8.0);
    assert_eq!(stat(&*q, "tin0.sp_flows"), 8.0);
}

#[test]
fn flow_keeps_the_other_place_of_its_set_while_it_is_in_use() {
    let mut tin = concrete("besteffort flows").tins.remove(0);
    let (mode, params) = (FlowMode::Flows, Params::default());
    let mut rng = Rng::named(1, "t");
    let pkt = |hash| Packet { hash, ..packet(0, 0) };
    for (hash, place) in [(1029, 5), (2053, 6), (2053, 6), (1029, 5)] {
        let index = tin.queue_of(&pkt(hash), mode);
        tin.activate(index, &params, &mut rng);
        assert_eq!(index, place);
    }
    assert_eq!((tin.counters.way_misses, tin.counters.way_hits), (2, 1));
}

// KAT cake 10
#[test]
fn voice_is_held_to_a_quarter_and_bulk_to_a_sixteenth() {
    for (tos, share) in [(46 << 2, 0.25), (8 << 2, 1.0 / 16.0)] {
        let flows = [packet(0, 0), Packet { tos: tos | 2, ..packet(1, 1) }];
        let counts = saturate(&mut *make("bandwidth 50Mbit"), &flows, 2_000 * MS);
        let second = counts[1] as f64 / (counts[0] + counts[1]) as f64;
        assert!((second - share).abs() < 0.01, "{counts:?}");
    }
}

#[test]
fn without_a_rate_tins_share_by_their_quanta() {
    let flows = [packet(0, 0), Packet { tos: (46 << 2) | 2, ..packet(1, 1) }];
    let mut q = make("unlimited");
    for pkt in flows.iter().cycle().take(2000) {
        q.enqueue(Time::ZERO, *pkt, &mut Log::default());
    }
    let voice = serve(&mut *q, 0, 0, 1000).iter().filter(|(_, p)| p.id == 1).count();
    assert!((190..=210).contains(&voice), "{voice}");
}

#[test]
fn overflow_drops_the_head_of_the_longest_queue_and_turns_blue_on() {
    let mut q = concrete("besteffort flows memlimit 46080");
    let mut log = Log::default();
    // Twenty frames of 2304 bytes fit.
    for id in 0..15 {
        q.enqueue(Time(MS), packet(1, id), &mut log);
    }
    for id in 15..22 {
        q.enqueue(Time(MS), packet(2, id), &mut log);
    }
    let lost: Vec<u32> = log
        .drain()
        .map(|event| match event {
            Event::Drop(p, Reason::FlowOverlimit) => p.id,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(lost, [0, 1]);
    assert_eq!((stat(&q, "tin0.drops"), stat(&q, "tin0.un_flows")), (2.0, 1.0));
    assert_eq!((stat(&q, "drop_overlimit"), stat(&q, "memory_used")), (2.0, 48_384.0));
}

#[test]
fn last_packet_of_a_flow_is_never_dropped() {
    let mut q = make("besteffort");
    let mut log = Log::default();
    for i in 0..200 {
        q.enqueue(Time(i * 50 * MS), Packet { tos: 0, ..packet(1, 0) }, &mut log);
        assert!(q.dequeue(Time(i * 50 * MS + 40 * MS), &mut log).is_some());
    }
    assert!(log.is_empty());
}

#[test]
fn ingress_charges_dropped_packets_to_the_shaper() {
    let departures = |mode: &str| {
        let mut q = make(&format!("besteffort bandwidth 50Mbit memlimit 23040 {mode}"));
        for id in 0..30 {
            q.enqueue(Time(0), packet(1, id), &mut Log::default());
        }
        serve(&mut *q, 0, u64::MAX - 1, 1)[0].0
    };
    assert_eq!(departures("egress"), 0);
    // Twenty drops are charged to one clock; the other, of deliveries only, lets the packet out.
    assert_eq!(departures("ingress"), 0);
    let mut q = concrete("besteffort bandwidth 50Mbit memlimit 23040 ingress");
    for id in 0..30 {
        q.enqueue(Time(0), packet(1, id), &mut Log::default());
    }
    assert_eq!(q.shaper.next, Time(20 * FULL));
    let times: Vec<u64> = serve(&mut q, 0, u64::MAX - 1, 3).iter().map(|s| s.0).collect();
    assert_eq!(times, [0, FULL * 3 / 2, FULL * 3]);
}

#[test]
fn wash_clears_the_codepoint_after_its_use() {
    let mut q = make("bandwidth 50Mbit wash");
    q.enqueue(Time(0), Packet { tos: (46 << 2) | 1, ..packet(1, 0) }, &mut Log::default());
    assert_eq!(stat(&*q, "voice.pkts"), 1.0);
    assert_eq!(serve(&mut *q, 0, 0, 1)[0].1.tos, 1);
    assert!(q.describe().contains(" wash "));
}

// Linux 6.12 sch_cake.c cake_enqueue(), autorate-ingress.
#[test]
fn autorate_settles_near_the_rate_of_arrivals() {
    let (mut q, mut log) = (make("bandwidth 100Mbit autorate-ingress besteffort"), Log::default());
    let mut now = 0;
    for id in 0..60_000 {
        // 20 Mbit/s, with a longer gap every 16 frames.
        now += 605_600 + if id % 16 == 0 { 100_000 } else { 0 };
        q.enqueue(Time(now), packet(1, id), &mut log);
        while q.dequeue(Time(now), &mut log).is_some() {}
    }
    let capacity = stat(&*q, "capacity_estimate");
    assert!((19e6..20.5e6).contains(&capacity), "{capacity}");
    let thresh = stat(&*q, "tin0.thresh");
    assert!((0.9..0.96).contains(&(thresh / capacity)), "{thresh} of {capacity}");
}

#[test]
fn change_of_rate_keeps_packets_and_fewer_tins_drop_theirs() {
    let (mut q, mut log) = (make("bandwidth 50Mbit"), Log::default());
    for id in 0..4 {
        let tos = if id == 3 { 46 << 2 } else { 2 };
        q.enqueue(Time(0), Packet { tos, ..packet(1, id) }, &mut log);
    }
    change(&mut *q, Time(0), "cake bandwidth 5Mbit besteffort", &mut log).unwrap();
    assert_eq!(q.backlog().packets, 3);
    assert!(q.wake() <= Time(0));
    let mut now = Time(0);
    let mut times = Vec::new();
    while q.backlog().packets > 0 {
        match q.dequeue(now, &mut log) {
            Some(pkt) => times.push((now.0, pkt.id)),
            None => now = q.wake(),
        }
    }
    assert_eq!(times, [(0, 0), (10 * FULL, 1), (20 * FULL, 2)]);
    let purged: Vec<Event> = log.drain().collect();
    assert!(matches!(purged[..], [Event::Drop(Packet { id: 3, .. }, Reason::Purge)]));
}

#[test]
fn every_keyword_round_trips() {
    for options in [
        "wash nat ingress ack-filter no-split-gso fwmark 0xff datacentre",
        "docsis diffserv dual-dsthost rtt 37ms memlimit 3Mb",
        "overhead -14 atm mpu 64 precedence autorate-ingress",
        "bandwidth 1001bit interplanetary pppoe-llcsnap ether-vlan",
        "bandwidth 10Mbit autorate-ingress raw ptm hosts",
    ] {
        let text = make(options).describe();
        let again = make(text.strip_prefix("cake ").unwrap()).describe();
        assert_eq!(text, again, "{options}");
    }
}

#[test]
fn presets_of_the_round_trip_time_set_target_and_interval() {
    for (word, target, interval) in
        [("datacentre", 5, 100), ("metro", 500, 10_000), ("satellite", 50_000, 1_000_000)]
    {
        let q = make(word);
        assert_eq!(stat(&*q, "best_effort.target"), f64::from(target), "{word}");
        assert_eq!(stat(&*q, "best_effort.interval"), f64::from(interval), "{word}");
    }
}

#[test]
fn values_out_of_range_are_refused() {
    for (options, message) in [
        ("sce-thresh 0", "cake: `sce-thresh 0`: expected a whole number from 1 to 1024"),
        (
            "ethernet ethernet ethernet ethernet ethernet ethernet ethernet",
            "cake: overheads add up to 266: expected at most 256, as for `overhead`",
        ),
        ("overhead 300", "cake: `overhead 300`: expected a whole number from -64 to 256"),
        ("rtt 5000s", "cake: `rtt 5000s`: expected a time such as `100ms`, up to 4294s"),
    ] {
        let error = build(&format!("cake {options}"), Env::ethernet(Rng::named(1, "t"))).err();
        assert_eq!(error.unwrap().0, message);
    }
}
