use super::*;

#[test]
fn the_rate_is_kept_in_bursts_and_frames_end_with_the_marker() {
    let start = Time(7);
    let mut push = Push::new(Rate(12_000_000), 1200, Dur::from_micros(500), 50.0, start);
    let (mut packets, mut markers, mut wakes) = (0, 0, 0);
    while push.deadline() < start + Dur::from_secs(1) {
        let now = push.deadline();
        wakes += 1;
        while let Some(header) = push.poll(now) {
            assert_eq!(header.seq, packets as u16);
            packets += 1;
            markers += u32::from(header.marker);
        }
    }
    // 12 Mbit/s are 1250 packets a second, in 50 frames.
    assert!((1249..=1250).contains(&packets), "{packets}");
    assert!((49..=50).contains(&markers), "{markers}");
    assert!(wakes <= 2600, "no busy polling: {wakes} wake-ups");
}
