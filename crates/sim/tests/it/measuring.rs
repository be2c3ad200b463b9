//! Measuring windows with names, and the time in a queue by flow and by queue of a dual queue.

use crate::lab::{Named, run, run_with};
use serde_json::Value;

const STEP: &str = r#"
duration = "20s"
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
qdisc = "dualpi2"
delay = "5ms"
[[flow]]
name = "prague"
cc = "prague"
[[flow]]
name = "cubic"
cc = "cubic"
tcp = { ecn = "rfc3168" }
[[flow]]
name = "call"
app = "voip"
[[flow]]
name = "media"
cc = "gcc"
app = "video"
[[flow]]
name = "web"
cc = "cubic"
app = "request think 200ms sizes 30kb"
[[ping]]
name = "ping"
[[schedule]]
at = "10s"
set = { "link.bneck.rate" = "10Mbit" }
"#;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// What a window says of its parts, and what the summary says of the same keys.
#[track_caller]
fn agree(window: &Value, whole: &Value) {
    for (part, other) in window.as_array().unwrap().iter().zip(whole.as_array().unwrap()) {
        for (key, value) in part.as_object().expect("an object") {
            assert_eq!(other.get(key), Some(value), "{key} of {}", part["name"]);
        }
    }
}

#[test]
fn a_window_with_a_name_tells_what_the_main_one_tells_of_the_same_time() {
    let windows = [("early", "2s", "10s"), ("late", "10s", "20s"), ("all", "0s", "20s")];
    let keys = |(name, from, to): (&str, &str, &str)| {
        let key = |edge: &str| format!("measure.{name}.{edge}");
        [(key("from"), from.to_owned()), (key("to"), to.to_owned())]
    };
    let named: Vec<(String, String)> = windows.into_iter().flat_map(keys).collect();
    let named: Vec<(&str, String)> = named.iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
    let output = run_with(STEP, &named);
    let document = json(&output.summary_json());
    assert_eq!(document["windows"].as_array().map(Vec::len), Some(3));
    for (name, from, to) in windows {
        let measure = format!("{{ from = \"{from}\", to = \"{to}\" }}");
        let alone = run_with(STEP, &[("measure", measure)]);
        let found = document["windows"].as_array().unwrap().iter();
        let window = found.clone().find(|w| w["name"] == name).expect("a window of this name");
        let whole = json(&alone.summary_json());
        agree(&window["flows"], &whole["flows"]);
        agree(&window["pings"], &whole["pings"]);
        agree(&window["queues"], &json(&alone.queues_json()));
        assert!(whole.get("windows").is_none(), "there is none unless it has a name");
    }
    let goodput = |n: usize| output.summary.windows[n].flows[0].goodput_mbps;
    assert!(goodput(1) > 1.5 * goodput(2), "early {}, late {}", goodput(1), goodput(2));
}

#[test]
fn time_in_a_dual_queue_is_told_of_each_flow_and_of_l_and_c() {
    for qdisc in ["dualpi2", "dualq rate 20Mbit", "curvy_red", "docsis_ll"] {
        let output = run_with(STEP, &[("link.bneck.qdisc", qdisc.to_owned())]);
        let queue = output.queue("bneck");
        let all = queue.sojourn_ms.expect("packets");
        let [l, c] = [&queue.queues[0], &queue.queues[1]];
        assert_eq!((l.name.as_str(), c.name.as_str()), ("L", "C"));
        assert_eq!(l.sojourn_ms.n + c.sojourn_ms.n, all.n, "{qdisc}");
        assert!(l.sojourn_ms.p50 < c.sojourn_ms.p50 / 2.0, "{qdisc}: {l:?} {c:?}");
        let packets: u64 = queue.flows.iter().map(|flow| flow.sojourn_ms.n).sum();
        assert_eq!(packets, all.n, "{qdisc}");
        let flow = |name: &str| queue.flows.iter().find(|f| f.name == name).expect(name).sojourn_ms;
        assert!(flow("prague").p90 < flow("cubic").p50, "{qdisc}");
        let longest = queue.flows.iter().map(|f| f.sojourn_ms.max).fold(0.0, f64::max);
        assert_eq!(longest, all.max, "{qdisc}");
        let ordered = [all.p50, all.p90, all.p95, all.p99, all.p999, all.max];
        assert!(ordered.is_sorted(), "{qdisc}: {all:?}");
    }
}

#[test]
fn a_single_queue_has_no_l_and_c_behind_a_dual_one() {
    let output = run(&STEP.replace(
        "[[flow]]\nname = \"prague\"",
        "[[link]]\nname = \"after\"\nrate = \"30Mbit\"\nqdisc = \"fq_codel\"\n[[flow]]\nname = \"prague\"",
    ));
    assert_eq!(output.queue("bneck").queues.len(), 2);
    assert!(output.queue("after").queues.is_empty());
    assert!(output.queue("after").flows.len() > 4);
}
