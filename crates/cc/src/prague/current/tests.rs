use super::super::{Version, or_reno};
use super::*;
use crate::Feedback;

const DEFAULT: Law = Law::of(Version::Current);

/// A connection after slow start whose RTT mode acts, unless `params` say otherwise.
fn started(params: Law, srtt: Dur, cwnd: u32) -> (Prague, Path, Window) {
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
    p.rounds = params.rtt_transition;
    (p, path, win)
}

fn segments(p: &Prague) -> f64 {
    p.window as f64 / ONE as f64
}

fn ack(p: &mut Prague, now: Time, path: &mut Path, win: &mut Window, acked: u32, ce: u32) {
    path.delivered += u64::from(acked);
    path.delivered_ce += u64::from(ce);
    path.snd_una += u64::from(acked);
    path.snd_nxt = path.snd_una + u64::from(win.cwnd);
    let path = *path;
    p.on_ack(now, &Ack { acked, ce, ..Ack::new(&path) }, win);
}

fn change(p: &mut Prague, now: Time, to: State, path: &Path, win: &mut Window) {
    win.ssthresh = p.ssthresh(now, path, win);
    p.on_state(now, StateChange { from: State::Open, to }, path, win);
}

/// Mean rate in Mbit/s of a flow that is marked where `mark` says, over 100 s after 40 s. As in the
/// endpoint a mark begins CWR, which lasts until what was in flight then is acknowledged.
fn steady(params: Law, srtt: Dur, mut mark: impl FnMut(Time) -> bool) -> f64 {
    let (mut p, mut path, mut win) = started(params, srtt, 20);
    let (mut now, mut open_at) = (Time::ZERO, Time::ZERO);
    let (mut bits, mut from) = (0.0, Time::ZERO);
    loop {
        now += p.pacing.time_for(u64::from(p.mtu));
        let ce = mark(now);
        if ce && now > open_at {
            change(&mut p, now, State::Cwr, &path, &mut win);
            open_at = now + srtt;
        }
        ack(&mut p, now, &mut path, &mut win, 1, u32::from(ce));
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

/// Marks a share `p` of the segments, those of a virtual RTT at its start: what the law assumes, a
/// cut in each.
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

// KAT prague 8: pacing takes whole segments only, so that small windows are a little slower; a rate is not.
#[test]
fn steady_rate_is_0_96_times_unmarked_per_marked_megabit_where_every_virtual_rtt_has_a_cut() {
    let rate_mode = Law { mode: Mode::Rate, ..DEFAULT };
    for (params, p, ms) in [
        (DEFAULT, 0.01, 5),
        (DEFAULT, 0.01, 24),
        (DEFAULT, 0.05, 24),
        (DEFAULT, 0.1, 24),
        (rate_mode, 0.05, 10),
        (rate_mode, 0.1, 5),
    ] {
        let marks = marks_at_the_start_of_each_virtual_rtt(p, ms);
        let rate = steady(params, Dur::from_millis(ms), marks);
        assert!((rate / law(p) - 1.0).abs() < 0.1, "p {p}, {ms} ms: {rate:.2} for {:.2}", law(p));
    }
}

// The gate opens when the target has passed, but cuts come with CWR, which the endpoint enters once
// per round trip: at 20 ms every second round trip, 40 ms, at the most.
#[test]
fn cuts_come_with_the_first_round_trip_after_the_target() {
    for (rtt, gap) in [(5, 25), (10, 30), (20, 40), (24, 48), (80, 80)] {
        let (mut p, path, mut win) = started(DEFAULT, Dur::from_millis(rtt), 100);
        let mut cuts = Vec::new();
        for round in 0..40 {
            p.alpha = ALPHA_ONE;
            let (now, before) = (Time::ZERO + Dur::from_millis(rtt * round), p.window);
            change(&mut p, now, State::Cwr, &path, &mut win);
            if p.window < before {
                cuts.push(rtt * round);
            }
        }
        let expected: Vec<u64> = (0..rtt * 40).step_by(gap).collect();
        assert_eq!(cuts, expected, "{rtt} ms");
    }
}

#[test]
fn before_the_transition_every_round_trip_cuts_and_growth_is_whole() {
    let (mut p, mut path, mut win) = started(DEFAULT, Dur::from_millis(5), 100);
    p.rounds = 3;
    p.alpha = ALPHA_ONE;
    change(&mut p, Time::ZERO, State::Cwr, &path, &mut win);
    let before = p.window;
    change(&mut p, Time::ZERO + Dur::from_millis(5), State::Cwr, &path, &mut win);
    assert!(p.window < before);
    let (mut q, _, mut win) = started(DEFAULT, Dur::from_millis(5), 100);
    q.rounds = 3;
    q.next_seq = u64::MAX;
    for _ in 0..100 {
        ack(&mut q, Time::ZERO, &mut path, &mut win, 1, 0);
    }
    assert!((segments(&q) - 101.0).abs() < 0.01, "{}", segments(&q));
}

// KAT prague 18: above 25 ms the rate falls as 25 ms / R.
#[test]
fn rate_does_not_depend_on_the_rtt_below_25_ms_and_is_inverse_to_it_above() {
    let of = |params, p, ms| {
        let marks = marks_at_the_start_of_each_virtual_rtt(p, ms);
        steady(params, Dur::from_millis(ms), marks)
    };
    let rate_mode = Law { mode: Mode::Rate, ..DEFAULT };
    for p in [0.02, 0.05, 0.1] {
        let ratio = of(rate_mode, p, 5) / of(rate_mode, p, 24);
        assert!((ratio - 1.0).abs() < 0.03, "p {p}: {ratio:.3}");
        let ratio = 4.0 * of(DEFAULT, p, 100) / of(DEFAULT, p, 24);
        assert!((ratio - 1.0).abs() < 0.1, "p {p}: {ratio:.3}");
    }
}

// KAT prague 9: and the slope MSS * 8 / RTT^2
#[test]
fn growth_per_round_trip_is_the_square_of_the_rtt_ratio() {
    for (ms, expected) in [(5_u64, 0.04), (10, 0.16), (25, 1.0), (100, 1.0)] {
        let (mut p, mut path, mut win) = started(DEFAULT, Dur::from_millis(ms), 1000);
        for _ in 0..1000 {
            ack(&mut p, Time::ZERO, &mut path, &mut win, 1, 0);
        }
        let grown = segments(&p) - 1000.0;
        assert!((grown / expected - 1.0).abs() < 4e-3, "{ms} ms: {grown}");
    }
}

// The module counts 2^20 us to a second there.
#[test]
fn rate_mode_grows_by_1500_bytes_per_virtual_rtt_squared() {
    let mode = Law { mode: Mode::Rate, ..DEFAULT };
    for ms in [5_u64, 10, 25] {
        let (mut p, mut path, mut win) = started(mode, Dur::from_millis(ms), 200);
        let before = p.rate;
        // As many segments as one virtual RTT has at this rate.
        for _ in 0..200 * 25 / ms {
            ack(&mut p, Time::ZERO, &mut path, &mut win, 1, 0);
        }
        let grown = (p.rate - before) as f64;
        assert!(
            (grown / (60_000.0 * 1.048_576 * 1.048_576) - 1.0).abs() < 0.01,
            "{ms} ms: {grown}"
        );
    }
}

#[test]
fn the_rate_rules_up_to_a_cwnd_of_6000_bytes_once_a_mark_was_seen() {
    let (mut p, mut path, mut win) = started(DEFAULT, Dur::from_millis(20), 4);
    path.cwnd_limited = false;
    ack(&mut p, Time::ZERO, &mut path, &mut win, 1, 0);
    assert!(!p.on_rate, "nothing says that there is an AQM");
    p.saw_ce = true;
    ack(&mut p, Time::ZERO, &mut path, &mut win, 1, 0);
    assert!(p.on_rate);
    p.window = 5 << WINDOW_BITS;
    win.cwnd = 5;
    ack(&mut p, Time::ZERO, &mut path, &mut win, 1, 0);
    assert!(!p.on_rate);
    let (mut window, mut path, mut win) =
        started(Law { mode: Mode::Window, ..DEFAULT }, Dur::from_millis(20), 4);
    window.saw_ce = true;
    ack(&mut window, Time::ZERO, &mut path, &mut win, 1, 0);
    assert!(!window.on_rate);
}

// Module 0.7 (L4STeam/linux 893e1479): paced 4/128 faster in the first half of a virtual RTT, slower in the second
#[test]
fn rate_mode_alternates_its_pacing_within_a_virtual_rtt() {
    let mode = Law { mode: Mode::Rate, ..DEFAULT };
    let (mut p, path, win) = started(mode, Dur::from_millis(10), 128);
    let paced_at = |p: &mut Prague, ms| {
        p.update_pacing(Time::ZERO + Dur::from_millis(ms), &path, &win);
        p.pacing.0
    };
    let rate = p.rate * 8;
    assert_eq!(paced_at(&mut p, 12), rate * 132 / 128);
    assert_eq!(paced_at(&mut p, 13), rate * 124 / 128);
}

// Module 0.7 (L4STeam/linux 893e1479): the first cut is W/2 both ways; what differs is the next alpha.
#[test]
fn first_mark_halves_and_only_alpha_init_1_remembers_it() {
    let one = Law { alpha_starts_at_one: true, ..DEFAULT };
    for (params, next_alpha) in [(DEFAULT, 0.0), (one, 15.0 / 16.0)] {
        let (mut p, mut path, mut win) = started(params, Dur::from_millis(50), 100);
        win.ssthresh = Window::INFINITE;
        p.rounds = 0;
        p.next_seq = u64::MAX;
        change(&mut p, Time::ZERO, State::Cwr, &path, &mut win);
        ack(&mut p, Time::ZERO, &mut path, &mut win, 1, 1);
        assert_eq!(segments(&p), 50.0);
        assert_eq!((win.cwnd, win.ssthresh), (99, 99), "one segment per ACK, slow start is over");
        // A round without marks.
        p.start_round(&path, &win);
        p.next_seq = 0;
        p.end_round(Time::ZERO + Dur::from_millis(50), &path, &mut win);
        assert!((p.alpha as f64 / (ALPHA_ONE << SHIFT_G) as f64 - next_alpha).abs() < 1e-6);
    }
}

// What the module does, not what it is meant to do: the halving is overwritten.
#[test]
fn a_partly_marked_ack_does_not_end_slow_start() {
    let (mut p, mut path, mut win) = started(DEFAULT, Dur::from_millis(50), 100);
    win.ssthresh = Window::INFINITE;
    ack(&mut p, Time::ZERO, &mut path, &mut win, 2, 1);
    assert_eq!((segments(&p), win.cwnd, win.ssthresh), (101.0, 101, Window::INFINITE));
    ack(&mut p, Time::ZERO, &mut path, &mut win, 1, 1);
    assert_eq!((win.cwnd, win.ssthresh), (101, Window::INFINITE), "it is not the first mark");
}

#[test]
fn growth_waits_until_cwnd_limits() {
    let (mut p, mut path, mut win) = started(DEFAULT, Dur::from_millis(50), 100);
    path.cwnd_limited = false;
    (path.paced, path.backlogged) = (true, true);
    for _ in 0..200 {
        ack(&mut p, Time::ZERO, &mut path, &mut win, 1, 0);
    }
    assert_eq!((segments(&p), win.cwnd), (100.0, 100));
}

#[test]
fn a_loss_halves_whatever_was_cut_before_and_stops_growth_until_open() {
    let (mut p, mut path, mut win) = started(DEFAULT, Dur::from_millis(50), 100);
    p.alpha = (ALPHA_ONE << SHIFT_G) / 2;
    change(&mut p, Time::ZERO, State::Cwr, &path, &mut win);
    assert_eq!(segments(&p), 75.0);
    change(&mut p, Time::ZERO, State::Recovery, &path, &mut win);
    for _ in 0..200 {
        ack(&mut p, Time::ZERO, &mut path, &mut win, 1, 0);
    }
    assert_eq!((segments(&p), win.cwnd), (37.5, 38));
    change(&mut p, Time::ZERO, State::Open, &path, &mut win);
    ack(&mut p, Time::ZERO, &mut path, &mut win, 1, 0);
    assert!(segments(&p) > 37.5);
}

#[test]
fn an_undone_loss_restores_rate_and_cwnd() {
    let (mut p, path, mut win) = started(DEFAULT, Dur::from_millis(50), 100);
    let rate = p.rate;
    change(&mut p, Time::ZERO, State::Recovery, &path, &mut win);
    assert_eq!(p.undo_cwnd(&win), 100);
    assert_eq!(p.rate, rate);
    // Back by way of the rate, whose second has 2^20 us.
    assert!((segments(&p) - 100.0 / 1.048_576).abs() < 0.01);
}

#[test]
fn a_timeout_halves_the_window_it_found() {
    let (mut p, path, mut win) = started(DEFAULT, Dur::from_millis(50), 100);
    win.ssthresh = p.ssthresh(Time::ZERO, &path, &win);
    win.cwnd = 1;
    let to_loss = StateChange { from: State::Open, to: State::Loss };
    p.on_state(Time::ZERO, to_loss, &path, &mut win);
    assert_eq!((segments(&p), p.loss_cwnd), (50.0, 100));
}

// Module 0.7 (L4STeam/linux 893e1479): below two segments per virtual RTT the segments shrink, down to 150 bytes.
// KAT prague 11: two of 156 bytes per 25 ms are 100 kbit/s.
#[test]
fn segments_shrink_to_keep_two_in_a_virtual_rtt() {
    for (mbit, mss) in [(2.0, None), (0.5, Some(781 - 52)), (0.1, Some(150))] {
        let (mut p, path, mut win) = started(DEFAULT, Dur::from_millis(10), 2);
        win.ssthresh = 2;
        p.window = (mbit * 1e6 / 8.0 * 0.01 / 1500.0 * ONE as f64) as u64;
        p.saw_ce = true;
        p.fit_segments(&path, &mut win);
        assert_eq!(p.output(&path, &win).mss, mss, "{mbit} Mbit/s");
    }
}

// What growth by a window of a fraction of a segment made in a run with 8 % of losses and marks.
#[test]
fn a_window_of_any_size_survives_segments_of_another_size() {
    let (mut p, path, mut win) = started(DEFAULT, Dur::from_millis(154), 362);
    win.ssthresh = 2;
    (p.window, p.mtu, p.saw_ce) = (386_125_506_195_773_019, 217, true);
    p.fit_segments(&path, &mut win);
    assert_eq!((p.mtu, p.window), (1500, 55_859_489_896_321_830));
}

#[test]
fn rate_never_falls_below_100_kilobits() {
    let (mut p, mut path, mut win) = started(DEFAULT, Dur::from_millis(20), 10);
    p.saw_ce = true;
    for n in 0..2000 {
        p.alpha = ALPHA_ONE << SHIFT_G;
        let now = Time::ZERO + Dur::from_millis(25 * n);
        change(&mut p, now, State::Cwr, &path, &mut win);
        ack(&mut p, now, &mut path, &mut win, 1, 1);
    }
    assert_eq!((p.rate, win.cwnd), (12_500, 2));
}

#[test]
fn without_accecn_it_is_reno() {
    let mut p = or_reno(Prague::new(DEFAULT));
    let path = Path { feedback: Feedback::Rfc3168, cwnd_limited: true, ..Path::default() };
    let mut win = Window { ssthresh: 5, ..Window::new(37) };
    p.on_established(Time::ZERO, &path, &mut win);
    assert_eq!((p.needs(), p.output(&path, &win)), (Needs::default(), Output::default()));
    assert_eq!(p.ssthresh(Time::ZERO, &path, &win), 18);
    p.on_ack(Time::ZERO, &Ack { acked: 37, may_raise: true, ..Ack::new(&path) }, &mut win);
    assert_eq!(win.cwnd, 38);
}

// Module 0.7 (L4STeam/linux 893e1479): mtu * max(whole window, in flight) / srtt, twice that below half of ssthresh
#[test]
fn pacing_follows_window_and_flight_and_doubles_early_in_slow_start() {
    let (mut p, mut path, mut win) = started(DEFAULT, Dur::from_millis(80), 100);
    let mut paced = |in_flight, ssthresh| {
        path.in_flight = in_flight;
        win.ssthresh = ssthresh;
        p.update_pacing(Time::ZERO, &path, &win);
        (p.pacing.bytes_per_sec(), p.burst)
    };
    assert_eq!(paced(50, 100), (1_875_000, 1));
    assert_eq!(paced(200, 201), (3_750_000, 1));
    assert_eq!(paced(100, 202), (3_750_000, 1));
    assert_eq!(paced(3200, 100), (60_000_000, 9));
}

#[test]
fn a_mainline_kernel_chooses_the_bursts_itself() {
    let (p, path, win) = started(Law { kernel_bursts: true, ..DEFAULT }, Dur::from_millis(80), 100);
    assert_eq!(p.output(&path, &win).burst, None);
    let (p, path, win) = started(DEFAULT, Dur::from_millis(80), 100);
    assert_eq!(p.output(&path, &win).burst, Some(1));
}
