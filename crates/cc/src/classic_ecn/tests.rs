use super::*;

/// A detector whose filters show these values and do not move.
fn showing(mdev_us: i64, depth_us: i64) -> (Detector, Dur) {
    let mut d = Detector::new();
    d.srtt = (80_000 + depth_us) << d.shift;
    d.mdev = mdev_us << (d.shift + 1);
    (d, Dur::from_micros(80_000))
}

/// Rounds until the score leaves the L4S side (-8 to 0).
fn rounds_to_zero(mdev_us: i64, depth_us: i64) -> u32 {
    let (mut d, min_rtt) = showing(mdev_us, depth_us);
    (1..1000)
        .find(|_| {
            d.on_round(min_rtt);
            d.score >= L_STICKY
        })
        .expect("score rises")
}

// KAT prague 4: the integer logs step by halves, so two
// rounds of slack.
#[test]
fn rounds_to_the_transition_match_the_table() {
    for (mdev, depth, expected) in [
        (1000, 0, 38.6_f64),
        (1000, 2000, 38.6),
        (1500, 0, 16.0),
        (1000, 8000, 6.6),
        (750, 4000, 16.0),
        (500, 8000, 11.3),
        (300, 16000, 9.5),
        (1500, 15000, 4.1),
        (5000, 20000, 2.6),
    ] {
        let rounds = f64::from(rounds_to_zero(mdev, depth));
        assert!((rounds - expected).abs() <= 2.0, "{mdev} us, {depth} us: {rounds}");
    }
}

// KAT prague 5
#[test]
fn mean_step_per_round_is_half_the_log_ratios_at_every_filter_shift() {
    for ssthresh in [20, 100, 333, u32::MAX] {
        for (mdev, depth, step) in [
            (1000, 0, 0.2075),
            (1500, 0, 0.5),
            (500, 0, -0.2925),
            (1000, 8000, 1.2075),
            (300, 16000, 0.839),
        ] {
            let (mut d, min_rtt) = showing(mdev, depth);
            d.on_ssthresh(ssthresh);
            let mut sum = 0;
            for _ in 0..400 {
                d.score = 8 * ONE;
                d.on_round(min_rtt);
                sum += d.score - 8 * ONE;
            }
            let mean = sum as f64 / 400.0 / ONE as f64;
            let error = mean - step;
            assert!(error.abs() < 0.004, "ssthresh {ssthresh}, {mdev}, {depth} us: {mean}");
        }
    }
}

#[test]
fn a_shallow_queue_never_moves_the_score() {
    let step = |depth| {
        let (mut d, min_rtt) = showing(3000, depth);
        d.on_round(min_rtt);
        d.score
    };
    assert_eq!(step(-5000), step(0));
    assert_eq!(step(2000), step(0));
    assert!(step(9000) > step(0));
}

#[test]
fn score_stays_within_its_bounds() {
    let (mut d, min_rtt) = showing(1, 0);
    d.on_round(min_rtt);
    assert_eq!(d.published_score(), -8.0);
    let (mut d, min_rtt) = showing(50_000, 100_000);
    for _ in 0..100 {
        d.on_round(min_rtt);
    }
    assert_eq!(d.published_score(), 9.0);
}

#[test]
fn the_mode_changes_where_the_response_is_wholly_of_the_other_kind() {
    let (mut d, min_rtt) = showing(50_000, 100_000);
    let mut round = |mdev_us: i64, depth_us: i64, score: i64| {
        d.mdev = mdev_us << (d.shift + 1);
        d.srtt = (80_000 + depth_us) << d.shift;
        d.score = score;
        d.on_round(min_rtt);
        (d.alpha_floor() == 5 * ONE as u64 / 8, d.is_classic, d.flips)
    };
    // Half of lg(50 ms / 750 us) is 3.03, that of the depth 2.8; steps are whole halves.
    assert_eq!(round(50_000, 100_000, L_STICKY - 6 * ONE), (false, false, 0));
    assert_eq!(round(50_000, 100_000, L_STICKY), (true, true, 1));
    // A calm path lowers it by more than one, but between the two modes the last one holds.
    assert_eq!(round(750, 0, L_STICKY + ONE / 2), (false, true, 1));
    assert_eq!(round(1, 0, L_STICKY), (false, false, 2));
    assert_eq!(round(750, 0, L_STICKY + ONE / 2), (false, false, 2));
}

// KAT prague 7
#[test]
fn filter_shift_follows_one_and_a_half_logs_of_ssthresh_and_keeps_the_values() {
    let (mut d, _) = showing(3000, 0);
    for (ssthresh, shift) in [(100, 10), (333, 13), (20, 7), (0x7fff_ffff, 18)] {
        d.on_ssthresh(ssthresh);
        assert_eq!(d.shift, shift, "ssthresh {ssthresh}");
        assert_eq!(d.srtt >> d.shift, 80_000);
        assert_eq!(d.mdev >> (d.shift + 1), 3000);
    }
}

#[test]
fn filters_converge_to_the_mean_and_the_mean_deviation() {
    let mut d = Detector::new();
    d.on_rtt(Dur::from_millis(20), Dur::from_millis(20));
    d.on_ssthresh(20);
    for n in 0..20_000 {
        d.on_rtt(Dur::from_micros(if n % 2 == 0 { 19_000 } else { 21_000 }), Dur::ZERO);
    }
    assert!(((d.srtt >> d.shift) - 20_000).abs() < 50);
    assert!(((d.mdev >> (d.shift + 1)) - 1_000).abs() < 50);
}

// KAT prague 6
#[test]
fn alpha_floor_interpolates_over_the_transition() {
    let mut d = Detector::new();
    for (score, floor) in [(0, 0), (8, 0), (9, 655_360), (17, 655_360)] {
        d.score = score * ONE;
        assert_eq!(d.alpha_floor(), floor);
    }
    d.score = 8 * ONE + ONE / 2;
    assert_eq!(d.alpha_floor(), 327_680);
}
