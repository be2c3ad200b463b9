use super::*;

#[test]
fn flows_and_sides_are_parts_of_the_whole() {
    let mut sojourn = Sojourn::default();
    for ms in 1..=100 {
        sojourn.record(FlowId(0), Side::L4s, 100, Dur::from_millis(1));
        sojourn.record(FlowId(3), Side::Classic, 200, Dur::from_millis(ms));
    }
    let name = |n: usize| ["a", "b"][n].to_owned();
    let mut other = Sojourn::default();
    other.add(&sojourn);
    sojourn.clear();
    assert!(sojourn.statistics().is_none() && sojourn.flows(name).is_empty());
    assert_eq!((other.bytes(), sojourn.bytes()), (30_000, 0));
    let (all, sides, flows) =
        (other.statistics().expect("packets"), other.sides(), other.flows(name));
    assert_eq!((all.n, all.max), (200, 100.0));
    let shown: Vec<_> = sides.iter().map(|s| (s.name.as_str(), s.sojourn_ms.n)).collect();
    assert_eq!(shown, [("L", 100), ("C", 100)]);
    assert_eq!((flows[0].name.as_str(), flows[0].sojourn_ms.p999), ("a", 1.0));
    let b = &flows[1].sojourn_ms;
    assert_eq!((b.mean, b.max), (50.5, 100.0), "mean and maximum are exact");
    assert!((b.p90 / 90.0 - 1.0).abs() < 0.016, "{b:?}");
}
