use super::*;
use crate::qdiscs::{build, build_shaped, change};
use crate::traces::Traces;
use sojourn_core::rng::Rng;

fn env(trace: &str) -> Env {
    let mut traces = Traces::default();
    traces.add("t", Opportunities::parse(trace).unwrap());
    Env { traces, ..Env::ethernet(Rng::named(1, "t")) }
}

fn link(options: &str, trace: &str) -> Box<dyn Qdisc> {
    build(&format!("mahimahi file t {options}"), env(trace)).unwrap()
}

fn packet(id: u32, len: u32) -> Packet {
    Packet { id, len, ..Packet::default() }
}

/// Ids with the millisecond of their delivery, until `end`.
fn deliveries(q: &mut dyn Qdisc, end: Time) -> Vec<(u32, f64)> {
    let mut log = Log::default();
    let mut sent = Vec::new();
    while q.wake() <= end {
        let now = q.wake();
        q.on_wake(now, &mut log);
        assert!(q.wake() > now);
        sent.extend(
            std::iter::from_fn(|| q.dequeue(now, &mut log)).map(|p| (p.id, now.0 as f64 / 1e6)),
        );
    }
    assert!(log.is_empty());
    sent
}

fn burst(q: &mut dyn Qdisc, now: Time, n: u32, len: u32) {
    (0..n).for_each(|id| q.enqueue(now, packet(id, len), &mut Log::default()));
}

const MS: u64 = 1_000_000;

// KAT mahimahi 1: trace "1" is 1504 bytes per millisecond, 12.032 Mbit/s
#[test]
fn one_opportunity_per_millisecond_is_twelve_megabit() {
    let mut q = link("overhead 0", "1\n");
    burst(&mut *q, Time::ZERO, 1000, 1504);
    let sent = deliveries(&mut *q, Time(1000 * MS));
    assert_eq!((sent.len(), sent[0], sent[999]), (1000, (0, 1.0), (999, 1000.0)));
    assert_eq!(1000.0 * 1504.0 * 8.0 / 1.0 / 1e6, 12.032);
    // An Ethernet frame of 1514 bytes is one of 1504 to mahimahi.
    let mut q = link("", "1\n");
    burst(&mut *q, Time::ZERO, 20, 1514);
    assert_eq!(deliveries(&mut *q, Time(10 * MS)).len(), 10);
}

// KAT mahimahi 2: trace "1 1 2" is two at 1 ms and one at 2 ms, repeated every 2 ms
#[test]
fn a_repeated_line_is_a_second_opportunity() {
    let mut q = link("", "1\n1\n2\n");
    burst(&mut *q, Time::ZERO, 900, 1514);
    let sent = deliveries(&mut *q, Time(600 * MS));
    let at: Vec<f64> = sent.iter().take(7).map(|(_, at)| *at).collect();
    assert_eq!(at, [1.0, 1.0, 2.0, 3.0, 3.0, 4.0, 5.0]);
    assert_eq!(sent.len(), 900, "1.5 opportunities per ms: 18.048 Mbit/s");
}

// KAT mahimahi 3: the 4 bytes that the first packet leaves go to the second
#[test]
fn surplus_bytes_of_an_opportunity_start_the_next_packet() {
    let mut q = link("overhead 0", "1\n");
    burst(&mut *q, Time::ZERO, 2, 1500);
    assert_eq!(deliveries(&mut *q, Time(9 * MS)), [(0, 1.0), (1, 2.0)]);
    // 375 opportunities carry 376 packets.
    let mut q = link("overhead 0", "1\n");
    burst(&mut *q, Time::ZERO, 1000, 1500);
    let sent = deliveries(&mut *q, Time(376 * MS));
    assert_eq!(sent[373..], [(373, 374.0), (374, 375.0), (375, 375.0), (376, 376.0)]);
}

#[test]
fn small_packets_share_an_opportunity_and_large_ones_span_several() {
    let mut q = link("overhead 0", "1\n");
    burst(&mut *q, Time::ZERO, 20, 100);
    let sent = deliveries(&mut *q, Time(2 * MS));
    assert_eq!(sent.iter().filter(|(_, at)| *at == 1.0).count(), 15);
    assert_eq!(sent.len(), 20);
    let mut q = link("overhead 0", "1\n");
    burst(&mut *q, Time::ZERO, 1, 4000);
    assert_eq!(deliveries(&mut *q, Time(9 * MS)), [(0, 3.0)]);
}

#[test]
fn unused_opportunities_are_not_banked() {
    let mut q = link("", "1\n2\n7\n");
    burst(&mut *q, Time(3 * MS), 3, 1514);
    // At 7, then 7 + 1 and 7 + 2; what lay before the arrival is gone.
    assert_eq!(deliveries(&mut *q, Time(99 * MS)), [(0, 7.0), (1, 8.0), (2, 9.0)]);
    burst(&mut *q, Time(7 * 1_000_000 * MS + MS / 2), 1, 1514);
    assert_eq!(deliveries(&mut *q, Time(u64::MAX - 1)), [(0, 7_000_001.0)]);
    let mut stats = Stats::default();
    q.stats(&mut stats);
    assert_eq!(stats.value("opportunities"), Some(3_000_001.0));
    assert_eq!(stats.value("unused_bytes"), Some((3_000_001.0 - 4.0) * 1504.0));
}

#[test]
fn a_first_line_of_zero_falls_on_the_last_of_the_repetition_before() {
    let mut q = link("", "0\n5\n");
    burst(&mut *q, Time::ZERO, 5, 1514);
    let sent = deliveries(&mut *q, Time(20 * MS));
    assert_eq!(sent, [(0, 0.0), (1, 5.0), (2, 5.0), (3, 10.0), (4, 10.0)]);
}

#[test]
fn a_trace_that_is_read_once_ends_for_good_unless_asked_to_repeat() {
    let mut q = link("once", "1\n2\n");
    burst(&mut *q, Time::ZERO, 5, 1514);
    assert_eq!(deliveries(&mut *q, Time(u64::MAX - 1)).len(), 2);
    assert_eq!((q.backlog().packets, q.wake()), (3, Time::NEVER));
    change(&mut *q, Time(100 * MS), "mahimahi repeat", &mut Log::default()).unwrap();
    assert_eq!(deliveries(&mut *q, Time(900 * MS)), [(2, 100.0), (3, 101.0), (4, 102.0)]);
}

#[test]
fn the_queue_behind_the_link_keeps_its_own_discipline() {
    let env = env("10\n");
    let leaf = build("codel limit 3 target 1ms interval 1us ecn", env.clone()).unwrap();
    let mut q = build_shaped("mahimahi file t", leaf, &env).unwrap();
    let mut log = Log::default();
    (0..5).for_each(|id| q.enqueue(Time::ZERO, packet(id, 1514), &mut log));
    assert_eq!(log.drain().count(), 2);
    assert_eq!(deliveries(&mut *q, Time(10 * MS)), [(0, 10.0)]);
}

#[test]
fn the_file_must_be_known_and_as_its_digest_says() {
    let refused =
        |options: &str| build(&format!("mahimahi {options}"), env("1\n")).err().unwrap().0;
    assert_eq!(refused(""), "mahimahi: `file` is required");
    assert_eq!(refused("file u"), "mahimahi: `file u`: no trace of this name was read");
    let described = link("", "1\n").describe();
    let digest = described.split(' ').nth(4).unwrap();
    assert_eq!(build(&described, env("1\n")).unwrap().describe(), described);
    let changed = build(&described, env("2\n")).err().unwrap().0;
    assert!(changed.ends_with(&format!("not {digest}")), "{changed}");
    let other = change(&mut *link("", "1\n"), Time::ZERO, "mahimahi file u", &mut Log::default())
        .unwrap_err()
        .0;
    assert_eq!(other, "mahimahi: another `file` needs a replace");
}
