use crate::app::udp::tests::departures;

#[test]
fn packets_leave_at_multiples_of_size_over_rate_without_drift() {
    let all = departures("cbr rate 7Mbit size 1000", 60);
    assert_eq!(all.len(), 60 * 875);
    assert!(all.iter().enumerate().all(|(n, p)| *p == (n as u64 * 8_000_000 / 7, 1000)));
}
