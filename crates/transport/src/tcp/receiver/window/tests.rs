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

// Twenty segments in a round trip after ten (`tcp_init_buffer_space`): a window of 40, and twice that again since their
// number has doubled. Linux 7.2 shows 32 to 34 growing windows there, of two segments each.
#[test]
fn the_window_follows_what_was_read_without_slack_from_6_16() {
    for (era, clamp) in [(Era::E6, 243_264), (Era::E7, 173_760)] {
        let mut window = window(era);
        sample(&mut window, 0, 80);
        window.measured_from = Time(80_000_000);
        let at = Time(160_000_000);
        window.on_data(at, 1 + 20 * u64::from(MSS), MSS, 1);
        window.arrived(at);
        window.advertise(at + Dur(1));
        // A buffer of whole bytes, of which 153/256 are payload, is a byte off.
        assert!(window.clamp.abs_diff(clamp) <= 1, "{era:?}: {}", window.clamp);
    }
}

// By a capture of 7.2 (111 Mbit/s, 15.7 ms, windows in units of 1024): 15 segments were read in the first round trip,
// half as many again as the ten that are assumed, so that 86,880 bytes have room, less a segment that waits.
#[test]
fn the_first_round_trip_is_compared_with_ten_segments_without_timestamps() {
    let config = Config { rmem_max: sojourn_core::Bytes(32 << 20), ..Config::of(Era::E7) };
    let mut window = DynamicWindow::new(&config, MSS);
    window.rtt = Dur::from_millis(16);
    let mut shown = Vec::new();
    for n in 1..=18 {
        let us = if n < 10 { 23_553 + 109 * n } else { 38_100 + 109 * n };
        let now = Time(us * 1000);
        window.on_data(now, 1 + n * u64::from(MSS), MSS, 1);
        window.advertise(now);
        shown.push(window.advertised);
    }
    assert_eq!(shown[13..], [77_824, 77_824, 79_872, 82_944, 86_016]);
}

// A round trip has one sample, whatever its ACKs: timestamps are equal for a millisecond (`rcv_rtt_last_tsecr`).
#[test]
fn what_was_sent_in_one_millisecond_is_one_sample() {
    let mut window = window(Era::E7);
    assert_eq!(sample(&mut window, 10, 80), Dur::from_millis(80));
    for us in [10_100, 10_200, 10_900] {
        let segment = Segment { tsecr: Time(us * 1000), ..Segment::default() };
        window.measure_rtt(Time(98_000_000), &segment);
        assert_eq!(window.rtt, Dur::from_millis(80));
    }
}

// By captures of 7.2: 65,160 bytes in the handshake, and 67,584 in the first ACK, two segments above 64,076.
#[test]
fn a_window_begins_a_segment_below_its_buffer() {
    let mut window = window(Era::E7);
    assert_eq!(window.advertised, 65_160);
    let shown = [1, 2, 3].map(|n| {
        let at = Time(n * 1_000_000);
        window.on_data(at, 1 + n * u64::from(MSS), MSS, 1);
        window.advertise(at);
        window.advertised
    });
    assert_eq!(shown, [67_072, 69_888, 72_832], "whole units of 128 bytes");
}

// `tcp_rcv_rtt_measure`: no window takes less than a round trip. `tcp_rcv_rtt_update`: while data wait a larger sample
// says nothing.
#[test]
fn a_window_of_data_bounds_the_round_trip_from_6_16() {
    let mut window = window(Era::E7);
    sample(&mut window, 0, 90);
    let step = |window: &mut DynamicWindow, ms: u64, end: u64| {
        window.on_data(Time(ms * 1_000_000), 1 + end * u64::from(MSS), MSS, 1);
        window.advertise(Time(ms * 1_000_000));
    };
    step(&mut window, 100, 1);
    step(&mut window, 180, 60);
    assert_eq!(window.rtt, Dur::from_millis(80));
    let late = Segment { tsecr: Time(1_000_000), ..Segment::default() };
    window.measure_rtt(Time(180_000_000), &late);
    assert_eq!(window.rtt, Dur::from_millis(80));
}

/// The window after `count` segments of the largest size, one a millisecond, each acknowledged once it was read.
fn settled(mtu: u32, timestamps: bool, buffer: u64, count: u64) -> Vec<u64> {
    let buffer = sojourn_core::Bytes(buffer);
    let sizes = Config { mtu, timestamps, ..Config::of(Era::E7) };
    let config = Config { rmem_default: buffer, rmem_max: buffer, ..sizes };
    let mss = config.mss();
    let mut window = DynamicWindow::new(&config, mss);
    window.rtt = Dur::from_millis(10);
    let shown = |n: u64| {
        let (now, rcv_nxt) = (Time(n * 1_000_000), 1 + n * u64::from(mss));
        window.on_data(now, rcv_nxt, mss, 1);
        window.advertise(now + Dur(1));
        window.advertised
    };
    (1..=count).map(shown).collect()
}

// The windows of 7.2 with buffers of fixed size, by `ss`: a segment that waits for the reader takes its truesize.
#[test]
fn a_small_buffer_shows_the_window_of_7_2() {
    for (mtu, timestamps, buffer, shown) in [
        (1500, false, 18_600, 9856),
        (1500, true, 17_700, 9216),
        (746, true, 310_000, 128_896),
        (1190, true, 1_870_000, 1_006_976),
    ] {
        let last = settled(mtu, timestamps, buffer, 4000).pop();
        assert_eq!(last, Some(shown), "{mtu} {timestamps} {buffer}");
    }
}

// 131,072 bytes: 45 segments of 1448 before the first has come; then 107/256 for segments of 694, as 7.2 shows.
#[test]
fn the_share_is_measured_in_the_first_full_segment() {
    assert_eq!(window(Era::E7).advertised, 65_160);
    let shown = settled(746, true, 131_072, 100);
    assert_eq!(shown[99], 54_784);
    let mut tiny = DynamicWindow::new(&Config { mtu: 576, ..Config::of(Era::E7) }, 524);
    tiny.on_data(Time(1_000_000), 525, 524, 1);
    assert_eq!(tiny.share, 128, "less than 536 bytes tell nothing");
}

// tcp_measure_rcv_mss in tcp_data_queue_ofo: a first flight that loses its head shows a growing window with each segment.
#[test]
fn a_segment_beyond_a_hole_tells_the_share_too() {
    let mut window = window(Era::E7);
    let mut held = Reassembly::new();
    let second = 1 + u64::from(MSS);
    held.hold((second, second + u64::from(MSS)), 1);
    assert_eq!(window.share, 128);
    assert!(window.on_hole(Time(1_000_000), (MSS, 1), false, &held), "there is room to grow");
    assert_eq!(window.share, 153);
}

#[test]
fn what_is_held_beyond_a_hole_makes_room_from_6_16() {
    for (era, clamp) in [(Era::E6, 78_336), (Era::E7, 2 * 10 * 1448 + 100 * 1448)] {
        let mut window = window(era);
        window.on_data(Time(1_000_000), 1 + u64::from(MSS), MSS, 1);
        let mut held = Reassembly::new();
        let last = 1 + 100 * u64::from(MSS);
        held.hold((last, last + u64::from(MSS)), 1);
        window.on_hole(Time(2_000_000), (MSS, 1), false, &held);
        assert!(window.clamp.abs_diff(clamp) <= 1, "{era:?}: {}", window.clamp);
    }
}

// Linux 7.2 over a path of 5 ms without timestamps: the first window that grows after a round trip of slow start is shown
// once a whole window of data has arrived, with the 46th segment.
#[test]
fn without_timestamps_only_a_window_of_data_tells_the_round_trip() {
    let config = Config { timestamps: false, ..Config::of(Era::E7) };
    let mut window = DynamicWindow::new(&config, 1460);
    assert_eq!(sample(&mut window, 0, 5), Dur::ZERO);
    let mut window = DynamicWindow::new(&Config::of(Era::E7), MSS);
    assert_eq!(sample(&mut window, 0, 5), Dur::from_millis(5));
}

// By a capture of 7.2: ten segments that arrive together, each with its ACK, before anybody reads. The others go into the
// first one, and take their payload only.
#[test]
fn what_waits_for_the_reader_shares_one_overhead() {
    let config = Config { rmem_max: sojourn_core::Bytes(32 << 20), ..Config::of(Era::E7) };
    let mut window = DynamicWindow::new(&config, MSS);
    let now = Time(1_651_000);
    let shown = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(|n| {
        window.on_data(now, 1 + n * u64::from(MSS), MSS, 1);
        window.advertise(now);
        window.advertised
    });
    let growing = [67_584, 70_656, 73_728, 74_752, 73_728];
    assert_eq!(shown, [&growing[..], &[72_704, 72_704, 71_680, 70_656, 69_632]].concat()[..]);
    // 18 need another one.
    for n in 11..=18 {
        window.on_data(now, 1 + n * u64::from(MSS), MSS, 1);
    }
    assert_eq!(window.queued, 18 * 1448 + 2 * OVERHEAD);
}

// As in drawn case 930 beside 7.2: 30 segments wait once a hole is filled. The first packet is read and measured, and 13
// segments that wait behind its 17 are taken off, so that the buffer stays as it is for a round trip.
#[test]
fn what_waits_behind_the_first_packet_is_not_read_yet() {
    let mut window = window(Era::E7);
    sample(&mut window, 0, 80);
    let now = Time(160_000_000);
    window.on_data(Time(1_000_000), 1 + u64::from(MSS), MSS, 1);
    window.advertise(Time(1_000_001));
    let (before, mut held) = (window.buffer, Reassembly::new());
    window.measured_from = Time::ZERO;
    window.on_data(now, 1 + 2 * u64::from(MSS), MSS, 1);
    window.queue(now, 16 * u64::from(MSS), 16);
    window.queue(now, 13 * u64::from(MSS), 13);
    window.absorb(1 + 31 * u64::from(MSS), &held);
    window.advertise(now + Dur(1));
    assert_eq!((window.measured_seq, window.buffer), (1 + 18 * u64::from(MSS), before));
    // A hole that is still there has room in the buffer, too.
    let behind = 1 + 300 * u64::from(MSS);
    held.hold((behind, behind + u64::from(MSS)), 1);
    window.hold(&held);
    window.grow_buffer(window.space);
    let room = 2 * window.space + 270 * u64::from(MSS);
    assert_eq!(window.buffer, room * 256 / window.share);
}

// Drawn case 5-120 beside 7.2: 17 segments wait once a hole is filled. With the end of a block of 32 KiB the last packet has
// seven pieces for its six segments, one too many for the first packet, so that the window stays.
#[test]
fn a_packet_of_too_many_pieces_waits_behind_the_first_one() {
    let grows = |pieces_of_last| {
        let mut window = window(Era::E7);
        sample(&mut window, 0, 34);
        let (now, mss, held) = (Time(450_000_000), u64::from(MSS), Reassembly::new());
        (window.measured_from, window.measured_seq) = (Time(398_000_000), 15_929);
        window.rcv_nxt = 15_929;
        let before = window.buffer;
        window.on_data(now, 17_377, MSS, 1);
        window.queue(now, 10 * mss, 10);
        window.queue(now, 6 * mss, pieces_of_last);
        window.absorb(40_545, &held);
        window.advertise(now + Dur(1));
        window.buffer > before
    };
    assert_eq!(pieces((31_857, 40_545), 6), 7);
    assert!(grows(6) && !grows(7));
}

#[test]
fn copies_that_wait_take_nothing_back_that_was_read() {
    let mut window = window(Era::E7);
    sample(&mut window, 0, 80);
    window.measured_from = Time::ZERO;
    window.measured_seq = 1 + 20 * u64::from(MSS);
    // Forty segments in one instant, of which two are new.
    (0..40).for_each(|_| {
        window.on_data(Time(160_000_000), 1 + 22 * u64::from(MSS), MSS, 1);
    });
    window.advertise(Time(160_000_001));
    assert_eq!(window.measured_seq, 1 + 20 * u64::from(MSS));
}

// Linux 7.2 with 18,600 bytes of buffer: it shows 9,728 bytes after a segment of 72 as before it.
#[test]
fn a_packet_below_128_bytes_earns_no_window() {
    for (len, window) in [(127, 9728), (128, 10_496)] {
        let buffer = sojourn_core::Bytes(18_600);
        let config = Config {
            rmem_default: buffer,
            rmem_max: buffer,
            timestamps: false,
            ..Config::of(Era::E7)
        };
        let mut receiver = DynamicWindow::new(&config, 1460);
        receiver.on_data(Time(1_000_000), 1449, MSS, 1);
        assert_eq!(receiver.advertise(Time(1_000_000)), 9728);
        receiver.on_data(Time(2_000_000), 1449 + u64::from(len), len, 1);
        assert_eq!(receiver.advertise(Time(2_000_000)), window);
    }
}

// By captures of 5.4 (L4STeam/l4steam.github.io, ect1-tests: CUBIC over 1000 packets of pfifo, 20 ms): 65,160 bytes in the
// SYN/ACK, then half of the buffer without one segment in units of 128, and half of what 249, 243 and 230 packets behind
// a hole leave of 6 MiB.
#[test]
fn what_is_held_beyond_a_hole_takes_its_buffer_before_6_6() {
    let mut first = window(Era::E2020);
    assert_eq!(first.advertised, 65_160);
    first.on_data(Time(1_000_000), 1 + u64::from(MSS), MSS, 1);
    assert_eq!(first.selected(Time(1_000_000)), 501 * 128);

    let config = Config { rmem_default: sojourn_core::Bytes(6 << 20), ..Config::of(Era::E2020) };
    let (mut window, mss) = (DynamicWindow::new(&config, MSS), u64::from(MSS));
    let mut next = 1;
    for ms in 1..2000 {
        next += mss;
        window.on_data(Time(ms * 1_000_000), next, MSS, 1);
        window.advertise(Time(ms * 1_000_000));
    }
    let (now, mut held) = (Time(2_000_000_000), Reassembly::new());
    let edge = window.edge;
    // 6, 13 and 230 segments, each behind a hole of one.
    for n in (700..706).chain(707..720).chain(721..951) {
        let range = (next + n * mss, next + (n + 1) * mss);
        let is_in = held.hold(range, window.pieces(range, 1));
        window.on_hole(now, (MSS, 1), is_in, &held);
        assert!(next + u64::from(window.advertise(now)) == edge, "a window never shrinks");
    }
    for (hole, packets, units) in [(699, 249, 22_335), (706, 243, 22_389), (720, 230, 22_506)] {
        let filled = held.absorb(next + hole * mss, |_, _| {});
        window.absorb(filled, &held);
        assert_eq!(held.packets(), packets);
        assert_eq!(window.advertise(now), units * 128, "{packets} packets");
    }
}
