use super::*;
use crate::qdiscs::{build, build_shaped, change};
use sojourn_core::rng::Rng;

fn env() -> Env {
    Env::ethernet(Rng::named(1, "t"))
}

fn make(text: &str) -> Box<dyn Qdisc> {
    build(text, env()).unwrap()
}

fn fill(q: &mut dyn Qdisc, now: Time, packets: u32) {
    let mut log = Log::default();
    for id in 0..packets {
        q.enqueue(now, Packet { id, len: 1514, ..Packet::default() }, &mut log);
    }
    assert!(log.is_empty());
}

/// Departure instants of what is queued, served whenever the shaper asks for it.
fn departures(q: &mut dyn Qdisc, mut now: Time, count: usize) -> Vec<u64> {
    let (mut log, mut times) = (Log::default(), Vec::new());
    while times.len() < count {
        if q.dequeue(now, &mut log).is_some() {
            times.push(now.0);
        } else {
            now = q.wake();
            assert_ne!(now, Time::NEVER, "starved");
            q.on_wake(now, &mut log);
        }
    }
    times
}

// KAT htb 1
#[test]
fn saturated_htb_departs_at_the_kernel_times() {
    let mut q = make("htb rate 50Mbit");
    fill(&mut *q, Time::ZERO, 200);
    let times = departures(&mut *q, Time::ZERO, 200);
    assert_eq!(times[..5], [0, 0, 228_480, 470_720, 712_960]);
    assert!(times[2..].windows(2).all(|w| w[1] - w[0] == 242_240));
}

// KAT htb 1
#[test]
fn pause_recreates_a_burst_of_two_but_never_three() {
    let mut q = make("htb rate 50Mbit");
    fill(&mut *q, Time::ZERO, 3);
    let last = departures(&mut *q, Time::ZERO, 3)[2];
    for pause in [484_480, 5_000_000_000] {
        let mut q = make("htb rate 50Mbit");
        fill(&mut *q, Time::ZERO, 3);
        departures(&mut *q, Time::ZERO, 3);
        let now = Time(last + pause);
        fill(&mut *q, now, 4);
        let times = departures(&mut *q, now, 4);
        assert_eq!((times[0], times[1]), (now.0, now.0));
        assert!(times[2] > now.0);
    }
    let now = Time(last + 484_479);
    fill(&mut *q, now, 2);
    assert!(departures(&mut *q, now, 2)[1] > now.0);
}

// KAT htb 1
#[test]
fn late_service_is_made_good_up_to_the_bucket() {
    for (late, lost) in [(0, 0), (256_000, 0), (300_000, 44_000)] {
        let mut q = make("htb rate 50Mbit");
        fill(&mut *q, Time::ZERO, 10);
        departures(&mut *q, Time::ZERO, 3);
        let mut log = Log::default();
        assert!(q.dequeue(Time(228_480), &mut log).is_none());
        let now = Time(470_720 + late);
        q.on_wake(now, &mut log);
        let times = departures(&mut *q, now, 7);
        assert_eq!(times[6], 470_720 + 6 * 242_240 + lost, "late {late}");
    }
}

// KAT htb 1
#[test]
fn change_of_rate_keeps_the_debt_in_nanoseconds() {
    let mut q = make("htb rate 50Mbit");
    fill(&mut *q, Time::ZERO, 10);
    departures(&mut *q, Time::ZERO, 2);
    change(&mut *q, Time::ZERO, "htb rate 5Mbit", &mut Log::default()).unwrap();
    assert_eq!(q.backlog().packets, 8);
    let times = departures(&mut *q, Time::ZERO, 3);
    assert_eq!(times, [228_480, 228_480 + 2_422_400, 228_480 + 2 * 2_422_400]);
    assert_eq!(
        q.describe(),
        "htb rate 5Mbit mtu 1600b mpu 0b overhead 0 linklayer ethernet prio 0 r2q 10"
    );
}

#[test]
fn lone_class_cannot_borrow_up_to_its_ceiling() {
    let mut q = make("htb rate 50Mbit ceil 100Mbit");
    fill(&mut *q, Time::ZERO, 50);
    let times = departures(&mut *q, Time::ZERO, 50);
    assert!(times[2..].windows(2).all(|w| w[1] - w[0] == 242_240));
    let mut q = make("htb rate 100Mbit ceil 50Mbit");
    fill(&mut *q, Time::ZERO, 50);
    let times = departures(&mut *q, Time::ZERO, 50);
    assert!(times[2..].windows(2).all(|w| w[1] - w[0] == 242_240));
}

#[test]
fn quantum_and_tokens_show_the_kernels_units() {
    let mut stats = Stats::default();
    make("htb rate 50Mbit").stats(&mut stats);
    for (name, value) in [("quantum", 200_000.0), ("tokens", 4000.0), ("ctokens", 4000.0)] {
        assert_eq!(stats.value(name), Some(value), "{name}");
    }
}

/// A leaf that fails the test if it is asked while empty, and has a timer of its own.
struct Picky {
    queue: Fifo,
    timer: Time,
    fired: u64,
}

impl Qdisc for Picky {
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        self.queue.enqueue(now, pkt, log);
    }
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        Some(self.queue.dequeue(now, log).expect("asked although empty"))
    }
    fn wake(&self) -> Time {
        self.timer
    }
    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        assert_eq!(now, self.timer);
        self.timer = Time(now.0 + 1_000_000);
        self.fired += 1;
    }
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
    fn change(&mut self, now: Time, to: &Spec, given: &Given, log: &mut Log) {
        self.queue.change(now, to, given, log);
    }
    fn spec(&self) -> Spec {
        self.queue.spec()
    }
    fn stats(&self, out: &mut Stats) {
        out.put("fired", self.fired as f64);
    }
    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
    }
}

// KAT htb 2
#[test]
fn leaf_is_never_asked_while_empty_and_woken_only_at_its_time() {
    let leaf = Picky { queue: Fifo::pfifo(100), timer: Time(1_000_000), fired: 0 };
    let mut q = build_shaped("htb rate 50Mbit", Box::new(leaf), &env()).unwrap();
    fill(&mut *q, Time::ZERO, 20);
    let (mut log, mut now, mut sent) = (Log::default(), Time::ZERO, 0);
    while now < Time(10_000_000) {
        while q.dequeue(now, &mut log).is_some() {
            sent += 1;
        }
        now = q.wake();
        q.on_wake(now, &mut log);
    }
    let mut stats = Stats::default();
    q.leaf().unwrap().stats(&mut stats);
    assert_eq!((sent, stats.value("fired")), (20, Some(10.0)));
}

#[test]
fn shapers_and_only_shapers_go_around_a_leaf() {
    let leaf = || make("pfifo limit 7");
    let q = build_shaped("htb rate 1Mbit", leaf(), &env()).unwrap();
    assert_eq!(q.leaf().unwrap().describe(), "pfifo limit 7p");
    for text in ["codel", "htp rate 1Mbit", "htb", "htb rate 0"] {
        assert!(build_shaped(text, leaf(), &env()).is_err(), "{text}");
    }
}
