#![allow(clippy::disallowed_methods, reason = "what is expected may be the platform's")]

use super::*;

fn dctcp(options: &str) -> (Dctcp, Path, Window) {
    let mut c = Dctcp::new(crate::params(&format!("dctcp {options}")));
    let path = Path { mss: 1448, feedback: Feedback::Dctcp, ..Path::default() };
    let mut win = Window { ssthresh: 2, ..Window::new(100) };
    c.on_established(Time::ZERO, &path, &mut win);
    (c, path, win)
}

/// A window of `delivered` segments, of which the first `marked` are, one ACK for each; then the ACK
/// that begins the next.
fn window(c: &mut Dctcp, path: &mut Path, win: &mut Window, delivered: u64, marked: u64) {
    path.snd_nxt = path.snd_una + delivered * 1448;
    c.start_window(path);
    for n in 0..delivered {
        path.snd_una += 1448;
        let event = AckEvent { acked_bytes: 1448, ece: n < marked, ..AckEvent::new(path) };
        c.on_ack_event(Time::ZERO, &event, win);
        path.delivered += 1;
        path.delivered_ce += u64::from(n < marked);
    }
}

// KAT dctcp 1: (15/16)^n holds of real numbers, version rfc8257
#[test]
fn alpha_without_marks_shrinks_by_a_sixteenth_per_window() {
    let (mut c, mut path, mut win) = dctcp("version rfc8257");
    for n in 1..=16 {
        window(&mut c, &mut path, &mut win, 100, 0);
        let expected = 0.9375_f64.powi(n);
        assert!((c.alpha.as_f64() / expected - 1.0).abs() < 1e-3, "{n}: {}", c.alpha.as_f64());
    }
    assert!((c.alpha.as_f64() / 0.356 - 1.0).abs() < 1e-3);
}

// KAT dctcp 2: in Linux's integers: each step rounds the decrement down, so that 16 windows leave
// 370/1024 = 0.3613, 1.5 % more than (15/16)^16; below 16 nothing is left at once.
#[test]
fn linux_alpha_shrinks_in_integers_and_drops_from_fifteen_to_zero() {
    let (mut c, mut path, mut win) = dctcp("");
    let mut steps = Vec::new();
    for _ in 0..80 {
        window(&mut c, &mut path, &mut win, 100, 0);
        let Alpha::Linux(alpha) = c.alpha else { unreachable!("version linux") };
        steps.push(alpha);
    }
    assert_eq!(steps[..4], [960, 900, 844, 792]);
    assert_eq!(steps[15], 370);
    let fifteen = steps.iter().position(|a| *a == 15).expect("reached");
    assert_eq!(steps[fifteen - 1], 16);
    assert_eq!(steps[fifteen + 1..], vec![0; 80 - fifteen - 1]);
}

#[test]
fn a_marked_window_adds_a_sixteenth_of_its_share() {
    // The ACK that ends a window is counted in the next by Linux, which updates before it counts.
    for (options, expected) in
        [("alpha_on_init 0", 16.0 / 1024.0), ("version rfc8257 alpha_on_init 0", 0.25 / 16.0)]
    {
        let (mut c, mut path, mut win) = dctcp(options);
        window(&mut c, &mut path, &mut win, 100, 25);
        assert!((c.alpha.as_f64() - expected).abs() < 1e-9, "{options}: {}", c.alpha.as_f64());
    }
    let (mut c, mut path, mut win) = dctcp("");
    window(&mut c, &mut path, &mut win, 100, 100);
    assert_eq!(c.alpha, Alpha::Linux(1024), "alpha is at most 1");
}

// KAT dctcp 3
#[test]
fn a_cut_is_half_of_alpha() {
    for options in ["alpha_on_init 512", "version rfc8257 alpha_on_init 512"] {
        let (mut c, path, win) = dctcp(options);
        assert_eq!(c.ssthresh(Time::ZERO, &path, &win), 75, "{options}");
    }
    let (mut c, path, _) = dctcp("");
    for (cwnd, kept) in [(100, 50), (3, 2), (2, 2)] {
        assert_eq!(c.ssthresh(Time::ZERO, &path, &Window::new(cwnd)), kept, "first mark");
    }
}

#[test]
fn a_loss_halves_whatever_alpha_is() {
    for to in [State::Recovery, State::Loss] {
        let (mut c, path, mut win) = dctcp("alpha_on_init 0");
        win.ssthresh = c.ssthresh(Time::ZERO, &path, &win);
        assert_eq!(win.ssthresh, 100);
        if to == State::Loss {
            win.cwnd = 1;
        }
        c.on_state(Time::ZERO, StateChange { from: State::Open, to }, &path, &mut win);
        assert_eq!(win.ssthresh, 50, "{to:?}");
        assert_eq!(c.undo_cwnd(&win), 100);
    }
}

#[test]
fn without_ecn_it_is_reno() {
    let (c, path, mut win) = dctcp("alpha_on_init 0");
    let mut c = OrReno::new(c, |feedback| feedback != Feedback::None);
    c.on_established(Time::ZERO, &Path { feedback: Feedback::None, ..path }, &mut win);
    assert_eq!(c.needs(), Needs::default());
    assert_eq!(c.ssthresh(Time::ZERO, &path, &win), 50);
}

// KAT dctcp 4: four step-marking queues. A window above W* is marked whole and cut in
// the next round trip. The closed form takes alpha as constant, so the gain is 2^-10 here; 2^-4 swings
// about it with each cycle (0.126 to 0.154 and 6.5 to 7.9 segments at W* = 100). At W* = 10 a cycle of
// whole round trips is too short for it: 0.417 instead of 0.4417.
#[test]
fn alpha_over_a_step_marking_queue_is_the_closed_form_s() {
    for (most, expected) in [(50.0, 0.2022), (100.0, 0.1430), (333.0, 0.0781), (1000.0, 0.0449)] {
        let form = |alpha: f64| alpha * alpha * (1.0 - alpha / 4.0);
        let published = (2.0 * most + 1.0) / ((most + 1.0) * (most + 1.0));
        assert!((form(expected) / published - 1.0).abs() < 0.005);
        let mut alpha = Alpha::Rfc8257(expected);
        let (mut cwnd, mut depth, mut cycles, mut sum) = (most, 0.0, 0.0, 0.0);
        let rounds = 200_000;
        for _ in 0..rounds {
            let marked = u64::from(cwnd >= most) * 1000;
            alpha.update(marked, 1000, 10);
            sum += alpha.as_f64();
            cwnd += 1.0;
            if marked > 0 {
                let cut = cwnd * alpha.as_f64() / 2.0;
                cwnd -= cut;
                depth += cut;
                cycles += 1.0;
            }
        }
        let (mean, depth) = (sum / f64::from(rounds), depth / cycles);
        assert!((mean / expected - 1.0).abs() < 0.05, "W* {most}: alpha {mean}");
        let amplitude = (most + 1.0) * expected / 2.0;
        assert!((depth / amplitude - 1.0).abs() < 0.05, "W* {most}: {depth} of {amplitude}");
    }
}

// KAT dctcp 6: flows over one step threshold, marked together, whose
// windows differ by half at first
#[test]
fn the_difference_of_two_windows_over_a_step_halves_in_the_published_number_of_round_trips() {
    for (most, published) in [(41.7, 28.0), (166.7, 113.0), (333.0, 227.0)] {
        let mut alphas = [Alpha::Rfc8257(0.2), Alpha::Rfc8257(0.2)];
        let mut windows: [f64; 2] = [1.25 * most, 0.75 * most];
        let gap = |w: &[f64; 2]| (w[0] - w[1]).ln();
        let (settle, rounds) = (published as u32, 5 * published as u32);
        let mut from = 0.0;
        for round in 0..settle + rounds {
            if round == settle {
                from = gap(&windows);
            }
            let marked = u64::from(windows[0] + windows[1] >= 2.0 * most) * 1000;
            for (alpha, cwnd) in alphas.iter_mut().zip(&mut windows) {
                alpha.update(marked, 1000, 10);
                *cwnd += 1.0;
                if marked > 0 {
                    *cwnd -= *cwnd * alpha.as_f64() / 2.0;
                }
            }
        }
        let half_life = f64::from(rounds) * 2_f64.ln() / (from - gap(&windows));
        let error = half_life / published - 1.0;
        assert!(error.abs() < 0.2, "W* {most}: {half_life:.1} round trips: {error:+.3}");
    }
}
