use super::*;

fn ms(n: u64) -> Time {
    Time(n * 1_000_000)
}

/// Sends `n` packets 10 ms apart.
fn sent(n: u64) -> History {
    let mut history = History::default();
    for seq in 0..n {
        history.on_send(ms(10 * seq), seq, 1000);
    }
    history
}

fn read(history: &mut History, now: Time, report: &Report) -> (News, Vec<PacketReport>) {
    let mut out = Vec::new();
    let news = history.read(now, report, &mut out);
    (news, out)
}

#[test]
fn words_are_those_of_rfc_8888() {
    let mut recorder = Recorder::default();
    recorder.on_packet(ms(1000), 65_534, Ecn::Ect1);
    recorder.on_packet(ms(1010), 65_536, Ecn::Ce);
    recorder.on_packet(ms(2000), 65_537, Ecn::Ect0);
    let report = recorder.report(ms(2000)).expect("three arrivals");
    assert_eq!(report.begin, 65_534);
    assert_eq!(report.stamp, 2 << 16);
    // 1 s is 1024 units of the offset, 990 ms are 1013.76.
    assert_eq!(report.words(), [0xa400, 0, 0xe3f5, 0xc000]);
    // RTCP header 8, block 8 + 4 words of 2, timestamp 4.
    assert_eq!(report.bytes(), 28);
    recorder.on_packet(ms(3000), 65_538, Ecn::NotEct);
    assert_eq!(recorder.report(ms(12_000)).expect("one").words()[0], 0xa000 | 0x1ffe, "11 s");
}

#[test]
fn arrival_times_are_within_a_unit_and_the_rtt_leaves_out_the_wait() {
    let mut history = sent(20);
    let mut recorder = Recorder::default();
    for seq in 0..20 {
        recorder.on_packet(ms(10 * seq + 33), seq, Ecn::NotEct);
    }
    let report = recorder.report(ms(290)).expect("twenty arrivals");
    let (news, out) = read(&mut history, ms(297), &report);
    assert_eq!((news.received, news.missing, news.bytes), (20, 0, 20_000));
    assert_eq!((history.packets(), history.bytes()), (0, 0));
    for report in &out {
        let owd = report.received.expect("all came").since(report.sent).as_millis_f64();
        assert!((33.0 - 0.02..34.0).contains(&owd), "{owd}");
    }
    let rtt = news.rtt.expect("a sample").as_millis_f64();
    assert!((40.0..41.0).contains(&rtt), "{rtt}");
}

#[test]
fn each_fate_is_reported_once_and_a_late_packet_again() {
    let mut history = sent(5);
    let mut recorder = Recorder::default();
    for seq in [0, 1, 3] {
        recorder.on_packet(ms(50), seq, Ecn::NotEct);
    }
    let first = recorder.report(ms(50)).expect("news");
    assert!(recorder.report(ms(60)).is_none(), "nothing is new");
    let (news, out) = read(&mut history, ms(60), &first);
    assert_eq!((news.received, news.missing, news.late), (3, 1, 0));
    let reported: Vec<_> = out.iter().map(|r| (r.seq, r.received.is_some())).collect();
    assert_eq!(reported, [(0, true), (1, true), (2, false), (3, true)]);
    assert_eq!(history.packets(), 1);
    assert_eq!(read(&mut history, ms(61), &first).0, News::default(), "a copy");
    recorder.on_packet(ms(70), 2, Ecn::NotEct);
    recorder.on_packet(ms(70), 3, Ecn::NotEct);
    let (news, out) = read(&mut history, ms(80), &recorder.report(ms(75)).expect("news"));
    assert_eq!((news.received, news.missing, news.late), (1, 0, 1));
    assert_eq!(out.len(), 1);
}

#[test]
fn a_lost_report_is_made_up_by_the_next() {
    let mut history = sent(50);
    let mut recorder = Recorder::default();
    for seq in 0..25 {
        recorder.on_packet(ms(10 * seq), seq, Ecn::NotEct);
    }
    recorder.report(ms(250)).expect("lost on its way");
    for seq in 25..50 {
        recorder.on_packet(ms(10 * seq), seq, Ecn::NotEct);
    }
    let report = recorder.report(ms(500)).expect("news");
    assert_eq!(read(&mut history, ms(510), &report).0.received, 50);
}

#[test]
fn a_gap_is_reported_in_parts_and_what_no_report_covered_is_given_up() {
    let mut history = sent(300);
    let mut recorder = Recorder::default();
    recorder.on_packet(ms(0), 0, Ecn::NotEct);
    recorder.on_packet(ms(3000), 299, Ecn::NotEct);
    let parts: Vec<Report> = std::iter::from_fn(|| recorder.report(ms(3000))).collect();
    assert_eq!(parts.len(), 6);
    let missing: u32 = parts.iter().map(|r| read(&mut history, ms(3010), r).0.missing).sum();
    assert_eq!((missing, history.packets()), (298, 0));
    let mut history = sent(300);
    read(&mut history, ms(3010), &parts[5]);
    assert_eq!(history.packets(), 0);
}

#[test]
fn copies_keep_the_first_time_and_any_mark() {
    let mut recorder = Recorder::default();
    recorder.on_packet(ms(0), 0, Ecn::Ect0);
    recorder.on_packet(ms(1000), 0, Ecn::Ce);
    recorder.on_packet(ms(1000), 0, Ecn::Ect0);
    assert_eq!(recorder.report(ms(1000)).expect("news").words(), [0xe400]);
}

#[test]
fn numbers_and_times_wrap() {
    // Past 18.2 hours and 65536 packets.
    let start = 70_000_000_u64;
    let mut history = History::default();
    let mut recorder = Recorder::default();
    for seq in 65_500..65_600_u64 {
        history.on_send(ms(start + seq), seq, 100);
        recorder.on_packet(ms(start + seq + 5), seq, Ecn::NotEct);
        if seq % 20 == 19 {
            let report = recorder.report(ms(start + seq + 6)).expect("news");
            let (news, out) = read(&mut history, ms(start + seq + 8), &report);
            assert_eq!((news.received, news.missing), (20, 0));
            // The first report's clock is taken as it is, in 32 bits.
            let span = out[19].received.expect("it came").since(out[0].received.expect("too"));
            assert!((18.0..20.0).contains(&span.as_millis_f64()), "{span}");
        }
    }
}

#[test]
fn a_report_makes_no_packet_larger_than_a_tcp_segment_does() {
    assert_eq!(size_of::<crate::Body>(), size_of::<crate::tcp::Segment>());
}

// RFC 8888 3.1: a report has a block per SSRC.
#[test]
fn of_several_streams_only_ours_is_read() {
    let stamp = Ticks(1 << 16);
    let read = |ssrcs: &[u32]| {
        let mut out = [0; 200];
        let mut writer =
            Writer::new(&mut out, Format::default(), ccfb::TOOL_SSRC, stamp).expect("room");
        for ssrc in ssrcs {
            let words = [RECEIVED; 3].map(|word| metric(word, stamp));
            assert!(writer.block(*ssrc, *ssrc as u16, words.into_iter()));
        }
        let len = writer.finish();
        Report::read(&out[..len]).map(|report| report.begin)
    };
    let ours = rtp::TOOL_SSRC;
    assert_eq!(read(&[ours]), Some(ours as u16));
    assert_eq!(read(&[7, ours, 9]), Some(ours as u16));
    assert_eq!(read(&[7, 9]), None);
}
