use super::super::Version;
use super::*;
use crate::Feedback;

fn started(srtt: Dur, cwnd: u32) -> (Prague, Path, Window) {
    let mut p = Prague::new(Law::of(Version::Draft04));
    let path = Path {
        mss: 1448,
        mtu: 1500,
        srtt,
        min_rtt: srtt,
        cwnd_limited: true,
        feedback: Feedback::AccEcn,
        ..Path::default()
    };
    let mut win = Window { ssthresh: cwnd, ..Window::new(cwnd) };
    p.on_established(Time::ZERO, &path, &mut win);
    (p, path, win)
}

fn segments(p: &Prague) -> f64 {
    p.window as f64 / ALPHA_ONE as f64 / 1500.0
}

fn ack(p: &mut Prague, now: Time, path: &mut Path, win: &mut Window, ce: bool) {
    path.delivered += 1;
    path.delivered_ce += u64::from(ce);
    path.snd_una += 1;
    path.snd_nxt = path.snd_una + u64::from(win.cwnd);
    let path = *path;
    p.on_ack(now, &Ack { acked: 1, ce: u32::from(ce), ..Ack::new(&path) }, win);
}

fn change(p: &mut Prague, now: Time, to: State, path: &Path, win: &mut Window) {
    win.ssthresh = p.ssthresh(now, path, win);
    p.on_state(now, StateChange { from: State::Open, to }, path, win);
}

#[test]
fn growth_per_round_trip_is_the_square_of_the_rtt_ratio() {
    for (ms, expected) in [(5_u64, 0.04), (10, 0.16), (25, 1.0), (100, 1.0)] {
        let (mut p, mut path, mut win) = started(Dur::from_millis(ms), 1000);
        for _ in 0..1000 {
            ack(&mut p, Time::ZERO, &mut path, &mut win, false);
        }
        let grown = segments(&p) - 1000.0;
        assert!((grown / expected - 1.0).abs() < 2e-3, "{ms} ms: {grown}");
    }
}

// Draft 04: alpha is set to 1 at the first mark, and remembers it.
#[test]
fn first_mark_halves_and_is_remembered() {
    let (mut p, mut path, mut win) = started(Dur::from_millis(50), 100);
    win.ssthresh = Window::INFINITE;
    p.next_seq = u64::MAX;
    ack(&mut p, Time::ZERO, &mut path, &mut win, true);
    assert_eq!(segments(&p), 50.0);
    assert_eq!((win.cwnd, win.ssthresh), (99, 50), "one segment per ACK, slow start is over");
    // A round without marks.
    p.start_round(Time::ZERO, &path);
    p.next_seq = 0;
    p.end_round(Time::ZERO + Dur::from_millis(50), &path);
    assert!((p.alpha as f64 / ALPHA_ONE as f64 - 15.0 / 16.0).abs() < 1e-6);
}

#[test]
fn cuts_are_a_virtual_rtt_apart() {
    for (rtt, gap) in [(5, 25), (20, 25), (80, 80)] {
        let (mut p, mut path, mut win) = started(Dur::from_millis(rtt), 100);
        path.cwnd_limited = false;
        let mut cuts = Vec::new();
        p.saw_ce = true;
        for ms in 0..200 {
            p.alpha = ALPHA_ONE / 8;
            let before = p.window;
            ack(&mut p, Time::ZERO + Dur::from_millis(ms), &mut path, &mut win, true);
            if p.window < before {
                cuts.push(ms);
            }
        }
        let expected: Vec<u64> = (0..200).step_by(gap).collect();
        assert_eq!(cuts, expected, "{rtt} ms");
    }
}

// draft-briscoe-iccrg-prague-congestion-control-04
#[test]
fn a_loss_is_net_of_the_mark_in_the_same_rtt() {
    let after = |gap_ms| {
        let (mut p, mut path, mut win) = started(Dur::from_millis(50), 100);
        path.cwnd_limited = false;
        p.saw_ce = true;
        p.alpha = ALPHA_ONE / 2;
        ack(&mut p, Time::ZERO, &mut path, &mut win, true);
        assert_eq!(segments(&p), 75.0);
        change(&mut p, Time::ZERO + Dur::from_millis(gap_ms), State::Recovery, &path, &mut win);
        segments(&p)
    };
    assert_eq!((after(49), after(50)), (50.0, 37.5));
}

#[test]
fn a_loss_halves_stops_growth_until_open_and_can_be_undone() {
    let (mut p, mut path, mut win) = started(Dur::from_millis(50), 100);
    change(&mut p, Time::ZERO, State::Recovery, &path, &mut win);
    for _ in 0..200 {
        ack(&mut p, Time::ZERO, &mut path, &mut win, false);
    }
    assert_eq!((segments(&p), win.cwnd), (50.0, 50));
    assert_eq!(p.undo_cwnd(&win), 100);
    assert_eq!(segments(&p), 100.0);
}

#[test]
fn a_timeout_halves_the_window_it_found() {
    let (mut p, path, mut win) = started(Dur::from_millis(50), 100);
    win.ssthresh = p.ssthresh(Time::ZERO, &path, &win);
    win.cwnd = 1;
    let to_loss = StateChange { from: State::Open, to: State::Loss };
    p.on_state(Time::ZERO, to_loss, &path, &mut win);
    assert_eq!((segments(&p), win.ssthresh), (50.0, 50));
}

#[test]
fn pacing_follows_window_and_flight_with_gain_1() {
    let (mut p, mut path, mut win) = started(Dur::from_millis(80), 100);
    win.ssthresh = 202;
    let mut paced = |in_flight| {
        path.in_flight = in_flight;
        p.update_pacing(&path);
        (p.pacing.bytes_per_sec(), p.burst)
    };
    assert_eq!(paced(50), (1_875_000, 1));
    assert_eq!(paced(200), (3_750_000, 1));
    assert_eq!(paced(3200), (60_000_000, 9));
    assert_eq!(p.output(&path, &win).mss, None, "segments keep their size");
}
