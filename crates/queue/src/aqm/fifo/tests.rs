use super::*;
use crate::qdiscs::build;
use sojourn_core::rng::Rng;

fn make(text: &str) -> Box<dyn Qdisc> {
    build(text, Env::ethernet(Rng::named(1, "t"))).unwrap()
}

fn packet(id: u32, len: u32) -> Packet {
    Packet { id, len, ..Packet::default() }
}

// KAT fifo 1
#[test]
fn pfifo_drops_only_the_arrival_beyond_its_limit() {
    let (mut q, mut log) = (make("pfifo limit 1000"), Log::default());
    for id in 0..1001 {
        q.enqueue(Time::ZERO, packet(id, 1514), &mut log);
    }
    assert_eq!(log.events().len(), 1);
    assert!(
        matches!(log.events()[0], super::super::Event::Drop(p, Reason::TailLimit) if p.id == 1000)
    );
    assert_eq!(q.backlog(), Backlog { packets: 1000, bytes: 1_514_000 });
}

// KAT fifo 2
#[test]
fn bfifo_accepts_what_fits_to_the_byte() {
    let (mut q, mut log) = (make("bfifo limit 15140"), Log::default());
    for id in 0..11 {
        q.enqueue(Time::ZERO, packet(id, 1514), &mut log);
    }
    assert_eq!((q.backlog().packets, log.drain().count()), (10, 1));
    q.dequeue(Time::ZERO, &mut log);
    q.enqueue(Time::ZERO, packet(11, 1515), &mut log);
    assert_eq!(log.drain().count(), 1);
    q.enqueue(Time::ZERO, packet(12, 1514), &mut log);
    assert!(log.is_empty());
}

// KAT fifo 3
#[test]
fn head_drop_keeps_the_youngest() {
    let (mut q, mut log) = (make("pfifo_head_drop limit 3"), Log::default());
    for id in 1..=5 {
        q.enqueue(Time::ZERO, packet(id, 100), &mut log);
    }
    let dropped: Vec<u32> = log
        .drain()
        .filter_map(|e| match e {
            super::super::Event::Drop(p, Reason::HeadLimit) => Some(p.id),
            _ => None,
        })
        .collect();
    assert_eq!(dropped, [1, 2]);
    let left: Vec<u32> =
        std::iter::from_fn(|| q.dequeue(Time::ZERO, &mut log).map(|p| p.id)).collect();
    assert_eq!(left, [3, 4, 5]);
}

#[test]
fn head_drop_without_room_drops_the_arrival() {
    let (mut q, mut log) = (make("pfifo_head_drop limit 0"), Log::default());
    q.enqueue(Time::ZERO, packet(1, 100), &mut log);
    assert!(matches!(log.events(), [super::super::Event::Drop(_, Reason::TailLimit)]));
}

// KAT fifo 5
#[test]
fn full_pfifo_delays_by_its_packets_at_the_rate() {
    let frame = sojourn_core::units::Rate(50_000_000).time_for(1514);
    assert_eq!((frame * 1000).0, 242_240_000);
    let env = Env::ethernet(Rng::named(1, "t"));
    let mut q = crate::qdiscs::build_shaped("htb rate 50Mbit", make("pfifo"), &env).unwrap();
    let (mut log, mut now, mut sent) = (Log::default(), Time::ZERO, 0);
    for id in 0..1000 {
        q.enqueue(Time::ZERO, packet(id, 1514), &mut log);
    }
    while q.backlog().packets > 0 {
        if q.dequeue(now, &mut log).is_some() {
            sent += 1;
        } else {
            now = q.wake();
            q.on_wake(now, &mut log);
        }
    }
    // The last starts one frame before the queue is empty; the bucket's burst is 256 us.
    assert_eq!((sent, now), (1000, Time(242_240_000 - 242_240 - 256_000)));
}

#[test]
fn limits_default_to_the_devices_queue_length() {
    assert_eq!(make("pfifo").describe(), "pfifo limit 1000p");
    assert_eq!(make("bfifo").describe(), "bfifo limit 1514000b");
}

#[test]
fn lower_limit_keeps_the_packets_that_wait() {
    let (mut q, mut log) = (make("pfifo"), Log::default());
    for id in 0..5 {
        q.enqueue(Time::ZERO, packet(id, 100), &mut log);
    }
    crate::qdiscs::change(&mut *q, Time::ZERO, "pfifo limit 2", &mut Log::default()).unwrap();
    assert_eq!(q.backlog().packets, 5);
    q.enqueue(Time::ZERO, packet(5, 100), &mut log);
    assert_eq!(log.drain().count(), 1);
}
