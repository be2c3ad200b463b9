//! Scheduled changes.

use crate::lab::{Named, close, run, run_with, total};

const STEP: &str = r#"
duration = "9s"
step = "10ms"
[[link]]
name = "bneck"
rate = "40Mbit"
shaper = "htb"
qdisc = "pfifo limit 300"
delay = "10ms"
[[flow]]
name = "a"
cc = "reno"
[[ping]]
name = "p"
interval = "20ms"
"#;

fn step(at: &str, what: &str) -> String {
    format!("{STEP}[[schedule]]\nat = \"{at}\"\n{what}\n")
}

/// Goodput between two instants, Mbit/s.
fn rate(output: &sojourn_trace::Output, from: f64, to: f64) -> f64 {
    let series = output.series("flow.a.goodput_bytes");
    let at = |t: f64| series.iter().rfind(|(x, _)| *x <= t + 1e-9).expect("a sample").1;
    (at(to) - at(from)) * 8.0 / (to - from) / 1e6
}

#[test]
fn a_rate_step_changes_the_rate_at_once_and_keeps_the_queue() {
    for shaper in ["htb", "none"] {
        let text = step("5s", r#"set = { "link.bneck.forward.rate" = "10Mbit" }"#);
        let output = run_with(&text, &[("link.bneck.shaper", shaper.to_owned())]);
        let ceiling = 1448.0 / 1514.0;
        close(rate(&output, 3.0, 5.0), 40.0 * ceiling, 1.0);
        close(rate(&output, 6.0, 9.0), 10.0 * ceiling, 1.0);
        let queue = output.series("queue.bneck.backlog_packets");
        let at = |t: f64| queue.iter().find(|(x, _)| *x >= t - 1e-9).expect("a sample").1;
        assert!(at(5.01) >= at(5.0) && at(5.0) > 50.0, "{shaper}: {} {}", at(5.0), at(5.01));
    }
}

#[test]
fn a_changed_queue_keeps_its_packets_and_obeys_its_new_limit() {
    let text = step("5s", r#"set = { "link.bneck.forward.qdisc" = "pfifo limit 100" }"#);
    let output = run(&text);
    let drops = &output.queue("bneck").drops;
    assert!(drops.0.iter().all(|(reason, _)| *reason != "purge"), "{drops:?}");
    let backlog = output.series("queue.bneck.backlog_packets");
    let most = |from: f64, to: f64| {
        let inside = backlog.iter().filter(|(t, _)| (from..to).contains(t));
        inside.map(|(_, v)| *v).fold(0.0, f64::max)
    };
    assert!(most(5.005, 5.015) > 100.0, "what is inside stays");
    assert!(most(7.0, 9.0) <= 100.0, "and nothing enters beyond the new limit");
}

#[test]
fn a_changed_red_discards_its_packets_at_once() {
    let red = "red limit 400000 min 90000 max 300000 avpkt 1000 bandwidth 40Mbit";
    let text = step("4.5s", &format!(r#"set = {{ "link.bneck.forward.qdisc" = "{red} ecn" }}"#));
    let output = run_with(&text, &[("link.bneck.qdisc", red.to_owned())]);
    let backlog = output.series("queue.bneck.backlog_packets");
    let held = backlog.iter().rfind(|(t, _)| *t < 4.5).expect("a sample").1;
    let purged = total(&output.queue("bneck").drops, "purge");
    assert!(held > 20.0 && (purged - held).abs() <= 40.0, "{held} held, {purged} purged");
    let after = backlog.iter().find(|(t, _)| *t >= 4.5).expect("a sample").1;
    assert!(after < held / 2.0, "{held} before, {after} after");
}

#[test]
fn a_replaced_queue_purges_its_packets_and_tcp_repairs_them() {
    let text = step("5s", r#"replace = { "link.bneck.forward.qdisc" = "fq_codel" }"#);
    let output = run(&text);
    let before = output.series("queue.bneck.backlog_packets");
    let held = before.iter().rfind(|(t, _)| *t < 5.0).expect("a sample").1;
    let queue = output.queue("bneck");
    let purged = total(&queue.drops, "purge");
    assert!(held > 50.0 && (purged - held).abs() <= 40.0, "{held} held, {purged} purged");
    let after = rate(&output, 7.0, 9.0);
    assert!(after > 0.85 * 40.0 * 1448.0 / 1514.0, "{after} Mbit/s");
    let sender = &output.flow("a").sender;
    assert!(total(sender, "retransmits") >= purged);
}

#[test]
fn the_series_of_a_replaced_queue_end_and_those_of_the_new_one_begin() {
    let text = step("5s", r#"replace = { "link.bneck.forward.qdisc" = "codel ecn" }"#);
    let output = run_with(&text, &[("link.bneck.qdisc", "dualpi2".to_owned())]);
    let last = output.series("queue.bneck.delay_c").pop().expect("samples of dualpi2");
    assert!((4.9..=5.01).contains(&last.0), "{last:?}");
    let others =
        output.series.iter().filter(|c| c.name.starts_with("queue.bneck.") && c.t[0] >= 5.0);
    assert!(others.count() > 0, "codel has values of its own");
}

#[test]
fn a_new_delay_shows_in_the_next_ping() {
    let text = step("5s", r#"set = { "link.bneck.delay" = "40ms" }"#);
    let output = run(&text.replace("[[flow]]\nname = \"a\"\ncc = \"reno\"\n", ""));
    let rtts: Vec<(f64, f64)> = output.series("ping.p.rtt");
    let mean = |from: f64, to: f64| {
        let inside: Vec<f64> =
            rtts.iter().filter(|(t, _)| (from..to).contains(t)).map(|(_, v)| *v).collect();
        inside.iter().sum::<f64>() / inside.len() as f64
    };
    // A lone ping passes the idle shaper at once.
    assert_eq!((mean(1.0, 5.0), mean(5.15, 9.0)), (20.0, 80.0));
}

#[test]
fn a_shorter_delay_does_not_reorder() {
    let text = step("5s", r#"set = { "link.bneck.delay" = "1ms" }"#);
    let output = run(&text);
    let with = total(&output.flow("a").receiver, "duplicates_received");
    assert_eq!(with, 0.0);
}

#[test]
fn an_ingress_element_is_replaced_with_what_it_holds() {
    let text = r#"
duration = "4s"
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
ingress = ["netem delay 20ms limit 100000"]
[[flow]]
name = "a"
cc = "cubic"
[[schedule]]
at = "2s"
replace = { "link.bneck.forward.ingress0" = "netem delay 5ms limit 100000" }
"#;
    let output = run(text);
    let queue = output.queue("bneck.ingress0");
    let purged = total(&queue.drops, "purge");
    // 20 ms of 20 Mbit/s are 33 segments.
    assert!((25.0..45.0).contains(&purged), "{purged}");
    assert!(queue.qdisc.contains("5ms") || queue.qdisc.contains("5.0ms"), "{}", queue.qdisc);
}

#[test]
fn changes_of_one_direction_leave_the_other_alone() {
    let text = step("5s", r#"set = { "link.bneck.reverse.rate" = "100kbit" }"#);
    let output = run(&text);
    // 12500 bytes per second, of which pings take 50 times 98; each ACK of 66 bytes stands for
    // two segments.
    close(rate(&output, 6.0, 9.0), (12_500.0 - 4_900.0) / 66.0 * 2.0 * 1448.0 * 8.0 / 1e6, 10.0);
    close(rate(&output, 3.0, 5.0), 40.0 * 1448.0 / 1514.0, 1.0);
}

#[test]
fn utilisation_is_over_what_the_rates_in_force_allowed() {
    for shaper in ["htb", "none"] {
        // Most of the window has the first rate, the end of the run a hundredth of it.
        let text = step("8s", r#"set = { "link.bneck.forward.rate" = "400kbit" }"#);
        let output = run_with(&text, &[("link.bneck.shaper", shaper.to_owned())]);
        let used = output.queue("bneck").utilisation.expect("a rate");
        close(used, 1.0, 6.0);
        // What left before the window does not count, nor what was allowed then.
        let after = [("link.bneck.shaper", shaper), ("measure.from", "8100ms")];
        let after = after.map(|(key, value)| (key, value.to_owned()));
        close(run_with(&text, &after).queue("bneck").utilisation.expect("a rate"), 1.0, 6.0);
    }
}

#[test]
fn duplicates_are_in_the_accounts() {
    let text = step("5s", r#"replace = { "link.bneck.forward.qdisc" = "pfifo" }"#);
    let output = run_with(&text, &[("link.bneck.qdisc", "netem duplicate 10%".to_owned())]);
    let queue = output.queue("bneck");
    // The netem has gone with its own counter.
    assert!(queue.duplicated > 100, "{queue:?}");
    assert!(queue.duplicated_bytes > 100 * 1000, "{queue:?}");
}
