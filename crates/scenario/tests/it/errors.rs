//! Every mistake in a file gives one line: file, line, key, what is allowed, the nearest match.

use sojourn_scenario::{ScenarioError, expand, load};

const BASE: &str = r#"name = "base"
duration = "30s"

[[link]]
name = "bneck"
rate = "50Mbit"
shaper = "htb"
qdisc = "codel"
delay = "5ms"

[[flow]]
name = "a"
cc = "cubic"
start = "1s"

[[ping]]
name = "p"
"#;

fn error(text: &str, overrides: &[(&str, &str)]) -> ScenarioError {
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    load(text, "my.toml", &overrides).expect_err("the file is wrong")
}

/// The error after replacing `old` by `new`.
#[track_caller]
fn edited(old: &str, new: &str, expected: &str) {
    assert!(BASE.contains(old), "{old}");
    assert_eq!(error(&BASE.replacen(old, new, 1), &[]).to_string(), expected);
}

/// The error after adding `text` to the end, whose first line is 18.
#[track_caller]
fn appended(text: &str, expected: &str) {
    assert_eq!(error(&format!("{BASE}{text}"), &[]).to_string(), expected);
}

#[test]
fn bad_quantity_says_what_is_expected() {
    edited(
        "50Mbit",
        "fifty",
        "my.toml:6: link.bneck.rate: expected a rate such as \"50Mbit\", got \"fifty\"",
    );
    edited(
        "\"5ms\"",
        "20",
        "my.toml:9: link.bneck.delay: expected a time such as \"20ms\", got 20 without a unit \
         (write \"20ms\")",
    );
    edited(
        "\"5ms\"",
        "\"20\"",
        "my.toml:9: link.bneck.delay: expected a time such as \"20ms\", got \"20\" without a unit \
         (write \"20ms\")",
    );
    edited(
        "\"50Mbit\"",
        "50",
        "my.toml:6: link.bneck.rate: expected a rate such as \"50Mbit\", got 50 without a unit \
         (write \"50Mbit\")",
    );
}

#[test]
fn only_a_table_is_taken_for_a_table() {
    let reverse = |value: &str| format!("delay = \"5ms\"\nreverse = {value}");
    for (value, got) in [("[\"10Mbit\"]", "an array"), ("3", "3"), ("\"10Mbit\"", "\"10Mbit\"")] {
        let expected = format!("my.toml:10: link.bneck.reverse: expected a table, got {got}");
        edited("delay = \"5ms\"", &reverse(value), &expected);
    }
}

#[test]
fn unknown_key_names_the_nearest() {
    edited(
        "rate =",
        "rte =",
        "my.toml:6: link.bneck: unknown key \"rte\" (did you mean \"rate\"?); valid: name, from, to, rate, \
         shaper, stab, qdisc, ingress, delay, reverse",
    );
}

#[test]
fn missing_key_is_named_at_its_table() {
    edited("cc = \"cubic\"\n", "", "my.toml:11: flow.a: missing key \"cc\"");
}

#[test]
fn syntax_errors_have_a_line() {
    let error = error("name = \"x\"\nduration = = 3\n", &[]);
    assert_eq!(error.line(), Some(2));
    assert!(error.to_string().starts_with("my.toml:2: "), "{error}");
}

#[test]
fn algorithm_texts_are_checked_when_loading() {
    let unknown = error(&BASE.replace("codel", "codle"), &[]).to_string();
    let expected =
        "my.toml:8: link.bneck.qdisc: unknown qdisc `codle` (did you mean `codel`?); valid: ";
    assert!(unknown.starts_with(expected), "{unknown}");
    let word = error(&BASE.replace("\"codel\"", "\"codel targt 1ms\""), &[]).to_string();
    let expected = "my.toml:8: link.bneck.qdisc: codel: unknown parameter `targt` (did you mean \
                    `target`?)";
    assert!(word.starts_with(expected), "{word}");
    let cc = error(&BASE.replace("cubic", "cubik"), &[]).to_string();
    let expected =
        "my.toml:13: flow.a.cc: unknown congestion controller `cubik` (did you mean `cubic`?)";
    assert!(cc.starts_with(expected), "{cc}");
}

#[test]
fn shaper_takes_its_rate_from_the_link() {
    edited(
        "rate = \"50Mbit\"\n",
        "",
        "my.toml:6: link.bneck.shaper: a shaper needs the link's `rate`",
    );
    edited(
        "\"htb\"",
        "\"htb rate 5Mbit\"",
        "my.toml:7: link.bneck.shaper: the shaper's rate belongs into the link's `rate`",
    );
}

#[test]
fn only_a_shaper_shapes() {
    let codel = error(&BASE.replace("\"htb\"", "\"codel\""), &[]).to_string();
    let expected = "my.toml:7: link.bneck.shaper: `codel` shapes nothing";
    assert!(codel.starts_with(expected), "{codel}");
}

#[test]
fn names_are_unique_and_usable() {
    appended(
        "[[ping]]\nname = \"a\"\n",
        "my.toml:19: ping.a.name: the name \"a\" is already taken",
    );
    appended(
        "[[link]]\nname = \"bneck\"\n",
        "my.toml:19: link.bneck.name: the name \"bneck\" is already taken",
    );
    edited(
        "name = \"a\"",
        "name = \"a.b\"",
        "my.toml:12: flow.a.b.name: expected letters, digits, `_` and `-`, got \"a.b\"",
    );
}

#[test]
fn path_names_existing_links_once() {
    edited(
        "name = \"p\"",
        "name = \"p\"\npath = [\"bnek\"]",
        "my.toml:18: ping.p.path: unknown link \"bnek\" (did you mean \"bneck\"?); valid: bneck",
    );
    edited(
        "name = \"p\"",
        "name = \"p\"\npath = [\"bneck\", \"bneck\"]",
        "my.toml:18: ping.p.path: link \"bneck\" is named twice",
    );
    edited(
        "name = \"p\"",
        "name = \"p\"\npath = []",
        "my.toml:18: ping.p.path: expected at least one link",
    );
}

#[test]
fn an_unlimited_flow_needs_a_path_that_takes_time() {
    edited(
        "rate = \"50Mbit\"\nshaper = \"htb\"\nqdisc = \"codel\"\ndelay = \"5ms\"",
        "qdisc = \"codel\"",
        "my.toml:8: flow.a.path: expected a link with a rate or a delay, or `bytes`: nothing would \
         end the first instant",
    );
}

#[test]
fn times_are_in_order_and_inside_the_run() {
    edited(
        "start = \"1s\"",
        "start = \"9s\"\nstop = \"3s\"",
        "my.toml:15: flow.a.stop: 3s is not after the start at 9s",
    );
    edited(
        "\"1s\"",
        "\"30s\"",
        "my.toml:14: flow.a.start: 30s is not before the end of the run at 30s",
    );
    edited("\"30s\"", "\"0s\"", "my.toml:2: duration: expected more than zero");
    edited(
        "\"30s\"",
        "\"30s\"\nmeasure.to = \"31s\"",
        "my.toml:3: measure.to: 31s is outside the run, which ends at 30s",
    );
    edited(
        "\"30s\"",
        "\"30s\"\nmeasure = { from = \"9s\", to = \"9s\" }",
        "my.toml:3: measure.to: the window ends at 9s, which is not after its start 9s",
    );
    edited(
        "\"30s\"",
        "\"30s\"\nmeasure.late = { from = \"9s\", to = \"31s\" }",
        "my.toml:3: measure.late.to: 31s is outside the run, which ends at 30s",
    );
    edited(
        "\"30s\"",
        "\"30s\"\nmeasure.late.form = \"9s\"",
        "my.toml:3: measure.late: unknown key \"form\" (did you mean \"from\"?); valid: from, to",
    );
    edited(
        "\"30s\"",
        "\"30s\"\nmeasure.form = \"9s\"",
        "my.toml:3: measure.form: unknown key \"form\" (did you mean \"from\"?); valid: from, to, \
         or a window: [measure.form]",
    );
    edited(
        "\"30s\"",
        "\"30s\"\nmeasure.\"a b\".from = \"9s\"",
        "my.toml:3: measure.a b.name: expected letters, digits, `_` and `-`, got \"a b\"",
    );
    appended(
        "[[schedule]]\nat = \"31s\"\nset = { \"link.bneck.rate\" = \"1Mbit\" }\n",
        "my.toml:19: schedule.0.at: 31s is after the end of the run at 30s",
    );
}

#[test]
fn ranges_are_stated() {
    edited(
        "start = \"1s\"",
        "tos = \"0x11\"",
        "my.toml:14: flow.a.tos: the two ECN bits belong to the sender; write \"0x10\"",
    );
    edited(
        "start = \"1s\"",
        "tcp.mtu = 100",
        "my.toml:14: flow.a.tcp.mtu: expected 576 to 65535, got 100",
    );
    edited(
        "start = \"1s\"",
        "tcp.ecn = \"acecn\"",
        "my.toml:14: flow.a.tcp.ecn: unknown value \"acecn\" (did you mean \"accecn\"?); valid: \
         accecn, rfc3168, dctcp, sce, off",
    );
    edited(
        "duration",
        "seed = -1\nduration",
        "my.toml:2: seed: expected a whole number from 0 to 18446744073709551615, got -1",
    );
}

#[test]
fn what_would_stop_the_clock_is_refused() {
    let rate =
        "my.toml:6: link.bneck.rate: expected at most 10000Gbit, got 18446744073709551615bit";
    edited("50Mbit", "18446744073709551615bit", rate);
    appended(
        "[[schedule]]\nat = \"1s\"\nset = { \"link.bneck.rate\" = \"11Tbit\" }\n",
        "my.toml:20: schedule.0.set.link.bneck.rate: expected at most 10000Gbit, got 11000Gbit",
    );
    for app in ["cbr", "poisson", "onoff"] {
        let text = format!("[[flow]]\nname = \"u\"\napp = \"{app} rate 1000Tbit size 100\"\n");
        let line = "my.toml:20: flow.u.app";
        appended(&text, &format!("{line}: {app}: expected at most a packet per nanosecond"));
    }
    appended(
        "[[flow]]\nname = \"u\"\ncc = \"cubic\"\napp = \"rrul interval 1ns\"\n",
        "my.toml:21: flow.u.app: expected at most 10000000 requests in the run",
    );
    edited(
        "duration",
        "queue_age = \"101s\"\nduration",
        "my.toml:2: queue_age: expected at most 100s, got 101s",
    );
}

#[test]
fn schedule_names_and_values_are_checked() {
    let schedule = |inside: &str| format!("[[schedule]]\nat = \"20s\"\n{inside}\n");
    appended(
        &schedule("set = { \"link.bnek.rate\" = \"1Mbit\" }"),
        "my.toml:20: schedule.0.set.link.bnek.rate: unknown link \"bnek\" (did you mean \
         \"bneck\"?); valid: bneck",
    );
    appended(
        &schedule("set = { \"link.bneck.rat\" = \"1Mbit\" }"),
        "my.toml:20: schedule.0.set.link.bneck.rat: unknown key \"rat\" (did you mean \"rate\"?); \
         valid: rate, delay, qdisc",
    );
    appended(
        &schedule("set = { \"link.bneck.qdisc\" = \"pfifo\" }"),
        "my.toml:20: schedule.0.set.link.bneck.qdisc: cannot change `codel` into `pfifo`; use \
         replace (this is the forward direction; `link.bneck.forward` or `.reverse` names one)",
    );
    let one_way = BASE.replace("\"5ms\"", "\"5ms\"\nreverse = { rate = \"none\" }");
    let set = |name: &str| format!("{one_way}{}", schedule(&format!("set.\"{name}\" = \"9Mbit\"")));
    assert_eq!(
        error(&set("link.bneck.rate"), &[]).to_string(),
        "my.toml:21: schedule.0.set.link.bneck.rate: there is no rate to change (this is the \
         reverse direction; `link.bneck.forward` or `.reverse` names one)"
    );
    assert!(load(&set("link.bneck.forward.rate"), "f", &[]).is_ok());
    appended(
        &schedule("replace = { \"link.bneck.ingress0\" = \"netem delay 1ms\" }"),
        "my.toml:20: schedule.0.replace.link.bneck.ingress0: unknown ingress element \
         \"ingress0\"; there is none",
    );
    appended(
        &schedule("set.link.bneck.rate = \"1Mbit\""),
        "my.toml:20: schedule.0.set.link: write the dotted name in quotes: \"link.bneck.rate\" = \
         ...",
    );
    appended(
        "[[schedule]]\nat = \"20s\"\n",
        "my.toml:18: schedule.0: expected `set` or `replace` with at least one name",
    );
}

#[test]
fn a_replaced_qdisc_can_be_changed_by_its_own_words_only() {
    let text = |second: &str| {
        format!(
            "{BASE}[[schedule]]\nat = \"20s\"\n{second}\n[[schedule]]\nat = \"10s\"\nreplace = {{ \
             \"link.bneck.qdisc\" = \"pfifo\" }}\n"
        )
    };
    let ok = text("set = { \"link.bneck.qdisc\" = \"pfifo limit 9\" }");
    assert_eq!(load(&ok, "f", &[]).expect("pfifo by then").scenario.schedule.len(), 2);
    let late = error(&text("set = { \"link.bneck.qdisc\" = \"codel target 1ms\" }"), &[]);
    assert_eq!(late.line(), Some(20), "{late}");
}

#[test]
fn overrides_are_named_as_such() {
    assert_eq!(
        error(BASE, &[("link.bneck.rate", "fifty")]).to_string(),
        "-s link.bneck.rate: expected a rate such as \"50Mbit\", got \"fifty\""
    );
    assert_eq!(
        error(BASE, &[("link.bnek.rate", "5Mbit")]).to_string(),
        "-s link.bnek.rate: unknown name \"bnek\" (did you mean \"bneck\"?); valid: bneck"
    );
    assert_eq!(
        error(BASE, &[("link.bneck.rte", "5Mbit")]).to_string(),
        "-s link.bneck: unknown key \"rte\" (did you mean \"rate\"?); valid: name, from, to, rate, shaper, stab, \
         qdisc, ingress, delay, reverse"
    );
    assert_eq!(
        error(BASE, &[("seed", "many")]).to_string(),
        "-s seed: expected a whole number from 0 to 18446744073709551615, got \"many\""
    );
    assert_eq!(error(BASE, &[("", "3")]).line(), None);
}

#[test]
fn what_was_meant_is_said() {
    edited(
        "\"30s\"",
        "\"60\"",
        "my.toml:2: duration: expected a time such as \"20ms\", got \"60\" without a unit (write \"60s\")",
    );
    edited(
        "\"30s\"",
        "60",
        "my.toml:2: duration: expected a time such as \"20ms\", got 60 without a unit (write \"60s\")",
    );
    edited(
        "[[link]]",
        "[link]",
        "my.toml:4: link: there may be several: write [[link]], not [link]",
    );
}

#[test]
fn sweep_is_checked() {
    appended("[sweep]\nseed = []\n", "my.toml:19: sweep.seed: expected at least one value");
    appended(
        "[sweep]\n\"link.bnek.rate\" = [\"1Mbit\"]\n",
        "my.toml:19: sweep.link.bnek.rate: unknown name \"bnek\" (did you mean \"bneck\"?); \
         valid: bneck",
    );
    appended(
        "[sweep]\nlink.bneck.rate = [\"1Mbit\"]\n",
        "my.toml:19: sweep.link: write the dotted name in quotes: \"link.bneck.rate\" = ...",
    );
    appended(
        "[[sweep]]\nseed = [1, 2]\nstep = [\"50ms\"]\n",
        "my.toml:20: sweep.0.step: expected 2 values, as many as \"seed\" has, which advances together \
         with it; got 1",
    );
    appended(
        "[[sweep]]\nseed = [1, 2]\n[[sweep]]\nseed = [3]\n",
        "my.toml:21: sweep.1.seed: another axis varies it already",
    );
    appended(
        "[[sweep]]\nlink.bneck.rate = [\"1Mbit\"]\n",
        "my.toml:19: sweep.0.link: write the dotted name in quotes: \"link.bneck.rate\" = ...",
    );
    let value = format!("{BASE}[sweep]\n\"link.bneck.rate\" = [\"1Mbit\",\n  \"two\"]\n");
    assert_eq!(
        expand(&value, "my.toml", &[]).expect_err("bad value").to_string(),
        "my.toml:20: link.bneck.rate: expected a rate such as \"50Mbit\", got \"two\""
    );
}

#[test]
fn control_characters_cannot_break_the_line() {
    let error = error(&BASE.replace("50Mbit", "a\\u001b[2J\\nb\\u2028c"), &[]).to_string();
    assert!(!error.contains(char::is_control) && !error.contains('\u{2028}'), "{error}");
}

#[test]
fn tunnels_run_along_links_that_their_flows_cross() {
    for (table, expected) in [
        (
            "name = \"bneck\"\nlinks = [\"bneck\"]",
            "19: tunnel.bneck.name: the name \"bneck\" is already taken",
        ),
        (
            "name = \"t\"\nlinks = [\"bnek\"]",
            "20: tunnel.t.links: unknown link \"bnek\" (did you mean \"bneck\"?); valid: bneck, far, away",
        ),
        ("name = \"t\"\nlinks = []", "20: tunnel.t.links: expected at least one link"),
        (
            "name = \"t\"\nlinks = [\"far\", \"bneck\"]",
            "20: tunnel.t.links: \"a\" does not cross these links one after the other",
        ),
        (
            "name = \"t\"\nlinks = [\"bneck\", \"away\"]\nflows = [\"p\"]",
            "20: tunnel.t.links: \"p\" does not cross these links one after the other",
        ),
        (
            "name = \"t\"\nlinks = [\"bneck\"]\nflows = [\"b\"]",
            "21: tunnel.t.flows: unknown flow or ping \"b\" (did you mean \"a\"?); valid: a, p",
        ),
        (
            "name = \"t\"\nlinks = [\"bneck\"]\nflows = [\"a\", \"a\"]",
            "21: tunnel.t.flows: \"a\" is named twice",
        ),
        (
            "name = \"t\"\nlinks = [\"bneck\"]\noverhead = 1001",
            "21: tunnel.t.overhead: expected 0 to 1000, got 1001",
        ),
        (
            "name = \"t\"\nlinks = [\"bneck\"]\nreplay_window = 0",
            "21: tunnel.t.replay_window: expected 1 to 1000000, got 0",
        ),
        (
            "name = \"t\"\nlinks = [\"bneck\"]\necn = \"copy\"",
            "21: tunnel.t.ecn: unknown value \"copy\"; valid: normal, compat, rfc3168",
        ),
        (
            "name = \"t\"\nlinks = [\"bneck\", \"far\"]\n[[tunnel]]\nname = \"u\"\nlinks = [\"far\", \"away\"]",
            "23: tunnel.u.links: \"a\" would leave tunnel \"t\" in the middle: expected one tunnel within \
             the other, or both apart",
        ),
    ] {
        let links = "[[link]]\nname = \"far\"\n[[link]]\nname = \"away\"\n";
        let text = format!("{BASE}[[tunnel]]\n{table}\n{links}");
        assert_eq!(error(&text, &[]).to_string(), format!("my.toml:{expected}"));
    }
    let unused = "[[link]]\nname = \"far\"\n[[tunnel]]\nname = \"t\"\nlinks = [\"far\"]\n";
    let text = BASE.replace("name = \"a\"", "name = \"a\"\npath = [\"bneck\"]");
    let text = text.replace("name = \"p\"", "name = \"p\"\npath = [\"bneck\"]") + unused;
    let expected = "my.toml:24: tunnel.t.links: no flow or ping crosses all of these links";
    assert_eq!(error(&text, &[]).to_string(), expected);
}

#[test]
fn borrowed_hashes_are_another_flows_own() {
    let near = "my.toml:13: flow.a.hash_of: ";
    for (lender, expected) in [
        ("aa", "unknown flow \"aa\" (did you mean \"a\"?); valid: a"),
        ("p", "unknown flow \"p\" (did you mean \"a\"?); valid: a"),
        ("a", "expected another flow, which has a hash of its own"),
    ] {
        let new = format!("name = \"a\"\nhash_of = \"{lender}\"");
        edited("name = \"a\"", &new, &format!("{near}{expected}"));
    }
    let chain = "[[flow]]\nname = \"b\"\ncc = \"reno\"\nhash_of = \"a\"\n[[flow]]\nname = \"c\"\n\
                 cc = \"reno\"\nhash_of = \"b\"\n";
    appended(
        chain,
        "my.toml:25: flow.c.hash_of: expected another flow, which has a hash of its own",
    );
}

#[test]
fn a_stack_has_end_points_for_the_flow() {
    for (flow, expected) in [
        ("cc = \"reno\"\nstack = \"scream\"\n", "expected \"kernel\" or \"sojourn\""),
        (
            "cc = \"udp-prague\"\nstack = \"kernel\"\n",
            "expected \"scream\" or \"sojourn\": no kernel has media or `udp-prague`",
        ),
    ] {
        let flow = format!("[[flow]]\nname = \"b\"\n{flow}");
        appended(&flow, &format!("my.toml:21: flow.b.stack: {expected}"));
    }
}

#[test]
fn size_table_names_no_queue() {
    edited(
        "shaper = \"htb\"",
        "shaper = \"htb\"\nstab = \"overhead 38 codel\"",
        "my.toml:8: link.bneck.stab: stab: `codel`: around a queue it names none itself",
    );
}

#[test]
fn a_later_format_is_refused_before_its_keys() {
    edited(
        "name = \"base\"",
        "new_key = 1\nformat = 2\nname = \"base\"",
        "my.toml:2: format: expected 1, got 2: the file is for another version of Sojourn",
    );
}

#[test]
fn a_delay_of_nothing_is_no_delay() {
    let link = "[[link]]\nname = \"l\"\ningress = [\"netem delay 0ms\"]\n";
    let text =
        format!("name = \"t\"\nduration = \"1s\"\n{link}[[flow]]\nname = \"f\"\ncc = \"cubic\"\n");
    let error = sojourn_scenario::load(&text, "t.toml", &[]).unwrap_err().to_string();
    assert!(error.contains("expected a link with a rate or a delay"), "{error}");
}
