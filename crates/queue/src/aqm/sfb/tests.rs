use super::super::Event;
use super::*;
use crate::qdiscs::{build, change};
use sojourn_core::ecn::Ecn;

/// The kernel's own steps, 66 and 11 of 65535.
const KERNEL: &str = "sfb increment 0.001 decrement 0.00016785";

fn env() -> Env {
    Env::ethernet(Rng::named(1, "t"))
}

fn make(text: &str) -> Sfb {
    let spec: Spec = text.parse().unwrap();
    Sfb::new(*spec.params().unwrap(), env())
}

fn packet(id: u32, hash: u32, ecn: Ecn) -> Packet {
    Packet { id, hash, len: 1000, tos: ecn as u8, ..Packet::default() }
}

fn value(q: &dyn Qdisc, name: &str) -> f64 {
    let mut stats = Stats::default();
    q.stats(&mut stats);
    stats.value(name).unwrap()
}

/// Sets the probability and occupancy of all bins of the filter in use.
fn fill(q: &mut Sfb, prob: u32, packets: u32) {
    q.filters[q.current].bins = [[Bin { prob, packets }; BINS]; LEVELS];
}

// KAT sfb 1
#[test]
fn arrivals_at_empty_bins_cost_eleven_and_993_at_full_ones_saturate() {
    let p = make(KERNEL).params;
    assert_eq!((p.increment, p.decrement), (66, 11));
    let mut q = make(KERNEL);
    fill(&mut q, 100, 0);
    let least = |q: &mut Sfb| q.filters[0].arrive(0x1234_5678, &p).0;
    assert_eq!((least(&mut q), least(&mut q)), (89, 78));
    fill(&mut q, 5, 0);
    assert_eq!(least(&mut q), 0);
    fill(&mut q, 0, 20);
    let needed = (1..2000).find(|_| least(&mut q) == MAX_PROB).unwrap();
    assert_eq!((needed, 66 * 993), (993, 65_538));
    fill(&mut q, 500, 19);
    assert_eq!(least(&mut q), 500);
}

#[test]
fn max_and_target_follow_from_each_other_as_in_tc() {
    for (options, max, target) in [
        ("", 25, 20),
        (" target 30", 37, 30),
        (" target 1", 1, 1),
        (" target 3", 4, 3),
        (" max 10", 10, 8),
        (" max 3", 3, 3),
        (" max 4", 4, 3),
        (" max 30 target 10", 30, 10),
    ] {
        let p = make(&format!("sfb{options}")).params;
        assert_eq!((p.max, p.target), (max, target), "{options}");
    }
    let p = make("sfb").params;
    assert_eq!((p.increment, p.decrement, p.limit), (33, 3, 1000));
    assert_eq!(make("sfb increment 0.01").params.increment, 655);
    for options in ["increment 1.5", "rehash 1s", "limit 0"] {
        assert!(build(&format!("sfb {options}"), env()).is_err(), "{options}");
    }
}

#[test]
fn one_flow_is_stopped_at_max_and_another_is_not() {
    let (mut q, mut log) = (make("sfb"), Log::default());
    for id in 0..40 {
        q.enqueue(Time::ZERO, packet(id, 1, Ecn::Ect0), &mut log);
    }
    let dropped =
        log.drain().filter(|e| matches!(e, Event::Drop(_, Reason::FlowOverlimit))).count();
    assert_eq!((dropped, value(&q, "bucketdrop"), value(&q, "maxqlen")), (15, 15.0, 25.0));
    q.enqueue(Time::ZERO, packet(40, 0xdead_beef, Ecn::Ect0), &mut log);
    assert_eq!((log.events().len(), q.backlog().packets), (0, 26));
    while q.dequeue(Time::ZERO, &mut log).is_some() {}
    assert!(q.filters[0].bins.as_flattened().iter().all(|b| b.packets == 0));
}

/// Shares of marks and drops at probability `prob` of 65535.
fn shares(prob: u32, ecn: Ecn) -> (f64, f64) {
    let (mut q, mut log) = (make("sfb"), Log::default());
    let n = 100_000;
    for id in 0..n {
        q.survives(prob, &mut packet(id, 0, ecn), &mut log);
    }
    let marks = log.drain().filter(|e| matches!(e, Event::Mark(_, Reason::Blue))).count();
    assert_eq!(q.counters.marked, marks as u64);
    (marks as f64 / f64::from(n), q.counters.early as f64 / f64::from(n))
}

#[test]
fn above_one_half_even_ect_packets_are_dropped() {
    let near = |a: f64, b: f64| assert!((a - b).abs() < 0.008, "{a} {b}");
    for (prob, mark, drop) in
        [(0.3, 0.3, 0.0), (0.5, 0.5, 0.0), (0.75, 0.25, 0.5), (0.99, 0.01, 0.98)]
    {
        let prob = (prob * f64::from(MAX_PROB)) as u32;
        let (marks, drops) = shares(prob, Ecn::Ect1);
        near(marks, mark);
        near(drops, drop);
        near(shares(prob, Ecn::NotEct).1, mark + drop);
    }
    assert_eq!(shares(0, Ecn::Ect0), (0.0, 0.0));
}

#[test]
fn flows_at_probability_one_share_the_penalty_rate() {
    let (mut q, mut log) = (make("sfb penalty_rate 10 penalty_burst 20"), Log::default());
    let mut passed = Vec::new();
    for id in 0..5000_u32 {
        fill(&mut q, MAX_PROB, 1);
        let now = Time(u64::from(id) * 1_000_000);
        q.enqueue(now, packet(id, 7, Ecn::Ect0), &mut log);
        let lost = log.drain().any(|e| matches!(e, Event::Drop(_, Reason::Protection)));
        passed.extend((!lost).then_some(id));
        q.queue.clear();
        q.backlog = Backlog::default();
    }
    assert_eq!(passed[..20], (0..20).collect::<Vec<_>>());
    // An attempt without a token starts the count of its jiffies anew, so that a flow that sends
    // every millisecond never earns another.
    assert_eq!(passed.len(), 20);
    fill(&mut q, MAX_PROB, 1);
    q.enqueue(Time(5_099_000_000), packet(0, 7, Ecn::Ect0), &mut log);
    assert_eq!(q.backlog().packets, 1);
}

#[test]
fn hash_changes_after_its_time_and_the_next_filter_learns_before() {
    let (mut q, mut log) = (make("sfb rehash 1000 db 100"), Log::default());
    let salts = [q.filters[0].salt, q.filters[1].salt];
    assert_ne!(salts[0], salts[1]);
    let mut at = |q: &mut Sfb, ms: u64| {
        q.enqueue(Time(ms * 1_000_000), packet(1, 1, Ecn::Ect0), &mut log);
        (q.current, q.learning)
    };
    assert_eq!([at(&mut q, 900), at(&mut q, 901)], [(0, false), (0, true)]);
    fill(&mut q, MAX_PROB, 3);
    at(&mut q, 950);
    assert!(q.filters[1].bins.as_flattened().iter().any(|b| b.packets > 0));
    assert_eq!([at(&mut q, 1000), at(&mut q, 1001)], [(0, true), (1, false)]);
    assert_eq!(q.filters[1].salt, salts[1]);
    assert_ne!(q.filters[0].salt, salts[0]);
}

#[test]
fn change_is_a_whole_configuration_and_starts_anew() {
    let (mut q, mut log) = (make("sfb limit 50 max 40"), Log::default());
    q.enqueue(Time::ZERO, packet(0, 1, Ecn::Ect0), &mut log);
    change(&mut q, Time::ZERO, "sfb limit 60", &mut log).unwrap();
    assert_eq!((q.params.limit, q.params.max), (60, 25));
    assert!(matches!(log.events(), [Event::Drop(_, Reason::Purge)]));
    assert_eq!(q.backlog(), Backlog::default());
}
