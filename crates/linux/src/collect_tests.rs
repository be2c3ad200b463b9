use serde_json::json;
use sojourn_scenario::load;

use super::*;
use crate::job::{FlowJob, Job, Network, PingJob, QueuePlace};

const SCENARIO: &str = r#"
name = "line"
duration = "10s"
measure = { from = "2s", to = "8s" }
[[link]]
name = "bneck"
rate = "8Mbit"
shaper = "htb"
qdisc = "dualpi2"
reverse = { rate = "none", qdisc = "pfifo" }
[[flow]]
name = "f"
cc = "cubic"
start = "1s"
start_jitter = "1s"
stop = "9s"
[[ping]]
name = "p"
interval = "1s"
"#;

fn scenario() -> Scenario {
    load(SCENARIO, "line.toml", &[]).expect("a valid scenario").scenario
}

fn devices() -> Vec<Device> {
    let device = |name: &str, port: &str, depth| Device {
        namespace: "mid-bneck".into(),
        name: name.into(),
        queues: vec![QueuePlace { port: port.into(), depth }],
    };
    vec![device("left", "bneck.reverse", 0), device("right", "bneck", 1)]
}

fn dualpi2(bytes: u64, drops: u64) -> String {
    json!([
        {"kind": "htb", "handle": "1:", "root": true, "bytes": bytes, "packets": 1, "drops": 9},
        {"kind": "dualpi2", "handle": "2:", "parent": "1:1", "bytes": bytes, "packets": 7,
         "drops": drops, "backlog": 3028, "qlen": 2, "delay-c": 12000, "ecn-mark": 5, "step-mark": 3},
    ])
    .to_string()
}

fn lines(lines: &[Line]) -> Measured {
    let scenario = scenario();
    let devices = devices();
    let mut collector = Collector::new(&scenario, &devices);
    for line in lines {
        collector.take(&serde_json::to_string(line).expect("plain data")).expect("a good line");
    }
    collector.finish(true)
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn goodput_is_what_the_receiver_read_within_the_window() {
    let at = |s: u64| {
        let sample = FlowSample { goodput_bytes: s * s * 1_000_000, ..FlowSample::default() };
        Line::Flow(0, s * SECOND, sample)
    };
    let measured = lines(&(1..10).map(at).collect::<Vec<_>>());
    // (64 - 4) MB in 6 s.
    assert_eq!(measured.output.summary.flows[0].goodput_mbps, 80.0);
    assert_eq!(measured.output.summary.flows[0].receiver.0[0], ("delivered_bytes".into(), 81e6));
}

#[test]
fn tcp_info_is_told_in_the_units_of_the_series() {
    let sample = FlowSample {
        delivery_rate: 1_000_000,
        rtt_us: 20_500,
        ssthresh: NO_THRESHOLD,
        pacing_rate: u64::MAX,
        ..FlowSample::default()
    };
    let measured = lines(&[Line::Flow(0, 3 * SECOND, sample)]);
    let value = |name: &str| {
        let mut columns = measured.output.series.iter();
        let column = columns.find(|c| c.name == format!("flow.f.{name}")).expect("a series");
        (column.t[0], column.v[0])
    };
    assert_eq!(value("delivery_rate"), (3.0, 8.0));
    assert_eq!(value("rtt"), (3.0, 20.5));
    assert_eq!(value("pacing_rate"), (3.0, 0.0));
    assert!(value("ssthresh").1.is_nan());
    let summary = &measured.output.summary.flows[0];
    assert_eq!(summary.rtt_ms.map(|s| (s.n, s.mean)), Some((1, 20.5)));
}

#[test]
fn a_queue_is_found_below_its_shaper_and_keeps_its_accounts() {
    let measured = lines(&[
        Line::Queues(1, 2 * SECOND, dualpi2(1_000_000, 0)),
        Line::Queues(1, 8 * SECOND, dualpi2(4_000_000, 0)),
        Line::Queues(1, 9 * SECOND, dualpi2(5_000_000, 0)),
        Line::Clock(9 * SECOND),
    ]);
    let queue = &measured.output.queues[0];
    assert_eq!((queue.name.as_str(), queue.qdisc.as_str()), ("bneck", "dualpi2"));
    assert_eq!((queue.received_packets, queue.sent_packets, queue.backlog_packets), (9, 7, 2));
    assert_eq!(queue.marked, 5, "step marks are among the marks");
    // 3 MB in 6 s at 8 Mbit/s.
    assert_eq!(queue.utilisation, Some(0.5));
    assert!(queue.stats.0.contains(&("step_mark".into(), 3.0)));
    let json: Value = serde_json::from_str(&measured.queues_json()).expect("JSON");
    assert_eq!(json[0]["received_bytes"], 5_003_028);
}

#[test]
fn bytes_that_the_kernel_does_not_count_are_null() {
    let measured = lines(&[Line::Queues(1, SECOND, dualpi2(1_000_000, 4))]);
    let json: Value = serde_json::from_str(&measured.queues_json()).expect("JSON");
    assert_eq!(json[0]["dropped"], 4);
    assert_eq!(json[0]["dropped_bytes"], Value::Null);
    assert_eq!(json[0]["received_bytes"], Value::Null);
}

#[test]
fn marks_of_cake_are_those_of_its_tins() {
    let row = json!({"kind": "cake", "tins": [{"ecn_mark": 2}, {"ecn_mark": 3}]});
    assert_eq!(marks(&row), 5.0);
    assert!(counters(&row).0.contains(&("tin1_ecn_mark".into(), 3.0)));
}

#[test]
fn what_stopped_the_inside_is_the_error() {
    let scenario = scenario();
    let mut collector = Collector::new(&scenario, &[]);
    let line = serde_json::to_string(&Line::Failed("no tc".into())).expect("plain data");
    assert_eq!(collector.take(&line), Err("no tc".into()));
    assert!(collector.take("{").is_err());
}

#[test]
fn pings_keep_the_instant_at_which_the_reply_came() {
    let measured = lines(&[Line::Pings(0, 3, 1), Line::Ping(0, 2 * SECOND + 1, 20_000_000)]);
    let ping = &measured.output.summary.pings[0];
    assert_eq!(ping.rtt_ms.map(|s| s.mean), Some(20.0));
    assert_eq!(ping.totals.0, [("sent".into(), 3.0), ("received".into(), 1.0)]);
}

#[test]
fn the_job_has_the_scenarios_times() {
    let scenario = scenario();
    let job = Job::new(&scenario, &Network::default());
    let FlowJob { start_ns, stop_ns, port, .. } = job.flows[0];
    assert_eq!(start_ns, scenario.flows[0].opens(scenario.seed).0);
    assert!((SECOND..2 * SECOND).contains(&start_ns), "the jitter is drawn");
    assert_eq!((stop_ns, port), (Some(9 * SECOND), 5201));
    let PingJob { interval_ns, stop_ns, .. } = job.pings[0];
    assert_eq!((interval_ns, stop_ns), (SECOND, 10 * SECOND));
}
