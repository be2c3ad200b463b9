//! The `[[flow]]` tables: what each carries, groups, and tests that consist of several flows.

use std::collections::{BTreeMap, BTreeSet};

use sojourn_cc::{self as cc, Feedback};
use sojourn_core::grammar::split_name;
use sojourn_core::{Dur, Time};
use sojourn_transport::app::adaptive::ADAPTIVES;
use sojourn_transport::app::{self, App, rrul};
use sojourn_transport::media::Encoder;
use sojourn_transport::tcp::Overlay;

use crate::check::{Key, between, interval, name, start_stop, words};
use crate::doc::Doc;
use crate::error::{ScenarioError, unknown};
use crate::exec;
use crate::file::{DirectionName, File, FlowTable};
use crate::groups::Group;
use crate::paths::Network;
use crate::scenario::{Flow, Link, Path, Ping, Stack};
use crate::tcp::tcp;

/// More than any application needs, and enough to see the effect.
const MAX_CONTROL_RTTS: u32 = 100;

/// More flows of a group than this are a slip.
const MAX_FLOWS: u64 = 10_000;

/// Applications and controllers by their texts: those of flows that are alike are read once, and shared.
#[derive(Default)]
struct Known {
    apps: BTreeMap<String, app::Spec>,
    controllers: BTreeMap<String, cc::Spec>,
}

/// What the tables of flows make.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) flows: Vec<Flow>,
    pub(crate) groups: Vec<Group>,
    /// Those that come with some of the flows.
    pub(crate) pings: Vec<Ping>,
}

/// All flows, and the pings that come with some of them.
pub(crate) fn flows(
    doc: &Doc,
    file: &File,
    network: &Network<'_>,
    end: Time,
) -> Result<Made, ScenarioError> {
    let Made { mut flows, mut groups, mut pings } = Made::default();
    // Per table: the first of its flows.
    let mut firsts = Vec::new();
    let mut tables = BTreeMap::<&str, usize>::new();
    let mut known = Known::default();
    for (index, table) in file.flow.iter().enumerate() {
        let key = Key::entry("flow", index, &table.name);
        let taken = tables.get_key_value(table.name.as_str());
        name(doc, &key, &table.name, taken.into_iter().map(|(name, _)| *name))?;
        tables.insert(&table.name, index);
        let (flow, app) = flow(doc, &key, table, &file.tcp, (network, &mut known), end)?;
        let takes_time = |path: &Path| path.links().any(|link| takes_time(&network.links[link]));
        let paced_by_path = flow.paths.iter().all(takes_time);
        doc.check(
            flow.bytes.is_some() || app.is_bounded() || paced_by_path,
            &key.field("path"),
            "expected a link with a rate or a delay, or `bytes`: nothing would end the first instant",
        )?;
        firsts.push(flows.len());
        match (app, table.flows) {
            (App::Rrul(app), copies) => {
                let message = "a test of several flows has no copies";
                doc.check(copies.is_none(), &key.field("flows"), message)?;
                alone(doc, &key, table)?;
                interval(doc, &key.field("app"), app.interval, end.since(Time::ZERO))?;
                expand_rrul(app, &flow, &mut flows, &mut pings);
            }
            (_, None) => {
                alone(doc, &key, table)?;
                flows.push(flow);
            }
            (_, Some(copies)) => {
                between(doc, &key, "flows", u64::from(copies), 1, MAX_FLOWS)?;
                let group = Group {
                    name: table.name.clone(),
                    first: flows.len(),
                    flows: copies as usize,
                    start: flow.start,
                    interarrival: table.interarrival,
                };
                for (n, start) in (1..).zip(group.starts(file.seed)) {
                    let made = Flow { start, ..named(&flow, &n.to_string()) };
                    if let Some(stop) = made.stop.filter(|stop| *stop <= start) {
                        let Flow { name, .. } = made;
                        let message = format!("{stop} is not after {start}, when {name} starts");
                        return Err(doc.fail(&key.field("stop"), message));
                    }
                    flows.push(made);
                }
                groups.push(group);
            }
        }
    }
    for ping in &pings {
        if let Some(&index) = tables.get(ping.name.as_str()) {
            let key = Key::entry("flow", index, &ping.name).field("name");
            return Err(doc.fail(&key, format!("the name {:?} is already taken", ping.name)));
        }
    }
    for index in 0..file.flow.len() {
        let key = Key::entry("flow", index, &file.flow[index].name);
        let lender = hash_of(doc, &key, index, (&file.flow, &tables))?.map(|table| firsts[table]);
        let after = firsts.get(index + 1).copied().unwrap_or(flows.len());
        for flow in &mut flows[firsts[index]..after] {
            flow.hash_of = lender;
        }
    }
    // The names of a group's flows are derived, and may be those of another table.
    let mut taken: BTreeSet<_> = groups.iter().map(|group| group.name.as_str()).collect();
    for (at, flow) in flows.iter().enumerate() {
        if !taken.insert(flow.name.as_str()) {
            let index = firsts.partition_point(|first| *first <= at) - 1;
            let key = Key::entry("flow", index, &file.flow[index].name).field("name");
            let message = format!("it makes the name {:?}, which is already taken", flow.name);
            return Err(doc.fail(&key, message));
        }
    }
    Ok(Made { flows, groups, pings })
}

/// Refuses what only a group has.
fn alone(doc: &Doc, key: &Key, table: &FlowTable) -> Result<(), ScenarioError> {
    let message = "it is between the flows of a group: expected `flows`";
    doc.check(table.interarrival.is_none(), &key.field("interarrival"), message)
}

/// Whether a packet and its answer need any time on this link.
fn takes_time(link: &Link) -> bool {
    [&link.forward, &link.reverse].into_iter().any(|way| {
        let netem_delays = way.ingress.iter().any(|element| element.delays());
        way.shaper.is_some() || way.wire.is_some() || way.delay > Dur::ZERO || netem_delays
    })
}

fn flow(
    doc: &Doc,
    key: &Key,
    table: &FlowTable,
    defaults: &Overlay,
    (network, known): (&Network<'_>, &mut Known),
    end: Time,
) -> Result<(Flow, App), ScenarioError> {
    let (start, stop) = start_stop(doc, key, table.start, table.stop, end)?;
    let exec =
        table.exec.as_ref().map(|own| exec::read(doc, &key.field("exec"), own)).transpose()?;
    let app = if exec.is_some() && table.app == "bulk" { "exec" } else { &table.app };
    let text = application(&words(app), table.cc.is_some());
    let spec = if let Some(spec) = known.apps.get(&text) {
        spec.clone()
    } else {
        let spec: app::Spec = doc.grammar(&key.field("app"), text.parse())?;
        known.apps.insert(text, spec.clone());
        spec
    };
    let app = spec.build();
    match (&app, &exec) {
        (App::Exec { .. }, None) => return Err(doc.fail(key, "missing key \"exec\"")),
        (App::Exec { .. }, _) | (_, None) => {}
        _ => {
            let message = format!("`{}` has no such key, only `exec`", spec.name());
            return Err(doc.fail(&key.field("exec"), message));
        }
    }
    let mut controller = |text: &str| {
        if let Some(spec) = known.controllers.get(text) {
            return Ok(spec.clone());
        }
        let spec = doc.grammar(&key.field("cc"), cc::read(text))?;
        known.controllers.insert(text.to_owned(), spec.clone());
        Ok(spec)
    };
    let cc = table.cc.as_deref().map(&mut controller).transpose()?;
    // What every kernel has.
    let mut feedback = exec.is_some().then_some(Feedback::Rfc3168);
    match &cc {
        Some(cc) => {
            let of_tcp = |feedback: &_| matches!(feedback, Feedback::Dctcp | Feedback::Sce);
            feedback = cc.needs().feedback.filter(of_tcp);
            let message = match spec.name() {
                "video" => "a `video` with `rate` follows no controller".to_owned(),
                "exec" => "a program of your own chooses its controller".to_owned(),
                name => format!("`{name}` sends UDP, which has no controller"),
            };
            doc.check(app.has_controller(), &key.field("cc"), &message)?;
            media(doc, &key.field("cc"), &app, cc)?;
        }
        None if matches!(app, App::Media(_)) => {
            let name = spec.name();
            let without = if name == "video" { " without `rate`" } else { "" };
            let message = format!("missing key \"cc\": a `{name}`{without} follows a controller");
            return Err(doc.fail(key, message));
        }
        None => doc.check(!app.has_controller(), key, "missing key \"cc\"")?,
    }
    let only_bulk = format!("`{}` has no such key, only `bulk`", spec.name());
    let is_bulk = matches!(app, App::Bulk);
    doc.check(is_bulk || table.bytes.is_none(), &key.field("bytes"), &only_bulk)?;
    doc.check(is_bulk || table.control_rtts == 0, &key.field("control_rtts"), &only_bulk)?;
    let bytes = table.bytes.map(|bytes| bytes.0);
    doc.check(bytes != Some(0), &key.field("bytes"), "expected more than zero")?;
    let few = table.control_rtts <= MAX_CONTROL_RTTS;
    let most = format!("expected at most {MAX_CONTROL_RTTS} round trips");
    doc.check(few, &key.field("control_rtts"), &most)?;
    let tos = table.tos.0;
    let free = format!("the two ECN bits belong to the sender; write \"{:#04x}\"", tos & !3);
    doc.check(!app.has_controller() || tos & !3 == tos, &key.field("tos"), &free)?;
    let up = table.direction == DirectionName::Up;
    if matches!(app, App::Rrul(_)) {
        let message = "the flows of this test go both ways";
        doc.check(!up, &key.field("direction"), message)?;
        doc.check(tos == 0, &key.field("tos"), "the flows of this test have their own classes")?;
    }
    let ends = [table.from.as_deref(), table.to.as_deref()];
    let several = (table.multipath, table.weights.as_deref());
    let (paths, spread) = network.paths(doc, key, ends, table.path.as_ref(), several)?;
    let flow = Flow {
        name: table.name.clone(),
        app: spec,
        cc,
        up,
        opens_far: up != app.pulls(),
        start,
        start_jitter: table.start_jitter,
        control_rtts: table.control_rtts,
        stop,
        bytes,
        paths: paths.into(),
        spread,
        tos,
        hash_of: None,
        stack: table.stack,
        exec,
        tcp: tcp(doc, &key.field("tcp"), &[&table.tcp, defaults], feedback)?,
    };
    let is_good = flow.exec.is_none() || matches!(flow.stack, None | Some(Stack::Kernel));
    doc.check(is_good, &key.field("stack"), "programs use the \"kernel\"'s")?;
    let (others, message) = if flow.controls_udp() {
        let message = "expected \"scream\" or \"sojourn\": no kernel has media or `udp-prague`";
        (Stack::Kernel, message)
    } else {
        (Stack::Scream, "expected \"kernel\" or \"sojourn\"")
    };
    doc.check(flow.stack != Some(others), &key.field("stack"), message)?;
    Ok((flow, app))
}

/// A call or a game with a controller follows it.
fn application(text: &str, has_controller: bool) -> String {
    let (name, rest) = split_name(text);
    let is_adaptive = rest.split(' ').any(|word| word == "adaptive");
    if has_controller && !is_adaptive && ADAPTIVES.contains(&name) {
        return words(&format!("{name} adaptive {rest}"));
    }
    text.to_owned()
}

/// Media and the controllers that read reports of each packet belong together.
fn media(doc: &Doc, key: &Key, app: &App, cc: &cc::Spec) -> Result<(), ScenarioError> {
    let (name, reads_reports) = (cc.name(), cc.controls_media());
    let is_media = matches!(app, App::Media(_));
    let message = format!(
        "`{name}` controls media: expected `app = \"video\"` without `rate`, \"voip\" or \"game\"{}",
        if cc.scream().is_some() { ", or `app = \"scream-bw\"`" } else { "" }
    );
    doc.check(is_media || !reads_reports, key, &message)?;
    let message = format!("`{name}` controls no media: expected gcc, nada or scream");
    doc.check(reads_reports || !is_media, key, &message)?;
    let App::Media(flow) = app else { return Ok(()) };
    let is_tool = matches!(flow.encoder, Encoder::Tool(_));
    let message = format!("`{name}` does not control `scream-bw`: expected scream");
    doc.check(!is_tool || cc.scream().is_some(), key, &message)
}

/// A copy of `flow` under its name with a part added.
fn named(flow: &Flow, part: &str) -> Flow {
    Flow { name: format!("{}-{part}", flow.name), ..flow.clone() }
}

/// The flows and pings of `rrul` or `rrul_be`.
fn expand_rrul(app: rrul::Params, whole: &Flow, flows: &mut Vec<Flow>, pings: &mut Vec<Ping>) {
    let bulk: app::Spec = "bulk".parse().expect("the application without parameters");
    for (way, up) in [("up", true), ("down", false)] {
        flows.extend(app.flows().map(|(part, tos)| {
            let flow = named(whole, &format!("{way}-{part}"));
            Flow { app: bulk.clone(), up, opens_far: up, tos, ..flow }
        }));
    }
    let icmp = ("icmp", 0, false);
    let udp = app.udp_pings().map(|(part, tos)| (part, tos, true));
    pings.extend(std::iter::once(icmp).chain(udp).map(|(part, tos, udp)| Ping {
        name: format!("{}-{part}", whole.name),
        udp,
        interval: app.interval,
        start: whole.start,
        stop: whole.stop,
        paths: whole.paths.clone(),
        spread: whole.spread,
        tos,
        size: 84,
    }));
}

/// The flow whose hash flow number `index` borrows.
fn hash_of(
    doc: &Doc,
    key: &Key,
    index: usize,
    (flows, tables): (&[FlowTable], &BTreeMap<&str, usize>),
) -> Result<Option<usize>, ScenarioError> {
    let Some(name) = &flows[index].hash_of else { return Ok(None) };
    let key = key.field("hash_of");
    let names = || flows.iter().map(|flow| flow.name.as_str()).collect::<Vec<_>>();
    let lender = tables.get(name.as_str()).copied();
    let lender = lender.ok_or_else(|| doc.fail(&key, unknown("flow", name, &names())))?;
    let own = lender != index && flows[lender].hash_of.is_none();
    doc.check(own, &key, "expected another flow, which has a hash of its own")?;
    Ok(Some(lender))
}
