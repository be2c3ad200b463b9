use proptest::prelude::*;

use super::*;

/// A datagram of the tool's version 2024-10-28: 942 to 1005, of which the last six came, five with
/// ECT(1) and one with CE.
fn sample() -> Vec<u8> {
    let mut bytes =
        vec![0x8b, 0xcd, 0x00, 0x24, 0, 0, 0, 0x0a, 0, 0, 0, 0x64, 0x03, 0xae, 0x00, 0x3f];
    bytes.extend([0; 2 * 58]);
    bytes.extend([0xa0, 5, 0xa0, 4, 0xa0, 3, 0xa0, 2, 0xa0, 1, 0xe0, 0]);
    bytes.extend([0, 0, 0x90, 0xac]);
    bytes
}

const LEGACY: Format = Format { count: Count::LessOne, early: false };
const STAMP: Ticks = Ticks(0x90ac);

/// A report with blocks of words that say who came when.
fn written(format: Format, blocks: &[(u16, &[Metric])]) -> Vec<u8> {
    let mut out = [0xff; 2000];
    let mut writer = Writer::new(&mut out, format, TOOL_SSRC, STAMP).expect("room");
    for (begin, arrivals) in blocks {
        assert!(writer.block(100, *begin, arrivals.iter().copied()));
    }
    let len = writer.finish();
    out[..len].to_vec()
}

const MISSING: Metric = Metric { received: None, ecn: Ecn::NotEct };

fn came(ago: u32) -> Metric {
    Metric { received: Some(Ticks(STAMP.0 - ago)), ecn: Ecn::Ect1 }
}

fn read(bytes: &[u8], counting: &mut Counting) -> Result<Vec<(u16, usize)>, Error> {
    let report = Report::parse(bytes, counting)?;
    Ok(report.blocks().map(|block| (block.begin, block.metrics().len())).collect())
}

// KAT rfc8888 1: wire sample
#[test]
fn the_tools_sample_is_read_and_written_byte_by_byte() {
    let bytes = sample();
    assert_eq!(bytes.len(), 148);
    let report = Report::parse(&bytes, &mut Counting::default()).expect("a report");
    assert_eq!((report.sender, report.stamp, report.count), (10, STAMP, Count::LessOne));
    let blocks: Vec<_> = report.blocks().collect();
    assert_eq!((blocks.len(), blocks[0].ssrc, blocks[0].begin), (1, 100, 942));
    let metrics: Vec<Metric> = blocks[0].metrics().collect();
    assert_eq!(metrics.len(), 64);
    assert!(metrics[..58].iter().all(|m| m.received.is_none()));
    for (back, m) in metrics[58..].iter().rev().enumerate() {
        assert_eq!(m.received, Some(Ticks(STAMP.0 - 64 * back as u32)));
        assert_eq!(m.ecn, if back == 0 { Ecn::Ce } else { Ecn::Ect1 });
    }
    let mut arrivals = vec![MISSING; 58];
    arrivals.extend((1..=5).rev().map(|n| came(64 * n + 63)));
    arrivals.push(Metric { received: Some(STAMP), ecn: Ecn::Ce });
    assert_eq!(written(LEGACY, &[(942, &arrivals)]), bytes);
}

// KAT rfc8888 2: R, ECN and arrival time offset
#[test]
fn a_word_holds_codepoint_and_1024ths_of_a_second() {
    for (ecn, bits) in
        [(Ecn::NotEct, 0x8000), (Ecn::Ect1, 0xa000), (Ecn::Ect0, 0xc000), (Ecn::Ce, 0xe000)]
    {
        let metric_of = |at| Metric { received: Some(Ticks(at)), ecn };
        assert_eq!(word(metric_of(1000), Ticks(1000 + 64 * 7 + 63)), bits | 7);
        assert_eq!(metric(bits | 7, Ticks(1000)), metric_of(1000 - 7 * 64));
    }
    // 8189 is the last offset that is a time.
    let plain = |at| Metric { received: Some(Ticks(at)), ecn: Ecn::NotEct };
    assert_eq!(word(plain(0), Ticks(8189 * 64)), 0x9ffd);
    assert_eq!(word(plain(0), Ticks(8190 * 64)), 0x9ffe);
    assert_eq!(word(plain(0), Ticks(u32::MAX)), 0x9ffe);
    // Over the clock's wrap, in both directions.
    assert_eq!(word(plain(u32::MAX - 63), Ticks(0)), 0x8001);
    assert_eq!(metric(0x8001, Ticks(0)).received, Some(Ticks(u32::MAX - 63)));
    assert_eq!(metric(0x7fff, Ticks(9)), MISSING);
    assert_eq!(word(MISSING, Ticks(9)), 0);
    assert_eq!(metric(0x9fff, Ticks(9)).received, Some(Ticks(9)), "not known: about now");
}

// KAT rfc8888 4: ambiguity rule
#[test]
fn the_count_is_found_out_from_the_length_or_the_last_word() {
    let arrivals = [came(0); 8];
    for words in 1..=8 {
        for format in [Format::default(), LEGACY] {
            let mut counting = Counting::default();
            let bytes = written(format, &[(7, &arrivals[..words])]);
            assert_eq!(read(&bytes, &mut counting), Ok(vec![(7, words)]), "{format:?}");
            // The count of an odd number of packets looks like N-1 of one packet more, whose word
            // would be zero: that is not proof.
            let proof = format.count == Count::LessOne || words % 2 == 0;
            assert_eq!(counting.known(), proof.then_some(format.count), "{words} {format:?}");
        }
    }
}

#[test]
fn a_peer_that_was_seen_to_count_so_is_believed_when_in_doubt() {
    let doubtful = written(LEGACY, &[(7, &[came(0), MISSING])]);
    let clear = written(LEGACY, &[(9, &[came(0), came(0)])]);
    let mut counting = Counting::default();
    assert_eq!(read(&doubtful, &mut counting), Ok(vec![(7, 1)]));
    assert_eq!(read(&clear, &mut counting), Ok(vec![(9, 2)]));
    assert_eq!(read(&doubtful, &mut counting), Ok(vec![(7, 2)]));
    // Proof of the contrary, from a peer that was replaced.
    let exact = written(Format::default(), &[(9, &[came(0), came(0)])]);
    assert_eq!(read(&exact, &mut counting), Ok(vec![(9, 2)]));
    assert_eq!(read(&doubtful, &mut counting), Ok(vec![(7, 1)]));
}

#[test]
fn a_fixed_count_is_not_questioned() {
    let legacy = written(LEGACY, &[(7, &[came(0)])]);
    let mut fixed = Counting::fixed(Count::Exact);
    assert_eq!(read(&legacy, &mut fixed), Err(Error::Blocks));
    let doubtful = written(LEGACY, &[(9, &[came(0), came(0)])]);
    assert_eq!(read(&doubtful, &mut fixed), Ok(vec![(9, 1)]));
    assert_eq!(fixed.known(), Some(Count::Exact));
}

#[test]
fn several_blocks_of_either_count_are_distinguished() {
    let (odd, even) = ([came(0); 3], [came(0); 4]);
    let mixed: [(u16, &[_]); 3] = [(7, &odd), (65_530, &even), (1, &odd)];
    for format in [Format::default(), LEGACY] {
        let bytes = written(format, &mixed);
        let mut counting = Counting::default();
        assert_eq!(read(&bytes, &mut counting), Ok(vec![(7, 3), (65_530, 4), (1, 3)]));
        assert_eq!(counting.known(), Some(format.count));
    }
}

#[test]
fn other_rtcp_before_a_report_and_padding_are_skipped() {
    let mut bytes = vec![0x80, 201, 0, 1, 0, 0, 0, 9];
    bytes.extend(sample());
    assert_eq!(read(&bytes, &mut Counting::default()), Ok(vec![(942, 64)]));
    let mut padded = sample();
    padded[0] |= PADDING;
    padded[3] += 1;
    padded.extend([0, 0, 0, 4]);
    assert_eq!(read(&padded, &mut Counting::default()), Ok(vec![(942, 64)]));
    let mut early = sample();
    early[0] = 0x80; // the tool until 2023-12
    assert_eq!(read(&early, &mut Counting::default()), Ok(vec![(942, 64)]));
}

#[test]
fn what_is_no_report_is_named() {
    let mut counting = Counting::default();
    let mut parse = |bytes: &[u8]| read(bytes, &mut counting).expect_err("no report");
    assert_eq!(parse(&[]), Error::Short);
    assert_eq!(parse(&[0]), Error::Short);
    assert_eq!(parse(&[0x0b, 205, 0, 0]), Error::Version(0));
    assert_eq!(parse(&[0x80, 201, 0, 1, 0, 0, 0, 9]), Error::Kind(201, 0));
    assert_eq!(parse(&[0x8b, 205, 0, 1, 0, 0, 0, 9]), Error::Short, "no timestamp");
    assert_eq!(parse(&sample()[..147]), Error::Short);
    let mut claims = sample();
    (claims[14], claims[15]) = (0xff, 0xff);
    assert_eq!(parse(&claims), Error::Blocks);
    claims = sample();
    claims[0] |= PADDING; // 0xac of padding are more than there is
    assert_eq!(parse(&claims), Error::Short);
    assert_eq!(counting.known(), None);
}

#[test]
fn a_writer_refuses_what_does_not_fit() {
    let mut out = [0; 24];
    assert!(Writer::new(&mut out[..11], LEGACY, 1, STAMP).is_none());
    let mut writer = Writer::new(&mut out, LEGACY, 1, STAMP).expect("room");
    assert!(!writer.block(1, 0, [came(0); 3].into_iter()));
    assert!(!writer.block(1, 0, [].into_iter()));
    assert!(writer.is_empty());
    assert!(writer.block(1, 0, [came(0); 2].into_iter()));
    assert_eq!(writer.finish(), 24);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes, &mut Counting::default());
    }

    /// Behind a right header more is reached than by chance.
    #[test]
    fn any_blocks_are_read_or_refused(
        body in prop::collection::vec(prop_oneof![Just(0_u8), 0..8_u8, any::<u8>()], 0..200),
        first in prop_oneof![Just(0x8b_u8), Just(0xab), Just(0x80)],
    ) {
        let words = body.len() / 4;
        let mut bytes = vec![first, 205, 0, words as u8];
        bytes.extend(&body[..4 * words]);
        if let Ok(report) = Report::parse(&bytes, &mut Counting::default()) {
            let used: usize = report.blocks().map(|b| Writer::block_bytes(b.metrics().len())).sum();
            prop_assert!(HEADER_BYTES + used + STAMP_BYTES <= bytes.len());
            prop_assert!(first == 0xab || HEADER_BYTES + used + STAMP_BYTES == bytes.len());
        }
    }

    #[test]
    fn what_is_written_is_read(
        runs in prop::collection::vec(prop::collection::vec(prop::option::of(0..9000_u32), 1..70), 1..6),
        exact: bool,
    ) {
        let format = Format { count: if exact { Count::Exact } else { Count::LessOne }, early: false };
        let runs: Vec<Vec<_>> = runs.into_iter().map(|r| r.into_iter().map(|ago| ago.map_or(MISSING, came)).collect()).collect();
        let blocks: Vec<(u16, &[_])> = runs.iter().enumerate().map(|(n, r)| (n as u16 * 70, &r[..])).collect();
        let bytes = written(format, &blocks);
        let report = Report::parse(&bytes, &mut Counting::fixed(format.count)).expect("own report");
        for (block, run) in report.blocks().zip(&runs) {
            let read: Vec<_> = block.metrics().map(|m| m.received.map(|at| STAMP.since(at) >> 6)).collect();
            let sent: Vec<_> = run.iter().map(|m| m.received.map(|at| STAMP.since(at) >> 6)).collect();
            prop_assert_eq!(read, sent);
        }
        prop_assert_eq!(report.blocks().count(), runs.len());
    }
}
