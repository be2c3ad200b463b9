//! Pairs of captures of a testbed (ect1: Linux 5.4 of L4STeam in network namespaces of one machine, so that both
//! captures have one clock; netem, then HTB with DualPI2 or CoDel, are between client and server).

use std::fs::File;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use sojourn_capture::read::Capture;
use sojourn_inspect::pair::{Options, compare};
use sojourn_inspect::report::Protocol;
use sojourn_inspect::report::pair::{Report, Way};

fn open(run: &str, end: &str) -> Capture {
    let path = Path::new(env!("CAPTURES")).join(format!("{run}.{end}_{end}.pcap.xz"));
    Capture::open(&path).expect("a capture")
}

/// Round trips that ping printed, ms, in whole tenths.
fn mean_ping(run: &str) -> f64 {
    let path: PathBuf = [env!("CAPTURES"), "../flent", &format!("{run}.flent.gz")].iter().collect();
    let file = GzDecoder::new(File::open(path).expect("a result"));
    let document: serde_json::Value = serde_json::from_reader(file).expect("JSON");
    let samples = document["raw_values"]["Ping (ms) ICMP"].as_array().expect("pings");
    let samples: Vec<f64> = samples.iter().filter_map(|sample| sample["val"].as_f64()).collect();
    samples.iter().sum::<f64>() / samples.len() as f64
}

fn ways(report: &Report, protocol: Protocol) -> Vec<&Way> {
    let flows = report.flows.iter().filter(|flow| flow.protocol == protocol);
    flows.flat_map(|flow| [&flow.forward, &flow.backward]).collect()
}

/// A run, its segments, its CE marks at the server by tshark's count (the client's capture has none), pings without
/// an answer, round trip of the empty path.
fn check(run: &str, segments: u64, ce: u64, lost_pings: u64, rtt_ms: f64) {
    let report = compare(&mut open(run, "cli"), &mut open(run, "srv"), Options::default());
    assert_eq!(report.given_up, [0, 0]);
    let tcp = ways(&report, Protocol::Tcp);
    let sum = |of: fn(&Way) -> u64| tcp.iter().map(|way| of(way)).sum::<u64>();
    assert_eq!((sum(|way| way.both), sum(|way| way.lost), sum(|way| way.added)), (segments, 0, 0));
    assert_eq!(sum(|way| way.path.marked()), ce);
    assert_eq!(sum(|way| way.path.bleached() + way.path.forbidden() + way.reordered), 0);
    for way in &tcp {
        assert!(way.tcp_flags.is_empty() && way.options_removed.is_empty() && way.dscp.is_empty());
        // Neither DualPI2's step nor CoDel's CE threshold, both of 1 ms, mark earlier.
        if let Some(marked) = way.queue_delay_marked_ms {
            assert!(marked.min >= 1.0, "{marked:?}");
        }
        assert!(way.queue_delay_ms.is_none_or(|delay| delay.min >= 0.0));
    }
    let clocks = report.clocks.expect("both directions");
    let [offset, error] = [clocks.offset_s, clocks.offset_error_s].map(Option::unwrap);
    assert!(offset.abs() <= error, "one clock: {clocks:?}");
    assert!(clocks.skew_ppm.abs() <= 2.0 * clocks.skew_error_ppm + 0.01, "{clocks:?}");
    let base = clocks.base_rtt_ms.unwrap();
    assert!((base - rtt_ms).abs() <= 0.01 * rtt_ms, "{clocks:?}");
    // What ping measured is the empty path and both queues. Its losses are those between the points.
    let pings = ways(&report, Protocol::Icmp);
    let queues: f64 = pings.iter().filter_map(|way| Some(way.queue_delay_ms?.mean)).sum();
    let ping = mean_ping(run);
    assert!((base + queues - ping).abs() <= 0.01 * ping, "{base} + {queues}, ping {ping}");
    assert_eq!(pings.iter().map(|way| way.lost).sum::<u64>(), lost_pings);
}

#[test]
#[cfg_attr(not(captures), ignore = "SOJOURN_REFERENCE does not point to captures")]
fn marks_and_delays_between_client_and_server_are_those_of_tshark_and_ping() {
    check("l4s-s1-oneflow-ns-prague-dualpi2-5Mbit-20ms", 16_870, 2262, 0, 20.0);
    check("l4s-s1-oneflow-ns-prague-dualpi2-50Mbit-20ms", 179_960, 13_196, 0, 20.0);
    check("l4s-s2-twoflow-ns-cubic-vs-prague-codel1q_20ms_-20ms", 241_501, 4486, 6, 20.0);
    check("l4s-s5-burstiness-ns-prague-dualpi2-50Mbit-80ms", 43_074, 61, 0, 80.0);
}
