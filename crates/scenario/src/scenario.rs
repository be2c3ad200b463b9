//! A validated scenario. After parsing there is no invalid state left for an engine to check:
//! names are resolved to indices, every algorithm text has been built once, times are in order.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_cc::{self as cc, Feedback};
use sojourn_core::grammar::Given;
use sojourn_core::{Dur, Rate, Rng, Time};
use sojourn_queue::aqm::Spec;
use sojourn_queue::impair::tunnel;
use sojourn_queue::traces::Traces;
use sojourn_transport::app::{self, App};
use sojourn_transport::media::{Encoder, HEADERS};
use sojourn_transport::tcp;

use crate::captures::Capture;
use crate::exec::Exec;
use crate::groups::{FlowSeries, Group};
use crate::noise::Noise;

/// One run, completely described.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Name of the run; a stable id in suites (`ect1/l4s-s2-twoflow/cubic-vs-prague/dualpi2/20ms`).
    pub name: String,
    /// One sentence for lists and reports.
    pub description: String,
    /// Length of the run.
    pub duration: Dur,
    /// Seed of all random streams.
    pub seed: u64,
    /// Interval of the sampled series.
    pub step: Dur,
    /// What is recorded of flows.
    pub series: FlowSeries,
    /// How long the queues have been there, without traffic, when the scenario starts.
    pub queue_age: Dur,
    /// What hosts do to timing; none: they take no time.
    pub noise: Option<Noise>,
    /// Window of the summary.
    pub measure: Measure,
    /// Further windows, by name.
    pub windows: Vec<(String, Measure)>,
    /// Names of the nodes between which the links run, in order of appearance; empty for a chain.
    pub nodes: Vec<String>,
    /// Links in file order: in a chain, that of the paths.
    pub links: Vec<Link>,
    /// Flows in file order; those of groups one after the other.
    pub flows: Vec<Flow>,
    /// Groups of flows in file order.
    pub groups: Vec<Group>,
    /// Pings in file order.
    pub pings: Vec<Ping>,
    /// Tunnels in file order.
    pub tunnels: Vec<Tunnel>,
    /// Scheduled changes, sorted by time.
    pub schedule: Vec<Change>,
    /// Capture files in file order.
    pub captures: Vec<Capture>,
    /// The trace files that elements name.
    pub traces: Traces,
}

impl Scenario {
    /// The nodes at the near and at the far end of a path; none in a chain.
    pub fn ends(&self, path: &Path) -> Option<[usize; 2]> {
        let ends = |hop: Hop| self.links[hop.link].ends;
        let (first, last) = (path.hops[0], path.hops[path.hops.len() - 1]);
        Some([ends(first)?[usize::from(!first.forward)], ends(last)?[usize::from(last.forward)]])
    }

    /// The nodes at which paths begin or end, each once, in order of appearance; empty for a chain.
    pub fn hosts(&self) -> Vec<usize> {
        let flows = self.flows.iter().map(Flow::path);
        let paths = flows.chain(self.pings.iter().map(|ping| &ping.paths[0]));
        let mut is_host = vec![false; self.nodes.len()];
        let is_new = |node: &usize| !std::mem::replace(&mut is_host[*node], true);
        paths.filter_map(|path| self.ends(path)).flatten().filter(is_new).collect()
    }

    /// The window of the summary, then those with a name.
    pub fn all_windows(&self) -> impl Iterator<Item = Measure> {
        std::iter::once(self.measure).chain(self.windows.iter().map(|(_, window)| *window))
    }
}

/// Window over which summary statistics are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Start of the window.
    pub from: Time,
    /// End of the window.
    pub to: Time,
}

impl Measure {
    /// Whether it holds this instant.
    pub fn contains(self, at: Time) -> bool {
        self.from <= at && at < self.to
    }
}

/// A hop between two nodes, in both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Name, unique among links.
    pub name: String,
    /// The nodes from and to which it runs forward, as indices into [`Scenario::nodes`]; `None` in a
    /// chain.
    pub ends: Option<[usize; 2]>,
    /// From its first node to its second; in a chain, from the near ends of the paths to the far ones.
    pub forward: Direction,
    /// The way back.
    pub reverse: Direction,
}

/// One direction of a link, in the order in which packets pass: ingress elements, the egress
/// queue with its shaper, the wire, propagation.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// Elements before the queue, such as `netem delay 10ms limit 1000000`.
    pub ingress: Vec<Spec>,
    /// Shaper around the queue with its rate, such as `htb rate 50Mbit`; `None` leaves the
    /// serialisation to the wire.
    pub shaper: Option<Spec>,
    /// Size table around shaper and queue, such as `stab overhead 38 mpu 84`.
    pub stab: Option<Spec>,
    /// The queue.
    pub qdisc: Spec,
    /// Rate of the wire; `None` is infinitely fast.
    pub wire: Option<Rate>,
    /// Propagation delay after the queue.
    pub delay: Dur,
}

/// A link as a path crosses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Index into [`Scenario::links`].
    pub link: usize,
    /// Whether what travels from the near to the far end of the path crosses the link forward.
    pub forward: bool,
}

impl Hop {
    /// The same link, crossed the other way.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { forward: !self.forward, ..self }
    }
}

/// Links from the near end of a flow or ping to the far one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// In the order in which they are crossed; each link once.
    pub hops: Vec<Hop>,
    /// Its share beside the other paths; above zero.
    pub weight: u32,
}

impl Path {
    /// Indices of the links, in order.
    pub fn links(&self) -> impl Iterator<Item = usize> + '_ {
        self.hops.iter().map(|hop| hop.link)
    }
}

/// Whose end points send and receive real packets.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stack {
    /// The kernel's.
    Kernel,
    /// The simulator's, with all headers.
    Sojourn,
    /// The simulator's over UDP of the kernel: media and `udp-prague`.
    Scream,
}

impl Stack {
    /// As scenarios write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Sojourn => "sojourn",
            Self::Scream => "scream",
        }
    }
}

impl Flow {
    /// Whether its controller sends UDP: media, and `udp-prague`.
    pub fn controls_udp(&self) -> bool {
        let counters = Some(Feedback::Counters);
        let counts = self.cc.as_ref().is_some_and(|cc| cc.needs().feedback == counters);
        counts || matches!(self.app.build(), App::Media(_))
    }

    /// Whether it is of TCP connections.
    pub fn is_tcp(&self) -> bool {
        self.cc.is_some() && !self.controls_udp()
    }

    /// IP bytes of its largest packet of media that is not cut to the MTU.
    pub fn largest_media(&self) -> Option<u32> {
        let setup = self.cc.as_ref()?.scream()?;
        let App::Media(media) = self.app.build() else { return None };
        match media.encoder {
            Encoder::Tool(_) => setup.config.mtus.iter().max().map(|payload| payload + HEADERS),
            Encoder::Video(params) => Some(params.packet),
        }
    }
}

/// How packets are spread over several paths.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum Spread {
    /// All packets of a flow in one direction take one path, drawn from the seed by weight.
    #[default]
    #[serde(rename = "flow")]
    ByFlow,
    /// Packets take the paths in turn, by weight.
    #[serde(rename = "packet")]
    ByPacket,
}

impl Direction {
    /// The rate that the shaper's parameters state, or else that of the wire.
    pub fn rate(&self) -> Option<Rate> {
        let Some(shaper) = &self.shaper else { return self.wire };
        let parts = shaper.written();
        let part = parts.iter().find(|part| part.name == "rate")?;
        Rate::parse_tc(part.text.strip_prefix("rate ")?)
    }
}

/// A flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Name, unique among flows and pings.
    pub name: String,
    /// Application, such as `bulk` or `cbr rate 2Mbit size 1200`.
    pub app: app::Spec,
    /// Congestion controller, such as `prague version p2b`; an application over UDP has none.
    pub cc: Option<cc::Spec>,
    /// Whether its data cross the links backward.
    pub up: bool,
    /// Whether the end that opens it is at the far end of the path.
    pub opens_far: bool,
    /// When it connects.
    pub start: Time,
    /// A uniform random time below this, drawn from the seed, is added to the start.
    pub start_jitter: Dur,
    /// Round trips of the application's control connection before the data connection opens
    /// (netperf: 2).
    pub control_rtts: u32,
    /// When its application stops sending; `None` at the end of the run.
    pub stop: Option<Time>,
    /// Bytes to send; `None` is unlimited.
    pub bytes: Option<u64>,
    /// Paths that it may take, at least one; all between the same two nodes. The flows of a group share them.
    pub paths: Arc<[Path]>,
    /// How its packets are spread over them.
    pub spread: Spread,
    /// DSCP in the TOS byte; of TCP the ECN bits are zero.
    pub tos: u8,
    /// The flow, as an index into [`Scenario::flows`], whose hashes its packets carry.
    pub hash_of: Option<usize>,
    /// Whose end points are at its ends where packets are real; `None`: the kernel's if it has them.
    pub stack: Option<Stack>,
    /// The programs that are its end points, if its application is `exec`.
    pub exec: Option<Exec>,
    /// Parameters of both endpoints.
    pub tcp: tcp::Config,
}

impl Flow {
    /// When it connects in a run with this seed: its start and the random time after it.
    pub fn opens(&self, seed: u64) -> Time {
        let mut rng = Rng::named(seed, &format!("flow.{}.start", self.name));
        self.start + Dur((rng.unit() * self.start_jitter.0 as f64) as u64)
    }

    /// Whether its hosts' kernels have TCP connections for it, or may have.
    pub fn uses_kernel_tcp(&self) -> bool {
        self.is_tcp() || self.exec.is_some()
    }

    /// Its only path, or the first of several.
    pub fn path(&self) -> &Path {
        &self.paths[0]
    }

    /// Whether it wants all that it can get to the end, so that its share tells of fairness.
    pub fn is_greedy(&self) -> bool {
        self.bytes.is_none() && self.app.build() == App::Bulk
    }
}

/// An echo train.
#[derive(Clone, Debug, PartialEq)]
pub struct Ping {
    /// Name, unique among flows and pings.
    pub name: String,
    /// Whether it goes over UDP instead of ICMP.
    pub udp: bool,
    /// Time between requests.
    pub interval: Dur,
    /// First request.
    pub start: Time,
    /// No request after this; `None` at the end of the run.
    pub stop: Option<Time>,
    /// Paths that it may take, at least one; all between the same two nodes.
    pub paths: Arc<[Path]>,
    /// How its packets are spread over them.
    pub spread: Spread,
    /// TOS byte of request and reply, ECN bits included.
    pub tos: u8,
    /// IP bytes of a packet (84 for the usual 56 bytes of payload).
    pub size: u32,
}

/// A tunnel around a run of links, in both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Tunnel {
    /// Name, unique among tunnels and links.
    pub name: String,
    /// Links between its ends.
    pub links: Vec<Hop>,
    /// Flows inside it, as indices into [`Scenario::flows`], in ascending order.
    pub flows: Vec<usize>,
    /// Pings inside it, as indices into [`Scenario::pings`], in ascending order.
    pub pings: Vec<usize>,
    /// Bytes of the outer headers.
    pub overhead: u32,
    /// Outer codepoint.
    pub ecn: tunnel::Mode,
    /// Outer DSCP.
    pub dscp: tunnel::Dscp,
    /// Outer flow hash.
    pub entropy: tunnel::Entropy,
    /// Packets of the egress's replay window, if it has one.
    pub replay_window: Option<u32>,
}

/// A scheduled change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// When.
    pub at: Time,
    /// Index into [`Scenario::links`].
    pub link: usize,
    /// Whether the forward direction changes.
    pub forward: bool,
    /// Whether the reverse direction changes.
    pub reverse: bool,
    /// What.
    pub edit: Edit,
}

/// What a scheduled change does to a direction.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// `tc class change` or a new wire rate: keeps packets and state.
    Rate(Rate),
    /// `tc qdisc change` to these parameters, of which the file states some: keeps packets and state.
    Change(Spec, Given),
    /// `tc qdisc replace`: discards the queued packets.
    Replace(Spec),
    /// `tc qdisc replace` of an ingress element.
    Ingress(usize, Spec),
    /// New propagation delay.
    Delay(Dur),
}
