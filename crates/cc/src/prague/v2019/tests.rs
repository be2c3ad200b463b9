use super::super::or_reno;
use super::*;
use crate::Feedback;
use sojourn_core::units::Dur;

fn started(version: Version, cwnd: u32) -> (Prague, Path, Window) {
    let mut p = Prague::new(Law::of(version));
    let path = Path {
        mss: 1448,
        mtu: 1500,
        srtt: Dur::from_millis(80),
        cwnd_limited: true,
        feedback: Feedback::AccEcn,
        pacing_ss_ratio: 200,
        pacing_ca_ratio: 120,
        ..Path::default()
    };
    let mut win = Window { ssthresh: cwnd, ..Window::new(cwnd) };
    p.on_established(Time::ZERO, &path, &mut win);
    (p, path, win)
}

/// One ACK of one segment with a window of sequence space outstanding, and the endpoint's CWR
/// state around it: a mark enters CWR once per window.
fn ack(p: &mut Prague, path: &mut Path, win: &mut Window, ce: bool) {
    path.delivered += 1;
    path.delivered_ce += u64::from(ce);
    path.snd_una += 1;
    path.snd_nxt = path.snd_una + u64::from(win.cwnd);
    let path = *path;
    let ack =
        Ack { acked: 1, acked_bytes: 1448, ce: u32::from(ce), may_raise: true, ..Ack::new(&path) };
    p.on_ack(Time::ZERO, &ack, win);
}

fn change(p: &mut Prague, to: State, path: &Path, win: &mut Window) {
    win.ssthresh = p.ssthresh(Time::ZERO, path, win);
    p.on_state(Time::ZERO, StateChange { from: State::Open, to }, path, win);
}

fn alpha(p: &Prague) -> f64 {
    p.alpha as f64 / ONE as f64
}

// KAT prague 14: one mark per round trip and a share of about 0, from a window of 333
#[test]
fn p1_spirals_down_while_alpha_decays_from_one() {
    let (mut p, path, mut win) = started(Version::P1, 333);
    p.saw_ce = true;
    for expected in [166.5, 88.5, 49.6, 29.2, 17.9] {
        change(&mut p, State::Cwr, &path, &mut win);
        assert!((f64::from(win.cwnd) - expected).abs() <= 1.0, "{} for {expected}", win.cwnd);
        assert_eq!(win.ssthresh, win.cwnd, "the cut is immediate");
        p.alpha -= p.alpha >> SHIFT_G; // a round without a mark
    }
}

// KAT prague 13: the first cut is W/2, then alpha is 15/16 + F/16
#[test]
fn p1_keeps_alpha_at_one_until_the_first_mark() {
    let (mut p, mut path, mut win) = started(Version::P1, 20);
    for _ in 0..100 {
        ack(&mut p, &mut path, &mut win, false);
    }
    assert_eq!(alpha(&p), 1.0);
    let before = win.cwnd;
    change(&mut p, State::Cwr, &path, &mut win);
    assert_eq!(win.cwnd, before / 2);
    p.next_seq = path.snd_una + 10;
    p.round_delivered = path.delivered;
    for n in 0..10 {
        ack(&mut p, &mut path, &mut win, n == 0);
    }
    assert!((alpha(&p) - (15.0 + 0.1) / 16.0).abs() < 1e-6, "{}", alpha(&p));
}

// L4STeam/linux testing/5-11-2019 tcp_prague.c: Reno's growth for all segments, in CWR too
#[test]
fn p1_grows_on_marked_segments_and_in_cwr_and_p0_does_not() {
    let grown = |version, state| {
        let (mut p, mut path, mut win) = started(version, 10);
        path.state = state;
        for _ in 0..10 {
            path.snd_una += 1;
            path.snd_nxt = path.snd_una + 1000;
            p.next_seq = u64::MAX;
            let may_raise = state == State::Open;
            let ce = u32::from(state == State::Open);
            let path = path;
            p.on_ack(Time::ZERO, &Ack { acked: 1, ce, may_raise, ..Ack::new(&path) }, &mut win);
        }
        win.cwnd
    };
    for state in [State::Open, State::Cwr] {
        assert_eq!(grown(Version::P1, state), 11, "{state:?}");
        assert_eq!(grown(Version::P0, state), 10, "{state:?}");
    }
}

// dboru/linux tcp_prague.c of mid-2019.
#[test]
fn p0_cuts_by_the_new_alpha_where_a_round_with_marks_ends() {
    let (mut p, mut path, mut win) = started(Version::P0, 100);
    win.ssthresh = Window::INFINITE;
    p.next_seq = path.snd_una + 100;
    for n in 0..100 {
        let before = win.cwnd;
        change(&mut p, State::Cwr, &path, &mut win);
        assert_eq!(win.cwnd, before, "entering CWR costs nothing");
        ack(&mut p, &mut path, &mut win, n < 50);
        if n < 50 {
            assert_eq!(win.cwnd, before);
        }
    }
    // Half of the bytes: alpha is 1/32, and 1/64 of 150 segments goes.
    assert_eq!(alpha(&p), 0.5 / 16.0);
    assert_eq!((win.cwnd, win.ssthresh), (148, 148));
}

#[test]
fn a_loss_halves_at_once_and_a_timeout_leaves_half_as_threshold() {
    for version in [Version::P0, Version::P1] {
        let (mut p, path, mut win) = started(version, 101);
        change(&mut p, State::Recovery, &path, &mut win);
        assert_eq!((win.cwnd, win.ssthresh), (50, 50));
        win.ssthresh = p.ssthresh(Time::ZERO, &path, &win);
        win.cwnd = 1;
        let to_loss = StateChange { from: State::Open, to: State::Loss };
        p.on_state(Time::ZERO, to_loss, &path, &mut win);
        assert_eq!((win.cwnd, win.ssthresh), (1, 25));
    }
}

#[test]
fn cuts_stop_at_two_segments() {
    let (mut p, path, mut win) = started(Version::P1, 3);
    for _ in 0..3 {
        change(&mut p, State::Cwr, &path, &mut win);
    }
    assert_eq!(win.cwnd, 2);
}

// tcp_prague.c of mid-2019 (dboru/linux) and of testing/5-11-2019 (L4STeam/linux).
#[test]
fn p0_paces_two_segments_more_and_p1_by_the_sysctl_ratios() {
    let paced = |version, ssthresh| {
        let (p, path, mut win) = started(version, 100);
        win.ssthresh = ssthresh;
        let out = p.output(&path, &win);
        (out.pacing_rate.expect("paces").bytes_per_sec(), out.burst)
    };
    assert_eq!(paced(Version::P0, 100), (102 * 1448 * 1000 / 80, Some(1)));
    assert_eq!(paced(Version::P0, 202), (102 * 1448 * 2000 / 80, Some(1)));
    assert_eq!(paced(Version::P1, 100), (2_172_000, Some(1)));
    assert_eq!(paced(Version::P1, 202), (3_620_000, Some(1)));
}

#[test]
fn without_accecn_both_are_reno() {
    for version in [Version::P0, Version::P1] {
        let mut p = or_reno(Prague::new(Law::of(version)));
        let path = Path { feedback: Feedback::Rfc3168, cwnd_limited: true, ..Path::default() };
        let mut win = Window { ssthresh: 5, ..Window::new(37) };
        p.on_established(Time::ZERO, &path, &mut win);
        assert_eq!(p.needs(), Needs::default());
        assert_eq!(p.ssthresh(Time::ZERO, &path, &win), 18);
        p.on_ack(Time::ZERO, &Ack { acked: 37, may_raise: true, ..Ack::new(&path) }, &mut win);
        assert_eq!(win.cwnd, 38);
    }
}
