use super::*;

fn pareto(shape: f64, min: u64, max: u64) -> Sizes {
    let (min, max) = (Bytes(min), Bytes(max));
    Sizes { distribution: Distribution::Pareto, shape, min, max, ..Sizes::default() }
}

fn drawn(sizes: &Sizes, n: u64) -> Vec<f64> {
    let mut rng = Rng::named(3, "sizes");
    (0..n).map(|i| sizes.draw(i, &mut rng) as f64).collect()
}

#[test]
fn drawn_sizes_have_the_mean_that_the_formula_gives() {
    for (sizes, tolerance) in [
        (Sizes { median: Bytes(10_000), sigma: 1.0, ..Sizes::default() }, 0.02),
        (pareto(1.2, 1000, 1_000_000), 0.03),
        (pareto(1.0, 1000, 100_000), 0.02),
    ] {
        let all = drawn(&sizes, 200_000);
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!((mean / sizes.mean() - 1.0).abs() < tolerance, "{sizes:?}: {mean}");
    }
}

#[test]
fn pareto_keeps_its_bounds_and_its_tail() {
    let all = drawn(&pareto(2.0, 1000, 1_000_000_000), 100_000);
    assert!(all.iter().all(|x| (1000.0..=1e9).contains(x)));
    // P(X > 10 min) = 10^-shape.
    let tail = all.iter().filter(|x| **x > 10_000.0).count() as f64 / all.len() as f64;
    assert!((tail / 0.01 - 1.0).abs() < 0.1, "{tail}");
}

#[test]
fn a_list_is_taken_in_turn() {
    let distribution = Distribution::List(vec![Bytes(5), Bytes(7)]);
    assert_eq!(drawn(&Sizes { distribution, ..Sizes::default() }, 3), [5.0, 7.0, 5.0]);
}
