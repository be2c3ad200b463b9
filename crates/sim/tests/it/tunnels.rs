//! What a tunnel does to the flows inside it (RFC 6040).

use sojourn_trace::{Output, QueueSummary};

use crate::lab::{Named, close, known, run, total};

fn stat(queue: &QueueSummary, name: &str) -> f64 {
    queue.stats.0.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("{name}")).1
}

/// `flows` over `bneck`; `counter` stands behind the tunnel, if `tunnel` is one.
fn over(qdisc: &str, rate: &str, flows: &str, tunnel: &str) -> Output {
    run(&format!(
        r#"
duration = "15s"
measure = {{ from = "4s", to = "15s" }}
[[link]]
name = "bneck"
{rate}
qdisc = "{qdisc}"
delay = "5ms"
[[link]]
name = "counter"
ingress = ["mangle data ect1 set-dscp 0"]
{flows}
{tunnel}
"#
    ))
}

const HTB: &str = "rate = \"50Mbit\"\nshaper = \"htb\"";
const VPN: &str = "[[tunnel]]\nname = \"vpn\"\nlinks = [\"bneck\"]\n";
const TWO: &str = "[[flow]]\nname = \"prague\"\ncc = \"prague version p2b ecn_fallback 0\"\n\
                   [[flow]]\nname = \"cubic\"\ncc = \"cubic\"\n\
                   [[ping]]\nname = \"p\"\ninterval = \"20ms\"\n";
/// Ends before the run does, so that nothing is on the way then.
const ENDING: &str = "[[flow]]\nname = \"a\"\ncc = \"cubic\"\nbytes = \"30Mb\"\n";

#[test]
fn one_outer_flow_ends_the_isolation_of_fq_codel() {
    let seen = |tunnel: &str| {
        let output = over("fq_codel", HTB, TWO, tunnel);
        let ratio = output.flow("prague").goodput_mbps / output.flow("cubic").goodput_mbps;
        (ratio, output.ping("p").rtt_ms.expect("replies").p50)
    };
    let apart = seen("");
    close(apart.0, 1.0, 5.0);
    assert!(apart.1 < 11.0, "{apart:?}");
    let kept = seen(&format!("{VPN}entropy = \"inner\"\n"));
    close(kept.0, 1.0, 5.0);
    assert!(kept.1 < 11.0, "{kept:?}");
    let one = seen(VPN);
    assert!(one.0 > 2.0 && one.1 > apart.1 + 1.0, "{one:?} instead of {apart:?}");
}

#[test]
fn outer_headers_take_their_share_of_the_link() {
    let goodput = |tunnel: &str| {
        let flow = "[[flow]]\nname = \"a\"\ncc = \"cubic\"\n";
        over("codel ecn", HTB, flow, tunnel).flow("a").goodput_mbps
    };
    close(goodput(&format!("{VPN}overhead = 400\n")), goodput("") * 1514.0 / 1914.0, 2.0);
    let output = over("codel ecn", HTB, ENDING, &format!("{VPN}overhead = 60\n"));
    let [encap, queue, decap] = ["vpn.encap", "bneck", "vpn.decap"].map(|name| output.queue(name));
    assert_eq!(encap.sent_bytes, queue.received_bytes);
    assert_eq!(queue.sent_packets, decap.sent_packets);
    assert_eq!(known(queue.sent_bytes), known(decap.sent_bytes) + 60 * decap.sent_packets);
    assert_eq!(output.queue("counter").received_bytes, decap.sent_bytes);
}

#[test]
fn every_ce_mark_inside_reaches_the_receiver() {
    for options in ["", "dscp = \"zero\"\nentropy = \"inner\"\n"] {
        let output = over("codel ecn", HTB, ENDING, &format!("{VPN}{options}"));
        let marks = output.queue("bneck").marked as f64;
        assert!(marks > 5.0, "{marks}");
        assert_eq!(stat(output.queue("vpn.decap"), "ce_propagated"), marks);
        let flow = output.flow("a");
        assert_eq!(total(&flow.receiver, "ce_received"), marks);
        assert_eq!(total(&flow.sender, "ce_reported"), marks);
    }
}

#[test]
fn compatibility_mode_makes_the_queue_drop() {
    let output = over("codel ecn", HTB, ENDING, &format!("{VPN}ecn = \"compat\"\n"));
    let queue = output.queue("bneck");
    assert!(queue.marked == 0 && queue.dropped > 0, "{queue:?}");
    assert_eq!(total(&output.flow("a").receiver, "ce_received"), 0.0);
}

#[test]
fn sce_marks_come_out_as_ect1() {
    let cake = "cake bandwidth 50Mbit sce besteffort";
    let flow = format!("{ENDING}tcp = {{ ecn = \"rfc3168\" }}\n");
    let output = over(cake, "", &flow, VPN);
    let sce = output.queue("bneck").marks.0.iter().find(|(reason, _)| *reason == "sce");
    let sce = sce.expect("SCE marks").1;
    let propagated = stat(output.queue("vpn.decap"), "ect1_propagated");
    assert_eq!(stat(output.queue("counter.ingress0"), "matched"), propagated);
    // A packet that CAKE has marked with SCE it may yet mark with CE.
    let ce = stat(output.queue("vpn.decap"), "ce_propagated");
    assert!(
        propagated > 100.0 && propagated <= sce && sce <= propagated + ce,
        "{propagated} {sce}"
    );
    let hidden = over(cake, "", &flow, &format!("{VPN}ecn = \"compat\"\n"));
    assert_eq!(stat(hidden.queue("counter.ingress0"), "matched"), 0.0);
}

#[test]
fn replay_window_drops_what_the_l_queue_has_overtaken() {
    let run = |window: &str| {
        let output = over("dualpi2", HTB, TWO, &format!("{VPN}{window}"));
        let decap = output.queue("vpn.decap");
        let replayed = stat(decap, "replay_drops");
        let middlebox = decap.drops.0.iter().find(|(reason, _)| *reason == "middlebox");
        assert_eq!(middlebox.map_or(0.0, |(_, n)| *n), replayed);
        let lost = |flow: &str| total(&output.flow(flow).sender, "lost");
        (replayed, lost("prague"), lost("cubic"), output.flow("cubic").goodput_mbps)
    };
    let free = run("");
    assert_eq!(free.0, 0.0);
    let small = run("replay_window = 32\n");
    assert!(small.0 > 100.0 && small.2 >= free.2 + 50.0, "{small:?} instead of {free:?}");
    assert!(small.3 < 0.5 * free.3, "{small:?} instead of {free:?}");
    // The L queue's own packets are never overtaken.
    assert!(small.1 <= free.1, "{small:?} instead of {free:?}");
    let large = run("replay_window = 8000\n");
    assert_eq!(large, free);
}

#[test]
fn tunnel_within_a_tunnel_gives_back_the_packet() {
    let outer =
        "[[tunnel]]\nname = \"outer\"\nlinks = [\"bneck\", \"counter\"]\nreplay_window = 64\n";
    let output = over("codel ecn", HTB, ENDING, &format!("{VPN}replay_window = 64\n{outer}"));
    let marks = output.queue("bneck").marked as f64;
    assert_eq!(total(&output.flow("a").receiver, "ce_received"), marks);
    assert_eq!(stat(output.queue("outer.decap"), "ce_propagated"), marks);
    assert_eq!(total(&output.flow("a").receiver, "delivered_bytes"), f64::from(30 << 20));
}

#[test]
fn full_functionality_mode_hides_earlier_marks_from_the_queue_inside() {
    let packets = |mode: &str| {
        let output = run(&format!(
            r#"
duration = "5s"
[[link]]
name = "before"
ingress = ["mangle data every 10 ce-everything"]
[link.reverse]
ingress = []
[[link]]
name = "bneck"
rate = "50Mbit"
qdisc = "dualpi2"
delay = "5ms"
[[flow]]
name = "a"
cc = "prague"
[[tunnel]]
name = "vpn"
links = ["bneck"]
ecn = "{mode}"
"#
        ));
        let marks = output.queue("before.ingress0").marked as f64;
        let received = total(&output.flow("a").receiver, "ce_received");
        let queue = output.queue("bneck");
        assert!(marks > 100.0 && received > marks - 10.0, "{received} of {marks} come through");
        (stat(queue, "pkts_in_c"), marks)
    };
    // CE is classified as L4S; as ECT(0) it is Classic, with the SYN.
    let (classic, _) = packets("normal");
    assert!(classic <= 2.0, "{classic}");
    let (classic, marks) = packets("rfc3168");
    assert!(classic >= marks, "{classic} of {marks}");
}

/// A flow of super-packets through a tunnel and a queue that may split them.
fn offload(qdisc: &str, tunnel: &str) -> Output {
    let flow = "[[flow]]\nname = \"a\"\ncc = \"prague\"\nbytes = \"5Mb\"\ntcp = { gso = true }\n";
    let few = "[[flow]]\nname = \"b\"\ncc = \"cubic\"\nflows = 4\nbytes = \"1Mb\"\n";
    over(qdisc, HTB, &format!("{flow}{few}"), tunnel)
}

#[test]
fn segments_of_a_super_packet_leave_a_tunnel_as_what_they_are() {
    let nested =
        format!("{VPN}[[tunnel]]\nname = \"outer\"\nlinks = [\"bneck\"]\nentropy = \"inner\"\n");
    for qdisc in
        ["cake bandwidth 50Mbit", "dualpi2", "cobalt", "tbf rate 50Mbit burst 10kb latency 50ms"]
    {
        for tunnel in [VPN, &nested, &format!("{nested}replay_window = 64\n")] {
            let output = offload(qdisc, tunnel);
            let done = |flow: &str| total(&output.flow(flow).receiver, "delivered_bytes");
            assert_eq!(done("a"), f64::from(5 << 20), "{qdisc} {tunnel}");
            for flow in ["b-1", "b-2", "b-3", "b-4"] {
                assert_eq!(done(flow), f64::from(1 << 20), "{qdisc} {tunnel}");
            }
            let sent: f64 =
                ["a", "b-1"].iter().map(|f| total(&output.flow(f).sender, "lost")).sum();
            assert!(sent < 200.0, "{qdisc} {tunnel}: {sent}");
        }
    }
}

// A replayed number is dropped, so each segment needs one of its own.
#[test]
fn tunnel_with_sequence_numbers_splits_super_packets_before() {
    for (tunnel, whole) in [(VPN, true), (&format!("{VPN}replay_window = 64\n"), false)] {
        let output = offload("pfifo", tunnel);
        let [encap, decap] = ["vpn.encap", "vpn.decap"].map(|name| output.queue(name));
        assert_eq!(stat(decap, "replay_drops"), 0.0);
        let mean = known(encap.sent_bytes) as f64 / encap.sent_packets as f64;
        assert_eq!(mean > 1600.0, whole, "{mean}");
    }
}
