use super::*;
use crate::aqm::{Env, Reason};
use crate::qdiscs::{build, build_shaped, change, change_rate, read_size_table, replace_at};
use sojourn_core::ecn::Ecn;
use sojourn_core::rng::Rng;

fn env() -> Env {
    Env::ethernet(Rng::named(1, "t"))
}

fn make(text: &str) -> Box<dyn Qdisc> {
    build(text, env()).unwrap_or_else(|why| panic!("{why}"))
}

fn packet(id: u32, len: u32) -> Packet {
    Packet { id, len, tos: Ecn::Ect0 as u8, ..Packet::default() }
}

fn sized(overhead: i32, inside: &str) -> String {
    format!("stab mtu 2047 tsize 512 mpu 0 overhead {overhead} linklayer ethernet {inside}")
}

fn departures(q: &mut dyn Qdisc, len: u32, count: usize) -> Vec<u64> {
    let (mut log, mut now, mut times) = (Log::default(), Time::ZERO, Vec::new());
    for id in 0..count as u32 {
        q.enqueue(now, packet(id, len), &mut log);
    }
    while times.len() < count {
        if let Some(pkt) = q.dequeue(now, &mut log) {
            assert_eq!(pkt.len, len);
            times.push(now.0);
        } else {
            now = q.wake();
            q.on_wake(now, &mut log);
        }
    }
    times
}

// KAT stab 1
#[test]
fn shaper_inside_spaces_packets_by_their_weight() {
    for (options, len, weight) in [
        ("overhead 24", 1514, 1538),
        ("overhead 24 mpu 84", 1514, 1540),
        ("overhead 24 mpu 84", 60, 84),
        ("overhead 10 linklayer atm", 1514, 1696),
        ("overhead 10 linklayer atm", 142, 212),
        ("overhead -14 linklayer adsl", 62, 53),
        ("overhead -10 mpu 84 mtu 1600 tsize 64", 1514, 1504),
    ] {
        let mut q = make(&format!("stab {options} htb rate 8Mbit"));
        let times = departures(&mut *q, len, 60);
        assert_eq!(times[59] - times[58], weight * 1000, "{options}");
    }
}

#[test]
fn limits_inside_count_weights_and_the_log_true_lengths() {
    let mut q = make("stab overhead 100 mpu 400 bfifo limit 1200");
    let mut log = Log::default();
    for id in 0..4 {
        q.enqueue(Time::ZERO, packet(id, 250), &mut log);
    }
    assert!(matches!(
        log.events(),
        [Event::Drop(Packet { id: 3, len: 250, .. }, Reason::TailLimit)]
    ));
    assert_eq!(q.backlog(), Backlog { packets: 3, bytes: 750 });
    q.purge(&mut log);
    let lens: Vec<u32> = log
        .drain()
        .map(|event| match event {
            Event::Drop(pkt, _) => pkt.len,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!((lens, q.backlog()), (vec![250; 4], Backlog::default()));
}

#[test]
fn marks_and_duplicates_are_logged_with_true_lengths() {
    let mut q = make("stab overhead 100 codel ecn target 0ms interval 1us ce_threshold 1us");
    let mut log = Log::default();
    for id in 0..9 {
        q.enqueue(Time::ZERO, packet(id, 250 + id), &mut log);
    }
    while q.dequeue(Time(50_000_000), &mut log).is_some() {}
    assert!(!log.is_empty());
    for event in log.drain() {
        assert!(matches!(event, Event::Mark(pkt, _) if pkt.len == 250 + pkt.id), "{event:?}");
    }
    let mut q = make("stab overhead 100 netem duplicate 100%");
    q.enqueue(Time::ZERO, packet(7, 300), &mut log);
    assert!(matches!(log.events(), [Event::Duplicate(Packet { id: 7, len: 300, .. })]));
    assert_eq!(q.backlog(), Backlog { packets: 2, bytes: 600 });
    let sent = std::iter::from_fn(|| q.dequeue(Time::ZERO, &mut log).map(|pkt| pkt.len));
    assert_eq!(sent.collect::<Vec<_>>(), [300, 300]);
    assert_eq!(q.backlog(), Backlog::default());
}

#[test]
fn change_keeps_packets_whose_weight_is_that_of_their_arrival() {
    let mut q = make("stab overhead 24 htb rate 8Mbit");
    let mut log = Log::default();
    for id in 0..3 {
        q.enqueue(Time::ZERO, packet(id, 1000), &mut log);
    }
    change(&mut *q, Time::ZERO, "stab overhead 48 htb rate 16Mbit", &mut Log::default()).unwrap();
    assert!(q.describe().starts_with(&sized(48, "htb rate 16Mbit")), "{}", q.describe());
    assert_eq!(q.backlog(), Backlog { packets: 3, bytes: 3000 });
    let error = change(&mut *q, Time::ZERO, "stab overhead 99 htb rat 1Mbit", &mut Log::default())
        .unwrap_err()
        .0;
    assert!(error.starts_with("htb: unknown parameter `rat`"), "{error}");
    assert!(q.describe().starts_with(&sized(48, "htb rate 16Mbit")), "{}", q.describe());
    change_rate(&mut *q, Time::ZERO, Rate(5_000_000), &mut Log::default()).unwrap();
    assert!(q.describe().starts_with(&sized(48, "htb rate 5Mbit")), "{}", q.describe());
    assert_eq!(q.capacity(), Some(Rate(5_000_000)));
}

#[test]
fn replaced_leaf_is_purged_with_true_lengths() {
    let shaped = build_shaped("htb rate 8Mbit", make("pfifo"), &env()).unwrap();
    let mut q = read_size_table("overhead 24", &env()).unwrap().around(env(), shaped);
    let mut log = Log::default();
    for depth in [2, 1] {
        q.enqueue(Time::ZERO, packet(depth, 1000), &mut log);
        replace_at(&mut q, depth as usize, make("codel"), &mut log);
        let dropped: Vec<Event> = log.drain().collect();
        assert!(matches!(dropped[..], [Event::Drop(Packet { len: 1000, .. }, Reason::Purge)]));
        assert_eq!(q.backlog(), Backlog::default());
    }
    assert!(q.describe().starts_with(&sized(24, "codel")), "{}", q.describe());
}

#[test]
fn mistakes_are_named_in_one_line() {
    for (text, error) in [
        ("stab overhed 3", "stab: unknown parameter `overhed` (did you mean `overhead`?)"),
        ("stab overhead x", "stab: `overhead x`: expected a whole number from -65536 to 65536"),
        ("stab linklayer ptm", "stab: `linklayer ptm`: expected one of ethernet, atm, adsl"),
        ("stab overhead 3 codel limt 3", "codel: unknown parameter `limt`"),
    ] {
        let got = build(text, env()).err().unwrap().0;
        assert!(got.starts_with(error) && got.lines().count() == 1, "{got}");
    }
    let error = read_size_table("overhead 24 codel", &env()).err().unwrap().0;
    assert_eq!(error, "stab: `codel`: around a queue it names none itself");
}
