//! Applications of flows: what is refused, and the flows of a test of several.

use sojourn_scenario::{load, to_toml};

const BASE: &str = r#"name = "x"
duration = "1s"
[[link]]
name = "l"
rate = "10Mbit"
"#;

fn refused(flow: &str, expected: &str) {
    let error = load(&format!("{BASE}{flow}"), "my.toml", &[]).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn what_does_not_fit_an_application_is_refused_with_its_reason() {
    let flow = |rest: &str| format!("[[flow]]\nname = \"a\"\n{rest}");
    refused(
        &flow("app = \"vopi\"\n"),
        "flow.a.app: unknown application `vopi` (did you mean `voip`?)",
    );
    refused(&flow("app = \"cbr\"\n"), "flow.a.app: cbr: `rate` is missing");
    refused(&flow("app = \"short\"\n"), "flow.a: missing key \"cc\"");
    refused(
        &flow("app = \"cbr rate 1Mbit\"\ncc = \"reno\"\n"),
        "`cbr` sends UDP, which has no controller",
    );
    refused(&flow("app = \"voip\"\ncc = \"reno\"\n"), "flow.a.cc: `reno` controls no media");
    refused(
        &flow("app = \"game adaptive\"\n"),
        "flow.a: missing key \"cc\": a `game` follows a controller",
    );
    refused(
        &flow("app = \"video rate 1Mbit\"\ncc = \"gcc\"\n"),
        "flow.a.cc: a `video` with `rate` follows no controller",
    );
    refused(
        &flow("app = \"video\"\n"),
        "flow.a: missing key \"cc\": a `video` without `rate` follows a controller",
    );
    refused(
        &flow("app = \"video\"\ncc = \"reno\"\n"),
        "flow.a.cc: `reno` controls no media: expected gcc, nada or scream",
    );
    refused(
        &flow("cc = \"nada\"\n"),
        "flow.a.cc: `nada` controls media: expected `app = \"video\"` without `rate`",
    );
    refused(
        &flow("app = \"video rate 1Mbit delay 1ms\"\n"),
        "video: `delay` and `queue` are of a video without `rate`",
    );
    refused(&flow("app = \"voip\"\nbytes = \"1Mb\"\n"), "`voip` has no such key, only `bulk`");
    refused(
        &flow("app = \"short\"\ncc = \"reno\"\ncontrol_rtts = 2\n"),
        "flow.a.control_rtts: `short` has no such key, only `bulk`",
    );
    refused(
        &flow("app = \"short\"\ncc = \"reno\"\ntos = 1\n"),
        "the two ECN bits belong to the sender",
    );
    refused(&flow("app = \"rrul\"\ncc = \"reno\"\ntos = 4\n"), "have their own classes");
    refused(&flow("app = \"rrul\"\ncc = \"reno\"\ndirection = \"up\"\n"), "go both ways");
    refused(&flow("app = \"rrul\"\ncc = \"reno\"\nflows = 2\n"), "has no copies");
    refused(&flow("cc = \"reno\"\nflows = 0\n"), "flow.a.flows: expected 1 to 10000, got 0");
    refused(&flow("cc = \"reno\"\ndirection = \"left\"\n"), "unknown value \"left\"");
}

#[test]
fn a_call_or_a_game_with_a_media_controller_follows_it() {
    for (app, resolved) in [("voip", "voip adaptive"), ("game tick 1ms", "game tick 1ms adaptive")]
    {
        for cc in ["scream", "gcc", "nada"] {
            let text = format!("{BASE}[[flow]]\nname = \"a\"\napp = \"{app}\"\ncc = \"{cc}\"\n");
            let scenario = load(&text, "t.toml", &[]).unwrap().scenario;
            assert_eq!(scenario.flows[0].app.short(), resolved);
            let again = load(&to_toml(&scenario), "again.toml", &[]).unwrap().scenario;
            assert_eq!(again.flows[0].app.short(), resolved);
        }
    }
}

#[test]
fn names_that_a_table_makes_must_be_free() {
    let copies = "[[flow]]\nname = \"a\"\ncc = \"reno\"\nflows = 2\n";
    let other = "[[flow]]\nname = \"a-2\"\ncc = \"reno\"\n";
    refused(&format!("{copies}{other}"), "it makes the name \"a-2\", which is already taken");
    let rrul = "[[flow]]\nname = \"a\"\ncc = \"reno\"\napp = \"rrul\"\n";
    refused(&format!("{rrul}[[ping]]\nname = \"a-icmp\"\n"), "already taken");
    refused(&format!("{rrul}[[flow]]\nname = \"a-icmp\"\ncc = \"reno\"\n"), "already taken");
}

#[test]
fn rrul_stands_for_eight_flows_in_four_classes_and_four_pings() {
    let text = format!(
        "{BASE}[[flow]]\nname = \"t\"\ncc = \"cubic\"\napp = \"rrul\"\nstart = \"100ms\"\n"
    );
    let scenario = load(&text, "t.toml", &[]).unwrap().scenario;
    let flows: Vec<_> = scenario.flows.iter().map(|f| (f.name.as_str(), f.tos, f.up)).collect();
    assert_eq!(
        flows[..5],
        [
            ("t-up-be", 0, true),
            ("t-up-bk", 0x20, true),
            ("t-up-cs5", 0xa0, true),
            ("t-up-ef", 0xb8, true),
            ("t-down-be", 0, false),
        ]
    );
    assert_eq!(flows.len(), 8);
    let pings: Vec<_> = scenario.pings.iter().map(|p| (p.name.as_str(), p.udp)).collect();
    assert_eq!(
        pings,
        [("t-icmp", false), ("t-udp-ef", true), ("t-udp-bk", true), ("t-udp-be", true)]
    );
    assert!(scenario.flows.iter().all(|f| f.start.0 == 100_000_000));
}

#[test]
fn a_resolved_file_of_applications_reads_back_as_the_same_scenario() {
    let flows = r#"
[[flow]]
name = "r"
cc = "cubic"
app = "rrul_be"
[[flow]]
name = "c"
cc = "reno"
flows = 3
direction = "up"
hash_of = "w"
[[flow]]
name = "w"
cc = "prague"
app = "short   load 1Mbit"
[[flow]]
name = "q"
cc = "reno"
app = "request"
[[flow]]
name = "v"
app = "voip"
tos = "0xb9"
direction = "up"
[[ping]]
name = "p"
protocol = "udp"
"#;
    let first = load(&format!("{BASE}{flows}"), "t.toml", &[]).unwrap().scenario;
    let text = to_toml(&first);
    let again = load(&text, "t.toml", &[]).unwrap().scenario;
    assert_eq!(first, again);
    assert_eq!(text, to_toml(&again));
    let find = |name: &str| first.flows.iter().position(|f| f.name == name).unwrap();
    assert_eq!(first.flows[find("c-3")].hash_of, Some(find("w")));
    assert_eq!(first.flows[find("w")].app.short(), "short load 1Mbit");
    // The client of a request is where the data go.
    let far: Vec<&str> =
        first.flows.iter().filter(|f| f.opens_far).map(|f| f.name.as_str()).collect();
    let up = ["r-up-be1", "r-up-be2", "r-up-be3", "r-up-be4", "c-1", "c-2", "c-3", "q", "v"];
    assert_eq!(far, up);
}
