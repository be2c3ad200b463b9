//! The resolved file: every default written, so that it means the same in a later version.

use std::collections::BTreeMap;

use sojourn_cc as cc;
use sojourn_core::{Bytes, Dur, Time};
use sojourn_queue::aqm::Spec;
use sojourn_transport::tcp::Overlay;

use crate::file::{
    DirectionName, DirectionTable, File, FlowTable, LinkTable, MeasureTable, PingTable,
    ProtocolName, ScheduleTable, TunnelTable, WindowTable,
};
use crate::load::FORMAT;
use crate::scenario::{Change, Direction, Edit, Flow, Link, Measure, Scenario, Tunnel};
use crate::sweep::Sweep;
use crate::text::{RateOrNone, Tos};

/// The scenario as a file that [`load`](crate::load) reads back as an equal scenario. Equal
/// scenarios give equal bytes.
pub fn to_toml(scenario: &Scenario) -> String {
    toml::to_string(&file(scenario)).expect("the file's types are all TOML types")
}

fn file(scenario: &Scenario) -> File {
    // The first flow's parameters are the file's; the others state all of theirs if they differ.
    let common = scenario.flows.first().map(|flow| &flow.tcp);
    let path = |path: &[usize]| -> Vec<String> {
        path.iter().map(|link| scenario.links[*link].name.clone()).collect()
    };
    let flow = |flow: &Flow| FlowTable {
        name: flow.name.clone(),
        cc: flow.cc.as_ref().map(cc::Spec::to_string),
        app: flow.app.to_string(),
        direction: if flow.up { DirectionName::Up } else { DirectionName::Down },
        flows: None,
        start: since_start(flow.start),
        start_jitter: flow.start_jitter,
        control_rtts: flow.control_rtts,
        stop: flow.stop.map(since_start),
        bytes: flow.bytes.map(Bytes),
        path: Some(path(&flow.path)),
        tos: Tos(flow.tos),
        hash_of: flow.hash_of.map(|other| scenario.flows[other].name.clone()),
        tcp: if Some(&flow.tcp) == common { Overlay::default() } else { (&flow.tcp).into() },
    };
    File {
        format: FORMAT,
        name: scenario.name.clone(),
        description: scenario.description.clone(),
        duration: scenario.duration,
        seed: scenario.seed,
        step: scenario.step,
        queue_age: scenario.queue_age,
        measure: MeasureTable {
            from: Some(since_start(scenario.measure.from)),
            to: Some(since_start(scenario.measure.to)),
            windows: scenario.windows.iter().map(window).collect(),
        },
        tcp: common.map(Overlay::from).unwrap_or_default(),
        link: scenario.links.iter().map(link).collect(),
        flow: scenario.flows.iter().map(flow).collect(),
        ping: scenario
            .pings
            .iter()
            .map(|ping| PingTable {
                name: ping.name.clone(),
                protocol: if ping.udp { ProtocolName::Udp } else { ProtocolName::Icmp },
                interval: ping.interval,
                start: since_start(ping.start),
                stop: ping.stop.map(since_start),
                path: Some(path(&ping.path)),
                tos: Tos(ping.tos),
                size: ping.size,
            })
            .collect(),
        tunnel: scenario.tunnels.iter().map(|t| tunnel(t, scenario)).collect(),
        schedule: scenario.schedule.iter().map(|c| change(c, &scenario.links)).collect(),
        sweep: Sweep::default(),
    }
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
    let flows = tunnel.flows.iter().map(|flow| &scenario.flows[*flow].name);
    let pings = tunnel.pings.iter().map(|ping| &scenario.pings[*ping].name);
    TunnelTable {
        name: tunnel.name.clone(),
        links: tunnel.links.iter().map(|link| scenario.links[*link].name.clone()).collect(),
        flows: Some(flows.chain(pings).cloned().collect()),
        overhead: tunnel.overhead,
        ecn: tunnel.ecn,
        dscp: tunnel.dscp,
        entropy: tunnel.entropy,
        replay_window: tunnel.replay_window,
    }
}

fn link(link: &Link) -> LinkTable {
    let forward = direction(&link.forward);
    LinkTable {
        name: link.name.clone(),
        rate: forward.rate,
        shaper: forward.shaper,
        stab: forward.stab,
        qdisc: forward.qdisc,
        ingress: forward.ingress,
        delay: forward.delay,
        reverse: Some(direction(&link.reverse)),
    }
}

fn direction(way: &Direction) -> DirectionTable {
    let (rate, shaper) = match &way.shaper {
        Some(shaper) => {
            let text = shaper.to_string();
            let mut words: Vec<&str> = text.split(' ').collect();
            let at = words.iter().position(|word| *word == "rate");
            let rate = at.and_then(|at| words.drain(at..words.len().min(at + 2)).nth(1));
            (rate.and_then(sojourn_core::Rate::parse_tc), words.join(" ").trim_end().to_owned())
        }
        None => (way.wire, "none".to_owned()),
    };
    DirectionTable {
        rate: Some(RateOrNone(rate)),
        shaper: Some(shaper),
        stab: Some(way.stab.as_ref().map_or_else(|| "none".to_owned(), Spec::parameters)),
        qdisc: Some(way.qdisc.to_string()),
        ingress: Some(way.ingress.iter().map(Spec::to_string).collect()),
        delay: Some(way.delay),
    }
}

fn change(change: &Change, links: &[Link]) -> ScheduleTable {
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
        Edit::Replace(to) => (&mut table.replace, name("qdisc"), to.to_string()),
        Edit::Ingress(i, to) => (&mut table.replace, name(&format!("ingress{i}")), to.to_string()),
    };
    entries.insert(field, value);
    table
}
