//! What files mean: defaults, overrides, sweeps, the resolved file, the schema, the examples.

use std::fs;
use std::path::{Path, PathBuf};

use sojourn_cc::Feedback;
use sojourn_core::{Bytes, Dur, Rate, Time};
use sojourn_queue::aqm::Spec;
use sojourn_scenario::{
    Change, Edit, Measure, Parsed, Role, Topology, expand, load, schema, to_toml,
};

use sojourn_transport::tcp::{Config, Era, Overlay, Owner, PARAMETERS, Parameter, SceFeedback};

fn spec(text: &str) -> Spec {
    text.parse().unwrap()
}

const MINIMAL: &str = r#"
name = "minimal"
duration = "10s"
[[link]]
name = "a"
[[link]]
name = "b"
rate = "50Mbit"
shaper = "htb burst 1600b"
delay = "5ms"
ingress = ["netem delay 10ms", "pfifo"]
reverse = { rate = "none", ingress = [] }
[[flow]]
name = "f"
cc = "reno"
[[ping]]
name = "p"
path = ["b"]
"#;

fn parsed(text: &str, overrides: &[(&str, &str)]) -> Parsed {
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    load(text, "f.toml", &overrides).unwrap_or_else(|e| panic!("{e}"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn defaults_are_the_documented_ones() {
    let s = parsed(MINIMAL, &[]).scenario;
    assert_eq!((s.seed, s.step), (1, Dur::from_millis(50)));
    assert_eq!(s.measure, Measure { from: Time::ZERO, to: Time(10_000_000_000) });
    assert_eq!(s.links[0].forward, s.links[0].reverse);
    assert_eq!(s.links[0].forward.qdisc, spec("pfifo"));
    assert_eq!((s.links[0].forward.wire, s.links[0].forward.delay), (None, Dur::ZERO));
    let flow = &s.flows[0];
    assert_eq!((flow.start, flow.stop, flow.bytes, flow.tos), (Time::ZERO, None, None, 0));
    assert!(flow.path().links().eq([0, 1]));
    assert_eq!(flow.tcp, Config::default());
    let tcp = &flow.tcp;
    assert_eq!(
        (tcp.era, tcp.ecn, tcp.sce_feedback),
        (Era::E2020, Feedback::AccEcn, SceFeedback::Advanced)
    );
    assert_eq!((tcp.mtu, tcp.initial_cwnd, tcp.hz, tcp.timestamps), (1500, 10, 1000, true));
    let buffers = [tcp.rmem_default, tcp.rmem_max, tcp.wmem_max, tcp.limit_output_bytes];
    assert_eq!(buffers, [128 << 10, 6 << 20, 4 << 20, 1 << 20].map(Bytes));
    assert_eq!((tcp.pacing_ss_ratio, tcp.pacing_ca_ratio), (200, 120));
    assert_eq!(tcp.gro_flush_timeout, Dur::from_micros(20));
    let off = [
        tcp.accecn_option,
        tcp.ecn_unsafe_cep,
        tcp.ecn_plus_plus,
        tcp.pacing,
        tcp.gso,
        tcp.gro,
        tcp.tsq,
    ];
    assert!(!off.contains(&true));
    let ping = &s.pings[0];
    assert_eq!((ping.interval, ping.size), (Dur::from_millis(200), 84));
    assert!(ping.paths[0].links().eq([1]));
}

/// A value as the table of eras shows it.
fn shown(value: &serde_json::Value) -> String {
    match value.as_str() {
        Some(time) if time.ends_with("us") => format!("{} µs", &time[..time.len() - 2]),
        Some("0ns") => "0".to_owned(),
        Some(name) => format!("`{name}`"),
        None => match value.as_bool() {
            Some(true) => "on".to_owned(),
            Some(false) => "off".to_owned(),
            None => value.to_string(),
        },
    }
}

#[test]
fn tables_of_the_documents_are_the_declarations() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("a document");
    let (guide, algorithm) = (read("docs/guide/scenario.md"), read("docs/algorithms/tcp.md"));
    let row = |text: &str, key: &str| -> Vec<String> {
        let rows = text.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
        let key = format!("`{key}`");
        let mut own =
            rows.filter(|cells| cells.len() > 3 && cells[1].split(", ").any(|k| k == key));
        own.next()
            .unwrap_or_else(|| panic!("no row for {key}"))
            .into_iter()
            .map(Into::into)
            .collect()
    };
    let eras = Era::ALL.map(|era| serde_json::to_value(Overlay::from(&Config::of(era))).unwrap());
    for Parameter { key, owner, bounds, sysctl } in PARAMETERS {
        let cells = row(&guide, key);
        let defaults = eras.each_ref().map(|values| &values[key]);
        if *owner == Owner::Kernel {
            assert_eq!(row(&algorithm, key)[2..7], defaults.map(shown), "{key}");
        } else if *key != "ecn" {
            assert_eq!(cells[3], format!("`{}`", defaults[0]), "{key}");
        }
        if let (Some((low, high)), true) = (bounds, defaults[0].is_number()) {
            let range = format!("{low} to {high}");
            assert!(cells.iter().any(|cell| cell.starts_with(&range)), "{key}: {range}");
        }
        if let Some((name, _)) = sysctl {
            assert!(guide.contains(&format!("`{name}`")), "{name}");
        }
    }
}

#[test]
fn rate_goes_to_the_shaper_or_to_the_wire() {
    let s = parsed(MINIMAL, &[("link.a.rate", "1gbit")]).scenario;
    assert_eq!(s.links[0].forward.wire, Some(Rate(1_000_000_000)));
    let (forward, reverse) = (&s.links[1].forward, &s.links[1].reverse);
    assert_eq!(forward.shaper, Some(spec("htb rate 50Mbit burst 1600b")));
    assert_eq!(forward.wire, None);
    assert_eq!((&reverse.shaper, reverse.wire), (&None, None));
    assert_eq!((reverse.delay, reverse.ingress.len()), (Dur::from_millis(5), 0));
}

#[test]
fn overrides_are_read_as_the_type_of_their_key() {
    let s = parsed(
        MINIMAL,
        &[
            ("seed", "18446744073709551615"),
            ("flow.f.cc", "prague"),
            ("flow.f.tcp.timestamps", "false"),
            ("tcp.ecn", "off"),
            ("flow.f.path", r#"["b"]"#),
            ("ping.0.tos", "0x01"),
            ("link.b.reverse.rate", "9Mbit"),
            ("measure", r#"{ from = "2s" }"#),
            ("name", "7"),
        ],
    )
    .scenario;
    assert_eq!((s.seed, s.name.as_str(), s.measure.from), (u64::MAX, "7", Time(2_000_000_000)));
    let flow = &s.flows[0];
    assert_eq!(
        (
            flow.cc.as_ref().expect("TCP has one").name(),
            flow.path().links().collect::<Vec<_>>(),
            flow.tcp.ecn
        ),
        ("prague", vec![1], Feedback::None)
    );
    assert!(!flow.tcp.timestamps);
    assert_eq!(s.pings[0].tos, 1);
    assert_eq!(s.links[1].reverse.shaper, Some(spec("htb rate 9Mbit burst 1600b")));
}

#[test]
fn windows_with_a_name_stand_beside_the_main_one() {
    let text = format!("{MINIMAL}\n[measure.late]\nfrom = \"4s\"\n[measure.a-1]\nto = \"3s\"");
    let s = parsed(&text, &[("measure.late.to", "6s"), ("measure.from", "1s")]).scenario;
    let window = |from: u64, to: u64| Measure { from: Time(from), to: Time(to) };
    assert_eq!(s.measure, window(1_000_000_000, 10_000_000_000));
    let late = ("late".to_owned(), window(4_000_000_000, 6_000_000_000));
    assert_eq!(s.windows, [("a-1".to_owned(), window(0, 3_000_000_000)), late]);
    assert_eq!(parsed(&to_toml(&s), &[]).scenario, s);
}

#[test]
fn size_table_is_inherited_with_the_rate_and_written() {
    let with = |overrides: &[(&str, &str)]| {
        let mut all = vec![("link.b.stab", " overhead  38 mpu 84")];
        all.extend(overrides);
        parsed(MINIMAL, &all).scenario
    };
    let way = |way: &sojourn_scenario::Direction| way.stab.clone();
    let words = Some(spec("stab overhead 38 mpu 84"));
    let s = with(&[("link.b.reverse.rate", "9Mbit")]);
    assert_eq!(
        (way(&s.links[1].forward), way(&s.links[1].reverse)),
        (words.clone(), words.clone())
    );
    assert_eq!(parsed(&to_toml(&s), &[]).scenario, s);
    let s = with(&[("link.b.reverse.rate", "none")]);
    assert_eq!((way(&s.links[1].forward), way(&s.links[1].reverse)), (words, None));
    assert_eq!(parsed(&to_toml(&s), &[]).scenario, s);
}

#[test]
fn flow_tcp_overrides_the_files_tcp() {
    let text = MINIMAL.replace("cc = \"reno\"", "cc = \"reno\"\ntcp = { hz = 250 }");
    let s = parsed(&text, &[("tcp.hz", "100"), ("tcp.mtu", "9000")]).scenario;
    assert_eq!((s.flows[0].tcp.hz, s.flows[0].tcp.mtu), (250, 9000));
}

#[test]
fn numbers_without_a_unit_are_warned_about_with_the_value_that_was_read() {
    let warnings = |key: &str, value: &str| parsed(MINIMAL, &[(key, value)]).warnings;
    let one = |key: &str, value: &str| -> String {
        let found = warnings(key, value);
        assert_eq!(found.len(), 1, "{key} {value}: {found:?}");
        found[0].clone()
    };
    let end = "as tc reads a number without a unit (write";
    for (key, value, is) in [
        ("link.b.qdisc", "fq_codel target 5", format!("\"target 5\" is 5us, {end} \"target 5ms\"")),
        ("link.b.qdisc", "netem delay 10", format!("\"delay 10\" is 10ns, {end} \"delay 10ms\"")),
        ("link.b.qdisc", "netem delay 9ms 2", format!("\"delay 2\" is 2ns, {end} \"delay 2ms\"")),
        (
            "link.b.qdisc",
            "cake bandwidth 20",
            format!("\"bandwidth 20\" is 20bit, {end} \"bandwidth 20Mbit\""),
        ),
        (
            "link.b.qdisc",
            "htb class 1:1 rate 9Mbit leaf { codel interval 100 }",
            format!("\"interval 100\" is 100us, {end} \"interval 100ms\""),
        ),
        (
            "flow.f.cc",
            "udp-prague init_rate 200000",
            format!("\"init_rate 200000\" is 200kbit, {end} \"init_rate 200000Mbit\""),
        ),
    ] {
        let found = warnings(key, value);
        assert!(found.iter().any(|w| w.contains(&is)), "{value}: {found:?}");
    }
    assert!(one("link.b.qdisc", "stab overhead 38 mpu 84 codel target 5").contains("target 5"));
    for quiet in
        ["netem delay 0", "netem delay 10ms limit 100", "fq_codel flows 1 limit 5", "pfifo limit 9"]
    {
        assert_eq!(warnings("link.b.qdisc", quiet), [""; 0], "{quiet}");
    }
    let text = MINIMAL.replace("netem delay 10ms", "netem delay 10");
    assert!(parsed(&text, &[]).warnings[0].starts_with("f.toml:11: link.b.ingress.0: "));
    let text = format!(
        "{MINIMAL}[[schedule]]\nat = \"1s\"\nset = {{ \"link.b.forward.qdisc\" = \"pfifo limit 5\" }}\n\
        replace = {{ \"link.b.forward.qdisc\" = \"codel target 5\" }}\n"
    );
    assert!(parsed(&text, &[]).warnings[0].contains("is 5us"));
}

/// The warning and the algorithm read the same value: written out, it builds an equal queue.
#[test]
fn the_value_in_a_warning_is_the_one_that_every_queue_reads() {
    use sojourn_core::Rng;
    use sojourn_core::grammar::bare_numbers;
    use sojourn_queue::aqm::Env;
    use sojourn_queue::qdiscs;
    let build = |text: &str| {
        let env = Env::ethernet(Rng::named(0, "words"));
        qdiscs::build(text, env).map(|qdisc| qdisc.describe())
    };
    let mut compared = 0;
    for entry in qdiscs::entries() {
        for param in entry.table() {
            for number in ["7", "3000", "2000000"] {
                let table = |name: &str| (name == entry.name).then(|| entry.table());
                for second in ["", " 5000"] {
                    let key = param.name.split('|').next().unwrap();
                    let text = format!("{} {key} {number}{second}", entry.name);
                    let mut written = format!("{} {key}", entry.name);
                    let bare = bare_numbers(&text, &table);
                    if bare.is_empty() || bare.len() != 1 + usize::from(!second.is_empty()) {
                        continue;
                    }
                    for bare in bare {
                        written += &format!(" {}", bare.reading);
                    }
                    if let Ok(described) = build(&text) {
                        assert_eq!(build(&written), Ok(described), "{text}: {written}");
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared > 60, "{compared}");
}

#[test]
fn byte_rates_are_read_as_tc_does_with_a_warning() {
    let Parsed { scenario, warnings, .. } = parsed(MINIMAL, &[("link.a.rate", "50mbps")]);
    assert_eq!(scenario.links[0].forward.wire, Some(Rate(400_000_000)));
    assert_eq!(
        warnings,
        ["-s link.a.rate: \"50mbps\" is 400Mbit (bps means bytes per second in tc); for 50Mbit \
          write \"50Mbit\""]
    );
    assert!(parsed(MINIMAL, &[("name", "5mbps")]).warnings.is_empty());
}

#[test]
fn schedule_is_sorted_and_resolved() {
    let text = format!(
        "{MINIMAL}
[[schedule]]
at = \"4s\"
set = {{ \"link.b.reverse.delay\" = \"1ms\" }}
replace = {{ \"link.b.forward.ingress1\" = \"netem delay 1ms\" }}
[[schedule]]
at = \"2s\"
set = {{ \"link.b.rate\" = \"40Mbit\" }}
"
    );
    let at = Time(4_000_000_000);
    assert_eq!(
        parsed(&text, &[("link.b.reverse.rate", "9Mbit")]).scenario.schedule,
        [
            Change {
                at: Time(2_000_000_000),
                link: 1,
                forward: true,
                reverse: true,
                edit: Edit::Rate(Rate(40_000_000)),
            },
            Change {
                at,
                link: 1,
                forward: false,
                reverse: true,
                edit: Edit::Delay(Dur::from_millis(1)),
            },
            Change {
                at,
                link: 1,
                forward: true,
                reverse: false,
                edit: Edit::Ingress(1, spec("netem delay 1ms")),
            },
        ]
    );
}

#[test]
fn sweep_runs_the_product_with_the_first_axis_slowest() {
    let text = format!(
        "{MINIMAL}[sweep]\n\"link.b.rate\" = [\"9Mbit\", \"4Mbit\"]\nseed = [3, 1]\n\
         \"flow.f.path\" = [[\"a\", \"b\"]]\n\"flow.f.tcp\" = [{{ ecn = \"off\", pacing = true }}]\n"
    );
    let axes = parsed(&text, &[]).axes;
    assert_eq!(
        axes.iter().map(|a| a.keys[0].as_str()).collect::<Vec<_>>(),
        ["link.b.rate", "seed", "flow.f.path", "flow.f.tcp"]
    );
    let points = expand(&text, "f.toml", &[]).unwrap();
    let seen: Vec<_> = points
        .iter()
        .map(|p| (p.values[0].1.as_str(), p.scenario.seed, p.values[2].1.as_str()))
        .collect();
    let path = "[\"a\", \"b\"]";
    assert_eq!(
        seen,
        [("9Mbit", 3, path), ("9Mbit", 1, path), ("4Mbit", 3, path), ("4Mbit", 1, path)]
    );
    // A point is the file with its values as overrides.
    for point in points {
        assert_eq!(load(&text, "f.toml", &point.values).unwrap().scenario, point.scenario);
    }
    let fixed = expand(&text, "f.toml", &[("seed".into(), "5".into())]).unwrap();
    assert_eq!(fixed.iter().map(|p| p.scenario.seed).collect::<Vec<_>>(), [5, 5]);
    // A swept name that is overridden stays an axis, so that the run keeps the name of its values.
    assert_eq!(fixed[0].values[1], ("seed".to_owned(), "5".to_owned()));
    assert_eq!(expand(MINIMAL, "f.toml", &[]).unwrap().len(), 1);
}

#[test]
fn names_in_one_table_of_a_sweep_advance_together() {
    let text = format!(
        "{MINIMAL}[[sweep]]\n\"link.b.rate\" = [\"9Mbit\", \"4Mbit\"]\n\"link.b.delay\" = [\"1ms\", \"2ms\"]\n\
         [[sweep]]\nseed = [3, 1, 2]\n"
    );
    let axes = parsed(&text, &[]).axes;
    assert_eq!(axes[0].keys, ["link.b.rate", "link.b.delay"]);
    assert_eq!(axes[0].values, [["9Mbit", "4Mbit"], ["1ms", "2ms"]]);
    let seen = |overrides: &[(String, String)]| -> Vec<String> {
        let points = expand(&text, "f.toml", overrides).unwrap();
        let words = |p: &sojourn_scenario::SweepPoint| {
            p.values.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(" ")
        };
        points.iter().map(words).collect()
    };
    let all =
        ["9Mbit 1ms 3", "9Mbit 1ms 1", "9Mbit 1ms 2", "4Mbit 2ms 3", "4Mbit 2ms 1", "4Mbit 2ms 2"];
    assert_eq!(seen(&[]), all);
    // An override picks a step; a value that no step has replaces that of all.
    let given = |value: &str| seen(&[("link.b.rate".to_owned(), value.to_owned())]);
    assert_eq!(given("4Mbit"), ["4Mbit 2ms 3", "4Mbit 2ms 1", "4Mbit 2ms 2"]);
    assert_eq!(given("7Mbit")[..4], ["7Mbit 1ms 3", "7Mbit 1ms 1", "7Mbit 1ms 2", "7Mbit 2ms 3"]);
    for point in expand(&text, "f.toml", &[]).unwrap() {
        assert_eq!(load(&text, "f.toml", &point.values).unwrap().scenario, point.scenario);
    }
}

#[test]
fn an_override_of_the_forward_direction_leaves_the_way_back_as_it_was() {
    let before = parsed(MINIMAL, &[]).scenario;
    for (key, value) in [
        ("rate", "9Mbit"),
        ("shaper", "htb"),
        ("stab", "overhead 38"),
        ("qdisc", "codel"),
        ("ingress", "[\"netem delay 9ms\"]"),
        ("delay", "9ms"),
    ] {
        for link in &before.links {
            let rate = format!("link.{}.rate", link.name);
            let back = format!("link.{}.reverse.rate", link.name);
            let name = format!("link.{}.forward.{key}", link.name);
            for first in
                [&[][..], &[(&*rate, "20Mbit")][..], &[(&*rate, "20Mbit"), (&*back, "none")]]
            {
                let was = parsed(MINIMAL, first).scenario;
                let after = [first, &[(&*name, value)]].concat();
                let Ok(now) = load(
                    MINIMAL,
                    "f.toml",
                    &after.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect::<Vec<_>>(),
                ) else {
                    assert_eq!(key, "shaper", "a shaper alone needs a rate");
                    continue;
                };
                let at = before.links.iter().position(|l| l.name == link.name).unwrap();
                assert_eq!(now.scenario.links[at].reverse, was.links[at].reverse, "{after:?}");
                assert_ne!(now.scenario.links[at].forward, was.links[at].forward, "{after:?}");
            }
        }
    }
}

#[test]
fn routes_pass_the_ports_in_order_and_return_backwards() {
    let topology = Topology::new(&parsed(MINIMAL, &[]).scenario);
    let names = |route: &[usize]| -> Vec<&str> {
        route.iter().map(|port| topology.ports[*port].name.as_str()).collect()
    };
    assert_eq!(names(&topology.flows[0][0].forward), ["a", "b.ingress0", "b.ingress1", "b"]);
    assert_eq!(names(&topology.flows[0][0].reverse), ["b.reverse", "a.reverse"]);
    assert_eq!(names(&topology.pings[0][0].forward), ["b.ingress0", "b.ingress1", "b"]);
    let egress = &topology.ports[topology.egress(1, true).unwrap()];
    assert_eq!((egress.name.as_str(), egress.role), ("b", Role::Egress));
    assert_eq!(egress.shaper, Some(spec("htb rate 50Mbit burst 1600b")));
    assert_eq!(topology.port(1, false, Role::Ingress(0)), None);
}

const TUNNELS: &str = r#"
name = "tunnels"
duration = "10s"
[[link]]
name = "a"
[[link]]
name = "b"
delay = "1ms"
ingress = ["mangle bleach-ecn"]
[[link]]
name = "c"
[[flow]]
name = "in"
cc = "reno"
[[flow]]
name = "out"
cc = "reno"
hash_of = "in"
path = ["b", "c"]
[[ping]]
name = "p"
[[tunnel]]
name = "short"
links = ["b"]
flows = ["in", "out"]
overhead = 20
ecn = "compat"
dscp = "zero"
entropy = "inner"
[[tunnel]]
name = "long"
links = ["b", "c"]
flows = ["p", "in"]
replay_window = 64
"#;

#[test]
fn tunnels_nest_and_only_their_flows_pass_their_ends() {
    let scenario = parsed(TUNNELS, &[]).scenario;
    let topology = Topology::new(&scenario);
    let names = |route: &[usize]| {
        route.iter().map(|port| topology.ports[*port].name.as_str()).collect::<Vec<_>>().join(" ")
    };
    let [inside, outside] = [0, 1].map(|flow| &topology.flows[flow][0]);
    assert_eq!(
        names(&inside.forward),
        "a long.encap short.encap b.ingress0 b short.decap c long.decap"
    );
    assert_eq!(
        names(&inside.reverse),
        "long.reverse.encap c.reverse short.reverse.encap b.reverse.ingress0 b.reverse \
         short.reverse.decap long.reverse.decap a.reverse"
    );
    assert_eq!(names(&outside.forward), "short.encap b.ingress0 b short.decap c");
    assert_eq!(names(&topology.pings[0][0].forward), "a long.encap b.ingress0 b c long.decap");
    let growth: i32 = inside.forward.iter().map(|port| topology.ports[*port].growth).sum();
    assert_eq!(growth, 0);
    assert_eq!(topology.egress(1, true).map(|port| &topology.ports[port].name[..]), Some("b"));
}

#[test]
fn tunnels_and_borrowed_hashes_are_written_as_they_are_read() {
    let scenario = parsed(TUNNELS, &[]).scenario;
    assert_eq!(scenario.flows[1].hash_of, Some(0));
    let tunnel = &scenario.tunnels[1];
    assert_eq!((&tunnel.flows[..], &tunnel.pings[..]), (&[0][..], &[0][..]));
    let resolved = to_toml(&scenario);
    assert_eq!(parsed(&resolved, &[]).scenario, scenario, "{resolved}");
}

#[test]
fn resolved_file_is_a_fixed_point_that_states_every_default() {
    let scenario = parsed(MINIMAL, &[]).scenario;
    let resolved = to_toml(&scenario);
    for line in ["seed = 1", "step = \"50ms\"", "ecn = \"accecn\"", "tos = \"0x00\""] {
        assert!(resolved.contains(line), "{resolved}");
    }
    assert_eq!(parsed(&resolved, &[]).scenario, scenario, "{resolved}");
    assert_eq!(to_toml(&parsed(&resolved, &[]).scenario), resolved);
}

#[test]
fn shipped_scenarios_are_valid() {
    let mut seen = vec![];
    for entry in std::fs::read_dir(root().join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap();
            let file = path.to_str().unwrap();
            let loaded = load(&text, file, &[]).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(format!("{}.toml", loaded.scenario.name), name);
            assert!(loaded.warnings.is_empty());
            expand(&text, file, &[]).unwrap_or_else(|e| panic!("{e}"));
            seen.push(name.to_owned());
        }
    }
    seen.sort();
    let shipped = [
        "bursty-link.toml",
        "capacity-step.toml",
        "cellular-trace.toml",
        "false-positive.toml",
        "home.toml",
        "measured-delay.toml",
        "media.toml",
        "one-prague.toml",
        "prague-vs-cubic.toml",
        "rrul.toml",
        "scream.toml",
        "short-flows.toml",
        "telepresence.toml",
        "thousand-flows.toml",
        "two-bottlenecks.toml",
        "voip.toml",
    ];
    assert_eq!(seen, shipped);
}

#[test]
fn examples_of_the_guide_are_valid() {
    let guide = std::fs::read_to_string(root().join("docs/guide/scenario.md")).unwrap();
    let blocks: Vec<&str> = guide
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .filter(|block| block.contains("duration"))
        .collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        load(block, "scenario.md", &[]).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn guide_names_every_key_of_the_schema() {
    let guide = std::fs::read_to_string(root().join("docs/guide/scenario.md")).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let tables = schema["$defs"].as_object().unwrap().values().chain([&schema]);
    let keys: Vec<&String> =
        tables.filter_map(|t| t["properties"].as_object()).flat_map(|p| p.keys()).collect();
    assert!(keys.len() > 40);
    for key in keys {
        let documented = [format!("`{key}`"), format!("[{key}]")].iter().any(|k| guide.contains(k));
        assert!(documented, "{key} is not in docs/guide/scenario.md");
    }
}

/// After a change of the format: `SOJOURN_BLESS=1 cargo test -p sojourn-scenario schema`.
#[test]
fn a_bound_of_the_pacing_rate_is_a_rate_or_none() {
    let text = |value: &str| {
        format!(
            "name = \"t\"\nduration = \"9s\"\n[tcp]\nmax_pacing_rate = {value}\n[[link]]\nname = \"l\"\n\
             rate = \"9Mbit\"\n[[flow]]\nname = \"f\"\ncc = \"cubic\"\npath = [\"l\"]\n"
        )
    };
    let bound = |value: &str| parsed(&text(value), &[]).scenario.flows[0].tcp.max_pacing_rate.0;
    assert_eq!(bound("\"5Mbit\""), Some(Rate(5_000_000)));
    assert_eq!(bound("\"none\""), None);
    let scenario = parsed(&text("\"5Mbit\""), &[]).scenario;
    assert_eq!(parsed(&to_toml(&scenario), &[]).scenario, scenario);
    for (value, expected) in [
        ("\"0bit\"", "expected more than zero"),
        ("\"fast\"", "expected a rate such as \"50Mbit\", got \"fast\""),
        ("5", "expected a rate such as \"50Mbit\", got 5 without a unit (write \"5Mbit\")"),
    ] {
        let error = load(&text(value), "f.toml", &[]).unwrap_err().to_string();
        assert!(error.ends_with(&format!("tcp.max_pacing_rate: {expected}")), "{error}");
    }
}

#[test]
fn checked_in_schema_is_current() {
    let path = root().join("scenarios/scenario.schema.json");
    if std::env::var_os("SOJOURN_BLESS").is_some() {
        std::fs::write(&path, schema()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), schema());
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    assert!(schema["$defs"]["Tcp"]["required"].is_null(), "a table may set any of the parameters");
}

#[test]
fn a_change_is_written_with_what_follows_from_it() {
    let text = "name = \"t\"\nduration = \"9s\"\n[[link]]\nname = \"l\"\nrate = \"9Mbit\"\nqdisc = \"dualpi2\"\n\
                [[schedule]]\nat = \"1s\"\nset = { \"link.l.qdisc\" = \"dualpi2 max_rtt 50ms\" }\n";
    let scenario = parsed(text, &[]).scenario;
    let written = to_toml(&scenario);
    assert!(written.contains("dualpi2 target ") && !written.contains("max_rtt"), "{written}");
    assert_eq!(parsed(&written, &[]).scenario, scenario);
}
