use super::super::{Event, Spec};
use super::*;
use crate::qdiscs::{build, build_shaped, change};
use sojourn_core::ecn::Ecn;

fn env() -> Env {
    Env::ethernet(Rng::named(1, "t"))
}

fn make(options: &str) -> JudgedFifo<DocsisPie> {
    let spec: Spec = format!("docsis_pie {options}").parse().unwrap();
    JudgedFifo::new(*spec.params().unwrap(), env())
}

fn packet(id: u32, len: u32, ecn: Ecn) -> Packet {
    Packet { id, len, tos: ecn as u8, ..Packet::default() }
}

/// One update that finds `us` of delay after one that found `before_us`.
fn step(q: &mut JudgedFifo<DocsisPie>, before_us: u64, us: u64) -> f64 {
    q.judge.qdelay = Dur::from_micros(before_us);
    q.judge.drop_prob = q.judge.next_prob(&q.fifo.params, Dur::from_micros(us));
    q.judge.drop_prob
}

// KAT docsis-pie 1
#[test]
fn delay_is_that_of_the_token_bucket() {
    let q = make("msr 10Mbit peak_rate 20Mbit max_burst_bytes 10000b");
    let delay =
        |tokens, bytes| Bucket { tokens, filled: Time::ZERO }.delay(&q.fifo.params, bytes).0;
    // Within the tokens at the peak rate: 5000 bytes at 20 Mbit/s.
    assert_eq!(delay(10_000, 5000), 2_000_000);
    // Beyond: 10000 bytes at 20 Mbit/s and 5000 at 10 Mbit/s.
    assert_eq!(delay(10_000, 15_000), 4_000_000 + 4_000_000);
    assert_eq!(delay(0, 15_000), 12_000_000);
}

#[test]
fn tokens_return_at_the_sustained_rate_to_the_bucket_s_depth() {
    let (mut q, mut log) = (make("msr 10Mbit max_burst_bytes 10000b"), Log::default());
    for id in 0..8 {
        q.enqueue(Time::ZERO, packet(id, 1500, Ecn::NotEct), &mut log);
    }
    for (n, tokens) in [(1, 8500), (2, 7000), (6, 1000), (7, 0)] {
        while 8 - q.fifo.queue.backlog.packets < n {
            q.dequeue(Time::ZERO, &mut log);
        }
        assert_eq!(q.judge.bucket.tokens, tokens);
    }
    // 1.25 bytes per microsecond, of which no part is lost to rounding.
    for ns in (100..=1_000_000).step_by(100) {
        q.judge.bucket.refill(&q.fifo.params, Time(ns));
    }
    assert_eq!(q.judge.bucket.tokens, 1250);
    q.judge.bucket.refill(&q.fifo.params, Time(1_000_000_000));
    assert_eq!(q.judge.bucket.tokens, 10_000);
}

// KAT docsis-pie 2: gains, their scale below 1e-6 to above 10, and the bounds of a step
#[test]
fn probability_follows_rfc_8034_at_every_magnitude() {
    let mut q = make("msr 10Mbit");
    // A (20 - 10 ms) + B (20 - 0 ms), then A (20 - 10 ms).
    let first = (0.25 * 0.010 + 2.5 * 0.020) / 2048.0;
    assert!((step(&mut q, 0, 20_000) - first).abs() < 1e-12);
    assert!((step(&mut q, 20_000, 20_000) - first - 0.0025 / 128.0).abs() < 1e-12);
    for (prob, expected) in [
        (0.0, 0.0025 / 2048.0),
        (5e-6, 5e-6 + 0.0025 / 512.0),
        (5e-5, 5e-5 + 0.0025 / 128.0),
        (5e-4, 5e-4 + 0.0025 / 32.0),
        (5e-3, 5e-3 + 0.0025 / 8.0),
        (0.05, 0.05 + 0.0025 / 2.0),
        (0.5, 0.5 + 0.0025 * 2.0),
        (5.0, 5.0 + 0.0025 * 8.0),
        // Steps up are at most 2 % from 0.1 on.
        (11.0, 11.0 + 0.02),
    ] {
        q.judge.drop_prob = prob;
        let p = step(&mut q, 20_000, 20_000);
        assert!((p - expected).abs() < 1e-12, "{prob}: {p} {expected}");
    }
    // Steps down are not bounded: B (0 - 20 ms) and A (0 - 10 ms), times 2.
    q.judge.drop_prob = 0.5;
    assert!((step(&mut q, 20_000, 0) - (0.5 - 0.0525 * 2.0)).abs() < 1e-12);
    // Above 200 ms there are 2 % more.
    q.judge.drop_prob = 0.5;
    assert!((step(&mut q, 201_000, 201_000) - 0.54).abs() < 1e-12);
    // Below 5 ms twice it decays.
    q.judge.drop_prob = 0.5;
    assert!((step(&mut q, 4000, 4000) - (0.5 - 0.006 * 0.25 * 2.0) * 0.98).abs() < 1e-12);
    q.judge.drop_prob = 0.5;
    assert!((step(&mut q, 5000, 5000) - (0.5 - 0.005 * 0.25 * 2.0)).abs() < 1e-12);
}

#[test]
fn probability_is_bounded_by_that_of_the_smallest_packet() {
    let mut q = make("msr 10Mbit");
    for _ in 0..2000 {
        step(&mut q, 300_000, 300_000);
    }
    assert_eq!(q.judge.drop_prob, 0.85 * 1024.0 / 64.0);
}

/// Numbers of the arrivals of `len` bytes that are dropped with the probability held at `prob`.
fn drops(prob: f64, len: u32, n: u32, state: State) -> Vec<u32> {
    let mut q = make("msr 10Mbit");
    (q.judge.state, q.judge.drop_prob, q.judge.qdelay) = (state, prob, Dur::from_millis(20));
    q.fifo.queue.backlog.bytes = 50_000;
    let mut log = Log::default();
    for id in 1..=n {
        q.enqueue(Time::ZERO, packet(id, len, Ecn::Ect0), &mut log);
        q.fifo.queue.backlog.bytes = 50_000;
    }
    let drops = log.drain().map(|e| match e {
        Event::Drop(p, Reason::Pi) => p.id,
        other => panic!("{other:?}"),
    });
    drops.collect()
}

#[test]
fn ect_packets_are_dropped_too_at_distances_that_are_bounded() {
    let dropped = drops(0.01, 1024, 100_000, State::Active);
    assert!(dropped[0] >= 85);
    assert!(dropped.windows(2).all(|w| (85..=850).contains(&(w[1] - w[0]))));
    let mean = f64::from(dropped[dropped.len() - 1]) / dropped.len() as f64;
    assert!((mean / 185.0 - 1.0).abs() < 0.1, "{mean}");
}

#[test]
fn small_packets_are_dropped_in_proportion_and_no_packet_above_prob_low() {
    let count = |prob, len| drops(prob, len, 100_000, State::Active).len() as f64;
    assert!((count(0.04, 256) / count(0.01, 1024) - 1.0).abs() < 0.1);
    // 1500 bytes at 1 would be 1.46: it is 0.85, reached by the first arrival after a drop.
    assert!((count(1.0, 1500) / 85_000.0 - 1.0).abs() < 0.01);
}

#[test]
fn first_drop_after_quiet_starts_an_allowance_of_nine_intervals() {
    let first = drops(0.3, 1024, 1000, State::Quiescent);
    assert_eq!(first.len(), 1);
    let mut q = make("msr 10Mbit");
    (q.judge.state, q.judge.drop_prob, q.judge.qdelay) =
        (State::Quiescent, 13.0, Dur::from_millis(20));
    q.fifo.queue.backlog.bytes = 50_000;
    q.enqueue(Time::ZERO, packet(1, 1500, Ecn::NotEct), &mut Log::default());
    assert_eq!((q.judge.state, q.judge.burst_allowance), (State::Active, Dur::from_millis(142)));
    for n in 1..=9 {
        q.judge.update(&q.fifo, Time(n * 16_000_000));
        assert_eq!((q.judge.drop_prob, q.judge.burst_allowance > Dur::ZERO), (0.0, n < 9));
    }
    q.judge.update(&q.fifo, Time(160_000_000));
    assert!(q.judge.drop_prob > 0.0);
}

#[test]
fn inactive_queue_fills_to_a_third_and_becomes_inactive_after_a_quiet_second() {
    let mut q = make("msr 10Mbit limit 90000b");
    q.judge.drop_prob = 13.0;
    q.judge.qdelay = Dur::from_millis(20);
    for (bytes, dropped) in [(29_999, false), (30_000, true)] {
        q.fifo.queue.backlog.bytes = bytes;
        assert_eq!(q.judge.drop_early(&q.fifo, 1500), dropped);
    }
    assert_eq!(q.judge.state, State::Quiescent);
    (q.fifo.queue.backlog.bytes, q.judge.drop_prob, q.judge.qdelay) = (0, 0.0, Dur::ZERO);
    (q.judge.state, q.judge.burst_allowance) = (State::Active, Dur::ZERO);
    q.judge.update(&q.fifo, Time(0));
    assert_eq!(q.judge.state, State::Quiescent);
    for n in 1..=62 {
        q.judge.update(&q.fifo, Time(n * 16_000_000));
        assert_eq!(q.judge.state, State::Quiescent, "{n}");
    }
    q.judge.update(&q.fifo, Time(63 * 16_000_000));
    assert_eq!(q.judge.state, State::Inactive);
    // A delay in between starts the second anew.
    (q.judge.state, q.judge.burst_reset) = (State::Quiescent, Dur::from_millis(990));
    q.fifo.queue.backlog.bytes = 20_000;
    q.judge.update(&q.fifo, Time(1_100_000_000));
    assert_eq!((q.judge.state, q.judge.burst_reset), (State::Quiescent, Dur::ZERO));
}

#[test]
fn calm_and_short_queues_are_spared() {
    let signals = |qdelay_us, prob, bytes| {
        let mut q = make("msr 10Mbit");
        (q.judge.state, q.judge.drop_prob, q.judge.qdelay) =
            (State::Active, prob, Dur::from_micros(qdelay_us));
        q.fifo.queue.backlog.bytes = bytes;
        (0..1000).any(|_| q.judge.drop_early(&q.fifo, 1024))
    };
    assert!(signals(20_000, 0.1, 2049) && !signals(20_000, 0.1, 2048));
    assert!(signals(5000, 0.1, 50_000) && !signals(4999, 0.1, 50_000));
    assert!(signals(4999, 0.2, 50_000));
}

#[test]
fn target_is_held_against_unresponsive_load() {
    // 22 Mbit/s into 20 Mbit/s under a shaper of the same rate.
    let (mut log, mut now, mut id) = (Log::default(), Time::ZERO, 0);
    let leaf = build("docsis_pie msr 20Mbit", env()).unwrap();
    let mut q = build_shaped("htb rate 20Mbit", leaf, &env()).unwrap();
    let (mut delays, mut sent, mut dropped) = (0.0, 0_u32, 0_u32);
    while now.0 < 60_000_000_000 {
        id += 1;
        q.enqueue(now, packet(id, 1514, Ecn::Ect0), &mut log);
        let next = now + Dur(550_545);
        loop {
            while let Some(p) = q.dequeue(now, &mut log) {
                if now.0 > 30_000_000_000 {
                    (delays, sent) = (delays + now.since(p.stamp).as_millis_f64(), sent + 1);
                }
            }
            if q.wake() > next {
                break;
            }
            now = q.wake();
            q.on_wake(now, &mut log);
        }
        now = next;
        let late = now.0 > 30_000_000_000;
        dropped += log.drain().filter(|e| late && matches!(e, Event::Drop(..))).count() as u32;
    }
    let mean = delays / f64::from(sent);
    assert!((mean - 10.0).abs() < 2.0, "{mean} ms");
    let share = f64::from(dropped) / f64::from(sent + dropped);
    assert!((share - 1.0 / 11.0).abs() < 0.005, "{share}");
}

#[test]
fn updates_rest_when_all_is_quiet() {
    let (mut q, mut log) = (make("msr 10Mbit"), Log::default());
    assert_eq!(q.wake(), Time::NEVER);
    q.enqueue(Time(33_000_000), packet(1, 1500, Ecn::Ect0), &mut log);
    assert_eq!(q.wake(), Time(48_000_000));
    q.dequeue(Time(40_000_000), &mut log);
    q.on_wake(Time(48_000_000), &mut log);
    assert_eq!(q.wake(), Time::NEVER);
}

#[test]
fn rates_that_contradict_each_other_are_refused() {
    let error = |options: &str| build(&format!("docsis_pie {options}"), env()).err().unwrap().0;
    assert!(error("").contains("`msr` is required"));
    assert!(
        error("msr 10Mbit peak_rate 5Mbit").contains("`peak_rate 5Mbit` is below `msr 10Mbit`")
    );
    assert!(error("msr 10Mbit min_pktsize 2000b").contains("cannot exceed"));
    assert!(error("msr 10Mbit interval 0").contains("at least 1us"));
    let mut q = make("msr 10Mbit target 20ms");
    change(&mut q, Time::ZERO, "docsis_pie msr 5Mbit", &mut Log::default()).unwrap();
    assert!(q.describe().starts_with("docsis_pie msr 5Mbit max_burst_bytes 3044b target 20ms "));
}
