#![allow(clippy::disallowed_methods, reason = "what is expected may be the platform's")]

use super::super::Signal;
use super::*;

fn cubic() -> Rfc9438 {
    Rfc9438::new(Params {
        beta: 0.7,
        c: 0.4,
        fast_convergence: true,
        friendliness: true,
        hystart: false,
        abe: Abe::default(),
    })
}

/// A reduction from `cwnd`, and the start of the stage after it at time zero.
fn reduced(cwnd: u32) -> (Rfc9438, Window) {
    let mut c = cubic();
    let ssthresh = c.ssthresh(Time::ZERO, &Path::default(), &Window::new(cwnd));
    let win = Window { ssthresh, ..Window::new(ssthresh) };
    c.begin_epoch(Time::ZERO, f64::from(ssthresh));
    (c, win)
}

// KAT cubic 1: the RFC's column
#[test]
fn a_reduction_keeps_seven_tenths() {
    for (cwnd, expected) in [(100, 70), (10, 7), (1000, 700), (2, 2), (1, 2)] {
        assert_eq!(reduced(cwnd).1.cwnd, expected, "cwnd {cwnd}");
    }
}

#[test]
fn abe_keeps_85_hundredths_after_a_mark_in_congestion_avoidance_only() {
    let mark = Path { signal: Signal::Mark, ..Path::default() };
    let asked = |abe, path: &Path, win: Window| {
        let params = Params { abe: Abe { abe }, ..cubic().params };
        Rfc9438::new(params).ssthresh(Time::ZERO, path, &win)
    };
    for (cwnd, marked, lost) in [(100, 85, 70), (333, 283, 233), (10, 8, 7), (2, 2, 2)] {
        let avoiding = Window { ssthresh: 2, ..Window::new(cwnd) };
        assert_eq!(asked(true, &mark, avoiding), marked, "cwnd {cwnd}");
        assert_eq!(asked(true, &Path::default(), avoiding), lost, "a loss");
        assert_eq!(asked(true, &mark, Window::new(cwnd)), lost, "slow start");
        assert_eq!(asked(false, &mark, avoiding), lost, "without abe");
    }
}

// KAT cubic 2
#[test]
fn time_to_the_plateau_is_the_cube_root() {
    for (cwnd, seconds) in [(10, 1.957), (100, 4.217), (1000, 9.086)] {
        let k = reduced(cwnd).0.curve.k;
        assert!((k / seconds - 1.0).abs() < 0.001, "cwnd {cwnd}: {k} s");
    }
}

// KAT cubic 7: 0.7, 1 and 1.3 of the maximum at 0, K and 2K
#[test]
fn the_curve_passes_through_its_plateau_at_k() {
    let (c, _) = reduced(100);
    for (t, expected) in [(0.0, 70.0), (c.curve.k, 100.0), (2.0 * c.curve.k, 130.0)] {
        assert!((c.w_cubic(t) - expected).abs() < 1e-9, "{t}: {}", c.w_cubic(t));
    }
    // Half of the deficit closes at K (1 - 2^(-1/3)).
    let half = c.w_cubic(c.curve.k * (1.0 - 0.5_f64.cbrt()));
    assert!((half - 85.0).abs() < 1e-9, "{half}");
}

// KAT cubic 3: by the RFC's rule: 80 · 1.7 / 2 = 68, 80 · 0.7 = 56
#[test]
fn fast_convergence_remembers_less() {
    let mut c = cubic();
    c.ssthresh(Time::ZERO, &Path::default(), &Window::new(100));
    let ssthresh = c.ssthresh(Time::ZERO, &Path::default(), &Window::new(80));
    assert_eq!(ssthresh, 56);
    assert!((c.curve.w_max - 68.0).abs() < 1e-9);
}

// KAT cubic 4: 0.5294 by the RFC
#[test]
fn the_friendly_window_grows_by_0_5294_and_by_one_beyond_the_old_maximum() {
    let (mut c, mut win) = reduced(20);
    let mut grown = vec![];
    for round in 0..14 {
        let before = c.curve.w_est;
        let window = f64::from(win.cwnd) + c.curve.fraction;
        c.avoid_congestion(Time(round), 1, Dur::from_millis(1), &mut win);
        grown.push((before, (c.curve.w_est - before) * window));
        for _ in 1..win.cwnd {
            c.avoid_congestion(Time(round), 1, Dur::from_millis(1), &mut win);
        }
    }
    for (w_est, alpha) in grown {
        let expected = if w_est < 20.0 { 0.5294 } else { 1.0 };
        assert!((alpha / expected - 1.0).abs() < 0.001, "W_est {w_est}: {alpha}");
    }
    assert!(c.curve.w_est > 20.0, "both phases were seen: {}", c.curve.w_est);
}

#[test]
fn growth_never_exceeds_half_of_the_window_per_round_trip() {
    let (mut c, mut win) = reduced(100);
    let late = Time::ZERO + Dur::from_secs(60);
    let start = win.cwnd;
    c.avoid_congestion(late, start, Dur::from_millis(80), &mut win);
    assert_eq!(win.cwnd, start * 3 / 2);
}

#[test]
fn a_spurious_loss_restores_the_curve() {
    let (mut c, _) = reduced(100);
    let before = c.curve;
    let win = Window { prior_cwnd: 90, ..Window::new(63) };
    c.ssthresh(Time::ZERO, &Path::default(), &Window::new(90));
    assert!((c.curve.w_max - before.w_max).abs() > 1.0);
    assert_eq!(c.undo_cwnd(&win), 90);
    assert!((c.curve.w_max - before.w_max).abs() < f64::EPSILON);
    assert_eq!(c.curve.epoch, before.epoch);
}

#[test]
fn after_a_timeout_the_plateau_is_where_the_stage_begins() {
    let (mut c, _) = reduced(100);
    let change = StateChange { from: State::Open, to: State::Loss };
    let mut win = Window::new(1);
    c.on_state(Time::ZERO, change, &Path::default(), &mut win);
    c.begin_epoch(Time::ZERO, 35.0);
    assert!(c.curve.k == 0.0 && (c.curve.w_max - 35.0).abs() < f64::EPSILON);
}
