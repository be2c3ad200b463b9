#![allow(clippy::disallowed_methods, reason = "what is expected may be the platform's")]

use super::*;

fn share(p: f64) -> u32 {
    (p * f64::from(u32::MAX)).round() as u32
}

fn random(p: f64) -> Loss {
    Loss::Random(Chance { share: share(p), correlation: None })
}

/// Share of lost packets and mean length of a run of losses.
fn measure(loss: Loss, correlation: f64, n: u32) -> (f64, f64) {
    let mut rng = Rng::named(3, "loss");
    let mut correlated = Correlated::new(share(correlation), &mut rng);
    let (mut state, mut lost, mut runs, mut before) = (State::default(), 0, 0, false);
    for _ in 0..n {
        let now = loss.happens(&mut state, &mut correlated, &mut rng);
        lost += u32::from(now);
        runs += u32::from(now && !before);
        before = now;
    }
    (f64::from(lost) / f64::from(n), f64::from(lost) / f64::from(runs.max(1)))
}

// KAT netem 2: Gilbert-Elliott
#[test]
fn gilbert_loses_three_percent_in_bursts_of_three() {
    let loss = Loss::Gilbert { p: share(0.01), r: share(0.3), bad: u32::MAX, good: 0 };
    let (lost, burst) = measure(loss, 0.0, 1_000_000);
    assert!((lost - 0.032_258).abs() < 0.001, "{lost}");
    assert!((burst - 1.0 / 0.3).abs() < 0.1, "{burst}");
}

#[test]
fn gilbert_elliott_loses_in_both_states_by_their_shares() {
    let (p, r, bad, good) = (0.05, 0.2, 0.6, 0.02);
    let expected = (r * good + p * bad) / (p + r);
    let loss = Loss::Gilbert { p: share(p), r: share(r), bad: share(bad), good: share(good) };
    let (lost, _) = measure(loss, 0.0, 400_000);
    assert!((lost - expected).abs() < 0.004, "{lost} instead of {expected}");
}

// KAT netem 2: two-state use and degeneration
#[test]
fn two_of_the_four_states_are_a_simple_burst_model() {
    let two =
        |p13, p31| Loss::State { p13: share(p13), p31: share(p31), p32: 0, p23: u32::MAX, p14: 0 };
    let (lost, burst) = measure(two(0.02, 0.25), 0.0, 500_000);
    assert!((lost - 0.02 / 0.27).abs() < 0.003, "{lost}");
    assert!((burst - 4.0).abs() < 0.1, "{burst}");
    let (lost, burst) = measure(two(0.1, 0.9), 0.0, 500_000);
    assert!((lost - 0.1).abs() < 0.003, "{lost}");
    assert!((burst - 1.0 / 0.9).abs() < 0.02, "{burst}");
}

#[test]
fn isolated_losses_never_follow_each_other() {
    let loss = Loss::State { p13: 0, p31: u32::MAX, p32: 0, p23: u32::MAX, p14: share(0.5) };
    let (lost, burst) = measure(loss, 0.0, 300_000);
    assert!((lost - 1.0 / 3.0).abs() < 0.005, "{lost}");
    assert_eq!(burst, 1.0);
}

// KAT netem 1
#[test]
fn correlation_narrows_the_distribution_and_loses_less() {
    let mut rng = Rng::named(1, "c");
    let mut correlated = Correlated::new(share(0.25), &mut rng);
    let draws: Vec<f64> =
        (0..400_000).map(|_| f64::from(correlated.draw(&mut rng)) / 2_f64.powi(32)).collect();
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    let variance = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / draws.len() as f64;
    assert!((mean - 0.5).abs() < 0.002, "{mean}");
    assert!((variance.sqrt() - 0.2236).abs() < 0.001, "{}", variance.sqrt());
    let (lost, _) = measure(random(0.01), 0.25, 400_000);
    assert!(lost < 0.005, "{lost}");
    let (plain, _) = measure(random(0.01), 0.0, 400_000);
    assert!((plain - 0.01).abs() < 0.001, "{plain}");
}

#[test]
fn full_correlation_repeats_the_first_number() {
    let mut rng = Rng::named(1, "c");
    let mut correlated = Correlated::new(u32::MAX, &mut rng);
    let first = correlated.draw(&mut rng);
    assert!((0..100).all(|_| correlated.draw(&mut rng) == first));
}
