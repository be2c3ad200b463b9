//! Every registered queue carries real flows: the engine's accounts balance, timers are served and
//! the link is used.

use sojourn_queue::qdiscs::REGISTRY;

use crate::lab::{Named, run};

/// What a discipline needs to be built, and whether it shapes by itself.
fn words(name: &str) -> (&'static str, bool) {
    match name {
        "cake" | "cnq_cobalt" | "cnq_codel_af" | "deltic_boroshne" | "lfq_cobalt"
        | "twin_codel_af" => ("bandwidth 20Mbit", true),
        "drop" => ("data percent 0.01%", false),
        "mangle" => ("rule ect1 percent 1% set-ecn ce rule bleach-dscp", false),
        "grant" | "htb" | "wifi" => ("rate 20Mbit", true),
        "mahimahi" => ("file tests/traces/constant.up packet_size 1490", true),
        "rate_trace" => ("file tests/traces/steps.txt", true),
        "stab" => ("overhead 24 mpu 84 linklayer atm htb rate 22Mbit", true),
        "tbf" => ("rate 20Mbit burst 5kb latency 50ms", true),
        "police" => ("rate 20Mbit burst 30kb drop", true),
        "docsis_pie" => ("msr 20Mbit", false),
        "red" => ("limit 400000 avpkt 1000 adaptive bandwidth 20Mbit ecn", false),
        "red_classic" => ("bandwidth 20Mbit adaptive gentle ecn", false),
        _ => ("", false),
    }
}

#[test]
fn every_registered_queue_carries_a_cubic_and_a_prague_flow() {
    for entry in REGISTRY {
        let (words, shapes) = words(entry.name);
        let shaper = if shapes { "" } else { "rate = \"20Mbit\"\nshaper = \"htb\"" };
        let output = run(&format!(
            r#"
duration = "6s"
[[link]]
name = "bneck"
{shaper}
qdisc = "{} {words}"
ingress = ["netem delay 5ms limit 100000"]
[[flow]]
name = "cubic"
cc = "cubic"
[[flow]]
name = "prague"
cc = "prague"
start = "500ms"
[[ping]]
name = "ping"
"#,
            entry.name
        ));
        let delivered: f64 = ["cubic", "prague"].iter().map(|f| output.flow(f).goodput_mbps).sum();
        let ceiling = 20.0 * 1448.0 / 1514.0;
        assert!((0.5..=1.005).contains(&(delivered / ceiling)), "{}: {delivered}", entry.name);
    }
}

/// Coupled queues: the scalable flow waits little and takes about what the classic one takes.
#[test]
fn dual_queues_couple_a_prague_flow_without_delay_to_a_cubic_flow_with_it() {
    for words in [
        "dualpi2",
        "dualpi2 version l4steam",
        "dualq rate 20Mbit",
        "dualq rate 20Mbit scheduler tsfifo",
        "dualq l_aqm step signal random",
        "curvy_red min_th 0",
        "curvy_red min_th 5ms",
        "docsis_ll",
        "docsis_ll rate 20Mbit",
    ] {
        let output = run(&format!(
            r#"
duration = "20s"
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
qdisc = "{words}"
ingress = ["netem delay 10ms limit 100000"]
[[flow]]
name = "cubic"
cc = "cubic"
[[flow]]
name = "prague"
cc = "prague"
"#
        ));
        let [cubic, prague] = ["cubic", "prague"].map(|flow| output.flow(flow));
        let ratio = prague.goodput_mbps / cubic.goodput_mbps;
        assert!((0.4..=2.5).contains(&ratio), "{words}: {ratio}");
        let [cubic, prague] = [cubic, prague].map(|flow| flow.rtt_ms.as_ref().unwrap());
        // The path alone takes 20 ms, two packets at 20 Mbit/s another 1.2 ms.
        assert!(prague.p95 < 23.0, "{words}: {prague:?}");
        assert!(cubic.mean > prague.mean + 5.0, "{words}: {cubic:?}");
        let total = output.flow("cubic").goodput_mbps + output.flow("prague").goodput_mbps;
        assert!(total > 0.9 * 20.0 * 1448.0 / 1514.0, "{words}: {total}");
    }
}
