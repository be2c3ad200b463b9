use super::*;
use crate::qdiscs::{build, change};
use sojourn_core::ecn::Ecn;

fn env() -> Env {
    Env::ethernet(Rng::named(1, "t"))
}

fn make(options: &str) -> JudgedFifo<Ramp> {
    JudgedFifo::read(options)
}

/// Codepoints of 20000 packets, each of which leaves after `delay` before another.
fn counts(options: &str, delay: Dur, ecn: Ecn) -> [u32; 4] {
    let (mut q, mut log) = (make(options), Log::default());
    let mut counts = [0; 4];
    let mut now = Time::ZERO;
    for _ in 0..20_000 {
        let pkt = Packet { len: 1514, tos: ecn as u8, ..Packet::default() };
        q.enqueue(now, pkt, &mut log);
        q.enqueue(now, pkt, &mut log);
        now += delay;
        let sent = q.dequeue(now, &mut log).unwrap();
        counts[usize::from(sent.tos & 3)] += 1;
        // The rest goes, the law's state stays.
        while q.fifo.queue.pop().is_some() {}
    }
    counts
}

// scim's ramp.
#[test]
fn share_of_marks_is_linear_from_one_frame_time_to_a_hundred_milliseconds() {
    // One frame of 1514 bytes takes 1.2112 ms at 10 Mbit/s.
    let frame_us = 1211.2;
    for (us, share) in [(1_211, 0.0), (25_908, 0.25), (50_606, 0.5), (100_000, 1.0)] {
        let expected = ((f64::from(us) - frame_us) / (100_000.0 - frame_us)).max(0.0);
        assert!((expected - share).abs() < 1e-4);
        for (signal, spread) in [("random", 0.011), ("recur", 0.0001)] {
            let options = format!("tau 65535 signal {signal}");
            let delay = Dur::from_micros(us as u64);
            let [_, sce, none, ce] = counts(&options, delay, Ecn::Ect0);
            assert_eq!((sce + none, ce), (20_000, 0));
            let marked = f64::from(sce) / 20_000.0;
            assert!((marked - expected).abs() <= spread, "{us} us {signal}: {marked}");
        }
    }
}

// scim's ramp.
#[test]
fn one_mark_in_tau_is_ce() {
    let [_, sce, none, ce] = counts("", Dur::from_millis(200), Ecn::Ect0);
    assert_eq!((sce, none, ce), (20_000 - 312, 0, 312));
    let [_, sce, _, ce] = counts("tau 1", Dur::from_millis(200), Ecn::Ect0);
    assert_eq!((sce, ce), (0, 20_000));
}

#[test]
fn drop_of_the_incapable_leaves_the_next_packet() {
    let (mut q, mut log) = (make("tau 3 signal recur"), Log::default());
    for id in 0..9 {
        q.enqueue(Time::ZERO, Packet { id, len: 1514, ..Packet::default() }, &mut log);
    }
    let late = Time(200_000_000);
    let sent: Vec<u32> =
        std::iter::from_fn(|| q.dequeue(late, &mut log)).map(|pkt| pkt.id).collect();
    // The last packet stays even where its turn has come.
    assert_eq!((sent, log.events().len()), (vec![0, 1, 3, 4, 6, 7, 8], 2));
}

#[test]
fn ramp_begins_where_its_parameters_say_and_has_a_width() {
    let from = |options| make(options).judge.from;
    assert_eq!(from("bandwidth 100Mbit"), Dur(121_120));
    assert_eq!(from("bandwidth 100Mbit min 2ms"), Dur::from_millis(2));
    for (options, why) in [
        ("max 1ms", "`max` 1ms is not above `min`"),
        ("min 7ms max 7ms", "`max` 7ms is not above `min` 7ms"),
        ("bandwidth 0", "a rate of at least 1bit"),
        ("tau 0", "from 1 to 65535"),
    ] {
        let error = build(&format!("ramp {options}"), env()).err().unwrap().0;
        assert!(error.contains(why), "{options}: {error}");
    }
    let mut q = make("bandwidth 1Gbit");
    change(&mut q, Time::ZERO, "ramp max 50ms tau 8", &mut Log::default()).unwrap();
    assert_eq!(q.describe(), "ramp bandwidth 1Gbit max 50ms signal random tau 8");
    assert_eq!((q.fifo.params.max, q.judge.tally.tau), (Dur::from_millis(50), 8));
}
