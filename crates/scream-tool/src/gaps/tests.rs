use super::*;

#[test]
fn lines_are_bounded_and_the_rest_is_counted() {
    let mut gaps = Gaps::default();
    let reported = (1..=1000_u16).filter(|n| gaps.on(Time(1), n * 3, n * 3 - 3).is_some()).count();
    assert_eq!(reported, BURST as usize);
    // A second later ten more are allowed, the first of which counts those left out.
    let line = gaps.on(Time(1_000_000_001), 3010, 3000).expect("a line");
    assert!(line.starts_with("... and 900 more lines of this kind, 1800 packets lost\n"), "{line}");
    let reported = (1..=100_u16).filter(|n| gaps.on(Time(1_000_000_001), *n, n + 1).is_some());
    assert_eq!(reported.count(), 9);
}
