//! Super-packets, merged segments and small queues in whole runs (Linux TSO, GRO and TSQ).

use crate::lab::{Named, close, known, run, total};

/// One flow with these keys of `[tcp]` over a link with these keys.
fn scenario(link: &str, flow: &str) -> String {
    format!(
        r#"
duration = "6s"
measure.from = "2s"
[[link]]
name = "bneck"
delay = "5ms"
{link}
[link.reverse]
rate = "none"
shaper = "none"
qdisc = "pfifo"
[[flow]]
name = "a"
{flow}
"#
    )
}

/// Segments for each packet that the queue received.
fn per_packet(qdisc: &str) -> f64 {
    let link = format!("rate = \"500Mbit\"\nshaper = \"htb\"\nqdisc = \"{qdisc}\"");
    let output =
        run(&scenario(&link, "cc = \"cubic\"\ntcp = { gso = true, accecn_option = true }"));
    let flow = output.flow("a");
    assert!(flow.goodput_mbps > 0.9 * 500.0 * 1448.0 / 1514.0, "{qdisc}: {}", flow.goodput_mbps);
    let sent = total(&flow.sender, "segments_sent");
    // Whatever the packets, the bytes are those of segments with all their headers.
    let queue = output.queue("bneck");
    let bytes = known(queue.received_bytes) as f64 / 1514.0;
    assert!((sent - bytes).abs() < 5.0, "{qdisc}: {sent} segments, {bytes} frames");
    sent / queue.received_packets as f64
}

// KAT offload 1: the AQM sees frames or super-packets
#[test]
fn a_queue_sees_super_packets_unless_it_splits_them() {
    for whole in ["pfifo", "fq_codel", "dualpi2 no_split_gso", "cake no-split-gso", "codel"] {
        let packed = per_packet(whole);
        assert!(packed > 8.0, "{whole}: {packed}");
    }
    for split in ["dualpi2", "cake", "tbf rate 500Mbit burst 10kb limit 1mb", "twin_codel_af"] {
        let packed = per_packet(split);
        assert!(packed < 1.001, "{split}: {packed}");
    }
}

// KAT accecn 3: an ACK that covers many segments without option reads as marks that nobody made
#[test]
fn merged_acks_without_option_are_phantom_marks_to_the_safe_reading() {
    let reported = |tcp: &str| {
        let link = "rate = \"500Mbit\"\nqdisc = \"pfifo limit 400\"";
        // The receive window keeps the queue from overflowing: an ACK with three SACK blocks has no room
        // for the option, and is as ambiguous as one of a peer without it.
        let gro = "gro = true, gro_flush_timeout = \"500us\", rmem_max = \"2Mb\"";
        let output = run(&scenario(link, &format!("cc = \"cubic\"\ntcp = {{ {gro}, {tcp} }}")));
        assert_eq!(output.queue("bneck").marked, 0);
        (total(&output.flow("a").sender, "ce_reported"), output.flow("a").goodput_mbps)
    };
    let (marks, rate) = reported("accecn_option = false");
    assert!(marks > 100.0 && rate < 250.0, "{marks} marks, {rate} Mbit/s");
    for honest in ["accecn_option = true", "ecn_unsafe_cep = true", "ecn = \"rfc3168\""] {
        let (marks, rate) = reported(honest);
        assert!(marks == 0.0 && rate > 430.0, "{honest}: {marks} marks, {rate} Mbit/s");
    }
}

/// Impairments meet the packet, not its segments; accounts balance, and everything arrives.
#[test]
fn super_packets_are_lost_duplicated_and_delayed_whole() {
    for impairment in ["loss 1%", "duplicate 2%", "delay 1ms reorder 2%", "corrupt 1%"] {
        for qdisc in ["fq_codel", "cake"] {
            let link = format!(
                "rate = \"100Mbit\"\nshaper = \"htb\"\nqdisc = \"{qdisc}\"\ningress = [\"netem {impairment}\"]"
            );
            let tcp = "tcp = { gso = true, gro = true, tsq = true }";
            let flow = format!("cc = \"cubic\"\nbytes = \"3mb\"\n{tcp}");
            let text = format!("name = \"x\"\n{}", scenario(&link, &flow));
            let parsed = sojourn_scenario::load(&text, "x.toml", &[]).expect("valid");
            let output = sojourn_sim::run(&parsed.scenario).expect("time moves");
            let delivered = total(&output.flow("a").receiver, "delivered_bytes");
            assert_eq!(delivered, f64::from(3 << 20), "{impairment}, {qdisc}");
        }
    }
}

#[test]
fn a_host_that_merges_acknowledges_less_the_longer_it_holds() {
    let segments_per_ack = |tcp: &str, rate: u32| {
        let link = format!("rate = \"{rate}Mbit\"\nqdisc = \"pfifo limit 400\"");
        let output =
            run(&scenario(&link, &format!("cc = \"cubic\"\ntcp = {{ ecn = \"off\", {tcp} }}")));
        let flow = output.flow("a");
        assert!(flow.goodput_mbps > 0.9 * f64::from(rate) * 1448.0 / 1514.0, "{tcp}");
        total(&flow.receiver, "segments_received") / total(&flow.receiver, "acks_sent")
    };
    let plain = segments_per_ack("gro = false", 500);
    assert!((1.7..2.01).contains(&plain), "{plain}");
    // A frame takes 24 us: 100 us hold the first and four more, if no burst ends between.
    let held = |us: u32, timestamps: bool| {
        let tcp = format!(
            "push_bursts = false, gro = true, gro_flush_timeout = \"{us}us\", timestamps = {timestamps}"
        );
        segments_per_ack(&tcp, 500)
    };
    close(held(100, false), 5.0, 5.0);
    close(held(500, false), 21.0, 5.0);
    // Both timestamps change once a millisecond, 41 frames, and the timeout ends one unit between.
    close(held(500, true), 41.0 / 3.0, 15.0);
    // At 20 Mbit/s frames are 0.6 ms apart, and there is nothing to merge.
    close(segments_per_ack("gro = true", 20), segments_per_ack("gro = false", 20), 1.0);
}

// KAT offload 2: TSQ
#[test]
fn small_queues_keep_the_hosts_backlog_within_a_millisecond_or_two_bursts() {
    let most = |tcp: &str| {
        let link = "rate = \"100Mbit\"\nqdisc = \"pfifo limit 2000\"";
        let output =
            run(&scenario(link, &format!("cc = \"cubic\"\ntcp = {{ ecn = \"off\", {tcp} }}")));
        let flow = output.flow("a");
        assert!(flow.goodput_mbps > 0.95 * 100.0 * 1448.0 / 1514.0, "{tcp}: {}", flow.goodput_mbps);
        let backlog = output.series("queue.bneck.backlog_bytes");
        let late = backlog.into_iter().filter(|(t, _)| *t > 2.0);
        let pacing = output.series("flow.a.pacing_rate").into_iter().filter(|(t, _)| *t > 2.0);
        let pacing = pacing.map(|(_, mbps)| mbps * 1e6 / 8.0).fold(0.0, f64::max);
        (late.map(|(_, b)| b).fold(0.0, f64::max), pacing)
    };
    assert!(most("tsq = false").0 > 1e6, "a full buffer without");
    // Beyond the bound goes the burst that passed the test: at most 64 KiB with headers.
    let (limited, _) = most("tsq = true, limit_output_bytes = \"128Kb\"");
    assert!((20e3..131_072.0 + 70e3).contains(&limited), "{limited}");
    for gso in [false, true] {
        // A burst is a millisecond; two may be there when one more passes.
        let (paced, rate) = most(&format!("tsq = true, pacing = true, gso = {gso}"));
        let burst = (rate / 1024.0 / 1448.0).floor() * 1514.0;
        assert!(paced > burst && paced <= 3.0 * burst, "{paced} of {burst}");
    }
}

/// A merged packet has one ACK, whose three bits cannot tell the marks of more than 7 segments apart.
#[test]
fn marks_are_what_the_receiver_got_and_a_belief_that_differs_is_noted() {
    let marks = |qdisc: &str, ecn: &str| {
        let output = run(&format!(
            r#"
duration = "5s"
tcp = {{ gso = true, gro = true, ecn = "{ecn}", era = "2020" }}
[[link]]
name = "bneck"
rate = "200Mbit"
qdisc = "{qdisc}"
delay = "5ms"
[[flow]]
name = "a"
cc = "cubic"
"#
        ));
        output.flow("a").marks.clone().expect("TCP counts marks")
    };
    let fifo = marks("pfifo limit 200", "accecn");
    assert_eq!(fifo.received_packets, 0);
    assert!(fifo.sender_believes_packets.is_some_and(|n| n > 0), "{fifo:?}");
    assert!(fifo.note.is_some_and(|note| note.contains("the receiver got 0")));
    let off = marks("pfifo limit 200", "off");
    assert_eq!((off.sender_believes_packets, off.note), (Some(0), None));
    let classic = marks("fq_codel", "rfc3168");
    assert!(classic.received_packets > 0 && classic.sender_believes_packets > Some(0));
}
