//! The script that builds a scenario from namespaces, carries out its schedule, and names the commands of
//! its flows and pings at their times.

use sojourn_cc::Feedback;
use sojourn_core::Time;
use sojourn_core::grammar::text;
use sojourn_core::spec::Kernel;
use sojourn_scenario::{Change, Flow, Hop, Path, Ping, Scenario};
use sojourn_transport::app::App;

use super::built::Built;
use super::commands::Action;
use super::layout::{Address, Layout, Nodes, Ways};
use super::script::{Script, seconds};
use super::{pace, settings};

/// First port of the receivers: iperf3's.
const FIRST_PORT: u16 = 5201;

/// IPv4 and ICMP headers of an echo request.
const ECHO_HEADERS: u32 = 28;

/// What happens at a time.
enum Event<'s> {
    Flow(&'s Flow, [Address; 2], u16),
    Ping(&'s Ping, [Address; 2]),
    Change(&'s Change),
}

/// The script for a machine on which nothing else of the scenario is. The error is one line.
pub fn script(scenario: &Scenario) -> Result<Script, String> {
    let nodes = Nodes::of(scenario);
    let ways: Vec<Ways> = paths(scenario).map(|path| ways(scenario, path)).collect();
    let with_host = ways.iter().filter_map(|[there, _]| nodes.ends(there)).flatten().collect();
    let mut layout = Layout::new(scenario, nodes, with_host)?;
    let ends: Vec<_> = ways.iter().map(|way| layout.connect(way)).collect::<Result<_, _>>()?;
    let (of_flows, of_pings) = ends.split_at(scenario.flows.len());
    let mut script = Script::default();
    head(&mut script, scenario, &layout);
    let mut built = Built::new(layout, script);
    built.build(scenario);
    for flow in scenario.flows.iter().filter(|flow| flow.hash_of.is_some()) {
        built.script.limit(&format!(
            "flow {}: a chosen hash has no form in Linux, which hashes with a secret",
            flow.name
        ));
    }
    built.script.end_of_build();
    let flows = scenario.flows.iter().zip(of_flows).zip(FIRST_PORT..);
    let flows = flows.map(|((flow, ends), port)| (flow.start, Event::Flow(flow, *ends, port)));
    let pings = scenario.pings.iter().zip(of_pings);
    let pings = pings.map(|(ping, ends)| (ping.start, Event::Ping(ping, *ends)));
    let changes = scenario.schedule.iter().map(|change| (change.at, Event::Change(change)));
    let mut events: Vec<_> = flows.chain(pings).chain(changes).collect();
    events.sort_by_key(|(at, _)| *at);
    for (at, event) in events {
        if let Event::Change(change) = event {
            built.change(scenario, change);
            continue;
        }
        built.script.pause_until(at);
        match event {
            Event::Flow(flow, ends, port) => write_flow(&mut built, scenario, flow, ends, port),
            Event::Ping(ping, ends) => write_ping(&mut built, scenario, ping, ends),
            Event::Change(_) => {}
        }
    }
    built.script.pause_until(Time::ZERO + scenario.duration);
    Ok(built.script)
}

/// The first path of each flow, then of each ping.
fn paths(scenario: &Scenario) -> impl Iterator<Item = &Path> {
    let pings = scenario.pings.iter().map(|ping| &ping.paths[0]);
    scenario.flows.iter().map(Flow::path).chain(pings)
}

/// A path's links, and those of its way back; in a chain it is all links.
fn ways(scenario: &Scenario, path: &Path) -> Ways {
    let all = || (0..scenario.links.len()).map(|link| Hop { link, forward: true }).collect();
    let there: Vec<_> = if scenario.nodes.is_empty() { all() } else { path.hops.clone() };
    let back = there.iter().rev().map(|hop| hop.reversed()).collect();
    [there, back]
}

fn head(script: &mut Script, scenario: &Scenario, layout: &Layout) {
    let names: Vec<_> = layout.spaces.iter().map(|space| space.name.as_str()).collect();
    script.title(scenario);
    for text in [
        "Written by `sojourn tc`. Builds the scenario from network namespaces, as root:",
        &format!("  {}", names.join(" - ")),
        "`build` as argument stops before the schedule; `clean` removes everything.",
        "Flows are comments: start them beside this script at the times that they name.",
    ] {
        script.comment(text);
    }
    script.shell("set -eu");
    let clean = format!("for n in {}; do ip netns del \"$n\"; done; exit", names.join(" "));
    script.shell(format!("if [ \"${{1-}}\" = clean ]; then {clean}; fi"));
    script.shell("");
}

fn write_flow(
    built: &mut Built,
    scenario: &Scenario,
    flow: &Flow,
    [near, far]: [Address; 2],
    port: u16,
) {
    let (script, layout) = (&mut built.script, &built.layout);
    let (name, app) = (&flow.name, flow.app.name());
    let Some(cc) = flow.cc.as_ref().filter(|_| flow.app.build() == App::Bulk) else {
        let reason = format!("application `{app}` has no form in iperf3");
        return script.limit(&format!("flow {name} is left out: {reason}"));
    };
    check_path(script, scenario, &format!("flow {name}"), &flow.paths);
    let kernel = cc.entry().kernel;
    if !matches!(kernel, Kernel::Mainline(_)) {
        script.limit(&format!("flow {name}: `{}` is in {kernel}", cc.name()));
    }
    let parameters = text(&cc.brief());
    // What the mainline module of this name does anyway.
    if !parameters.is_empty() && (cc.name(), &*parameters) != ("bbr", "version v1") {
        script.limit(&format!("flow {name}: `{parameters}` has no form in iperf3"));
    }
    if flow.tcp.ecn == Feedback::AccEcn {
        script.limit("AccECN (tcp_ecn=3) is refused by Linux 6.18; 7.2 takes it");
    }
    let space = |host: usize| layout.spaces[host].name.as_str();
    for host in layout.hosts() {
        for (key, values) in settings(&flow.tcp) {
            script.run(Some(space(host)), Action::Sysctl(key.to_owned(), values));
        }
    }
    if flow.tcp.pacing {
        let sender = if flow.up { far } else { near };
        script.run(Some(space(sender.host)), Action::Tc(pace(layout.device(sender.host))));
    }
    let stop = flow.stop.unwrap_or(Time::ZERO + scenario.duration);
    let amount = match flow.bytes {
        Some(bytes) => format!("-n {bytes}"),
        None => format!("-t {}", seconds(stop.since(flow.start))),
    };
    let tos = if flow.tos > 0 { format!(" -S {:#04x}", flow.tos) } else { String::new() };
    let back = if flow.up { " -R" } else { "" };
    let most = flow.tcp.max_pacing_rate.0.map(|rate| format!(" --fq-rate {}", rate.0));
    let most = most.unwrap_or_default();
    let server = layout.written(far);
    let ([near, far], cc) = ([near, far].map(|address| space(address.host)), cc.short());
    let module = cc.split(' ').next().unwrap_or_default();
    script.comment(&format!("flow {name}, {cc}, at {}:", flow.start));
    script.comment(&format!("  ip netns exec {far} iperf3 -s -1 -D -p {port}"));
    script.comment(&format!(
        "  ip netns exec {near} iperf3 -c {server} -p {port} -C {module} {amount}{tos}{most}{back}"
    ));
}

fn write_ping(built: &mut Built, scenario: &Scenario, ping: &Ping, [near, far]: [Address; 2]) {
    let (script, layout, name) = (&mut built.script, &built.layout, &ping.name);
    check_path(script, scenario, &format!("ping {name}"), &ping.paths);
    if ping.udp {
        script.limit(&format!("ping {name} goes over UDP; the script sends ICMP"));
    }
    let stop = ping.stop.unwrap_or(Time::ZERO + scenario.duration);
    let count = (stop.since(ping.start).0 / ping.interval.0).max(1);
    let interval = seconds(ping.interval);
    let (payload, tos, server) = (ping.size - ECHO_HEADERS, ping.tos, layout.written(far));
    script.comment(&format!("ping {name} at {}:", ping.start));
    script.comment(&format!(
        "  ip netns exec {} ping -i {interval} -c {count} -s {payload} -Q {tos:#04x} {server}",
        layout.spaces[near.host].name
    ));
}

/// Notes that a path is not the one in the script: that over all links of a chain, or the first of several.
fn check_path(script: &mut Script, scenario: &Scenario, what: &str, paths: &[Path]) {
    let links: Vec<_> = paths[0].links().collect();
    if scenario.nodes.is_empty() && !links.iter().copied().eq(0..scenario.links.len()) {
        let names: Vec<_> = links.iter().map(|link| &*scenario.links[*link].name).collect();
        script.limit(&format!(
            "{what} crosses {} only; the script has one path over all links",
            names.join(", ")
        ));
    }
    if paths.len() > 1 {
        script.limit(&format!("{what} has several paths; the script has the first"));
    }
}
