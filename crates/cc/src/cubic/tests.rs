use super::*;

const HZ: u32 = 1000;

fn cubic(options: &str) -> Cubic {
    Cubic::new(crate::params(&format!("cubic {options}")))
}

fn path() -> Path {
    Path { hz: HZ, cwnd_limited: true, snd_nxt: 1, ..Path::default() }
}

fn at_ms(ms: u64) -> Time {
    Time::ZERO + Dur::from_millis(ms)
}

/// A reduction from `cwnd`, and the first growth step after it at time zero.
fn reduce(c: &mut Cubic, cwnd: u32) -> u32 {
    let ssthresh = c.ssthresh(Time::ZERO, &path(), &Window::new(cwnd));
    c.update(Time::ZERO, ssthresh, 1);
    ssthresh
}

// KAT cubic 1
#[test]
fn a_reduction_keeps_717_of_1024_rounded_down() {
    for (cwnd, expected) in [(100, 70), (42, 29), (333, 233), (667, 467), (2, 2), (1, 2)] {
        assert_eq!(reduce(&mut cubic(""), cwnd), expected, "cwnd {cwnd}");
    }
}

// KAT cubic 2
#[test]
fn time_to_the_plateau_matches_the_cube_root_within_a_fifth_of_a_percent() {
    for (cwnd, seconds) in [(100, 4.2158), (42, 3.190), (333, 6.2976), (667, 7.9344)] {
        let mut c = cubic("");
        reduce(&mut c, cwnd);
        let k = f64::from(c.curve.k) / 1024.0;
        assert!((k / seconds - 1.0).abs() < 0.002, "cwnd {cwnd}: {k} s");
    }
}

#[test]
fn cube_root_is_the_floor_of_the_real_one() {
    for root in [1_u64, 2, 3, 10, 1023, 4316, 65_535, 1_000_000, 2_642_245] {
        let cube = root.pow(3);
        assert_eq!(u64::from(cube_root(cube)), root);
        assert_eq!(u64::from(cube_root(cube - 1)), root - 1);
        assert_eq!(u64::from(cube_root(cube + 1)), root);
    }
    assert_eq!(cube_root(u64::MAX), 2_642_245);
}

// KAT cubic 3
#[test]
fn fast_convergence_remembers_less_than_the_window_that_lost_below_the_maximum() {
    let reduce_twice = |options| {
        let mut c = cubic(options);
        c.ssthresh(Time::ZERO, &path(), &Window::new(100));
        let ssthresh = c.ssthresh(Time::ZERO, &path(), &Window::new(80));
        (c.curve.last_max, ssthresh)
    };
    assert_eq!(reduce_twice(""), (68, 56));
    assert_eq!(reduce_twice("nofast_convergence"), (80, 56));
}

// KAT cubic 4
#[test]
fn friendly_window_grows_by_eight_fifteenths_per_window() {
    let mut c = cubic("");
    reduce(&mut c, 1000);
    let (cwnd, start) = (700, c.curve.friendly_cwnd);
    // All within one jiffy: the curve does not move, the friendly window does.
    for _ in 0..1000 {
        c.update(at_ms(1), cwnd, cwnd);
        c.curve.last_cwnd = 0;
    }
    let alpha = f64::from(c.curve.friendly_cwnd - start) / 1000.0;
    assert!((alpha / 0.5333 - 1.0).abs() < 0.002, "{alpha}");
}

// KAT cubic 8
#[test]
fn without_a_loss_growth_is_at_least_one_segment_per_twenty() {
    let mut c = cubic("");
    c.update(Time::ZERO, 100, 1);
    assert_eq!(c.curve.cnt, 20);
}

// KAT cubic 7: 0.7 of the maximum at once, the maximum at K, 1.3 of it at 2 K.
#[test]
fn curve_passes_its_three_points() {
    let mut c = cubic("notcp_friendliness");
    reduce(&mut c, 1000);
    let k_ms = u64::from(c.curve.k) * 1000 / 1024;
    for (ms, target) in [(1, 700), (k_ms, 1000), (2 * k_ms, 1300)] {
        // A window a little below shows the target through cnt = cwnd / (target - cwnd).
        let cwnd = target * 19 / 20;
        c.curve.last_cwnd = 0;
        c.update(at_ms(ms), cwnd, 1);
        let seen = cwnd + cwnd / c.curve.cnt;
        assert!(seen.abs_diff(target) * 200 <= target, "at {ms} ms: {seen} for {target}");
    }
}

#[test]
fn growth_is_at_most_half_a_window_per_round_trip() {
    let mut c = cubic("");
    reduce(&mut c, 100);
    c.update(at_ms(60_000), 70, 1);
    assert_eq!(c.curve.cnt, 2);
}

#[test]
fn an_unchanged_window_keeps_its_pace_for_a_32nd_of_a_second() {
    let cnt_after = |ms| {
        let mut c = cubic("notcp_friendliness");
        reduce(&mut c, 100);
        c.curve.cnt = 77;
        c.update(at_ms(ms), 70, 1);
        c.curve.cnt
    };
    assert_eq!(cnt_after(31), 77);
    assert_ne!(cnt_after(32), 77);
}

#[test]
fn a_timeout_forgets_the_maximum() {
    let mut c = cubic("");
    reduce(&mut c, 100);
    let change = StateChange { from: State::Open, to: State::Loss };
    c.on_state(at_ms(1), change, &path(), &mut Window::new(1));
    assert_eq!((c.curve.last_max, c.curve.epoch), (0, None));
}

#[test]
fn idle_time_does_not_move_the_curve() {
    let mut c = cubic("");
    reduce(&mut c, 100);
    c.on_restart(at_ms(5000), Dur::from_millis(4000), &mut Window::new(70));
    assert_eq!(c.curve.epoch, Some(4000));
    c.on_restart(at_ms(5000), Dur::from_millis(4000), &mut Window::new(70));
    assert_eq!(c.curve.epoch, Some(5000), "never in the future");
}

#[test]
fn delay_samples_of_an_epoch_s_first_second_are_ignored() {
    let mut c = cubic("");
    reduce(&mut c, 100);
    let mut win = Window { ssthresh: 70, ..Window::new(70) };
    c.on_rtt(at_ms(999), Dur::from_millis(10), &path(), &mut win);
    assert_eq!(c.curve.delay_min, 0);
    c.on_rtt(at_ms(1000), Dur::from_millis(10), &path(), &mut win);
    assert_eq!(c.curve.delay_min, 10_000);
}

// Linux bictcp_update() with no last maximum: K = 0, so convex growth starts at once.
#[test]
fn after_hystart_s_exit_the_curve_starts_at_its_plateau() {
    let mut c = cubic("");
    let mut path = path();
    let mut win = Window::new(100);
    c.on_established(Time::ZERO, &path, &mut win);
    for n in 0..20 {
        // The second ACK opens a round in which every sample is 20 ms over the minimum.
        let rtt = Some(Dur::from_millis(if n == 0 { 40 } else { 60 }));
        (path.snd_una, path.snd_nxt) = (n + 1, 1000);
        let ack = Ack { acked: 1, rtt, may_raise: true, ..Ack::new(&path) };
        c.on_ack(at_ms(100 + 5 * n), &ack, &mut win);
        path.snd_una += 1;
    }
    assert!(c.hystart.found() && !win.in_slow_start());
    assert_eq!((c.curve.k, c.curve.last_max), (0, 0));
    assert!(c.curve.cnt <= 20);
}

#[test]
fn nohystart_leaves_slow_start_alone() {
    let mut c = cubic("nohystart");
    let path = path();
    let mut win = Window::new(100);
    for ms in 0..20 {
        let rtt = Some(Dur::from_millis(40 + 10 * ms));
        let ack = Ack { acked: 1, rtt, may_raise: true, ..Ack::new(&path) };
        c.on_ack(at_ms(100 + 5 * ms), &ack, &mut win);
    }
    assert_eq!(win.cwnd, 120);
}

#[test]
fn the_clock_has_the_kernel_s_tick() {
    let mut c = cubic("");
    let mut win = Window::new(10);
    c.on_established(Time::ZERO, &Path { hz: 250, ..path() }, &mut win);
    assert_eq!([c.jiffies(at_ms(3)), c.jiffies(at_ms(4)), c.jiffies(at_ms(1000))], [0, 1, 250]);
    assert_eq!(Era::Newer.delay_jiffies(9_000, 250), 3, "rounded up");
    assert_eq!(Era::Until2020.delay_jiffies(9 << 3, 250), 3);
}

#[test]
fn the_text_form_reads_as_the_same_parameters() {
    for options in [
        "",
        "nohystart nofast_convergence notcp_friendliness beta 870 bic_scale 50",
        "hystart_detect train hystart_low_window 8 hystart_ack_delta 1500us hystart_era 2020",
        "hystart_detect delay hystart_era 5.15",
        "hystart ++",
        "hystart hystart_low_window 20 hystart_era newer",
        "hystart off hystart_era kernel",
    ] {
        let text = crate::read(&format!("cubic {options}")).expect("valid").to_string();
        assert_eq!(crate::params::<Params>(&text), cubic(options).params);
    }
}

// KAT abe 1
#[test]
fn abe_keeps_85_hundredths_after_a_mark_in_congestion_avoidance_only() {
    let mark = Path { signal: super::super::Signal::Mark, ..path() };
    let asked = |options, path: &Path, win: Window| cubic(options).ssthresh(Time::ZERO, path, &win);
    for (cwnd, marked, lost) in [(100, 85, 70), (333, 283, 233), (10, 8, 7), (2, 2, 2)] {
        let avoiding = Window { ssthresh: 2, ..Window::new(cwnd) };
        assert_eq!(asked("abe", &mark, avoiding), marked, "cwnd {cwnd}");
        assert_eq!(asked("abe", &path(), avoiding), lost, "a loss");
        assert_eq!(asked("abe", &mark, Window::new(cwnd)), lost, "slow start");
        assert_eq!(asked("", &mark, avoiding), lost, "without abe");
    }
}

#[test]
fn the_endpoint_s_era_decides_on_hystart_unless_a_word_does() {
    for (options, kernel, expected) in [
        ("", Era::Until2020, Era::Until2020),
        ("", Era::Until5_15, Era::Until5_15),
        ("hystart_era newer", Era::Until2020, Era::Newer),
        ("hystart_era 2020", Era::Newer, Era::Until2020),
    ] {
        let mut c = cubic(options);
        let path = Path { hystart: kernel, ..path() };
        c.on_established(Time::ZERO, &path, &mut Window::new(10));
        assert_eq!(c.era, expected, "`{options}` on {kernel:?}");
    }
}

#[test]
fn hystart_plus_plus_slows_the_first_slow_start_when_delay_rises() {
    let mut c = cubic("hystart ++");
    let mut win = Window::new(20);
    let rtt = |ms| Some(Dur::from_millis(ms));
    let mut seq = 1;
    for ms in [20, 30] {
        let window = u64::from(win.cwnd);
        for _ in 0..window {
            seq += 1;
            let path = Path { snd_una: seq, snd_nxt: seq + window, ..path() };
            let ack = Ack { acked: 1, rtt: rtt(ms), may_raise: true, ..Ack::new(&path) };
            c.on_ack(Time::ZERO, &ack, &mut win);
        }
    }
    assert!(c.hystart_pp.is_conservative() && win.in_slow_start());
}

#[test]
fn version_rfc9438_defaults_to_hystart_plus_plus_and_refuses_linux_s() {
    let of = |text: &str| crate::read(text).map(|spec| spec.to_string());
    let text = of("cubic version rfc9438").expect("valid");
    assert!(text.contains("version rfc9438") && text.contains("hystart ++"), "{text}");
    assert_eq!(of(&text).as_ref(), Ok(&text));
    assert!(of("cubic version rfc9438 hystart off").is_ok());
    let error = of("cubic version rfc9438 hystart linux").expect_err("refused");
    assert!(error.0.contains("hystart ++"), "{error}");
}

#[test]
fn the_rfc_s_constants_are_decimal() {
    let p = cubic("").params.rfc9438();
    assert_eq!((p.beta, p.c), (0.7, 0.4));
}
