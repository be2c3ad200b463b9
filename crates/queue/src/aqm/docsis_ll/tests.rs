use super::super::Event;
use super::*;
use crate::qdiscs::{build, change};
use sojourn_core::ecn::Ecn;
use sojourn_core::packet::FlowId;

fn env() -> Env {
    Env::ethernet(Rng::named(1, "t"))
}

fn make(options: &str) -> DocsisLl {
    let spec: Spec = format!("docsis_ll {options}").parse().unwrap();
    DocsisLl::new(*spec.params().unwrap(), env())
}

fn packet(flow: u32, tos: u8) -> Packet {
    Packet { flow: FlowId(flow), hash: flow * 33, len: 1514, tos, ..Packet::default() }
}

const ECT1: u8 = Ecn::Ect1 as u8;
const ECT0: u8 = Ecn::Ect0 as u8;
const NOT_ECT_NQB: u8 = NQB << 2;

fn fill(q: &mut DocsisLl, now: Time, pkt: Packet, packets: u32) -> Vec<Event> {
    let mut log = Log::default();
    (0..packets).for_each(|_| q.enqueue(now, pkt, &mut log));
    log.drain().collect()
}

// KAT docsis-ll 3: MINTH 475 us, range 2^19 ns, and the floor of two frames.
#[test]
fn ramp_rises_over_two_to_the_nineteen_nanoseconds() {
    let q = make("");
    for (ns, expected) in
        [(475_000, 0.0), (475_000 + (1 << 18), 0.5), (999_288, 1.0), (9e9 as u64, 1.0)]
    {
        assert_eq!(q.native(Dur(ns)), expected, "{ns}");
    }
    // 2 * 1514 bytes: 242 us at 100 Mbit/s, 2422 us at 10 Mbit/s.
    assert_eq!(make("rate 100Mbit").min_th, Dur::from_micros(475));
    let q = make("rate 10Mbit");
    assert_eq!((q.min_th, q.range), (Dur(2_422_400), Dur(524_288)));
    assert_eq!(q.native(Dur(2_422_400 + (1 << 18))), 0.5);
}

// KAT docsis-ll 1: A 0.25, B 2.5, target 10 ms; decay below 5 ms; +2 % above 200 ms.
#[test]
fn base_probability_follows_the_docsis_law() {
    let law = Params::default().law;
    let mut base = BaseProbability::default();
    base.update(&law, Dur::from_millis(20));
    assert!((base.value - (0.25 * 0.010 + 2.5 * 0.020)).abs() < 1e-12, "{}", base.value);
    base.update(&law, Dur::from_millis(20));
    assert!((base.value - 0.055).abs() < 1e-12, "{}", base.value);
    let mut base = BaseProbability::default();
    base.value = 0.5;
    base.update(&law, Dur::ZERO);
    assert!((base.value - (0.5 - 0.0025) * 0.98).abs() < 1e-12, "{}", base.value);
    base.update(&law, Dur::from_millis(6));
    let grown = (0.5 - 0.0025) * 0.98 - 0.001 + 0.015;
    assert!((base.value - grown).abs() < 1e-12, "{}", base.value);
    let mut base = BaseProbability::default();
    base.update(&law, Dur::from_millis(201));
    assert!((base.value - (0.25 * 0.191 + 2.5 * 0.201 + 0.02)).abs() < 1e-12, "{}", base.value);
}

// KAT docsis-ll 4: the coupling factor is 2, and Classic has the square, for packets of 1024 bytes.
#[test]
fn classic_drops_by_the_square_and_low_latency_is_marked_by_twice_the_base() {
    const N: u32 = 100_000;
    let mut q = make("limit 1Gb noqprotect");
    q.base.value = 0.1;
    let marks = fill(&mut q, Time::ZERO, packet(2, ECT1), N);
    assert!(marks.len().abs_diff(20_000) <= 1, "{}", marks.len());
    assert!(marks.iter().all(|e| matches!(e, Event::Mark(_, Reason::Coupled))));
    // A drop waits until 0.85 has accrued: 1 / (0.85 / p + 1 / p) packets.
    let drops = fill(&mut q, Time::ZERO, Packet { len: 1024, ..packet(4, ECT0) }, N);
    let expected = f64::from(N) * 0.01 / 1.85;
    assert!(
        (drops.len() as f64 - expected).abs() < 5.0 * 0.55 * expected.sqrt(),
        "{}",
        drops.len()
    );
    assert!(drops.iter().all(|e| matches!(e, Event::Drop(_, Reason::Pi))));
}

// KAT docsis-ll 2: de-randomisation; the probability is scaled by size and capped at 0.85.
#[test]
fn no_drop_before_eighty_five_percent_has_accrued_and_one_at_eight_and_a_half() {
    let mut rng = Rng::named(1, "t");
    for _ in 0..1000 {
        let mut spacing = Spacing::default();
        let first = (1..2000).find(|_| spacing.drops(0.01, 1024, 9999, &mut rng)).unwrap();
        assert!((85..=851).contains(&first), "{first}");
    }
    let mut spacing = Spacing::default();
    assert!((0..1000).all(|_| !spacing.drops(1.0, 1514, 2048, &mut rng)));
    // Twice the size, half the wait: 43 packets of 2048 bytes at 1 %.
    let first = (1..2000).find(|_| spacing.drops(0.01, 2048, 9999, &mut rng)).unwrap();
    assert!((43..=426).contains(&first), "{first}");
}

// KAT docsis-ll 5: the low-latency queue has 230 of 256 parts.
#[test]
fn low_latency_has_230_of_256_parts_of_a_busy_link() {
    let (mut q, mut log) = (make("limit 1Gb noqprotect"), Log::default());
    fill(&mut q, Time::ZERO, packet(2, ECT0), 5000);
    fill(&mut q, Time::ZERO, packet(4, ECT1), 5000);
    let low_latency =
        (0..2560).filter(|_| q.dequeue(Time::ZERO, &mut log).unwrap().flow == FlowId(4)).count();
    assert!(low_latency.abs_diff(2300) <= 1, "{low_latency}");
}

// KAT queue-protection 1: the sanction is reclassification or a drop.
#[test]
fn flow_that_builds_a_queue_is_moved_to_classic_and_a_quiet_one_stays() {
    let mut q = make("rate 100Mbit");
    let events = fill(&mut q, Time::ZERO, packet(2, ECT1), 100);
    let stayed = q.queue.packets(Side::L4s);
    // Nine frames are 1.09 ms at 100 Mbit/s, the end of the ramp is 1.00 ms.
    assert!((9..15).contains(&stayed), "{stayed}");
    assert_eq!(stayed + q.queue.packets(Side::Classic), 100);
    assert!(events.iter().all(|e| matches!(e, Event::Mark(..))));
    fill(&mut q, Time::ZERO, packet(4, ECT1), 1);
    assert_eq!(q.queue.packets(Side::L4s), stayed + 1);
    let mut stats = Stats::default();
    q.stats(&mut stats);
    assert_eq!(stats.value("sanctioned"), Some(100.0 - stayed as f64));

    let mut q = make("rate 100Mbit sanction drop");
    let dropped = fill(&mut q, Time::ZERO, packet(2, ECT1), 100)
        .iter()
        .filter(|e| matches!(e, Event::Drop(_, Reason::Protection)))
        .count();
    assert_eq!((dropped, q.backlog().packets as usize), (100 - stayed, stayed));
    let mut q = make("rate 100Mbit noqprotect");
    fill(&mut q, Time::ZERO, packet(2, ECT1), 100);
    assert_eq!(q.queue.packets(Side::L4s), 100);
}

#[test]
fn ecn_and_the_dscp_of_non_queue_building_select_the_queue() {
    for (options, nqb_side) in [("", Side::L4s), ("nonqb", Side::Classic)] {
        for (tos, side) in [
            (0, Side::Classic),
            (ECT0, Side::Classic),
            (ECT1, Side::L4s),
            (Ecn::Ce as u8, Side::L4s),
            (NOT_ECT_NQB, nqb_side),
        ] {
            let mut q = make(options);
            fill(&mut q, Time::ZERO, packet(2, tos), 1);
            assert_eq!(q.queue.packets(side), 1, "{options} {tos}");
        }
    }
}

#[test]
fn traffic_without_ecn_in_the_low_latency_queue_is_never_signalled() {
    let mut q = make("rate 100Mbit noqprotect");
    q.base.value = 1.0;
    assert!(fill(&mut q, Time::ZERO, packet(2, NOT_ECT_NQB), 100).is_empty());
    assert_eq!(q.queue.packets(Side::L4s), 100);
}

#[test]
fn low_latency_delay_is_an_age_without_a_rate_and_bytes_with_one() {
    let now = Time(3_000_000);
    for (options, low_latency) in [("", 3_000), ("rate 10Mbit", 1_211)] {
        let mut q = make(options);
        fill(&mut q, Time::ZERO, packet(2, ECT1), 1);
        assert_eq!(q.delay(Side::Classic, now), Dur::ZERO);
        fill(&mut q, Time::ZERO, packet(4, ECT0), 2);
        assert_eq!(q.delay(Side::L4s, now).as_micros(), low_latency, "{options}");
        assert_eq!(q.delay(Side::Classic, now).as_micros(), 3_000, "{options}");
    }
}

#[test]
fn timer_runs_in_intervals_until_the_base_probability_rests() {
    let (mut q, mut log) = (make(""), Log::default());
    fill(&mut q, Time(1), packet(2, ECT0), 1);
    assert_eq!(q.wake(), Time(16_000_000));
    q.on_wake(Time(16_000_000), &mut log);
    assert!(q.base.value > 0.04);
    assert!(q.dequeue(Time(17_000_000), &mut log).is_some());
    q.on_wake(Time(32_000_000), &mut log);
    q.on_wake(Time(48_000_000), &mut log);
    assert_eq!((q.base.value, q.wake()), (0.0, Time::NEVER));
}

#[test]
fn change_keeps_packets_probability_and_scores() {
    let mut q = make("rate 100Mbit");
    fill(&mut q, Time::ZERO, packet(2, ECT1), 100);
    let (held, scored) = (q.backlog(), q.protection.occupied(Time::ZERO));
    change(&mut q, Time::ZERO, "docsis_ll rate 10Mbit target 20ms", &mut Log::default()).unwrap();
    assert_eq!((q.backlog(), q.protection.occupied(Time::ZERO)), (held, scored));
    assert_eq!((q.min_th, scored), (Dur(2_422_400), 1));
    for wrong in ["bi_size 17", "bi_size 16 attempts 3", "lg_aging 31", "lg_range 41", "sanction x"]
    {
        assert!(build(&format!("docsis_ll {wrong}"), env()).is_err(), "{wrong}");
    }
}
