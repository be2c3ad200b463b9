//! Conservation, determinism, and the form of what is recorded.

use sojourn_trace::Output;

use crate::lab::{Named, run, run_with, total};

const BUSY: &str = r#"
duration = "6s"
seed = 7
[[link]]
name = "access"
rate = "200Mbit"
delay = "1ms"
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
qdisc = "dualpi2"
ingress = ["netem delay 4ms limit 100000"]
delay = "5ms"
[[flow]]
name = "a"
cc = "prague"
start_jitter = "20ms"
[[flow]]
name = "b"
cc = "cubic"
start = "500ms"
stop = "5s"
tcp = { ecn = "rfc3168" }
[[flow]]
name = "c"
cc = "reno"
start = "1s"
bytes = "1Mb"
tcp = { ecn = "off" }
[[ping]]
name = "p"
interval = "100ms"
"#;

fn everything(output: &Output) -> (String, String, Vec<(String, Vec<u64>)>) {
    let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect();
    let series = output.series.iter().map(|c| (c.name.clone(), bits(&c.v))).collect();
    (output.summary_json(), output.queues_json(), series)
}

#[test]
fn two_runs_are_identical_and_another_seed_is_not() {
    let first = everything(&run(BUSY));
    assert_eq!(first, everything(&run(BUSY)));
    let other = everything(&run_with(BUSY, &[("seed", "8".to_owned())]));
    assert_ne!(first.2, other.2);
}

#[test]
fn accounts_balance_under_every_queue() {
    for qdisc in [
        "pfifo limit 50",
        "bfifo limit 60000",
        "codel ecn",
        "fq_codel",
        "fq_codel flows 1",
        "dualpi2",
        "dualpi2 version 2020",
        "pfifo limit 1",
    ] {
        let output = run_with(BUSY, &[("link.bneck.qdisc", qdisc.to_owned())]);
        let queue = output.queue("bneck");
        assert!(queue.sent_packets > 5000 || qdisc == "pfifo limit 1", "{qdisc}");
    }
}

#[test]
fn counters_never_fall_and_samples_are_in_order() {
    let output = run(BUSY);
    let mut counters = 0;
    for column in &output.series {
        assert!(
            column.t.windows(2).all(|w| w[0] < w[1]) || column.name.ends_with(".p.rtt"),
            "{}",
            column.name
        );
        let name = column.name.rsplit('.').next().expect("dotted");
        if ["goodput_bytes", "ce_received", "retransmits", "ce", "marks", "drops"].contains(&name) {
            counters += 1;
            assert!(column.v.windows(2).all(|w| w[0] <= w[1]), "{}", column.name);
        }
    }
    assert!(counters >= 15, "{counters} counters");
}

#[test]
fn a_flow_with_a_limit_delivers_it_all_and_is_sampled_to_its_end() {
    let output = run(BUSY);
    let flow = output.flow("c");
    assert_eq!(total(&flow.receiver, "delivered_bytes"), 1_048_576.0);
    assert_eq!(total(&flow.sender, "acked_bytes"), 1_048_576.0);
    let last = output.series("flow.c.goodput_bytes").pop().expect("samples");
    assert_eq!(last.1, 1_048_576.0);
    assert!(last.0 < 5.0, "and not after it: {}", last.0);
    let mean = 1_048_576.0 * 8.0 / 6.0 / 1e6;
    assert!((flow.goodput_mbps - mean).abs() < 1e-9, "{} Mbit/s", flow.goodput_mbps);
}

#[test]
fn a_stopped_flow_sends_nothing_more() {
    let output = run(BUSY);
    let samples = output.series("flow.b.goodput_bytes");
    let end = samples.last().expect("samples").0;
    assert!((5.0..5.6).contains(&end), "{end}");
    let flow = output.flow("b");
    assert_eq!(total(&flow.receiver, "delivered_bytes"), total(&flow.sender, "acked_bytes"));
}

#[test]
fn what_enters_a_chain_passes_every_link() {
    let output = run(BUSY);
    let (first, second) = (output.queue("access"), output.queue("bneck.ingress0"));
    assert!(first.sent_packets - second.received_packets < 20, "but for what is on the wire");
    assert!(output.queue("access.reverse").received_packets > 3000);
    let only = run_with(BUSY, &[("flow.a.path", "[\"bneck\"]".to_owned())]);
    assert!(only.queue("access").received_packets < first.received_packets);
    assert!(only.queue("bneck").received_packets > only.queue("access").received_packets);
}

#[test]
fn pings_keep_their_interval_and_their_codepoint() {
    let text = r#"
duration = "2050ms"
[[link]]
name = "bneck"
rate = "10Mbit"
qdisc = "dualpi2"
delay = "10ms"
[[ping]]
name = "classic"
interval = "100ms"
[[ping]]
name = "l4s"
interval = "50ms"
start = "500ms"
stop = "1s"
tos = "0x01"
size = 1500
"#;
    let output = run(text);
    let counts = |name| {
        let totals = &output.ping(name).totals;
        (total(totals, "sent"), total(totals, "received"))
    };
    assert_eq!(counts("classic"), (21.0, 21.0));
    assert_eq!(counts("l4s"), (10.0, 10.0));
    // 98 and 1514 bytes twice over 10 Mbit/s: 0.1568 and 2.4224 ms.
    let rtt = |name| output.ping(name).rtt_ms.expect("replies").p05;
    assert!((rtt("classic") - 20.1568).abs() < 1e-9);
    assert!((rtt("l4s") - 22.4224).abs() < 1e-9);
}

#[test]
fn a_link_without_delay_adds_only_serialisation() {
    let text = r#"
duration = "2s"
[[link]]
name = "bneck"
rate = "10Mbit"
qdisc = "pfifo limit 20"
[[flow]]
name = "a"
cc = "reno"
[[ping]]
name = "p"
"#;
    let output = run(text);
    let rtt = output.ping("p").rtt_ms.expect("replies");
    assert!(rtt.max <= 20.0 * 1.2112 + 1.2112 + 0.2, "{}", rtt.max);
    assert!(output.flow("a").goodput_mbps > 9.3);
}
