use super::*;
use crate::aqm::Event;
use crate::qdiscs::{build, change};
use sojourn_core::rng::Rng;

fn make(text: &str) -> Box<dyn Qdisc> {
    build(text, Env::ethernet(Rng::named(1, "t"))).unwrap()
}

/// How many of `n` packets of 1514 bytes at once pass at `now`.
fn passed(q: &mut dyn Qdisc, now: Time, n: u32) -> u32 {
    let mut log = Log::default();
    for id in 0..n {
        q.enqueue(now, Packet { id, len: 1514, ..Packet::default() }, &mut log);
    }
    let dropped = log.drain().filter(|e| matches!(e, Event::Drop(_, Reason::Police))).count();
    let left = std::iter::from_fn(|| q.dequeue(now, &mut log)).count();
    assert_eq!(dropped + left, n as usize);
    left as u32
}

// KAT police 1
#[test]
fn ten_packets_pass_at_once_and_one_more_per_frame_time() {
    let mut q = make("police rate 1Mbit burst 15140 drop");
    assert_eq!(passed(&mut *q, Time::ZERO, 11), 10);
    assert_eq!(passed(&mut *q, Time(12_111_999), 1), 0);
    assert_eq!(passed(&mut *q, Time(12_112_000), 2), 1);
    let mut stats = Stats::default();
    q.stats(&mut stats);
    assert_eq!(stats.value("overlimits"), Some(3.0));
}

#[test]
fn before_a_queue_the_ethernet_header_is_not_charged() {
    // Linux 7.2, UDP packets of 1500 bytes at 6 Mbit/s for 10 s: an ingress filter counts 1500 bytes
    // of each, and 3346 conform; at the rate of whole frames these would be 3316.
    let conforming = |at_ingress| {
        let env = Env { at_ingress, ..Env::ethernet(Rng::named(1, "t")) };
        let mut q = build("police rate 4Mbit burst 20kb drop", env).unwrap();
        (0..=5000).map(|n| passed(&mut *q, Time(n * 2_000_000), 1)).sum::<u32>()
    };
    assert_eq!((conforming(true), conforming(false)), (3346, 3316));
}

#[test]
fn actions_decide_as_in_the_kernel() {
    // Linux 7.2, 14 packets of 1514 bytes at once.
    for (options, pass) in [
        ("rate 1Mbit burst 15140", 10),
        ("rate 1Mbit burst 15140 drop", 10),
        ("rate 1Mbit burst 15140 continue", 14),
        ("rate 1Mbit burst 15140 conform-exceed continue", 14),
        ("rate 1Mbit burst 15140 pass", 14),
        ("rate 1Mbit burst 15140 conform-exceed pass/drop", 4),
        ("rate 1Mbit burst 15140 peakrate 10Mbit mtu 3028 drop", 2),
        ("mtu 1000 drop", 0),
        ("mtu 1514 drop", 14),
        ("pkts_rate 100 pkts_burst 5 drop", 0),
    ] {
        assert_eq!(
            passed(&mut *make(&format!("police {options}")), Time::ZERO, 14),
            pass,
            "{options}"
        );
    }
}

#[test]
fn packet_bucket_starts_empty_and_fills_to_its_burst() {
    for (ns, pass) in [(9_999_999, 0), (20_000_000, 2), (1_000_000_000, 5)] {
        let mut q = make("police pkts_rate 100 pkts_burst 5 drop");
        assert_eq!(passed(&mut *q, Time(ns), 14), pass, "{ns}");
    }
}

#[test]
fn large_packets_exceed_the_default_mtu_only_with_a_rate() {
    let fits = |text: &str, len| {
        let (mut q, mut log) = (make(text), Log::default());
        q.enqueue(Time(1_000_000_000), Packet { len, ..Packet::default() }, &mut log);
        log.is_empty()
    };
    assert!(fits("police rate 1Mbit burst 9000", 2040));
    assert!(!fits("police rate 1Mbit burst 9000", 2041));
    assert!(fits("police pkts_rate 10 pkts_burst 2", 2041));
}

#[test]
fn change_fills_the_bucket_and_keeps_the_other_parameters() {
    let mut q = make("police rate 1Mbit burst 15140 drop");
    assert_eq!(passed(&mut *q, Time::ZERO, 10), 10);
    change(&mut *q, Time::ZERO, "police burst 3028", &mut Log::default()).unwrap();
    assert_eq!(
        q.describe(),
        "police rate 1Mbit burst 3028b conform-exceed drop/pass mpu 0 overhead 0 linklayer ethernet"
    );
    assert_eq!(passed(&mut *q, Time::ZERO, 10), 2);
}

#[test]
fn incomplete_parameters_are_refused() {
    for (options, why) in [
        ("rate 1Mbit", "`rate` and `burst` need each other"),
        ("burst 1Mb", "`rate` and `burst` need each other"),
        ("pkts_rate 5", "need each other"),
        ("rate 1Mbit burst 9000 pkts_rate 5 pkts_burst 5", "exclude each other"),
        ("drop", "is required"),
        ("mtu 1500 conform-exceed frobnicate", "such as `drop/pass`"),
        ("mtu 1500 drip", "did you mean `drop`?"),
    ] {
        let built = build(&format!("police {options}"), Env::ethernet(Rng::named(1, "t")));
        let error = built.err().expect("refused").0;
        assert!(error.starts_with("police: ") && error.contains(why), "{error}");
    }
}
