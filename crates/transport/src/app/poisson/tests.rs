#![allow(clippy::disallowed_methods, reason = "what is expected may be the platform's")]

use crate::app::udp::tests::departures;

#[test]
fn gaps_have_the_mean_and_the_spread_of_an_exponential() {
    let all = departures("poisson rate 8Mbit size 1000", 100);
    let gaps: Vec<f64> = all.windows(2).map(|w| (w[1].0 - w[0].0) as f64 / 1e6).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((mean - 1.0).abs() < 0.015, "{mean} ms");
    assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{variance}");
}
