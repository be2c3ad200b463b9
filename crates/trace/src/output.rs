//! Everything that a run leaves behind, and the document about the run as a whole.

use serde::Serialize;

use crate::middlebox::Middlebox;
use crate::record::Column;
use crate::rfc5166::Metrics;
use crate::summary::{Conditions, FlowSummary, PingSummary, QueueSummary, WindowSummary};

/// The measuring window in seconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Window {
    /// Start.
    pub from_s: f64,
    /// End.
    pub to_s: f64,
}

/// Everything that a run leaves behind.
#[derive(Debug)]
pub struct Output {
    /// The summary.
    pub summary: Summary,
    /// One entry per queue.
    pub queues: Vec<QueueSummary>,
    /// All series.
    pub series: Vec<Column>,
    /// Release of the kernel that it ran on, such as `7.2.13`; none for the simulator.
    pub kernel: Option<String>,
}

/// The run as a whole.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Format of this document.
    pub schema: &'static str,
    /// Name of the scenario.
    pub name: String,
    /// Seed.
    pub seed: u64,
    /// Simulated length; shorter than the scenario's if it was cancelled.
    pub duration_s: f64,
    /// Whether it ran to its end.
    pub complete: bool,
    /// Window of the statistics.
    pub measure: Window,
    /// Capacity, RTT of the empty path, bottlenecks.
    pub conditions: Conditions,
    /// Events that the engine handled.
    pub events: u64,
    /// TCP data packets that left a bottleneck queue, the unit of the speed figures.
    pub data_packets: u64,
    /// What carried the packets, where they were real.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub middlebox: Option<Middlebox>,
    /// Flows in scenario order.
    pub flows: Vec<FlowSummary>,
    /// Pings in scenario order.
    pub pings: Vec<PingSummary>,
    /// The run under the headings of RFC 5166.
    pub metrics: Metrics,
    /// The named windows in the order of their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<WindowSummary>,
}

impl Output {
    /// `summary.json`.
    pub fn summary_json(&self) -> String {
        serde_json::to_string_pretty(&self.summary).expect("plain data serialises")
    }

    /// `queue.json`.
    pub fn queues_json(&self) -> String {
        serde_json::to_string_pretty(&self.queues).expect("plain data serialises")
    }
}
