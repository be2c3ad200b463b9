#![allow(clippy::disallowed_methods, reason = "what is expected may be the platform's")]

use super::*;
use crate::qdiscs::{build, change};

const US: u64 = 1_000;

fn env(name: &str) -> Env {
    Env::ethernet(Rng::named(1, name))
}

fn link(options: &str) -> Box<dyn Qdisc> {
    build(&format!("wifi rate 80Mbit {options}"), env("t")).unwrap()
}

fn fill(q: &mut dyn Qdisc, now: Time, n: u32) {
    for id in 0..n {
        q.enqueue(now, Packet { id, len: 1000, ..Packet::default() }, &mut Log::default());
    }
}

/// Instants in microseconds and packets of each burst until `end`.
fn bursts(q: &mut dyn Qdisc, end: Time) -> Vec<(u64, usize)> {
    let mut log = Log::default();
    let mut bursts = Vec::new();
    while q.wake() <= end {
        let now = q.wake();
        q.on_wake(now, &mut log);
        assert!(q.wake() > now);
        let n = std::iter::from_fn(|| q.dequeue(now, &mut log)).count();
        if n > 0 {
            bursts.push((now.0 / US, n));
        }
    }
    bursts
}

// KAT wifi 1: the burst ends when a bound on packets, bytes or airtime does
#[test]
fn a_burst_waits_for_access_and_arrives_as_a_whole() {
    // A packet takes 100 us at 80 Mbit/s.
    for (options, expected) in [
        ("packets 4", [(640, 4), (1280, 4), (1720, 2)]),
        ("bytes 4999b", [(640, 4), (1280, 4), (1720, 2)]),
        ("airtime 579us", [(640, 4), (1280, 4), (1720, 2)]),
        ("packets 4 preamble 180us", [(740, 4), (1480, 4), (2020, 2)]),
        ("packets 4 overhead 100", [(680, 4), (1360, 4), (1820, 2)]),
    ] {
        let preamble = if options.contains("preamble") { "" } else { "preamble 80us" };
        let mut q = link(&format!("access 160us {preamble} {options}"));
        fill(&mut *q, Time::ZERO, 10);
        assert_eq!(bursts(&mut *q, Time(1 << 40)), expected, "{options}");
    }
}

#[test]
fn a_lone_packet_goes_whatever_the_bounds() {
    let mut q = link("access 10us preamble 0 bytes 1b airtime 1us");
    fill(&mut *q, Time::ZERO, 2);
    assert_eq!(bursts(&mut *q, Time(1 << 40)), [(110, 1), (220, 1)]);
}

#[test]
fn access_is_uniform_between_its_bounds() {
    let mut q = link("access 100us 300us preamble 0 packets 1");
    let waits: Vec<f64> = (0..4000)
        .map(|i| {
            let now = Time(i * 1_000_000);
            fill(&mut *q, now, 1);
            let wait = q.wake().since(now).0 as f64 / 1e3;
            assert_eq!(bursts(&mut *q, Time(now.0 + 999_999)).len(), 1);
            wait
        })
        .collect();
    let mean = waits.iter().sum::<f64>() / 4000.0;
    let spread = waits.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / 4000.0;
    assert!(waits.iter().all(|w| (100.0..=300.0).contains(w)));
    // Mean and standard deviation of a uniform distribution, to four standard errors.
    assert!((mean - 200.0).abs() < 4.0 * 57.735 / 63.2, "{mean}");
    assert!((spread.sqrt() - 57.735).abs() < 2.0, "{}", spread.sqrt());
}

// KAT wifi 2: exponential gaps and geometric bursts
#[test]
fn poisson_bursts_have_exponential_gaps_and_geometric_sizes() {
    let mut q = link("poisson 2ms geometric 5 preamble 0 airtime 1s bytes 1Mb");
    let (mut gaps, mut sizes) = (Vec::new(), Vec::new());
    let mut now = Time::ZERO;
    let mut log = Log::default();
    for _ in 0..4000 {
        while q.backlog().packets < 100 {
            fill(&mut *q, now, 1);
        }
        let start = q.wake();
        gaps.push(start.since(now).0 as f64 / 1e6);
        q.on_wake(start, &mut log);
        now = q.wake();
        q.on_wake(now, &mut log);
        sizes.push(std::iter::from_fn(|| q.dequeue(now, &mut log)).count() as f64);
    }
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let deviation = |v: &[f64]| {
        let m = mean(v);
        (v.iter().map(|x| (x - m).powi(2)).sum::<f64>() / v.len() as f64).sqrt()
    };
    // Exponential: deviation = mean; geometric: sqrt(1 - p) / p = 4.47. Four standard errors.
    assert!((mean(&gaps) - 2.0).abs() < 4.0 * 2.0 / 63.2, "{}", mean(&gaps));
    assert!((deviation(&gaps) - 2.0).abs() < 0.18, "{}", deviation(&gaps));
    assert!((mean(&sizes) - 5.0).abs() < 4.0 * 4.47 / 63.2, "{}", mean(&sizes));
    assert!((deviation(&sizes) - 4.47).abs() < 0.4, "{}", deviation(&sizes));
    assert!(sizes.iter().all(|n| *n >= 1.0));
}

/// Two directions with their wakes in order of time, until `end`: busy intervals of both.
fn duplex(options: [&str; 2], n: u32, end: Time) -> [Vec<(u64, usize)>; 2] {
    let env = env("a");
    let other = Env { rng: Rng::named(1, "b"), ..env.clone() };
    let mut ways = [build(options[0], env).unwrap(), build(options[1], other).unwrap()];
    for q in &mut ways {
        fill(&mut **q, Time::ZERO, n);
    }
    let mut seen = [Vec::new(), Vec::new()];
    loop {
        let next = usize::from(ways[1].wake() < ways[0].wake());
        let now = ways[next].wake();
        if now > end {
            return seen;
        }
        seen[next].extend(bursts(&mut *ways[next], now));
    }
}

#[test]
fn half_duplex_directions_take_turns_on_one_medium() {
    let options = "wifi rate 80Mbit access 100us 200us preamble 0 packets 10 half-duplex";
    let seen = duplex([options, options], 1000, Time(1 << 40));
    let mut ends: Vec<u64> = seen.iter().flatten().map(|(end, _)| *end).collect();
    ends.sort_unstable();
    // Each burst of 1 ms ends at least its own length after the one before, whoever sent it.
    assert!(ends.windows(2).all(|pair| pair[1] - pair[0] >= 1000), "{ends:?}");
    assert_eq!(ends.len(), 200);
    let half: usize = seen[0].iter().filter(|(end, _)| *end <= 100_000).count();
    assert!((30..=65).contains(&half), "{half} of about 88 bursts");
}

#[test]
fn a_wait_is_frozen_while_the_other_direction_sends() {
    let slow = "wifi rate 80Mbit access 300us preamble 0 packets 1 half-duplex";
    let fast = "wifi rate 80Mbit access 100us preamble 0 packets 1 half-duplex";
    let seen = duplex([slow, fast], 3, Time(1 << 40));
    // The fast one sends at 100 and 300 us, each for 100 us; until 500 us the slow one has waited
    // 100 + 100 + 100 us with the medium free, when the third burst of the other is due too.
    let mut all: Vec<u64> = seen.iter().flatten().map(|(end, _)| *end).collect();
    all.sort_unstable();
    assert_eq!(all[..4], [200, 400, 600, 700]);
    assert_eq!(seen[0][0].0, 600, "the tie goes to the direction that is asked first");
}

#[test]
fn full_duplex_directions_do_not_see_each_other() {
    let options = "wifi rate 80Mbit access 100us preamble 0 packets 1";
    let seen = duplex([options, options], 3, Time(1 << 40));
    assert_eq!(seen[0], [(200, 1), (400, 1), (600, 1)]);
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn airtime_and_deferrals_are_counted() {
    let mut q = link("access 0 preamble 100us packets 2");
    fill(&mut *q, Time::ZERO, 3);
    assert_eq!(bursts(&mut *q, Time(1 << 40)), [(300, 2), (500, 1)]);
    let mut stats = Stats::default();
    q.stats(&mut stats);
    let values = ["bursts", "burst_packets", "burst_bytes", "airtime_ms", "deferred"];
    assert_eq!(values.map(|n| stats.value(n).unwrap()), [2.0, 3.0, 3000.0, 0.5, 0.0]);
}

#[test]
fn rate_changes_from_the_next_burst_on_and_duplex_does_not() {
    let mut q = link("access 10us preamble 0 packets 1");
    fill(&mut *q, Time::ZERO, 2);
    change(&mut *q, Time::ZERO, "wifi rate 40Mbit", &mut Log::default()).unwrap();
    assert_eq!(bursts(&mut *q, Time(1 << 40)), [(210, 1), (420, 1)]);
    assert!(change(&mut *q, Time::ZERO, "wifi half-duplex", &mut Log::default()).is_err());
    let refused = build("wifi access 5us 1us rate 1Mbit", env("t")).err().unwrap().0;
    assert_eq!(refused, "wifi: the longest `access` is below the shortest");
    assert!(build("wifi", env("t")).is_err());
}
