use super::*;

const FILE: &str = "\
# My link.
name = \"mine\"   # shown in tables
duration = \"5s\"
seed = 3

[[link]]
name = \"dsl\"
rate = \"30Mbit\"
shaper = \"htb\"
qdisc = \"dualpi2 target 10ms\"  # as the kernel has it
delay = \"10ms\"

[[flow]]
name = \"a\"
cc = \"cubic\"
bytes = \"1000000b\"
";

fn edited(key: &str, value: Option<&str>) -> String {
    edit(FILE, "f.toml", key, value).unwrap()
}

#[test]
fn a_value_changes_and_nothing_else() {
    assert_eq!(edited("link.dsl.rate", Some("50Mbit")), FILE.replace("30Mbit", "50Mbit"));
    assert_eq!(edited("link.0.rate", Some("50Mbit")), FILE.replace("30Mbit", "50Mbit"));
    assert_eq!(edited("name", Some("x")), FILE.replace("\"mine\"", "\"x\""));
    assert_eq!(edited("seed", Some("7")), FILE.replace("= 3", "= 7"));
}

#[test]
fn below_an_algorithm_are_its_parameters() {
    let target = edited("link.dsl.qdisc.target", Some("20ms"));
    assert_eq!(target, FILE.replace("target 10ms", "target 20ms"));
    let step = edited("link.dsl.qdisc.step_thresh", Some("2ms"));
    assert_eq!(step, FILE.replace("target 10ms", "target 10ms step_thresh 2ms"));
    assert_eq!(edited("link.dsl.qdisc.target", None), FILE.replace(" target 10ms", ""));
    assert_eq!(edited("link.dsl.qdisc.limit", None), FILE);
}

#[test]
fn what_is_not_there_is_added_and_what_is_can_be_taken_out() {
    let with = edited("link.dsl.reverse.rate", Some("10Mbit"));
    assert!(with.contains("reverse = { rate = \"10Mbit\" }"), "{with}");
    assert_eq!(edit(&with, "f.toml", "link.dsl.reverse", None).unwrap(), FILE);
    assert_eq!(edited("flow.a.bytes", None), FILE.replace("bytes = \"1000000b\"\n", ""));
    assert_eq!(edited("flow.a.tcp.initial_cwnd", None), FILE);
}

#[test]
fn an_edit_means_what_the_override_means() {
    let cases = [
        ("link.dsl.qdisc", "cake"),
        ("link.dsl.ingress", "[\"netem loss 1%\"]"),
        ("flow.a.bytes", "5000b"),
        ("flow.a.tcp.initial_cwnd", "4"),
        ("flow.a.start", "2s"),
        ("seed", "9"),
        ("name", "42"),
        ("link.dsl.reverse.delay", "20ms"),
    ];
    for (key, value) in cases {
        let file = edited(key, Some(value));
        let read =
            load(&file, "f.toml", &[]).unwrap_or_else(|error| panic!("{key}: {error}\n{file}"));
        let wanted = load(FILE, "f.toml", &[(key.into(), value.into())]).unwrap();
        assert_eq!(read.scenario, wanted.scenario, "{key}");
    }
}

#[test]
fn a_wrong_value_is_written_so_that_its_line_can_be_shown() {
    let file = edited("link.dsl.qdisc", Some("codle"));
    let error = load(&file, "f.toml", &[]).unwrap_err();
    assert_eq!((error.line(), &error.key[..]), (Some(10), "link.dsl.qdisc"));
}

#[test]
fn a_name_that_leads_nowhere_is_one_line() {
    for (key, expected) in [
        ("link.x.rate", "unknown name \"x\""),
        ("ping.a.interval", "the file has no [[ping]]"),
        ("duration.seconds.x", "has no part"),
        ("flow.a.bytes.x", "has no part"),
        ("link", "expected"),
        ("", "expected a dotted name"),
        ("a..b", "expected a dotted name"),
    ] {
        let error = edit(FILE, "f.toml", key, Some("1")).map(|text| panic!("{key}: {text}"));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected) && error.lines().count() == 1, "{key}: {error}");
    }
    let broken = edit("name = [", "f.toml", "name", Some("x")).unwrap_err();
    assert!(broken.to_string().starts_with("f.toml:1: "), "{broken}");
    let deep = vec!["a"; 2000].join(".");
    assert!(edit(FILE, "f.toml", &deep, Some("1")).is_err());
}
