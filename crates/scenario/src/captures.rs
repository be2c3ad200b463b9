//! The `[[capture]]` tables: which packets a run writes to capture files, and where it sees them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_core::{Dur, Time};

use crate::check::{Key, between, name, start_stop};
use crate::doc::Doc;
use crate::error::{ScenarioError, unknown};
use crate::names::Names;
use crate::scenario::{Link, Scenario};

/// Bytes of a packet that a file keeps, at least: the headers of IPv6 and TCP without options.
const LEAST_SNAPLEN: u64 = 60;
/// And at most: a whole super-packet. tcpdump's default.
const MOST_SNAPLEN: u64 = 262_144;
/// The two hosts of a chain: the near and the far ends of its paths, as in the names of the kernel's.
const CHAIN_HOSTS: [&str; 2] = ["cli", "srv"];

/// A capture file, `NAME.pcapng` in the folder of the run.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaptureTable {
    /// Name, unique among captures: letters, digits, `_` and `-`. The file is `NAME.pcapng`.
    pub(crate) name: String,
    /// Where packets are seen; each place is an interface of the file.
    pub(crate) points: Vec<PointTable>,
    /// Names of the flows and pings whose packets are kept; default all.
    pub(crate) flows: Option<Vec<String>>,
    /// Bytes that are kept of a packet; default 128.
    #[serde(default = "snaplen")]
    pub(crate) snaplen: u32,
    /// From when on packets are kept.
    #[serde(default = "zero")]
    pub(crate) start: Dur,
    /// Until when; default the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Dur>,
    /// Whether packets that leave a queue or are dropped have its state as a comment; default true.
    #[serde(default = "yes")]
    pub(crate) comments: bool,
}

/// Where packets are seen: exactly one of `link`, `flow` and `host`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PointTable {
    /// At the queue of this link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) link: Option<String>,
    /// At the hosts of this flow or ping, its packets only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) flow: Option<String>,
    /// At this host, what it sends and receives: a node, or in a chain "cli" at the near ends of the paths and
    /// "srv" at the far ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<String>,
    /// Of a link "in", "out" and "drop": before the queue, behind it, and what it or an element before it drops.
    /// Of a flow "sender" and "receiver": the ends that send its data, of a ping the requests, and that get them.
    /// Default all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Vec<At>>,
    /// Of a link: "forward", "reverse" or "both" (default).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) direction: Option<Way>,
}

/// A place at a link or a flow.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum At {
    /// Before the queue of a link, behind its ingress elements.
    In,
    /// What leaves the queue of a link.
    Out,
    /// What the queue of a link, or an ingress element, drops.
    Drop,
    /// The end of a flow that sends its data.
    Sender,
    /// The end of a flow that receives its data.
    Receiver,
}

/// Directions of a link.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Way {
    /// Forward.
    Forward,
    /// Backward.
    Reverse,
    /// Both.
    #[default]
    Both,
}

fn snaplen() -> u32 {
    128
}

fn zero() -> Dur {
    Dur::ZERO
}

fn yes() -> bool {
    true
}

/// Packets that a run keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Name, unique among captures; the file is `NAME.pcapng`.
    pub name: String,
    /// Where packets are seen, in the order of the file's interfaces; at least one, none twice.
    pub points: Vec<Point>,
    /// Numbers of the flows and pings, flows first, whose packets are kept, in ascending order.
    pub flows: Vec<usize>,
    /// Bytes that are kept of a packet.
    pub snaplen: u32,
    /// From when on packets are kept.
    pub start: Time,
    /// Until when; `None` to the end of the run.
    pub stop: Option<Time>,
    /// Whether packets have the state of the queue as a comment.
    pub comments: bool,
}

/// Where packets are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// At a direction of a link.
    Link {
        /// Index into [`Scenario::links`].
        link: usize,
        /// Which direction.
        forward: bool,
        /// Where there.
        place: Place,
    },
    /// What one flow sends and receives at one end.
    End {
        /// Number of the flow or ping, flows first.
        flow: usize,
        /// Whether it is the end that sends the data, or the requests of a ping.
        sends: bool,
    },
    /// What a host sends and receives: an index into [`Scenario::hosts`]; in a chain 0 is at the near ends of
    /// the paths and 1 at the far ones.
    Host(usize),
}

/// Where at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before the queue, behind the ingress elements.
    In,
    /// Behind the queue.
    Out,
    /// What the queue or an ingress element drops.
    Drop,
}

impl Place {
    const ALL: [(Self, At, &str); 3] =
        [(Self::In, At::In, "in"), (Self::Out, At::Out, "out"), (Self::Drop, At::Drop, "drop")];
}

impl Capture {
    /// Name of the file.
    pub fn file_name(&self) -> String {
        format!("{}.pcapng", self.name)
    }

    /// Whether it keeps what is seen at this instant.
    pub fn is_on(&self, at: Time) -> bool {
        self.start <= at && self.stop.is_none_or(|stop| at < stop)
    }
}

impl Point {
    /// Name of the file's interface: `bneck.in`, `bneck.reverse.out`, `prague.sender`, `srv`.
    pub fn name(self, scenario: &Scenario) -> String {
        match self {
            Self::Link { link, forward, place } => {
                let way = if forward { "" } else { ".reverse" };
                let (.., place) =
                    Place::ALL.iter().find(|(p, ..)| *p == place).expect("all are there");
                format!("{}{way}.{place}", scenario.links[link].name)
            }
            Self::End { flow, sends } => {
                let end = if sends { "sender" } else { "receiver" };
                format!("{}.{end}", scenario.flow_or_ping(flow))
            }
            Self::Host(host) => host_names(&scenario.nodes, &scenario.hosts())[host].clone(),
        }
    }

    /// The table of this point alone.
    fn table(self, scenario: &Scenario) -> PointTable {
        match self {
            Self::Link { link, forward, place } => {
                let (_, at, _) =
                    Place::ALL.iter().find(|(p, ..)| *p == place).expect("all are there");
                PointTable {
                    link: Some(scenario.links[link].name.clone()),
                    at: Some(vec![*at]),
                    direction: Some(if forward { Way::Forward } else { Way::Reverse }),
                    ..PointTable::default()
                }
            }
            Self::End { flow, sends } => PointTable {
                flow: Some(scenario.flow_or_ping(flow).to_owned()),
                at: Some(vec![if sends { At::Sender } else { At::Receiver }]),
                ..PointTable::default()
            },
            Self::Host(_) => {
                PointTable { host: Some(self.name(scenario)), ..PointTable::default() }
            }
        }
    }
}

impl Scenario {
    /// The name of the flow or ping with this number, flows first.
    pub(crate) fn flow_or_ping(&self, number: usize) -> &str {
        match self.flows.get(number) {
            Some(flow) => &flow.name,
            None => &self.pings[number - self.flows.len()].name,
        }
    }

    /// The number of the end, as engines count them, that sends the data of the flow with this number, or the
    /// requests of a ping.
    pub fn sending_end(&self, number: usize) -> usize {
        let pulls = self.flows.get(number).is_some_and(|flow| flow.app.build().pulls());
        2 * number + usize::from(pulls)
    }
}

/// What the file calls the hosts.
fn host_names(nodes: &[String], hosts: &[usize]) -> Vec<String> {
    if nodes.is_empty() {
        return CHAIN_HOSTS.map(str::to_owned).to_vec();
    }
    hosts.iter().map(|host| nodes[*host].clone()).collect()
}

/// What points are named after.
pub(crate) struct Places<'s> {
    pub(crate) links: &'s [Link],
    /// Flows and pings, and how many they are.
    pub(crate) names: Names<'s>,
    pub(crate) count: usize,
    pub(crate) nodes: &'s [String],
    /// As [`Scenario::hosts`].
    pub(crate) hosts: &'s [usize],
}

pub(crate) fn captures(
    doc: &Doc,
    tables: &[CaptureTable],
    places: &Places<'_>,
    end: Time,
) -> Result<Vec<Capture>, ScenarioError> {
    let mut captures = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let key = Key::entry("capture", index, &table.name);
        name(doc, &key, &table.name, tables[..index].iter().map(|t| t.name.as_str()))?;
        between(doc, &key, "snaplen", table.snaplen.into(), LEAST_SNAPLEN, MOST_SNAPLEN)?;
        let (start, stop) = start_stop(doc, &key, table.start, table.stop, end)?;
        captures.push(Capture {
            name: table.name.clone(),
            points: points(doc, &key.field("points"), &table.points, places)?,
            flows: match &table.flows {
                Some(named) => places.names.members(doc, &key.field("flows"), named)?,
                None => (0..places.count).collect(),
            },
            snaplen: table.snaplen,
            start,
            stop,
            comments: table.comments,
        });
    }
    Ok(captures)
}

fn points(
    doc: &Doc,
    key: &Key,
    tables: &[PointTable],
    places: &Places<'_>,
) -> Result<Vec<Point>, ScenarioError> {
    doc.check(!tables.is_empty(), key, "expected at least one place")?;
    let mut points = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let key = key.field(&index.to_string());
        for point in of_table(doc, &key, table, places)? {
            doc.check(!points.contains(&point), &key, "this place is named twice")?;
            points.push(point);
        }
    }
    Ok(points)
}

fn of_table(
    doc: &Doc,
    key: &Key,
    table: &PointTable,
    places: &Places<'_>,
) -> Result<Vec<Point>, ScenarioError> {
    let PointTable { link, flow, host, at, direction } = table;
    let one = "expected exactly one of link, flow and host";
    doc.check([link, flow, host].iter().filter(|given| given.is_some()).count() == 1, key, one)?;
    let empty = at.as_ref().is_some_and(Vec::is_empty);
    doc.check(!empty, &key.field("at"), "expected at least one place")?;
    let of_link = link.is_some() || direction.is_none();
    doc.check(of_link, &key.field("direction"), "only a link has directions")?;
    let wanted = |all: &[At], what: &str| match at {
        None => Ok(all.to_vec()),
        Some(at) if at.iter().all(|at| all.contains(at)) => Ok(at.clone()),
        Some(_) => Err(doc.fail(&key.field("at"), format!("expected {what}"))),
    };
    if let Some(name) = link {
        let names: Vec<&str> = places.links.iter().map(|link| link.name.as_str()).collect();
        let found = names.iter().position(|known| known == name);
        let link =
            found.ok_or_else(|| doc.fail(&key.field("link"), unknown("link", name, &names)))?;
        let at = wanted(&Place::ALL.map(|(_, at, _)| at), "in, out and drop of a link")?;
        let ways: &[bool] = match direction.unwrap_or_default() {
            Way::Forward => &[true],
            Way::Reverse => &[false],
            Way::Both => &[true, false],
        };
        let places = at.iter().filter_map(|at| Place::ALL.iter().find(|(_, known, _)| known == at));
        let point = |forward: bool| {
            places.clone().map(move |(place, ..)| Point::Link { link, forward, place: *place })
        };
        return Ok(ways.iter().flat_map(|forward| point(*forward)).collect());
    }
    if let Some(name) = flow {
        let flow = places.names.one(doc, &key.field("flow"), name)?;
        let at = wanted(&[At::Sender, At::Receiver], "sender and receiver of a flow")?;
        return Ok(at.iter().map(|at| Point::End { flow, sends: *at == At::Sender }).collect());
    }
    doc.check(at.is_none(), &key.field("at"), "only links and flows have several places")?;
    let name = host.as_deref().unwrap_or_default();
    let names = host_names(places.nodes, places.hosts);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = names.iter().position(|known| *known == name);
    let host = found.ok_or_else(|| doc.fail(&key.field("host"), unknown("host", name, &names)))?;
    Ok(vec![Point::Host(host)])
}

/// As the resolved file has it: a table for each point, and every default.
pub(crate) fn written(capture: &Capture, scenario: &Scenario) -> CaptureTable {
    let since_start = |time: Time| time.since(Time::ZERO);
    CaptureTable {
        name: capture.name.clone(),
        points: capture.points.iter().map(|point| point.table(scenario)).collect(),
        flows: Some(scenario.names_of(&capture.flows)).filter(|flows| !flows.is_empty()),
        snaplen: capture.snaplen,
        start: since_start(capture.start),
        stop: capture.stop.map(since_start),
        comments: capture.comments,
    }
}
