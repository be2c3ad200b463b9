//! Captures of a kernel testbed (ect1: Linux 5.4 of L4STeam, AccECN, 128 bytes of each packet), each against a count
//! from the fields that tshark prints, and against the Flent file of the same run.
//!
//! None of these runs has a loss, as tshark's `tcp.analysis.retransmission` says too; retransmissions are counted from
//! the sequence numbers all the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sojourn_capture::{Capture, layers};
use sojourn_inspect::report::{Direction, EcnMode, Flow, Protocol, Report};
use sojourn_inspect::series::{Series, Window};
use sojourn_inspect::{Analyser, Options};

use crate::flent::{self, Upload};
use crate::tshark;

const SMALL: [&str; 2] = [
    "l4s-s1-oneflow-ns-prague-dualpi2-5Mbit-20ms",
    "l4s-s5-burstiness-ns-prague-dualpi2-50Mbit-80ms",
];
const LARGE: [&str; 2] = [
    "l4s-s1-oneflow-ns-prague-dualpi2-50Mbit-20ms",
    "l4s-s2-twoflow-ns-cubic-vs-prague-codel1q_20ms_-20ms",
];

fn capture(run: &str, side: &str) -> PathBuf {
    Path::new(env!("CAPTURES")).join(format!("{run}.{side}_{side}.pcap.xz"))
}

fn analyse(path: &Path, options: Options) -> Report {
    let mut capture = Capture::open(path).expect("a capture");
    let mut analyser = Analyser::new(options);
    while let Some(record) = capture.next() {
        match layers::dissect(record.link, record.bytes) {
            Ok(layers) => analyser.packet(record.time, &layers),
            Err(why) => analyser.skip(why),
        }
    }
    analyser.finish()
}

fn connections(report: &Report) -> Vec<(usize, &Flow)> {
    report.flows.iter().enumerate().filter(|(_, flow)| flow.protocol == Protocol::Tcp).collect()
}

fn counts_are_those_of_tshark(run: &str) {
    for side in ["cli", "srv"] {
        let path = capture(run, side);
        let Some(counted) = tshark::count(&path) else { return };
        let report = analyse(&path, Options::default());
        let mut found = BTreeMap::new();
        for (_, flow) in connections(&report) {
            let mut add = |direction: &Direction, ports| {
                let tcp = direction.tcp.as_ref().expect("of TCP");
                let counts = tshark::Counts {
                    segments: direction.packets,
                    data: direction.data_packets,
                    bytes: direction.data_bytes,
                    ce: direction.ecn.ce,
                    ect1: direction.ecn.ect1,
                    ece: tcp.ece,
                    cwr: tcp.cwr,
                    ae: tcp.ae,
                    repeated: tcp.retransmissions.all + tcp.probes + tcp.captured_twice,
                };
                assert_eq!(found.insert(ports, counts), None);
            };
            add(&flow.forward, (flow.opener.port, flow.peer.port));
            add(&flow.backward, (flow.peer.port, flow.opener.port));
        }
        assert_eq!(found, counted, "{run} {side}");
    }
}

/// AccECN of the sender's side and of the receiver's: what the ACE field says is what the receiver got.
fn feedback_is_what_arrived(run: &str) {
    let [sender, receiver] =
        ["cli", "srv"].map(|side| analyse(&capture(run, side), Options::default()));
    let mut long = 0;
    for ((_, there), (_, here)) in connections(&sender).into_iter().zip(connections(&receiver)) {
        let of = |flow: &Flow| {
            assert_eq!(flow.tcp.as_ref().and_then(|tcp| tcp.ecn), Some(EcnMode::AccEcn));
            flow.backward.tcp.as_ref().and_then(|tcp| tcp.accecn).expect("feedback")
        };
        let (there_says, here_says) = (of(there), of(here));
        let arrived = here.forward.ecn.ce;
        assert_eq!(
            (there_says.ce_packets_least, here_says.ce_packets_least),
            (arrived, arrived),
            "{run}"
        );
        // Without the option an ACK of 18 packets is read as 16 marks that nobody made.
        assert!(here_says.excess_over_capture <= 16 * here_says.ambiguous as i64, "{here_says:?}");
        assert_eq!(there.forward.ecn.ce, 0, "marks are made behind the sender");
        long += u32::from(arrived > 0);
    }
    assert!(long > 0);
}

/// Goodput and round trips within 1 % of Flent's.
///
/// Goodput: netperf counts what it has handed to the kernel, of which the send buffer holds a part until the end, so
/// both are compared from one second after the first interim result to one second before the last. Round trips: `ss`
/// shows the kernel's smoothed round trip, from the oldest segment that an ACK acknowledges; means of it, and of our
/// intervals of 100 ms, from 2 s after its first sample to 2 s before its last.
fn goodput_and_round_trips_are_flents(run: &str) {
    let uploads =
        flent::uploads(&Path::new(env!("CAPTURES")).join(format!("../flent/{run}.flent.gz")));
    let report = analyse(&capture(run, "cli"), Options { events: true, ..Options::default() });
    let flows: Vec<(usize, &Flow)> = connections(&report)
        .into_iter()
        .filter(|(_, flow)| flow.forward.data_bytes > 1_000_000)
        .collect();
    assert_eq!(uploads.len(), flows.len());
    for (Upload { interim, rtt }, (at, _)) in uploads.iter().zip(flows) {
        let series = Series::of(&report.events[at], false, Window::Interval(100_000_000));
        let starts: Vec<f64> =
            series.t_ns.iter().map(|t| (report.start_ns + t) as f64 / 1e9).collect();
        let within = |(from, to): (f64, f64), t: f64| t >= from && t <= to;
        let (first, last) = (rtt[0].0 + 2.0, rtt[rtt.len() - 1].0 - 2.0);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let theirs: Vec<f64> =
            rtt.iter().filter(|s| within((first, last), s.0)).map(|s| s.1).collect();
        let rows = starts.iter().zip(&series.rtt_ms);
        let ours: Vec<f64> = rows
            .filter(|(t, ms)| within((first, last), **t) && ms.is_finite())
            .map(|(_, ms)| *ms)
            .collect();
        let off = mean(&ours) / mean(&theirs) - 1.0;
        assert!(off.abs() < 0.01, "{run}: round trips {} and {} ms", mean(&ours), mean(&theirs));

        let edges = (interim[0].0 + 1.0, interim[interim.len() - 1].0 - 1.0);
        let grown = |points: &[(f64, f64)]| at_time(points, edges.1) - at_time(points, edges.0);
        let mut sum = 0.0;
        let acked: Vec<(f64, f64)> = starts
            .iter()
            .zip(&series.acked)
            .map(|(t, bytes)| {
                sum += *bytes as f64;
                (t + 0.1, sum)
            })
            .collect();
        let off = grown(&acked) / grown(interim) - 1.0;
        assert!(off.abs() < 0.01, "{run}: {} and {} bytes", grown(&acked), grown(interim));
    }
}

/// The value at a time, between two points in order.
fn at_time(points: &[(f64, f64)], t: f64) -> f64 {
    let next = points.partition_point(|point| point.0 < t);
    let (before, behind) = (points[next - 1], points[next]);
    before.1 + (behind.1 - before.1) * (t - before.0) / (behind.0 - before.0)
}

#[test]
#[cfg_attr(not(captures), ignore = "SOJOURN_REFERENCE does not point to the captures")]
fn small_captures_have_tsharks_counts() {
    SMALL.into_iter().for_each(counts_are_those_of_tshark);
}

#[test]
#[ignore = "half a minute, of which tshark takes most"]
fn large_captures_have_tsharks_counts() {
    LARGE.into_iter().for_each(counts_are_those_of_tshark);
}

#[test]
#[cfg_attr(not(captures), ignore = "SOJOURN_REFERENCE does not point to the captures")]
fn the_sender_is_told_what_arrived() {
    SMALL.into_iter().chain(LARGE).for_each(feedback_is_what_arrived);
}

#[test]
#[cfg_attr(not(captures), ignore = "SOJOURN_REFERENCE does not point to the captures")]
fn goodput_and_round_trips_are_those_of_the_flent_files() {
    SMALL.into_iter().chain(LARGE).for_each(goodput_and_round_trips_are_flents);
}

/// Names of scetrace's directions.
const NAMES: &str = "AckedBytes AckedSegmentsPercent Acks CE CWR DataSegments DuplicateAcks ECE ESCE ESCEAckedBytes \
    ESCEAckedBytesPercent ESCEPercent ElapsedAckTimeSeconds FirstAckTime GapBytes Gaps GoodputMbit IPG LastAckTime \
    LatePercent LateSegments LostBytesPercent MeanGapSizeBytes MeanSegmentSizeBytes RetransmittedPercent \
    RetransmittedSegments SCE SCEIPG SCEPercent SCERunLength SackedBytes Segments SeqRTT TSValRTT";

#[test]
#[cfg_attr(not(captures), ignore = "SOJOURN_REFERENCE does not point to the captures")]
fn scetraces_document_has_its_names_and_the_reports_numbers() {
    let report = analyse(&capture(SMALL[0], "srv"), Options::default());
    let document = sojourn_inspect::scetrace::document(&report);
    let flows = document["TCP"].as_array().expect("flows");
    let (flow, of) = flows.iter().zip(connections(&report)).next_back().expect("the upload");
    for (direction, of) in [("Up", &of.1.forward), ("Down", &of.1.backward)] {
        let fields = flow[direction].as_object().expect("a direction");
        let names: Vec<&str> = fields.keys().map(String::as_str).collect();
        assert_eq!(names, NAMES.split_whitespace().collect::<Vec<_>>());
        assert_eq!(fields["Segments"], of.packets);
        assert_eq!(fields["CE"], of.data_ecn.ce);
        assert_eq!(fields["SCE"], 0, "ECT(1) of L4S");
    }
    assert_eq!(flow["ECNInitiated"], true);
    assert_eq!(document["Meta"]["CaptureStartTime"], "2020-04-25T09:01:04.365478000Z");
}
