//! Impairments on the path: the engine balances packets and headers at every sample and at the
//! end, and panics if one is freed twice or never.

use sojourn_trace::{Output, QueueSummary};

fn run(ingress: &str, shaper: &str, qdisc: &str) -> Output {
    let text = format!(
        r#"name = "impaired"
duration = "6s"

[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "{shaper}"
ingress = ["{ingress}"]
qdisc = "{qdisc}"
delay = "5ms"

[[flow]]
name = "a"
cc = "cubic"

[[flow]]
name = "b"
cc = "reno"

[[schedule]]
at = "3s"
replace = {{ "link.bneck.qdisc" = "pfifo limit 30" }}

[[schedule]]
at = "4s"
set = {{ "link.bneck.rate" = "10Mbit" }}
"#
    );
    let scenario = sojourn_scenario::load(&text, "impaired.toml", &[]).unwrap().scenario;
    sojourn_sim::run(&scenario).expect("time moves")
}

fn stat(queue: &QueueSummary, name: &str) -> f64 {
    let stats = &queue.stats.0;
    stats.iter().find(|(n, _)| *n == name).map(|(_, v)| *v).unwrap()
}

fn impaired<'o>(output: &'o Output, stat_name: &str) -> &'o QueueSummary {
    let impaired = |q: &&QueueSummary| q.stats.0.iter().any(|(n, v)| *n == stat_name && *v > 0.0);
    output.queues.iter().find(impaired).unwrap()
}

#[test]
fn duplicates_are_conserved_through_drops_and_a_replaced_queue() {
    let out = run("netem duplicate 20% loss 1% delay 2ms 1ms", "htb", "pfifo limit 20");
    let q = impaired(&out, "duplicated");
    let copies = stat(q, "duplicated") as u64;
    assert!(copies > 500, "{copies}");
    assert_eq!(q.duplicated, copies);
    assert_eq!(q.received_packets + q.duplicated, q.sent_packets + q.dropped + q.backlog_packets);
    let tails = out.queues.iter().filter(|q| q.qdisc.contains("htb"));
    assert!(tails.map(|q| q.dropped).sum::<u64>() > 0);
}

#[test]
fn duplicates_are_conserved_inside_a_shaper() {
    let out = run("netem delay 1ms", "htb", "netem duplicate 50% delay 3ms limit 100");
    assert!(out.summary.complete);
    let half = run("netem duplicate 50%", "netem delay 3ms", "codel");
    assert!(
        half.queues.iter().any(|q| q.qdisc.contains("netem") && q.qdisc.contains("rate 10Mbit"))
    );
}

#[test]
fn corrupt_packets_use_the_path_but_reach_no_endpoint() {
    let out = run("netem corrupt 100%", "htb", "codel");
    let q = impaired(&out, "corrupted");
    assert!(q.sent_packets > 2 && q.dropped == 0, "{q:?}");
    assert_eq!(out.summary.data_packets, 0, "no handshake ends");
    let out = run("netem corrupt 1%", "htb", "codel");
    assert!(impaired(&out, "corrupted").dropped == 0 && out.summary.data_packets > 1000);
}
