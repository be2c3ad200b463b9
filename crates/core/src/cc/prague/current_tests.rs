use super::*;
use crate::rng::Rng;

fn params(version: Version) -> Params {
    Params::default_of(version)
}

fn started(params: Params, srtt: Dur, cwnd: u32) -> (Prague, Path, Window) {
    let mut p = Prague::new(params);
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

/// Mean rate in Mbit/s of a flow that is marked where `mark` says, over 100 s after 40 s.
fn steady(params: Params, srtt: Dur, mut mark: impl FnMut(Time) -> bool) -> f64 {
    let (mut p, mut path, mut win) = started(params, srtt, 20);
    let mut now = Time::ZERO;
    let (mut bits, mut from) = (0.0, Time::ZERO);
    loop {
        now += p.pacing.time_for(u64::from(p.mtu));
        ack(&mut p, now, &mut path, &mut win, mark(now));
        if from == Time::ZERO && now > Time::ZERO + Dur::from_secs(40) {
            from = now;
        }
        if from > Time::ZERO {
            bits += f64::from(p.mtu) * 8.0;
        }
        if now > Time::ZERO + Dur::from_secs(140) {
            break;
        }
    }
    bits / now.since(from).as_secs_f64() / 1e6
}

/// Marks a share `p` of the segments, those of a virtual RTT at its start: what the law assumes,
/// a cut in each. (Evenly spaced marks lock the gate to every second or to every third.)
fn marks_at_the_start_of_each_virtual_rtt(p: f64, ms: u64) -> impl FnMut(Time) -> bool {
    let (mut begun, mut segments, mut owed) = (Time::ZERO, 0.0, 0.0);
    move |now| {
        segments += 1.0;
        if now.since(begun) >= Dur::from_millis(ms.max(25)) {
            owed += segments * p;
            (begun, segments) = (now, 0.0);
        }
        let mark = owed >= 1.0;
        owed -= f64::from(u8::from(mark));
        mark
    }
}

/// 0.96 (1 - p)/p Mbit/s.
fn law(p: f64) -> f64 {
    2.0 * 12_000.0 / 0.025 * (1.0 - p) / p / 1e6
}

// KAT cc.md §9 #29
#[test]
fn steady_rate_is_0_96_times_unmarked_per_marked_megabit_below_25_ms() {
    for p in [0.01, 0.05, 0.1] {
        for ms in [5, 20, 25] {
            let marks = marks_at_the_start_of_each_virtual_rtt(p, ms);
            let rate = steady(params(Version::Current), Dur::from_millis(ms), marks);
            let error = rate / law(p) - 1.0;
            assert!(error.abs() < 0.08, "p {p}, {ms} ms: {rate:.2} for {:.2}", law(p));
        }
    }
}

// Under independent marks a cut waits for the next mark after the gate: with x marks per virtual
// RTT the interval is 1 + 1/x of them, growth over it x (1 - p)(1 + 1/x), the cut x^2/2, so that
// x = q + sqrt(q^2 + 2q) with q = 1 - p.
#[test]
fn random_marks_leave_a_rate_of_q_plus_root_marks_per_virtual_rtt() {
    for p in [0.02, 0.05, 0.1_f64] {
        let mut rng = Rng::named(1, "prague_current");
        let rate = steady(params(Version::Current), Dur::from_millis(10), |_| rng.unit() < p);
        let q = 1.0 - p;
        let x = q + (q * q + 2.0 * q).sqrt();
        let expected = x / p * 12_000.0 / 0.025 / 1e6;
        assert!((rate / expected - 1.0).abs() < 0.08, "p {p}: {rate:.2} for {expected:.2}");
    }
}

// KAT cc.md §3.5: flows of 5 and 20 ms get equal rate; above 25 ms the rate falls as 25 ms / R.
#[test]
fn rate_does_not_depend_on_the_rtt_below_25_ms_and_is_inverse_to_it_above() {
    for p in [0.02, 0.05, 0.1] {
        let of = |ms| {
            let marks = marks_at_the_start_of_each_virtual_rtt(p, ms);
            steady(params(Version::Current), Dur::from_millis(ms), marks)
        };
        let (short, medium, long) = (of(5), of(20), of(100));
        assert!((short / medium - 1.0).abs() < 0.02, "{short:.2} and {medium:.2}");
        assert!((4.0 * long / medium - 1.0).abs() < 0.08, "{long:.2} and {medium:.2}");
        // Random marks wait for one that passes the gate, alike at every RTT.
        let random = |ms| {
            let mut rng = Rng::named(ms, "prague_current");
            steady(params(Version::Current), Dur::from_millis(ms), |_| rng.unit() < p)
        };
        assert!((random(5) / random(20) - 1.0).abs() < 0.03, "p {p}");
    }
}

// KAT cc.md §9 #30 and the slope MSS * 8 / RTT^2
#[test]
fn growth_per_round_trip_is_the_square_of_the_rtt_ratio() {
    for (ms, expected) in [(5_u64, 0.04), (10, 0.16), (25, 1.0), (100, 1.0)] {
        for version in [Version::Draft04, Version::Current] {
            let (mut p, mut path, mut win) = started(params(version), Dur::from_millis(ms), 1000);
            for _ in 0..1000 {
                ack(&mut p, Time::ZERO, &mut path, &mut win, false);
            }
            let grown = segments(&p) - 1000.0;
            assert!((grown / expected - 1.0).abs() < 2e-3, "{ms} ms: {grown}");
        }
    }
}

#[test]
fn rate_mode_grows_by_1500_bytes_per_virtual_rtt_squared() {
    let mode = Params { mode: Mode::Rate, ..params(Version::Current) };
    for ms in [5_u64, 10, 25] {
        let (mut p, mut path, mut win) = started(mode, Dur::from_millis(ms), 200);
        let before = p.rate;
        // As many segments as one virtual RTT has at this rate.
        for _ in 0..200 * 25 / ms {
            ack(&mut p, Time::ZERO, &mut path, &mut win, false);
        }
        let grown = ((p.rate - before) >> RATE_SHIFT) as f64;
        assert!((grown / 60_000.0 - 1.0).abs() < 0.01, "{ms} ms: {grown}");
    }
}

#[test]
fn rate_mode_has_the_same_steady_rate() {
    for mode in [Mode::Rate, Mode::Switch] {
        let mode = Params { mode, ..params(Version::Current) };
        let rate =
            steady(mode, Dur::from_millis(10), marks_at_the_start_of_each_virtual_rtt(0.05, 10));
        assert!((rate / law(0.05) - 1.0).abs() < 0.08, "{rate:.2}");
    }
}

// cc.md §3.5 F: paced 4/128 faster in the first half of a virtual RTT, slower in the second
#[test]
fn rate_mode_alternates_its_pacing_within_a_virtual_rtt() {
    let mode = Params { mode: Mode::Rate, ..params(Version::Current) };
    let (mut p, path, win) = started(mode, Dur::from_millis(10), 100);
    let paced_at = |p: &mut Prague, ms| {
        p.update_pacing(Time::ZERO + Dur::from_millis(ms), &path, &win);
        p.pacing.0
    };
    let rate = (p.rate >> RATE_SHIFT) * 8;
    assert_eq!(paced_at(&mut p, 12), rate * 132 / 128);
    assert_eq!(paced_at(&mut p, 13), rate * 124 / 128);
}

// cc.md §3.5 F and draft 04: the first cut is W/2 both ways; what differs is the next alpha.
#[test]
fn first_mark_halves_and_only_the_draft_and_alpha_init_1_remember_it() {
    let one = Params { alpha_starts_at_one: true, ..params(Version::Current) };
    for (params, next_alpha) in [
        (params(Version::Current), 0.0),
        (params(Version::Draft04), 15.0 / 16.0),
        (one, 15.0 / 16.0),
    ] {
        let (mut p, mut path, mut win) = started(params, Dur::from_millis(50), 100);
        win.ssthresh = Window::INFINITE;
        p.next_seq = u64::MAX;
        ack(&mut p, Time::ZERO, &mut path, &mut win, true);
        assert_eq!(segments(&p), 50.0);
        assert_eq!((win.cwnd, win.ssthresh), (99, 50), "one segment per ACK, slow start is over");
        // A round without marks.
        p.start_round(Time::ZERO, &path);
        let later = Time::ZERO + Dur::from_millis(50);
        p.next_seq = 0;
        p.end_round(later, &path);
        assert!((p.alpha as f64 / ALPHA_ONE as f64 - next_alpha).abs() < 1e-6);
    }
}

#[test]
fn cuts_are_a_virtual_rtt_apart() {
    for (rtt, gap) in [(5, 25), (20, 25), (80, 80)] {
        let (mut p, mut path, mut win) =
            started(params(Version::Current), Dur::from_millis(rtt), 100);
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

// cc.md §3.5, draft 04
#[test]
fn draft_makes_a_loss_net_of_the_mark_in_the_same_rtt_and_the_module_does_not() {
    let after = |version, gap_ms| {
        let (mut p, mut path, mut win) = started(params(version), Dur::from_millis(50), 100);
        path.cwnd_limited = false;
        p.saw_ce = true;
        p.alpha = ALPHA_ONE / 2;
        ack(&mut p, Time::ZERO, &mut path, &mut win, true);
        assert_eq!(segments(&p), 75.0);
        change(&mut p, Time::ZERO + Dur::from_millis(gap_ms), State::Recovery, &path, &mut win);
        segments(&p)
    };
    assert_eq!(after(Version::Draft04, 49), 50.0);
    assert_eq!(after(Version::Draft04, 50), 37.5);
    assert_eq!(after(Version::Current, 49), 37.5);
}

#[test]
fn a_loss_halves_stops_growth_until_open_and_can_be_undone() {
    let (mut p, mut path, mut win) = started(params(Version::Current), Dur::from_millis(50), 100);
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
    let (mut p, path, mut win) = started(params(Version::Current), Dur::from_millis(50), 100);
    win.ssthresh = p.ssthresh(Time::ZERO, &path, &win);
    win.cwnd = 1;
    let to_loss = StateChange { from: State::Open, to: State::Loss };
    p.on_state(Time::ZERO, to_loss, &path, &mut win);
    assert_eq!((segments(&p), win.ssthresh), (50.0, 50));
}

// KAT cc.md §9 #32
#[test]
fn two_segments_of_156_bytes_per_virtual_rtt_are_100_kilobits() {
    assert_eq!(fitting_mtu(12_500, Dur::from_millis(25)), 156);
}

// cc.md §3.5 F: below two segments per virtual RTT the segments shrink, down to 150 bytes.
#[test]
fn segments_shrink_to_keep_two_in_a_virtual_rtt_and_the_draft_s_do_not() {
    for (mbit, mss) in [(2.0, None), (0.5, Some(781 - 52)), (0.1, Some(150))] {
        let (mut p, path, mut win) = started(params(Version::Current), Dur::from_millis(10), 2);
        p.window = (mbit * 1e6 / 8.0 * 0.01 * ALPHA_ONE as f64) as u64;
        p.rate = Prague::rate_of(p.window, path.srtt);
        p.settle(&path, &mut win);
        assert_eq!(p.output(&path, &win).mss, mss, "{mbit} Mbit/s");
    }
    let (mut p, path, mut win) = started(params(Version::Draft04), Dur::from_millis(10), 2);
    p.window = 100 << BITS;
    p.settle(&path, &mut win);
    assert_eq!(p.output(&path, &win).mss, None);
}

#[test]
fn rate_never_falls_below_100_kilobits() {
    let (mut p, mut path, mut win) = started(params(Version::Current), Dur::from_millis(20), 10);
    p.saw_ce = true;
    for n in 0..2000 {
        p.alpha = ALPHA_ONE;
        ack(&mut p, Time::ZERO + Dur::from_millis(25 * n), &mut path, &mut win, true);
    }
    assert_eq!((p.rate >> RATE_SHIFT, win.cwnd), (12_500, 2));
}

#[test]
fn without_accecn_it_is_reno() {
    let mut p = Prague::new(params(Version::Current));
    let path = Path { feedback: Feedback::Rfc3168, cwnd_limited: true, ..Path::default() };
    let mut win = Window { ssthresh: 5, ..Window::new(37) };
    p.on_established(Time::ZERO, &path, &mut win);
    assert_eq!((p.needs(), p.output(&path, &win)), (Needs::default(), Output::default()));
    assert_eq!(p.ssthresh(Time::ZERO, &path, &win), 18);
    p.on_ack(Time::ZERO, &Ack { acked: 37, may_raise: true, ..Ack::new(&path) }, &mut win);
    assert_eq!(win.cwnd, 38);
}

// cc.md §3.5 F: mtu * max(window, in flight) / srtt, twice that below half of ssthresh; draft: gain 1
#[test]
fn pacing_follows_window_and_flight_and_doubles_early_in_slow_start_but_for_the_draft() {
    for (version, gain) in [(Version::Current, 2), (Version::Draft04, 1)] {
        let (mut p, mut path, mut win) = started(params(version), Dur::from_millis(80), 100);
        let mut paced = |in_flight, ssthresh| {
            path.in_flight = in_flight;
            win.ssthresh = ssthresh;
            p.update_pacing(Time::ZERO, &path, &win);
            (p.pacing.bytes_per_sec(), p.burst)
        };
        assert_eq!(paced(50, 100), (1_875_000, 1));
        assert_eq!(paced(200, 201), (3_750_000, 1));
        assert_eq!(paced(100, 202), (1_875_000 * gain, 1));
        assert_eq!(paced(3200, 100), (60_000_000, 9));
    }
}
