//! The scenario file as it is written. These types are the only definition of the format: the JSON
//! Schema is generated from them, and the resolved file is written through them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_core::{Bytes, Dur, RateOrNone};
use sojourn_queue::impair::tunnel::{Dscp, Entropy, Mode};
use sojourn_transport::tcp::{Config, Era, Overlay, PARAMETERS};

use crate::captures::CaptureTable;
use crate::exec::ExecTable;
use crate::groups::{FlowSeries, Interarrival};
use crate::paths::PathTable;
use crate::sample::SampleTable;
use crate::scenario::{Spread, Stack};
use crate::sweep::Sweep;
use crate::text::Tos;

/// One run of a network laboratory: links, flows, pings and scheduled changes.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Sojourn scenario")]
pub(crate) struct File {
    /// Number of the format; default 1, the only one so far.
    #[serde(default = "one")]
    pub(crate) format: u64,
    /// Name of the run.
    pub(crate) name: String,
    /// One sentence for lists and reports.
    #[serde(default)]
    pub(crate) description: String,
    /// Length of the run, such as "60s".
    pub(crate) duration: Dur,
    /// Seed of all random streams.
    #[serde(default = "one")]
    pub(crate) seed: u64,
    /// Interval of the sampled series.
    #[serde(default = "fifty_ms")]
    pub(crate) step: Dur,
    /// Series of flows: of each of the "flows"; of "groups" of flows (`flows = 1000`) quantiles and sums, and of
    /// each other flow its own; or "none". Default "flows" for at most 100 flows, else "groups".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) series: Option<FlowSeries>,
    /// How long the queues have been there, without traffic, when the scenario starts; their timers
    /// have run since, with a phase drawn from the seed.
    #[serde(default = "ten_s")]
    pub(crate) queue_age: Dur,
    /// Window over which the summary is taken.
    #[serde(default)]
    pub(crate) measure: MeasureTable,
    /// Defaults of all flows' TCP endpoints.
    #[serde(default)]
    pub(crate) tcp: Overlay,
    /// What hosts are like.
    #[serde(default, skip_serializing_if = "HostsTable::is_default")]
    pub(crate) hosts: HostsTable,
    /// Links: between nodes, or else a chain in path order, from the senders to the receivers.
    #[serde(default)]
    pub(crate) link: Vec<LinkTable>,
    /// Flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) flow: Vec<FlowTable>,
    /// Echo trains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) ping: Vec<PingTable>,
    /// Tunnels around runs of links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tunnel: Vec<TunnelTable>,
    /// Changes during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) schedule: Vec<ScheduleTable>,
    /// Capture files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) capture: Vec<CaptureTable>,
    /// Axes of a sweep: dotted name to the values it takes. The product of all axes is run, the
    /// first axis changing slowest. In `[[sweep]]` each table is an axis, whose names advance together.
    #[serde(default, skip_serializing)]
    pub(crate) sweep: Sweep,
    /// Points spread over ranges; all of them are run with every combination of the sweep.
    #[serde(default, skip_serializing)]
    pub(crate) sample: Option<SampleTable>,
}

/// What hosts are like.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostsTable {
    /// What they do to timing: "none" (default), or "linux" with parameters, such as
    /// "linux coalesce 50us". Its defaults are fitted to captures of a testbed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) noise: Option<String>,
}

impl HostsTable {
    fn is_default(&self) -> bool {
        self.noise.is_none()
    }
}

/// Window over which the summary is taken, and `[measure.NAME]`: further ones.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub(crate) struct MeasureTable {
    /// Start of the window; default "0s".
    pub(crate) from: Option<Dur>,
    /// End of the window; default the end of the run.
    pub(crate) to: Option<Dur>,
    /// Further windows by name: letters, digits, `_` and `-`.
    #[serde(flatten)]
    pub(crate) windows: BTreeMap<String, WindowTable>,
}

/// A further window.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WindowTable {
    /// Start of the window; default "0s".
    pub(crate) from: Option<Dur>,
    /// End of the window; default the end of the run.
    pub(crate) to: Option<Dur>,
}

/// A hop between two nodes. Packets pass the ingress elements, the queue with its shaper, the
/// wire and the propagation delay, in this order.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkTable {
    /// Name, unique among links: letters, digits, `_` and `-`.
    pub(crate) name: String,
    /// The node from which it runs forward. The links of a file have nodes, or they are a chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// The node to which it runs forward.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<String>,
    /// Rate of the shaper if there is one, else of the wire; "none" (default) is infinitely fast.
    pub(crate) rate: Option<RateOrNone>,
    /// Shaper around the queue, in tc's syntax without the rate: "htb", "htb burst 1600b"; "none"
    /// (default) leaves the serialisation to the wire.
    pub(crate) shaper: Option<String>,
    /// Size table around shaper and queue in tc's syntax, such as "overhead 38 mpu 84": what they
    /// count for a frame; "none" (default) is its length.
    pub(crate) stab: Option<String>,
    /// Queue in tc's syntax, such as "dualpi2 step_thresh 1ms"; default "pfifo".
    pub(crate) qdisc: Option<String>,
    /// Elements before the queue in tc's syntax, such as `["netem delay 10ms"]`; default none.
    pub(crate) ingress: Option<Vec<String>>,
    /// Propagation delay, one way; default "0s".
    pub(crate) delay: Option<Dur>,
    /// What differs on the way back; every key defaults to the forward direction's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reverse: Option<DirectionTable>,
}

/// What differs on the way back.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DirectionTable {
    /// Rate of the shaper if there is one, else of the wire. "none" also removes an inherited
    /// shaper and size table.
    pub(crate) rate: Option<RateOrNone>,
    /// Shaper in tc's syntax without the rate, or "none".
    pub(crate) shaper: Option<String>,
    /// Size table in tc's syntax, or "none".
    pub(crate) stab: Option<String>,
    /// Queue in tc's syntax.
    pub(crate) qdisc: Option<String>,
    /// Elements before the queue in tc's syntax.
    pub(crate) ingress: Option<Vec<String>>,
    /// Propagation delay, one way.
    pub(crate) delay: Option<Dur>,
}

/// A flow: what it carries, between whom, and when.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowTable {
    /// Name, unique among flows and pings: letters, digits, `_` and `-`.
    pub(crate) name: String,
    /// Congestion controller and its parameters, such as "prague" or "prague version p2b"; an
    /// application over UDP without congestion control has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cc: Option<String>,
    /// Application and its parameters, such as "short load 5Mbit" or "cbr rate 2Mbit size 1200";
    /// default "bulk".
    #[serde(default = "bulk")]
    pub(crate) app: String,
    /// Where its data travel: "down" (default) crosses the links forward, "up" backward.
    #[serde(default)]
    pub(crate) direction: DirectionName,
    /// A group of this number of flows, named NAME-1, NAME-2 and so on; default one under its own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) flows: Option<u32>,
    /// When it connects.
    #[serde(default = "zero")]
    pub(crate) start: Dur,
    /// A uniform random time below this, drawn from the seed, is added to the start.
    #[serde(default = "zero")]
    pub(crate) start_jitter: Dur,
    /// Time between the starts of a group's flows, of which the first begins at `start`: "10ms",
    /// "exponential 10ms" (Poisson arrivals) or "uniform 5ms 15ms"; default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) interarrival: Option<Interarrival>,
    /// Round trips of the application's control connection before the data connection opens
    /// (netperf: 2).
    #[serde(default)]
    pub(crate) control_rtts: u32,
    /// When its application stops sending; default the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Dur>,
    /// How much it sends, such as "10Mb"; default unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<Bytes>,
    /// The node at which it begins, if the links are between nodes: needed without `path`, and there to
    /// say from which end a single link is crossed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// The node at which it ends. Without `path` it takes the fewest links from `from`; of several such
    /// paths the one whose links come first in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<String>,
    /// Names of the links it crosses, in order; default all links of a chain. `[["a"], ["b"]]`: several
    /// paths between the same two nodes.
    pub(crate) path: Option<PathTable>,
    /// Which of several paths is taken: by "flow" (default), all packets of a direction take one, drawn
    /// from the seed; by "packet", they take them in turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) multipath: Option<Spread>,
    /// Shares of several paths, such as `[2, 1]`; default equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weights: Option<Vec<u32>>,
    /// Whose end points it has in live runs: those of the "kernel", or of "sojourn"; default the kernel's if
    /// it can carry the flow out. A simulated run has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stack: Option<Stack>,
    /// Commands of your own in the place of its end points, in live runs that allow it: the client's, or
    /// `{ client = "...", server = "..." }`. Words are split as in a shell, which reads none of them;
    /// `{client}`, `{server}` and `{port}` are the addresses of the two hosts and a port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exec: Option<ExecTable>,
    /// TOS byte; of TCP its two ECN bits are zero.
    #[serde(default = "tos_zero")]
    pub(crate) tos: Tos,
    /// Name of the flow whose hash its packets carry, so that flow queues put both into one
    /// bucket; default a hash of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hash_of: Option<String>,
    /// What differs from the file's `[tcp]`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(crate) tcp: Overlay,
}

/// Where the data of a flow travel.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DirectionName {
    /// Across the links forward.
    #[default]
    Down,
    /// Across the links backward.
    Up,
}

/// An echo train, over ICMP or UDP.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PingTable {
    /// Name, unique among flows and pings: letters, digits, `_` and `-`.
    pub(crate) name: String,
    /// "icmp" (default) or "udp".
    #[serde(default)]
    pub(crate) protocol: ProtocolName,
    /// Time between requests.
    #[serde(default = "two_hundred_ms")]
    pub(crate) interval: Dur,
    /// First request.
    #[serde(default = "zero")]
    pub(crate) start: Dur,
    /// No request after this; default the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Dur>,
    /// The node at which it begins, if the links are between nodes: needed without `path`, and there to
    /// say from which end a single link is crossed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// The node at which it ends. Without `path` it takes the fewest links from `from`; of several such
    /// paths the one whose links come first in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<String>,
    /// Names of the links it crosses, in order; default all links of a chain. `[["a"], ["b"]]`: several
    /// paths between the same two nodes.
    pub(crate) path: Option<PathTable>,
    /// Which of several paths is taken: by "flow" (default), all packets of a direction take one, drawn
    /// from the seed; by "packet", they take them in turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) multipath: Option<Spread>,
    /// Shares of several paths, such as `[2, 1]`; default equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weights: Option<Vec<u32>>,
    /// TOS byte of request and reply, ECN bits included.
    #[serde(default = "tos_zero")]
    pub(crate) tos: Tos,
    /// IP bytes of a packet.
    #[serde(default = "ping_size")]
    pub(crate) size: u32,
}

/// Protocol of an echo train.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProtocolName {
    /// ICMP echo.
    #[default]
    Icmp,
    /// UDP, as irtt.
    Udp,
}

/// A tunnel around a run of links, in both directions. The ends are ports of their own, before
/// the ingress elements of the first link and after the last link.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TunnelTable {
    /// Name, unique among tunnels and links: letters, digits, `_` and `-`.
    pub(crate) name: String,
    /// Names of the links between its ends, in the order in which paths cross them.
    pub(crate) links: Vec<String>,
    /// Names of the flows and pings inside it; default all that cross these links.
    pub(crate) flows: Option<Vec<String>>,
    /// Bytes of the outer headers; default 60 (WireGuard over IPv4).
    #[serde(default = "wireguard")]
    pub(crate) overhead: u32,
    /// Outer codepoint; default "normal".
    #[serde(default)]
    pub(crate) ecn: Mode,
    /// Outer DSCP; default "copy".
    #[serde(default)]
    pub(crate) dscp: Dscp,
    /// What flow queues find to tell inner flows apart; default "one".
    #[serde(default)]
    pub(crate) entropy: Entropy,
    /// Packets behind the highest sequence number that the egress still takes; default all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replay_window: Option<u32>,
}

/// Changes at one instant, or spread over a time. A name such as `link.bneck.rate` means both directions,
/// `link.bneck.forward.rate` or `link.bneck.reverse.rate` one.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleTable {
    /// When.
    pub(crate) at: Dur,
    /// Approach the new `rate` or `delay` in equal steps over this time, from the value in force;
    /// default at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) over: Option<Dur>,
    /// Time between the steps; default "100ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<Dur>,
    /// Changes that keep the queued packets: `rate`, `delay`, and `qdisc` with parameters of the same
    /// discipline.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) set: BTreeMap<String, String>,
    /// New elements that discard the queued packets: `qdisc`, or `ingress0` and so on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) replace: BTreeMap<String, String>,
}

fn is_empty(table: &Overlay) -> bool {
    *table == Overlay::default()
}

fn bulk() -> String {
    "bulk".to_owned()
}

fn one() -> u64 {
    1
}

fn zero() -> Dur {
    Dur::ZERO
}

fn fifty_ms() -> Dur {
    Dur::from_millis(50)
}

fn ten_s() -> Dur {
    Dur::from_secs(10)
}

fn two_hundred_ms() -> Dur {
    Dur::from_millis(200)
}

fn tos_zero() -> Tos {
    Tos(0)
}

fn ping_size() -> u32 {
    84
}

fn wireguard() -> u32 {
    60
}

/// The JSON Schema of the scenario file, for editors and other front ends.
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(File);
    let of = |era| serde_json::to_value(Overlay::from(&Config::of(era))).expect("plain values");
    let eras = Era::ALL.map(of);
    for parameter in PARAMETERS {
        let place = format!("/$defs/Tcp/properties/{}", parameter.key);
        let property = schema.pointer_mut(&place).expect("a key of the table");
        let [default, later @ ..] = eras.each_ref().map(|values| &values[parameter.key]);
        if later.iter().all(|value| *value == default) {
            property["default"] = default.clone();
        } else {
            let sentence = property["description"].as_str().unwrap_or_default();
            property["description"] = format!("{sentence} Default: the era's.").into();
        }
        if let (Some((low, high)), true) = (parameter.bounds, default.is_number()) {
            (property["minimum"], property["maximum"]) = (low.into(), high.into());
        }
    }
    format!("{:#}\n", schema.as_value())
}
