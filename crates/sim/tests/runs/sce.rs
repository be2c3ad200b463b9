//! DCTCP and the SCE family over the queues that they were made for.

use crate::lab::{Named, run, total};

/// One flow over a 50 Mbit/s bottleneck with 20 ms of path, measured after slow start.
fn scenario(cc: &str, qdisc: &str, words: &str) -> String {
    format!(
        r#"
duration = "30s"
measure = {{ from = "10s", to = "30s" }}
[[link]]
name = "bneck"
qdisc = "{qdisc}"
{words}
delay = "10ms"
[link.reverse]
rate = "none"
[[flow]]
name = "a"
cc = "{cc}"
"#
    )
}

const CEILING: f64 = 50.0 * 1448.0 / 1514.0;

/// SCE holds the link full below the queue's CE target: after slow start there is no CE at all.
#[test]
fn sce_flows_fill_the_link_with_a_queue_below_the_ce_target() {
    for (cc, qdisc, most_ms) in [
        ("reno-sce", "cake bandwidth 50Mbit sce besteffort", 5.0),
        ("reno-sce version v2", "cake bandwidth 50Mbit sce besteffort", 5.0),
        ("dctcp-sce", "cake bandwidth 50Mbit sce besteffort", 5.0),
        ("cubic-sce", "cake bandwidth 50Mbit sce besteffort", 5.0),
        ("reno-sce", "twin_codel_af bandwidth 50Mbit sce-thresh 4", 5.0),
        ("reno-sce version v2", "twin_codel_af bandwidth 50Mbit sce-thresh 4", 5.0),
    ] {
        let output = run(&scenario(cc, qdisc, ""));
        let flow = output.flow("a");
        let rtt = flow.rtt_ms.as_ref().expect("samples");
        eprintln!(
            "{cc} {qdisc}: {} {:?} {:?} {:?}",
            flow.goodput_mbps / CEILING,
            rtt,
            flow.receiver,
            flow.sender
        );
        assert!(flow.goodput_mbps > 0.97 * CEILING, "{cc} {qdisc}: {}", flow.goodput_mbps);
        assert!(rtt.mean - 20.0 < most_ms, "{cc} {qdisc}: {rtt:?}");
        assert!(total(&flow.receiver, "sce_received") > 100.0);
    }
}

#[test]
fn dctcp_holds_a_step_marking_queue_at_its_threshold() {
    let output = run(&scenario(
        "dctcp",
        "codel target 1s ce_threshold 1ms ecn",
        "rate = \"50Mbit\"\nshaper = \"htb\"",
    ));
    let flow = output.flow("a");
    eprintln!(
        "{} {:?} {:?} {:?}",
        flow.goodput_mbps / CEILING,
        flow.rtt_ms,
        flow.receiver,
        flow.cwnd_segments
    );
}
