use super::super::super::Version;
use super::*;

fn encode(version: Version, parity: bool, sizes: impl Iterator<Item = u32>) -> Frames {
    let mut frames = Frames::new();
    let end = FrameEnd { queue_bytes: 0, queue_delay: 0.0, target: 4e6, max_pace_scale: 1.5 };
    for (n, bytes) in sizes.enumerate() {
        frames.packet(bytes);
        frames.end(Ticks(n as u32 * 1311), &Rules::of(version), parity, end);
    }
    frames
}

// KAT scream2 4: large frames over the mean, bins of 0.04
#[test]
fn large_frames_are_those_above_the_percentile() {
    let frames = encode(Version::V2024, false, std::iter::repeat_n(10_000, 200));
    assert_eq!(frames.large, 1.0);
    // A third of the frames is one and a half times the mean.
    let sizes = (0..600).map(|n| if n % 3 == 0 { 15_000 } else { 10_050 });
    assert!((encode(Version::V2024, false, sizes.clone()).large - 1.48).abs() < 0.05);
    assert_eq!(encode(Version::V2024, false, sizes.take(50)).large, 1.0);
}

// KAT scream2 5: pacing by the frame's size, and the rate behind a queue
#[test]
fn a_large_frame_is_paced_faster_and_a_queue_lowers_the_target() {
    let sizes = std::iter::repeat_n(10_000, 20).chain([14_000]);
    assert!((encode(Version::V2026, false, sizes).pace_scale - 1.4).abs() < 0.01);
    let sizes = std::iter::repeat_n(10_000, 20).chain([40_000]);
    assert_eq!(encode(Version::V2026, false, sizes).pace_scale, 1.5);
    let mut frames = Frames::new();
    let end = FrameEnd { queue_bytes: 0, queue_delay: 0.05, target: 4e6, max_pace_scale: 1.5 };
    frames.end(Ticks(0), &Rules::of(Version::V2026), false, end);
    // 0.2 * (50 - 10) / 20 / 8
    assert!((frames.adjust - 0.05).abs() < 1e-6, "{}", frames.adjust);
}

// KAT scream2 16: the period's weights are reversed in the original
#[test]
fn the_period_of_frames_is_smoothed_and_in_the_original_hardly_so() {
    let late = |parity| {
        let mut frames = encode(Version::V2026, parity, std::iter::repeat_n(10_000, 50));
        let end = FrameEnd { queue_bytes: 0, queue_delay: 0.0, target: 4e6, max_pace_scale: 1.5 };
        frames.end(Ticks(49 * 1311 + 2622), &Rules::of(Version::V2026), parity, end);
        frames.period
    };
    assert!((late(false) - 0.022).abs() < 1e-4 && (late(true) - 0.038).abs() < 1e-4);
}
