use super::*;
use crate::qdiscs::{build, change};
use crate::traces::{RateSteps, Traces};
use sojourn_core::rng::Rng;

fn env(trace: &str) -> Env {
    let mut traces = Traces::default();
    traces.add("t", RateSteps::parse(trace).unwrap());
    Env { traces, ..Env::ethernet(Rng::named(1, "t")) }
}

/// Microseconds at which packets of these lengths, which arrive at `now`, are through.
fn deliveries(q: &mut dyn Qdisc, now: Time, lens: &[u32], end: Time) -> Vec<u64> {
    let mut log = Log::default();
    for (id, len) in lens.iter().enumerate() {
        q.enqueue(now, Packet { id: id as u32, len: *len, ..Packet::default() }, &mut log);
    }
    let mut sent = Vec::new();
    while q.wake() <= end {
        let now = q.wake();
        q.on_wake(now, &mut log);
        assert!(q.wake() > now);
        sent.extend(std::iter::from_fn(|| q.dequeue(now, &mut log)).map(|_| now.0 / 1000));
    }
    sent
}

#[test]
fn packets_are_serialised_at_the_rate_of_their_instant() {
    // 8 Mbit/s is one byte per microsecond.
    let mut q = build("rate_trace file t hold", env("0 8000\n0.01 4000\n")).unwrap();
    let sent = deliveries(&mut *q, Time(8_000_000), &[1000, 500, 1000, 1000], Time(1 << 40));
    assert_eq!(sent, [9000, 9500, 11000, 13000]);
}

#[test]
fn an_outage_holds_the_packet_under_way() {
    let mut q = build("rate_trace file t unit 1Mbit", env("0 8\n0.01 0\n0.02 8\n")).unwrap();
    let sent = deliveries(&mut *q, Time(9_500_000), &[1000, 1000], Time(1 << 40));
    assert_eq!(sent, [20500, 21500]);
}

#[test]
fn a_last_step_of_zero_ends_the_link_and_keeps_the_packets() {
    let mut q = build("rate_trace file t hold", env("0 8000\n0.001 0\n")).unwrap();
    assert_eq!(deliveries(&mut *q, Time::ZERO, &[1000, 1000, 1000], Time(u64::MAX - 1)), [1000]);
    assert_eq!(q.backlog().packets, 2);
    let mut log = Log::default();
    q.purge(&mut log);
    assert_eq!((log.events().len(), q.backlog().packets), (2, 0));
}

#[test]
fn overhead_takes_its_time_and_can_be_changed() {
    let mut q = build("rate_trace file t hold overhead 24", env("0 8000\n")).unwrap();
    assert_eq!(deliveries(&mut *q, Time::ZERO, &[1000], Time(1 << 40)), [1024]);
    change(&mut *q, Time::ZERO, "rate_trace overhead -14", &mut Log::default()).unwrap();
    assert_eq!(deliveries(&mut *q, Time(2_000_000), &[1000], Time(1 << 40)), [2986]);
    assert!(change(&mut *q, Time::ZERO, "rate_trace repeat", &mut Log::default()).is_err());
}

#[test]
fn a_trace_below_one_bit_or_of_one_repeated_step_is_refused() {
    let refused = |options: &str, trace| build(options, env(trace)).err().unwrap().0;
    let none = refused("rate_trace file t unit 1bit", "0 0.1\n1 0.2\n");
    assert_eq!(none, "rate_trace: the trace has no rate of at least 1bit");
    let one = refused("rate_trace file t", "0 5\n");
    assert_eq!(one, "rate_trace: `repeat` needs a trace of at least two steps");
}
