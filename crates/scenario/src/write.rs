//! The resolved file: every default written, so that it means the same in a later version.

use std::collections::BTreeMap;

use sojourn_core::spec::{self, Family};
use sojourn_core::{Bytes, Dur, RateOrNone, Time};
use sojourn_queue::aqm::Spec;
use sojourn_transport::tcp::Overlay;

use crate::captures;
use crate::file::{
    DirectionName, DirectionTable, File, FlowTable, HostsTable, LinkTable, MeasureTable, PingTable,
    ProtocolName, ScheduleTable, TunnelTable, WindowTable,
};
use crate::groups::{FlowSeries, Group, MOST_WITH_SERIES};
use crate::load::FORMAT;
use crate::paths::PathTable;
use crate::scenario::{Change, Direction, Edit, Flow, Link, Measure, Path, Scenario, Tunnel};
use crate::sweep::Sweep;
use crate::text::Tos;

/// The scenario as a file that [`load`](crate::load) reads back as an equal scenario. Equal
/// scenarios give equal bytes.
pub fn to_toml(scenario: &Scenario) -> String {
    write(scenario, Style::Full)
}

/// The same without the parameters of algorithms that have their defaults, for people and for commands of
/// a kernel, which has the same defaults.
pub fn to_brief_toml(scenario: &Scenario) -> String {
    write(scenario, Style::Brief)
}

fn write(scenario: &Scenario, style: Style) -> String {
    toml::to_string(&file(scenario, style)).expect("the file's types are all TOML types")
}

/// How much of an algorithm's text is written.
#[derive(Clone, Copy)]
pub(crate) enum Style {
    Full,
    Brief,
}

impl Style {
    pub(crate) fn text<A: ?Sized + Family>(self, spec: &spec::Spec<A>) -> String {
        match self {
            Self::Full => spec.to_string(),
            Self::Brief => spec.short(),
        }
    }

    /// A shaper's text without its rate, which the link states.
    pub(crate) fn shaper(self, spec: &Spec) -> String {
        let text = self.text(spec);
        let mut words: Vec<&str> = text.split(' ').collect();
        if let Some(at) = words.iter().position(|word| *word == "rate") {
            words.drain(at..words.len().min(at + 2));
        }
        words.join(" ")
    }
}

fn file(scenario: &Scenario, style: Style) -> File {
    // The first flow's parameters are the file's; the others state all of theirs if they differ.
    let common = scenario.flows.first().map(|flow| &flow.tcp);
    let names = |path: &Path| path.links().map(|l| scenario.links[l].name.clone()).collect();
    // The near node tells from which end a single link is crossed.
    let from = |paths: &[Path]| Some(scenario.nodes[scenario.ends(&paths[0])?[0]].clone());
    let path = |paths: &[Path]| {
        Some(match paths {
            [path] => PathTable::One(names(path)),
            paths => PathTable::Several(paths.iter().map(names).collect()),
        })
    };
    let weights =
        |paths: &[Path]| (paths.len() > 1).then(|| paths.iter().map(|path| path.weight).collect());
    let flow = |(flow, group): (&Flow, Option<&Group>)| FlowTable {
        name: group.map_or(&flow.name, |group| &group.name).clone(),
        cc: flow.cc.as_ref().map(|cc| style.text(cc)),
        app: style.text(&flow.app),
        direction: if flow.up { DirectionName::Up } else { DirectionName::Down },
        flows: group.map(|group| group.flows as u32),
        start: since_start(group.map_or(flow.start, |group| group.start)),
        start_jitter: flow.start_jitter,
        interarrival: group.and_then(|group| group.interarrival),
        control_rtts: flow.control_rtts,
        stop: flow.stop.map(since_start),
        bytes: flow.bytes.map(Bytes),
        from: from(&flow.paths),
        to: None,
        path: path(&flow.paths),
        multipath: (flow.paths.len() > 1).then_some(flow.spread),
        weights: weights(&flow.paths),
        stack: flow.stack,
        exec: flow.exec.as_ref().map(Into::into),
        tos: Tos(flow.tos),
        hash_of: flow.hash_of.map(|other| scenario.declared(other).to_owned()),
        tcp: if Some(&flow.tcp) == common { Overlay::default() } else { (&flow.tcp).into() },
    };
    File {
        format: FORMAT,
        name: scenario.name.clone(),
        description: scenario.description.clone(),
        duration: scenario.duration,
        seed: scenario.seed,
        step: scenario.step,
        // What all versions do with few flows is not written.
        series: (scenario.series != FlowSeries::Flows || scenario.flows.len() > MOST_WITH_SERIES)
            .then_some(scenario.series),
        queue_age: scenario.queue_age,
        measure: MeasureTable {
            from: Some(since_start(scenario.measure.from)),
            to: Some(since_start(scenario.measure.to)),
            windows: scenario.windows.iter().map(window).collect(),
        },
        hosts: HostsTable { noise: scenario.noise.map(|noise| noise.to_string()) },
        tcp: common.map(Overlay::from).unwrap_or_default(),
        link: scenario.links.iter().map(|l| link(l, &scenario.nodes, style)).collect(),
        flow: declarations(scenario).map(flow).collect(),
        ping: scenario
            .pings
            .iter()
            .map(|ping| PingTable {
                name: ping.name.clone(),
                protocol: if ping.udp { ProtocolName::Udp } else { ProtocolName::Icmp },
                interval: ping.interval,
                start: since_start(ping.start),
                stop: ping.stop.map(since_start),
                from: from(&ping.paths),
                to: None,
                path: path(&ping.paths),
                multipath: (ping.paths.len() > 1).then_some(ping.spread),
                weights: weights(&ping.paths),
                tos: Tos(ping.tos),
                size: ping.size,
            })
            .collect(),
        tunnel: scenario.tunnels.iter().map(|t| tunnel(t, scenario)).collect(),
        schedule: scenario.schedule.iter().map(|c| change(c, &scenario.links, style)).collect(),
        capture: scenario.captures.iter().map(|c| captures::written(c, scenario)).collect(),
        sweep: Sweep::default(),
        sample: None,
    }
}

/// The first flow of each group, and every other flow.
fn declarations(scenario: &Scenario) -> impl Iterator<Item = (&Flow, Option<&Group>)> {
    let groups = &scenario.groups;
    let mut ahead = groups.iter().peekable();
    let mut inside = 0..0;
    scenario.flows.iter().enumerate().filter_map(move |(n, flow)| {
        let group = ahead.next_if(|group| group.first == n);
        let is_said = inside.contains(&n);
        if let Some(group) = group {
            inside = group.members();
        }
        (!is_said).then_some((flow, group))
    })
}

fn since_start(time: Time) -> Dur {
    time.since(Time::ZERO)
}

fn window((name, measure): &(String, Measure)) -> (String, WindowTable) {
    let table =
        WindowTable { from: Some(since_start(measure.from)), to: Some(since_start(measure.to)) };
    (name.clone(), table)
}

fn tunnel(tunnel: &Tunnel, scenario: &Scenario) -> TunnelTable {
    let pings = tunnel.pings.iter().map(|ping| scenario.pings[*ping].name.clone());
    let flows = scenario.names_of(&tunnel.flows).into_iter().chain(pings);
    TunnelTable {
        name: tunnel.name.clone(),
        links: tunnel.links.iter().map(|hop| scenario.links[hop.link].name.clone()).collect(),
        flows: Some(flows.collect()),
        overhead: tunnel.overhead,
        ecn: tunnel.ecn,
        dscp: tunnel.dscp,
        entropy: tunnel.entropy,
        replay_window: tunnel.replay_window,
    }
}

fn link(link: &Link, nodes: &[String], style: Style) -> LinkTable {
    let node = |end: usize| link.ends.map(|ends| nodes[ends[end]].clone());
    let forward = direction(&link.forward, style);
    LinkTable {
        name: link.name.clone(),
        from: node(0),
        to: node(1),
        rate: forward.rate,
        shaper: forward.shaper,
        stab: forward.stab,
        qdisc: forward.qdisc,
        ingress: forward.ingress,
        delay: forward.delay,
        reverse: Some(direction(&link.reverse, style)),
    }
}

fn direction(way: &Direction, style: Style) -> DirectionTable {
    let shaper = way.shaper.as_ref().map_or_else(|| "none".to_owned(), |spec| style.shaper(spec));
    DirectionTable {
        rate: Some(RateOrNone(way.rate())),
        shaper: Some(shaper),
        stab: Some(way.stab.as_ref().map_or_else(
            || "none".to_owned(),
            |stab| style.text(stab).trim_start_matches("stab").trim_start().to_owned(),
        )),
        qdisc: Some(style.text(&way.qdisc)),
        ingress: Some(way.ingress.iter().map(|element| style.text(element)).collect()),
        delay: Some(way.delay),
    }
}

fn change(change: &Change, links: &[Link], style: Style) -> ScheduleTable {
    let mut table = ScheduleTable {
        at: since_start(change.at),
        over: None,
        step: None,
        set: BTreeMap::new(),
        replace: BTreeMap::new(),
    };
    let way = match (change.forward, change.reverse) {
        (true, false) => ".forward",
        (false, true) => ".reverse",
        _ => "",
    };
    let name = |field: &str| format!("link.{}{way}.{field}", links[change.link].name);
    let (entries, field, value) = match &change.edit {
        Edit::Rate(rate) => (&mut table.set, name("rate"), rate.to_string()),
        Edit::Delay(delay) => (&mut table.set, name("delay"), delay.to_string()),
        Edit::Change(to, given) => (&mut table.set, name("qdisc"), to.stating(given)),
        Edit::Replace(to) => (&mut table.replace, name("qdisc"), style.text(to)),
        Edit::Ingress(i, to) => (&mut table.replace, name(&format!("ingress{i}")), style.text(to)),
    };
    entries.insert(field, value);
    table
}
