//! Links that are no constant rate, with real flows.

use crate::lab::{Named, close, run, run_with, total};

fn link(keys: &str) -> String {
    format!(
        r#"
duration = "12s"
measure.from = "4s"
[[link]]
name = "bneck"
qdisc = "pfifo limit 100"
delay = "10ms"
{keys}
[[flow]]
name = "a"
cc = "cubic"
"#
    )
}

const BACK: &str = "reverse = { rate = \"none\", shaper = \"none\", qdisc = \"pfifo\" }";

#[test]
fn a_flow_fills_a_mahimahi_trace() {
    let shaper = "shaper = \"mahimahi file tests/traces/constant.up\"";
    let output = run(&link(&format!("{shaper}\n{BACK}")));
    // 5 frames in 3 ms.
    close(output.flow("a").goodput_mbps, 5.0 / 3.0 * 1448.0 * 8.0 / 1e3, 0.3);
}

#[test]
fn a_flow_follows_a_rate_trace() {
    let shaper = "shaper = \"rate_trace file tests/traces/steps.txt\"";
    let output = run(&link(&format!("{shaper}\n{BACK}")));
    let goodput = output.series("flow.a.goodput_bytes");
    let at = |t: f64| goodput.iter().rfind(|(x, _)| *x <= t + 1e-9).expect("a sample").1;
    for (second, rate) in [(8.0, 30.0), (9.0, 10.0), (10.0, 30.0), (11.0, 10.0)] {
        // The second half of each step, when the queue is full again.
        let measured = (at(second + 1.0) - at(second + 0.5)) * 8.0 / 0.5 / 1e6;
        close(measured, rate * 1448.0 / 1514.0, 2.0);
    }
}

#[test]
fn the_shipped_trace_carries_a_prague_flow() {
    let output = run_with(
        &link(&format!("shaper = \"mahimahi file ../../scenarios/traces/lte-like.up\"\n{BACK}")),
        &[("flow.a.cc", "prague".to_owned()), ("link.bneck.qdisc", "dualpi2".to_owned())],
    );
    let share = output.flow("a").goodput_mbps / (2202.0 / 3.0 * 1448.0 * 8.0 / 1e6);
    // The queue holds pacing back where the rate rises, and module 0.7 does not grow then.
    assert!((0.35..1.0).contains(&share), "{share} of the trace");
    let queue = output.queue("bneck");
    assert!(queue.stats.0.iter().any(|(name, n)| *name == "unused_bytes" && *n > 0.0));
}

#[test]
fn acks_compete_with_data_on_a_half_duplex_link() {
    let keys = "rate = \"60Mbit\"\nshaper = \"wifi packets 16\"";
    let text = link(keys);
    let full = run(&text);
    let half = run_with(&text, &[("link.bneck.shaper", "wifi packets 16 half-duplex".to_owned())]);
    let airtime =
        |output: &sojourn_trace::Output, name| total(&output.queue(name).stats, "airtime_ms");
    let [alone, shared] = [&full, &half].map(|o| o.flow("a").goodput_mbps);
    assert!(shared < 0.97 * alone, "{shared} and {alone} Mbit/s");
    let sum = airtime(&half, "bneck") + airtime(&half, "bneck.reverse");
    assert!((6_000.0..12_000.0).contains(&sum), "{sum} ms of 12 s");
    assert!(total(&half.queue("bneck").stats, "deferred") > 100.0);
    assert_eq!(total(&full.queue("bneck").stats, "deferred"), 0.0);
    let again = run_with(&text, &[("link.bneck.shaper", "wifi packets 16 half-duplex".to_owned())]);
    assert_eq!(half.queues_json(), again.queues_json());
}

#[test]
fn acknowledged_mode_hides_block_errors_from_tcp() {
    let text =
        link(&format!("rate = \"20Mbit\"\nshaper = \"grant loss 10% attempts 1 um\"\n{BACK}"));
    let um = run(&text);
    let am = run_with(&text, &[("link.bneck.shaper", "grant loss 10% attempts 1".to_owned())]);
    assert!(total(&um.queue("bneck").drops, "loss") > 50.0);
    assert_eq!(total(&am.queue("bneck").drops, "loss"), 0.0);
    // One attempt in ten is a repetition.
    close(am.flow("a").goodput_mbps, 0.9 * 20.0 * 1448.0 / 1514.0, 3.0);
    assert!(um.flow("a").goodput_mbps < 0.5 * am.flow("a").goodput_mbps);
}

#[test]
fn the_ack_path_of_an_asymmetric_link_limits_when_its_acks_do_not_fit() {
    // 20 Mbit/s of segments give 826 ACKs of 66 bytes per second: 0.44 Mbit/s.
    let text = link("rate = \"20Mbit\"\nshaper = \"htb\"\nreverse = { rate = \"2Mbit\" }");
    close(run(&text).flow("a").goodput_mbps, 20.0 * 1448.0 / 1514.0, 0.5);
    // A tenth of that, with room for all: the sender is clocked by the ACKs that come through.
    let narrow = run_with(
        &text,
        &[
            ("link.bneck.reverse.rate", "200kbit".to_owned()),
            ("link.bneck.reverse.qdisc", "pfifo limit 100000".to_owned()),
        ],
    );
    let acks = 200e3 / 8.0 / 66.0;
    close(narrow.flow("a").goodput_mbps, acks * 2.0 * 1448.0 * 8.0 / 1e6, 3.0);
}

const SLOW_BACK: &str = "rate = \"20Mbit\"\nshaper = \"htb\"\n\
                         reverse = { rate = \"150kbit\", qdisc = \"pfifo limit 100000\" }";

#[test]
fn thinned_acks_relieve_a_slow_way_back() {
    let text = format!("{}tcp.ecn = \"rfc3168\"\n", link(SLOW_BACK));
    let bare = run(&text);
    for element in ["ackthin every 4 hold 20ms", "ackthin hold 5ms", "ackthin every 3"] {
        let ingress = format!("[\"{element}\"]");
        let thinned = run_with(&text, &[("link.bneck.reverse.ingress", ingress)]);
        let [with, without] = [&thinned, &bare].map(|o| o.flow("a").goodput_mbps);
        assert!(with > 1.5 * without, "{element}: {with} instead of {without} Mbit/s");
        let queue = thinned.queue("bneck.reverse.ingress0");
        assert!(total(&queue.drops, "ack_filter") > 1000.0, "{:?}", queue.drops);
    }
}

#[test]
fn stretched_acks_make_accecn_without_its_option_see_marks() {
    let keys = "rate = \"20Mbit\"\nshaper = \"htb\"\n\
                reverse = { ingress = [\"ackthin every 4 hold 20ms\"] }";
    let run = |option: &str| {
        let output = run(&format!("{}tcp.accecn_option = {option}\n", link(keys)));
        assert_eq!(output.queues.iter().map(|q| q.marked).sum::<u64>(), 0);
        let flow = output.flow("a");
        (total(&flow.sender, "ce_reported"), flow.goodput_mbps)
    };
    let (misread, slow) = run("false");
    let (exact, fast) = run("true");
    assert!(misread > 100.0 && exact == 0.0, "{misread} and {exact} marks");
    assert!(slow < 0.5 * fast, "{slow} and {fast} Mbit/s");
}

#[test]
fn a_rate_that_falls_over_a_time_keeps_the_queue_and_takes_the_throughput_along() {
    let text = link(&format!("rate = \"40Mbit\"\nshaper = \"htb\"\n{BACK}"));
    let text = format!(
        "{text}[[schedule]]\nat = \"4s\"\nover = \"4s\"\n\
         set = {{ \"link.bneck.forward.rate\" = \"10Mbit\" }}\n"
    );
    let output = run(&text);
    let goodput = output.series("flow.a.goodput_bytes");
    let at = |t: f64| goodput.iter().rfind(|(x, _)| *x <= t + 1e-9).expect("a sample").1;
    for (second, mean) in [(4.0, 36.625), (5.0, 29.125), (6.0, 21.625), (7.0, 14.125), (9.0, 10.0)]
    {
        // Ten steps in a second, the first after a tenth: the mean lags by half a step.
        let measured = (at(second + 1.0) - at(second)) * 8.0 / 1e6;
        close(measured, mean * 1448.0 / 1514.0, 2.0);
    }
    assert_eq!(total(&output.queue("bneck").drops, "purge"), 0.0);
}

#[test]
fn a_delay_that_grows_over_a_time_shows_in_every_ping() {
    let output = run(r#"
duration = "6s"
[[link]]
name = "path"
delay = "10ms"
[[ping]]
name = "p"
interval = "500ms"
start = "50ms"
[[schedule]]
at = "1s"
over = "4s"
set = { "link.path.delay" = "50ms" }
"#);
    let rtts = output.series("ping.p.rtt");
    // A step of 1 ms each way every 100 ms, between which pings start and return.
    let at = |t: f64| rtts.iter().find(|(x, _)| *x >= t).expect("a ping").1;
    for (sent, rtt) in [(0.55, 20.0), (1.55, 30.0), (3.05, 60.0), (4.55, 90.0), (5.55, 100.0)] {
        assert_eq!(at(sent), rtt, "sent at {sent} s");
    }
}
