//! What a middlebox that carries real packets records of itself: whether it was on time, and what did not
//! pass.

use serde::{Deserialize, Serialize};

use crate::metrics::DelayStatistics;
use crate::summary::Totals;

/// A middlebox in a run.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Middlebox {
    /// By host.
    pub hosts: Vec<Carried>,
    /// How late end points of ours were with what was due at a time, ms.
    pub own_lateness_ms: Option<DelayStatistics>,
    /// What the machine has granted the forwarding thread so that it is on time.
    pub granted: Vec<String>,
    /// What it has refused, with the reasons.
    pub refused: Vec<String>,
    /// The bound of the lateness at the 99th percentile, ms.
    pub bound_ms: f64,
    /// Whether packets to some host or end points of ours were later than that, or a device dropped some:
    /// then the result is of the machine, not of the queue. That packets waited for the middlebox before it
    /// read them is not seen.
    pub is_late: bool,
}

/// What was carried of a host.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Carried {
    /// Name of the host.
    pub host: String,
    /// Packets that it sent, by what they were.
    pub received: Totals,
    /// Of these, super-packets (GSO): up to 64 kB, which queues count as one packet with the length of all.
    #[serde(default)]
    pub super_packets: u64,
    /// Packets that belong to no flow of the scenario, and went no further.
    pub strays: u64,
    /// Packets for it that its device did not take.
    pub refused: u64,
    /// Packets of it that its device dropped before the middlebox had them.
    pub overrun: u64,
    /// Time from the instant at which a packet for it was due to that at which it began to be handed to its
    /// device, ms.
    pub lateness_ms: Option<DelayStatistics>,
}
