use super::super::{Backlog, Event, Spec};
use super::*;
use crate::qdiscs::{build, change};
use sojourn_core::ecn::Ecn;

fn env() -> Env {
    Env::ethernet(Rng::named(1, "t"))
}

fn make(text: &str) -> JudgedFifo<Pi2> {
    JudgedFifo::new(*text.parse::<Spec>().unwrap().params().unwrap(), env())
}

/// Shares of 200,000 packets that were marked and dropped at the controller's output `prob`.
fn shares(text: &str, prob: f64, ecn: Ecn) -> (f64, f64) {
    const N: u32 = 200_000;
    let (mut q, mut log) = (make(text), Log::default());
    q.judge.controller.prob = (prob * f64::from(MAX_PROB)) as u32;
    q.fifo.queue.backlog = Backlog { packets: 10, bytes: 15_140 };
    let (mut marks, mut drops) = (0, 0);
    for id in 0..N {
        let mut pkt = Packet { id, len: 1514, tos: ecn as u8, ..Packet::default() };
        drops += u32::from(q.judge.judge(&mut q.fifo, Time::ZERO, &mut pkt, &mut log).is_some());
        marks += log.drain().filter(|e| matches!(e, Event::Mark(..))).count() as u32;
    }
    (f64::from(marks) / f64::from(N), f64::from(drops) / f64::from(N))
}

#[track_caller]
fn near(share: f64, expected: f64) {
    // Five standard deviations of 200,000 draws.
    let tolerance = 5.0 * (expected * (1.0 - expected) / 200_000.0).sqrt() + 1e-9;
    assert!((share - expected).abs() <= tolerance, "{share} {expected}");
}

// KAT pi2 1, pi2 3: N Reno flows of W packets each need p_C = 1.5 / W^2.
#[test]
fn classic_share_is_the_square_and_scalable_share_the_double() {
    for (mbit, flows, rtt_ms, window, p_c, p, p_cl) in [
        (50.0, 1.0, 25.0, 103.2, 1.408e-4, 0.01187, 0.0237),
        (50.0, 1.0, 95.0, 392.2, 9.753e-6, 0.00312, 0.00625),
        (50.0, 10.0, 25.0, 10.32, 0.01408, 0.1187, 0.2373),
        (10.0, 5.0, 115.0, 18.99, 0.00416, 0.0645, 0.129),
    ] {
        let w: f64 = mbit * 1e6 * rtt_ms / 1e3 / (8.0 * 1514.0 * flows);
        assert!((w / window - 1.0).abs() < 0.001 && (1.5 / (w * w) / p_c - 1.0).abs() < 0.002);
        near(shares("pi2", p, Ecn::Ect0).0, p_c);
        near(shares("pi2", p, Ecn::NotEct).1, p_c);
        near(shares("pi2", p, Ecn::Ect1).0, p_cl);
    }
}

#[test]
fn overload_drops_classic_and_marks_scalable_unless_its_square_hits() {
    for ecn in [Ecn::Ect0, Ecn::NotEct] {
        let (marks, drops) = shares("pi2", 0.6, ecn);
        assert_eq!(marks, 0.0);
        near(drops, 0.36);
    }
    let (marks, drops) = shares("pi2", 0.6, Ecn::Ect1);
    near(drops, 0.36);
    assert!((marks + drops - 1.0).abs() < 1e-12);
    assert_eq!(shares("pi2", 0.5, Ecn::Ect1).1, 0.0);
}

#[test]
fn noecn_drops_everything_by_the_square() {
    for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::NotEct] {
        let (marks, drops) = shares("pi2 noecn", 0.3, ecn);
        assert_eq!(marks, 0.0);
        near(drops, 0.09);
    }
    near(shares("pi2 coupling_factor 3", 0.2, Ecn::Ect1).0, 0.6);
}

// KAT pi2 2: the gains are per update.
#[test]
fn step_of_the_controller_is_alpha_times_error_and_beta_times_growth() {
    let mut q = make("pi2");
    let prob = |q: &JudgedFifo<Pi2>| f64::from(q.judge.controller.prob) / f64::from(MAX_PROB);
    q.judge.controller.update(&q.fifo.params.law, Dur::from_millis(30), MAX_PROB);
    assert!((prob(&q) - (0.3125 * 0.010 + 3.125 * 0.030)).abs() < 0.006 * prob(&q));
    let before = prob(&q);
    q.judge.controller.update(&q.fifo.params.law, Dur::from_millis(30), MAX_PROB);
    let step = prob(&q) - before;
    // 80/256 Hz is stored as 85 of 85.9.
    assert!((step / (0.3125 * 0.010) - 1.0).abs() < 0.012, "{step}");
    q.judge.controller.update(&q.fifo.params.law, Dur::ZERO, MAX_PROB);
    assert!(prob(&q) < 0.001);
    q.judge.controller.update(&q.fifo.params.law, Dur::ZERO, MAX_PROB);
    assert_eq!(q.judge.controller.prob, 0);
}

#[test]
fn last_two_frames_are_never_signalled() {
    let (mut q, mut log) = (make("pi2"), Log::default());
    q.judge.controller.prob = MAX_PROB;
    for id in 0..5 {
        q.enqueue(Time::ZERO, Packet { id, len: 1514, ..Packet::default() }, &mut log);
    }
    assert_eq!(q.dequeue(Time::ZERO, &mut log).map(|p| p.id), Some(3));
    assert_eq!(log.drain().count(), 3);
}

#[test]
fn change_keeps_what_it_does_not_name() {
    let mut q = build("pi2 target 15ms noecn", env()).unwrap();
    change(&mut *q, Time::ZERO, "pi2 alpha 0.5 ecn", &mut Log::default()).unwrap();
    let described =
        "pi2 limit 1000p ecn coupling_factor 2 target 15ms tupdate 32ms alpha 0.5 beta 3.125";
    assert_eq!(q.describe(), described);
    assert!(build("pi2 tupdate 0", env()).is_err() && build("pi2 alpha -1", env()).is_err());
}
