#![allow(clippy::disallowed_methods, reason = "what is expected may be the platform's")]

use proptest::prelude::*;
use sojourn_cc::scream::Metric;
use sojourn_core::wire::ccfb::{Counting, Report};

use super::*;

fn ms(n: u64) -> Time {
    Time(n * 1_000_000)
}

fn receiver(version: Version, parity: bool) -> Receiver {
    Receiver::new(Params::new(version, parity), Time::ZERO)
}

fn header(seq: u16, marker: bool) -> Header {
    Header { marker, payload_type: 98, seq, timestamp: 0, ssrc: 7, payload: 1000 }
}

/// Blocks of a report: SSRC, first number, and the metrics of each.
type Reported = Vec<(u32, u16, Vec<Metric>)>;

fn reports(rx: &mut Receiver, now: Time) -> Vec<(usize, Reported)> {
    let mut out = [0; REPORT_BYTES];
    let mut counting = Counting::fixed(rx.params.count);
    std::iter::from_fn(|| {
        let len = rx.next_report(now, &mut out)?;
        let report = Report::parse(&out[..len], &mut counting).expect("own report");
        let blocks = report.blocks().map(|b| (b.ssrc, b.begin, b.metrics().collect())).collect();
        Some((len, blocks))
    })
    .take(1000)
    .collect()
}

fn arrive(rx: &mut Receiver, now: Time, seq: u16, marker: bool) -> Vec<(usize, Reported)> {
    rx.on_rtp(now, &header(seq, marker), 1012, Ecn::Ect1);
    reports(rx, now)
}

/// Numbers that a block reports as received.
fn came(block: &(u32, u16, Vec<Metric>)) -> Vec<u16> {
    let numbered = block.2.iter().zip(0_u16..);
    numbered.filter(|(m, _)| m.received.is_some()).map(|(_, n)| block.1.wrapping_add(n)).collect()
}

// KAT rfc8888 3: 148 bytes, the 64 numbers that end at the newest, SSRC 100 from 10
#[test]
fn a_report_covers_the_newest_64_numbers() {
    let mut rx = receiver(Version::V2024, true);
    for seq in 0..5 {
        assert!(arrive(&mut rx, ms(1000), seq, false).len() <= 1);
    }
    let made = arrive(&mut rx, ms(1001), 5, true);
    assert_eq!(made.len(), 1);
    let (len, blocks) = &made[0];
    assert_eq!((*len, blocks.len(), blocks[0].0, blocks[0].2.len()), (148, 1, 100, 64));
    assert_eq!(blocks[0].1, 5_u16.wrapping_sub(63));
    assert_eq!(came(&blocks[0]), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn outside_parity_a_report_begins_at_the_first_packet_and_names_its_source() {
    let mut rx = receiver(Version::V2026, false);
    arrive(&mut rx, ms(1000), 40_000, false);
    let made = arrive(&mut rx, ms(1001), 40_002, true);
    let (_, blocks) = &made[0];
    assert_eq!((blocks[0].0, blocks[0].1), (7, 40_000));
    assert_eq!(came(&blocks[0]), [40_000, 40_002]);
}

// KAT scream-rx 1: catch-up from 1 (964, 964 and 284 bytes)
#[test]
fn in_parity_alone_numbers_that_were_never_sent_are_reported() {
    let mut rx = receiver(Version::V2026, true);
    let mut sizes = vec![];
    for seq in 1000..1004 {
        sizes.extend(arrive(&mut rx, ms(300), seq, false).iter().map(|(len, _)| *len));
    }
    assert_eq!(sizes[..3], [964, 964, 284]);
    let mut rx = receiver(Version::V2026, false);
    let made = arrive(&mut rx, ms(300), 1000, true);
    assert_eq!(made.iter().map(|(len, _)| *len).collect::<Vec<_>>(), [8 + 8 + 4 + 4]);
}

// KAT scream-rx 2: 32 packets, 16 in 2020
#[test]
fn many_packets_and_the_end_of_a_frame_do_not_wait() {
    for (version, every) in [(Version::V2020, 16), (Version::V2024, 32), (Version::V2026, 32)] {
        let mut rx = receiver(version, true);
        assert_eq!(arrive(&mut rx, ms(300), 0, true).len(), 1);
        let at = ms(301);
        let made: Vec<u16> =
            (1..=100).filter(|n| !arrive(&mut rx, at, *n, false).is_empty()).collect();
        assert!(made.windows(2).all(|w| w[1] - w[0] == every), "{version:?} {made:?}");
        assert_eq!(made[0], every, "{version:?}");
        let ends = !arrive(&mut rx, at, 101, true).is_empty();
        assert_eq!(ends, version != Version::V2020, "no marker rule in 2020");
    }
}

// KAT scream-rx 3: 5 ms in 2024, 40 ms in 2026
#[test]
fn a_single_packet_is_reported_when_the_last_report_is_old() {
    for (version, after) in [(Version::V2024, 328), (Version::V2026, 2622)] {
        let mut rx = receiver(version, true);
        for n in 0..20 {
            arrive(&mut rx, ms(10 * u64::from(n)), n, true);
        }
        let last = Ticks::count(ms(190), rx.epoch);
        arrive(&mut rx, ms(191), 20, false);
        assert_eq!(rx.deadline(), Ticks::reached(last + after, rx.epoch), "{version:?}");
        let due = rx.deadline();
        assert!(reports(&mut rx, Time(due.0 - 1)).is_empty());
        assert_eq!(reports(&mut rx, due).len(), 1);
        assert_eq!(rx.deadline(), Time::NEVER);
    }
}

// The tool's timer thread wakes every 0.5 ms, 33 ticks.
#[test]
fn on_the_grid_reports_wait_for_a_multiple_of_33_ticks() {
    let grid = Params { timer: Timer::Grid, ..Params::new(Version::V2024, true) };
    let mut rx = Receiver::new(grid, Time::ZERO);
    for n in 0..20 {
        arrive(&mut rx, ms(10 * u64::from(n)), n, true);
    }
    let due = Ticks::count(ms(190), rx.epoch) + 328;
    arrive(&mut rx, ms(191), 20, false);
    let at = Ticks::count(rx.deadline(), rx.epoch);
    assert_eq!((at % 33, at - due < 33), (0, true));
    // A gap of 32 numbers with few packets does not leave with the packet itself.
    let mut rx = Receiver::new(grid, Time::ZERO);
    for n in 0..20 {
        arrive(&mut rx, ms(10 * u64::from(n)), n, true);
    }
    assert!(arrive(&mut rx, ms(191), 60, false).is_empty());
    let at = Ticks::count(rx.deadline(), rx.epoch);
    assert_eq!(at, Ticks::count(ms(191), rx.epoch).next_multiple_of(33));
}

// KAT scream-rx 4: 2020's interval follows the rate, 2 to 100 ms
#[test]
fn in_2020_reports_are_as_often_as_two_percent_of_the_rate_allow() {
    let mut rx = receiver(Version::V2020, true);
    // 1012 bytes each ms: 8.1 Mbit/s, 202 reports per second.
    for n in 0..300_u16 {
        arrive(&mut rx, ms(u64::from(n)), n, false);
    }
    // Packets make all reports so far: seen of the tool (interval of 200 ms until its time is up).
    assert_eq!(rx.interval, FIRST_INTERVAL);
    let mut out = [0; REPORT_BYTES];
    assert!(rx.next_report(rx.deadline(), &mut out).is_some());
    assert_eq!(rx.interval, (65_536.0 / (0.02 * rx.rate / 800.0)) as u64);
    assert!((rx.rate / 8.096e6 - 1.0).abs() < 0.02, "{}", rx.rate);
    let slow = rx.rate;
    for n in 300..320_u16 {
        arrive(&mut rx, ms(300 + 150 * u64::from(n - 299)), n, false);
    }
    assert!((rx.rate / (slow * 0.95_f64.powi(20)) - 1.0).abs() < 0.06, "it falls by 5 % each time");
}

#[test]
fn late_packets_that_no_report_covers_have_one_of_their_own() {
    let mut rx = receiver(Version::V2024, false);
    for seq in 0..300 {
        if !matches!(seq, 100 | 120 | 140) {
            arrive(&mut rx, ms(1000), seq, false);
        }
    }
    for seq in [120, 140, 100] {
        assert!(arrive(&mut rx, ms(1001), seq, false).is_empty(), "a late packet does not hurry");
    }
    let made = arrive(&mut rx, ms(1002), 300, true);
    assert_eq!(made.len(), 3);
    assert_eq!((made[1].1[0].1, made[2].1[0].1), (100, 140));
    assert_eq!((made[1].1[0].2.len(), made[2].1[0].2.len()), (21, 1));
    assert!(came(&made[1].1[0]).contains(&100) && came(&made[1].1[0]).contains(&120));
    assert!(!rx.streams[0].has_late());
}

// The tool hangs here (EricssonResearch/scream 994f9a4 and c8f84c3).
#[test]
fn copies_of_old_packets_end_in_reports_in_both_modes() {
    for parity in [false, true] {
        let mut rx = receiver(Version::V2026, parity);
        for seq in 0..200 {
            arrive(&mut rx, ms(1000), seq, false);
        }
        for seq in [10, 10, 10, 11, 11] {
            arrive(&mut rx, ms(1001), seq, false);
        }
        assert!(arrive(&mut rx, ms(1002), 200, true).len() < 5, "{parity}");
        assert_eq!(rx.counts().duplicates, 5);
        assert!(reports(&mut rx, ms(1003)).is_empty());
    }
}

#[test]
fn of_copies_the_first_time_and_any_mark_count_but_in_parity_the_last() {
    for parity in [false, true] {
        let mut rx = receiver(Version::V2026, parity);
        arrive(&mut rx, ms(1000), 0, false);
        rx.on_rtp(ms(1100), &header(0, false), 1012, Ecn::Ce);
        rx.on_rtp(ms(1200), &header(0, false), 1012, Ecn::Ect1);
        let made = arrive(&mut rx, ms(1300), 1, true);
        let block = &made[0].1[0];
        let first = block.2[usize::from(0_u16.wrapping_sub(block.1))];
        let ago = Ticks::at(ms(1300), Time::ZERO).since(first.received.expect("it came"));
        // 100 and 300 ms in 1/1024 s.
        let expected = if parity { (102, Ecn::Ect1) } else { (307, Ecn::Ce) };
        assert_eq!((ago / 64, first.ecn), expected, "{parity}");
    }
}

#[test]
fn a_lost_stretch_longer_than_a_report_is_reported_in_several_blocks() {
    let mut rx = receiver(Version::V2024, false);
    for seq in 0..100 {
        arrive(&mut rx, ms(1000), seq, seq == 99);
    }
    let made = arrive(&mut rx, ms(1001), 400, true);
    let numbers: Vec<(u16, usize)> =
        made.iter().flat_map(|(_, b)| b).map(|b| (b.1, b.2.len())).collect();
    assert_eq!(numbers, [(100, 64), (164, 64), (228, 64), (292, 64), (337, 64)]);
    assert!(made.iter().all(|(len, _)| *len <= DATAGRAM));
    // What is older than the memory is left out.
    let made = arrive(&mut rx, ms(1002), 3300, true);
    assert_eq!(made[0].1[0].1, 3300 - 511);
}

#[test]
fn numbers_wrap() {
    let mut rx = receiver(Version::V2024, false);
    let mut reports = 0;
    for n in 0..200_u16 {
        reports += arrive(&mut rx, ms(1000), 65_436_u16.wrapping_add(n), false).len();
    }
    assert_eq!(reports, 200 / 32 + 1);
    // The tool's difference of numbers is large behind the wrap: a report at once.
    let mut rx = receiver(Version::V2024, true);
    for seq in 65_000..65_536_u32 {
        arrive(&mut rx, ms(1000), seq as u16, true);
    }
    assert_eq!(came(&arrive(&mut rx, ms(1000), 0, false)[0].1[0]).len(), 64);
    assert!(arrive(&mut rx, ms(1000), 1, false).is_empty());
}

#[test]
fn a_far_number_counts_once_another_confirms_it() {
    let mut rx = receiver(Version::V2026, false);
    for seq in 0..10 {
        arrive(&mut rx, ms(1000), seq, true);
    }
    assert!(arrive(&mut rx, ms(1001), 30_000, true).is_empty());
    assert_eq!(rx.counts().ignored, 1);
    assert_eq!(came(&arrive(&mut rx, ms(1002), 10, true)[0].1[0]).len(), 11);
    assert!(arrive(&mut rx, ms(1003), 30_000, true).is_empty());
    let made = arrive(&mut rx, ms(1003), 30_001, true);
    assert_eq!(came(&made[0].1[0]), [30_001]);
}

#[test]
fn after_two_seconds_of_silence_the_receiver_begins_anew() {
    let mut rx = receiver(Version::V2026, false);
    assert!(!rx.on_rtp(ms(1000), &header(0, true), 1012, Ecn::Ect1).reset);
    reports(&mut rx, ms(1000));
    let arrival = rx.on_rtp(ms(3001), &header(500, true), 1012, Ecn::Ect1);
    assert_eq!(arrival, Arrival { reset: true, jumped_from: Some(0) });
    assert_eq!(reports(&mut rx, ms(3001))[0].1[0].1, 500);
    assert!(
        receiver(Version::V2026, true).on_rtp(ms(2001), &header(0, true), 1012, Ecn::Ect1).reset
    );
}

#[test]
fn streams_have_blocks_of_their_own_and_an_eleventh_is_ignored() {
    let mut rx = receiver(Version::V2026, false);
    for ssrc in 0..12 {
        let header = Header { ssrc, ..header(5, false) };
        rx.on_rtp(ms(1000), &header, 1012, Ecn::Ect1);
    }
    assert_eq!(rx.counts().ignored, 2);
    let made = reports(&mut rx, ms(1300));
    let sources: Vec<u32> = made.iter().flat_map(|(_, blocks)| blocks).map(|b| b.0).collect();
    assert_eq!(sources, (0..10).collect::<Vec<_>>());
}

#[test]
fn options_out_of_range_are_named() {
    let params = Params::new(Version::V2024, true);
    assert_eq!(params.check(), Ok(()));
    let wide = Params { reported: 513, ..params };
    assert_eq!(wide.check(), Err("-nreported 513: expected 1 to 512".into()));
    let early = Params { ackdiff: Some(0), ..Params::new(Version::V2020, true) };
    assert_eq!(early.check(), Err("-ackdiff 0: expected 1 to 128".into()));
    let single = Params { ackdiff: Some(1), reported: 1, ..params };
    assert_eq!(single.check(), Ok(()));
    let mut rx = Receiver::new(single, Time::ZERO);
    assert!((0..50).all(|seq| arrive(&mut rx, ms(300), seq, false).len() == 1), "each at once");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// Whatever comes: reports end, fit their buffer, and their deadline lies ahead.
    #[test]
    fn any_packets_leave_a_receiver_that_answers(
        packets in prop::collection::vec(
            (0..50_000_u64, prop_oneof![0..700_u16, 65_000..=65_535_u16, any::<u16>()], any::<bool>(), 0..4_u8, 0..14_u32),
            1..400,
        ),
        version in prop::sample::select(vec![Version::V2020, Version::V2024, Version::V2026]),
        parity: bool,
        reported in 1..=512_u16,
        ackdiff in 1..=512_u16,
        sources: bool,
        grid: bool,
    ) {
        let params = Params {
            reported,
            ackdiff: Some(ackdiff),
            timer: if grid { Timer::Grid } else { Timer::Exact },
            ..Params::new(version, parity)
        };
        let mut rx = Receiver::new(params, Time::ZERO);
        let mut now = Time::ZERO;
        for (gap, seq, marker, tos, ssrc) in packets {
            now = Time(now.0 + gap * 1000);
            if rx.deadline() <= now {
                let at = rx.deadline();
                prop_assert!(!reports(&mut rx, at).is_empty());
            }
            let ssrc = if sources { ssrc } else { 0 };
            rx.on_rtp(now, &Header { ssrc, ..header(seq, marker) }, 1012, Ecn::from_tos(tos));
            prop_assert!(reports(&mut rx, now).len() < 100);
            prop_assert!(rx.deadline() > now);
            prop_assert!(rx.streams.len() <= STREAMS);
        }
    }
}
