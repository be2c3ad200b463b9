use super::super::super::Version;
use super::*;

const LEAST: f32 = 0.06;

fn run(version: Version, samples: u32, delay: f32, lost: bool, start: f32) -> f32 {
    let rules = Rules::of(version);
    let mut bottleneck = Bottleneck::new(Ticks(0));
    (0..samples).fold(start, |target, n| {
        bottleneck.count(Ticks(n * 3300), 3000, lost && n % 4 == 0);
        bottleneck.target(&rules, false, delay, LEAST, target)
    })
}

// KAT scream2 14: target beside flows that fill the queue, and back
#[test]
fn the_delay_target_rises_beside_a_full_queue_and_falls_after_it() {
    for version in [Version::V2024, Version::V2026, Version::Draft] {
        let risen = run(version, 600, 0.15, true, LEAST);
        assert!((0.15..=0.4).contains(&risen), "{version:?}: {risen}");
        let fallen = run(version, 6000, 0.0, false, risen);
        assert!((fallen - LEAST).abs() < 0.001, "{version:?}: {fallen}");
    }
}

#[test]
fn the_target_has_a_bound() {
    let of_2026 = run(Version::V2026, 600, 1.0, true, LEAST);
    assert!((0.299..=0.3).contains(&of_2026), "{of_2026}"); // a thousandth less each time
    assert_eq!(run(Version::Draft, 600, 1.0, true, LEAST), 0.4);
}
