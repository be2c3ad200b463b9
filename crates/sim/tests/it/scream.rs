//! SCReAM: alone and beside Prague over DualPI2 as in the test activity of 2024-10-28, with classic
//! marks and with none, in several streams, and that accounts agree.

use sojourn_trace::Output;

use crate::lab::{Named, run, total};

/// The tool's test record of 2024-10-28: 100 Mbit/s, the RTT on the way back, IP packets of 1400 bytes.
fn activity(rtt_ms: u32, cc: &str, app: &str, more: &str) -> Output {
    run(&format!(
        r#"
duration = "30s"
measure.from = "5s"
[[link]]
name = "bneck"
rate = "100Mbit"
shaper = "htb"
qdisc = "dualpi2 version l4steam"
reverse = {{ rate = "none", qdisc = "pfifo", ingress = ["netem delay {rtt_ms}ms limit 100000"] }}
[[flow]]
name = "m"
cc = "scream version 2024-10-28 parity mtu 1360 {cc}"
app = "scream-bw {app}"
{more}"#
    ))
}

/// Mbit/s of RTP, as the published tables have it.
fn rate(out: &Output) -> f64 {
    out.flow("m").media.as_ref().and_then(|m| m.sent_mbps.as_ref()).expect("a media flow").mean
}

fn accounts_agree(out: &Output) {
    let flow = out.flow("m");
    let (sent, received) = (&flow.sender, &flow.receiver);
    let frames = flow.media.as_ref().and_then(|m| m.frames).expect("frames");
    assert!(total(sent, "frames_encoded") >= frames.expected as f64);
    let way = total(sent, "packets_sent") - total(received, "packets_received");
    assert!((0.0..=out.queue("bneck").dropped as f64 + 200.0).contains(&way), "{way}");
    assert!(total(sent, "reports_received") <= total(received, "reports_sent"));
    let acked = total(sent, "acked_bytes") / total(sent, "sent_bytes");
    assert!(acked > 0.9 && acked < 1.0, "{acked}");
}

// KAT scream-model 2: model M, RTT 25 ms, bursts of 0.25, 0.5, 1 and 2 ms
#[test]
fn alone_it_has_the_rate_of_the_model_whatever_the_burst() {
    for (burst, model) in [("250us", 70.1), ("500us", 71.8), ("1ms", 65.8), ("2ms", 43.5)] {
        let out = activity(25, &format!("microburst {burst}"), "", "");
        let off = rate(&out) / model - 1.0;
        assert!(off.abs() < 0.06, "{burst}: {:.1} instead of {model}", rate(&out));
        let queue = out.queue("bneck");
        assert_eq!(queue.dropped, 0);
        assert_eq!(total(&out.flow("m").receiver, "ce_received"), queue.marked as f64);
        // The model's CE: 1.5 to 8 %, p99 of the delay 1.1 to 2.6 ms.
        let p99 = queue.sojourn_ms.as_ref().expect("packets").p99;
        assert!((1.0..2.8).contains(&p99), "{burst}: {p99} ms");
        accounts_agree(&out);
    }
}

// KAT scream-model 3: model M, frames of varying size
#[test]
fn frames_of_varying_size_cost_rate() {
    for (rtt, model) in [(5, 65.9), (25, 60.9), (50, 59.8)] {
        let out = activity(rtt, "microburst 500us", "rand 50", "");
        let off = rate(&out) / model - 1.0;
        assert!(off.abs() < 0.06, "{rtt} ms: {:.1} instead of {model}", rate(&out));
        accounts_agree(&out);
    }
}

#[test]
fn beside_prague_both_have_a_share_and_the_queue_stays_short() {
    let prague = "[[flow]]\nname = \"t\"\ncc = \"prague\"\n";
    let out = activity(25, "microburst 500us", "", prague);
    let (media, tcp) = (rate(&out), out.flow("t").goodput_mbps);
    assert!(media > 15.0 && tcp > 15.0 && media + tcp > 75.0, "{media} {tcp}");
    assert!(out.queue("bneck").sojourn_ms.as_ref().expect("packets").p99 < 4.0);
    accounts_agree(&out);
    for series in
        ["target_rate", "sent_rate", "rtt", "cc.ref_wnd", "cc.l4s_alpha", "cc.queue_delay"]
    {
        let values = out.series(&format!("flow.m.{series}"));
        assert!(values.iter().any(|(_, value)| *value > 0.0), "{series}");
    }
}

fn plain(cc: &str, app: &str, qdisc: &str, rate: &str) -> Output {
    run(&format!(
        r#"
duration = "40s"
measure.from = "15s"
[[link]]
name = "bneck"
rate = "{rate}"
shaper = "htb"
qdisc = "{qdisc}"
delay = "20ms"
[[flow]]
name = "m"
cc = "scream {cc}"
app = "{app}"
"#
    ))
}

#[test]
fn without_marks_delay_is_the_signal_and_with_classic_marks_the_queue_is_the_aqms() {
    let share = |out: &Output| rate(out) / 10.0;
    let delay = |out: &Output| out.queue("bneck").sojourn_ms.as_ref().expect("packets").p95;
    let fifo = plain("noecn", "scream-bw", "pfifo limit 400", "10Mbit");
    assert!((0.6..1.0).contains(&share(&fifo)), "{}", share(&fifo));
    // The target is 60 ms, half of which is already a signal; the FIFO has 450 ms.
    assert!(delay(&fifo) < 90.0, "{}", delay(&fifo));
    assert_eq!(fifo.queue("bneck").dropped, 0);
    let marked = plain("ect0", "scream-bw", "fq_codel", "10Mbit");
    assert!((0.5..1.0).contains(&share(&marked)), "{}", share(&marked));
    assert!(marked.queue("bneck").marked > 0 && delay(&marked) < 40.0, "{}", delay(&marked));
}

#[test]
fn an_encoder_of_another_kind_is_controlled_too() {
    let out = plain("max_rate 20Mbit", "video fps 30 delay 50ms", "dualpi2", "10Mbit");
    let frames = out.flow("m").media.as_ref().and_then(|m| m.frames).expect("frames");
    assert!(frames.incomplete < 0.02 && frames.expected > 700, "{frames:?}");
    assert!((3.0..10.0).contains(&rate(&out)), "{}", rate(&out));
}

#[test]
fn calls_and_games_follow_a_controller_between_their_rates() {
    // IP bytes: from 24 to 80 kbit/s, and from 20 to 58.
    for (app, least, most) in [("voip", 24.0, 80.0), ("game spread 0", 19.7, 57.6)] {
        for cc in ["scream", "gcc", "nada rmin 8kbit"] {
            let on = |link: &str| {
                let out = run(&format!(
                    r#"
duration = "30s"
measure = {{ from = "10s", to = "30s" }}
[[link]]
name = "bneck"
rate = "{link}"
delay = "20ms"
qdisc = "fq_codel"
[[flow]]
name = "m"
cc = "{cc}"
app = "{app}"
"#
                ));
                let frames = out.flow("m").media.as_ref().and_then(|m| m.frames).expect("frames");
                (1000.0 * rate(&out), frames.expected, frames.incomplete)
            };
            let (wide, packets, lost) = on("10Mbit");
            let per_second = if app == "voip" { 50 } else { 60 };
            assert!((most * 0.5..=most * 1.05).contains(&wide), "{app} {cc}: {wide}");
            assert!(packets.abs_diff(20 * per_second) <= 5 && lost < 0.01, "{app} {cc}: {packets}");
            let (narrow, _, late) = on("45kbit");
            assert!((least * 0.5..0.8 * wide).contains(&narrow), "{app} {cc}: {narrow} of {wide}");
            // A third and more where SCReAM does not know how little the encoder can make.
            assert!(late < 0.25, "{app} {cc}: {late} of the packets did not arrive");
        }
    }
}

#[test]
fn a_fixed_rate_is_sent_and_more_than_the_path_takes_is_not() {
    let out = plain("fixed_rate 8Mbit", "scream-bw", "dualpi2", "50Mbit");
    // RTP adds a hundredth to the encoder's rate.
    assert!((8.0..8.2).contains(&rate(&out)), "{}", rate(&out));
}

#[test]
fn streams_share_by_their_priorities() {
    let out = plain("max_rate 20Mbit", "scream-bw priorities 1,0.5", "dualpi2", "20Mbit");
    let frames = out.flow("m").media.as_ref().and_then(|m| m.frames).expect("frames");
    // 25 s at 50 frames of two streams.
    assert!((2450..=2550).contains(&frames.expected) && frames.incomplete < 0.01, "{frames:?}");
    assert!((10.0..20.0).contains(&rate(&out)), "{}", rate(&out));
}

#[test]
fn a_stopped_flow_ends_and_the_same_seed_gives_the_same_bytes() {
    let text = |seed: u32| {
        format!(
            r#"
duration = "8s"
seed = {seed}
[[link]]
name = "bneck"
rate = "20Mbit"
delay = "5ms"
qdisc = "dualpi2"
ingress = ["netem loss 1% delay 1ms 1ms"]
[[flow]]
name = "m"
cc = "scream"
app = "scream-bw rand 30 key 1s 3 burst 2s 500ms"
stop = "6s"
"#
        )
    };
    let (one, same, other) = (run(&text(1)), run(&text(1)), run(&text(2)));
    let sent = |out: &Output| total(&out.flow("m").sender, "sent_bytes");
    assert_eq!(sent(&one), sent(&same));
    assert_eq!(one.series("flow.m.target_rate"), same.series("flow.m.target_rate"));
    assert_ne!(sent(&one), sent(&other));
    assert!(one.series("flow.m.sent_rate").iter().all(|(t, _)| *t < 6.5));
    assert!(total(&one.flow("m").sender, "lost") > 0.0);
}

/// Version 1 on a slow link without marks: all of it, and a queue below its target of 100 ms (RFC 8298)
/// or 60 ms (2020). The tool of 2020 takes a queue that always stands for the path's own delay after
/// 20 s at the earliest, and adds another one until tiny frames show it: twice 60 ms.
#[test]
fn version_1_fills_a_link() {
    for (cc, range) in [
        ("version 2020-03-20 noecn", 5.0..120.0),
        ("version 2020-03-20 parity noecn", 5.0..120.0),
        ("version rfc8298 noecn", 2.0..100.0),
    ] {
        let out = run(&format!(
            r#"
duration = "60s"
measure.from = "20s"
[[link]]
name = "bneck"
rate = "2Mbit"
qdisc = "bfifo limit 200kb"
reverse = {{ rate = "none", qdisc = "pfifo", ingress = ["netem delay 40ms limit 100000"] }}
[[flow]]
name = "m"
cc = "scream {cc} min_rate 200kbit"
app = "scream-bw"
"#
        ));
        let rate = rate(&out);
        assert!((1.6..2.0).contains(&rate), "{cc}: {rate}");
        let delay = out.queue("bneck").sojourn_ms.as_ref().expect("packets").mean;
        assert!(range.contains(&delay), "{cc}: {delay} ms");
        assert_eq!(out.queue("bneck").dropped, 0);
        let flow = out.flow("m");
        assert!(total(&flow.sender, "packets_sent") >= total(&flow.receiver, "packets_received"));
    }
}
