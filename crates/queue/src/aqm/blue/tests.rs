use super::super::{Event, Spec};
use super::*;
use crate::qdiscs::{build, build_shaped, change};
use sojourn_core::ecn::Ecn;

fn env() -> Env {
    Env::ethernet(Rng::named(1, "t"))
}

fn make(text: &str) -> JudgedFifo<Blue> {
    let spec: Spec = text.parse().unwrap();
    JudgedFifo::new(*spec.params().unwrap(), env())
}

fn packet(id: u32, ecn: Ecn) -> Packet {
    Packet { id, len: 1000, tos: ecn as u8, ..Packet::default() }
}

fn ms(n: u64) -> Time {
    Time(n * 1_000_000)
}

fn percent(q: &dyn Qdisc) -> f64 {
    let mut stats = Stats::default();
    q.stats(&mut stats);
    (stats.value("prob").unwrap() * 1e4).round() / 100.0
}

// Feng, Kandlur, Saha and Shin 1999.
#[test]
fn overflow_raises_the_probability_once_per_freeze_time() {
    let (mut q, mut log) = (make("blue limit 5"), Log::default());
    let mut seen = Vec::new();
    for (id, at) in [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 50), (7, 100), (8, 101)] {
        q.enqueue(ms(at), packet(id, Ecn::Ect0), &mut log);
        seen.push(percent(&q));
    }
    assert_eq!(seen, [0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 4.0]);
    let dropped = log.drain().filter(|e| matches!(e, Event::Drop(_, Reason::TailLimit))).count();
    assert_eq!(dropped, 4);
}

// Feng, Kandlur, Saha and Shin 1999.
#[test]
fn idleness_lowers_it_with_and_without_a_shaper() {
    for shaped in [false, true] {
        let mut blue = make("blue limit 5");
        (blue.judge.prob, blue.judge.last_update) = (u32::MAX / 10, Some(ms(0)));
        let mut q: Box<dyn Qdisc> = Box::new(blue);
        if shaped {
            q = build_shaped("htb rate 1Gbit", q, &env()).unwrap();
        }
        let mut log = Log::default();
        for at in [50, 100, 150, 200, 251, 400] {
            q.dequeue(ms(at), &mut log);
            q.enqueue(ms(at), packet(0, Ecn::Ect0), &mut log);
            q.dequeue(ms(at), &mut log);
            q.dequeue(ms(at), &mut log);
        }
        let mut prob = 0.0;
        q.probe(&mut Probe::new(&mut |name, _, v| {
            if name == "prob" {
                prob = v;
            }
        }));
        // Steps at 150, 251 and 400 ms.
        assert!((prob - 0.094).abs() < 1e-6, "{shaped} {prob}");
    }
}

#[test]
fn threshold_raises_it_before_the_queue_is_full() {
    let (mut q, mut log) =
        (make("blue limit 50 threshold 2 increment 0.25 freeze 0"), Log::default());
    for (id, expected) in
        [(0, 0.0), (1, 0.0), (2, 25.0), (3, 50.0), (4, 75.0), (5, 100.0), (6, 100.0)]
    {
        q.enqueue(ms(u64::from(id)), packet(id, Ecn::Ect1), &mut log);
        assert_eq!(percent(&q), expected);
    }
    assert_eq!(q.backlog().packets, 7);
}

#[test]
fn signals_are_a_share_of_the_arrivals() {
    for (text, ecn, is_marked) in [
        ("blue", Ecn::Ect0, true),
        ("blue", Ecn::Ect1, true),
        ("blue", Ecn::NotEct, false),
        ("blue noecn", Ecn::Ect0, false),
    ] {
        let (mut q, mut log) = (make(&format!("{text} limit 1000000")), Log::default());
        q.judge.prob = u32::MAX / 4;
        (q.fifo.queue.backlog.packets, q.judge.last_update) = (1, Some(ms(0)));
        for id in 0..100_000 {
            q.enqueue(ms(0), packet(id, ecn), &mut log);
        }
        let marks = log.events().iter().filter(|e| matches!(e, Event::Mark(_, Reason::Blue)));
        let (marks, signals) = (marks.count(), log.events().len());
        assert_eq!(marks, if is_marked { signals } else { 0 });
        assert!((24_300..25_700).contains(&signals), "{signals}");
    }
}

#[test]
fn change_keeps_probability_and_purge_does_not() {
    let mut q = make("blue");
    q.judge.prob = 77;
    change(&mut q, ms(0), "blue limit 20 noecn threshold 3", &mut Log::default()).unwrap();
    let described = "blue limit 20p threshold 3p increment 0.02 decrement 0.002 freeze 100ms noecn";
    assert_eq!((q.describe().as_str(), q.judge.prob), (described, 77));
    q.purge(&mut Log::default());
    assert_eq!(q.judge.prob, 0);
    assert!(build("blue increment 1.5", env()).is_err());
}
