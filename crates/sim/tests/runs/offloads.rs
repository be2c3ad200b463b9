//! Super-packets, merged segments and small queues in whole runs (cc.md 1.9, 1.10).

use crate::lab::{Named, close, run, total};

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
fn per_packet(qdisc: &str, cc: &str) -> f64 {
    let link = format!("rate = \"500Mbit\"\nshaper = \"htb\"\nqdisc = \"{qdisc}\"");
    let output = run(&scenario(&link, &format!("cc = \"{cc}\"\ntcp = {{ gso = true }}")));
    let flow = output.flow("a");
    assert!(flow.goodput_mbps > 0.9 * 500.0 * 1448.0 / 1514.0, "{qdisc}: {}", flow.goodput_mbps);
    let sent = total(&flow.sender, "segments_sent");
    // Whatever the packets, the bytes are those of segments with all their headers.
    let queue = output.queue("bneck");
    let bytes = queue.received_bytes as f64 / 1514.0;
    assert!((sent - bytes).abs() < 5.0, "{qdisc}: {sent} segments, {bytes} frames");
    sent / queue.received_packets as f64
}

// KAT cc.md §1.9: the AQM sees frames or super-packets
#[test]
fn a_queue_sees_super_packets_unless_it_splits_them() {
    for whole in ["pfifo", "fq_codel", "dualpi2 no_split_gso", "cake no-split-gso", "codel"] {
        let packed = per_packet(whole, "cubic");
        assert!(packed > 8.0, "{whole}: {packed}");
    }
    for split in ["dualpi2", "cake", "tbf rate 500Mbit burst 10kb limit 1mb", "twin_codel_af"] {
        let packed = per_packet(split, "cubic");
        assert!(packed < 1.001, "{split}: {packed}");
    }
    // Prague asks for bursts of 250 us: 10 segments of 24 us.
    let packed = per_packet("pfifo limit 100", "prague version p2b");
    assert!((4.0..=11.0).contains(&packed), "{packed}");
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
            let output = run(&scenario(&link, &format!("cc = \"cubic\"\nbytes = \"3mb\"\n{tcp}")));
            let delivered = total(&output.flow("a").receiver, "delivered_bytes");
            assert_eq!(delivered, f64::from(3 << 20), "{impairment}, {qdisc}");
        }
    }
}

#[test]
fn a_host_that_merges_acknowledges_less_the_longer_it_holds() {
    let segments_per_ack = |tcp: &str, rate: u32| {
        let link = format!("rate = \"{rate}Mbit\"\nqdisc = \"pfifo limit 400\"");
        let output = run(&scenario(&link, &format!("cc = \"cubic\"\ntcp = {{ {tcp} }}")));
        let flow = output.flow("a");
        assert!(flow.goodput_mbps > 0.9 * f64::from(rate) * 1448.0 / 1514.0, "{tcp}");
        total(&flow.receiver, "segments_received") / total(&flow.receiver, "acks_sent")
    };
    let plain = segments_per_ack("gro = false", 500);
    assert!((1.7..2.01).contains(&plain), "{plain}");
    // A frame takes 24.2 us: 100 us hold the first and four more.
    close(segments_per_ack("gro = true, gro_flush_timeout = \"100us\"", 500), 5.0, 12.0);
    close(segments_per_ack("gro = true, gro_flush_timeout = \"500us\"", 500), 21.0, 15.0);
    // At 20 Mbit/s frames are 0.6 ms apart, and there is nothing to merge.
    let slow = segments_per_ack("gro = true", 20);
    assert!((1.7..2.01).contains(&slow), "{slow}");
}

// KAT cc.md §1.9: TSQ
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
        late.map(|(_, b)| b).fold(0.0, f64::max)
    };
    assert!(most("tsq = false") > 1e6, "a full buffer without");
    // Beyond the bound goes the burst that passed the test: at most 64 KiB with headers.
    let limited = most("tsq = true, limit_output_bytes = \"128Kb\"");
    assert!((60e3..131_072.0 + 70e3).contains(&limited), "{limited}");
    for gso in [false, true] {
        // 120 % of 100 Mbit/s for 2^-10 s, 14.6 kB, and two bursts of as much, and the one that passed.
        let paced = most(&format!("tsq = true, pacing = true, gso = {gso}"));
        assert!(paced < 3.0 * 14_648.0 + 2.0 * 1514.0, "{paced}");
    }
}
