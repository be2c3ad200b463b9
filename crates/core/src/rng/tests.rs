use super::*;

#[test]
fn streams_depend_on_seed_and_name_only() {
    let draw = |seed, name| Rng::named(seed, name).u64();
    assert_eq!(draw(1, "a"), draw(1, "a"));
    assert_ne!(draw(1, "a"), draw(1, "b"));
    assert_ne!(draw(1, "a"), draw(2, "a"));
}

#[test]
fn below_covers_its_range_and_unit_stays_under_one() {
    let mut rng = Rng::named(7, "t");
    let mut seen = [false; 5];
    for _ in 0..1000 {
        seen[rng.below(5) as usize] = true;
        let u = rng.unit();
        assert!((0.0..1.0).contains(&u));
    }
    assert_eq!(seen, [true; 5]);
}
