//! Manglers, bleaches and chosen drops on the path of real flows.

use sojourn_trace::{Output, QueueSummary};

use crate::lab::{Named, close, run, total};

fn stat(queue: &QueueSummary, name: &str) -> f64 {
    queue.stats.0.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("{name}")).1
}

/// Scenario 4 of the bakeoff: a mangler from client to server before DualPI2.
fn mangled(rtt_ms: u32, shaper: &str, mangler: &str) -> Output {
    run(&format!(
        r#"
duration = "20s"
measure = {{ from = "8s", to = "20s" }}
[tcp]
ecn = "rfc3168"
[[link]]
name = "m3"
rate = "50Mbit"
shaper = "{shaper}"
qdisc = "dualpi2"
delay = "{}us"
ingress = [{mangler}]
[link.reverse]
ingress = []
[[flow]]
name = "cubic"
cc = "cubic"
"#,
        rtt_ms * 500
    ))
}

#[test]
fn ect1_mangler_puts_cubic_into_the_l_queue() {
    const MANGLER: &str = "\"mangle proto tcp non-syn set-tos 0x01\"";
    // A shaper's statistics hide its leaf's, so the packets are counted at a wire.
    let packets = |mangler: &str| {
        let output = mangled(20, "none", mangler);
        let queue = output.queue("m3");
        (stat(queue, "pkts_in_c"), stat(queue, "pkts_in_l"))
    };
    let (plain, mangled_packets) = (packets(""), packets(MANGLER));
    assert!(plain.0 > 10_000.0 && plain.1 == 0.0, "{plain:?}");
    assert!(mangled_packets.0 == 1.0 && mangled_packets.1 > 10_000.0, "{mangled_packets:?}");

    let marks = |output: &Output, reason: &str| {
        let marks = &output.queue("m3").marks.0;
        marks.iter().find(|(name, _)| *name == reason).map_or(0.0, |(_, n)| *n)
    };
    let plain = mangled(80, "htb", "");
    assert!(marks(&plain, "pi") > 0.0 && marks(&plain, "step") == 0.0);
    let [near, far] = [10, 80].map(|rtt| mangled(rtt, "htb", MANGLER));
    for output in [&near, &far] {
        assert!(marks(output, "pi") == 0.0 && marks(output, "step") > 0.0);
    }
    // The step at 1 ms comes too early for CUBIC, the more so the longer the path.
    let [plain, near, far] = [&plain, &near, &far].map(|o| o.flow("cubic").goodput_mbps);
    assert!(far < 0.9 * near && far < 0.9 * plain, "{far} of {near} and {plain}");
}

/// A flow over `bneck`, with what stands before its queue on both ways; `count` counts ECT data
/// and ECT acknowledgements.
fn flow(ecn: &str, qdisc: &str, before: &str, behind: &str) -> Output {
    run(&format!(
        r#"
duration = "8s"
[tcp]
ecn = "{ecn}"
[[link]]
name = "count"
ingress = ["mangle rule data ect0 ect1 ce set-dscp 0"]
[link.reverse]
ingress = ["mangle rule ack ect0 ect1 ce set-dscp 0"]
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
qdisc = "{qdisc}"
ingress = [{before}]
delay = "10ms"
[[link]]
name = "behind"
ingress = [{behind}]
[[flow]]
name = "a"
cc = "cubic"
"#
    ))
}

/// ECT data sent, ECT acknowledgements, and marks of the bottleneck.
fn ecn_of(output: &Output) -> (f64, f64, u64) {
    let ect = |port: &str| stat(output.queue(port), "matched");
    (ect("count.ingress0"), ect("count.reverse.ingress0"), output.queue("bneck").marked)
}

#[test]
fn stripped_handshake_falls_back_to_what_both_ends_can_know() {
    let strip = |ecn: &str, rule: &str| ecn_of(&flow(ecn, "codel ecn", rule, ""));
    let accecn = strip("accecn", "");
    assert!(accecn.0 > 1000.0 && accecn.1 > 500.0 && accecn.2 > 0, "{accecn:?}");
    let classic = strip("rfc3168", "");
    assert!(classic.0 > 1000.0 && classic.1 == 0.0 && classic.2 > 0, "{classic:?}");

    let all = "\"mangle rule syn clear-flags ae,cwr,ece rule syn-ack clear-flags ae,cwr,ece\"";
    for ecn in ["accecn", "rfc3168"] {
        assert_eq!(strip(ecn, all), (0.0, 0.0, 0), "{ecn}");
    }
    // The server has agreed to AccECN and goes on with it; the client that saw 000 sends Not-ECT.
    let answer = strip("accecn", "\"mangle syn-ack clear-flags ae,cwr,ece\"");
    assert!(answer.0 == 0.0 && answer.2 == 0, "{answer:?}");
    // RFC 9768 3.1.2: CWR and ECE alone ask for RFC 3168.
    let without_ae = strip("accecn", "\"mangle syn clear-flags ae\"");
    assert_eq!(without_ae, classic);
    // Any other combination but 000 asks for AccECN.
    for flag in ["cwr", "ece", "cwr,ece"] {
        let without = strip("accecn", &format!("\"mangle syn clear-flags {flag}\""));
        assert_eq!(without, accecn, "{flag}");
    }
    // RFC 3168 6.1.1 needs both flags on the SYN.
    for flag in ["cwr", "ece"] {
        let half = strip("rfc3168", &format!("\"mangle syn clear-flags {flag}\""));
        assert_eq!(half, (0.0, 0.0, 0), "{flag}");
    }
}

#[test]
fn bleached_packets_are_dropped_instead_of_marked() {
    for qdisc in ["codel ecn", "dualpi2", "fq_codel", "pie ecn"] {
        let plain = flow("accecn", qdisc, "", "");
        assert!(plain.queue("bneck").marked > 0, "{qdisc}");
        assert!(total(&plain.flow("a").receiver, "ce_received") > 0.0, "{qdisc}");
        let bleached = flow("accecn", qdisc, "\"mangle bleach-ecn\"", "");
        let queue = bleached.queue("bneck");
        assert!(queue.marked == 0 && queue.dropped > 0, "{qdisc}: {queue:?}");
        assert_eq!(total(&bleached.flow("a").receiver, "ce_received"), 0.0, "{qdisc}");
    }
}

#[test]
fn bleach_behind_the_queue_hides_every_mark() {
    let output = flow("accecn", "codel ecn", "", "\"mangle bleach-ecn\"");
    let flow = output.flow("a");
    assert!(output.queue("bneck").marked > 0);
    assert_eq!(total(&flow.receiver, "ce_received"), 0.0);
    assert_eq!(total(&flow.sender, "ce_reported"), 0.0);
    let rewritten = stat(output.queue("behind.ingress0"), "rewritten");
    assert_eq!(output.queue("behind.ingress0").marks.0, [("middlebox".into(), rewritten)]);
}

#[test]
fn cleared_ae_bit_on_acks_misleads_the_ace_counter() {
    let reports = |rule: &str| {
        let output = flow("accecn", "codel ecn", rule, "");
        let flow = output.flow("a");
        (total(&flow.sender, "ce_reported"), total(&flow.receiver, "ce_received"))
    };
    let (reported, received) = reports("");
    assert!(reported == received && received > 0.0, "{reported} of {received}");
    // A counter without its highest bit: 5, the start, reads as 1, which is four marks more.
    let (reported, received) = reports("\"mangle ack clear-flags ae\"");
    assert!(reported >= received + 4.0, "{reported} of {received}");
}

#[test]
fn burst_of_drops_is_repaired_packet_by_packet() {
    let repaired = |rule: &str| {
        let output = flow("off", "pfifo limit 10000", rule, "");
        let queue = output.queue("bneck.ingress0");
        assert_eq!(output.queue("bneck").dropped, 0);
        (queue.dropped, total(&output.flow("a").sender, "retransmits"))
    };
    assert_eq!(repaired("\"drop data nth 1000 burst 5\""), (5, 5.0));
    assert_eq!(repaired("\"drop data list 500,900,1300\""), (3, 3.0));
}

#[test]
fn borrowed_hash_shares_the_bucket_of_its_lender() {
    let ratio = |hash_of: &str| {
        let output = run(&format!(
            r#"
duration = "20s"
measure = {{ from = "6s", to = "20s" }}
[[link]]
name = "bneck"
rate = "50Mbit"
shaper = "htb"
qdisc = "fq_codel"
delay = "5ms"
[[flow]]
name = "prague"
cc = "prague version p2b ecn_fallback 0"
{hash_of}
[[flow]]
name = "cubic"
cc = "cubic"
"#
        ));
        output.flow("prague").goodput_mbps / output.flow("cubic").goodput_mbps
    };
    close(ratio(""), 1.0, 5.0);
    let shared = ratio("hash_of = \"cubic\"");
    assert!(shared > 2.0, "{shared}");
}
