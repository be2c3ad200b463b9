//! A validated scenario. After parsing there is no invalid state left for an engine to check:
//! names are resolved to indices, every algorithm text has been built once, times are in order.

use sojourn_cc as cc;
use sojourn_core::grammar::Given;
use sojourn_core::{Dur, Rate, Rng, Time};
use sojourn_queue::aqm::Spec;
use sojourn_queue::impair::tunnel;
use sojourn_queue::traces::Traces;
use sojourn_transport::app::{self, App};
use sojourn_transport::tcp;

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
    /// How long the queues have been there, without traffic, when the scenario starts.
    pub queue_age: Dur,
    /// Window of the summary.
    pub measure: Measure,
    /// Further windows, by name.
    pub windows: Vec<(String, Measure)>,
    /// Links in path order.
    pub links: Vec<Link>,
    /// Flows in file order.
    pub flows: Vec<Flow>,
    /// Pings in file order.
    pub pings: Vec<Ping>,
    /// Tunnels in file order.
    pub tunnels: Vec<Tunnel>,
    /// Scheduled changes, sorted by time.
    pub schedule: Vec<Change>,
    /// The trace files that elements name.
    pub traces: Traces,
}

impl Scenario {
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
    /// From the flows' senders to their receivers.
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
    /// Whether the end that opens it stands at the far end of the path.
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
    /// Links it crosses, as indices into [`Scenario::links`], in order.
    pub path: Vec<usize>,
    /// DSCP in the TOS byte; of TCP the ECN bits are zero.
    pub tos: u8,
    /// The flow, as an index into [`Scenario::flows`], whose hashes its packets carry.
    pub hash_of: Option<usize>,
    /// Parameters of both endpoints.
    pub tcp: tcp::Config,
}

impl Flow {
    /// When it connects in a run with this seed: its start and the random time after it.
    pub fn opens(&self, seed: u64) -> Time {
        let mut rng = Rng::named(seed, &format!("flow.{}.start", self.name));
        self.start + Dur((rng.unit() * self.start_jitter.0 as f64) as u64)
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
    /// Links it crosses, in order.
    pub path: Vec<usize>,
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
    /// Links between its ends, as indices into [`Scenario::links`], in the order of the paths.
    pub links: Vec<usize>,
    /// Flows inside it, as indices into [`Scenario::flows`].
    pub flows: Vec<usize>,
    /// Pings inside it, as indices into [`Scenario::pings`].
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
