use super::super::Event;
use super::*;
use crate::qdiscs::{build, build_shaped, change, change_rate};
use sojourn_core::rng::Rng;

fn env() -> Env {
    Env::ethernet(Rng::named(1, "t"))
}

fn make(text: &str) -> Box<dyn Qdisc> {
    build(text, env()).unwrap()
}

fn refused(text: &str) -> String {
    build(text, env()).err().expect("refused").0
}

fn fill(q: &mut dyn Qdisc, n: u32, len: u32, log: &mut Log) {
    for id in 0..n {
        q.enqueue(Time::ZERO, Packet { id, len, ..Packet::default() }, log);
    }
}

/// The first `n` departures in microseconds.
fn departures(q: &mut dyn Qdisc, n: usize, log: &mut Log) -> Vec<u64> {
    let (mut now, mut left) = (Time::ZERO, Vec::new());
    while left.len() < n {
        if q.dequeue(now, log).is_some() {
            left.push(now.0 / 1000);
        } else {
            assert!(q.wake() > now && q.wake() < Time::NEVER);
            now = q.wake();
            q.on_wake(now, log);
        }
    }
    left
}

// KAT tbf 1
#[test]
fn saturated_tbf_departs_at_the_kernel_times() {
    let (mut q, mut log) = (make("tbf rate 1Mbit burst 5000 limit 100kb"), Log::default());
    fill(&mut *q, 7, 1514, &mut log);
    let left = departures(&mut *q, 7, &mut log);
    assert_eq!(left, [0, 0, 0, 8_448, 20_560, 32_672, 44_784]);
}

// KAT tbf 1
#[test]
fn packet_larger_than_the_bucket_is_dropped_on_arrival() {
    let (mut q, mut log) = (make("tbf rate 1Mbit burst 1500 latency 1s"), Log::default());
    fill(&mut *q, 1, 1514, &mut log);
    assert!(matches!(log.events()[..], [Event::Drop(_, Reason::TooLarge)]));
    let peak = "tbf rate 1Mbit burst 5000 latency 1s peakrate 2Mbit mtu 1513";
    let (mut q, mut log) = (make(peak), Log::default());
    fill(&mut *q, 1, 1514, &mut log);
    assert!(matches!(log.events()[..], [Event::Drop(_, Reason::TooLarge)]));
    fill(&mut *q, 1, 1513, &mut log);
    assert_eq!(q.backlog().packets, 1);
}

#[test]
fn peak_rate_spaces_the_burst() {
    let text = "tbf rate 1Mbit burst 5000 limit 100kb peakrate 4Mbit mtu 1514";
    let (mut q, mut log) = (make(text), Log::default());
    fill(&mut *q, 6, 1514, &mut log);
    // 3.028 ms per frame at the peak, until 40 ms of tokens are used up at 12.112 ms each.
    let left = departures(&mut *q, 6, &mut log);
    assert_eq!(left, [0, 3_028, 6_056, 9_084, 20_560, 32_672]);
}

#[test]
fn limit_follows_from_latency_as_in_tc() {
    for (options, limit) in [
        // tc shows 40 ms for 10000 bytes, and the reverse.
        ("latency 40ms", 10_000),
        ("limit 10000", 10_000),
        ("latency 50ms peakrate 2Mbit mtu 1600", 11_250),
        ("latency 50ms peakrate 1100kbit mtu 1600", 8_475),
    ] {
        let q = make(&format!("tbf rate 1Mbit burst 5000 {options}"));
        let leaf = q.leaf().map(Qdisc::describe);
        assert_eq!(leaf, Some(format!("bfifo limit {}", Bytes(limit))), "{options}");
    }
}

#[test]
fn cells_fill_the_bucket_as_the_kernel_computes_it() {
    // Linux 7.2 shows a burst of 5565 bytes for these parameters: 105 cells.
    let text = "tbf rate 1Mbit burst 5000/64 limit 9000 overhead 10 linklayer atm mpu 64";
    let spec: Spec = text.parse().unwrap();
    let params = spec.params::<Params>().unwrap();
    let bucket = params.bucket(params.rate, params.burst);
    assert_eq!(bucket.depth, 5565 * 8000);
}

#[test]
fn waiting_head_still_counts_for_the_limit_of_a_fifo() {
    let (mut q, mut log) = (make("tbf rate 1Mbit burst 1600 limit 4542"), Log::default());
    fill(&mut *q, 3, 1514, &mut log);
    assert!(q.dequeue(Time::ZERO, &mut log).is_some());
    assert!(q.dequeue(Time::ZERO, &mut log).is_none());
    fill(&mut *q, 2, 1514, &mut log);
    assert_eq!((q.backlog().packets, log.drain().count()), (3, 1));
}

#[test]
fn leaf_that_cannot_be_looked_into_gives_its_head_away() {
    let leaf = make("codel limit 100");
    let mut q = build_shaped("tbf rate 1Mbit burst 1600", leaf, &env()).unwrap();
    let mut log = Log::default();
    fill(&mut *q, 4, 1514, &mut log);
    // 1514 bytes of the bucket's 1600 are gone at once, 86 are left.
    assert_eq!(departures(&mut *q, 2, &mut log), [0, 11_424]);
    assert_eq!(q.backlog(), Backlog { packets: 2, bytes: 3028 });
    assert!(q.dequeue(Time(11_424_000), &mut log).is_none());
    q.purge(&mut log);
    assert_eq!((q.backlog(), log.drain().count()), (Backlog::default(), 2));
}

// What Linux 7.2 counted of twelve packets of 1000 bytes at once, each of another flow.
#[test]
fn packet_that_waits_for_tokens_counts_for_the_limit_of_its_leaf() {
    for (leaf, held, dropped) in [
        ("codel limit 4", 4, 7),
        ("fq_codel limit 4", 4, 7),
        ("sfq limit 4", 4, 7),
        ("fq_pie limit 4", 4, 7),
        ("pie limit 4", 4, 7),
        ("dualpi2 limit 4", 4, 7),
        ("dualpi2 limit 100 memlimit 5000", 3, 8),
        ("sfb limit 4", 4, 7),
        ("pfifo limit 4", 4, 7),
        ("pfifo_head_drop limit 4", 4, 7),
        ("fq limit 4", 11, 0),
    ] {
        let mut q = build_shaped("tbf rate 80kbit burst 1600", make(leaf), &env()).unwrap();
        let mut log = Log::default();
        let mut sent = 0;
        for id in 0..12 {
            let pkt = Packet { id, len: 1000, hash: id << 28, ..Packet::default() };
            q.enqueue(Time::ZERO, pkt, &mut log);
            while q.dequeue(Time::ZERO, &mut log).is_some() {
                sent += 1;
            }
        }
        let found = (sent, q.backlog().packets, log.drain().count());
        assert_eq!(found, (1, held, dropped), "{leaf}");
    }
}

// Linux 7.2 `tbf_dequeue` peeks, and `red_peek` does not start an idle period.
#[test]
fn red_under_a_token_bucket_is_never_idle() {
    let leaf = make("red limit 60000 min 5000 max 15000 avpkt 1000 burst 10 bandwidth 1Mbit");
    let mut q = build_shaped("tbf rate 1Mbit burst 1600", leaf, &env()).unwrap();
    let mut log = Log::default();
    fill(&mut *q, 20, 1000, &mut log);
    departures(&mut *q, 20, &mut log);
    let average = |q: &dyn Qdisc| {
        let mut found = 0.0;
        q.leaf().unwrap().probe(&mut Probe::new(&mut |name, _, value| {
            if name == "average" {
                found = value;
            }
        }));
        found
    };
    let before = average(&*q);
    let late = Time(60_000_000_000);
    assert!(q.dequeue(late, &mut log).is_none());
    q.enqueue(late, Packet { len: 1000, ..Packet::default() }, &mut log);
    // One sample of an empty queue, not the time that it was empty.
    assert!(before > 0.0 && average(&*q) > 0.9 * before, "{before} {}", average(&*q));
}

#[test]
fn change_of_rate_keeps_the_queue_and_fills_the_bucket() {
    let (mut q, mut log) = (make("tbf rate 1Mbit burst 1600 latency 100ms"), Log::default());
    fill(&mut *q, 5, 1514, &mut log);
    assert_eq!(departures(&mut *q, 1, &mut log), [0]);
    change_rate(&mut *q, Time::ZERO, Rate(2_000_000), &mut Log::default()).unwrap();
    assert_eq!(
        q.describe(),
        "tbf rate 2Mbit burst 1600b latency 100ms mpu 0 overhead 0 linklayer ethernet"
    );
    assert_eq!(q.leaf().map(Qdisc::describe), Some("bfifo limit 26600b".into()));
    assert_eq!(departures(&mut *q, 2, &mut log), [0, 5_712]);
    change(&mut *q, Time::ZERO, "tbf limit 9000", &mut Log::default()).unwrap();
    assert_eq!(
        q.describe(),
        "tbf rate 2Mbit burst 1600b limit 9000b mpu 0 overhead 0 linklayer ethernet"
    );
    assert_eq!(q.backlog().packets, 2);
}

// fifo_set_limit. Linux 7.2: behind `pfifo_head_drop limit 4`, after a change of the rate, packets waited for 2.7 s.
#[test]
fn change_hands_the_limit_to_a_fifo_below_and_to_nothing_else() {
    for (leaf, after) in [
        ("pfifo limit 34", "pfifo limit 9000p"),
        ("pfifo_head_drop limit 4", "pfifo_head_drop limit 9000p"),
        ("bfifo limit 6000", "bfifo limit 9000b"),
        ("codel limit 4", "codel limit 4p target 5ms"),
    ] {
        let mut q =
            build_shaped("tbf rate 1Mbit burst 1600 limit 9000", make(leaf), &env()).unwrap();
        change_rate(&mut *q, Time::ZERO, Rate(2_000_000), &mut Log::default()).unwrap();
        let own = q.leaf().map(Qdisc::describe).unwrap();
        assert!(own.starts_with(after), "{own}");
    }
}

#[test]
fn combinations_that_tc_refuses_are_refused() {
    for (options, why) in [
        ("burst 5000 latency 50ms limit 4000", "exclude each other"),
        ("burst 5000", "either `limit` or `latency`"),
        ("limit 5000", "`burst` is required"),
        ("burst 1500 limit 5000 peakrate 2Mbit", "`peakrate` needs `mtu`"),
        ("burst 1500 limit 5000 peakrate 500kbit mtu 1600", "must be above"),
        ("burst 1500/3 limit 5000", "expected a size"),
    ] {
        let error = refused(&format!("tbf rate 1Mbit {options}"));
        assert!(error.starts_with("tbf: ") && error.contains(why), "{error}");
    }
}
