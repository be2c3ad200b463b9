#![allow(clippy::disallowed_methods, reason = "what is expected may be the platform's")]

use super::super::Event;
use super::*;
use crate::qdiscs::{build, build_shaped, change};
use sojourn_core::ecn::Ecn;

fn env() -> Env {
    Env::ethernet(Rng::named(1, "t"))
}

fn make(options: &str) -> JudgedFifo<RedClassic> {
    let spec: Spec = format!("red_classic {options}").parse().unwrap();
    JudgedFifo::new(*spec.params().unwrap(), env())
}

fn packet(id: u32, len: u32, ecn: Ecn) -> Packet {
    Packet { id, len, tos: ecn as u8, ..Packet::default() }
}

#[test]
fn thresholds_and_weight_that_are_not_given_are_those_of_adaptive_red() {
    // 50 Mbit/s are 6250 packets of 1000 bytes; half of 5 ms is 15.625 of them.
    let d = make("bandwidth 50Mbit w auto").judge.derived;
    assert_eq!((d.min_th, d.max_th), (15.625, 46.875));
    assert!((d.w - (1.0 - (-1.0_f64 / 6250.0).exp())).abs() < 1e-12, "{}", d.w);
    let d = make("bandwidth 50Mbit bytes").judge.derived;
    assert_eq!((d.min_th, d.max_th, d.w), (15_625.0, 46_875.0, 0.002));
    // Slow links keep five packets.
    let d = make("bandwidth 1Mbit adaptive avpkt 500").judge.derived;
    assert_eq!((d.min_th, d.max_th), (5.0, 15.0));
    assert!((d.w - 1.0 / 250.0).abs() < 1e-5, "{}", d.w);
}

#[test]
fn average_is_weighted_per_arrival_and_decays_per_packet_time_while_idle() {
    let (mut q, mut log) = (make("bandwidth 8Mbit w 0.25 min_th 50 max_th 60"), Log::default());
    let mut averages = Vec::new();
    for id in 0..4 {
        q.enqueue(Time::ZERO, packet(id, 1000, Ecn::NotEct), &mut log);
        averages.push(q.judge.average);
    }
    // Samples 0 (an idle queue), 1, 2, 3: the queue before each arrival.
    assert_eq!(averages, [0.0, 0.25, 0.6875, 1.265_625]);
    while q.dequeue(Time(1_000_000), &mut log).is_some() {}
    // A packet takes 1 ms: two and a half of them.
    q.enqueue(Time(3_500_000), packet(9, 1000, Ecn::NotEct), &mut log);
    assert!(
        (q.judge.average - 1.265_625 * 0.75_f64.powf(2.5)).abs() < 1e-12,
        "{}",
        q.judge.average
    );
}

#[test]
fn idle_time_counts_under_a_shaper_too() {
    let mut log = Log::default();
    let leaf = build("red_classic bandwidth 8Mbit w 0.5", env()).unwrap();
    let mut q = build_shaped("htb rate 1Gbit", leaf, &env()).unwrap();
    let average = |q: &dyn Qdisc| {
        let mut value = -1.0;
        q.leaf().unwrap().probe(&mut Probe::new(&mut |name, _, v| {
            if name == "average" {
                value = v;
            }
        }));
        value
    };
    for id in 0..4 {
        q.enqueue(Time::ZERO, packet(id, 1000, Ecn::NotEct), &mut log);
    }
    let mut now = Time::ZERO;
    while q.backlog().packets > 0 {
        q.dequeue(now, &mut log);
        now += Dur::from_micros(20);
    }
    let before = average(&*q);
    q.enqueue(now + Dur::from_secs(1), packet(9, 1000, Ecn::NotEct), &mut log);
    assert!(before > 1.0 && average(&*q) < 1e-9);
}

/// Gaps between signals with the average held at `average`.
fn gaps(q: &mut JudgedFifo<RedClassic>, average: f64, len: u32, signals: u32) -> Vec<u32> {
    let (mut gaps, mut gap) = (Vec::new(), 0);
    while gaps.len() < signals as usize {
        q.judge.average = average;
        gap += 1;
        if q.judge.verdict(&q.fifo.params, len).is_some() {
            gaps.push(gap);
            gap = 0;
        }
    }
    gaps
}

fn mean(gaps: &[u32]) -> f64 {
    gaps.iter().map(|g| f64::from(*g)).sum::<f64>() / gaps.len() as f64
}

#[test]
fn gaps_are_uniform_from_one_to_the_reciprocal_of_the_base_probability() {
    let mut q = make("bandwidth 50Mbit min_th 10 max_th 30 max_p 0.02");
    // Midway the base probability is 1 %.
    let gaps = gaps(&mut q, 20.0, 1000, 20_000);
    assert!(gaps[1..].iter().all(|gap| (1..=100).contains(gap)));
    // After a signal the count begins at 0: gaps are 1 to 99, and 100 by rounding at most.
    let mut seen = [0; 101];
    for gap in &gaps[1..] {
        seen[*gap as usize] += 1;
    }
    assert!(seen[1..=99].iter().all(|n| (130..290).contains(n)), "{seen:?}");
    assert!((mean(&gaps) - 50.0).abs() < 1.0, "{}", mean(&gaps));
}

#[test]
fn by_bytes_long_packets_are_signalled_in_proportion() {
    let options = "bandwidth 50Mbit bytes min_th 10000 max_th 30000 max_p 0.02";
    let at = |len| mean(&gaps(&mut make(options), 20_000.0, len, 10_000));
    assert!((at(1000) / at(250) - 0.25).abs() < 0.02);
    assert!((at(1000) / at(1500) - 1.5).abs() < 0.05);
}

#[test]
fn above_max_th_all_are_dropped_unless_gentle_up_to_twice_that() {
    let run = |options: &str, average: f64, ecn: Ecn| {
        let (mut q, mut log) =
            (make(&format!("bandwidth 50Mbit min_th 10 max_th 30 {options}")), Log::default());
        let (mut marks, mut early, mut forced) = (0_u32, 0_u32, 0_u32);
        for id in 0..10_000 {
            (q.judge.average, q.judge.idle_since) = (average, None);
            q.judge.derived.w = 0.0;
            q.enqueue(Time::ZERO, packet(id, 1000, ecn), &mut log);
            q.dequeue(Time::ZERO, &mut log);
        }
        for event in log.drain() {
            match event {
                Event::Mark(_, Reason::RedEarly) => marks += 1,
                Event::Drop(_, Reason::RedEarly) => early += 1,
                Event::Drop(_, Reason::RedForced) => forced += 1,
                other => panic!("{other:?}"),
            }
        }
        let mut stats = Stats::default();
        q.stats(&mut stats);
        let counted = ["marked", "early", "forced"].map(|name| stats.value(name).unwrap());
        assert_eq!(counted, [marks, early, forced].map(f64::from));
        (marks, early, forced)
    };
    assert_eq!(run("ecn", 9.9, Ecn::Ect0), (0, 0, 0));
    assert_eq!(run("ecn", 30.0, Ecn::Ect0), (0, 0, 10_000));
    assert_eq!(run("ecn gentle", 60.0, Ecn::Ect0), (0, 0, 10_000));
    // A tenth up the slope the base is 0.02 + 0.98 / 10: gaps of 1 to 7 in equal shares of
    // 0.118 / 0.882, and of 8 for the rest, a mean of 4.25.
    let (marks, early, forced) = run("ecn gentle", 33.0, Ecn::Ect0);
    assert!((2290..2420).contains(&marks) && early == 0 && forced == 0, "{marks}");
    let (marks, early, _) = run("ecn gentle", 33.0, Ecn::NotEct);
    assert!((2290..2420).contains(&early) && marks == 0, "{early}");
    // From a base of a half on, the first arrival after a signal is certain of the next.
    assert_eq!(run("ecn gentle", 45.0, Ecn::Ect0), (10_000, 0, 0));
    assert_eq!(run("", 20.0, Ecn::Ect0).0, 0);
}

#[test]
fn adaptive_moves_max_p_by_alpha_up_and_by_a_tenth_down() {
    let mut q = make("bandwidth 50Mbit min_th 10 max_th 30 adaptive");
    let mut after = |average: f64| {
        (q.judge.average, q.judge.idle_since) = (average, None);
        let due = q.wake();
        assert_eq!(due.0 % 500_000_000, 0);
        q.on_wake(due, &mut Log::default());
        q.judge.max_p
    };
    for expected in [0.025, 0.031_25, 0.039_062_5, 0.048_828_125, 0.058_828_125] {
        assert!((after(22.1) - expected).abs() < 1e-12);
    }
    // From 40 to 60 % of the way between the thresholds nothing moves.
    assert!((after(18.1) - 0.058_828_125).abs() < 1e-12);
    assert!((after(21.9) - 0.058_828_125).abs() < 1e-12);
    assert!((after(17.9) - 0.058_828_125 * 0.9).abs() < 1e-12);
    for _ in 0..100 {
        after(12.0);
    }
    assert!((0.009..0.01).contains(&after(12.0)));
    for _ in 0..100 {
        after(25.0);
    }
    assert!((0.5..=0.51).contains(&after(25.0)));
    assert_eq!(make("bandwidth 50Mbit").wake(), Time::NEVER);
}

#[test]
fn adaptive_holds_the_average_between_the_thresholds_against_unresponsive_load() {
    // 21 Mbit/s into 20 Mbit/s of 1000-byte packets.
    let (mut log, mut now) = (Log::default(), Time::ZERO);
    let mut q = make("bandwidth 20Mbit adaptive gentle");
    let (mut sum, mut n, mut next_sent) = (0.0, 0.0, Time::ZERO);
    for id in 0..262_500 {
        now += Dur(380_952);
        while next_sent <= now {
            q.dequeue(next_sent, &mut log);
            next_sent += Dur(400_000);
        }
        while q.wake() <= now {
            q.on_wake(q.wake(), &mut log);
        }
        q.enqueue(now, packet(id, 1000, Ecn::NotEct), &mut log);
        if id > 130_000 {
            (sum, n) = (sum + q.judge.average, n + 1.0);
        }
    }
    let place =
        (sum / n - q.judge.derived.min_th) / (q.judge.derived.max_th - q.judge.derived.min_th);
    assert!((0.35..0.65).contains(&place), "{place}");
}

#[test]
fn limit_counts_packets_or_bytes() {
    for (options, held) in [("limit 7", 7), ("bytes limit 7500", 7), ("bytes", 1000), ("", 1000)] {
        let text = format!("bandwidth 1Gbit min_th 1000000 max_th 2000000 {options}");
        let (mut q, mut log) = (make(&text), Log::default());
        for id in 0..1100 {
            q.enqueue(Time::ZERO, packet(id, 1000, Ecn::Ect0), &mut log);
        }
        assert_eq!(q.backlog().packets, held, "{options}");
        let tail = |e: &Event| matches!(e, Event::Drop(_, Reason::TailLimit));
        assert!(log.events().len() == 1100 - held as usize && log.events().iter().all(tail));
    }
}

#[test]
fn what_makes_no_sense_is_refused_and_change_keeps_the_average() {
    let error = |options: &str| build(&format!("red_classic {options}"), env()).err().unwrap().0;
    assert!(error("").contains("`bandwidth` is required"));
    assert!(error("bandwidth 1Mbit max_th 4").contains("`max_th 4` is not above `min_th 5`"));
    assert!(error("bandwidth 1Mbit w 0").contains("above 0"));
    assert!(error("bandwidth 1Mbit max_p 2").contains("from 0 to 1"));
    let mut q = make("bandwidth 1Mbit w auto");
    q.judge.average = 7.0;
    change(&mut q, Time::ZERO, "red_classic gentle w 0.01", &mut Log::default()).unwrap();
    let described = "red_classic bandwidth 1Mbit packets max_p 0.02 w 0.01 avpkt 1000 target 5ms \
                     gentle noadaptive noecn";
    assert_eq!((q.describe().as_str(), q.judge.average), (described, 7.0));
    let refused =
        change(&mut q, Time::ZERO, "red_classic bytes", &mut Log::default()).unwrap_err().0;
    assert!(refused.contains("fixed at creation"));
}
