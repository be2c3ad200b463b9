use sojourn_scenario::load;

use super::*;

const LINE: &str = r#"
name = "line"
duration = "4s"
tcp = { ecn = "rfc3168" }
link = [{ name = "bneck", rate = "20Mbit", shaper = "htb", qdisc = "fq_codel flows 1", delay = "10ms" }]
flow = [{ name = "a", cc = "cubic" }]
ping = [{ name = "p" }]
"#;

const POLICED: &str = r#"
name = "policed"
duration = "4s"
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
qdisc = "pfifo"
delay = "10ms"
ingress = ["police rate 4Mbit burst 20kb drop", "netem loss 1%"]
reverse = { rate = "none", shaper = "none", qdisc = "pfifo", ingress = [] }
[[link]]
name = "second"
rate = "3Mbit"
shaper = "police burst 20kb drop"
qdisc = "pfifo limit 50"
reverse = { rate = "none", shaper = "none", qdisc = "pfifo" }
[[flow]]
name = "a"
cc = "cubic"
[[schedule]]
at = "2s"
replace = { "link.bneck.forward.ingress0" = "police rate 2Mbit burst 20kb drop" }
"#;

/// Three links in a row, of which flows and pings cross some.
const THREE: &str = r#"
name = "three"
duration = "4s"
tcp = { initial_cwnd = 4 }
link = [{ name = "a", delay = "5ms" }, { name = "b", rate = "10Mbit", ingress = ["netem loss 1%"] }, { name = "c" }]
ping = [{ name = "p", path = ["a"] }]
[[flow]]
name = "down"
cc = "cubic"
path = ["b", "c"]
[[flow]]
name = "up"
cc = "cubic"
path = ["b"]
direction = "up"
"#;

/// Two ways between the same nodes, of which the longer one is not the nearest.
const RING: &str = r#"
name = "ring"
duration = "4s"
[[link]]
name = "direct"
from = "x"
to = "y"
rate = "20Mbit"
[[link]]
name = "first"
from = "x"
to = "m"
rate = "10Mbit"
[[link]]
name = "second"
from = "m"
to = "y"
[[flow]]
name = "short"
cc = "cubic"
path = ["direct"]
[[flow]]
name = "long"
cc = "cubic"
path = ["first", "second"]
"#;

fn scenario(text: &str) -> Scenario {
    load(text, "a.toml", &[]).expect("a valid scenario").scenario
}

fn network(text: &str) -> Network {
    Network::of(&scenario(text)).expect("a network")
}

fn commands(text: &str) -> Vec<(u64, String)> {
    let commands = network(text).commands;
    commands.iter().map(|own| (own.at_ns / 1_000_000_000, own.to_string())).collect()
}

fn has(commands: &[(u64, String)], command: &str) -> bool {
    commands.iter().any(|own| *own == (0, command.to_owned()))
}

#[test]
fn a_timeout_changes_no_flow_for_the_queues_of_other_hosts() {
    let network = network(LINE);
    let text: Vec<_> = network.commands.iter().map(Command::to_string).collect();
    let kept = |name: &&str| {
        let of = format!("ip netns exec {name} sh -c 'f=/proc/sys/net/core/txrehash;");
        text.iter().filter(|line| line.starts_with(&of)).count() == 1
    };
    assert!(network.namespaces().count() > 2);
    assert!(network.namespaces().all(|name| kept(&name)));
}

#[test]
fn hosts_get_each_setting_once_and_neighbours_for_good() {
    let flow =
        r#"flow = [{ name = "a", cc = "cubic" }, { name = "b", cc = "reno", start = "2s" }]"#;
    let built = commands(&LINE.replace(r#"flow = [{ name = "a", cc = "cubic" }]"#, flow));
    let settings =
        built.iter().filter(|(_, own)| own.contains("cli sysctl -qw net.ipv4.tcp_ecn=1"));
    assert_eq!(settings.count(), 1);
    for command in [
        "cli ip neigh replace 10.9.0.2 lladdr 02:00:00:00:00:02 dev right nud permanent",
        "mid-bneck ip link set dev left address 02:00:00:00:00:02",
    ] {
        assert!(has(&built, &format!("ip netns exec {command}")), "{command}");
    }
}

#[test]
fn hosts_accept_whatever_ecn_any_flow_asks_for() {
    for (mode, value) in [("off", 1), ("rfc3168", 1), ("accecn", 3)] {
        let flow = format!(
            r#"flow = [{{ name = "a", cc = "cubic" }}, {{ name = "b", cc = "reno", tcp = {{ ecn = "{mode}" }} }}]"#
        );
        let built = commands(&LINE.replace(r#"flow = [{ name = "a", cc = "cubic" }]"#, &flow));
        for host in ["cli", "srv"] {
            let command = format!("ip netns exec {host} sysctl -qw net.ipv4.tcp_ecn={value}");
            assert!(has(&built, &command), "{mode}: {command}");
        }
        let has_option = built.iter().any(|(_, own)| own.contains("tcp_ecn_option"));
        assert_eq!(has_option, mode == "accecn");
    }
}

#[test]
fn whoever_sends_is_paced() {
    let near = "ip netns exec cli tc qdisc replace dev right root fq";
    let far = "ip netns exec srv tc qdisc replace dev left root fq";
    let paced = LINE.replace(r#"ecn = "rfc3168""#, "pacing = true");
    assert!(has(&commands(&paced), near) && !has(&commands(&paced), far));
    let up = paced.replace(r#"cc = "cubic""#, r#"cc = "cubic", direction = "up""#);
    assert!(has(&commands(&up), far) && !has(&commands(&up), near));
}

#[test]
fn a_bound_of_the_pacing_rate_is_iperf3s() {
    let written = |text: &str| script(&scenario(text)).expect("a script").to_string();
    let bounded = LINE.replace(r#"ecn = "rfc3168""#, r#"max_pacing_rate = "40Mbit""#);
    assert!(written(&bounded).contains(" --fq-rate 40000000"));
    assert!(!written(LINE).contains("--fq-rate"));
}

#[test]
fn a_delay_that_comes_later_has_its_netem_from_the_start() {
    let text = LINE.replace(r#"delay = "10ms""#, r#"delay = "0s""#);
    let change =
        |key: &str| format!("{text}[[schedule]]\nat = \"2s\"\nset = {{ \"{key}\" = \"5ms\" }}");
    let delays = |text: &str| {
        let netems = commands(text).into_iter().filter(|(_, own)| own.contains(" netem "));
        netems.collect::<Vec<_>>()
    };
    let at = |verb, time| {
        format!(
            "ip netns exec srv tc qdisc {verb} dev ifb-left root handle 1: netem delay {time} limit 1000000"
        )
    };
    let forward = delays(&change("link.bneck.forward.delay"));
    assert_eq!(forward, [(0, at("add", "0ns")), (2, at("change", "5ms"))]);
    assert_eq!(delays(&change("link.bneck.delay")).len(), 4);
}

#[test]
fn queues_have_the_ports_of_the_simulator() {
    let text = LINE.replace("delay =", r#"ingress = ["netem delay 1ms"], delay ="#);
    let devices = network(&text).devices;
    let places =
        devices.iter().flat_map(|device| device.queues.iter().map(move |own| (device, own)));
    let places: Vec<_> =
        places.map(|(device, own)| (device.name.as_str(), own.port.as_str(), own.depth)).collect();
    assert_eq!(
        places,
        [
            ("right", "bneck", 1),
            ("ifb-left", "bneck.ingress0", 0),
            ("left", "bneck.reverse", 1),
            ("ifb-right", "bneck.reverse.ingress0", 0),
        ]
    );
}

#[test]
fn a_policer_is_counted_where_its_filter_is() {
    let devices = network(POLICED).devices;
    let places: Vec<_> = devices
        .iter()
        .map(|own| {
            (own.namespace.as_str(), own.name.as_str(), own.hook, own.queues[0].port.as_str())
        })
        .collect();
    assert_eq!(
        places,
        [
            ("mid-bneck", "left", Some(Hook::Ingress), "bneck.ingress0"),
            ("mid-second", "right", Some(Hook::Egress), "second"),
            ("mid-bneck", "right", None, "bneck"),
            ("mid-bneck", "ifb-left", None, "bneck.ingress1"),
            ("mid-bneck", "left", None, "bneck.reverse"),
            ("mid-second", "right", None, "second"),
            ("mid-second", "left", None, "second.reverse"),
        ]
    );
    let later: Vec<_> = commands(POLICED).into_iter().filter(|(at, _)| *at > 0).collect();
    let replaced = "ip netns exec mid-bneck tc actions replace action police rate 2Mbit burst 20Kb \
                    conform-exceed drop/pipe index 1";
    assert_eq!(later, [(2, replaced.to_owned())]);
}

#[test]
fn a_path_over_some_links_has_hosts_at_its_ends() {
    let network = network(THREE);
    let host = |index: usize| network.hosts[index].namespace.as_str();
    let pairs: Vec<_> =
        network.flows.iter().chain(&network.pings).map(|pair| pair.map(host)).collect();
    assert_eq!(pairs, [["host-1", "srv"], ["host-2", "host-1"], ["cli", "host-1"]]);
    let built = commands(THREE);
    for command in [
        "ip link add right netns mid-a type veth peer name w1 netns node-1",
        "ip link add right netns host-1 type veth peer name w2 netns node-1",
        "ip netns exec host-1 ip route add default via 10.9.2.2 initcwnd 4",
        "ip netns exec mid-c ip route add 10.9.2.0/24 via 10.9.6.2",
        // The delay of one link ends, and the element of the next one is, behind the node.
        "ip netns exec node-1 tc qdisc add dev ifb-w1 root handle 1: netem delay 5ms limit 1000000",
        "ip netns exec mid-b tc qdisc add dev ifb-left root handle 1: netem loss 1%",
    ] {
        assert!(has(&built, command), "{command}");
    }
}

#[test]
fn a_path_that_is_not_the_nearest_has_addresses_of_its_own() {
    let network = network(RING);
    let address = |index: usize| network.hosts[index].address.to_string();
    let pairs: Vec<_> = network.flows.iter().map(|pair| pair.map(address)).collect();
    assert_eq!(
        pairs,
        [["10.9.0.1", "10.9.5.1"], ["10.9.0.101", "10.9.5.101"]]
            .map(|pair| pair.map(str::to_owned))
    );
    let built = commands(RING);
    for command in [
        "ip netns exec host-x ip addr add 10.9.0.101/32 dev right",
        "ip netns exec host-x ip route add 10.9.5.101/32 via 10.9.0.2 src 10.9.0.101 initcwnd 10",
    ] {
        assert!(has(&built, command), "{command}");
    }
    let detours = built.iter().filter(|(_, own)| own.contains("/32 via") && !own.contains(" src "));
    // From each of x, first, second and y both ways; m has two links and needs no router.
    assert_eq!(detours.count(), 8);
}

#[test]
fn packets_of_one_flow_over_several_paths_are_refused() {
    let flow = r#"path = [["direct"], ["first", "second"]]
multipath = "packet""#;
    let text = RING.replacen(r#"path = ["direct"]"#, flow, 1);
    let refusal = Network::of(&scenario(&text)).expect_err("no kernel has it");
    assert_eq!(
        refusal.to_string(),
        "flow.short.path: not on this engine: a kernel chooses one path for all packets of a flow"
    );
    let script = script(&scenario(&text)).expect("a script");
    assert!(
        script
            .limits()
            .contains(&"flow short has several paths; the script has the first".to_owned())
    );
}

#[test]
fn an_interface_has_a_name_that_no_shell_reads_otherwise() {
    let line = scenario(LINE);
    for bad in ["e;x", "-f", "..", "a b", "sixteen-letters-x", "", "eth0\n"] {
        let error = script_on(&line, bad, None).expect_err(bad);
        assert!(error.starts_with("--on ") && error.contains("such as eth0"), "{error}");
    }
    assert!(script_on(&line, "ifb0", Some("ifb0")).is_err());
    assert!(script_on(&line, "eth0.5", Some("ifb0")).is_ok());
}

#[test]
fn a_comment_is_one_line() {
    let mut script = Script::default();
    script.comment("a \"b\" \n rm -rf / \u{2028}\u{202e}");
    assert_eq!(script.to_string(), "# a \"b\" \\n rm -rf / \\u{2028}\\u{202e}\n");
}

#[test]
fn times_are_exact() {
    let times =
        [(0, "0"), (1, "0.000000001"), (1_500_000_000, "1.5"), (12_345_678_900, "12.3456789")];
    for (ns, text) in times {
        assert_eq!(script::seconds(sojourn_core::Dur(ns)), text);
    }
}

#[test]
fn a_mangler_is_filters_before_the_redirection() {
    let element =
        r#"ingress = ["netem delay 5ms", "mangle proto tcp non-syn dscp 1 set-tos 0x01"]"#;
    let text =
        LINE.replace(r#"delay = "10ms" }"#, &format!("{element}, reverse = {{ ingress = [] }} }}"));
    let commands = commands(&text);
    let filters: Vec<_> = commands.iter().filter(|(_, c)| c.contains("tc filter add")).collect();
    let end = "action pedit ex munge ip tos set 0x01 retain 0xff pipe action csum ip4h continue";
    for (number, flags) in ["0x0/0x2", "0x12/0x12"].into_iter().enumerate() {
        let wanted = format!(
            "prio {} flower ip_proto tcp tcp_flags {flags} ip_tos 0x4/0xfc {end}",
            number + 1
        );
        assert!(filters[number].1.ends_with(&wanted), "{:?}", filters[number]);
    }
    assert!(filters[2].1.contains("matchall action mirred egress redirect dev ifb-left"));
    assert_eq!(filters.len(), 3);
}
