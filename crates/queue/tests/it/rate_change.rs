//! A changed rate keeps the queue.

use sojourn_core::{Packet, Rate, Rng, Time};
use sojourn_queue::aqm::{Env, Log};
use sojourn_queue::qdiscs;

// KAT rate-change 1: from 50 to 5 Mbit/s with 100 packets queued
#[test]
fn a_queue_of_a_hundred_drains_at_the_new_rate() {
    let mut q = qdiscs::build("htb rate 50Mbit", Env::ethernet(Rng::named(1, "t"))).unwrap();
    let mut log = Log::default();
    for id in 0..200 {
        q.enqueue(Time::ZERO, Packet { id, len: 1514, ..Packet::default() }, &mut log);
    }
    let mut now = Time::ZERO;
    let mut departures = Vec::new();
    while departures.len() < 200 {
        if q.dequeue(now, &mut log).is_some() {
            departures.push(now.0);
            if departures.len() == 100 {
                qdiscs::change_rate(q.as_mut(), now, Rate(5_000_000), &mut Log::default()).unwrap();
                assert_eq!(q.backlog().packets, 100);
            }
        } else {
            now = q.wake();
            q.on_wake(now, &mut log);
        }
    }
    assert!(log.is_empty());
    // The packet that had left is paid at the old rate, the 99 after it at the new one; the link
    // is free again when the last is paid.
    let of_the_last = 2_422_400;
    assert_eq!(departures[100] - departures[99], 242_240);
    assert_eq!(departures[199] - departures[100] + of_the_last, 100 * 2_422_400);
}
