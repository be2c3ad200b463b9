use proptest::prelude::*;
use sojourn_cc::scream::{AckLine, Config, Stream, Version};
use sojourn_core::{Dur, Rng};
use sojourn_transport::media::scream_rx::{self, REPORT_BYTES, Receiver};
use sojourn_transport::media::scream_tx::{Encoder, Host, Params, Session as Sender, Tool};

use super::*;
use crate::report::ScreamForm;

const MS: u64 = 1_000_000;

fn see(session: &mut Session, at: u64, forward: bool, payload: &[u8], ecn: Ecn) -> bool {
    let arrival = Arrival { time: Time(at), forward, payload, len: payload.len(), ecn };
    session.on_packet(&arrival)
}

/// What the network did to the packets of a session.
#[derive(Debug, Default)]
struct Truth {
    sent: u64,
    lost: u64,
    ce: u64,
    bleached: u64,
    reports: u64,
}

/// SCReAM's tool for some seconds over 20 ms each way; of a hundred packets some are marked, lost, bleached. The
/// capture is at the sender, or it is `cut` bytes long.
fn scream(version: Version, of_hundred: [u32; 3], cut: usize) -> (Media, Truth) {
    const END: Time = Time(12_000_000_000);
    let tool = Tool { fps: 50.0, rand: 0.0, key: None, burst: None };
    let media = (Stream { max_rate: 4e6, ..Stream::new(rtp::TOOL_SSRC) }, Encoder::Tool(tool));
    let mut rng = Rng::named(1, "scream");
    let params = Params {
        config: Config { parity: true, l4s: true, ..Config::new(version) },
        streams: vec![media],
        microburst: Dur::from_micros(500),
        host: Host::default(),
        counting: ccfb::Counting::default(),
    };
    let mut sender = Sender::new(params, rng.clone());
    let mut receiver = Receiver::new(scream_rx::Params::new(version, true), Time::ZERO);
    let (mut to_receiver, mut to_sender) = (VecDeque::new(), VecDeque::new());
    let (mut truth, mut session) = (Truth::default(), Session::default());
    let delay = Dur::from_millis(20);
    sender.start(Time::ZERO);
    let mut now = Time::ZERO;
    while now < END {
        if sender.deadline() <= now {
            sender.on_timer(now);
        }
        while let Some(packet) = sender.poll(now) {
            let mut bytes = packet.header().write().to_vec();
            bytes.resize(packet.rtp.bytes as usize, 0);
            let kept = &bytes[..bytes.len().min(cut)];
            let arrival = Arrival {
                time: now,
                forward: true,
                payload: kept,
                len: bytes.len(),
                ecn: Ecn::Ect1,
            };
            session.on_packet(&arrival);
            truth.sent += 1;
            let [marked, lost, bleached] = of_hundred;
            let dice = rng.below(100);
            // The end of the session: what is still under way is neither lost nor received.
            let last = now > Time(END.0 - 1_000_000_000);
            let ecn = match dice {
                n if n < marked && !last => Ecn::Ce,
                n if n < marked + lost && !last => {
                    truth.lost += 1;
                    continue;
                }
                n if n < marked + lost + bleached && !last => Ecn::NotEct,
                _ => Ecn::Ect1,
            };
            truth.ce += u64::from(ecn == Ecn::Ce);
            truth.bleached += u64::from(ecn == Ecn::NotEct);
            to_receiver.push_back((now + delay, bytes, ecn));
        }
        while to_receiver.front().is_some_and(|(at, ..)| *at <= now) {
            let (_, bytes, ecn) = to_receiver.pop_front().expect("there is one");
            let header = Header::parse(&bytes).expect("media");
            receiver.on_rtp(now, &header, bytes.len() as u32, ecn);
            report(&mut receiver, now, &mut to_sender, delay);
        }
        report(&mut receiver, now, &mut to_sender, delay);
        while to_sender.front().is_some_and(|(at, _): &(Time, Vec<u8>)| *at <= now) {
            let (_, bytes) = to_sender.pop_front().expect("there is one");
            see(&mut session, now.0, false, &bytes, Ecn::NotEct);
            truth.reports += 1;
            sender.on_feedback(now, &bytes, false, &mut |_: &AckLine| {}).expect("a report");
        }
        let arrivals = to_receiver.front().map(|(at, ..)| *at).into_iter();
        let due = arrivals.chain(to_sender.front().map(|(at, _)| *at));
        let due = due.chain([sender.deadline(), receiver.deadline(), END]).min();
        now = due.expect("an end").max(Time(now.0 + 1));
    }
    (session.finish().expect("a session"), truth)
}

fn report(receiver: &mut Receiver, now: Time, out: &mut VecDeque<(Time, Vec<u8>)>, delay: Dur) {
    let mut bytes = [0; REPORT_BYTES];
    while let Some(len) = receiver.next_report(now, &mut bytes) {
        out.push_back((now + delay, bytes[..len].to_vec()));
    }
}

#[test]
fn scream_is_recognised_and_what_it_reports_is_what_happened() {
    let versions = [
        (Version::V2020, ScreamForm::Before2024),
        (Version::V2024, ScreamForm::V2024),
        (Version::V2026, ScreamForm::V2026),
    ];
    for (version, form) in versions {
        let (media, truth) = scream(version, [3, 1, 1], usize::MAX);
        assert!(media.scream, "{version:?}");
        assert_eq!(media.scream_form, Some(form));
        assert_eq!(media.count_less_one, Some(true));
        let [source] = &media.sources[..] else { panic!("{:?}", media.sources) };
        assert_eq!((source.ssrc, source.packets, source.missing), (100, truth.sent, 0));
        assert_eq!(source.clock_rate_hz, Some(90_000));
        assert_eq!((media.reports, media.reports_unreadable), (truth.reports, 0));
        assert!(truth.ce > 50 && truth.lost > 10 && truth.bleached > 10, "{truth:?}");
        assert_eq!(media.path.ect1.ce, media.reported_ce);
        assert_eq!(media.reported_unseen, 0);
        if version == Version::V2020 {
            // It skips numbers when a report has no room for all that are new.
            assert!(media.reported_ce <= truth.ce && media.reported_lost <= truth.lost);
        } else {
            assert_eq!(media.reported_ce, truth.ce, "{version:?}");
            assert_eq!(media.path.bleached(), truth.bleached);
            // The first packet may be lost before the receiver knows of any.
            assert!(media.reported_lost.abs_diff(truth.lost) <= 1, "{media:?} {truth:?}");
        }
        let rtt = media.rtt_ms.expect("round trips");
        // Offsets are rounded down to 1/1024 s.
        assert!(rtt.min >= 39.9 && rtt.max <= 41.1, "{rtt:?}");
        let queue = media.queue_delay_ms.expect("delays");
        assert!(queue.max <= 1.1, "no queue: {queue:?}");
        assert!(source.frames > 400 && source.frame_mbps.is_some());
    }
}

#[test]
fn a_cut_capture_shows_the_media() {
    let (media, truth) = scream(Version::V2026, [0, 0, 0], 20);
    assert_eq!(media.sources[0].packets, truth.sent);
}

/// A sender report of SSRC 1 with this middle of NTP time.
fn sender_report(middle: u32) -> Vec<u8> {
    let mut bytes = vec![0x80, 200, 0, 6, 0, 0, 0, 1, 0, 0];
    bytes.extend(middle.to_be_bytes());
    bytes.resize(28, 0);
    bytes
}

/// A receiver report of it, `kept` units of 1/65536 s later.
fn receiver_report(middle: u32, kept: u32) -> Vec<u8> {
    let mut bytes = vec![0x81, 201, 0, 7, 0, 0, 0, 2, 0, 0, 0, 1, 128, 0, 0, 9];
    bytes.extend([0; 8]);
    bytes.extend(middle.to_be_bytes());
    bytes.extend(kept.to_be_bytes());
    bytes
}

// RFC 3550 6.4.1.
#[test]
fn reports_that_answer_each_other_show_the_round_trip() {
    let mut session = Session::default();
    for (at, middle) in [(0, 5), (5000, 6)] {
        see(&mut session, at * MS, true, &sender_report(middle), Ecn::NotEct);
    }
    // Half a second later, less the quarter that the receiver kept it.
    see(&mut session, 5500 * MS, false, &receiver_report(6, 0x4000), Ecn::NotEct);
    see(&mut session, 5600 * MS, false, &receiver_report(77, 0), Ecn::NotEct);
    let rtcp = session.finish().expect("a session").rtcp;
    let rtt = rtcp.rtt_ms.expect("an answer");
    assert_eq!((rtt.n, rtt.mean), (1, 250.0));
    assert_eq!((rtcp.sender_reports, rtcp.receiver_reports), (2, 2));
    assert_eq!(rtcp.fraction_lost_percent.map(|it| it.mean), Some(50.0));
}

#[test]
fn control_packets_are_counted() {
    let mut session = Session::default();
    let feedback = |kind, format: u8| {
        let mut bytes =
            vec![0x80 | format, kind, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes[12..16].copy_from_slice(b"REMB");
        bytes
    };
    for (kind, format) in [(205, 1), (205, 15), (206, 1), (206, 4), (206, 15), (203, 1)] {
        assert!(see(&mut session, 0, true, &feedback(kind, format), Ecn::NotEct));
    }
    for _ in 0..2 {
        see(&mut session, 0, true, &sender_report(1), Ecn::NotEct);
    }
    let rtcp = session.finish().expect("a session").rtcp;
    let counts = [
        rtcp.nack,
        rtcp.transport_wide_feedback,
        rtcp.picture_loss,
        rtcp.full_intra_request,
        rtcp.maximum_bitrate,
        rtcp.bye,
    ];
    assert_eq!(counts, [1; 6]);
}

/// Datagrams of other protocols, each with a number.
fn others(kind: u8, number: u32) -> Vec<u8> {
    let [.., high, low] = number.to_be_bytes();
    match kind {
        // udp-prague's data.
        0 => [&[1][..], &(number * 1000).to_be_bytes(), &[0; 4], &number.to_be_bytes(), &[0; 80]]
            .concat(),
        // DNS: an identifier whose first bits are RTP's version.
        1 => [
            &[0x80 | high & 0x3f, low, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..],
            b"\x04test\0\0\x01\0\x01",
        ]
        .concat(),
        // QUIC: short and long headers, and those whose fixed bit is greased (RFC 9287).
        2 => [&[0x40][..], &[7; 8], &number.wrapping_mul(2_654_435_761).to_be_bytes(), &[3; 40]]
            .concat(),
        3 => [&[0x80, 0, 0, 0, 1, 8][..], &[7; 8], &[0, high, low], &[3; 40]].concat(),
        // RakNet: little-endian numbers behind the first byte.
        4 => [&[0x84, low, high, 0, 0x40, 1, 2, 3, 4][..], &[5; 30]].concat(),
        // Our own: number and time.
        5 => {
            [&u64::from(number).to_be_bytes()[..], &(u64::from(number) * MS).to_be_bytes()].concat()
        }
        // SRT: keep-alive and acknowledgement.
        _ => [&[0x80, 2, 0, 0][..], &number.to_be_bytes(), &(number * 10).to_be_bytes(), &[1; 28]]
            .concat(),
    }
}

#[test]
fn other_protocols_are_not_rtp() {
    for kind in 0..=6 {
        let mut session = Session::default();
        for number in 0..5000 {
            let bytes = others(kind, number);
            assert!(!see(
                &mut session,
                u64::from(number) * MS,
                number % 3 > 0,
                &bytes,
                Ecn::NotEct
            ));
        }
        assert!(!session.is_recognised(), "{kind}");
        assert!(session.ways.iter().all(|way| way.sources.len() <= 4));
    }
}

/// A report of the packets from `begin` on, all of which came with this codepoint.
fn feedback(begin: u16, packets: usize, ecn: Ecn) -> Vec<u8> {
    let mut out = [0; 100];
    let stamp = sojourn_core::wire::ticks::Ticks(6554);
    let metric = ccfb::Metric { received: Some(stamp), ecn };
    let mut writer = ccfb::Writer::new(&mut out, ccfb::Format::default(), 10, stamp).expect("room");
    writer.block(100, begin, vec![metric; packets].into_iter());
    let len = writer.finish();
    out[..len].to_vec()
}

/// A packet that passes the capture only after its receiver has reported it, and a copy of it with CE.
#[test]
fn a_packet_that_was_not_seen_is_compared_with_none() {
    let mut session = Session::default();
    let media = |seq| {
        let (marker, payload_type) = (false, 98);
        Header { marker, payload_type, seq, timestamp: 0, ssrc: 100, payload: 0 }.write()
    };
    for seq in [0, 1, 2, 3, 5] {
        see(&mut session, u64::from(seq) * MS, true, &media(seq), Ecn::Ect1);
    }
    see(&mut session, 50 * MS, false, &feedback(3, 3, Ecn::Ect1), Ecn::NotEct);
    see(&mut session, 51 * MS, true, &media(4), Ecn::Ect1);
    for _ in 0..2 {
        see(&mut session, 60 * MS, false, &feedback(3, 2, Ecn::Ce), Ecn::NotEct);
    }
    let media = session.finish().expect("a session");
    assert_eq!((media.reported_received, media.reported_ce, media.reported_unseen), (3, 2, 1));
    assert_eq!((media.path.ect1.ce, media.path.ect1.ect1, media.path.total()), (1, 1, 2));
}

proptest! {
    #[test]
    fn random_datagrams_are_not_rtp(packets in prop::collection::vec(
        prop::collection::vec(any::<u8>(), 0..60), 1..200),
    ) {
        let mut session = Session::default();
        for (at, mut bytes) in (0..).zip(packets) {
            if let [first, ..] = &mut bytes[..] {
                *first = *first & 0x3f | 0x80;
            }
            see(&mut session, at * MS, at % 2 == 0, &bytes, Ecn::NotEct);
        }
        prop_assert!(!session.is_recognised());
        prop_assert_eq!(session.finish(), None);
    }

    /// Whatever order packets and reports come in, each packet has one verdict.
    #[test]
    fn verdicts_add_up(events in prop::collection::vec((0..400_u16, any::<bool>(), 0..4_u8), 1..300)) {
        let mut session = Session::default();
        for seq in 0..400_u16 {
            let header = Header {
                marker: false, payload_type: 98, seq, timestamp: 0, ssrc: 100, payload: 0,
            };
            see(&mut session, u64::from(seq) * MS, true, &header.write(), Ecn::Ect1);
        }
        let mut reported = std::collections::BTreeSet::new();
        for (at, (seq, received, ecn)) in (400..).zip(events) {
            let mut out = [0; 100];
            let stamp = sojourn_core::wire::ticks::Ticks(at as u32 * 66);
            let received = received.then_some(stamp);
            let metric = ccfb::Metric { received, ecn: Ecn::from_tos(ecn) };
            let mut writer = ccfb::Writer::new(&mut out, ccfb::Format::default(), 10, stamp).expect("room");
            writer.block(100, seq, [metric].into_iter());
            let len = writer.finish();
            see(&mut session, at * MS, false, &out[..len], Ecn::NotEct);
            reported.insert(seq);
        }
        let reports = reported.len() as u64;
        if let Some(media) = session.finish() {
            prop_assert_eq!(media.reported_received + media.reported_lost, reports);
            prop_assert_eq!(media.path.total(), media.reported_received);
        }
    }
}
