use super::super::{Params, or_reno};
use super::*;

const RTT: Dur = Dur::from_millis(80);

fn prague(options: &str) -> Prague {
    let options =
        if options.contains("version") { options.into() } else { format!("version p2b {options}") };
    Prague::new(crate::params::<Params>(&format!("prague {options}")).law())
}

fn path() -> Path {
    Path {
        mss: 1448,
        mtu: 1500,
        srtt: RTT,
        min_rtt: RTT,
        cwnd_limited: true,
        feedback: Feedback::AccEcn,
        ..Path::default()
    }
}

/// A controller in congestion avoidance at `cwnd`.
fn started(options: &str, cwnd: u32) -> (Prague, Path, Window) {
    let (mut p, path) = (prague(options), path());
    let mut win = Window { ssthresh: cwnd, ..Window::new(cwnd) };
    p.on_established(Time::ZERO, &path, &mut win);
    (p, path, win)
}

/// One ACK of one segment. The sender keeps a window of sequence space outstanding.
fn ack(p: &mut Prague, now: Time, path: &mut Path, win: &mut Window, ce: bool) {
    path.delivered += 1;
    path.delivered_ce += u64::from(ce);
    path.snd_una += 1;
    path.snd_nxt = path.snd_una + u64::from(win.cwnd);
    p.on_ack(now, &Ack { acked: 1, ce: u32::from(ce), ..Ack::new(path) }, win);
}

fn change(p: &mut Prague, to: State, path: &Path, win: &mut Window) {
    if to > State::Disorder {
        win.ssthresh = p.ssthresh(Time::ZERO, path, win);
    }
    p.on_state(Time::ZERO, StateChange { from: State::Open, to }, path, win);
}

fn segments(p: &Prague) -> f64 {
    p.carry as f64 / ONE as f64
}

fn alpha(p: &Prague) -> f64 {
    p.alpha as f64 / f64::from(1 << 24)
}

// KAT prague 2
#[test]
fn a_cut_leaves_the_window_one_segment_per_ack() {
    for version in ["version p2a", "version p2b"] {
        let (mut p, mut path, mut win) = started(version, 100);
        change(&mut p, State::Cwr, &path, &mut win);
        assert_eq!((segments(&p), win.cwnd), (-50.0, 100));
        for n in 1..=50 {
            ack(&mut p, Time::ZERO, &mut path, &mut win, true);
            assert_eq!((win.cwnd, win.ssthresh), (100 - n, 100 - n));
        }
        ack(&mut p, Time::ZERO, &mut path, &mut win, true);
        assert_eq!(win.cwnd, 50);
    }
}

// KAT prague 3
#[test]
fn full_fallback_cuts_by_0_3125_unless_alpha_asks_for_more() {
    let cut = |fallback, alpha: f64| {
        let (mut p, path, mut win) = started(fallback, 100);
        // A millisecond of deviation on a deep queue: classic after some rounds.
        p.detector.on_ssthresh(20);
        for n in 0..1000 {
            let us = if n % 2 == 0 { 98_000 } else { 102_000 };
            p.detector.on_rtt(Dur::from_micros(us), RTT);
        }
        for _ in 0..50 {
            p.detector.on_round(RTT);
        }
        p.alpha = (alpha * f64::from(1 << 24)) as u64;
        change(&mut p, State::Cwr, &path, &mut win);
        segments(&p)
    };
    assert_eq!(cut("ecn_fallback 1", 0.1), -31.25);
    assert_eq!(cut("ecn_fallback 1", 0.75), -37.5);
    assert_eq!(cut("ecn_fallback 2", 0.25), -12.5);
    assert_eq!(cut("ecn_fallback 0", 0.25), -12.5);
}

// KAT prague 1
#[test]
fn alpha_decays_by_a_sixteenth_per_round_after_the_first_mark() {
    let (mut p, mut path, mut win) = started("", 10);
    for _ in 0..30 {
        ack(&mut p, Time::ZERO, &mut path, &mut win, false);
    }
    assert_eq!(alpha(&p), 1.0, "no mark seen yet");
    p.saw_ce = true;
    let mut rounds = 0;
    while rounds < 16 {
        let before = p.alpha;
        ack(&mut p, Time::ZERO, &mut path, &mut win, false);
        rounds += u32::from(p.alpha != before);
        if rounds == 1 && p.alpha != before {
            assert_eq!(alpha(&p), 0.9375);
        }
    }
    assert!((alpha(&p) - 0.356).abs() < 0.0005, "{}", alpha(&p));
}

// KAT prague 19: alpha 0.1 and a fully marked window give 0.1 + 0.9/16.
#[test]
fn a_fully_marked_round_moves_alpha_a_sixteenth_of_the_way_to_one() {
    let (mut p, mut path, mut win) = started("", 10);
    // The round that the first ACK ends is one packet long; all are marked.
    p.alpha = (0.1 * f64::from(1 << 24)) as u64;
    ack(&mut p, Time::ZERO, &mut path, &mut win, true);
    assert!((alpha(&p) - 0.15625).abs() < 1e-6, "{}", alpha(&p));
}

// The law behind the slopes that the published ECT(1) tests (heistp/sce-l4s-ect1) show at 20, 80 and 160 ms.
#[test]
fn additive_increase_is_one_segment_per_round_trip() {
    let (mut p, mut path, mut win) = started("rtt_mode none", 100);
    let mut grown_after = |rounds| {
        for _ in 0..rounds {
            for _ in 0..win.cwnd {
                ack(&mut p, Time::ZERO, &mut path, &mut win, false);
            }
        }
        f64::from(win.cwnd) + segments(&p) - 100.0
    };
    assert!((grown_after(1) - 1.0).abs() < 1e-4);
    // Where cwnd steps within a round, the rest of it counts a little less.
    assert!((grown_after(199) - 200.0).abs() < 1.0);
}

#[test]
fn growth_continues_during_cwr_on_unmarked_acks() {
    let (mut p, mut path, mut win) = started("", 100);
    p.alpha = 0;
    change(&mut p, State::Cwr, &path, &mut win);
    for _ in 0..101 {
        ack(&mut p, Time::ZERO, &mut path, &mut win, false);
    }
    assert_eq!(win.cwnd, 101);
}

/// cwnd after a loss in slow start at 100 and as many ACKs as it then takes, with its carry.
fn loss_in_slow_start(options: &str, acks: u32) -> (u32, f64) {
    let (mut p, mut path, mut win) = started(options, 100);
    win.ssthresh = Window::INFINITE;
    change(&mut p, State::Recovery, &path, &mut win);
    for _ in 0..acks {
        ack(&mut p, Time::ZERO, &mut path, &mut win, false);
    }
    (win.cwnd, segments(&p))
}

// L4STeam tcp_prague.c of testing/01-03-2020 (p2a) and after the fix (p2b).
#[test]
fn p2a_ignores_a_loss_in_slow_start_and_p2b_halves() {
    assert_eq!(loss_in_slow_start("version p2a", 60), (160, -50.0));
    assert_eq!(loss_in_slow_start("version p2b", 60), (50, 0.0));
}

#[test]
fn p2b_does_not_grow_between_a_loss_and_the_return_to_open() {
    let (mut p, mut path, mut win) = started("", 100);
    change(&mut p, State::Recovery, &path, &mut win);
    for _ in 0..300 {
        ack(&mut p, Time::ZERO, &mut path, &mut win, false);
    }
    assert_eq!(win.cwnd, 50);
    change(&mut p, State::Open, &path, &mut win);
    for _ in 0..51 {
        ack(&mut p, Time::ZERO, &mut path, &mut win, false);
    }
    assert_eq!(win.cwnd, 51);
}

#[test]
fn a_loss_halves_in_congestion_avoidance_in_both_versions() {
    for version in ["version p2a", "version p2b"] {
        let (mut p, mut path, mut win) = started(version, 100);
        change(&mut p, State::Recovery, &path, &mut win);
        assert_eq!(segments(&p), -50.0);
        for _ in 0..40 {
            ack(&mut p, Time::ZERO, &mut path, &mut win, true);
        }
        assert_eq!(win.cwnd, 60, "{version}");
    }
}

#[test]
fn ssthresh_query_leaves_slow_start_to_the_marks() {
    let slow_start = Window::new(100);
    let grown = Window { ssthresh: 80, ..Window::new(100) };
    let ask = |options, win: &Window| prague(options).ssthresh(Time::ZERO, &path(), win);
    assert_eq!(ask("version p2a", &slow_start), Window::INFINITE);
    assert_eq!(ask("version p2b", &slow_start), Window::INFINITE);
    assert_eq!(ask("version p2a", &grown), 100);
    assert_eq!(ask("version p2b", &grown), 80);
}

// L4STeam tcp_prague.c of testing/01-03-2020: a partly marked ACK keeps slow-starting, a fully
// marked one ends slow start.
#[test]
fn slow_start_ends_on_the_first_ack_whose_segments_are_all_marked() {
    let (mut p, mut path, mut win) = started("", 20);
    win.ssthresh = Window::INFINITE;
    change(&mut p, State::Cwr, &path, &mut win);
    path.delivered += 2;
    path.delivered_ce += 1;
    p.on_ack(Time::ZERO, &Ack { acked: 2, ce: 1, ..Ack::new(&path) }, &mut win);
    assert_eq!((win.cwnd, win.ssthresh), (21, Window::INFINITE));
    path.delivered += 2;
    path.delivered_ce += 2;
    p.on_ack(Time::ZERO, &Ack { acked: 2, ce: 2, ..Ack::new(&path) }, &mut win);
    assert_eq!((win.cwnd, win.ssthresh), (20, 20));
}

#[test]
fn a_timeout_cuts_the_window_it_found_and_only_if_ssthresh_was_asked() {
    let (mut p, path, mut win) = started("", 100);
    let to_loss = StateChange { from: State::Open, to: State::Loss };
    win.ssthresh = p.ssthresh(Time::ZERO, &path, &win);
    win.cwnd = 1;
    p.on_state(Time::ZERO, to_loss, &path, &mut win);
    assert_eq!(segments(&p), -50.0);
    p.on_state(Time::ZERO, to_loss, &path, &mut win);
    assert_eq!(segments(&p), -50.0);
}

#[test]
fn window_never_falls_below_two_and_forgets_the_rest_of_the_cut() {
    let (mut p, mut path, mut win) = started("", 100);
    p.carry = -500 * ONE;
    for _ in 0..120 {
        ack(&mut p, Time::ZERO, &mut path, &mut win, true);
    }
    assert_eq!((win.cwnd, win.ssthresh, p.carry), (2, 2, 0));
}

#[test]
fn undo_restores_the_window_of_the_loss() {
    let (mut p, path, mut win) = started("", 100);
    change(&mut p, State::Recovery, &path, &mut win);
    win.cwnd = 60;
    p.carry = -10 * ONE;
    assert_eq!(p.undo_cwnd(&win), 100);
    assert_eq!(segments(&p), -20.0);
}

// KAT prague 9
#[test]
fn rate_mode_scales_growth_by_the_square_of_the_rtt_ratio() {
    let (mut p, mut path, win) = started("version p3 rtt_transition 0", 100);
    path.srtt = Dur::from_millis(10);
    assert_eq!(p.scaled_increase(&path, &win), 167_772);
    path.srtt = Dur::from_millis(25);
    assert_eq!(p.scaled_increase(&path, &win), 1 << 20);
    p.law.rtt_transition = 1;
    path.srtt = Dur::from_millis(10);
    assert_eq!(p.scaled_increase(&path, &win), 1 << 20, "before the transition");
}

// KAT prague 10
#[test]
fn scalable_mode_follows_its_formula() {
    let (p, mut path, win) = started("rtt_mode scalable rtt_transition 0", 100);
    path.srtt = Dur::from_micros(1536);
    let ai = p.scaled_increase(&path, &win) as f64 / f64::from(1 << 20);
    assert!((ai / 0.0117 - 1.0).abs() < 0.01, "{ai}");
}

// L4STeam/linux: testing/01-03-2020, 0e7cf8ac, b256daed, and module 0.6.
#[test]
fn each_module_loads_with_its_own_rtt_mode() {
    let options = |version| {
        let text = crate::read(&format!("prague version {version}")).expect("valid").to_string();
        text[text.find("ecn_fallback").expect("a word")..].to_owned()
    };
    let of = |fallback, mode, target, rounds| {
        format!(
            "ecn_fallback {fallback} rtt_mode {mode} rtt_target {target} rtt_transition {rounds} \
             burst_shift 12"
        )
    };
    assert_eq!(options("p2a"), of(1, "rate", "10ms", 100));
    assert_eq!(options("p2b"), of(1, "none", "15ms", 100));
    assert_eq!(options("p2c"), of(0, "none", "15ms", 100));
    assert_eq!(options("p3"), of(0, "rate", "25ms", 500));
}

#[test]
fn short_paths_cut_at_most_once_per_target_once_the_rtt_mode_acts() {
    let (mut p, path, mut win) = started("version p2a rtt_transition 0", 100);
    let cwr = StateChange { from: State::Open, to: State::Cwr };
    for (ms, cuts) in [(0, 1.0), (9, 1.0), (10, 2.0)] {
        p.on_state(Time::ZERO + Dur::from_millis(ms), cwr, &path, &mut win);
        assert_eq!(segments(&p), -50.0 * cuts, "at {ms} ms");
    }
}

// L4STeam tcp_prague.c of testing/01-03-2020: mtu * max(W, in flight) / srtt, twice that in early slow start.
#[test]
fn pacing_and_burst_follow_window_flight_and_phase() {
    let (mut p, mut path, mut win) = started("", 100);
    let mut paced = |in_flight, ssthresh| {
        path.in_flight = in_flight;
        win.ssthresh = ssthresh;
        p.update_pacing(&path, &win);
        let out = p.output(&path, &win);
        (out.pacing_rate.expect("paces").bytes_per_sec(), out.burst.expect("sets bursts"))
    };
    assert_eq!(paced(50, 100), (1_875_000, 1));
    assert_eq!(paced(200, 100), (3_750_000, 1));
    assert_eq!(paced(100, 201), (1_875_000, 1));
    assert_eq!(paced(100, 202), (3_750_000, 1));
    // 60 MB/s: 14,648 bytes per 2^-12 s, nine packets.
    assert_eq!(paced(3200, 100), (60_000_000, 9));
}

#[test]
fn without_accecn_it_is_reno() {
    for feedback in [Feedback::None, Feedback::Rfc3168] {
        let (mut p, path) = (or_reno(prague("")), Path { feedback, ..path() });
        let mut win = Window { ssthresh: 5, ..Window::new(37) };
        assert!(p.needs().owns_cwnd);
        p.on_established(Time::ZERO, &path, &mut win);
        assert_eq!(p.needs(), Needs::default());
        assert_eq!(p.output(&path, &win), Output::default());
        assert_eq!(p.ssthresh(Time::ZERO, &path, &win), 18);
        let cwr = StateChange { from: State::Open, to: State::Cwr };
        p.on_state(Time::ZERO, cwr, &path, &mut win);
        p.on_ack(Time::ZERO, &Ack { acked: 37, ..Ack::new(&path) }, &mut win);
        assert_eq!(win.cwnd, 37);
        p.on_ack(Time::ZERO, &Ack { acked: 37, may_raise: true, ..Ack::new(&path) }, &mut win);
        assert_eq!(win.cwnd, 38);
    }
}

#[test]
fn only_a_detector_that_looks_has_series() {
    let looks = |options: &str, feedback| {
        let (mut p, path) = (prague(options), Path { feedback, ..path() });
        p.on_established(Time::ZERO, &path, &mut Window::new(10));
        let mut names = Vec::new();
        p.probe(&mut Probe::new(&mut |name, _, _| names.push(name.to_owned())));
        names.iter().any(|name| name == "classic_mode")
    };
    assert!(looks("ecn_fallback 1", Feedback::AccEcn) && looks("ecn_fallback 2", Feedback::AccEcn));
    assert!(!looks("ecn_fallback 0", Feedback::AccEcn), "not asked to look");
    assert!(!looks("ecn_fallback 1", Feedback::Rfc3168), "Reno");
}

#[test]
fn growth_stops_while_something_else_limits_unless_pacing_does() {
    let grows = |version, limits: Path| {
        let (mut p, _, mut win) = started(version, 100);
        p.on_ack(Time::ZERO, &Ack { acked: 1, ..Ack::new(&limits) }, &mut win);
        p.carry > 0
    };
    let idle = Path { cwnd_limited: false, max_packets_out: 51, ..path() };
    let paced = Path { paced: true, backlogged: true, ..idle };
    for (version, of_2020) in [("version p2a", true), ("version p2b", true), ("version p3", false)]
    {
        assert!(grows(version, path()));
        assert!(!grows(version, idle));
        assert!(!grows(version, Path { backlogged: false, ..paced }));
        assert_eq!(grows(version, paced), of_2020, "{version}");
        // The receive window limits: cwnd is twice the flight.
        assert!(!grows(version, Path { max_packets_out: 50, ..paced }), "{version}");
    }
}

// Growth in slow start leaves the carry alone; an ACK that may not grow does not.
#[test]
fn slow_start_ends_after_an_isolated_mark_where_cwnd_is_not_the_limit() {
    for version in ["version p2a", "version p2b", "version p3"] {
        let (mut p, mut path, mut win) = started(version, 100);
        win.ssthresh = Window::INFINITE;
        change(&mut p, State::Cwr, &path, &mut win);
        path.cwnd_limited = false;
        (path.paced, path.backlogged, path.max_packets_out) = (true, true, 50);
        path.delivered += 2;
        path.delivered_ce += 1;
        p.on_ack(Time::ZERO, &Ack { acked: 2, ce: 1, ..Ack::new(&path) }, &mut win);
        assert_eq!((win.cwnd, win.ssthresh), (99, 99), "{version}");
    }
}

#[test]
fn the_text_form_reads_as_the_same_parameters() {
    for options in [
        "version p2b",
        "version p2a ecn_fallback 0 rtt_mode none burst_shift 11",
        "version p2b ecn_fallback 2 rtt_mode additive rtt_target 25ms rtt_transition 500",
        "version p3",
    ] {
        let spec = crate::read(&format!("prague {options}")).expect("valid");
        assert_eq!(crate::params::<Params>(&spec.to_string()).law(), prague(options).law);
    }
}

// L4STeam tcp_prague.c, module 0.6.
#[test]
fn p3_targets_25_ms_after_500_rounds_without_a_detector_and_bursts_by_two() {
    let (mut p, mut path, mut win) = started("version p3", 100);
    assert_eq!(p.law.fallback, Fallback::Off);
    path.srtt = Dur::from_millis(10);
    p.rounds = 499;
    assert_eq!(p.scaled_increase(&path, &win), 1 << 20);
    p.rounds = 500;
    assert_eq!(p.scaled_increase(&path, &win), 167_772);
    p.update_pacing(&path, &win);
    assert_eq!(p.output(&path, &win).burst, Some(2));
    change(&mut p, State::Recovery, &path, &mut win);
    assert!(p.in_loss);
}

// KAT prague 12: additive growth is that of a path 25 ms longer.
#[test]
fn additive_mode_imitates_a_path_longer_by_the_target() {
    for (ms, ratio) in [(5_u64, 5.0 / 30.0), (25, 0.5), (100, 0.8_f64)] {
        let (p, mut path, win) = started("version p3 rtt_mode additive rtt_transition 0", 100);
        path.srtt = Dur::from_millis(ms);
        let ai = p.scaled_increase(&path, &win) as f64 / f64::from(1 << 20);
        assert!((ai / (ratio * ratio) - 1.0).abs() < 0.02, "{ms} ms: {ai}");
    }
}
