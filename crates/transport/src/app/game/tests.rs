use crate::app::udp::tests::departures;

#[test]
fn ticks_are_exact_and_sizes_vary_about_their_mean() {
    let all = departures("game tick 20ms size 200 spread 30", 100);
    assert!(all.iter().enumerate().all(|(n, p)| p.0 == n as u64 * 20_000_000));
    let mean = all.iter().map(|p| f64::from(p.1)).sum::<f64>() / all.len() as f64;
    assert!((mean - 200.0).abs() < 3.0, "{mean}");
    assert!(all.iter().any(|p| p.1 > 230) && all.iter().any(|p| p.1 < 170));
}
