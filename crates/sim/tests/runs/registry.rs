//! Every registered queue carries real flows: the engine's accounts balance, timers are served and
//! the link is used.

use sojourn_core::aqm::REGISTRY;

use crate::lab::{Named, run};

/// What a discipline needs to be built, and whether it shapes by itself.
fn words(name: &str) -> (&'static str, bool) {
    match name {
        "cake" | "cnq_cobalt" | "cnq_codel_af" | "deltic_boroshne" | "lfq_cobalt"
        | "twin_codel_af" => ("bandwidth 20Mbit", true),
        "htb" => ("rate 20Mbit", true),
        "stab" => ("overhead 24 mpu 84 linklayer atm htb rate 22Mbit", true),
        "tbf" => ("rate 20Mbit burst 5kb latency 50ms", true),
        "police" => ("rate 20Mbit burst 30kb drop", true),
        "red" => ("limit 400000 avpkt 1000 adaptive bandwidth 20Mbit ecn", false),
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
