use crate::app::udp::tests::departures;

#[test]
fn a_burst_leaves_at_one_instant() {
    let all = departures("burst packets 3 interval 20ms size 500", 1);
    assert_eq!(all.len(), 150);
    let times: Vec<u64> = all.iter().take(5).map(|p| p.0 / 1_000_000).collect();
    assert_eq!(times, [0, 0, 0, 20, 20]);
}
