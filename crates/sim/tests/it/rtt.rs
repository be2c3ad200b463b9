//! Delays that are recorded were measured: none stands before the first feedback, and none is
//! shorter than the way that a packet takes.

use sojourn_cc::REGISTRY;
use sojourn_trace::Output;

use crate::lab::run;

/// What a flow with this controller can carry, in this controller's versions.
fn flows() -> Vec<(String, String)> {
    let over = |name: &str| match name {
        "gcc" | "nada" => &["video"][..],
        "scream" => &["video", "scream-bw"],
        "udp-prague" => &["bulk"],
        _ => &["bulk", "short load 1Mbit", "request think 100ms sizes 20kb"],
    };
    let versions = [
        "bbr version v1",
        "bbr version v2",
        "scream version rfc8298",
        "scream version 2024-10-31",
        "scream parity",
        "scream version rfc8298 parity",
    ];
    let all = REGISTRY.iter().map(|entry| entry.name).chain(versions);
    let with = |cc: &str| {
        let apps = over(cc.split(' ').next().expect("a name"));
        apps.iter().map(|app| (format!("cc = \"{cc}\"\n"), (*app).to_owned())).collect::<Vec<_>>()
    };
    let without = ["cbr rate 1Mbit", "poisson rate 1Mbit", "onoff rate 1Mbit", "burst", "voip"]
        .into_iter()
        .chain(["game", "video rate 1Mbit"])
        .map(|app| (String::new(), app.to_owned()));
    all.flat_map(with).chain(without).collect()
}

/// A path whose first feedback takes many samples, and an odd number of nanoseconds.
const ONE_WAY: &str = "150.000777ms";
const LEAST: f64 = 2.0 * 150.000_777;

fn output(cc: &str, app: &str) -> Output {
    run(&format!(
        r#"
duration = "3s"
step = "10ms"
[[link]]
name = "bneck"
rate = "10Mbit"
delay = "{ONE_WAY}"
[[flow]]
name = "f"
app = "{app}"
start = "5ms"
{cc}"#
    ))
}

/// Below the way's delay by the resolution of the clock that measures it: Linux has microseconds,
/// SCReAM 1/65536 s.
fn resolution(cc: &str) -> f64 {
    if cc.contains("scream") { 1000.0 / 65536.0 } else { 0.001 }
}

#[test]
fn no_delay_is_recorded_before_it_was_measured_or_below_the_propagation_delay() {
    for (cc, app) in flows() {
        let out = output(&cc, &app);
        let case = format!("{} {app}", cc.trim());
        let least = |name: &str| match name.rsplit('.').next().expect("dotted") {
            "rtt" | "min_rtt" | "base_rtt" | "fct" => Some(LEAST),
            "one_way" | "one_way_max" | "frame_delay" | "frame_delay_max" => Some(LEAST / 2.0),
            _ => None,
        };
        let mut delays = 0;
        for column in &out.series {
            let Some(least) = least(&column.name) else { continue };
            delays += column.v.len();
            let earliest = column.t.iter().zip(&column.v).find(|(_, v)| v.is_finite());
            assert!(earliest.is_none_or(|(t, _)| *t * 1e3 >= least), "{case}: {}", column.name);
            let shortest = column.v.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(shortest >= least - resolution(&cc), "{case}: {} of {shortest}", column.name);
        }
        assert!(delays > 0, "{case}: something was measured");
        let flow = &out.summary.flows[0];
        let rtt = flow.rtt_ms.map(|s| s.p05);
        let has_none = cc.is_empty() || app.starts_with("short");
        assert_eq!(rtt.is_none(), has_none, "{case}");
        let one_way = flow.one_way.as_ref().map(|o| o.min_ms * 2.0);
        let totals = flow.sender.0.iter().filter(|(name, _)| name == "min_rtt_ms").map(|t| t.1);
        for value in rtt.into_iter().chain(one_way).chain(totals) {
            assert!(value >= LEAST - resolution(&cc), "{case}: {value}");
        }
    }
}

#[test]
fn a_flow_without_feedback_has_no_rtt() {
    for (cc, app) in flows() {
        let text = format!(
            "duration = \"2s\"\n[[link]]\nname = \"l\"\nrate = \"10Mbit\"\ndelay = \"3s\"\n\
             [[flow]]\nname = \"f\"\napp = \"{app}\"\n{cc}"
        );
        let out = run(&text);
        let rtt = |name: &str| name.ends_with("rtt") || name.ends_with("queue_delay");
        let recorded = out.series.iter().find(|c| rtt(&c.name) && !c.name.contains("rtp_"));
        assert!(recorded.is_none(), "{cc} {app}: {recorded:?}");
        assert!(out.summary.flows[0].rtt_ms.is_none(), "{cc} {app}");
    }
}
