//! No text makes the parser panic, every error is one line, and the resolved file means the same.

use proptest::prelude::*;
use sojourn_scenario::{Topology, expand, load, to_toml};

const SEED: &str = include_str!("../../../../scenarios/capacity-step.toml");

/// What every text must satisfy.
fn check(text: &str, overrides: &[(String, String)]) {
    match load(text, "fuzz.toml", overrides) {
        Ok(parsed) => {
            let resolved = to_toml(&parsed.scenario);
            let again = load(&resolved, "resolved.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(again.scenario, parsed.scenario, "{resolved}");
            assert_eq!(to_toml(&again.scenario), resolved);
            let ports = Topology::new(&parsed.scenario).ports.len();
            assert!(ports >= 2 * parsed.scenario.links.len());
        }
        Err(error) => {
            let text = error.to_string();
            assert_eq!(text.lines().count(), 1, "{text}");
            let place = text.starts_with("fuzz.toml:") || text.starts_with("-s ");
            assert!(place, "{text}");
        }
    }
    if let Err(error) = expand(text, "fuzz.toml", overrides) {
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
}

/// Parts of files, valid and not, to be put together at random.
const PIECES: &[&str] = &[
    "[[link]]\n",
    "[[flow]]\n",
    "[[ping]]\n",
    "[[schedule]]\n",
    "[sweep]\n",
    "[tcp]\n",
    "[link.reverse]\n",
    "name = \"a\"\n",
    "name = \"b\"\n",
    "duration = \"10s\"\n",
    "rate = \"50Mbit\"\n",
    "rate = \"none\"\n",
    "shaper = \"htb\"\n",
    "qdisc = \"codel\"\n",
    "ingress = [\"netem delay 5ms\"]\n",
    "cc = \"cubic\"\n",
    "start = \"1s\"\n",
    "at = \"3s\"\n",
    "set = { \"link.a.rate\" = \"5Mbit\" }\n",
    "replace = { \"link.a.qdisc\" = \"pfifo\" }\n",
    "set = { \"link.a.qdisc\" = \"codel target 1ms\" }\n",
    "path = [\"a\"]\n",
    "[[tunnel]]\n",
    "links = [\"a\"]\n",
    "hash_of = \"a\"\n",
    "tos = 16\n",
    "\"link.a.rate\" = [\"5Mbit\", 3]\n",
    "mtu = 9000\n",
    "delay = 1979-05-27\n",
    "seed = 1.5\n",
    "name = \"",
    "{ = [",
    "\u{0}",
    "\u{feff}",
    "é\n",
];

fn assembled() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(PIECES), 0..20);
    pieces.prop_map(|pieces| {
        let head = "name = \"x\"\nduration = \"10s\"\n[[link]]\nname = \"a\"\n";
        pieces.iter().fold(head.to_owned(), |text, piece| text + piece)
    })
}

fn mutated() -> impl Strategy<Value = String> {
    let edit = (any::<prop::sample::Index>(), 0..4_usize, "[ -~\n]{0,3}");
    prop::collection::vec(edit, 1..4).prop_map(|edits| {
        edits.iter().fold(SEED.to_owned(), |text, (at, cut, new)| {
            let chars: Vec<char> = text.chars().collect();
            let at = at.index(chars.len());
            let end = (at + cut).min(chars.len());
            chars[..at]
                .iter()
                .copied()
                .chain(new.chars())
                .chain(chars[end..].iter().copied())
                .collect()
        })
    })
}

prop_compose! {
    fn way()(
        rate in prop::option::of(1_u64..100_000_000_000),
        shaped in any::<bool>(),
        qdisc in prop::sample::select(&["pfifo", "codel  target 3ms", "fq_codel", "dualpi2"][..]),
        ingress in prop::collection::vec(Just("\"netem delay 3ms\""), 0..3),
        delay in 0_u64..2_000_000_000,
    ) -> String {
        let shaper = if shaped && rate.is_some() { "htb burst 1600b" } else { "none" };
        let rate = rate.map_or_else(|| "none".to_owned(), |r| format!("{r}bit"));
        format!(
            "rate = \"{rate}\"\nshaper = \"{shaper}\"\nqdisc = \"{qdisc}\"\n\
             ingress = [{}]\ndelay = \"{delay}ns\"\n",
            ingress.join(", ")
        )
    }
}

prop_compose! {
    fn flow()(
        cc in prop::sample::select(&["reno", "cubic", "prague", "dctcp", "reno-sce"][..]),
        start in 0_u64..9_000_000,
        stop in prop::option::of(9_000_001_u64..20_000_000),
        bytes in prop::option::of(1_u64..1_000_000_000),
        path in prop::sample::select(&["[\"l0\"]", "[\"l1\", \"l0\"]", "[\"l0\", \"l1\"]"][..]),
        dscp in 0_u8..64,
        ecn in prop::sample::select(&["off", "rfc3168", "accecn", "dctcp", "sce"][..]),
        mtu in 576_u32..9000,
    ) -> String {
        let stop = stop.map_or(String::new(), |us| format!("stop = \"{us}us\"\n"));
        let bytes = bytes.map_or(String::new(), |b| format!("bytes = \"{b}b\"\n"));
        format!(
            "cc = \"{cc}\"\nstart = \"{start}us\"\n{stop}{bytes}path = {path}\ntos = {}\n\
             tcp = {{ ecn = \"{ecn}\", mtu = {mtu} }}\n",
            dscp << 2
        )
    }
}

prop_compose! {
    fn change()(
        at in 0_u64..=10_000,
        way in prop::sample::select(&["", ".forward", ".reverse"][..]),
        edit in prop::sample::select(&[
            ("set", "s", "rate", "3Mbit"), ("set", "l0", "delay", "2ms"),
            ("set", "s", "qdisc", "pfifo limit 7"), ("replace", "l0", "qdisc", "pfifo"),
        ][..]),
    ) -> String {
        let (table, link, field, value) = edit;
        format!(
            "[[schedule]]\nat = \"{at}ms\"\n{table} = {{ \"link.{link}{way}.{field}\" = \"{value}\" }}\n"
        )
    }
}

prop_compose! {
    fn valid()(
        seed in 0..=i64::MAX,
        description in "[ -~é]{0,12}",
        ways in prop::collection::vec((way(), prop::option::of(way())), 2..4),
        flows in prop::collection::vec(flow(), 0..4),
        changes in prop::collection::vec(change(), 0..4),
        ping in any::<bool>(),
    ) -> String {
        let description = description.replace('\\', "\\\\").replace('"', "\\\"");
        let mut text = format!(
            "name = \"valid/1\"\ndescription = \"{description}\"\nduration = \"10s\"\nseed = {seed}\n"
        );
        text += "[[link]]\nname = \"s\"\nrate = \"9Mbit\"\n";
        for (i, (forward, reverse)) in ways.iter().enumerate() {
            text += &format!("[[link]]\nname = \"l{i}\"\n{forward}");
            text += &reverse.as_ref().map_or(String::new(), |w| format!("[link.reverse]\n{w}"));
        }
        for (i, flow) in flows.iter().enumerate() {
            text += &format!("[[flow]]\nname = \"f{i}\"\n{flow}");
        }
        if ping {
            text += "[[ping]]\nname = \"p\"\ntos = 3\nstop = \"9s\"\n";
        }
        text + &changes.concat()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&String::from_utf8_lossy(&bytes), &[]);
    }

    #[test]
    fn assembled_files_never_panic(text in assembled()) {
        check(&text, &[]);
    }

    #[test]
    fn mutated_files_never_panic(text in mutated()) {
        check(&text, &[]);
    }

    #[test]
    fn arbitrary_overrides_never_panic(
        key in "(link|flow|ping|schedule|sweep|tcp|measure|name)?(\\.(bneck|prague|0|at|set|rate|[ -~]{0,4})){0,4}",
        value in "[ -~\n]{0,8}|[0-9]{1,3}|\\[\\]|\\{\\}|50Mbit",
    ) {
        check(SEED, &[(key, value)]);
    }

    #[test]
    fn valid_files_survive_the_round_trip(text in valid()) {
        let parsed = load(&text, "valid.toml", &[]);
        prop_assert!(parsed.is_ok(), "{}\n{text}", parsed.unwrap_err());
        check(&text, &[]);
    }
}

#[test]
fn deep_nesting_is_an_error_not_a_stack_overflow() {
    let deep = 200_000;
    let brackets = format!("name = {}", "[".repeat(deep));
    let dotted = format!("{}a = 1", "a.".repeat(deep));
    let header = format!("[{}a]", "a.".repeat(deep));
    let inline = format!("{}a.b = {{", "a.a.a.a.a.a.a.a.a = {".repeat(deep));
    let bounded = format!("{}a = 1{}", "a.a.a.a.a.a.a.a.a = {".repeat(79), "}".repeat(79));
    let long = format!("{}a = 1", "a.".repeat(500));
    for text in [brackets, dotted.clone(), header, inline, bounded, long] {
        assert!(load(&text, "fuzz.toml", &[]).is_err());
    }
    for (key, value) in [(dotted, "1".to_owned()), ("link".to_owned(), "[".repeat(deep))] {
        assert!(load(SEED, "fuzz.toml", &[(key, value)]).is_err());
    }
}
