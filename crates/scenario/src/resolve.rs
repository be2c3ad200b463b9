//! From the file as written to a scenario without invalid states.

use std::collections::BTreeSet;

use sojourn_core::{Dur, Time};

use crate::captures::{Places, captures};
use crate::check::{Key, MAX_EVENTS, between, interval, name, start_stop};
use crate::doc::Doc;
use crate::error::ScenarioError;
use crate::file::{File, PingTable, ProtocolName};
use crate::flows::{Made, flows};
use crate::groups::FlowSeries;
use crate::links::links;
use crate::measure::measure;
use crate::names::Names;
use crate::noise::{NONE, Noise};
use crate::paths::Network;
use crate::scenario::{Ping, Scenario};
use crate::schedule::schedule;
use crate::tcp::tcp;
use crate::tunnels::tunnels;

/// Timers of idle queues are served one by one; nothing is different after a longer time.
const MAX_AGE: Dur = Dur::from_secs(100);

pub(crate) fn resolve(doc: &Doc, file: &File) -> Result<Scenario, ScenarioError> {
    let top = Key::top;
    doc.check(!file.name.trim().is_empty(), &top("name"), "expected a name, got nothing")?;
    for (key, text) in [("name", &file.name), ("description", &file.description)] {
        let printable = !text.contains(char::is_control);
        doc.check(printable, &top(key), "expected one line without control characters")?;
    }
    let duration = file.duration;
    let end = Time::ZERO + duration;
    doc.check(duration > Dur::ZERO, &top("duration"), "expected more than zero")?;
    let step = file.step;
    doc.check(step > Dur::ZERO, &top("step"), "expected more than zero")?;
    let few = duration.0 / step.0 <= MAX_EVENTS;
    doc.check(few, &top("step"), &format!("expected at most {MAX_EVENTS} steps in the run"))?;

    let queue_age = file.queue_age;
    let most = format!("expected at most {MAX_AGE}, got {queue_age}");
    doc.check(queue_age <= MAX_AGE, &top("queue_age"), &most)?;

    let noise = Noise::read(file.hosts.noise.as_deref().unwrap_or(NONE));
    let noise = doc.grammar(&top("hosts").field("noise"), noise)?;

    let (links, nodes) = links(doc, &file.link)?;
    let network = Network::new(&links, &nodes);
    tcp(doc, &top("tcp"), &[&file.tcp], None)?;
    let Made { flows, groups, mut pings } = flows(doc, file, &network, end)?;
    let declared = file.flow.iter().map(|table| table.name.as_str());
    let made = flows.iter().map(|flow| flow.name.as_str());
    let mut taken: BTreeSet<_> = declared.chain(made).map(str::to_owned).collect();
    taken.extend(pings.iter().map(|ping| ping.name.clone()));
    for (index, table) in file.ping.iter().enumerate() {
        let key = Key::entry("ping", index, &table.name);
        name(doc, &key, &table.name, taken.get(&table.name).into_iter().map(String::as_str))?;
        taken.insert(table.name.clone());
        pings.push(ping(doc, &key, table, &network, duration)?);
    }
    let names = Names::new(&flows, &groups, &pings);
    let tunnels = tunnels(doc, &file.tunnel, &network, &flows, &pings, &names)?;
    let (main, windows) = measure(doc, file, end)?;
    let mut scenario = Scenario {
        name: file.name.clone(),
        description: file.description.clone(),
        duration,
        seed: file.seed,
        step,
        series: file.series.unwrap_or_else(|| FlowSeries::of(flows.len())),
        queue_age,
        noise,
        measure: main,
        windows,
        schedule: schedule(doc, &file.schedule, &links, end)?,
        traces: doc.traces.clone(),
        nodes,
        links,
        flows,
        groups,
        pings,
        tunnels,
        captures: Vec::new(),
    };
    let Scenario { links, flows, groups, pings, nodes, .. } = &scenario;
    let names = Names::new(flows, groups, pings);
    let places =
        Places { links, names, count: flows.len() + pings.len(), nodes, hosts: &scenario.hosts() };
    scenario.captures = captures(doc, &file.capture, &places, end)?;
    Ok(scenario)
}

fn ping(
    doc: &Doc,
    key: &Key,
    table: &PingTable,
    network: &Network<'_>,
    duration: Dur,
) -> Result<Ping, ScenarioError> {
    let (start, stop) = start_stop(doc, key, table.start, table.stop, Time::ZERO + duration)?;
    interval(doc, &key.field("interval"), table.interval, duration)?;
    between(doc, key, "size", u64::from(table.size), 28, 65535)?;
    let ends = [table.from.as_deref(), table.to.as_deref()];
    let several = (table.multipath, table.weights.as_deref());
    let (paths, spread) = network.paths(doc, key, ends, table.path.as_ref(), several)?;
    Ok(Ping {
        name: table.name.clone(),
        udp: matches!(table.protocol, ProtocolName::Udp),
        interval: table.interval,
        start,
        stop,
        paths: paths.into(),
        spread,
        tos: table.tos.0,
        size: table.size,
    })
}
