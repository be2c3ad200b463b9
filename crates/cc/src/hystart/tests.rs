use super::*;

fn by(detect: Detect, era: Era) -> Hystart {
    Hystart::new(Params { detect, ..Params::default() }, era)
}

/// Whether a round of nine samples of `delay` leaves slow start by delay.
fn exits(era: Era, delay_min: Dur, delay: Dur) -> bool {
    let mut hystart = by(Detect::Delay, era);
    let mut win = Window::new(100);
    let path = Path { snd_nxt: 1, ..Path::default() };
    for n in 0..9 {
        assert!(!hystart.found(), "decided before sample {n}");
        hystart.on_sample(Time::ZERO, era.delay(delay), era.delay(delay_min), &path, &mut win);
    }
    assert_eq!(hystart.found(), win.ssthresh == 100);
    hystart.found()
}

// KAT hystart 1
#[test]
fn delay_exit_needs_an_eighth_clamped_to_4_and_16_ms() {
    for (min_us, threshold_us) in [
        (80_000, 90_000),
        (10_000, 14_000),
        (8_000, 12_000),
        (200_000, 216_000),
        (400_000, 416_000),
        (500, 4_500),
    ] {
        let min = Dur::from_micros(min_us);
        let above = |us: u64| Dur::from_micros(threshold_us + us);
        assert!(!exits(Era::Newer, min, above(0)), "{min}");
        assert!(exits(Era::Newer, min, above(1)), "{min}");
        // The older kernels see eighths of a millisecond.
        assert!(!exits(Era::Until2020, min, above(124)), "{min}");
        assert!(exits(Era::Until2020, min, above(125)), "{min}");
    }
    let ms = |ms_10: u64| Dur::from_micros(ms_10 * 100);
    assert!(!exits(Era::Newer, ms(800), ms(899)));
    assert!(exits(Era::Newer, ms(800), ms(901)));
}

/// When the train of ACKs every millisecond ends slow start.
fn train_exit_ms(era: Era, paced: bool) -> u64 {
    let mut hystart = by(Detect::Train, era);
    let mut win = Window::new(100);
    let min = era.delay(Dur::from_millis(80));
    // No RTT yet, so an unlimited pacing rate and no allowance for aggregation.
    let path = Path { snd_nxt: 1, paced, ..Path::default() };
    hystart.reset(Time::ZERO, path.snd_nxt);
    (1..200)
        .find(|ms| {
            let now = Time::ZERO + Dur::from_millis(*ms);
            hystart.on_sample(now, min, min, &path, &mut win);
            hystart.found()
        })
        .expect("train ends slow start")
}

// KAT hystart 2
#[test]
fn ack_train_exits_after_the_delay_if_paced_and_after_half_of_it_otherwise() {
    assert_eq!(train_exit_ms(Era::Newer, true), 81);
    assert_eq!(train_exit_ms(Era::Newer, false), 41);
    assert_eq!(train_exit_ms(Era::Until5_15, true), 81);
    assert_eq!(train_exit_ms(Era::Until2020, true), 41);
}

#[test]
fn only_from_5_16_does_a_round_end_while_cwnd_does_not_limit() {
    for (era, rounds_end) in [(Era::Until2020, false), (Era::Until5_15, false), (Era::Newer, true)]
    {
        let mut hystart = by(Detect::Train, era);
        let mut win = Window::new(100);
        let min = era.delay(Dur::from_millis(80));
        hystart.reset(Time::ZERO, 1);
        // Each ACK, a millisecond after the last, ends a round that no growth step notices.
        for ms in 1..200 {
            let path = Path { snd_una: ms + 1, snd_nxt: ms + 1, ..Path::default() };
            let now = Time::ZERO + Dur::from_millis(ms);
            hystart.on_sample(now, min, min, &path, &mut win);
        }
        assert_eq!(hystart.found(), !rounds_end, "{era:?}");
    }
}

#[test]
fn ack_aggregation_adds_at_most_a_millisecond_to_the_newer_train_threshold() {
    let path =
        Path { mss: 1448, srtt: Dur::from_millis(80), pacing_ss_ratio: 200, ..Path::default() };
    assert_eq!(ack_allowance(&path, &Window::new(100)), 1_000);
    let fast = Path { srtt: Dur::from_micros(100), ..path };
    assert_eq!(ack_allowance(&fast, &Window::new(100)), 90);
}

#[test]
fn a_gap_longer_than_ack_delta_breaks_the_train_for_the_round() {
    let mut hystart = by(Detect::Both, Era::Newer);
    let mut win = Window::new(100);
    let path = Path { snd_nxt: 1, ..Path::default() };
    hystart.reset(Time::ZERO, 1);
    for ms in [3, 4, 5, 50, 100] {
        let now = Time::ZERO + Dur::from_millis(ms);
        hystart.on_sample(now, 10_000, 10_000, &path, &mut win);
    }
    assert!(!hystart.found());
}

#[test]
fn windows_below_low_window_never_exit() {
    let mut hystart = by(Detect::Both, Era::Newer);
    let mut win = Window::new(15);
    let path = Path { snd_nxt: 1, ..Path::default() };
    for _ in 0..20 {
        hystart.on_sample(Time::ZERO, 100_000, 10_000, &path, &mut win);
    }
    assert!(win.in_slow_start());
}
