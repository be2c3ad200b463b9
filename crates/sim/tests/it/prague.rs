//! Prague's generations and UDP Prague with real flows, against published results.

use std::fmt::Write as _;

use crate::lab::{Named, close, run, total};

/// Fifty megabits over one queue that marks classically, a flow of each kind.
fn in_one_codel(version: &str) -> (f64, f64) {
    let output = run(&format!(
        r#"
duration = "60s"
measure = {{ from = "20s", to = "60s" }}
[[link]]
name = "bneck"
rate = "50Mbit"
shaper = "htb"
qdisc = "fq_codel flows 1"
delay = "5ms"
[link.reverse]
rate = "none"
[[flow]]
name = "prague"
cc = "prague version {version}"
[[flow]]
name = "cubic"
cc = "cubic"
start = "10s"
tcp = {{ ecn = "rfc3168" }}
"#
    ));
    (output.flow("prague").goodput_mbps, output.flow("cubic").goodput_mbps)
}

// heistp/sce-l4s-bakeoff: p1 had 44.25 Mbit/s against Cubic's 5.78 (7.7 times), and its predecessor
// 40.55 against 9.81 (4.1 times): alpha from 1 costs Cubic about half of its share. That order and
// factor are asserted; both ratios are some 2.3 times higher here (docs/algorithms/prague.md).
#[test]
fn p1_starves_cubic_in_one_fq_codel_queue_twice_as_badly_as_p0() {
    let ratio = |version| {
        let (prague, cubic) = in_one_codel(version);
        assert!(prague + cubic > 0.95 * 50.0 * 1448.0 / 1514.0, "{prague} + {cubic}");
        assert!(prague > 38.0, "{version}: {prague}");
        prague / cubic
    };
    let (p0, p1) = (ratio("p0"), ratio("p1"));
    assert!(p1 > 5.0, "{p1:.2}");
    close(p1 / p0, 7.66 / 4.13, 25.0);
}

const DUALQ: &str = r#"
duration = "30s"
measure = { from = "10s", to = "30s" }
[[link]]
name = "bneck"
rate = "40Mbit"
shaper = "htb"
qdisc = "dualpi2"
delay = "5ms"
"#;

#[test]
fn every_version_fills_a_dualq_without_a_queue() {
    for cc in [
        "prague version p0",
        "prague version p1",
        "prague version p2a",
        "prague version p2b",
        "prague version p2c",
        "prague version p3",
        "prague version draft04",
        "prague",
        "prague cwnd_mode rate",
        "prague cwnd_mode switch",
        "udp-prague",
    ] {
        let output = run(&format!("{DUALQ}\n[[flow]]\nname = \"a\"\ncc = \"{cc}\"\n"));
        let ceiling = 40.0 * if cc == "udp-prague" { 1400.0 / 1442.0 } else { 1448.0 / 1514.0 };
        let share = output.flow("a").goodput_mbps / ceiling;
        assert!((0.85..=1.005).contains(&share), "{cc}: {share:.3}");
        let median = output.queue("bneck").sojourn_ms.expect("packets").p50;
        assert!(median < 2.0, "{cc}: {median:.2} ms");
    }
}

// KAT prague 17: flows of 5 and 20 ms have equal rates at equal marking. The queue marks the two
// unequally, so the law itself is compared: rate times marked per unmarked. Module 0.7 falls short of it:
// its cuts come with the first CWR after 25 ms, and CWR lasts a round trip, so that cuts are 30 ms apart at
// 5 ms and 40 at 20.
#[test]
fn rate_at_a_given_marking_is_the_same_over_5_and_20_ms() {
    let law = |cc: &str| {
        let output = run(&format!(
            r#"
duration = "90s"
measure = {{ from = "30s", to = "90s" }}
[[link]]
name = "far"
delay = "7500us"
[[link]]
name = "bneck"
rate = "40Mbit"
shaper = "htb"
qdisc = "dualpi2"
delay = "2500us"
[[flow]]
name = "short"
cc = "{cc}"
path = ["bneck"]
[[flow]]
name = "long"
cc = "{cc}"
"#
        ));
        let of = |name| {
            let flow = output.flow(name);
            let ce = total(&flow.receiver, "ce_received");
            let all = total(&flow.receiver, "segments_received")
                + total(&flow.receiver, "packets_received");
            flow.goodput_mbps * ce / (all - ce)
        };
        of("short") / of("long")
    };
    for cc in ["prague version draft04", "udp-prague"] {
        close(law(cc), 1.0, 10.0);
    }
    let module = law("prague");
    assert!((0.5..0.85).contains(&module), "{module:.2}");
    // Without an RTT mode the window is what marks determine, and the rate goes with 1/RTT.
    assert!(law("prague version p2b rtt_mode none ecn_fallback 0") > 2.0);
}

// Module 0.7 (L4STeam/linux 893e1479): below two full segments per 25 ms the segments
// shrink. Ten flows of 400 kbit/s.
#[test]
fn current_prague_sends_small_segments_where_two_full_ones_exceed_its_share() {
    let mean_segment = |cc: &str| {
        let mut text = String::from(
            r#"
duration = "40s"
measure = { from = "10s", to = "40s" }
[[link]]
name = "bneck"
rate = "4Mbit"
qdisc = "dualpi2"
delay = "1ms"
"#,
        );
        for n in 0..10 {
            let _ = write!(text, "[[flow]]\nname = \"f{n}\"\ncc = \"{cc}\"\n");
        }
        let output = run(&text);
        let goodput: f64 = output.summary.flows.iter().map(|f| f.goodput_mbps).sum();
        assert!(goodput > 0.8 * 4.0 * 1448.0 / 1514.0, "{cc}: {goodput:.2} Mbit/s");
        let segments: f64 =
            output.summary.flows.iter().map(|f| total(&f.receiver, "segments_received")).sum();
        let bytes: f64 =
            output.summary.flows.iter().map(|f| total(&f.receiver, "delivered_bytes")).sum();
        bytes / segments
    };
    let (small, full) = (mean_segment("prague"), mean_segment("prague version draft04"));
    // 400 kbit/s are 1250 bytes per 25 ms, headers included.
    assert!((300.0..1000.0).contains(&small), "{small:.0} bytes");
    assert!(full > 1440.0, "{full:.0} bytes");
}

// L4STeam/udp_prague e8e3435: 17.9 Mbit/s per second up to 11.2 Mbit/s, from 100 kbit/s.
#[test]
fn udp_prague_probes_linearly_from_100_kilobits() {
    let output = run(r#"
duration = "1s"
step = "10ms"
[[link]]
name = "bneck"
rate = "1Gbit"
delay = "5ms"
[[flow]]
name = "a"
cc = "udp-prague"
"#);
    let rate = output.series("flow.a.cc.rate");
    let at = |time: f64| rate.iter().find(|(t, _)| *t >= time).expect("a sample").1;
    close((at(0.5) - at(0.2)) / 0.3, 17.92, 8.0);
}

#[test]
fn udp_prague_counts_what_the_queue_marked_and_dropped() {
    let output =
        run(&format!("{DUALQ}\n[[flow]]\nname = \"a\"\ncc = \"udp-prague\"\nstop = \"25s\"\n"));
    let flow = output.flow("a");
    let marked = output.queue("bneck").marked as f64;
    assert!(marked > 100.0);
    assert_eq!(total(&flow.receiver, "ce_received"), marked);
    assert_eq!(total(&flow.sender, "ce_reported"), marked);
    let dropped = output.queue("bneck").dropped as f64;
    assert_eq!(total(&flow.receiver, "packets_missing"), dropped);
    let sent = total(&flow.sender, "packets_sent");
    assert_eq!(sent, total(&flow.receiver, "packets_received") + dropped);
}

#[test]
fn udp_prague_and_prague_share_a_dualq() {
    let output = run(&format!(
        "{DUALQ}\n[[flow]]\nname = \"tcp\"\ncc = \"prague\"\n[[flow]]\nname = \"udp\"\ncc = \"udp-prague\"\n"
    ));
    let ratio = output.flow("udp").goodput_mbps / output.flow("tcp").goodput_mbps;
    assert!((0.4..2.5).contains(&ratio), "{ratio:.2}");
}

const VERSIONS: [&str; 8] = ["p0", "p1", "p2a", "p2b", "p2c", "p3", "draft04", "current"];

/// The largest cwnd of flow `p` over its largest flight.
fn cwnd_per_flight(output: &sojourn_trace::Output) -> f64 {
    let largest = |name| output.series(name).iter().fold(0.0, |most: f64, (_, v)| most.max(*v));
    largest("flow.p.cwnd") / largest("flow.p.in_flight")
}

// With default buffers the receive window, 3.1 MB, is smaller than the 5 MB of the path.
#[test]
fn cwnd_does_not_run_away_from_the_flight_where_the_receive_window_limits() {
    for version in VERSIONS {
        let output = run(&format!(
            r#"
duration = "10s"
[[link]]
name = "bneck"
rate = "500Mbit"
qdisc = "dualpi2"
delay = "40ms"
[[flow]]
name = "p"
cc = "prague version {version}"
"#
        ));
        let ratio = cwnd_per_flight(&output);
        assert!(ratio <= 2.5, "{version}: {ratio:.2}");
    }
}

// Marks of CoDel are isolated: most ACKs in slow start cover marked and unmarked segments.
#[test]
fn slow_start_ends_over_codel_although_its_marks_are_isolated() {
    for version in VERSIONS {
        // Module 0.7 cuts at an ACK of marked segments only, which needs a receiver of its time.
        let era = if version == "current" { "7.x" } else { "2020" };
        let output = run(&format!(
            r#"
duration = "30s"
tcp.era = "{era}"
[[link]]
name = "bneck"
rate = "100Mbit"
qdisc = "fq_codel flows 1"
delay = "10ms"
[[flow]]
name = "c"
cc = "cubic"
[[flow]]
name = "p"
cc = "prague version {version}"
"#
        ));
        let ratio = cwnd_per_flight(&output);
        assert!(ratio <= 2.5, "{version}: {ratio:.2}");
        let left =
            output.series("flow.p.ssthresh").iter().find(|(_, v)| v.is_finite()).map(|p| p.0);
        assert!(left.is_some_and(|at| at < 1.0), "{version}: slow start ends at {left:?}");
        let late: Vec<f64> =
            output.series("flow.p.rtt").iter().filter(|(t, _)| *t > 20.0).map(|p| p.1).collect();
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!(mean < 40.0, "{version}: {mean:.1} ms over a path of 20 ms");
    }
}
