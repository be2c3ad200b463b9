//! Datagrams that both ends of the SCReAM BW test tool sent each other, three builds of it: its
//! reports are read as it means them, and our receiver reports the same to its sender.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sojourn_cc::scream::{AckLine, Config, Rtp, Sender, Stream, Ticks, Version};
use sojourn_core::wire::ccfb::{Count, Counting, Report};
use sojourn_core::wire::rtp::Header;
use sojourn_core::{Dur, Ecn, Time};
use sojourn_transport::media::scream_rx::{Params, REPORT_BYTES, Receiver};

const BUILDS: [(&str, Version); 3] = [
    ("2020-03-20", Version::V2020),
    ("2024-10-28", Version::V2024),
    ("2026-06-30", Version::V2026),
];
const RTP_HEADER: usize = 12;

enum Datagram {
    /// To the receiver: a media packet's header and codepoint, and bytes of the whole.
    Media { header: Header, ecn: Ecn, bytes: u32 },
    /// To the sender.
    Report(Vec<u8>),
    /// Keep-alives and lines for the other end's terminal.
    Other,
}

fn recorded(build: &str) -> Vec<(Time, Datagram)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let path = root.join(format!("scream-{build}.txt"));
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| datagram(line).unwrap_or_else(|| panic!("{build}: {line}"))).collect()
}

fn datagram(line: &str) -> Option<(Time, Datagram)> {
    let mut columns = line.split(' ');
    let time = Time(columns.next()?.parse::<u64>().ok()? * 1000);
    let to_receiver = columns.next()? == "tx";
    let tos = u8::from_str_radix(columns.next()?.strip_prefix("0x")?, 16).ok()?;
    let len: usize = columns.next()?.parse().ok()?;
    let hex = columns.next()?;
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let mut bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect::<Option<_>>()?;
    if len == 1 || bytes[1] == 0x7f {
        return Some((time, Datagram::Other));
    }
    if !to_receiver {
        return Some((time, Datagram::Report(bytes)));
    }
    assert_eq!(bytes.len(), RTP_HEADER, "a header is recorded");
    bytes.resize(len, 0);
    let header = Header::parse(&bytes).ok()?;
    Some((time, Datagram::Media { header, ecn: Ecn::from_tos(tos), bytes: len as u32 }))
}

/// What reports say of each number: how often, and the first time of arrival, in 1/65536 s of the
/// receiver's clock.
type Metrics = BTreeMap<u16, (u32, u32)>;

fn listen(metrics: &mut Metrics, report: &Report<'_>) {
    for block in report.blocks() {
        assert_eq!(block.ssrc, 100);
        for (index, metric) in block.metrics().enumerate() {
            let Some(received) = metric.received else { continue };
            assert_eq!(metric.ecn, Ecn::Ect1);
            let entry = metrics.entry(block.begin.wrapping_add(index as u16));
            entry.or_insert((0, received.0)).0 += 1;
        }
    }
}

#[test]
fn the_tools_reports_are_read_as_it_counts_and_name_what_was_sent() {
    for (build, _) in BUILDS {
        let (mut counting, mut metrics) = (Counting::default(), Metrics::new());
        let (mut sent, mut reports) = (0, 0);
        for (time, datagram) in recorded(build) {
            match datagram {
                Datagram::Media { header, ecn, .. } => {
                    assert_eq!((header.seq, header.ssrc, ecn), (sent, 100, Ecn::Ect1), "{build}");
                    sent += 1;
                }
                Datagram::Report(bytes) => {
                    let report = Report::parse(&bytes, &mut counting);
                    let report = report.unwrap_or_else(|e| panic!("{build} {time:?}: {e}"));
                    assert_eq!((report.sender, report.count), (10, Count::LessOne), "{build}");
                    assert!(report.blocks().all(|b| b.metrics().len() == 64), "{build}");
                    listen(&mut metrics, &report);
                    let newest = *metrics.keys().next_back().expect("a report names a packet");
                    assert!(newest < sent, "{build}: {newest} is reported before it was sent");
                    reports += 1;
                }
                Datagram::Other => {}
            }
        }
        assert_eq!(counting.known(), Some(Count::LessOne));
        // Nothing was lost, so that the numbers up to the newest that is reported are all there.
        assert!(metrics.keys().copied().eq(0..metrics.len() as u16), "{build}");
        assert!(reports > 20 && metrics.len() > 300, "{build}: {reports} of {}", metrics.len());
    }
}

#[test]
fn our_receiver_reports_what_the_tools_receiver_reports() {
    for (build, version) in BUILDS {
        let rows = recorded(build);
        let mut rx = Receiver::new(Params::new(version, true), Time::ZERO);
        let (mut ours, mut theirs) = (Metrics::new(), Metrics::new());
        let (mut our_reports, mut their_reports) = (0_i32, 0_i32);
        let mut out = [0; REPORT_BYTES];
        let mut counting = Counting::fixed(Count::LessOne);
        for (time, datagram) in rows {
            let mut now = rx.deadline().min(time);
            loop {
                while let Some(len) = rx.next_report(now, &mut out) {
                    let bytes = &out[..len];
                    assert_eq!(len, 148, "{build}");
                    let report = Report::parse(bytes, &mut counting).expect("a report");
                    listen(&mut ours, &report);
                    our_reports += 1;
                }
                if now >= time {
                    break;
                }
                now = rx.deadline().max(now + Dur(1)).min(time);
            }
            match datagram {
                Datagram::Media { header, ecn, bytes } => {
                    rx.on_rtp(time, &header, bytes, ecn);
                }
                Datagram::Report(bytes) => {
                    listen(&mut theirs, &Report::parse(&bytes, &mut counting).expect("a report"));
                    their_reports += 1;
                }
                Datagram::Other => {}
            }
        }
        // The recorded times are those of the wire, the tool's those of its threads, which also look
        // for reports only every 0.5 ms.
        assert!(
            (our_reports - their_reports).abs() <= 1,
            "{build}: {our_reports}, {their_reports}"
        );
        assert!(ours.len().abs_diff(theirs.len()) <= 16, "{build}: the end");
        let after_first =
            |metrics: &Metrics, seq: u16| metrics[&seq].1.wrapping_sub(metrics[&0].1) as i32;
        for seq in theirs.keys().filter(|seq| ours.contains_key(seq)) {
            let late = after_first(&ours, *seq) - after_first(&theirs, *seq);
            // 2 of the 1/1024 s of the wire format for rounding, 1 for the threads.
            assert!(late.abs() < 3 * 64, "{build} {seq}: {late} of 1/65536 s");
        }
    }
}

#[test]
fn our_sender_takes_the_tools_reports_as_its_own_would() {
    for (build, version) in BUILDS.into_iter().filter(|(_, v)| *v >= Version::V2024) {
        let at = |time: Time| Ticks::at(time, Time::ZERO);
        let mut tx = Sender::new(Config { l4s: true, ..Config::new(version) }, at(Time::ZERO));
        let stream = tx.add_stream(Stream::new(100)).expect("a place");
        let mut counting = Counting::default();
        let (mut metrics, mut acked) = (Metrics::new(), Vec::new());
        for (time, datagram) in recorded(build) {
            let now = at(time);
            match datagram {
                Datagram::Media { header, bytes, .. } => {
                    let packet = Rtp {
                        seq: header.seq,
                        bytes,
                        timestamp: header.timestamp,
                        marker: header.marker,
                        queued: now,
                        handle: 0,
                    };
                    assert!(tx.push(now, stream, packet), "{build}");
                    // The tool's sender had its own reasons to send now.
                    let left = tx.transmit(now, stream).expect("it waits");
                    assert_eq!(left.packet.seq, header.seq, "{build}");
                }
                Datagram::Report(bytes) => {
                    let report = Report::parse(&bytes, &mut counting).expect("a report");
                    listen(&mut metrics, &report);
                    let mut note =
                        |line: &AckLine| acked.push((line.seq, line.rtt, line.lost_rate));
                    for block in report.blocks() {
                        let metrics = block.metrics();
                        tx.on_block(now, block.ssrc, block.begin, metrics, true, &mut note);
                    }
                }
                Datagram::Other => {}
            }
        }
        // One line per packet, in order; what is on the wire's own side is answered at once.
        assert!(acked.iter().map(|(seq, ..)| *seq).eq(metrics.keys().copied()), "{build}");
        assert!(acked.iter().all(|(_, rtt, lost)| *rtt < 0.1 && *lost == 0.0), "{build}");
        let mut rtts: Vec<f32> = acked.iter().map(|(_, rtt, _)| *rtt).collect();
        rtts.sort_by(f32::total_cmp);
        assert!(rtts[rtts.len() / 2] < 0.03, "{build}: median {}", rtts[rtts.len() / 2]);
    }
}
