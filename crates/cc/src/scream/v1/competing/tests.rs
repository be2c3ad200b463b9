use super::*;

/// Target after 200 samples.
fn settled(delay: impl Fn(usize) -> f32, lossy: bool) -> f32 {
    let mut competing = Competing::new(Ticks(0));
    if lossy {
        competing.count(Ticks(100), 10, true);
    }
    (0..LONG).fold(0.1, |target, n| competing.target(delay(n), 0.1, target))
}

// KAT scream1 1: competing flows, target of steady, lossy and wild delays
#[test]
fn the_target_rises_above_a_queue_that_others_keep() {
    assert!((settled(|_| 0.2, false) - 0.2).abs() < 1e-6);
    assert!((settled(|_| 0.2, true) - 0.3).abs() < 1e-6);
    assert_eq!(settled(|_| 0.35, true), MOST);
    assert_eq!(settled(|_| 0.02, false), 0.1);
    // Variance 0.5625: that is no queue.
    let wild = |n: usize| if n.is_multiple_of(2) { 0.0 } else { 0.15 };
    assert_eq!(settled(wild, false), 0.1);
}
