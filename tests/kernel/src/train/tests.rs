use super::*;

const RECIPE: Recipe = Recipe {
    shape: Shape::Mixed,
    rate_bps: 10_000_000,
    duration_ns: 8_000_000_000,
    flows: 3,
    tos: &[0, 1, 2],
    lens: &[1514, 514],
};

#[test]
fn text_and_parse_are_inverse_and_seeds_differ() {
    let train = RECIPE.draw(1);
    assert_eq!(Train::parse(&train.text()).unwrap(), train);
    assert_eq!(RECIPE.draw(1), train);
    assert_ne!(RECIPE.draw(2), train);
    assert!(Train::parse("1 2 1600 0").unwrap_err().starts_with("line 1"));
}

#[test]
fn every_shape_offers_its_load() {
    for (shape, load) in [
        (Shape::Poisson, 0.9),
        (Shape::Bursts, 0.8),
        (Shape::OnOff, 1.0),
        (Shape::Overload, 1.3),
        (Shape::Mixed, 1.0),
    ] {
        let recipe = Recipe { shape, duration_ns: 120_000_000_000, ..RECIPE };
        let train = recipe.draw(3);
        let bytes: u64 = train.packets.iter().map(|p| u64::from(p.len)).sum();
        let got = bytes as f64 * 8.0 / 120.0 / 10e6;
        assert!((got / load - 1.0).abs() < 0.04, "{}: {got}", shape.name());
        assert!(train.packets.is_sorted_by_key(|p| p.time_ns));
    }
}
