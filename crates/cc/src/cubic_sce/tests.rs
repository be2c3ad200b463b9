#![allow(clippy::disallowed_methods, reason = "what is expected may be the platform's")]

use super::super::{State, build};
use super::*;

const MSS: u32 = 1448;

fn path() -> Path {
    Path { mss: MSS, cwnd_limited: true, hz: 1000, snd_nxt: 1, ..Path::default() }
}

fn at_ms(ms: u64) -> Time {
    Time::ZERO + Dur::from_millis(ms)
}

fn sce(options: &str) -> CubicSce {
    let mut c = CubicSce::new(crate::params(&format!("cubic-sce {options}")));
    c.on_established(Time::ZERO, &path(), &mut Window::new(10));
    c
}

fn grow(c: &mut CubicSce, now: Time, win: &mut Window) {
    let path = path();
    let ack = Ack { acked: 1, may_raise: true, ..Ack::new(&path) };
    c.on_ack(now, &ack, win);
}

fn mark(c: &mut CubicSce, now: Time, segments: u32, win: &mut Window) {
    let path = path();
    let acked_bytes = u64::from(segments * MSS);
    let event = AckEvent { acked_bytes, esce: true, ..AckEvent::new(&path) };
    c.on_ack_event(now, &event, win);
}

/// After a reduction from 100 segments, the epoch begun at time zero.
fn reduced(options: &str) -> (CubicSce, Window) {
    let mut c = sce(options);
    let mut win = Window { ssthresh: 2, ..Window::new(100) };
    win.ssthresh = c.ssthresh(Time::ZERO, &path(), &win);
    win.cwnd = win.ssthresh;
    grow(&mut c, Time::ZERO, &mut win);
    (c, win)
}

/// Value of the curve in segments.
fn curve(c: &CubicSce, now_ms: u64) -> f64 {
    let curve = c.cubic.curve;
    let t = (now_ms as f64 - f64::from(curve.epoch.expect("an epoch"))) / 1000.0;
    let k = f64::from(curve.k) / 1024.0;
    f64::from(curve.origin) + 0.4004 * (t - k).powi(3)
}

#[test]
fn sce_before_the_first_epoch_ends_slow_start_and_costs_nothing() {
    let mut c = sce("");
    let mut win = Window::new(100);
    mark(&mut c, Time::ZERO, 2, &mut win);
    assert_eq!((win.cwnd, win.ssthresh), (100, 50));
}

#[test]
fn a_mark_moves_the_plateau_and_keeps_the_height() {
    // Before the plateau at 4.2 s, and after it.
    for ms in [1000, 3000, 6000, 9000] {
        let (mut c, mut win) = reduced("");
        let (before, height, owed) = (c.cubic.curve, curve(&c, ms), c.cubic.curve.ack_cnt);
        mark(&mut c, at_ms(ms), 2, &mut win);
        let after = c.cubic.curve;
        assert!((curve(&c, ms) - height).abs() < 1.5, "{ms} ms: {height} {}", curve(&c, ms));
        let t = ms as f64 * 1.024;
        let plateau = |c: &cubic::Curve| f64::from(c.epoch.unwrap()) * 1.024 + f64::from(c.k);
        // Two segments of a root of 8 (cwnd 70).
        let moved = (plateau(&after) - t) / (plateau(&before) - t);
        assert!((moved - 0.75).abs() < 0.01, "{ms} ms: {moved}");
        assert_eq!(after.ack_cnt, owed - i64::from(2 * MSS * 8));
    }
}

// KAT scim 5: CUBIC's share is the 64th root of 0.7
#[test]
fn sixty_four_marks_cost_one_reduction_under_md() {
    let (mut c, mut win) = reduced("response md");
    win.cwnd = 1000;
    for _ in 0..64 {
        mark(&mut c, at_ms(1000), 2, &mut win);
    }
    assert!((698..=702).contains(&win.cwnd), "{}", win.cwnd);
}

#[test]
fn a_fully_marked_window_costs_a_root_of_cwnd() {
    let (mut c, mut win) = reduced("");
    c.cubic.curve.ack_cnt = 0;
    let start = win.cwnd;
    for _ in 0..start / 2 {
        mark(&mut c, at_ms(10), 2, &mut win);
    }
    assert_eq!(start - win.cwnd, 8);
}

// KAT cubic-sce 3: A in bytes exceeds the root, so K becomes 0 or the time since the plateau
#[test]
fn the_literal_module_moves_the_plateau_to_the_present() {
    let (mut c, mut win) = reduced("curve literal");
    let height = curve(&c, 6000);
    mark(&mut c, at_ms(6000), 2, &mut win);
    let (t, k) = (6000 - u64::from(c.cubic.curve.epoch.unwrap()), c.cubic.curve.k);
    assert!((t as f64 * 1.024 - f64::from(k)).abs() < 2.0, "{t} ms, K {k}");
    assert!((f64::from(c.cubic.curve.origin) - height).abs() < 1.5);
}

// KAT cubic-sce 2: before the plateau the module's origin jumps by about 2^24: cnt is 2
#[test]
fn the_literal_module_grows_without_bound_after_a_mark_before_the_plateau() {
    let grown = |options| {
        let (mut c, mut win) = reduced(options);
        mark(&mut c, at_ms(20), 2, &mut win);
        let (origin, before) = (c.cubic.curve.origin, win.cwnd);
        for n in 0..before {
            grow(&mut c, at_ms(30 + u64::from(n)), &mut win);
        }
        (f64::from(origin) / f64::from(1 << 24), win.cwnd - before)
    };
    let (origin, segments) = grown("curve literal");
    assert!((0.99..1.01).contains(&origin), "{origin}");
    // One segment per two ACKs, but the count is looked at again only after 31 ms.
    assert!((17..=35).contains(&segments), "{segments}");
    let (origin, segments) = grown("");
    assert!(origin < 1e-5 && segments <= 2, "{origin} {segments}");
}

// KAT cubic-sce 1: each segment that SCE takes lowers the origin by one
#[test]
fn a_steady_window_sinks_the_plateau_to_nothing_and_in_the_literal_module_below() {
    let steady = |options| {
        let (mut c, mut win) = reduced(options);
        let from = win.cwnd;
        for n in 0..4000 {
            mark(&mut c, at_ms(10_000 + n), 2, &mut win);
            win.cwnd = from; // as TCP-friendly growth would
        }
        c.cubic.curve.origin
    };
    assert!(steady("") < 100);
    assert!(steady("curve literal") > u32::MAX / 2);
}

#[test]
fn a_reduction_soon_after_sce_keeps_seven_eighths() {
    let (mut c, mut win) = reduced("");
    mark(&mut c, at_ms(10), 1, &mut win);
    win.cwnd = 100;
    assert_eq!(c.ssthresh(at_ms(20), &path(), &win), 87);
    let (mut c, mut win) = reduced("");
    win.cwnd = 100;
    assert_eq!(c.ssthresh(at_ms(20), &path(), &win), 70);
}

#[test]
fn without_sce_it_is_cubic_of_its_time() {
    let mut ours: Box<dyn Controller> = Box::new(sce(""));
    let mut cubic = build("cubic hystart_era 2020").expect("valid");
    let path = path();
    let mut wins = [Window::new(10); 2];
    cubic.on_established(Time::ZERO, &path, &mut wins[1]);
    let mut now = 0;
    for n in 0..200_000_u64 {
        now += 1 + n % 3;
        for (c, win) in [&mut ours, &mut cubic].into_iter().zip(&mut wins) {
            let acked_bytes = u64::from(MSS);
            let event = AckEvent { acked_bytes, ..AckEvent::new(&path) };
            c.on_ack_event(at_ms(now), &event, win);
            let ack = Ack { acked: 1, may_raise: true, ..Ack::new(&path) };
            c.on_ack(at_ms(now), &ack, win);
            if n % 7000 == 6999 {
                win.ssthresh = c.ssthresh(at_ms(now), &path, win);
                win.cwnd = win.ssthresh;
                let change = StateChange { from: State::Open, to: State::Recovery };
                c.on_state(at_ms(now), change, &path, win);
            }
        }
        assert_eq!(wins[0], wins[1], "ACK {n}");
    }
}
