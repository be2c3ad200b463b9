use super::*;

fn moments(shape: Shape) -> (f64, f64) {
    let values: Vec<f64> = shape.table().iter().map(|t| f64::from(*t) / SCALE as f64).collect();
    let n = values.len() as f64;
    (values.iter().sum::<f64>() / n, (values.iter().map(|v| v * v).sum::<f64>() / n).sqrt())
}

#[test]
fn tables_have_the_moments_of_those_that_tc_ships() {
    // Mean and root mean square of iproute2's files, in sigmas.
    for (shape, mean, rms) in [
        (Shape::Normal, -0.0008, 1.0001),
        (Shape::Pareto, -0.0335, 0.8204),
        (Shape::ParetoNormal, -0.0253, 0.8343),
    ] {
        let (m, r) = moments(shape);
        assert!((m - mean).abs() < 0.002 && (r - rms).abs() < 0.002, "{shape:?} {m} {r}");
    }
}

#[test]
fn normal_table_holds_the_quantiles_that_everybody_knows() {
    let table = Shape::Normal.table();
    let at = |p: f64| f64::from(table[(p * SIZE as f64) as usize]) / SCALE as f64;
    for (p, sigmas) in [(0.5, 0.0), (0.841_345, 1.0), (0.977_25, 2.0), (0.158_655, -1.0)] {
        assert!((at(p) - sigmas).abs() < 0.003, "{p}: {}", at(p));
    }
    assert!(table.iter().zip(table.iter().rev()).all(|(a, b)| *a == -*b));
}

// KAT netem 10
#[test]
fn uniform_delay_includes_its_least_and_excludes_its_greatest_value() {
    let at = |rnd| sample(10, 5, None, || rnd);
    assert_eq!((at(0), at(9), at(10), at(u32::MAX)), (5, 14, 5, 10));
    assert_eq!(sample(10, 0, None, || panic!("no draw without spread")), 10);
    assert_eq!(sample(0, i32::MAX, None, || 0), -i64::from(i32::MAX));
}

#[test]
fn table_entries_scale_with_both_halves_of_sigma() {
    let t = i64::from(Shape::Pareto.table()[0]);
    for sigma in [1, 8191, 8192, 8193, 5_000_000] {
        let exact = t as f64 * f64::from(sigma) / SCALE as f64;
        let got = sample(1000, sigma, Some(Shape::Pareto), || 0) - 1000;
        assert!((got as f64 - exact).abs() <= 0.5, "{sigma}: {got} {exact}");
    }
}
