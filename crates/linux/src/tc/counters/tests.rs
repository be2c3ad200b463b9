use serde_json::json;

use super::*;

fn accounts(row: &Value) -> Accounts {
    Accounts::of(row, Below::default())
}

/// Rows as iproute2 7.3 prints them for Linux 7.2, cut to their counters.
fn codel() -> Value {
    json!({"kind": "codel", "bytes": 1_294_909, "packets": 884, "drops": 430, "ecn_mark": 7, "ce_mark": 2,
        "drop_overlimit": 400})
}

#[test]
fn drops_and_marks_have_the_simulators_reasons_where_a_counter_means_just_that() {
    let of = |row: Value| {
        let accounts = accounts(&row);
        (accounts.drops, accounts.marks)
    };
    assert_eq!(
        of(codel()),
        (vec![("tail_limit", 400), ("codel", 30)], vec![("codel", 7), ("ce_threshold", 2)])
    );
    let fq_codel =
        json!({"kind": "fq_codel", "drops": 442, "drop_overlimit": 363, "drop_overmemory": 3});
    let drops = vec![("flow_overlimit", 360), ("memory_limit", 3), ("codel", 79)];
    assert_eq!(of(fq_codel), (drops, vec![]));
    // All that PIE drops is `dropped`, at the limit too.
    let pie = json!({"kind": "pie", "drops": 438, "overlimit": 430, "dropped": 438, "ecn_mark": 5});
    assert_eq!(of(pie), (vec![("tail_limit", 430), ("pi", 8)], vec![("pi", 5)]));
    let netem = json!({"kind": "netem", "drops": 12, "dropped": 10, "ecn_marked": 4});
    assert_eq!(of(netem), (vec![("loss", 10), ("tail_limit", 2)], vec![("loss", 4)]));
    let sfb = json!({"kind": "sfb", "drops": 432, "earlydrop": 302, "penaltydrop": 0, "bucketdrop": 130,
        "queuedrop": 0, "childdrop": 0, "marked": 1});
    assert_eq!(of(sfb), (vec![("blue", 302), ("flow_overlimit", 130)], vec![("blue", 1)]));
    assert_eq!(of(json!({"kind": "pfifo", "drops": 9})), (vec![("tail_limit", 9)], vec![]));
    let sfq = json!({"kind": "sfq", "drops": 9, "options": {"limit": 127, "prob_mark": 1, "prob_mark_head": 2,
        "prob_drop": 3, "forced_mark": 4, "forced_mark_head": 5, "forced_drop": 2}});
    assert!(counters(&sfq).0.contains(&("forced_mark_head".into(), 5.0)));
    assert!(!counters(&sfq).0.iter().any(|(name, _)| name == "limit"));
    let drops = vec![("red_early", 3), ("red_forced", 2), ("drops", 4)];
    assert_eq!(of(sfq), (drops, vec![("red_early", 3), ("red_forced", 9)]));
    let head = json!({"kind": "pfifo_head_drop", "drops": 9});
    assert_eq!(of(head), (vec![("head_limit", 9)], vec![]));
}

#[test]
fn what_no_counter_tells_apart_keeps_tcs_own_name() {
    let of = |row: Value| {
        let accounts = accounts(&row);
        (accounts.drops, accounts.marks)
    };
    let red = json!({"kind": "red", "drops": 10, "marked": 3, "early": 6, "pdrop": 4, "other": 0});
    assert_eq!(of(red), (vec![("early", 6), ("tail_limit", 4)], vec![("marked", 3)]));
    // A step mark is among the marks; the others are the PI controller's or coupled.
    let dualpi2 = json!({"kind": "dualpi2", "drops": 2, "ecn-mark": 5, "step-mark": 3});
    assert_eq!(of(dualpi2), (vec![("drops", 2)], vec![("step", 3), ("ecn_mark", 2)]));
    let tins = json!([{"ecn_mark": 2, "ack_drops": 1, "drops": 3}, {"ecn_mark": 3, "ack_drops": 0, "drops": 1}]);
    let cake = json!({"kind": "cake", "drops": 5, "tins": tins});
    assert_eq!(of(cake), (vec![("ack_filter", 1), ("drops", 4)], vec![("codel", 5)]));
    // Before its counters came, netem counted all drops alike.
    assert_eq!(of(json!({"kind": "netem", "drops": 12})), (vec![("drops", 12)], vec![]));
    let other = json!({"kind": "new", "drops": 1, "ecn_mark": 2});
    assert_eq!(of(other), (vec![("drops", 1)], vec![("ecn_mark", 2)]));
}

#[test]
fn counts_of_the_queue_below_are_not_its_own() {
    let row = json!({"kind": "netem", "bytes": 2000, "packets": 200, "drops": 15, "dropped": 3});
    let below = Below { packets: 23, bytes: 300, drops: 12 };
    let accounts = Accounts::of(&row, below);
    assert_eq!((accounts.sent_packets, accounts.sent_bytes), (235, 2300));
    assert_eq!(accounts.drops, [("loss", 3)]);
}

#[test]
fn counters_of_cake_are_those_of_its_tins() {
    let row = json!({"kind": "cake", "tins": [{"ecn_mark": 2}, {"ecn_mark": 3}]});
    assert!(counters(&row).0.contains(&("tin1_ecn_mark".into(), 3.0)));
}
