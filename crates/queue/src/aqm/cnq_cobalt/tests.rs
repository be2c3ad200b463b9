use super::super::sce_shell::InShell;
use super::super::{Env, Qdisc};
use super::*;
use crate::qdiscs::{build, change};
use sojourn_core::ecn::Ecn;
use sojourn_core::rng::Rng;

const MS: u64 = 1_000_000;

fn make(options: &str) -> InShell<CnqCobalt> {
    InShell::read(options)
}

fn packet(id: u32, flow: u32, ecn: Ecn) -> Packet {
    Packet { id, hash: flow, len: 1514, tos: ecn as u8, ..Packet::default() }
}

fn ids(q: &mut InShell<CnqCobalt>, now: Time) -> Vec<u32> {
    let mut log = Log::default();
    std::iter::from_fn(|| q.dequeue(now, &mut log)).map(|pkt| pkt.id).collect()
}

// KAT cnq 1
#[test]
fn first_packets_of_idle_flows_overtake_the_bulk() {
    let (mut q, mut log) = (make(""), Log::default());
    for (id, flow) in [(1, 7), (2, 7), (3, 7), (11, 8)] {
        q.enqueue(Time::ZERO, packet(id, flow, Ecn::Ect0), &mut log);
    }
    assert_eq!(ids(&mut q, Time::ZERO), [1, 11, 2, 3]);
}

#[test]
fn flow_is_sparse_again_only_when_its_dummy_has_passed() {
    let (mut q, mut log) = (make(""), Log::default());
    for (id, flow) in [(1, 7), (2, 7), (3, 7), (11, 8)] {
        q.enqueue(Time::ZERO, packet(id, flow, Ecn::Ect0), &mut log);
    }
    assert_eq!(q.dequeue(Time::ZERO, &mut log).unwrap().id, 1);
    assert_eq!(q.dequeue(Time::ZERO, &mut log).unwrap().id, 11);
    // Flow 8 has nothing waiting, but its dummy is queued behind flow 7.
    q.enqueue(Time::ZERO, packet(12, 8, Ecn::Ect0), &mut log);
    assert_eq!(ids(&mut q, Time::ZERO), [2, 3, 12]);
    q.enqueue(Time::ZERO, packet(4, 7, Ecn::Ect0), &mut log);
    q.enqueue(Time::ZERO, packet(5, 7, Ecn::Ect0), &mut log);
    q.enqueue(Time::ZERO, packet(13, 8, Ecn::Ect0), &mut log);
    assert_eq!(ids(&mut q, Time::ZERO), [4, 13, 5]);
}

// KAT sce-queues 1
#[test]
fn twenty_thousand_packets_wait_without_a_limit_and_a_given_limit_holds() {
    for (options, held) in [("", 20_000), ("limit 300", 300)] {
        let (mut q, mut log) = (make(options), Log::default());
        for id in 0..20_000 {
            q.enqueue(Time::ZERO, packet(id, 7, Ecn::Ect0), &mut log);
        }
        assert_eq!((q.backlog().packets, log.events().len()), (held, 20_000 - held as usize));
    }
}

// KAT cake 6: the same shaper
#[test]
fn saturated_departures_are_one_frame_time_apart() {
    let (mut q, mut log) = (make("bandwidth 50Mbit"), Log::default());
    for id in 0..10 {
        q.enqueue(Time(5), packet(id, 7, Ecn::Ect0), &mut log);
    }
    let mut now = Time(5);
    for i in 0..10 {
        assert_eq!(now, Time(5 + i * 242_240));
        assert!(q.dequeue(now, &mut log).is_some());
        assert!(q.dequeue(now, &mut log).is_none());
        now = q.wake();
        q.on_wake(now, &mut log);
    }
}

/// Marks of a queue that is 10 packets deep for a second; 1 ms per packet.
fn marks(options: &str, ecn: Ecn) -> (u32, u32) {
    let (mut q, mut log) = (make(options), Log::default());
    let (mut sce, mut ce) = (0, 0);
    for id in 0..1010 {
        let now = Time(u64::from(id) * MS);
        q.enqueue(now, packet(id, 7, ecn), &mut log);
        if id >= 10 {
            let sent = q.dequeue(now, &mut log).unwrap().ecn();
            sce += u32::from(sent == Ecn::Ect1);
            ce += u32::from(sent == Ecn::Ce);
        }
    }
    (sce, ce)
}

#[test]
fn sce_is_off_until_asked_for_and_marks_more_often_than_ce() {
    let (sce, ce) = marks("", Ecn::Ect0);
    assert_eq!(sce, 0);
    assert!((20..60).contains(&ce), "{ce}");
    let (sce, with_sce) = marks("sce-thresh 4 law 2022", Ecn::Ect0);
    assert!(sce > 2 * with_sce && with_sce > 20, "{sce} {with_sce}");
    assert_eq!(marks("sce", Ecn::NotEct), (0, 0));
}

#[test]
fn rtt_comes_before_sce_whatever_the_order_and_alone_leaves_sce_as_it_was() {
    let text = |q: &dyn Qdisc| q.describe();
    let env = || Env::ethernet(Rng::named(1, "t"));
    let mut q = build("cnq_cobalt sce-thresh 4 rtt 40ms", env()).unwrap();
    assert!(text(&*q).contains("rtt 40ms target 5ms sce-thresh 4 "), "{}", text(&*q));
    change(&mut *q, Time::ZERO, "cnq_cobalt rtt 100ms", &mut Log::default()).unwrap();
    assert!(text(&*q).contains("rtt 100ms target 5ms sce-thresh 10 "), "{}", text(&*q));
    change(&mut *q, Time::ZERO, "cnq_cobalt rtt 101ms", &mut Log::default()).unwrap();
    assert!(text(&*q).contains("sce-interval 10ms"), "{}", text(&*q));
    change(&mut *q, Time::ZERO, "cnq_cobalt no-sce bandwidth 40Mbit", &mut Log::default()).unwrap();
    assert!(text(&*q).contains("rtt 101ms target 5ms no-sce bandwidth 40Mbit"), "{}", text(&*q));
    assert!(change(&mut *q, Time::ZERO, "cnq_cobalt uptime 3s", &mut Log::default()).is_err());
    assert!(build("cnq_cobalt sce-thresh 1025", env()).is_err());
    assert!(build("cnq_cobalt sce-thresh 0", env()).is_err());
}

#[test]
fn change_of_bandwidth_keeps_packets_and_state() {
    let (mut q, mut log) = (make("bandwidth 50Mbit"), Log::default());
    for id in 0..4 {
        q.enqueue(Time::ZERO, packet(id, 7, Ecn::Ect0), &mut log);
    }
    assert!(q.dequeue(Time::ZERO, &mut log).is_some());
    change(&mut q, Time::ZERO, "cnq_cobalt bandwidth 5Mbit", &mut Log::default()).unwrap();
    assert_eq!(q.backlog().packets, 3);
    // The packet already charged keeps its old time, the next has the new one.
    assert!(q.dequeue(Time(242_239), &mut log).is_none());
    assert!(q.dequeue(Time(242_240), &mut log).is_some());
    assert!(q.dequeue(Time(242_240 + 2_422_399), &mut log).is_none());
    assert!(q.dequeue(Time(242_240 + 2_422_400), &mut log).is_some());
}

#[test]
fn super_packets_are_split_unless_the_parameters_say_otherwise() {
    let pkt = packet(1, 7, Ecn::Ect0);
    for (options, splits) in [("", true), ("no_split_gso", false), ("no_split_gso split_gso", true)]
    {
        let q = make(options);
        assert_eq!(q.splits(&pkt), splits, "{options}");
        assert_eq!(q.describe().contains("no_split_gso"), !splits, "{options}");
    }
    let mut q = make("");
    change(&mut q, Time::ZERO, "cnq_cobalt no_split_gso", &mut Log::default()).unwrap();
    assert!(!q.splits(&pkt));
    change(&mut q, Time::ZERO, "cnq_cobalt split_gso nonsense", &mut Log::default()).unwrap_err();
    assert!(!q.splits(&pkt), "a refused change changes nothing");
}
