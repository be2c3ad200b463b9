//! Size tables and trees of classes on a link.

use crate::lab::{Named, close, run, run_with};

const SIZED: &str = r#"
duration = "8s"
measure = { from = "3s" }
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
stab = "overhead 38"
qdisc = "fq_codel"
delay = "5ms"
[[flow]]
name = "f"
cc = "cubic"
"#;

#[test]
fn a_queue_that_shapes_below_its_wire_is_what_utilisation_counts_against() {
    for qdisc in
        ["cake bandwidth 10Mbit", "cnq_cobalt bandwidth 10Mbit", "deltic_boroshne bandwidth 10Mbit"]
    {
        let keys = [
            ("link.bneck.stab", "none"),
            ("link.bneck.shaper", "none"),
            ("link.bneck.qdisc", qdisc),
        ];
        let output = run_with(SIZED, &keys.map(|(key, value)| (key, value.to_owned())));
        close(output.queue("bneck").utilisation.expect("a rate"), 1.0, 2.0);
    }
    // RED reckons with its bandwidth and does not shape.
    let keys = [
        ("link.bneck.shaper", "none"),
        ("link.bneck.qdisc", "red limit 400000 avpkt 1000 bandwidth 10Mbit"),
    ];
    let output = run_with(SIZED, &keys.map(|(key, value)| (key, value.to_owned())));
    close(output.queue("bneck").utilisation.expect("a rate"), 1.0, 5.0);
}

#[test]
fn size_table_makes_the_shaper_count_what_the_link_carries() {
    for (stab, weight) in [
        ("none", 1514.0),
        ("overhead 38", 1552.0),
        ("mpu 84 overhead 24", 1540.0),
        ("overhead 10 linklayer atm", 1696.0),
    ] {
        let output = run_with(SIZED, &[("link.bneck.stab", stab.to_owned())]);
        close(output.flow("f").goodput_mbps, 20.0 * 1448.0 / weight, 0.5);
        // Accounts are those of true bytes.
        let queue = output.queue("bneck");
        let used = queue.utilisation.unwrap();
        close(used, 1514.0 / weight, 0.5);
        let (shaper, leaf) = queue.qdisc.split_once("; ").unwrap();
        assert_eq!(shaper.starts_with("stab "), stab != "none", "{shaper}");
        assert!(shaper.contains("htb rate 20Mbit") && leaf.starts_with("fq_codel"), "{shaper}");
    }
}

#[test]
fn changes_reach_shaper_and_queue_through_the_size_table() {
    let text = format!(
        "{SIZED}
[[schedule]]
at = \"1s\"
set = {{ \"link.bneck.rate\" = \"10Mbit\", \"link.bneck.qdisc\" = \"fq_codel target 3ms\" }}
[[schedule]]
at = \"2s\"
replace = {{ \"link.bneck.qdisc\" = \"codel\" }}
"
    );
    let output = run(&text);
    let queue = output.queue("bneck");
    let (shaper, leaf) = queue.qdisc.split_once("; ").unwrap();
    assert!(shaper.starts_with("stab ") && shaper.contains(" overhead 38 "), "{shaper}");
    assert!(shaper.contains(" htb rate 10Mbit") && leaf.starts_with("codel"), "{shaper}; {leaf}");
    close(output.flow("f").goodput_mbps, 10.0 * 1448.0 / 1552.0, 0.5);
    assert!(queue.drops.0.iter().any(|(name, n)| name == "purge" && *n > 0.0));
    let output = run_with(&text, &[("link.bneck.shaper", "none".into())]);
    let queue = output.queue("bneck");
    assert!(queue.qdisc.starts_with("stab ") && queue.qdisc.contains(" codel "), "{}", queue.qdisc);
}

#[test]
fn flows_share_a_tree_of_classes_and_one_class_is_changed() {
    let output = run(r#"
duration = "10s"
measure = { from = "2s", to = "5s" }
[[link]]
name = "bneck"
qdisc = """htb default 20 class 1:1 rate 20Mbit
  class 1:10 parent 1:1 rate 4Mbit ceil 20Mbit leaf { fq_codel }
  class 1:20 parent 1:1 rate 4Mbit ceil 20Mbit leaf { fq_codel }
  filter match ip tos 0x10 fc flowid 1:10"""
delay = "5ms"
[[flow]]
name = "marked"
cc = "cubic"
tos = 0x10
[[flow]]
name = "other"
cc = "cubic"
[[schedule]]
at = "6s"
set = { "link.bneck.forward.qdisc" = "htb class 1:20 rate 1Mbit ceil 1Mbit" }
"#);
    let payload = 1448.0 / 1514.0;
    close(output.flow("other").goodput_mbps, 10.0 * payload, 1.0);
    close(output.flow("marked").goodput_mbps, 10.0 * payload, 1.0);
    let queue = output.queue("bneck");
    close(queue.utilisation.unwrap(), 1.0, 0.5);
    let class = queue.qdisc.split("class ").find(|class| class.starts_with("1:20 ")).unwrap();
    assert!(class.contains("parent 1:1 rate 1Mbit ceil 1Mbit "), "{class}");
    let sent = output.series("queue.bneck.1:20.sent_bytes");
    let at = |s: f64| sent.iter().find(|(t, _)| *t >= s).unwrap().1;
    close((at(9.5) - at(7.5)) * 8.0 / 2e6, 1.0, 2.0);
}
