use crate::{Hop, Scenario, Spread, Topology, expand, load, to_toml};

/// Two ways from `s` to `t` over `m` and over `n`, with a short cut `x` between these and a direct link
/// `d` that is written from its far end.
const GRAPH: &str = r#"
name = "g"
duration = "1s"
[[link]]
name = "a"
from = "s"
to = "m"
delay = "1ms"
[[link]]
name = "b"
from = "m"
to = "t"
[[link]]
name = "c"
from = "s"
to = "n"
delay = "2ms"
[[link]]
name = "d"
from = "t"
to = "n"
[[link]]
name = "x"
from = "m"
to = "n"
[[link]]
name = "lone"
from = "p"
to = "q"
[[flow]]
name = "f"
app = "cbr rate 1Mbit"
"#;

fn scenario(flow: &str) -> Scenario {
    load(&format!("{GRAPH}{flow}"), "g.toml", &[]).expect("a valid scenario").scenario
}

fn refusal(flow: &str) -> String {
    load(&format!("{GRAPH}{flow}"), "g.toml", &[]).expect_err(flow).to_string()
}

/// The hops of the flow's only path, those that it crosses backward with a minus.
fn path(flow: &str) -> Vec<String> {
    hops(&scenario(flow), 0)
}

fn hops(scenario: &Scenario, n: usize) -> Vec<String> {
    let name = |hop: &Hop| {
        let sign = if hop.forward { "" } else { "-" };
        format!("{sign}{}", scenario.links[hop.link].name)
    };
    scenario.flows[0].paths[n].hops.iter().map(name).collect()
}

#[test]
fn links_are_crossed_from_the_node_where_the_path_is() {
    assert_eq!(path("path = ['a', 'b']"), ["a", "b"]);
    assert_eq!(path("path = ['b', 'a']"), ["-b", "-a"]);
    assert_eq!(path("path = ['c', 'd']"), ["c", "-d"]);
    assert_eq!(path("path = ['a', 'x', 'd']"), ["a", "x", "-d"]);
}

#[test]
fn a_path_of_one_link_goes_forward_unless_the_flow_begins_at_the_other_end() {
    assert_eq!(path("path = ['d']"), ["d"]);
    assert_eq!(path("from = 'n'\npath = ['d']"), ["-d"]);
    assert_eq!(path("from = 't'\npath = ['d']"), ["d"]);
}

#[test]
fn without_a_path_the_fewest_links_are_taken_and_of_equals_the_first_in_the_file() {
    assert_eq!(path("from = 's'\nto = 't'"), ["a", "b"]);
    assert_eq!(path("from = 't'\nto = 's'"), ["-b", "-a"]);
    assert_eq!(path("from = 'm'\nto = 'n'"), ["x"]);
    assert_eq!(path("from = 'n'\nto = 't'"), ["-d"]);
}

#[test]
fn several_paths_start_at_the_node_of_the_first() {
    let two = scenario("path = [['a', 'b'], ['c', 'd']]\nmultipath = 'packet'\nweights = [2, 1]");
    assert_eq!(
        (hops(&two, 0), hops(&two, 1)),
        (path("path = ['a', 'b']"), path("path = ['c', 'd']"))
    );
    let flow = &two.flows[0];
    assert_eq!((flow.spread, flow.paths[0].weight, flow.paths[1].weight), (Spread::ByPacket, 2, 1));
    let detour = scenario("path = [['x', 'd'], ['b']]");
    assert_eq!(
        (hops(&detour, 0), hops(&detour, 1)),
        (path("path = ['x', 'd']"), path("path = ['b']"))
    );
    assert_eq!(detour.flows[0].spread, Spread::ByFlow);
}

#[test]
fn overrides_and_sweeps_set_paths() {
    let text = format!("{GRAPH}from = 's'\nto = 't'");
    let set = [("flow.f.path", "[['a', 'b'], ['c', 'd']]"), ("flow.f.weights", "[2, 1]")];
    let overrides = set.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let set = load(&text, "g.toml", &overrides).expect("a scenario").scenario;
    assert_eq!((set.flows[0].paths[0].weight, hops(&set, 1)), (2, path("path = ['c', 'd']")));
    let swept = format!("{text}\n[sweep]\n'flow.f.path' = [['a', 'b'], [['a', 'b'], ['c', 'd']]]");
    let points = expand(&swept, "g.toml", &[]).expect("a sweep");
    let paths: Vec<_> = points.iter().map(|point| point.scenario.flows[0].paths.len()).collect();
    assert_eq!(paths, [1, 2]);
    let moved = [("link.d.to".to_owned(), "m".to_owned())];
    let error = load(&format!("{GRAPH}path = ['c', 'd']"), "g.toml", &moved).unwrap_err();
    assert!(error.to_string().contains("link \"d\" does not touch node \"n\""), "{error}");
}

#[test]
fn a_graph_is_written_as_it_is_read() {
    for flow in [
        "from = 'n'\npath = ['d']",
        "from = 's'\nto = 't'",
        "path = [['a', 'b'], ['c', 'd']]\nmultipath = 'packet'\nweights = [2, 1]",
        "path = [['b'], ['x', 'd']]\n[[tunnel]]\nname = 'vpn'\nlinks = ['b']",
        "path = ['a', 'b']\n[[ping]]\nname = 'p'\npath = [['a', 'b'], ['c', 'd']]",
    ] {
        let scenario = scenario(flow);
        let resolved = to_toml(&scenario);
        assert_eq!(load(&resolved, "r.toml", &[]).unwrap().scenario, scenario, "{resolved}");
    }
}

#[test]
fn what_is_no_path_is_refused_with_one_line() {
    for (flow, wanted) in [
        ("", "30: flow.f: expected `path`, or `from` and `to`: the links are a graph"),
        ("from = 's'", "30: flow.f: expected `path`, or `from` and `to`: the links are a graph"),
        (
            "path = ['a', 'd']",
            "33: flow.f.path: link \"d\" does not touch node \"m\", where the path is",
        ),
        (
            "from = 't'\npath = ['a']",
            "34: flow.f.path: link \"a\" does not touch node \"t\", where the path is",
        ),
        ("path = ['a', 'x', 'c']", "33: flow.f.path: it comes to node \"s\" twice"),
        ("to = 'm'\npath = ['a', 'b']", "34: flow.f.path: it ends at node \"t\", expected \"m\""),
        ("path = [['a', 'b'], ['c']]", "33: flow.f.path: it ends at node \"n\", expected \"t\""),
        ("path = [['b'], ['b']]", "33: flow.f.path: a path is there twice"),
        ("path = ['a', ['b']]", "33: flow.f.path: expected links, or arrays of links, not both"),
        ("path = [1]", "33: flow.f.path.0: expected a string, got 1"),
        ("path = [[]]", "33: flow.f.path: expected at least one link"),
        ("path = []", "33: flow.f.path: expected at least one link"),
        (
            "from = 's'\nto = 'u'",
            "34: flow.f.to: unknown node \"u\" (did you mean \"s\"?); valid: s, m, t, n, p, q",
        ),
        ("from = 's'\nto = 'q'", "34: flow.f.to: no links lead from node \"s\" to \"q\""),
        ("from = 's'\nto = 's'", "34: flow.f.to: expected another node than `from`"),
        (
            "path = ['a']\nmultipath = 'packet'",
            "34: flow.f.multipath: it is for several paths: expected `path = [[\"a\"], [\"b\"]]`",
        ),
        (
            "path = ['a']\nweights = [1]",
            "34: flow.f.weights: it is for several paths: expected `path = [[\"a\"], [\"b\"]]`",
        ),
        (
            "path = [['a', 'b'], ['c', 'd']]\nweights = [1]",
            "34: flow.f.weights: expected 2 numbers, one for each path, got 1",
        ),
        (
            "path = [['a', 'b'], ['c', 'd']]\nweights = [1, 0]",
            "34: flow.f.weights: expected 1 to 1000, got 0",
        ),
        (
            "path = [['a', 'b'], ['c', 'd']]\nmultipath = 'both'",
            "34: flow.f.multipath: unknown value \"both\"; valid: flow, packet",
        ),
        (
            "path = ['a', 'b']\n[[tunnel]]\nname = 'v'\nlinks = ['c', 'd']",
            "36: tunnel.v.links: no flow or ping crosses all of these links",
        ),
        (
            "path = [['a', 'b'], ['a', 'x', 'd']]\n[[tunnel]]\nname = 'v'\nlinks = ['a', 'b']",
            "36: tunnel.v.links: \"f\" does not cross these links one after the other",
        ),
    ] {
        assert_eq!(refusal(flow), format!("g.toml:{wanted}"), "{flow}");
    }
}

#[test]
fn packets_cannot_be_spread_over_paths_that_meet_and_part_again() {
    let more =
        "[[link]]\nname = 'a2'\nfrom = 's'\nto = 'm'\n[[link]]\nname = 'm-n'\nfrom = 'm'\nto = 'n'";
    let text = GRAPH.replace("[[flow]]", &format!("{more}\n[[flow]]"));
    let paths = "path = [['a', 'x', 'd'], ['a2', 'x', 'd']]\nmultipath = 'packet'";
    assert!(load(&format!("{text}{paths}"), "g.toml", &[]).is_ok());
    // `t` by another link behind `x`, which the second path alone takes.
    let text = text.replace("[[flow]]", "[[link]]\nname = 'd2'\nfrom = 'n'\nto = 't'\n[[flow]]");
    let paths = "path = [['a', 'x', 'd'], ['a2', 'x', 'd2']]\n";
    let by = |how: &str| load(&format!("{text}{paths}multipath = '{how}'"), "g.toml", &[]);
    assert!(by("flow").is_ok());
    assert_eq!(
        by("packet").unwrap_err().to_string(),
        "g.toml:45: flow.f.path: paths meet in link \"x\" and part again behind it, where a packet's path is \
         not known: expected paths that keep apart once they have parted, or stay together once they meet"
    );
}

#[test]
fn nodes_belong_to_all_links_or_to_none() {
    let chain = GRAPH.lines().filter(|line| !line.starts_with("from") && !line.starts_with("to"));
    let chain = chain.collect::<Vec<_>>().join("\n");
    let refused =
        |flow: &str| load(&format!("{chain}\n{flow}"), "c.toml", &[]).unwrap_err().to_string();
    let message = "the links are a chain: only links with `from` and `to` have nodes";
    assert_eq!(refused("from = 's'"), format!("c.toml:21: flow.f.from: {message}"));
    assert_eq!(refused("path = ['a']\nto = 's'"), format!("c.toml:22: flow.f.to: {message}"));
    assert_eq!(
        refused("path = [['a'], ['b']]"),
        "c.toml:21: flow.f.path: several paths are between nodes: the links need `from` and `to`"
    );
    let message = "expected `from` and `to`, of all links or of none";
    for (old, new, line) in [
        ("to = \"m\"\n", "", 4),
        ("from = \"p\"\nto = \"q\"\n", "", 26),
        ("from = \"s\"\nto = \"m\"\n", "", 7),
    ] {
        let text = GRAPH.replacen(old, new, 1);
        let error = load(&text, "g.toml", &[]).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("g.toml:{line}: link.")) && error.ends_with(message),
            "{error}"
        );
    }
    let text = GRAPH.replacen("to = \"m\"", "to = \"s\"", 1);
    let error = load(&text, "g.toml", &[]).unwrap_err().to_string();
    assert_eq!(error, "g.toml:7: link.a.to: expected another node than `from`");
    let text = GRAPH.replacen("to = \"m\"", "to = \"m.1\"", 1);
    let error = load(&text, "g.toml", &[]).unwrap_err().to_string();
    assert_eq!(error, "g.toml:7: link.a.to: expected letters, digits, `_` and `-`, got \"m.1\"");
}

/// Names of the ports on the way there, then back.
fn ways(scenario: &Scenario, flow: usize) -> Vec<[String; 2]> {
    let topology = Topology::new(scenario);
    let names = |way: &[usize]| {
        way.iter().map(|port| topology.ports[*port].name.as_str()).collect::<Vec<_>>().join(" ")
    };
    let routes = topology.flows[flow].iter();
    routes.map(|route| [true, false].map(|is_forward| names(route.way(is_forward)))).collect()
}

#[test]
fn a_link_that_is_crossed_backward_is_left_through_its_reverse_port() {
    let ways = ways(&scenario("path = ['c', 'd']"), 0);
    assert_eq!(ways, [["c d.reverse".to_owned(), "d c.reverse".to_owned()]]);
}

#[test]
fn a_tunnel_is_crossed_from_either_end() {
    let both = "path = ['a', 'b']\n[[flow]]\nname = 'g'\napp = 'cbr rate 1Mbit'\npath = ['b', 'a']\n\
                [[tunnel]]\nname = 'v'\nlinks = ['a', 'b']";
    let both = scenario(both);
    let there = "v.encap a b v.decap".to_owned();
    let back = "v.reverse.encap b.reverse a.reverse v.reverse.decap".to_owned();
    assert_eq!(ways(&both, 0), [[there.clone(), back.clone()]]);
    assert_eq!(ways(&both, 1), [[back, there]]);
}

#[test]
fn copies_of_a_flow_are_spread_over_its_paths_by_weight() {
    let copies = |weights: &str| {
        let flow = format!("flows = 1000\npath = [['a', 'b'], ['c', 'd']]\nweights = {weights}");
        let scenario = scenario(&flow);
        let topology = Topology::new(&scenario);
        let first = |way: fn(&crate::Route) -> &[usize]| {
            topology
                .flows
                .iter()
                .filter(|routes| topology.ports[way(&routes[0])[0]].link < 2)
                .count()
        };
        assert!(topology.flows.iter().all(|routes| routes.len() == 1));
        [first(|route| route.way(true)), first(|route| route.way(false))]
    };
    // Four standard deviations of a binomial distribution: 4 sqrt(1000 p (1 - p)).
    assert!(copies("[1, 1]").iter().all(|n| n.abs_diff(500) < 64), "{:?}", copies("[1, 1]"));
    assert!(copies("[3, 1]").iter().all(|n| n.abs_diff(750) < 55), "{:?}", copies("[3, 1]"));
}

#[test]
fn a_borrowed_hash_takes_the_path_of_its_lender() {
    let flow = "path = [['a', 'b'], ['c', 'd']]\nflows = 30\n[[flow]]\nname = 'h'\nflows = 30\n\
                app = 'cbr rate 1Mbit'\nhash_of = 'f'\npath = [['a', 'b'], ['c', 'd']]";
    let scenario = scenario(flow);
    let all: Vec<_> = (0..60).map(|n| ways(&scenario, n)).collect();
    assert!(all[30..].iter().all(|ways| *ways == all[0]));
    assert!(all[..30].iter().any(|ways| *ways != all[0]));
}
