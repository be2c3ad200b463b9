use super::*;

const RATE: Option<Rate> = Some(Rate(8_000_000)); // one byte per microsecond

#[test]
fn first_ten_segments_are_not_paced() {
    let mut pacer = Pacer::default();
    pacer.departed(Time(100), 1000, RATE, 9);
    assert!(pacer.ready(Time(100)));
    pacer.departed(Time(100), 1000, RATE, 10);
    assert_eq!(pacer.next(), Time(1_000_100));
}

#[test]
fn a_late_burst_earns_back_at_most_half_its_time() {
    let mut pacer = Pacer { next: Time(1_000_000) };
    pacer.departed(Time(1_200_000), 1000, RATE, 50);
    assert_eq!(pacer.next(), Time(2_000_000));
    pacer.departed(Time(5_000_000), 1000, RATE, 51);
    assert_eq!(pacer.next(), Time(5_500_000));
}
