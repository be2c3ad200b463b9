//! Windows of congestion controllers: sawtooth, slope, and the coupling of the DualQ.

use std::fmt::Write as _;

use sojourn_trace::FlowSummary;

use crate::lab::{Named, close, run, run_with, slope, total};

/// Reno over a queue of one BDP: W runs between BDP and twice that, one segment per round trip,
/// whose length grows with the queue. 20 Mbit/s and 40 ms: BDP 66 segments, W_max 132.
#[test]
fn reno_over_one_bdp_saws_between_one_and_two_bdp() {
    let text = r#"
duration = "60s"
step = "10ms"
measure = { from = "15s", to = "60s" }
[[link]]
name = "bneck"
rate = "20Mbit"
qdisc = "pfifo limit 66"
delay = "20ms"
[link.reverse]
rate = "none"
[[flow]]
name = "a"
cc = "reno"
tcp = { ecn = "off" }
"#;
    let output = run(text);
    let cwnd = output.series("flow.a.cwnd");
    let falls: Vec<(f64, f64)> = cwnd
        .windows(2)
        .filter(|w| w[0].0 > 15.0 && w[1].1 < w[0].1 - 2.0 && w[0].1 > 100.0)
        .map(|w| w[0])
        .collect();
    let mut peaks: Vec<(f64, f64)> = Vec::new();
    for fall in falls {
        if peaks.last().is_none_or(|p| fall.0 - p.0 > 1.0) {
            peaks.push(fall);
        }
    }
    assert!(peaks.len() >= 4, "{peaks:?}");
    // 66 in the queue, one on the wire, 66 in flight.
    for (_, most) in &peaks {
        close(*most, 133.0, 2.5);
    }
    // 66 round trips from 66 to 132 segments; each takes W frames of 0.6056 ms: 66·99·0.6056 ms,
    // and the round trips in which the loss is found and repaired.
    let period = (peaks[peaks.len() - 1].0 - peaks[0].0) / (peaks.len() - 1) as f64;
    close(period, 3.96 + 2.0 * 0.08, 5.0);
    assert!(output.flow("a").goodput_mbps > 0.97 * 20.0 * 1448.0 / 1514.0);
}

// X2: Prague without marks in congestion avoidance grows by a segment per round trip.
#[test]
fn prague_grows_by_a_segment_per_round_trip() {
    for (rtt, seconds) in [(20.0, 4.0), (80.0, 20.0), (160.0, 60.0)] {
        // Half the rate for a while makes it leave slow start; then the full rate stands open.
        let text = format!(
            r#"
duration = "{end}s"
step = "20ms"
[[link]]
name = "bneck"
rate = "{slow}Mbit"
qdisc = "dualpi2"
delay = "{delay}ms"
[link.reverse]
rate = "none"
[[flow]]
name = "a"
cc = "prague version p2b"
[[schedule]]
at = "10s"
set = {{ "link.bneck.forward.rate" = "1Gbit" }}
"#,
            end = 10.0 + seconds,
            slow = 10,
            delay = rtt / 2.0,
        );
        let output = run(&text);
        let rate: Vec<(f64, f64)> = output
            .series("flow.a.cwnd")
            .into_iter()
            .filter(|(t, _)| *t > 10.0 + seconds / 4.0)
            .map(|(t, w)| (t, w * 1448.0 * 8.0 / (rtt / 1e3) / 1e6))
            .collect();
        let seconds_per_rtt = rtt / 1e3;
        let expected = 1448.0 * 8.0 / seconds_per_rtt / seconds_per_rtt / 1e6;
        close(slope(&rate), expected, 10.0);
    }
}

/// The laws give 1.22 for the ratio of the windows: Reno's sqrt(1.5/p_C) over Prague's 2/p_CL
/// with the coupling p_CL = 2 sqrt(p_C). Its 2/p holds where every round trip has its reduction.
/// Under random marks a reduction lasts one round trip and the next mark is 1/p segments later, so
/// with x = W p each takes 1 + 1/x round trips: x = 2 (1 + 1/x), x = 1 + sqrt(3), and the ratio is
/// 1.2247 * 2 / 2.732 = 0.897.
///
/// "Equal total RTT": the law compares windows, so each flow's rate is taken over its own RTT; the
/// paths are made equal by 14 ms more of propagation for Prague, about what Reno waits in the C
/// queue. Four flows of each kind keep p from following a single sawtooth.
#[test]
fn reno_and_prague_share_a_dualq_in_the_ratio_of_the_coupling() {
    let mut text = r#"
duration = "180s"
measure = { from = "30s", to = "180s" }
[[link]]
name = "far"
delay = "7ms"
[[link]]
name = "bneck"
rate = "120Mbit"
shaper = "htb"
qdisc = "dualpi2"
delay = "10ms"
"#
    .to_owned();
    for n in 0..4 {
        let _ = write!(
            text,
            r#"
[[flow]]
name = "reno{n}"
cc = "reno"
start = "{0}ms"
path = ["bneck"]
tcp = {{ ecn = "rfc3168" }}
[[flow]]
name = "prague{n}"
cc = "prague version p2b"
start = "{0}ms"
"#,
            100 * n
        );
    }
    let output = run(&text);
    // Means over the flows of a kind: window in segments, RTT in ms, share of marked segments.
    let kind = |name: &str| {
        let flows: Vec<_> =
            output.summary.flows.iter().filter(|f| f.name.starts_with(name)).collect();
        let mean = |of: &dyn Fn(&FlowSummary) -> f64| {
            flows.iter().map(|f| of(f)).sum::<f64>() / flows.len() as f64
        };
        let rtt = |f: &FlowSummary| f.rtt_ms.expect("samples").mean;
        let window = |f: &FlowSummary| f.goodput_mbps * rtt(f) * 1e3 / (1448.0 * 8.0);
        let marked = |f: &FlowSummary| {
            total(&f.receiver, "ce_received") / total(&f.receiver, "segments_received")
        };
        (mean(&window), mean(&rtt), mean(&marked))
    };
    let ((reno, reno_rtt, p_c), (prague, prague_rtt, p_l)) = (kind("reno"), kind("prague"));
    close(reno_rtt, prague_rtt, 5.0);
    // p' moves, and the mean of its square exceeds the square of its mean: each law by itself.
    let prob: Vec<f64> = output
        .series("queue.bneck.prob")
        .into_iter()
        .filter(|(t, _)| *t >= 30.0)
        .map(|(_, p)| p)
        .collect();
    let mean = |of: fn(f64) -> f64| prob.iter().map(|p| of(*p)).sum::<f64>() / prob.len() as f64;
    close(p_l, 2.0 * mean(|p| p), 5.0);
    close(p_c, mean(|p| p * p), 10.0);
    close(reno, (1.5 / p_c).sqrt(), 15.0);
    close(prague * p_l, 1.0 + 3.0_f64.sqrt(), 10.0);
    close(reno / prague, 0.897, 15.0);
}

#[test]
fn a_full_link_holds_its_bdp() {
    // X4: 50 Mbit/s over 20 and 80 ms is 83 and 330 frames.
    let text = r#"
duration = "60s"
measure = { from = "40s", to = "60s" }
[[link]]
name = "bneck"
rate = "50Mbit"
shaper = "htb"
qdisc = "dualpi2"
delay = "10ms"
[[flow]]
name = "a"
cc = "prague version p2b"
"#;
    for (delay, frames) in [("10ms", 82.6), ("40ms", 330.3)] {
        let output = run_with(text, &[("link.bneck.delay", delay.to_owned())]);
        let cwnd = output.flow("a").cwnd_segments.expect("samples").mean;
        close(cwnd, frames, 10.0);
    }
}
