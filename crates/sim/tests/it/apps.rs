//! Applications: what they send arrives, in the direction, at the times and in the numbers that
//! arithmetic says. The accounts of every queue are checked in each run.

use crate::lab::{Named, close, run, run_with, total};

/// A path of 20 ms without bottleneck.
const FREE: &str = r#"
duration = "2010ms"
[[link]]
name = "path"
delay = "10ms"
"#;

fn free(flow: &str) -> sojourn_trace::Output {
    run(&format!("{FREE}[[flow]]\nname = \"a\"\n{flow}"))
}

fn on_fq_codel(flows: &str) -> sojourn_trace::Output {
    run(&format!(
        r#"
duration = "10s"
[[link]]
name = "bneck"
rate = "20Mbit"
qdisc = "fq_codel"
delay = "10ms"
{flows}"#
    ))
}

#[test]
fn an_upload_is_the_mirror_image_of_a_download() {
    let link = r#"
duration = "5s"
[[link]]
name = "bneck"
rate = "20Mbit"
qdisc = "codel"
delay = "5ms"
[[flow]]
name = "a"
cc = "cubic"
"#;
    let (down, up) = (run(link), run_with(link, &[("flow.a.direction", "up".to_owned())]));
    let of = |o: &sojourn_trace::Output| (o.flow("a").goodput_mbps, o.flow("a").rtt_ms);
    assert_eq!(of(&down), of(&up));
    let sent =
        |o: &sojourn_trace::Output, q: &str| (o.queue(q).sent_packets, o.queue(q).sent_bytes);
    assert_eq!(sent(&down, "bneck"), sent(&up, "bneck.reverse"));
    assert_eq!(sent(&down, "bneck.reverse"), sent(&up, "bneck"));
}

#[test]
fn rrul_loads_both_directions_and_measures_four_round_trips() {
    for (app, flows, pings) in [
        ("rrul", ["up-be", "down-ef"], ["icmp", "udp-bk"]),
        ("rrul_be", ["up-be1", "down-be4"], ["icmp", "udp-be3"]),
    ] {
        let output =
            on_fq_codel(&format!("[[flow]]\nname = \"t\"\ncc = \"cubic\"\napp = \"{app}\"\n"));
        assert_eq!((output.summary.flows.len(), output.summary.pings.len()), (8, 4));
        for queue in ["bneck", "bneck.reverse"] {
            assert!(output.queue(queue).utilisation.expect("a rate") > 0.95, "{queue}");
        }
        for flow in flows {
            close(output.flow(&format!("t-{flow}")).goodput_mbps, 4.6, 20.0);
        }
        for ping in pings {
            let rtt = output.ping(&format!("t-{ping}")).rtt_ms.expect("replies");
            assert!(rtt.n >= 48 && rtt.p05 > 20.0, "{ping}: {rtt:?}");
        }
        let fairness = output.summary.metrics.fairness.as_ref().expect("eight bulk flows");
        assert!(fairness.flows == 8 && fairness.jain.expect("shares") > 0.98, "{fairness:?}");
    }
}

// KAT completion 1: as the connections of a run do it
#[test]
fn slow_start_without_bottleneck_takes_a_handshake_and_a_round_trip_per_doubling() {
    for (segments, rounds) in [(1, 2), (10, 2), (11, 3), (150, 5)] {
        let bytes = 1448 * segments;
        let output = free(&format!(
            "cc = \"reno\"\napp = \"short arrivals 1 sizes {bytes}b\"\ntcp.rmem_default = \"4Mb\"\n"
        ));
        let done = output.flow("a").completions.expect("a transfer within two seconds");
        close(done.fct_ms.mean, 20.0 * f64::from(rounds), 1e-9);
        close(done.slowdown.mean, f64::from(rounds), 1e-9);
    }
}

#[test]
fn short_flows_all_complete_each_in_a_queue_of_its_own() {
    let text = "[[flow]]\nname = \"web\"\ncc = \"cubic\"\nstop = \"8s\"\n\
                app = \"short load 8Mbit sizes pareto\"\n";
    let output = on_fq_codel(text);
    let web = output.flow("web");
    let arrived = total(&web.sender, "arrived");
    // 8 Mbit/s of a mean of 4.6 kB for 8 s.
    assert!((1500.0..2200.0).contains(&arrived), "{arrived}");
    assert_eq!(
        (total(&web.sender, "completed"), total(&web.sender, "turned_away")),
        (arrived, 0.0)
    );
    let bytes = total(&web.receiver, "delivered_bytes");
    assert_eq!(bytes, total(&web.sender, "acked_bytes"));
    assert_eq!(output.series("flow.web.fct").len() as f64, arrived);
    let sizes: f64 = output.series("flow.web.fct_bytes").iter().map(|s| s.1).sum();
    assert_eq!(bytes, sizes, "as many bytes arrive as the transfers have");
    assert_eq!(bytes, output.series("flow.web.goodput_bytes").pop().expect("samples").1);
    assert!(total(&output.queue("bneck").stats, "new_flow_count") > arrived, "a new flow each");
    let again = on_fq_codel(text);
    assert_eq!(output.summary_json(), again.summary_json());
}

#[test]
fn what_arrives_above_the_limit_is_turned_away() {
    let output = free("cc = \"reno\"\napp = \"short arrivals 1000 limit 3 sizes 1kb\"\n");
    let a = output.flow("a");
    let count = |name| total(&a.sender, name);
    // Three at a time, 40 ms each.
    assert!(count("turned_away") > 1500.0 && (120.0..=150.0).contains(&count("completed")));
    let open = count("arrived") - count("turned_away") - count("completed");
    assert!((0.0..=3.0).contains(&open), "{open}");
}

#[test]
fn short_flows_survive_loss_and_reordering() {
    let text = r#"
duration = "20s"
[[link]]
name = "bneck"
rate = "20Mbit"
qdisc = "pfifo limit 20"
ingress = ["netem delay 5ms 2ms loss 2%"]
delay = "5ms"
[[flow]]
name = "web"
cc = "cubic"
stop = "12s"
app = "short load 4Mbit sizes 1kb,20kb,100kb"
"#;
    let output = run(text);
    let web = output.flow("web");
    let completed = total(&web.sender, "completed");
    assert!(completed > 100.0, "{completed}");
    assert_eq!(completed, total(&web.sender, "arrived"));
    assert_eq!(total(&web.receiver, "delivered_bytes"), total(&web.sender, "acked_bytes"));
    assert!(total(&web.sender, "retransmits") > 50.0);
    let loss = &output.summary.metrics.loss.flows[0];
    assert!(loss.spurious_rate > 0.0 && loss.spurious_rate <= loss.retransmit_rate, "{loss:?}");
}

#[test]
fn a_request_and_its_answer_take_one_round_trip_and_the_loop_is_closed() {
    let output = free("cc = \"reno\"\napp = \"request think 0ms sizes 1000b\"\n");
    let a = output.flow("a");
    // A handshake of 20 ms, then 99 exchanges of 20 ms until 2 s.
    assert_eq!(total(&a.sender, "completed"), 99.0);
    let done = a.completions.expect("answers");
    assert_eq!((done.fct_ms.max, done.slowdown.max), (20.0, 1.0));
    assert_eq!(total(&a.sender, "delivered_bytes"), 99_000.0);
    // The data go forward, the client stands at the far end.
    assert!(output.queue("path").sent_bytes > output.queue("path.reverse").sent_bytes);
}

#[test]
fn responses_slow_down_when_a_queue_stands() {
    let think = "[[flow]]\nname = \"r\"\ncc = \"cubic\"\napp = \"request think 50ms sizes 30kb\"\n";
    let alone = on_fq_codel(think).flow("r").completions.expect("answers").fct_ms;
    let bulk = format!("{think}[[flow]]\nname = \"b\"\ncc = \"cubic\"\nflows = 4\n");
    let output = on_fq_codel(&bulk);
    let beside = output.flow("r").completions.expect("answers").fct_ms;
    assert!(beside.n < alone.n && beside.p50 > alone.p50, "{beside:?} {alone:?}");
    assert_eq!(output.summary.metrics.fairness.as_ref().map(|f| f.flows), Some(4), "bulk only");
}

#[test]
fn a_constant_rate_arrives_at_that_rate_after_propagation_and_serialisation() {
    let text = r#"
duration = "10s"
[[link]]
name = "bneck"
rate = "10Mbit"
delay = "10ms"
qdisc = "pfifo limit 50"
[[flow]]
name = "cbr"
app = "cbr rate 6Mbit size 1200"
"#;
    let output = run(text);
    let cbr = output.flow("cbr");
    close(cbr.goodput_mbps, 6.0 * 1172.0 / 1200.0, 0.2);
    let one_way = cbr.one_way.expect("arrivals");
    // 1214 bytes at 10 Mbit/s.
    assert_eq!((one_way.min_ms, one_way.pdv_ms.max, one_way.loss), (10.9712, 0.0, 0.0));
    // Nothing answers congestion: what the link does not carry is lost, in a full queue.
    let over = run_with(text, &[("flow.cbr.app", "cbr rate 12Mbit size 1200".to_owned())]);
    let one_way = over.flow("cbr").one_way.expect("arrivals");
    close(one_way.loss, 1.0 - 10.0 / 12.0 * 1200.0 / 1214.0, 3.0);
    close(one_way.delay_ms.max, 10.0 + 51.0 * 0.9712, 1.0);
    let queue = &over.summary.metrics.loss.queues[0];
    close(queue.drop_probability, one_way.loss, 3.0);
}

#[test]
fn unresponsive_packets_keep_the_codepoint_and_class_that_they_were_given() {
    let text = r#"
duration = "5s"
[[link]]
name = "bneck"
rate = "10Mbit"
qdisc = "dualpi2"
delay = "5ms"
[[flow]]
name = "l4s"
app = "poisson rate 9Mbit"
tos = "0x01"
[[flow]]
name = "classic"
app = "burst packets 20 interval 100ms"
tos = 2
"#;
    let output = run(text);
    let count = |flow: &str, name| total(&output.flow(flow).receiver, name);
    assert!(count("l4s", "ce_received") > 0.0 && count("l4s", "ect1_received") > 0.0);
    assert_eq!(count("l4s", "ect0_received"), 0.0);
    assert_eq!(count("classic", "ect1_received"), 0.0);
    assert!(count("classic", "ect0_received") > 0.0);
}

#[test]
fn a_call_suffers_from_a_standing_queue_and_not_from_flow_queuing() {
    let text = r#"
duration = "20s"
measure.from = "5s"
[[link]]
name = "bneck"
rate = "5Mbit"
shaper = "htb"
qdisc = "fq_codel"
delay = "20ms"
[[flow]]
name = "b"
cc = "cubic"
[[flow]]
name = "call"
app = "voip buffer 40ms"
[[flow]]
name = "game"
app = "game"
[[flow]]
name = "cam"
app = "video rate 500kbit"
"#;
    let voice = |output: &sojourn_trace::Output| {
        output.flow("call").one_way.expect("a call").voice.expect("speech")
    };
    let shielded = run(text);
    let queued = run_with(text, &[("link.bneck.qdisc", "pfifo limit 300".to_owned())]);
    let (good, bad) = (voice(&shielded), voice(&queued));
    assert!(good.mos > 4.3 && good.lost_or_late < 0.01, "{good:?}");
    assert!(bad.mos < good.mos - 0.3, "{bad:?}");
    // Fifty packets a second for fifteen seconds; the last is still under way.
    assert_eq!(shielded.flow("call").one_way.expect("a call").expected, 749);
    assert!(queued.flow("game").one_way.expect("ticks").delay_ms.p50 > 60.0);
    let series = shielded.series("flow.call.one_way");
    assert!(series.len() > 390 && series.iter().all(|(_, ms)| *ms >= 20.0));
}

#[test]
fn copies_have_names_and_hashes_of_their_own() {
    let output =
        on_fq_codel("[[flow]]\nname = \"b\"\ncc = \"cubic\"\nflows = 3\nstart_jitter = \"10ms\"\n");
    let names: Vec<&str> = output.summary.flows.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["b-1", "b-2", "b-3"]);
    let fairness = output.summary.metrics.fairness.as_ref().expect("three flows");
    assert!(fairness.jain.expect("shares") > 0.99, "flow queuing shares equally: {fairness:?}");
    assert!(fairness.convergence_s.expect("they converge") < 5.0);
}
