use super::*;
use crate::aqm::{Env, Event, Qdisc};
use crate::qdiscs::{build, change};
use sojourn_core::rng::Rng;

fn packet(id: u32) -> Packet {
    Packet { id, len: 1514, ..Packet::default() }
}

fn make(text: &str) -> Box<dyn Qdisc> {
    build(text, Env::ethernet(Rng::named(1, "t"))).unwrap()
}

#[test]
fn late_and_early_packets_with_equal_times_keep_the_order_of_arrival() {
    let mut line = DelayLine::default();
    for (id, at) in [(0, 50), (1, 20), (2, 20), (3, 50), (4, 60), (5, 50), (6, 20)] {
        line.insert(Time::ZERO, Time(at), packet(id));
    }
    let ids: Vec<u32> = std::iter::from_fn(|| line.pop().map(|p| p.id)).collect();
    assert_eq!(ids, [1, 2, 6, 0, 3, 5, 4]);
}

#[test]
fn only_what_delays_all_packets_equally_is_a_line() {
    for text in ["netem delay 10ms", "netem limit 10", "netem"] {
        assert!(make(text).line().is_some(), "{text}");
    }
    for text in [
        "netem delay 10ms 1ms",
        "netem delay 10ms loss 1%",
        "netem delay 10ms rate 1Mbit",
        "netem delay 10ms reorder 50% gap 5",
        "netem delay 10ms slot 1ms",
        "netem delay 10ms duplicate 1%",
        "pfifo",
    ] {
        assert!(make(text).line().is_none(), "{text}");
    }
}

#[test]
fn what_has_overtaken_others_makes_it_no_line_until_it_has_left() {
    let (mut q, mut log) = (make("netem delay 10ms reorder 100% gap 1"), Log::default());
    q.enqueue(Time::ZERO, packet(0), &mut log);
    change(q.as_mut(), Time::ZERO, "netem delay 10ms reorder 0%", &mut log).unwrap();
    assert_eq!(q.dequeue(Time::ZERO, &mut log).map(|pkt| pkt.id), Some(0));
}

#[test]
fn packets_go_the_same_way_through_the_line_as_through_the_queue() {
    let (mut queue, mut line) = (make("netem delay 3ms limit 4"), make("netem delay 3ms limit 4"));
    let (mut of_queue, mut of_line) = (Log::default(), Log::default());
    let mut left = [Vec::new(), Vec::new()];
    for ms in 0..20 {
        let now = Time(ms * 1_000_000);
        for id in 0..2 {
            queue.enqueue(now, packet(2 * ms as u32 + id), &mut of_queue);
            line.line().unwrap().enqueue(now, packet(2 * ms as u32 + id), &mut of_line);
        }
        left[0]
            .extend(std::iter::from_fn(|| queue.dequeue(now, &mut of_queue)).map(|p| (now, p.id)));
        let due = std::iter::from_fn(|| line.line().unwrap().dequeue(now));
        left[1].extend(due.map(|p| (now, p.id)));
        assert_eq!(queue.wake(), line.line().unwrap().due());
        assert_eq!(queue.backlog(), line.backlog());
    }
    let drops = |log: &mut Log| {
        let dropped = log.drain().filter_map(|event| match event {
            Event::Drop(pkt, Reason::TailLimit) => Some(pkt.id),
            _ => None,
        });
        dropped.collect::<Vec<_>>()
    };
    assert_eq!(left[0], left[1]);
    assert!(!left[0].is_empty());
    let dropped = drops(&mut of_queue);
    assert_eq!(dropped, drops(&mut of_line));
    assert!(!dropped.is_empty());
}
