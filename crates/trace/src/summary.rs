//! Totals and statistics of flows, pings and queues, as they are in `summary.json` and
//! `queue.json`.

use std::borrow::Cow;
use std::fmt::{self, Formatter};

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use crate::classic::ClassicDetection;
use crate::completion::Completions;
use crate::frames::FrameSummary;
use crate::marks::Marks;
use crate::metrics::{DelayStatistics, Statistics};
use crate::one_way::OneWaySummary;
use crate::sojourn::Named;

/// Named totals that serialise as a JSON object in their own order.
#[derive(Clone, Debug, Default)]
pub struct Totals(pub Vec<(Cow<'static, str>, f64)>);

impl FromIterator<(&'static str, f64)> for Totals {
    fn from_iter<I: IntoIterator<Item = (&'static str, f64)>>(totals: I) -> Self {
        Self(totals.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}

impl Serialize for Totals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            if value.fract() == 0.0 && value.abs() < 9e15 {
                map.serialize_entry(name, &(*value as i64))?;
            } else {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Totals {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Totals;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("an object of numbers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Totals, A::Error> {
                let mut totals = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, f64>()? {
                    totals.push((name.into(), value));
                }
                Ok(Totals(totals))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// What a run was made under, from its topology and schedule alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Conditions {
    /// What the way of the flows' data carries, from each change on; of several ways the least.
    pub capacity: Vec<Capacity>,
    /// RTT of the empty path at the start, over the flows: propagation and the mean delay of
    /// elements, without serialisation.
    pub base_rtt_ms: Span,
    /// Queues whose rate is the least on the way of some flow's data, at some time.
    pub bottlenecks: Vec<String>,
    /// Whether a queue holds a rate below its link's.
    pub queue_shapes: bool,
    /// Forward queues that the flows pass and somebody configured, as `htb(50Mbit)+dualpi2`, in file
    /// order; without any the first. In a graph where they take
    /// different paths, one text: the links that they cross, with their nodes.
    pub queues: Vec<String>,
}

/// A capacity, from an instant on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Capacity {
    /// Start.
    pub from_s: f64,
    /// Rate on the link layer; none if nothing bounds it.
    pub mbps: Option<f64>,
}

/// Least and greatest of several values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Span {
    /// Least.
    pub least: f64,
    /// Greatest.
    pub greatest: f64,
}

/// One flow.
#[derive(Debug, Deserialize, Serialize)]
pub struct FlowSummary {
    /// Name.
    pub name: String,
    /// Application, unless it is `bulk`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// Congestion controller with its parameters; none over UDP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cc: Option<String>,
    /// Whose end points it had, where packets are real.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// Start.
    pub start_s: f64,
    /// Bytes delivered in order to the receiver's application within the window, per second. Of a flow with
    /// programs: bytes behind the headers of TCP and UDP that reached the receiver's host, those repeated
    /// among them.
    pub goodput_mbps: f64,
    /// The same in intervals of 0.1 s, or of the least multiple of the sampling step above that.
    pub goodput_over_time_mbps: Option<Statistics>,
    /// `ss` delivery rate, sampled.
    pub delivery_rate_mbps: Option<Statistics>,
    /// `ss` smoothed RTT, sampled.
    pub rtt_ms: Option<Statistics>,
    /// Congestion window, sampled.
    pub cwnd_segments: Option<Statistics>,
    /// What a detector of classic queues took the path for, unless there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classic_detection: Option<ClassicDetection>,
    /// One-way delay and loss of a UDP flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_way: Option<OneWaySummary>,
    /// What a media flow's encoder and frames did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaSummary>,
    /// CE marks, unless the receiver counts none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marks: Option<Marks>,
    /// Completion times of transfers or responses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<Completions>,
    /// Totals of the sender over the whole run.
    pub sender: Totals,
    /// Totals of the receiver over the whole run.
    pub receiver: Totals,
    /// Programs that were its end points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramSummary>,
}

/// A program that was an end point of a flow.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ProgramSummary {
    /// Which one.
    pub end: ProgramEnd,
    /// Its words, as a shell reads them.
    pub command: String,
    /// As a shell has it: 128 and the number of the signal if one ended it.
    pub exit_code: i32,
    /// Whether it had to end because its time was over.
    pub was_stopped: bool,
    /// The lines that it printed, of the beginning and the end if these are many.
    pub stdout: Vec<String>,
    /// The same of standard error.
    pub stderr: Vec<String>,
}

/// The end of a flow at which a program is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgramEnd {
    /// The one that opens it.
    Client,
    /// The other one.
    Server,
}

/// A media flow over the window; the first four are sampled.
#[derive(Debug, Deserialize, Serialize)]
pub struct MediaSummary {
    /// Rate that the controller asks of the encoder, of IP bytes.
    pub target_mbps: Option<Statistics>,
    /// What left the sender, IP bytes over a quarter of a second and more.
    pub sent_mbps: Option<Statistics>,
    /// Age of the oldest packet in the sender's queue, ms.
    pub sender_delay_ms: Option<Statistics>,
    /// Bytes in the sender's queue.
    pub sender_queue_bytes: Option<Statistics>,
    /// Frames as they arrived.
    pub frames: Option<FrameSummary>,
}

/// One ping.
#[derive(Debug, Serialize)]
pub struct PingSummary {
    /// Name.
    pub name: String,
    /// Round-trip times of replies that arrived within the window.
    pub rtt_ms: Option<Statistics>,
    /// Requests and replies over the whole run.
    pub totals: Totals,
}

/// One queue with its accounts: `received = sent + dropped + backlog`, in packets and bytes.
#[derive(Debug, Deserialize, Serialize)]
pub struct QueueSummary {
    /// Name of the port.
    pub name: String,
    /// Discipline and parameters in tc's grammar.
    pub qdisc: String,
    /// Packets that entered.
    pub received_packets: u64,
    /// Bytes that entered; none if the engine does not know them.
    pub received_bytes: Option<u64>,
    /// Packets that the queue has added, netem's duplicates: what entered and what was added is
    /// what left, was dropped or is held.
    pub duplicated: u64,
    /// Bytes of these.
    pub duplicated_bytes: u64,
    /// Packets that left.
    pub sent_packets: u64,
    /// Bytes that left, likewise.
    pub sent_bytes: Option<u64>,
    /// Packets dropped.
    pub dropped: u64,
    /// Bytes dropped, likewise.
    pub dropped_bytes: Option<u64>,
    /// Marks.
    pub marked: u64,
    /// Packets held at the end.
    pub backlog_packets: u64,
    /// Bytes held at the end.
    pub backlog_bytes: u64,
    /// Drops by reason.
    pub drops: Totals,
    /// Marks by reason.
    pub marks: Totals,
    /// Counters by `tc -s` name.
    pub stats: Totals,
    /// Time from enqueue to dequeue of packets that left within the window, ms.
    pub sojourn_ms: Option<DelayStatistics>,
    /// The same of each flow and ping; percentiles to 1.6 %.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Named>,
    /// The same of the L and the C queue of a dual queue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<Named>,
    /// Bytes that left within the window over those that the rates in force allowed.
    pub utilisation: Option<f64>,
}

/// Statistics over one of the named windows, under the names of the summary over the main one.
#[derive(Debug, Deserialize, Serialize)]
pub struct WindowSummary {
    /// Name in the scenario.
    pub name: String,
    /// Start.
    pub from_s: f64,
    /// End.
    pub to_s: f64,
    /// Flows in scenario order.
    pub flows: Vec<FlowWindow>,
    /// Pings in scenario order.
    pub pings: Vec<PingWindow>,
    /// Queues.
    pub queues: Vec<QueueWindow>,
}

/// A flow within a window.
#[derive(Debug, Deserialize, Serialize)]
pub struct FlowWindow {
    /// Name.
    pub name: String,
    /// Bytes delivered in order to the receiver's application, per second.
    pub goodput_mbps: f64,
    /// The same in intervals of 0.1 s, or of the least multiple of the sampling step above that.
    pub goodput_over_time_mbps: Option<Statistics>,
    /// `ss` delivery rate, sampled.
    pub delivery_rate_mbps: Option<Statistics>,
    /// `ss` smoothed RTT, sampled.
    pub rtt_ms: Option<Statistics>,
    /// Congestion window, sampled.
    pub cwnd_segments: Option<Statistics>,
    /// One-way delay and loss of a UDP flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_way: Option<OneWaySummary>,
    /// What a media flow's encoder and frames did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaSummary>,
    /// Completion times of transfers or responses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<Completions>,
}

/// A ping within a window.
#[derive(Debug, Deserialize, Serialize)]
pub struct PingWindow {
    /// Name.
    pub name: String,
    /// Round-trip times of replies that arrived.
    pub rtt_ms: Option<Statistics>,
}

/// A queue within a window.
#[derive(Debug, Deserialize, Serialize)]
pub struct QueueWindow {
    /// Name of the port.
    pub name: String,
    /// Time from enqueue to dequeue, ms.
    pub sojourn_ms: Option<DelayStatistics>,
    /// The same of each flow and ping.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Named>,
    /// The same of the L and the C queue of a dual queue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<Named>,
    /// Bytes that left over those that the rates in force allowed.
    pub utilisation: Option<f64>,
}
