use sojourn_core::wire::rtp::Header;

use super::*;

const MS: u64 = 1_000_000;

/// A source to which packets of these numbers come every 20 ms, 160 ticks of 8 kHz apart.
fn audio(numbers: &[u16]) -> report::Source {
    let mut source = None;
    for (at, seq) in (0..).zip(numbers) {
        see(&mut source, at * 20 * MS, *seq, u32::from(*seq).wrapping_mul(160), 0);
    }
    source.expect("packets").finish(true)
}

fn see(source: &mut Option<Source>, at: u64, seq: u16, timestamp: u32, payload_type: u8) {
    let header = Header { marker: false, payload_type, seq, timestamp, ssrc: 1, payload: 160 };
    let payload = header.write();
    let arrival =
        Arrival { time: Time(at), forward: true, payload: &payload, len: 172, ecn: Ecn::Ect1 };
    source.get_or_insert_with(|| Source::new(&header)).on_packet(&arrival, &header);
}

// RFC 3550 A.1.
#[test]
fn numbers_wrap_and_may_be_missing_late_or_repeated() {
    let source = audio(&[65_533, 65_534, 65_535, 0, 1, 4, 3, 3, 5]);
    assert_eq!((source.packets, source.missing), (8, 1), "2 is missing");
    assert_eq!((source.duplicates, source.reordered, source.restarts), (1, 1, 0));
    assert_eq!(source.ecn.ect1, 8);
}

// RFC 3550 A.1: two packets in sequence, far from the last ones.
#[test]
fn a_sender_that_begins_anew_loses_nothing() {
    let source = audio(&[1, 2, 3, 4, 30_000, 30_001, 30_002]);
    assert_eq!((source.packets, source.missing, source.restarts), (6, 0, 1));
    let source = audio(&[1, 2, 3, 4, 30_000, 5, 6]);
    assert_eq!((source.packets, source.missing, source.restarts), (6, 0, 0));
}

// KAT rtp 1
#[test]
fn jitter_is_that_of_rfc_3550_a_8() {
    let mut source = None;
    for (at, seq) in [0, 20, 40, 60, 88, 100].into_iter().zip(0..) {
        see(&mut source, at * MS, seq, u32::from(seq) * 160, 0);
    }
    let jitter = source.expect("packets").finish(true).jitter_ms.expect("8 kHz by its type");
    // 8 ms late: 8 / 16; then 8 ms less than 20: + (8 - 0.5) / 16.
    assert!((jitter.last - 0.96875).abs() < 1e-9 && jitter.max == jitter.last, "{jitter:?}");
}

#[test]
fn a_clock_is_known_by_its_rate() {
    let mut source = None;
    for seq in 0..100_u16 {
        see(&mut source, u64::from(seq) * 10 * MS, seq, u32::from(seq) * 480, 111);
    }
    let report = source.expect("packets").finish(true);
    assert_eq!(
        (report.clock_rate_hz, report.jitter_ms.map(|it| it.last)),
        (Some(48_000), Some(0.0))
    );
}

#[test]
fn a_frame_has_one_timestamp() {
    let mut source = None;
    for seq in 0..40_u16 {
        // Frames of four packets every 40 ms, their packets 1 ms apart.
        let (frame, packet) = (u64::from(seq / 4), u64::from(seq % 4));
        see(&mut source, (frame * 40 + packet) * MS, seq, (frame * 3600) as u32, 31);
    }
    let report = source.expect("packets").finish(true);
    assert_eq!(report.frames, 10);
    let [bytes, packets, spread] =
        [report.frame_bytes, report.frame_packets, report.frame_spread_ms].map(Option::unwrap);
    assert_eq!((bytes.min, bytes.max, packets.mean, spread.max), (688.0, 688.0, 4.0, 3.0));
    let rate = report.frame_mbps.expect("its clock is known").mean;
    assert!((rate - 688.0 * 8.0 / 0.04 / 1e6).abs() < 1e-9, "{rate}");
}

#[test]
fn memory_is_bounded() {
    let mut source = None;
    for n in 0..100_000_u32 {
        see(&mut source, u64::from(n) * MS, (n * 7) as u16, n, 96);
        assert!(n < 10 || source.as_ref().is_some_and(|it| it.history.len() <= HISTORY));
    }
}
