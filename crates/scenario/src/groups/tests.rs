use super::*;
use crate::{load, to_toml};

const HEAD: &str = "name = \"x\"\nduration = \"10s\"\n[[link]]\nname = \"b\"\nrate = \"1Gbit\"\n";

fn scenario(rest: &str) -> Scenario {
    load(&format!("{HEAD}{rest}"), "my.toml", &[]).unwrap_or_else(|e| panic!("{e}")).scenario
}

fn error(rest: &str) -> String {
    load(&format!("{HEAD}{rest}"), "my.toml", &[]).expect_err("it is wrong").to_string()
}

fn starts(rest: &str) -> Vec<Time> {
    scenario(rest).flows.iter().map(|flow| flow.start).collect()
}

#[test]
fn interarrival_times_are_constant_uniform_or_exponential() {
    let group = "[[flow]]\nname = \"w\"\ncc = \"cubic\"\nflows = 1000\nstart = \"1s\"\n";
    let constant = starts(&format!("{group}interarrival = \"2ms\"\n"));
    assert_eq!((constant[0], constant[999]), (Time(1_000_000_000), Time(2_998_000_000)));
    let uniform = starts(&format!("{group}interarrival = \"uniform 1ms 3ms\"\n"));
    let gaps: Vec<_> = uniform.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    assert!(gaps.iter().all(|gap| (1_000_000..3_000_000).contains(&gap.0)), "{gaps:?}");
    let poisson = starts(&format!("{group}interarrival = \"exponential 2ms\"\n"));
    let mean = poisson[999].since(poisson[0]).as_secs_f64() / 999.0;
    assert!((mean / 2e-3 - 1.0).abs() < 0.1, "{mean}");
    let gaps = poisson.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64());
    let square = gaps.map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / 999.0;
    assert!((square.sqrt() / mean - 1.0).abs() < 0.15, "its deviation is its mean");
}

#[test]
fn another_flow_or_more_members_do_not_move_a_start() {
    let of = |flows: u32| {
        format!(
            "[[flow]]\nname = \"w\"\ncc = \"cubic\"\nflows = {flows}\ninterarrival = \"exponential 2ms\"\n"
        )
    };
    let alone = starts(&of(20));
    assert_eq!(starts(&of(40))[..20], alone);
    let other =
        "[[flow]]\nname = \"v\"\ncc = \"cubic\"\nflows = 3\ninterarrival = \"exponential 1ms\"\n";
    assert_eq!(starts(&format!("{other}{}", of(20)))[3..], alone);
}

#[test]
fn a_resolved_group_is_as_short_as_it_was_declared() {
    let group = |flows: u32| {
        scenario(&format!(
            "[[flow]]\nname = \"w\"\ncc = \"cubic\"\nflows = {flows}\ninterarrival = \"exponential 1ms\"\n\
             [[flow]]\nname = \"v\"\ncc = \"reno\"\nhash_of = \"w\"\n\
             [[tunnel]]\nname = \"t\"\nlinks = [\"b\"]\nflows = [\"w\", \"v\"]\n\
             [[capture]]\nname = \"c\"\npoints = [{{ flow = \"w-2\" }}]\nflows = [\"w\"]\n"
        ))
    };
    let resolved = to_toml(&group(50));
    assert!(resolved.contains("flows = 50\n"), "{resolved}");
    assert_eq!(to_toml(&group(60)), resolved.replace("flows = 50\n", "flows = 60\n"));
    let again = load(&resolved, "my.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.scenario, group(50));
    let (tunnel, capture) = (&again.scenario.tunnels[0], &again.scenario.captures[0]);
    assert_eq!((tunnel.flows.len(), capture.flows.len()), (51, 50));
}

#[test]
fn part_of_a_group_is_named_flow_by_flow() {
    let part = scenario(
        "[[flow]]\nname = \"w\"\ncc = \"cubic\"\nflows = 3\n\
         [[tunnel]]\nname = \"t\"\nlinks = [\"b\"]\nflows = [\"w-1\", \"w-3\"]\n",
    );
    assert_eq!(part.tunnels[0].flows, [0, 2]);
    assert!(
        to_toml(&part).contains("flows = [\n    \"w-1\",\n    \"w-3\",\n]")
            || to_toml(&part).contains("[\"w-1\", \"w-3\"]")
    );
}

#[test]
fn more_than_a_hundred_flows_have_series_by_group() {
    let of = |flows: u32, series: &str| {
        let text = HEAD.replacen('\n', &format!("\n{series}\n"), 1);
        let group = format!("[[flow]]\nname = \"w\"\ncc = \"cubic\"\nflows = {flows}\n");
        load(&format!("{text}{group}"), "my.toml", &[]).unwrap_or_else(|e| panic!("{e}")).scenario
    };
    assert_eq!(of(100, "").series, FlowSeries::Flows);
    assert_eq!(of(101, "").series, FlowSeries::Groups);
    assert_eq!(of(101, "series = \"flows\"").series, FlowSeries::Flows);
    assert_eq!(of(3, "series = \"none\"").series, FlowSeries::None);
    for scenario in
        [of(100, ""), of(101, ""), of(101, "series = \"flows\""), of(3, "series = \"none\"")]
    {
        let again = load(&to_toml(&scenario), "my.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again.scenario, scenario);
    }
}

#[test]
fn a_group_that_cannot_be_is_refused() {
    let flow = "[[flow]]\nname = \"w\"\ncc = \"cubic\"\n";
    for (rest, expected) in [
        (
            "interarrival = \"1ms\"\n",
            "flow.w.interarrival: it is between the flows of a group: expected `flows`",
        ),
        (
            "flows = 3\ninterarrival = \"normal 1ms\"\n",
            "flow.w.interarrival: expected a time such as \"10ms\", \"exponential 10ms\" or \"uniform 5ms 15ms\", got \"normal 1ms\"",
        ),
        (
            "flows = 3\ninterarrival = \"uniform 3ms 1ms\"\n",
            "flow.w.interarrival: 3ms is more than 1ms",
        ),
        ("flows = 3\ninterarrival = \"exponential 5\"\n", "without a unit"),
        ("flows = 0\n", "flow.w.flows: expected 1 to 10000, got 0"),
        (
            "flows = 3\nstop = \"1s\"\ninterarrival = \"1s\"\n",
            "flow.w.stop: 1s is not after 1s, when w-2 starts",
        ),
    ] {
        let error = error(&format!("{flow}{rest}"));
        assert!(error.contains(expected), "{error}");
    }
    let named = error(&format!("{flow}flows = 3\n[[flow]]\nname = \"w-2\"\ncc = \"reno\"\n"));
    assert!(named.contains("it makes the name \"w-2\", which is already taken"), "{named}");
    let point =
        format!("{flow}flows = 3\n[[capture]]\nname = \"c\"\npoints = [{{ flow = \"w\" }}]\n");
    assert!(error(&point).contains("\"w\" is a group: expected one of its flows, such as \"w-1\""));
}
