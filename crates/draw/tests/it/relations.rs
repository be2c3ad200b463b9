//! What must change nothing: each relation alters small cases and compares what passed every port and end, and when.

use sojourn_draw::{draw_small, text_small};
use sojourn_scenario::{Scenario, load};
use sojourn_sim::run;
use sojourn_trace::Output;

use crate::invariants::watched;

const SEED: u64 = 2;
const CASES: u64 = 150;

fn read(text: &str, index: u64) -> Scenario {
    let parsed = load(text, &format!("case {index} of seed {SEED}"), &[]);
    parsed.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario
}

/// Digests by the name of the port, or of the end.
fn digests(scenario: &Scenario, index: u64) -> Vec<(String, u64)> {
    let (output, seen) = watched(scenario).unwrap_or_else(|what| panic!("case {index}: {what}"));
    let names = output.queues.iter().map(|queue| queue.name.clone());
    let ends = scenario.flows.iter().map(|flow| &flow.name);
    let ends = ends.chain(scenario.pings.iter().map(|ping| &ping.name));
    let ends = ends.flat_map(|name| [format!("{name}>"), format!("{name}<")]);
    names.chain(ends).zip(seen.digests.iter().copied()).collect()
}

/// Alters the text of cases; where that gives one, what had a name before must be as before.
#[track_caller]
fn same(
    least: usize,
    alter: impl Fn(&Scenario, &str) -> Option<String>,
    now: impl Fn(&str) -> String,
) {
    let mut compared = 0;
    for index in 0..CASES {
        let text = text_small(SEED, index);
        let scenario = read(&text, index);
        let Some(altered) = alter(&scenario, &text) else { continue };
        compared += 1;
        let after = digests(&read(&altered, index), index);
        for (name, digest) in digests(&scenario, index) {
            let name = now(&name);
            let found = after.iter().find(|(other, _)| *other == name);
            let found = found.unwrap_or_else(|| panic!("case {index}: no {name}"));
            assert_eq!(found.1, digest, "case {index}: {name} of\n{text}\nand\n{altered}");
        }
    }
    assert!(compared >= least, "{compared} cases");
}

fn as_before(name: &str) -> String {
    name.to_owned()
}

/// Whether no part draws by its name, or tells flows apart by a hash of theirs.
fn is_plain(scenario: &Scenario) -> bool {
    let plain = ["pfifo", "bfifo", "codel", "pfifo_head_drop"];
    let is_plain = |text: String| plain.contains(&text.split(' ').next().unwrap_or_default());
    scenario.tunnels.is_empty()
        && scenario.schedule.is_empty()
        && scenario.links.iter().all(|link| {
            [&link.forward, &link.reverse].into_iter().all(|direction| {
                let shaper =
                    direction.shaper.as_ref().map_or_else(String::new, ToString::to_string);
                is_plain(direction.qdisc.to_string())
                    && direction.ingress.is_empty()
                    && !shaper.starts_with("wifi")
                    && !shaper.starts_with("grant")
            })
        })
}

/// As [`is_plain`], with flows that draw nothing either.
fn is_named_only(scenario: &Scenario, text: &str) -> bool {
    is_plain(scenario)
        && is_chain(text)
        && !["bbr", "app = "].iter().any(|part| text.contains(part))
}

/// One chain of links, of which flows and pings take all.
fn is_chain(text: &str) -> bool {
    !text.contains("path = ")
}

#[test]
fn a_tap_changes_nothing() {
    let everything = |output: &Output| {
        let series: Vec<_> = output.series.iter().map(|c| (c.name.clone(), bits(&c.v))).collect();
        (output.summary_json(), output.queues_json(), series)
    };
    for index in 0..CASES {
        let scenario = draw_small(SEED, index).expect("it is valid");
        let (with, _) = watched(&scenario).unwrap_or_else(|what| panic!("case {index}: {what}"));
        let without = run(&scenario).expect("it ends");
        assert_eq!(everything(&with), everything(&without), "case {index}");
    }
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn a_longer_run_begins_as_the_shorter_one() {
    for index in 0..CASES {
        let text = text_small(SEED, index);
        let short = read(&text, index);
        let ms = short.duration.as_millis_f64() as u64;
        let old = format!("duration = \"{ms}ms\"");
        assert!(text.contains(&old), "{text}");
        let long = read(&text.replace(&old, &format!("duration = \"{}ms\"", ms + ms / 3)), index);
        let [short, long] = [short, long].map(|scenario| run(&scenario).expect("it ends"));
        let end = short.summary.duration_s;
        for column in &short.series {
            let other = long.series.iter().find(|other| other.name == column.name);
            let other = other.unwrap_or_else(|| panic!("case {index}: no {}", column.name));
            // The last sample is of the end, which comes before or after what happens at that instant.
            let count = column.t.iter().take_while(|t| **t < end).count();
            assert_eq!(
                bits(&column.t[..count]),
                bits(&other.t[..count]),
                "{index} {}",
                column.name
            );
            assert_eq!(
                bits(&column.v[..count]),
                bits(&other.v[..count]),
                "{index} {}",
                column.name
            );
        }
    }
}

#[test]
fn a_finer_step_samples_the_same_packets() {
    let alter = |scenario: &Scenario, text: &str| {
        let ms = scenario.step.as_millis_f64() as u64;
        let old = format!("step = \"{ms}ms\"");
        text.contains(&old).then(|| text.replacen(&old, &format!("step = \"{}us\"", ms * 310), 1))
    };
    same(CASES as usize, alter, as_before);
}

#[test]
fn a_flow_that_sends_nothing_is_not_noticed() {
    let alter = |scenario: &Scenario, text: &str| {
        let path = if is_chain(text) { "" } else { "path = [\"second\"]\n" };
        // Opened as late as possible: of its only packet no other one sees anything.
        let late = scenario.duration.0 - 1;
        Some(format!("{text}[[ping]]\nname = \"idle\"\n{path}start = \"{late}ns\"\n"))
    };
    same(CASES as usize, alter, as_before);
}

#[test]
fn names_mean_nothing_where_nothing_is_drawn() {
    let alter = |scenario: &Scenario, text: &str| {
        is_named_only(scenario, text)
            .then(|| text.replace("\"f0\"", "\"first\"").replace("\"bneck\"", "\"narrow\""))
    };
    same(5, alter, |name| name.replace("f0", "first").replace("bneck", "narrow"));
}

#[test]
fn a_link_without_rate_and_delay_is_not_noticed() {
    let alter = |_: &Scenario, text: &str| {
        is_chain(text).then(|| format!("{text}[[link]]\nname = \"idle\"\n"))
    };
    same(CASES as usize / 2, alter, as_before);
}

#[test]
fn a_tunnel_without_overhead_changes_nothing_that_is_seen_behind_it() {
    let alter = |scenario: &Scenario, text: &str| {
        let tunnel = "[[tunnel]]\nname = \"plain\"\nlinks = [\"bneck\"]\noverhead = 0\n";
        (is_plain(scenario) && is_chain(text)).then(|| format!("{text}{tunnel}"))
    };
    same(5, alter, as_before);
}
