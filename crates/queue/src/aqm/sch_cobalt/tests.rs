use super::super::{Event, Reason};
use super::*;
use crate::qdiscs::{build, change};
use sojourn_core::ecn::Ecn;

const MS: u64 = 1_000_000;

fn env() -> Env {
    Env::ethernet(Rng::named(1, "t"))
}

fn make(options: &str) -> JudgedFifo<SchCobalt> {
    JudgedFifo::read(options)
}

fn packet(id: u32, ecn: Ecn) -> Packet {
    Packet { id, len: 1514, tos: ecn as u8, ..Packet::default() }
}

/// Milliseconds since the first departure at which packets that waited `delay_ms` each, one per
/// millisecond, leave with `codepoint`.
fn marks(options: &str, delay_ms: u64, last: u64, ecn: Ecn, codepoint: Ecn) -> Vec<u64> {
    let (mut q, mut log) = (make(options), Log::default());
    let mut marked = Vec::new();
    for ms in 0..=delay_ms + last {
        q.enqueue(Time(ms * MS), packet(ms as u32, ecn), &mut log);
        if ms >= delay_ms {
            let pkt = q.dequeue(Time(ms * MS), &mut log).unwrap();
            if pkt.ecn() == codepoint {
                marked.push(ms - delay_ms);
            }
        }
    }
    marked
}

// KAT cobalt2 1: steady first episodes, law 2022
#[test]
fn sce_and_ce_marks_of_a_steady_first_episode_are_those_of_2022() {
    let sce = [1, 18, 33, 45, 56, 66, 76, 85, 93];
    assert_eq!(marks("", 3, 93, Ecn::Ect0, Ecn::Ect1), sce);
    let ce = [1, 71, 129, 179, 224, 264, 302, 338];
    assert_eq!(marks("no-sce", 6, 338, Ecn::Ect0, Ecn::Ce), ce);
    assert_eq!(marks("no-sce", 3, 93, Ecn::Ect0, Ecn::Ect1), [0; 0]);
}

// KAT cobalt2 3
#[test]
fn mark_that_not_ect_packets_cannot_carry_waits_for_the_next_ect0() {
    let (mut q, mut log) = (make(""), Log::default());
    for id in 0..=200 {
        let now = Time(u64::from(id) * MS);
        let ecn = if id < 197 { Ecn::NotEct } else { Ecn::Ect0 };
        q.enqueue(now, packet(id, ecn), &mut log);
        if id >= 3 {
            let sent = q.dequeue(now, &mut log).unwrap();
            assert_eq!(sent.ecn() == Ecn::Ect1, sent.id == 197, "{}", sent.id);
            assert_eq!(q.judge.cobalt.sce_count > 1, sent.id >= 197, "{}", sent.id);
        }
    }
}

// KAT sce-queues 1
#[test]
fn twenty_thousand_packets_wait_without_a_limit_and_a_given_limit_holds() {
    for (options, held) in [("", 20_000), ("limit 300", 300)] {
        let (mut q, mut log) = (make(options), Log::default());
        for id in 0..20_000 {
            q.enqueue(Time::ZERO, packet(id, Ecn::Ect0), &mut log);
        }
        assert_eq!((q.backlog().packets, log.events().len()), (held, 20_000 - held as usize));
    }
}

#[test]
fn last_packet_is_never_judged() {
    let (mut q, mut log) = (make(""), Log::default());
    for n in 0..1000 {
        q.enqueue(Time(n * 1000 * MS), packet(n as u32, Ecn::Ect0), &mut log);
        let sent = q.dequeue(Time((n * 1000 + 900) * MS), &mut log).unwrap();
        assert_eq!(sent.ecn(), Ecn::Ect0);
    }
    assert!(log.is_empty());
}

#[test]
fn blue_drops_ect_packets_after_400_ms_of_delay() {
    let share = |delay_ms: u64| {
        let (mut q, mut log) = (make(""), Log::default());
        for ms in 0..delay_ms + 2000 {
            q.enqueue(Time(ms * MS), packet(ms as u32, Ecn::Ect0), &mut log);
            if ms >= delay_ms && q.fifo.queue.packets.len() as u64 > delay_ms {
                q.dequeue(Time(ms * MS), &mut log);
            }
        }
        log.drain().filter(|e| matches!(e, Event::Drop(_, Reason::Blue))).count()
    };
    assert_eq!(share(390), 0);
    assert!(share(500) > 50);
}

#[test]
fn parameters_are_those_of_the_family_and_sce_is_on() {
    let text = |options: &str| build(&format!("cobalt {options}"), env()).unwrap().describe();
    assert_eq!(text(""), "cobalt rtt 100ms target 5ms sce-thresh 4");
    assert_eq!(text("sce rtt 40ms"), "cobalt rtt 40ms target 5ms sce-thresh 1");
    assert_eq!(text("rtt 40ms"), "cobalt rtt 40ms target 5ms sce-interval 25ms");
    let mut q = build("cobalt limit 7 no-sce", env()).unwrap();
    change(&mut *q, Time::ZERO, "cobalt target 1ms", &mut Log::default()).unwrap();
    assert_eq!(q.describe(), "cobalt limit 7p rtt 100ms target 1ms no-sce");
    for options in ["bandwidth 1Mbit", "sce-thresh 0", "law 2020", "overhead 4"] {
        assert!(build(&format!("cobalt {options}"), env()).is_err(), "{options}");
    }
}
