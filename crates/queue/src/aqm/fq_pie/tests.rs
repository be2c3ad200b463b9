use super::super::Event;
use super::*;
use crate::qdiscs::{build, change};
use sojourn_core::ecn::Ecn;
use sojourn_core::packet::FlowId;
use sojourn_core::units::Dur;

fn env() -> Env {
    Env::ethernet(Rng::named(1, "t"))
}

fn packet(id: u32, flow: u32, ecn: Ecn) -> Packet {
    let hash = flow.wrapping_mul(0x4000_0000);
    Packet { id, flow: FlowId(flow), hash, len: 1514, tos: ecn as u8, ..Packet::default() }
}

fn value(q: &dyn Qdisc, name: &str) -> f64 {
    let mut stats = Stats::default();
    q.stats(&mut stats);
    stats.value(name).unwrap()
}

/// Everything that happened to the packets of an overloaded 10 Mbit/s link: id, fate, instant.
fn overload(text: &str, flows: u32, ecn: Ecn) -> Vec<(u32, char, u64)> {
    let (mut q, mut log) = (build(text, env()).unwrap(), Log::default());
    let (mut now, mut id, mut fates) = (Time::ZERO, 0, Vec::new());
    while now.0 < 5_000_000_000 {
        for _ in 0..if id % 5 == 0 { 2 } else { 1 } {
            id += 1;
            q.enqueue(now, packet(id, id % flows, ecn), &mut log);
        }
        if let Some(p) = q.dequeue(now, &mut log) {
            fates.push((p.id, 's', now.0));
        }
        for event in log.drain() {
            match event {
                Event::Mark(p, _) => fates.push((p.id, 'm', now.0)),
                Event::Drop(p, _) => fates.push((p.id, 'd', now.0)),
                Event::Duplicate(p) => panic!("fq_pie copied {}", p.id),
            }
        }
        now += Dur(1_211_200);
        while q.wake() <= now {
            let due = q.wake();
            q.on_wake(due, &mut log);
        }
    }
    fates
}

#[test]
fn one_flow_is_one_pie_queue() {
    for ecn in [Ecn::Ect0, Ecn::NotEct] {
        let alone = overload("pie ecn limit 10240", 1, ecn);
        assert!(alone.iter().any(|f| f.1 == if ecn == Ecn::Ect0 { 'm' } else { 'd' }));
        assert_eq!(overload("fq_pie ecn flows 1", 1, ecn), alone);
    }
}

#[test]
fn flow_without_a_queue_of_its_own_suffers_nothing() {
    let (mut q, mut log) = (build("fq_pie", env()).unwrap(), Log::default());
    let (mut now, mut id, mut harmed) = (Time::ZERO, 0, [0; 2]);
    while now.0 < 10_000_000_000 {
        // Flow 0 doubles the link's rate, flow 1 takes a tenth of it.
        for flow in [0, 0, 1].into_iter().take(if id % 7 == 0 { 3 } else { 2 }) {
            id += 1;
            q.enqueue(now, packet(id, flow, Ecn::NotEct), &mut log);
        }
        q.dequeue(now, &mut log);
        for event in log.drain() {
            let Event::Drop(p, _) = event else { panic!("{event:?}") };
            harmed[p.flow.0 as usize] += 1;
        }
        now += Dur(1_211_200);
        while q.wake() <= now {
            let due = q.wake();
            q.on_wake(due, &mut log);
        }
    }
    assert!(harmed[0] > 1000 && harmed[1] == 0, "{harmed:?}");
}

#[test]
fn ecn_prob_bounds_the_marks() {
    let count =
        |text: &str, fate| overload(text, 1, Ecn::Ect0).iter().filter(|f| f.1 == fate).count();
    // Marks do not relieve this load: the probability passes every bound, a higher one later.
    let marks = ["5", "10", "100"].map(|p| count(&format!("fq_pie ecn flows 1 ecn_prob {p}"), 'm'));
    assert!(0 < marks[0] && marks[0] < marks[1] && 2 * marks[1] < marks[2], "{marks:?}");
    assert_eq!(count("fq_pie ecn flows 1", 'm'), marks[1]);
    assert!(count("fq_pie flows 1", 'm') == 0);
}

#[test]
fn memory_is_counted_and_the_limit_drops_the_arrival() {
    let text = "fq_pie limit 50 memory_limit 20kb";
    let (mut q, mut log) = (build(text, env()).unwrap(), Log::default());
    for id in 0..60 {
        q.enqueue(Time::ZERO, packet(id, id % 4, Ecn::Ect0), &mut log);
    }
    let dropped: Vec<u32> = log
        .drain()
        .map(|e| match e {
            Event::Drop(p, Reason::TailLimit) => p.id,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(dropped, (50..60).collect::<Vec<_>>());
    // 20 kB and one packet are exceeded by ten packets of 2304 bytes: all from the eleventh on.
    assert_eq!(value(&*q, "overmemory"), 40.0);
    assert_eq!((value(&*q, "memory_used"), value(&*q, "overlimit")), (50.0 * 2304.0, 10.0));
}

#[test]
fn large_table_is_updated_in_batches_of_2048() {
    let (mut q, mut log) = (build("fq_pie flows 5000", env()).unwrap(), Log::default());
    q.enqueue(Time::ZERO, packet(1, 1, Ecn::Ect0), &mut log);
    let mut wakes = Vec::new();
    for _ in 0..6 {
        wakes.push(q.wake().0 / 1_000_000);
        q.on_wake(q.wake(), &mut log);
    }
    assert_eq!(wakes, [504, 505, 506, 522, 523, 524]);
}

#[test]
fn number_of_flows_cannot_change() {
    let mut q = build("fq_pie ecn target 5ms", env()).unwrap();
    assert!(change(&mut *q, Time::ZERO, "fq_pie flows 5", &mut Log::default()).is_err());
    change(&mut *q, Time::ZERO, "fq_pie limit 5", &mut Log::default()).unwrap();
    assert_eq!(
        q.describe(),
        "fq_pie limit 5p flows 1024 quantum 1514 memory_limit 32Mb ecn_prob 10 target 5ms \
         tupdate 15ms alpha 2 beta 20 ecn nobytemode no_dq_rate_estimator version mainline"
    );
}
