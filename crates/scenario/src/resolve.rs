//! From the file as written to a scenario without invalid states.

use sojourn_core::grammar::split_name;
use sojourn_core::{Dur, Rate, Time, aqm};

use crate::check::{Key, words};
use crate::doc::Doc;
use crate::error::{ScenarioError, unknown};
use crate::file::{
    DirectionTable, EcnName, EraName, File, LinkTable, PingTable, ProtocolName, SceName, TcpTable,
};
use crate::flows::flows;
use crate::kernel::KernelFlags;
use crate::scenario::{Direction, EcnMode, Era, Link, Measure, Ping, SceMode, Scenario, Tcp};
use crate::schedule::schedule;
use crate::text::Quantity;
use crate::traces::takes_rate;
use crate::tunnels::tunnels;

/// More samples or pings than this are a slip of the unit.
const MAX_EVENTS: u64 = 10_000_000;

pub(crate) fn resolve(doc: &Doc, file: &File) -> Result<Scenario, ScenarioError> {
    let top = Key::top;
    doc.check(!file.name.trim().is_empty(), &top("name"), "expected a name, got nothing")?;
    for (key, text) in [("name", &file.name), ("description", &file.description)] {
        let printable = !text.contains(char::is_control);
        doc.check(printable, &top(key), "expected one line without control characters")?;
    }
    let duration = file.duration.0;
    let end = Time::ZERO + duration;
    doc.check(duration > Dur::ZERO, &top("duration"), "expected more than zero")?;
    let step = file.step.0;
    doc.check(step > Dur::ZERO, &top("step"), "expected more than zero")?;
    let few = duration.0 / step.0 <= MAX_EVENTS;
    doc.check(few, &top("step"), &format!("expected at most {MAX_EVENTS} steps in the run"))?;

    let links = links(doc, &file.link)?;
    let names: Vec<&str> = links.iter().map(|l| l.name.as_str()).collect();
    tcp(doc, &top("tcp"), &[&file.tcp], EcnName::AccEcn)?;
    let (flows, mut pings) = flows(doc, file, &links, &names, end)?;
    for (index, table) in file.ping.iter().enumerate() {
        let key = Key::entry("ping", index, &table.name);
        let before = flows.iter().map(|f| f.name.as_str());
        let before = before.chain(file.flow.iter().map(|f| f.name.as_str()));
        let before = before.chain(pings.iter().map(|p| p.name.as_str()));
        name(doc, &key, &table.name, before)?;
        pings.push(ping(doc, &key, table, &names, duration)?);
    }
    let tunnels = tunnels(doc, &file.tunnel, &links, &flows, &pings)?;
    Ok(Scenario {
        name: file.name.clone(),
        description: file.description.clone(),
        duration,
        seed: file.seed,
        step,
        measure: measure(doc, file, end)?,
        schedule: schedule(doc, &file.schedule, &links, end)?,
        traces: doc.traces.clone(),
        links,
        flows,
        pings,
        tunnels,
    })
}

fn instant(offset: Quantity<Dur>) -> Time {
    Time::ZERO + offset.0
}

fn measure(doc: &Doc, file: &File, end: Time) -> Result<Measure, ScenarioError> {
    let key = Key::top("measure");
    let from = file.measure.from.map_or(Time::ZERO, instant);
    let to = file.measure.to.map_or(end, instant);
    let outside = |what: Time| format!("{what} is outside the run, which ends at {end}");
    doc.check(to <= end, &key.field("to"), &outside(to))?;
    doc.check(from < end, &key.field("from"), &outside(from))?;
    let order = format!("the window ends at {to}, which is not after its start {from}");
    doc.check(from < to, &key.field("to"), &order)?;
    Ok(Measure { from, to })
}

/// A name must work as a part of a dotted name, of a file name and of a column.
pub(crate) fn name<'n>(
    doc: &Doc,
    key: &Key,
    name: &str,
    mut before: impl Iterator<Item = &'n str>,
) -> Result<(), ScenarioError> {
    let key = key.field("name");
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let valid = name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(good);
    let allowed = format!("expected letters, digits, `_` and `-`, got {name:?}");
    doc.check(valid, &key, &allowed)?;
    doc.check(before.all(|b| b != name), &key, &format!("the name {name:?} is already taken"))
}

/// One direction as written, with its defaults filled in.
#[derive(Clone)]
struct Way {
    rate: Option<Rate>,
    shaper: Option<String>,
    stab: Option<String>,
    qdisc: String,
    ingress: Vec<String>,
    delay: Dur,
}

fn links(doc: &Doc, tables: &[LinkTable]) -> Result<Vec<Link>, ScenarioError> {
    let message = "at least one [[link]] is needed";
    doc.check(!tables.is_empty(), &Key::top("link"), message)?;
    let mut links = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let key = Key::entry("link", index, &table.name);
        name(doc, &key, &table.name, tables[..index].iter().map(|l| l.name.as_str()))?;
        let own = DirectionTable {
            rate: table.rate,
            shaper: table.shaper.clone(),
            stab: table.stab.clone(),
            qdisc: table.qdisc.clone(),
            ingress: table.ingress.clone(),
            delay: table.delay,
        };
        let default = Way {
            rate: None,
            shaper: None,
            stab: None,
            qdisc: "pfifo".to_owned(),
            ingress: vec![],
            delay: Dur::ZERO,
        };
        let way = default.overridden(&own);
        let forward = way.clone().direction(doc, &key)?;
        let reverse = match &table.reverse {
            Some(own) => way.overridden(own).direction(doc, &key.field("reverse"))?,
            None => forward.clone(),
        };
        links.push(Link { name: table.name.clone(), forward, reverse });
    }
    Ok(links)
}

impl Way {
    fn overridden(&self, own: &DirectionTable) -> Self {
        let mut way = self.clone();
        if let Some(rate) = own.rate {
            way.rate = rate.0;
            if rate.0.is_none() {
                (way.shaper, way.stab) = (None, None);
            }
        }
        if let Some(shaper) = &own.shaper {
            way.shaper = (shaper.trim() != "none").then(|| words(shaper));
        }
        if let Some(stab) = &own.stab {
            way.stab = (stab.trim() != "none").then(|| words(stab));
        }
        if let Some(qdisc) = &own.qdisc {
            way.qdisc = words(qdisc);
        }
        if let Some(ingress) = &own.ingress {
            way.ingress = ingress.iter().map(|text| words(text)).collect();
        }
        if let Some(delay) = own.delay {
            way.delay = delay.0;
        }
        way
    }

    fn direction(self, doc: &Doc, key: &Key) -> Result<Direction, ScenarioError> {
        doc.check(self.rate != Some(Rate(0)), &key.field("rate"), "expected more than zero")?;
        for (index, text) in self.ingress.iter().enumerate() {
            doc.qdisc(&key.field("ingress").field(&index.to_string()), text)?;
        }
        let leaf = doc.qdisc(&key.field("qdisc"), &self.qdisc)?;
        let (shaper, inside) = match &self.shaper {
            Some(text) => {
                let key = key.field("shaper");
                let text = shaper(doc, &key, text, self.rate)?;
                let shaped = doc.shaper(&key, &text, leaf)?;
                (Some(text), shaped)
            }
            None => (None, leaf),
        };
        if let Some(text) = &self.stab {
            doc.grammar(&key.field("stab"), aqm::build_sized(text, inside))?;
        }
        let wire = if shaper.is_none() { self.rate } else { None };
        let Self { ingress, stab, qdisc, delay, .. } = self;
        Ok(Direction { ingress, shaper, stab, qdisc, wire, delay })
    }
}

/// The shaper's text with the link's rate in it, if it takes one.
fn shaper(doc: &Doc, key: &Key, text: &str, rate: Option<Rate>) -> Result<String, ScenarioError> {
    let (name, rest) = split_name(text);
    if !takes_rate(text) {
        let message =
            format!("`{name}` takes no rate from the link; leave `rate` away or write \"none\"");
        doc.check(rate.is_none(), key, &message)?;
        return Ok(text.to_owned());
    }
    let twice = rest.split(' ').any(|word| word == "rate");
    doc.check(!twice, key, "the shaper's rate belongs into the link's `rate`")?;
    let missing = "a shaper needs the link's `rate`";
    let rate = rate.ok_or_else(|| doc.fail(key, missing))?;
    Ok(words(&format!("{name} rate {rate} {rest}")))
}

pub(crate) fn path(
    doc: &Doc,
    key: &Key,
    path: Option<&Vec<String>>,
    links: &[&str],
) -> Result<Vec<usize>, ScenarioError> {
    let Some(path) = path else { return Ok((0..links.len()).collect()) };
    path_of(doc, &key.field("path"), path, links)
}

/// The links of these names, at least one and each once.
pub(crate) fn path_of(
    doc: &Doc,
    key: &Key,
    path: &[String],
    links: &[&str],
) -> Result<Vec<usize>, ScenarioError> {
    doc.check(!path.is_empty(), key, "expected at least one link")?;
    let mut indices = Vec::new();
    for name in path {
        let index = links.iter().position(|link| link == name);
        let index = index.ok_or_else(|| doc.fail(key, unknown("link", name, links)))?;
        doc.check(!indices.contains(&index), key, &format!("link {name:?} is named twice"))?;
        indices.push(index);
    }
    Ok(indices)
}

pub(crate) fn start_stop(
    doc: &Doc,
    key: &Key,
    start: Quantity<Dur>,
    stop: Option<Quantity<Dur>>,
    end: Time,
) -> Result<(Time, Option<Time>), ScenarioError> {
    let (start, stop) = (instant(start), stop.map(instant));
    let late = format!("{start} is not before the end of the run at {end}");
    doc.check(start < end, &key.field("start"), &late)?;
    if let Some(stop) = stop {
        let order = format!("{stop} is not after the start at {start}");
        doc.check(stop > start, &key.field("stop"), &order)?;
    }
    Ok((start, stop))
}

fn ping(
    doc: &Doc,
    key: &Key,
    table: &PingTable,
    links: &[&str],
    duration: Dur,
) -> Result<Ping, ScenarioError> {
    let (start, stop) = start_stop(doc, key, table.start, table.stop, Time::ZERO + duration)?;
    let interval = table.interval.0;
    doc.check(interval > Dur::ZERO, &key.field("interval"), "expected more than zero")?;
    let few = duration.0 / interval.0 <= MAX_EVENTS;
    let most = format!("expected at most {MAX_EVENTS} requests in the run");
    doc.check(few, &key.field("interval"), &most)?;
    between(doc, key, "size", u64::from(table.size), 28, 65535)?;
    Ok(Ping {
        name: table.name.clone(),
        udp: matches!(table.protocol, ProtocolName::Udp),
        interval,
        start,
        stop,
        path: path(doc, key, table.path.as_ref(), links)?,
        tos: table.tos.0,
        size: table.size,
    })
}

pub(crate) fn between(
    doc: &Doc,
    key: &Key,
    field: &str,
    value: u64,
    low: u64,
    high: u64,
) -> Result<(), ScenarioError> {
    let message = format!("expected {low} to {high}, got {value}");
    doc.check((low..=high).contains(&value), &key.field(field), &message)
}

/// The first of `tables` that holds a key gives its value; without one ECN is `feedback`.
pub(crate) fn tcp(
    doc: &Doc,
    key: &Key,
    tables: &[&TcpTable],
    feedback: EcnName,
) -> Result<Tcp, ScenarioError> {
    macro_rules! first {
        ($field:ident, $default:expr) => {
            tables.iter().find_map(|table| table.$field).unwrap_or($default)
        };
    }
    macro_rules! flag {
        ($field:ident) => {
            tables.iter().find_map(|table| table.$field)
        };
    }
    let size = |bytes| Quantity(sojourn_core::Bytes(bytes));
    let tcp = Tcp {
        era: match first!(era, EraName::E2020) {
            EraName::E2019 => Era::E2019,
            EraName::E2020 => Era::E2020,
            EraName::E5_15 => Era::E5_15,
            EraName::E6 => Era::E6,
            EraName::E7 => Era::E7,
        },
        ecn: match first!(ecn, feedback) {
            EcnName::AccEcn => EcnMode::AccEcn,
            EcnName::Rfc3168 => EcnMode::Rfc3168,
            EcnName::Dctcp => EcnMode::Dctcp,
            EcnName::Sce => EcnMode::Sce,
            EcnName::Off => EcnMode::Off,
        },
        accecn_option: first!(accecn_option, false),
        ecn_unsafe_cep: first!(ecn_unsafe_cep, false),
        sce_feedback: match first!(sce_feedback, SceName::Advanced) {
            SceName::Advanced => SceMode::Advanced,
            SceName::Dithered => SceMode::Dithered,
        },
        ecn_plus_plus: first!(ecn_plus_plus, false),
        kernel: KernelFlags {
            hystart: flag!(hystart),
            prr: flag!(prr),
            cwnd_limited: flag!(cwnd_limited),
            window_share: flag!(window_share),
            tso_rtt_log: flag!(tso_rtt_log),
            comp_sack_rtt_percent: flag!(comp_sack_rtt_percent),
            comp_sack_slack: flag!(comp_sack_slack).map(|slack| slack.0),
            ace: flag!(ace),
            ack_pushed: flag!(ack_pushed),
            frto: flag!(frto),
            undo: flag!(undo),
        },
        mtu: first!(mtu, 1500),
        timestamps: first!(timestamps, true),
        initial_cwnd: first!(initial_cwnd, 10),
        rmem_default: first!(rmem_default, size(128 << 10)).0.0,
        rmem_max: first!(rmem_max, size(6 << 20)).0.0,
        wmem_max: first!(wmem_max, size(4 << 20)).0.0,
        pacing_ss_ratio: first!(pacing_ss_ratio, 200),
        pacing_ca_ratio: first!(pacing_ca_ratio, 120),
        pacing: first!(pacing, false),
        hz: first!(hz, 1000),
    };
    let kernel = &tcp.kernel;
    for (field, value, low, high) in [
        ("window_share", kernel.window_share, 1, 256),
        ("tso_rtt_log", kernel.tso_rtt_log, 0, 31),
        ("comp_sack_rtt_percent", kernel.comp_sack_rtt_percent, 1, 1000),
    ] {
        if let Some(value) = value {
            between(doc, key, field, u64::from(value), low, high)?;
        }
    }
    between(doc, key, "mtu", u64::from(tcp.mtu), 576, 65535)?;
    between(doc, key, "initial_cwnd", u64::from(tcp.initial_cwnd), 1, 65535)?;
    between(doc, key, "rmem_max", tcp.rmem_max, 4096, i32::MAX as u64)?;
    between(doc, key, "rmem_default", tcp.rmem_default, 4096, tcp.rmem_max)?;
    between(doc, key, "wmem_max", tcp.wmem_max, 4096, i32::MAX as u64)?;
    between(doc, key, "pacing_ss_ratio", u64::from(tcp.pacing_ss_ratio), 1, 1000)?;
    between(doc, key, "pacing_ca_ratio", u64::from(tcp.pacing_ca_ratio), 1, 1000)?;
    let hz = format!("expected 100, 250, 300 or 1000, got {}", tcp.hz);
    doc.check([100, 250, 300, 1000].contains(&tcp.hz), &key.field("hz"), &hz)?;
    Ok(tcp)
}
