use super::*;

fn ms(n: u64) -> Time {
    Time(n * 1_000_000)
}

#[test]
fn a_frame_is_there_with_its_last_packet() {
    let mut frames = Frames::default();
    for (now, number, packets, captured) in
        [(10, 0, 2, 0), (20, 0, 2, 0), (45, 2, 1, 40), (60, 3, 3, 55), (50, 1, 2, 20)]
    {
        frames.record(ms(now), number, packets, ms(captured), true);
    }
    let s = frames.summary().expect("packets came");
    assert_eq!((s.expected, s.complete, s.incomplete), (4, 2, 0.5));
    let delay = s.delay_ms.expect("two are whole");
    assert_eq!((delay.mean, delay.max), (12.5, 20.0));
    assert_eq!(frames.take_step(), Some((12.5, 20.0)));
    assert_eq!(frames.take_step(), None);
}

#[test]
fn frames_outside_the_window_move_the_series_only() {
    let mut frames = Frames::default();
    frames.record(ms(10), 0, 1, ms(0), false);
    assert_eq!(frames.take_step(), Some((10.0, 10.0)));
    assert!(frames.summary().is_none());
}

#[test]
fn a_packet_of_a_forgotten_frame_counts_for_nothing() {
    let mut frames = Frames::default();
    frames.record(ms(0), 0, 2, ms(0), true);
    frames.record(ms(0), 128, 1, ms(0), true);
    frames.record(ms(0), 0, 2, ms(0), true);
    assert_eq!(frames.summary().expect("packets").complete, 1);
}
