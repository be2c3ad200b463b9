use super::*;

fn limited() -> Path {
    Path { cwnd_limited: true, ..Path::default() }
}

fn ack(reno: &mut Reno, win: &mut Window, path: &Path, acked: u32) {
    reno.on_ack(Time::ZERO, &Ack { acked, may_raise: true, ..Ack::new(path) }, win);
}

// KAT reno 3
#[test]
fn ssthresh_is_half_of_cwnd_rounded_down_and_at_least_two() {
    for (cwnd, expected) in [(37, 18), (5, 2), (3, 2), (1, 2)] {
        let ssthresh = Reno::default().ssthresh(Time::ZERO, &Path::default(), &Window::new(cwnd));
        assert_eq!(ssthresh, expected, "cwnd {cwnd}");
    }
}

// KAT reno 4
#[test]
fn a_window_of_single_acks_adds_one_segment() {
    let mut win = Window { ssthresh: 5, ..Window::new(10) };
    for n in 1..=10 {
        assert_eq!(win.cwnd, 10, "before ACK {n}");
        ack(&mut Reno::default(), &mut win, &limited(), 1);
    }
    assert_eq!(win.cwnd, 11);
}

// KAT reno 5
#[test]
fn a_stretch_ack_adds_every_whole_window_and_carries_the_rest() {
    let mut win = Window { ssthresh: 5, ..Window::new(10) };
    ack(&mut Reno::default(), &mut win, &limited(), 25);
    assert_eq!((win.cwnd, win.cwnd_cnt), (12, 5));
}

// KAT reno 6
#[test]
fn slow_start_doubles_per_round_with_single_and_with_delayed_acks() {
    for per_ack in [1, 2, 5] {
        let mut win = Window::new(10);
        for expected in [10, 20, 40, 80, 160] {
            assert_eq!(win.cwnd, expected, "{per_ack} segments per ACK");
            for _ in 0..expected / per_ack {
                ack(&mut Reno::default(), &mut win, &limited(), per_ack);
            }
        }
    }
}

// KAT reno 7
#[test]
fn slow_start_stops_at_ssthresh_and_the_rest_counts_for_congestion_avoidance() {
    let mut win = Window { ssthresh: 12, ..Window::new(10) };
    ack(&mut Reno::default(), &mut win, &limited(), 5);
    assert_eq!((win.cwnd, win.cwnd_cnt), (12, 3));
}

#[test]
fn growth_needs_a_full_window_and_the_framework_s_leave() {
    let mut win = Window::new(10);
    ack(&mut Reno::default(), &mut win, &Path::default(), 10);
    let path = limited();
    Reno::default().on_ack(Time::ZERO, &Ack { acked: 10, ..Ack::new(&path) }, &mut win);
    assert_eq!(win, Window::new(10));
}

#[test]
fn undo_returns_to_the_window_before_the_reduction() {
    assert_eq!(Reno::default().undo_cwnd(&Window { prior_cwnd: 80, ..Window::new(40) }), 80);
    assert_eq!(Reno::default().undo_cwnd(&Window { prior_cwnd: 80, ..Window::new(90) }), 90);
}

// KAT abe 1
#[test]
fn abe_keeps_eight_tenths_after_a_mark_in_congestion_avoidance_only() {
    let mark = Path { signal: Signal::Mark, ..limited() };
    let mut abe = Reno { abe: Abe { abe: true }, ..Reno::default() };
    for (cwnd, expected) in [(100, 80), (101, 80), (37, 29), (10, 8), (3, 2), (2, 2)] {
        let avoiding = Window { ssthresh: 2, ..Window::new(cwnd) };
        let half = (cwnd / 2).max(2);
        assert_eq!(abe.ssthresh(Time::ZERO, &mark, &avoiding), expected, "cwnd {cwnd}");
        assert_eq!(abe.ssthresh(Time::ZERO, &limited(), &avoiding), half, "a loss");
        assert_eq!(abe.ssthresh(Time::ZERO, &mark, &Window::new(cwnd)), half, "slow start");
        assert_eq!(Reno::default().ssthresh(Time::ZERO, &mark, &avoiding), half, "without abe");
    }
}

#[test]
fn takes_hystart_plus_plus_and_abe_and_nothing_else() {
    let error = super::super::build("reno fast").err().expect("refused");
    assert_eq!(error.0, "reno: unknown parameter `fast`; valid: hystart, abe, noabe");
    for (text, full) in [
        ("reno", "reno hystart off noabe"),
        ("reno abe", "reno hystart off abe"),
        ("reno hystart ++ abe noabe", "reno hystart ++ noabe"),
    ] {
        assert_eq!(crate::read(text).expect("valid").to_string(), full);
    }
    assert!(super::super::build("reno hystart linux").is_err());
}
