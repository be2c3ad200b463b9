use super::super::Event;
use super::*;
use crate::qdiscs::{build, change};
use sojourn_core::ecn::Ecn;
use sojourn_core::rng::Rng;

// Times, orders and counters marked "Linux 7.2" were read from that kernel under the same packets
// of 1028 bytes.

const LEN: u32 = 1028;

fn make(options: &str) -> Fq {
    let spec: Spec = format!("fq {options}").parse().unwrap();
    Fq::new(*spec.params().unwrap(), &Env::ethernet(Rng::named(1, "t")))
}

/// The packet carries its flow's TOS byte and its own number.
fn packet(flow: u32, number: u32, tos: u8) -> Packet {
    Packet { id: number, hash: flow, len: LEN, tos, ..Packet::default() }
}

fn stat(q: &Fq, name: &str) -> f64 {
    let mut stats = Stats::default();
    q.stats(&mut stats);
    stats.value(name).unwrap()
}

/// Flow, number and microsecond of everything that leaves before `until` over an infinitely fast
/// wire, as each of `arrivals` (flow, number, TOS, microsecond) comes.
fn drive(q: &mut Fq, arrivals: &[(u32, u32, u8, u64)], until_us: u64) -> Vec<(u32, u32, u64)> {
    let (mut log, mut sent) = (Log::default(), Vec::new());
    let mut serve = |q: &mut Fq, now: Time| {
        while let Some(p) = q.dequeue(now, &mut Log::default()) {
            sent.push((p.hash, p.id, now.0.div_ceil(1000)));
        }
    };
    let end = (0, 0, 0, until_us);
    for (i, (flow, number, tos, us)) in arrivals.iter().chain([&end]).enumerate() {
        let at = Time(us * 1000);
        while q.wake() <= at {
            let due = q.wake();
            q.on_wake(due, &mut log);
            serve(q, due);
        }
        if i < arrivals.len() {
            q.enqueue(at, packet(*flow, *number, *tos), &mut log);
            serve(q, at);
        }
    }
    sent
}

/// `count` packets of each of `flows`, which are (flow, TOS), in turn at one instant.
fn burst(flows: &[(u32, u8)], first: u32, count: u32, us: u64) -> Vec<(u32, u32, u8, u64)> {
    (first..first + count).flat_map(|n| flows.iter().map(move |f| (f.0, n, f.1, us))).collect()
}

/// How many packets left at each instant, within a microsecond.
fn trains(sent: &[(u32, u32, u64)]) -> Vec<(u64, usize)> {
    let mut trains: Vec<(u64, usize)> = Vec::new();
    for (_, _, us) in sent {
        match trains.last_mut() {
            Some((at, n)) if *at == *us => *n += 1,
            _ => trains.push((*us, 1)),
        }
    }
    trains
}

fn assert_trains(sent: &[(u32, u32, u64)], linux: &[(u64, usize)]) {
    let ours = trains(sent);
    let close = |((a, n), (b, m)): (&(u64, usize), &(u64, usize))| a.abs_diff(*b) <= 2 && n == m;
    assert!(ours.len() == linux.len() && ours.iter().zip(linux).all(close), "{ours:?} {linux:?}");
}

// Linux 7.2
#[test]
fn two_flows_are_paced_each_at_maxrate_a_quantum_at_a_time() {
    let mut q = make("maxrate 8mbit quantum 2056 initial_quantum 4112");
    let sent = drive(&mut q, &burst(&[(0, 0), (1, 0)], 0, 12, 0), 1_000_000);
    assert_trains(&sent, &[(0, 8), (2066, 4), (4121, 4), (6178, 4), (8233, 4)]);
    let order: Vec<(u32, u32)> = sent[8..12].iter().map(|s| (s.0, s.1)).collect();
    assert_eq!(order, [(0, 4), (0, 5), (1, 4), (1, 5)]);
    assert_eq!(
        (stat(&q, "throttled"), stat(&q, "inactive"), stat(&q, "fastpath")),
        (8.0, 2.0, 0.0)
    );
}

// Linux 7.2
#[test]
fn slack_delays_a_release_and_the_next_pause_makes_up_for_it() {
    let options = "maxrate 8mbit quantum 2056 initial_quantum 4112 timer_slack";
    let run = |slack: &str| {
        let mut q = make(&format!("{options} {slack}"));
        let sent = drive(&mut q, &burst(&[(0, 0)], 0, 16, 0), 1_000_000);
        (sent, stat(&q, "latency"))
    };
    let (sent, latency) = run("1ms");
    let late = [(3055, 2), (5112, 2), (7168, 2), (9223, 2), (11280, 2), (13335, 2)];
    assert_trains(&sent, &[&[(0, 4)], &late[..]].concat());
    assert!((latency / 1000.0 - 551.0).abs() < 1.0, "{latency}");
    let (sent, latency) = run("0");
    assert_trains(&sent[..12], &[(0, 4), (2056, 2), (4112, 2), (6168, 2), (8224, 2)]);
    assert_eq!(latency, 0.0);
}

// Linux 7.2
#[test]
fn flow_limit_counts_the_packets_that_wait() {
    let mut q = make("maxrate 8mbit flow_limit 20");
    let sent = drive(&mut q, &burst(&[(0, 0), (1, 0)], 0, 60, 0), 1_000_000);
    let of = |flow| sent.iter().filter(|s| s.0 == flow).count();
    assert_eq!((of(0), of(1), stat(&q, "flows_plimit")), (35, 35, 50.0));
    assert_eq!(stat(&q, "throttled"), 14.0);
    assert_trains(
        &sent,
        &[(0, 30), (3038, 6), (6065, 6), (9093, 6), (12122, 6), (15150, 6), (18177, 6), (21206, 4)],
    );
}

// Linux 7.2
#[test]
fn low_rates_are_paced_by_packet_and_others_by_quantum() {
    let mut q = make("maxrate 400kbit");
    let sent = drive(&mut q, &burst(&[(0, 0)], 0, 6, 0), 1_000_000);
    let even = [(0, 1), (20570, 1), (41129, 1), (61689, 1), (82250, 1), (102809, 1)];
    assert_trains(&sent, &even);
    let mut q = make("maxrate 400kbit low_rate_threshold 100kbit");
    let sent = drive(&mut q, &burst(&[(0, 0)], 0, 26, 0), 1_000_000);
    assert_trains(&sent, &[(0, 15), (60569, 3), (121_129, 3), (181_689, 3), (242_249, 2)]);
}

// Linux 7.2
#[test]
fn pauses_are_at_most_a_second() {
    for rate in ["1kbit", "0"] {
        let mut q = make(&format!("maxrate {rate} low_rate_threshold 1kbit"));
        let sent = drive(&mut q, &burst(&[(0, 0)], 0, 3, 0), 2_500_000);
        assert_trains(&sent, &[(0, 1), (1_000_009, 1), (2_000_009, 1)]);
        assert_eq!(stat(&q, "pkts_too_long"), 3.0);
    }
}

// Linux 7.2
#[test]
fn limit_holds_in_each_band_and_the_turn_stays_with_the_last_band() {
    let mut q = make("maxrate 80kbit low_rate_threshold 100kbit limit 10");
    let flows = [(0, 0), (1, 0x08), (2, 0x10), (3, 0x10)];
    let sent = drive(&mut q, &burst(&flows, 0, 15, 0), 3_000_000);
    let order: Vec<(u32, u32)> = sent[4..16].iter().map(|s| (s.0, s.1)).collect();
    let rounds = [
        [(2, 1), (3, 1), (0, 1), (1, 1)],
        [(1, 2), (2, 2), (3, 2), (0, 2)],
        [(0, 3), (1, 3), (2, 3), (3, 3)],
    ];
    assert_eq!(order, rounds.concat());
    let drops = ["band0_drops", "band1_drops", "band2_drops"].map(|name| stat(&q, name));
    assert_eq!((drops, sent.len()), ([18.0, 4.0, 4.0], 34));
}

/// Flow and number of packets in a row from one flow, over a wire that has sent two packets when
/// the rest of `arrivals` is there.
fn backlogged(q: &mut Fq, arrivals: &[(u32, u32, u8, u64)]) -> Vec<(u32, usize)> {
    let (mut log, mut runs) = (Log::default(), Vec::<(u32, usize)>::new());
    let mut serve = |q: &mut Fq, ns| {
        let sent = q.dequeue(Time(ns), &mut Log::default());
        if let Some(p) = sent {
            match runs.last_mut() {
                Some((flow, n)) if *flow == p.hash => *n += 1,
                _ => runs.push((p.hash, 1)),
            }
        }
        sent.is_some()
    };
    for (i, (flow, number, tos, _)) in arrivals.iter().enumerate() {
        q.enqueue(Time::ZERO, packet(*flow, *number, *tos), &mut log);
        if i < 2 {
            serve(q, 0);
        }
    }
    let mut ns = 0;
    while serve(q, ns) {
        ns += 822_400;
    }
    runs
}

// Linux 7.2
#[test]
fn bands_share_by_weight_but_fresh_flows_begin_in_the_first() {
    let mut q = make("initial_quantum 2056 quantum 2056 weights 32768 16384 16384");
    let (low, others) = (burst(&[(2, 0x08)], 0, 40, 0), burst(&[(0, 0x10), (1, 0)], 0, 60, 0));
    let runs = backlogged(&mut q, &[low, others].concat());
    let expected =
        [(2, 12), (0, 2), (1, 2), (0, 26), (1, 16), (2, 16), (0, 32), (1, 16), (2, 12), (1, 26)];
    assert_eq!(runs, expected);
}

// Linux 7.2
#[test]
fn fresh_flow_waits_for_the_first_band_whatever_its_own() {
    for (old, fresh, order) in [
        (0x10, 0x08, vec![(0, 39), (1, 6), (0, 21)]),
        (0, 0, vec![(0, 60), (1, 6)]),
        (0x08, 0x10, vec![(0, 60), (1, 6)]),
    ] {
        let (mut q, mut log) = (make(""), Log::default());
        let (mut sent, mut arrivals) = (Vec::new(), burst(&[(0, old)], 0, 60, 0));
        arrivals.extend(burst(&[(1, fresh)], 0, 6, 30_000));
        // Two packets leave at once, the others one by one at 10 Mbit/s.
        let mut arrivals = arrivals.into_iter().peekable();
        for us in [0, 0].into_iter().chain((0..70).map(|n| 364 + n * 822)) {
            while let Some((flow, number, tos, _)) = arrivals.next_if(|a| a.3 <= us) {
                q.enqueue(Time(us * 1000), packet(flow, number, tos), &mut log);
                if sent.len() < 2 {
                    break;
                }
            }
            sent.extend(q.dequeue(Time(us * 1000), &mut log).map(|p| p.hash));
        }
        let mut runs = Vec::<(u32, usize)>::new();
        for flow in sent {
            match runs.last_mut() {
                Some((last, n)) if *last == flow => *n += 1,
                _ => runs.push((flow, 1)),
            }
        }
        assert_eq!(runs, order, "{old} {fresh}");
    }
}

// Linux 7.2
#[test]
fn new_flows_too_use_up_their_bands_credit() {
    let mut q = make("weights 16384 16384 16384 quantum 2056 initial_quantum 2056");
    let fresh: Vec<(u32, u8)> = (1..=30).map(|flow| (flow, 0x10)).collect();
    let runs =
        backlogged(&mut q, &[burst(&[(0, 0x08)], 0, 30, 0), burst(&fresh, 0, 2, 0)].concat());
    // All are here from the start, so flow 0 has its fast ten and two as a fresh flow of band 0.
    let sixteen = |flows: std::ops::Range<u32>| flows.map(|flow| (flow, 2)).collect::<Vec<_>>();
    let expected =
        [&[(0, 12)], &sixteen(1..8)[..], &[(0, 16)], &sixteen(8..16), &[(0, 2)]].concat();
    assert_eq!(runs[..expected.len()], expected);
}

// Linux 7.2
#[test]
fn band_of_a_flow_is_that_of_its_last_packet() {
    let mut q = make("weights 16384 16384 16384 quantum 2056 initial_quantum 2056");
    let both = burst(&[(0, 0), (1, 0)], 0, 30, 0);
    let runs = backlogged(&mut q, &[both, burst(&[(0, 0x10)], 30, 6, 0)].concat());
    let rest = [(0, 2), (1, 2), (0, 12), (1, 16), (0, 16), (1, 7), (0, 1)];
    assert_eq!(runs[10..], rest);
    let mut q = make("limit 10 maxrate 80kbit low_rate_threshold 100kbit");
    drive(&mut q, &[burst(&[(0, 0)], 0, 5, 0), burst(&[(0, 0x10)], 0, 15, 0)].concat(), 250_000);
    let counts = ["band0_pkts", "band1_pkts", "band0_drops"].map(|name| stat(&q, name));
    assert_eq!(counts, [10.0, 2.0, 5.0]);
}

// Linux 7.2
#[test]
fn flows_of_a_band_take_turns_of_a_quantum() {
    let mut q = make("initial_quantum 2056 quantum 2056 weights 16384 16384 16384");
    let flows = [(0, 0x10), (1, 0), (2, 0x08), (3, 0x10)];
    let runs = backlogged(&mut q, &burst(&flows, 0, 60, 0));
    let first = [(2, 2), (3, 2), (0, 2), (1, 2), (3, 2), (0, 2), (3, 2), (0, 2), (1, 16), (2, 16)];
    // The first ten took the fast path, in order of arrival; the tenth is flow 1's.
    assert_eq!(runs[10..20], first);
}

// Linux 7.2
#[test]
fn fast_path_is_a_fifo_of_eight_beside_the_limit() {
    let mut q = make("limit 3");
    let runs = backlogged(&mut q, &burst(&[(0, 0)], 0, 20, 0));
    assert_eq!(runs, [(0, 13)]);
    assert_eq!((stat(&q, "fastpath"), stat(&q, "band1_drops")), (10.0, 7.0));
    assert_eq!((stat(&q, "flows"), stat(&q, "inactive")), (1.0, 1.0));
    let mut q = make("maxrate 8mbit nopacing");
    assert_trains(&drive(&mut q, &burst(&[(0, 0)], 0, 30, 0), 10), &[(0, 30)]);
    assert_eq!(stat(&q, "fastpath"), 0.0);
}

// Linux 7.2
#[test]
fn only_a_flow_off_the_lists_is_refilled() {
    let run = |earlier: &[(u32, u32, u8, u64)], us: u64| {
        let mut q = make("maxrate 8mbit quantum 4112 initial_quantum 8224");
        let sent = drive(&mut q, &[earlier, &burst(&[(0, 0)], 10, 10, us)].concat(), 1_000_000);
        sent.into_iter().filter(|s| s.1 >= 10).collect::<Vec<_>>()
    };
    let first = burst(&[(0, 0)], 0, 10, 0);
    assert_trains(&run(&first, 220_050), &[(220_050, 2), (222_116, 4), (226_228, 4)]);
    // Service of a fresh flow takes the empty one off its list.
    let fresh = [&first[..], &[(1, 0, 0, 20_050)]].concat();
    assert_trains(&run(&fresh, 40_100), &[(40_100, 2), (42_166, 4), (46_278, 4)]);
    assert_trains(&run(&fresh, 65_100), &[(65_100, 4), (67_166, 4), (71_278, 2)]);
    // That of a flow of the same band which is new again does not.
    let again = [&[(1, 0, 0, 0)], &burst(&[(0, 0)], 0, 10, 20_050)[..], &[(1, 1, 0, 80_100)]];
    assert_trains(&run(&again.concat(), 140_150), &[(140_150, 2), (142_216, 4), (146_328, 4)]);
    // Credit that is left over stays.
    let fresh = [&first[..6], &[(1, 0, 0, 20_050)]].concat();
    assert_trains(&run(&fresh, 80_100), &[(80_100, 2), (84_222, 4), (88_334, 4)]);
}

// Linux 7.2
#[test]
fn ce_threshold_counts_packets_that_cannot_be_marked() {
    let mut q = make("maxrate 8mbit ce_threshold 1us quantum 2056 initial_quantum 4112");
    let (mut log, mut ce) = (Log::default(), 0);
    for (flow, number, tos, _) in burst(&[(0, 0), (1, Ecn::Ect0 as u8)], 0, 12, 0) {
        q.enqueue(Time::ZERO, packet(flow, number, tos), &mut log);
    }
    while q.backlog().packets > 0 {
        let now = if q.wake() == Time::NEVER { Time::ZERO } else { q.wake() };
        while let Some(p) = q.dequeue(now, &mut log) {
            ce += u32::from(p.ecn() == Ecn::Ce);
        }
    }
    let marks = log.drain().filter(|e| matches!(e, Event::Mark(_, Reason::CeThreshold))).count();
    assert_eq!((stat(&q, "ce_mark"), marks, ce), (16.0, 8, 8));
}

#[test]
fn change_keeps_what_it_does_not_name() {
    let env = || Env::ethernet(Rng::named(1, "t"));
    let mut q = build("fq maxrate 8Mbit buckets 3 orphan_mask 0xff", env()).unwrap();
    change(&mut *q, Time::ZERO, "fq quantum 0 horizon_cap", &mut Log::default()).unwrap();
    let described = "fq limit 10000p flow_limit 100p quantum 256b initial_quantum 15140b maxrate \
                     8Mbit low_rate_threshold 550kbit pacing refill_delay 40ms bands 3 priomap 1 2 2 \
                     2 1 2 0 0 1 1 1 1 1 1 1 1 weights 589824 196608 65536 orphan_mask 255 buckets 4 \
                     timer_slack 10us horizon 10s horizon_cap";
    assert_eq!(q.describe(), described);
    for options in [
        "weights 16383 16384 16384",
        "bands 2 priomap 0",
        "bands 3 0",
        "bands 3 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 3",
        "buckets 1",
        "buckets 262145",
        "initial_quantum 2147483648",
        "timer_slack 8s",
        "offload_horizon 1s",
    ] {
        assert!(build(&format!("fq {options}"), env()).is_err(), "{options}");
    }
}
