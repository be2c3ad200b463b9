use serde_json::json;
use sojourn_scenario::load;

use super::*;
use crate::job::Place;
use crate::job::{
    Arrival, FlowJob, FlowSample, Job, PingJob, Receiving, Sending, ShortSample, UdpSample,
};
use crate::network::{Hook, Network, QueuePlace};

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
        hook: None,
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

fn lines(text: &[Line]) -> Output {
    lines_of(scenario(), text)
}

fn lines_of(scenario: Scenario, lines: &[Line]) -> Output {
    let devices = devices();
    let mut collector = Collector::new(Arc::new(scenario), &devices);
    for line in lines {
        collector.take(&serde_json::to_string(line).expect("plain data")).expect("a good line");
    }
    collector.finish(true)
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn goodput_is_what_the_receiver_read_within_the_window() {
    let at = |s: u64| {
        let sample = FlowSample { read: s * s * 1_000_000, ..FlowSample::default() };
        Line::Flow(0, s * SECOND, sample)
    };
    let output = lines(&(1..10).map(at).collect::<Vec<_>>());
    // (64 - 4) MB in 6 s.
    assert_eq!(output.summary.flows[0].goodput_mbps, 80.0);
    assert_eq!(output.summary.flows[0].receiver.0[0], ("delivered_bytes".into(), 81e6));
}

#[test]
fn tcp_info_is_told_in_the_units_of_the_series() {
    let tx = Sending {
        delivery_rate: 1_000_000,
        rtt_us: 20_500,
        ssthresh: 0x7fff_ffff,
        pacing_rate: u64::MAX,
        ..Sending::default()
    };
    let sample = FlowSample { tx, ..FlowSample::default() };
    let output = lines(&[Line::Flow(0, 3 * SECOND, sample)]);
    let value = |name: &str| {
        let mut columns = output.series.iter();
        let column = columns.find(|c| c.name == format!("flow.f.{name}")).expect("a series");
        (column.t[0], column.v[0])
    };
    assert_eq!(value("delivery_rate"), (3.0, 8.0));
    assert_eq!(value("rtt"), (3.0, 20.5));
    assert_eq!(value("pacing_rate"), (3.0, 0.0));
    assert!(value("ssthresh").1.is_nan());
    let summary = &output.summary.flows[0];
    assert_eq!(summary.rtt_ms.map(|s| (s.n, s.mean)), Some((1, 20.5)));
}

#[test]
fn an_rtt_that_was_not_measured_yet_is_absent() {
    let at = |s: u64, rtt_us| {
        let tx = Sending { rtt_us, ..Sending::default() };
        Line::Flow(0, s * SECOND, FlowSample { tx, ..FlowSample::default() })
    };
    let output = lines(&[at(2, 0), at(3, 20_500)]);
    let mut columns = output.series.iter();
    let rtt = columns.find(|c| c.name == "flow.f.rtt").expect("it was measured");
    assert_eq!((&rtt.t[..], &rtt.v[..]), (&[3.0][..], &[20.5][..]));
    let summary = &lines(&[at(2, 0)]).summary.flows[0];
    assert!(summary.rtt_ms.is_none());
}

#[test]
fn a_queue_is_found_below_its_shaper_and_keeps_its_accounts() {
    let output = lines(&[
        Line::Queues(1, 2 * SECOND, dualpi2(1_000_000, 0)),
        Line::Queues(1, 8 * SECOND, dualpi2(4_000_000, 0)),
        Line::Queues(1, 9 * SECOND, dualpi2(5_000_000, 0)),
        Line::Clock(9 * SECOND),
    ]);
    let queue = &output.queues[0];
    assert!(queue.name == "bneck" && queue.qdisc.starts_with("dualpi2 "), "{}", queue.qdisc);
    assert_eq!((queue.received_packets, queue.sent_packets, queue.backlog_packets), (9, 7, 2));
    assert_eq!(queue.marked, 5, "step marks are among the marks");
    // 3 MB in 6 s at 8 Mbit/s.
    assert_eq!(queue.utilisation, Some(0.5));
    assert!(queue.stats.0.contains(&("step_mark".into(), 3.0)));
    assert_eq!(queue.marks.0, [("step".into(), 3.0), ("ecn_mark".into(), 2.0)]);
    let json: Value = serde_json::from_str(&output.queues_json()).expect("JSON");
    assert_eq!(json[0]["received_bytes"], 5_003_028);
}

#[test]
fn a_replaced_queue_keeps_its_accounts_and_drops_what_waited() {
    let row = |handle: &str, packets: u64, drops: u64| {
        json!([
            {"kind": "htb", "handle": "1:", "root": true},
            {"kind": "pfifo", "handle": handle, "parent": "1:1", "bytes": packets * 100, "packets": packets,
             "drops": drops, "backlog": 300, "qlen": 3},
        ])
        .to_string()
    };
    let output = lines(&[
        Line::Queues(1, SECOND, row("2:", 10, 1)),
        Line::Before(1, 2 * SECOND, row("2:", 20, 2)),
        Line::Queues(1, 2 * SECOND, row("3:", 5, 4)),
        Line::Clock(2 * SECOND),
    ]);
    let queue = &output.queues[0];
    assert_eq!((queue.sent_packets, queue.sent_bytes, queue.backlog_packets), (25, Some(2500), 3));
    assert_eq!(queue.drops.0, [("tail_limit".into(), 6.0), ("purge".into(), 3.0)]);
    assert_eq!(queue.received_packets, 25 + 9 + 3);
    let drops = output.series.iter().find(|c| c.name == "queue.bneck.drops");
    assert_eq!(drops.map(|c| c.v.clone()), Some(vec![1.0, 9.0]), "no sample before a change");
}

#[test]
fn queues_in_a_row_have_accounts_of_their_own() {
    let text = SCENARIO.replace("qdisc = \"dualpi2\"", "ingress = [\"netem\", \"netem\"]");
    let scenario = load(&text, "line.toml", &[]).expect("a valid scenario").scenario;
    let place = |port: &str, depth| QueuePlace { port: port.into(), depth };
    let queues = vec![place("bneck.ingress0", 1), place("bneck.ingress1", 2)];
    let hook = None;
    let device = Device { namespace: "mid".into(), name: "ifb-left".into(), hook, queues };
    let row = |handle: &str, drops: [u64; 2], qlen: [u64; 2]| {
        json!([
            {"kind": "netem", "handle": "1:", "root": true, "qlen": 40},
            {"kind": "netem", "handle": "2:", "parent": "1:1", "packets": 100, "drops": drops[0],
             "dropped": 5, "qlen": qlen[0]},
            {"kind": "netem", "handle": handle, "parent": "2:1", "packets": 100, "drops": drops[1],
             "dropped": drops[1], "qlen": qlen[1]},
        ])
        .to_string()
    };
    let devices = [device];
    let mut collector = Collector::new(Arc::new(scenario), &devices);
    let take = |collector: &mut Collector, line: Line| {
        collector.take(&serde_json::to_string(&line).expect("plain data")).expect("a good line");
    };
    take(&mut collector, Line::Before(0, SECOND, row("3:", [25, 20], [10, 4])));
    // The lower one is replaced: its four packets are gone, which the upper one counts too.
    take(&mut collector, Line::Queues(0, SECOND, row("4:", [30, 1], [10, 2])));
    let queues = collector.finish(true).queues;
    let of = |n: usize| {
        let q = &queues[n];
        (q.sent_packets, q.dropped, q.backlog_packets)
    };
    assert_eq!(of(0), (100 + 2 + 25, 5, 8));
    assert_eq!(of(1), (200, 25, 2));
    assert_eq!(queues[1].drops.0, [("loss".into(), 21.0), ("purge".into(), 4.0)]);
}

#[test]
fn a_policer_has_an_account_of_its_own_or_drops_before_its_queue() {
    let text = SCENARIO.replace(
        "qdisc = \"dualpi2\"",
        "qdisc = \"dualpi2\"\ningress = [\"police rate 1Mbit burst 10kb drop\"]",
    );
    let scenario = load(&text, "line.toml", &[]).expect("a valid scenario").scenario;
    let device = |name: &str, hook, port: &str, depth| Device {
        namespace: "mid".into(),
        name: name.into(),
        hook,
        queues: vec![QueuePlace { port: port.into(), depth }],
    };
    let devices = [
        device("left", Some(Hook::Ingress), "bneck.ingress0", 1),
        device("right", Some(Hook::Egress), "bneck", 0),
        device("right", None, "bneck", 1),
    ];
    let mut collector = Collector::new(Arc::new(scenario), &devices);
    let filter = |drops: u64| {
        let stats = |drops| json!({"stats": {"bytes": 150_000, "packets": 100, "drops": drops}});
        json!([
            {"kind": "matchall", "chain": 0},
            {"kind": "matchall", "options": {"actions": [stats(1), stats(drops)]}},
        ])
        .to_string()
    };
    let lines = [
        Line::Queues(0, SECOND, filter(30)),
        Line::Queues(1, SECOND, filter(7)),
        Line::Queues(2, SECOND, dualpi2(10_000, 4)),
        Line::Queues(0, 2 * SECOND, filter(40)),
    ];
    for line in lines {
        collector.take(&serde_json::to_string(&line).expect("plain data")).expect("a good line");
    }
    let output = collector.finish(true);
    let [ingress, bottleneck] = &output.queues[..] else { panic!("two queues") };
    assert_eq!(ingress.name, "bneck.ingress0");
    assert_eq!((ingress.received_packets, ingress.sent_packets, ingress.dropped), (100, 60, 40));
    assert_eq!(ingress.drops.0, [("police".into(), 40.0)]);
    assert_eq!(ingress.utilisation, None);
    let drops = |name| output.series.iter().find(|c| c.name == name).map(|c| c.v.clone());
    assert_eq!(drops("queue.bneck.ingress0.drops"), Some(vec![30.0, 40.0]));
    assert_eq!(drops("queue.bneck.drops"), Some(vec![5.0]), "one sample, of both");
    assert_eq!(bottleneck.drops.0, [("drops".into(), 4.0), ("police".into(), 1.0)]);
    assert_eq!(bottleneck.received_packets, 7 + 5 + 2);
    let rows: Value = serde_json::from_str(&output.queues_json()).expect("JSON");
    assert_eq!(
        (&rows[0]["received_bytes"], &rows[0]["sent_bytes"]),
        (&json!(150_000), &Value::Null)
    );
}

#[test]
fn bytes_that_the_kernel_does_not_count_are_null() {
    let output = lines(&[Line::Queues(1, SECOND, dualpi2(1_000_000, 4))]);
    let json: Value = serde_json::from_str(&output.queues_json()).expect("JSON");
    assert_eq!(json[0]["dropped"], 4);
    assert_eq!(json[0]["dropped_bytes"], Value::Null);
    assert_eq!(json[0]["received_bytes"], Value::Null);
}

#[test]
fn what_stopped_the_inside_is_the_error() {
    let scenario = scenario();
    let mut collector = Collector::new(Arc::new(scenario), &[]);
    let line = serde_json::to_string(&Line::Failed("no tc".into())).expect("plain data");
    assert_eq!(collector.take(&line), Err("no tc".into()));
    assert!(collector.take("{").is_err());
}

#[test]
fn pings_keep_the_instant_at_which_the_reply_came() {
    let output = lines(&[Line::Pings(0, 3, 1), Line::Ping(0, 2 * SECOND + 1, 20_000_000)]);
    let ping = &output.summary.pings[0];
    assert_eq!(ping.rtt_ms.map(|s| s.mean), Some(20.0));
    assert_eq!(ping.totals.0, [("sent".into(), 3.0), ("received".into(), 1.0)]);
}

/// Two flows and one ping of other kinds.
fn mixed() -> Scenario {
    let flows = r#"
[[flow]]
name = "web"
cc = "cubic"
app = "short arrivals 5 sizes 10kb"
[[flow]]
name = "rr"
cc = "cubic"
app = "request think 1s sizes 10kb"
[[flow]]
name = "call"
app = "voip"
direction = "up"
[[flow]]
name = "g"
cc = "reno"
start = "2s"
[[ping]]
name = "u"
protocol = "udp"
"#;
    let text = SCENARIO.replace("stop = \"9s\"\n", "");
    load(&format!("{text}{flows}"), "mixed.toml", &[]).expect("a valid scenario").scenario
}

#[test]
fn transfers_have_completion_times_and_totals_over_all_connections() {
    let tx =
        Sending { segments_sent: 40, retransmits: 2, min_rtt_us: 10_000, ..Sending::default() };
    let rx = Receiving { segments_received: 38, received_ce: 19, ..Receiving::default() };
    let sums = FlowSample { read: 20_480, tx, rx };
    let sample = ShortSample { open: 1, arrived: 4, turned_away: 1, completed: 2, sums };
    let output = lines_of(
        mixed(),
        &[
            Line::Done(1, SECOND, 90_000_000, 10_240),
            Line::Done(1, 3 * SECOND, 40_480_000, 10_240),
            Line::Short(1, 4 * SECOND, sample),
            Line::Clock(4 * SECOND),
        ],
    );
    let flow = &output.summary.flows[1];
    let completions = flow.completions.expect("one within the window");
    assert_eq!((completions.fct_ms.n, completions.fct_ms.mean), (1, 40.48));
    // 10 240 bytes at 8 Mbit/s and a round trip of 10 ms.
    assert_eq!(completions.slowdown.mean, 40.48 / 20.24);
    let total = |name: &str| flow.sender.0.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
    assert_eq!(
        (total("arrived"), total("turned_away"), total("completed")),
        (Some(4.0), Some(1.0), Some(2.0))
    );
    assert_eq!((total("segments_sent"), total("min_rtt_ms")), (Some(40.0), Some(10.0)));
    assert_eq!(flow.receiver.0[0], ("delivered_bytes".into(), 20_480.0));
    let loss = &output.summary.metrics.loss.flows[0];
    assert_eq!((loss.name.as_str(), loss.retransmit_rate, loss.ce_rate), ("web", 0.05, 0.5));
}

#[test]
fn the_server_of_requests_is_the_end_that_sends_the_data() {
    let tx = Sending { segments_sent: 40, dsack_dups: 1, retransmits: 4, ..Sending::default() };
    let sample = FlowSample { read: 51_200, tx, ..FlowSample::default() };
    let output = lines_of(mixed(), &[Line::Answers(2, 6, 5), Line::Flow(2, 3 * SECOND, sample)]);
    let flow = &output.summary.flows[2];
    assert!(flow.sender.0.contains(&("asked".into(), 6.0)));
    assert!(flow.sender.0.contains(&("completed".into(), 5.0)));
    assert_eq!(flow.receiver.0[0], ("segments_sent".into(), 40.0));
    let loss = &output.summary.metrics.loss.flows[0];
    assert_eq!((loss.retransmit_rate, loss.spurious_rate), (0.1, 0.025));
}

#[test]
fn a_call_has_one_way_delays_and_a_listener() {
    let arrivals = (0..100).map(|n| {
        let sent = 3 * SECOND + n * 20_000_000;
        Arrival { at: sent + 30_000_000, seq: n, sent }
    });
    let sample = UdpSample {
        sent: 101,
        sent_bytes: 17_372,
        received: 100,
        received_bytes: 17_200,
        codepoints: [90, 1, 2, 7],
    };
    let output = lines_of(
        mixed(),
        &[Line::Arrivals(3, arrivals.collect()), Line::Udp(3, 6 * SECOND, sample)],
    );
    let flow = &output.summary.flows[3];
    let one_way = flow.one_way.expect("packets of the window");
    assert_eq!((one_way.received, one_way.min_ms, one_way.loss), (100, 30.0, 0.0));
    assert!(one_way.voice.is_some_and(|v| v.mos > 4.0 && v.lost_or_late == 0.0));
    assert!(flow.receiver.0.contains(&("ect0_received".into(), 2.0)));
    assert!(flow.receiver.0.contains(&("ce_received".into(), 7.0)));
    let names: Vec<&str> = output.series.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(
        names,
        ["goodput_bytes", "ce_received", "one_way", "one_way_max"]
            .map(|n| format!("flow.call.{n}"))
    );
}

#[test]
fn greedy_flows_are_compared_over_time() {
    let at = |flow: usize, s: u64, mbytes: u64| {
        let sample = FlowSample { read: mbytes * 1_000_000, ..FlowSample::default() };
        Line::Flow(flow, s * SECOND, sample)
    };
    // Alone for 4 s; from then on equal shares.
    let mut text: Vec<Line> = (0..10).map(|s| at(0, s, s + s.min(4) * 7)).collect();
    text.extend((2..10).map(|s| at(4, s, s.saturating_sub(4))));
    text.push(Line::Clock(10 * SECOND));
    let metrics = lines_of(mixed(), &text).summary.metrics;
    let fairness = metrics.fairness.expect("two flows that take what they get");
    assert_eq!((fairness.flows, fairness.convergence_s), (2, Some(2.0)));
    assert_eq!(metrics.oscillation.len(), 2);
}

#[test]
fn the_jobs_ends_are_the_scenarios() {
    let scenario = mixed();
    let job = Job::new(
        &scenario,
        Network::of(&scenario).expect("a network"),
        vec![],
        Place::Virtual,
        None,
    );
    let ends: Vec<([usize; 2], u8, u16)> =
        job.flows.iter().map(|f| ([f.opener, f.peer], f.ecn, f.port)).collect();
    // The client of requests is where the data go.
    assert_eq!(
        ends,
        [
            ([0, 1], 3, 5201),
            ([0, 1], 3, 5202),
            ([1, 0], 3, 5203),
            ([1, 0], 3, 5204),
            ([0, 1], 3, 5205)
        ]
    );
    assert_eq!(job.pings[0].hosts, [0, 1]);
    assert_eq!(job.flows[3].cc, "");
    assert_eq!((job.pings[0].udp, job.pings[1].udp), (None, Some(5207)));
}

#[test]
fn the_job_has_the_scenarios_times() {
    let scenario = scenario();
    let job = Job::new(
        &scenario,
        Network::of(&scenario).expect("a network"),
        vec![],
        Place::Virtual,
        None,
    );
    let FlowJob { start_ns, stop_ns, port, .. } = job.flows[0];
    assert_eq!(start_ns, scenario.flows[0].opens(scenario.seed).0);
    assert!((SECOND..2 * SECOND).contains(&start_ns), "the jitter is drawn");
    assert_eq!((stop_ns, port), (Some(9 * SECOND), 5201));
    let PingJob { interval_ns, stop_ns, .. } = job.pings[0];
    assert_eq!((interval_ns, stop_ns), (SECOND, 10 * SECOND));
}
