use super::*;
use crate::tcp::era::Era;

const MSS: u32 = 1448;

fn window(era: Era) -> DynamicWindow {
    DynamicWindow::new(&Config::of(era), MSS)
}

fn sample(window: &mut DynamicWindow, sent_ms: u64, ms: u64) -> Dur {
    let at = |ms: u64| Time(ms * 1_000_000);
    let segment = Segment { tsecr: at(sent_ms), ..Segment::default() };
    window.measure_rtt(at(sent_ms + ms), &segment);
    window.rtt
}

#[test]
fn a_smaller_rtt_counts_at_once_from_6_16_and_by_an_eighth_before() {
    for (era, us) in [(Era::E6, 87_000), (Era::E7, 80_000)] {
        let mut window = window(era);
        assert_eq!(sample(&mut window, 0, 88), Dur::from_millis(88));
        assert_eq!(sample(&mut window, 200, 80), Dur::from_micros(us), "{era:?}");
    }
}

#[test]
fn timestamps_count_milliseconds_of_the_clock() {
    let mut window = window(Era::E7);
    let segment = Segment { tsecr: Time(10_900_000), ..Segment::default() };
    window.measure_rtt(Time(31_000_000), &segment);
    assert_eq!(window.rtt, Dur::from_millis(21), "20.1 ms from 10.9 to 31.0");
}

// Twenty segments in a round trip after ten: a window of 40, and twice that again for its growth. Linux 7.2
// shows 32 to 34 growing windows there, of two segments each.
#[test]
fn the_window_follows_what_was_read_without_slack_from_6_16() {
    for (era, segments) in [(Era::E6, 168), (Era::E7, 120)] {
        let mut window = window(era);
        sample(&mut window, 0, 80);
        window.measured_from = Time(80_000_000);
        window.on_data(Time(160_000_000), 1 + 20 * u64::from(MSS), MSS);
        assert_eq!(window.clamp, segments * u64::from(MSS), "{era:?}");
    }
}
