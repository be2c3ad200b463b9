use super::super::sce_shell::InShell;
use super::super::{Env, Qdisc};
use super::*;
use crate::qdiscs::{build, change};
use sojourn_core::ecn::Ecn;
use sojourn_core::rng::Rng;

const MS: u64 = 1_000_000;

fn make(options: &str) -> InShell<TwinCodelAf> {
    InShell::read(options)
}

fn packet(flow: u32, tos: u8) -> Packet {
    Packet { hash: flow, len: 1514, tos: tos | Ecn::Ect0 as u8, ..Packet::default() }
}

/// Packets of each class served out of 4000, with three flows of class 1 and one of class 0, each
/// with always 20 packets waiting.
fn served(options: &str) -> [u32; 2] {
    let (mut q, mut log) = (make(options), Log::default());
    for i in 0..80 {
        let flow = i % 4;
        q.enqueue(Time::ZERO, packet(flow, if flow == 0 { 0 } else { 0x10 }), &mut log);
    }
    // From the state in which no dummy waits; the early chooser counts a flow with one as idle.
    for class in 0..2 {
        for _ in 0..[1, 3][class] {
            let (pkt, is_bulk) = q.inside.classes[class].pop().unwrap();
            assert!(!is_bulk);
            q.shell.backlog.remove(&pkt);
        }
        q.inside.classes[class].drop_leading_dummies();
    }
    let mut served = [0; 2];
    for _ in 0..4000 {
        let sent = q.dequeue(Time::ZERO, &mut log).unwrap();
        served[usize::from(sent.tos & 0x10 != 0)] += 1;
        q.enqueue(Time::ZERO, packet(sent.hash, sent.tos & 0x10), &mut log);
    }
    served
}

// KAT twin 1
#[test]
fn classes_share_by_their_numbers_of_flows() {
    for options in ["", "chooser early"] {
        let [ordinary, low] = served(options);
        assert!(ordinary.abs_diff(1000) <= 10 && low.abs_diff(3000) <= 10, "{ordinary} {low}");
    }
}

// chromi/sce 2020 sch_twin_codel_af.
#[test]
fn early_chooser_stalls_when_the_ordinary_class_runs_empty_in_its_turn() {
    for (chooser, expected) in [("early", 2), ("later", 11)] {
        let (mut q, mut log) = (make(&format!("chooser {chooser}")), Log::default());
        for _ in 0..10 {
            q.enqueue(Time::ZERO, packet(100, 0x10), &mut log);
        }
        q.enqueue(Time::ZERO, packet(1, 0), &mut log);
        let sent = std::iter::from_fn(|| q.dequeue(Time::ZERO, &mut log)).count();
        assert_eq!((sent, q.backlog().packets as usize), (expected, 11 - expected), "{chooser}");
        // A packet for the ordinary class leaves at once.
        q.enqueue(Time::ZERO, packet(1, 0), &mut log);
        assert_eq!(q.dequeue(Time::ZERO, &mut log).unwrap().tos >> 2, 0);
    }
}

/// Codepoints that leave a queue of one flow in the class of `tos`, one packet per millisecond
/// with a standing delay of `delay_us`.
fn marks(options: &str, tos: u8, delay_us: u64) -> [u32; 4] {
    let (mut q, mut log) = (make(options), Log::default());
    let (mut now, mut marks) = (0, [0; 4]);
    q.enqueue(Time(now), packet(7, tos), &mut log);
    for _ in 0..1000 {
        q.enqueue(Time(now), packet(7, tos), &mut log);
        q.enqueue(Time(now), packet(7, tos), &mut log);
        now += delay_us * 1000;
        for _ in 0..2 {
            let sent = q.dequeue(Time(now), &mut log).unwrap();
            marks[usize::from(sent.tos & 3)] += 1;
        }
    }
    marks
}

#[test]
fn low_latency_class_has_a_fifth_of_the_thresholds() {
    let [ordinary, low] = [0, 0x10].map(|tos| marks("law 2022", tos, 800));
    assert_eq!(ordinary[Ecn::Ect1 as usize], 0, "0.8 ms is below 2.5 ms");
    assert!(low[Ecn::Ect1 as usize] > 50, "{low:?}");
    assert_eq!(low[Ecn::Ce as usize], 0, "0.8 ms is below 1 ms");
    assert_eq!(marks("law 2022 no-sce", 0x10, 800)[Ecn::Ect0 as usize], 2000);
    assert!(marks("law 2022", 0x10, 1200)[Ecn::Ce as usize] > 5);
    // Other codepoints than DSCP 4 are ordinary.
    assert_eq!(marks("law 2022", 0x14, 800)[Ecn::Ect1 as usize], 0);
}

#[test]
fn default_sce_is_sce_thresh_4() {
    let env = || Env::ethernet(Rng::named(1, "t"));
    let plain = build("twin_codel_af bandwidth 50Mbit", env()).unwrap().describe();
    let four = build("twin_codel_af bandwidth 50Mbit sce-thresh 4", env()).unwrap().describe();
    assert_eq!(plain, four);
}

#[test]
fn change_keeps_packets_of_both_classes_and_shapes_at_the_new_rate() {
    let (mut q, mut log) = (make("bandwidth 50Mbit"), Log::default());
    for _ in 0..3 {
        q.enqueue(Time::ZERO, packet(1, 0), &mut log);
        q.enqueue(Time::ZERO, packet(2, 0x10), &mut log);
    }
    change(&mut q, Time::ZERO, "twin_codel_af bandwidth 5Mbit sce-thresh 4", &mut Log::default())
        .unwrap();
    assert_eq!(q.backlog().packets, 6);
    let mut now = Time::ZERO;
    for i in 0..6 {
        assert_eq!(now, Time(i * 2_422_400));
        assert!(q.dequeue(now, &mut log).is_some() && q.dequeue(now, &mut log).is_none());
        now = q.wake();
        q.on_wake(now, &mut log);
    }
    assert!(log.is_empty() && now < Time(20 * MS));
}

// KAT sce-queues 1
#[test]
fn twenty_thousand_packets_wait() {
    let (mut q, mut log) = (make(""), Log::default());
    for i in 0..20_000 {
        q.enqueue(Time::ZERO, packet(i % 3, [0, 0x10][i as usize % 2]), &mut log);
    }
    assert_eq!(q.backlog().packets, 20_000);
}
