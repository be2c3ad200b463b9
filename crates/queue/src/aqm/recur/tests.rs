use super::*;

// KAT dualpi2 8
#[test]
fn recur_signals_when_its_counter_exceeds_one() {
    let (mut count, mut rng) = (0.0, Rng::named(1, "t"));
    let turns: Vec<u32> =
        (1..=17).filter(|_| Signal::default().turn(&mut count, 0.3125, &mut rng)).collect();
    assert_eq!(turns, [4, 7, 10, 13, 17]);
}

#[test]
fn random_draws_have_the_same_mean_and_no_memory() {
    let random = Signal { signal: Draw::Random };
    let (mut count, mut rng) = (0.0, Rng::named(1, "t"));
    let hits = (0..100_000).filter(|_| random.turn(&mut count, 0.3, &mut rng)).count();
    assert!(hits.abs_diff(30_000) < 5 * 145, "{hits}");
    assert_eq!(count, 0.0);
    assert!(!random.turn(&mut count, 0.0, &mut rng));
    assert!(random.turn(&mut count, 1.0, &mut rng));
}
