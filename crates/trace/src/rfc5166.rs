//! The numbers of a run under the headings of RFC 5166, "Metrics for the Evaluation of Congestion
//! Control Mechanisms". What it asks of robustness, misbehaviour and deployability is a matter of
//! several runs and has no number here.

use serde::Serialize;

use crate::fairness;
use crate::metrics::{DelayStatistics, Statistics};
use crate::summary::{FlowSummary, PingSummary, QueueSummary, Totals};

/// Share of the mean within which flows count as converged, and for how long.
const TOLERANCE: f64 = 0.2;
const HOLD_S: usize = 5;
/// Jain's index that counts as fair.
const FAIR: f64 = 0.95;

/// A run under RFC 5166's headings.
#[derive(Clone, Debug, Serialize)]
pub struct Metrics {
    /// 2.1: throughput.
    pub throughput: Throughput,
    /// 2.1: delay.
    pub delay: Vec<QueueDelay>,
    /// 2.1: losses and marks.
    pub loss: Loss,
    /// 2.2: oscillations.
    pub oscillation: Vec<Oscillation>,
    /// 2.3: fairness and convergence, of bulk flows under a controller, if there are two.
    pub fairness: Option<Fairness>,
}

/// Throughput within the window.
#[derive(Clone, Debug, Serialize)]
pub struct Throughput {
    /// Sum of the flows' goodputs.
    pub goodput_mbps: f64,
    /// The same over time, in intervals of 0.1 s or the least multiple of the sampling step above that.
    pub goodput_over_time_mbps: Option<Statistics>,
    /// Bytes that left over capacity, of every queue with a rate.
    pub utilisation: Totals,
}

/// Delay in a queue within the window, per packet that left.
#[derive(Clone, Debug, Serialize)]
pub struct QueueDelay {
    /// Queue.
    pub name: String,
    /// ms.
    pub sojourn_ms: DelayStatistics,
}

/// Losses and marks over the whole run.
#[derive(Clone, Debug, Serialize)]
pub struct Loss {
    /// Drops and marks of every queue that had any.
    pub queues: Vec<QueueLoss>,
    /// Retransmissions and marks of every flow that had any.
    pub flows: Vec<FlowLoss>,
    /// Share of ping requests without reply; those under way at the end count among them.
    pub pings: Totals,
}

/// Losses and marks of a queue.
#[derive(Clone, Debug, Serialize)]
pub struct QueueLoss {
    /// Queue.
    pub name: String,
    /// Drops over arrivals.
    pub drop_probability: f64,
    /// Marks over arrivals, whatever their codepoint.
    pub mark_probability: f64,
}

/// Retransmissions and marks of a TCP flow.
#[derive(Clone, Debug, Serialize)]
pub struct FlowLoss {
    /// Flow.
    pub name: String,
    /// Retransmitted over sent segments.
    pub retransmit_rate: f64,
    /// Retransmissions of what had arrived, over sent segments: data segments that the receiver
    /// had already, those that the network duplicated among them.
    pub spurious_rate: f64,
    /// CE-marked over received segments.
    pub ce_rate: f64,
}

/// Variation of a flow's rate within the window.
#[derive(Clone, Debug, Serialize)]
pub struct Oscillation {
    /// Flow.
    pub name: String,
    /// Standard deviation over mean of the goodput in bins of 1 s.
    pub goodput_cov: f64,
}

/// How flows share.
#[derive(Clone, Debug, Serialize)]
pub struct Fairness {
    /// Flows that are compared.
    pub flows: usize,
    /// Jain's index of their goodputs within the window.
    pub jain: Option<f64>,
    /// Largest over smallest goodput within the window.
    pub max_min_ratio: Option<f64>,
    /// Seconds from the start of the last flow until the goodputs in bins of 1 s stay within 20 %
    /// of their mean for 5 s.
    pub convergence_s: Option<f64>,
    /// Seconds from the start of the last flow until Jain's index of these bins stays at 0.95 or
    /// above for 5 s.
    pub jain_convergence_s: Option<f64>,
}

/// Goodput in bins, Mbit/s; of 1 s, unless they are called shorter.
#[derive(Clone, Debug, Default)]
pub struct Bins {
    /// Per flow, in the order of the summary: bins within the window.
    pub windowed: Vec<Vec<f64>>,
    /// Of all flows together: shorter bins within the window.
    pub together: Vec<f64>,
    /// Indices of the flows whose shares are compared.
    pub compared: Vec<usize>,
    /// Per bin since the start of the last of them: their rates.
    pub since_last_start: Vec<Vec<f64>>,
}

impl Metrics {
    /// The metrics of a run.
    pub fn of(
        flows: &[FlowSummary],
        pings: &[PingSummary],
        queues: &[QueueSummary],
        bins: &Bins,
    ) -> Self {
        let used = queues.iter().filter_map(|q| Some((q.name.clone().into(), q.utilisation?)));
        let delays = queues.iter().filter_map(|q| {
            let sojourn_ms = q.sojourn_ms?;
            Some(QueueDelay { name: q.name.clone(), sojourn_ms })
        });
        let oscillation = flows.iter().zip(&bins.windowed).filter_map(|(flow, rates)| {
            let goodput_cov = variation(rates)?;
            Some(Oscillation { name: flow.name.clone(), goodput_cov })
        });
        let pings = pings.iter().filter_map(|ping| {
            let (sent, received) = (get(&ping.totals, "sent")?, get(&ping.totals, "received")?);
            // A reply that the network duplicated counts twice.
            Some((ping.name.clone().into(), ratio((sent - received).max(0.0), sent)?))
        });
        Self {
            throughput: Throughput {
                goodput_mbps: flows.iter().map(|f| f.goodput_mbps).sum(),
                goodput_over_time_mbps: Statistics::of(bins.together.iter().copied()),
                utilisation: Totals(used.collect()),
            },
            delay: delays.collect(),
            loss: Loss {
                queues: queues.iter().filter_map(queue_loss).collect(),
                flows: flows.iter().filter_map(flow_loss).collect(),
                pings: Totals(pings.collect()),
            },
            oscillation: oscillation.collect(),
            fairness: shared(flows, bins),
        }
    }
}

fn queue_loss(queue: &QueueSummary) -> Option<QueueLoss> {
    let share = |n: u64| n as f64 / queue.received_packets as f64;
    (queue.dropped + queue.marked > 0 && queue.received_packets > 0).then(|| QueueLoss {
        name: queue.name.clone(),
        drop_probability: share(queue.dropped),
        mark_probability: share(queue.marked),
    })
}

fn flow_loss(flow: &FlowSummary) -> Option<FlowLoss> {
    // Of requests and responses, data come from the end that was opened to.
    let total = |name| get(&flow.sender, name).or_else(|| get(&flow.receiver, name));
    let (sent, again) = (total("segments_sent")?, total("retransmits")?);
    let (received, ce) = (total("segments_received")?, total("ce_received")?);
    // A kernel's receiver keeps no count of its own, but reports each to the sender (DSACK).
    let spurious = total("duplicates_received").or_else(|| total("dsack_dups"))?.min(again);
    (again + ce > 0.0).then(|| FlowLoss {
        name: flow.name.clone(),
        retransmit_rate: ratio(again, sent).unwrap_or(0.0),
        spurious_rate: ratio(spurious, sent).unwrap_or(0.0),
        ce_rate: ratio(ce, received).unwrap_or(0.0),
    })
}

fn shared(flows: &[FlowSummary], bins: &Bins) -> Option<Fairness> {
    let goodputs: Vec<f64> = bins.compared.iter().map(|n| flows[*n].goodput_mbps).collect();
    let seconds = |bin: usize| bin as f64;
    let rates = &bins.since_last_start;
    (goodputs.len() > 1).then(|| Fairness {
        flows: goodputs.len(),
        jain: fairness::jain(&goodputs),
        max_min_ratio: fairness::max_min_ratio(&goodputs),
        convergence_s: fairness::convergence(rates, TOLERANCE, HOLD_S).map(seconds),
        jain_convergence_s: fairness::jain_convergence(rates, FAIR, HOLD_S).map(seconds),
    })
}

/// RFC 5166 2.2.2 (oscillations): the coefficient of variation of a rate.
fn variation(rates: &[f64]) -> Option<f64> {
    let mean = Statistics::of(rates.iter().copied())?.mean;
    let square = rates.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / rates.len() as f64;
    (rates.len() > 1 && mean > 0.0).then(|| square.sqrt() / mean)
}

fn get(totals: &Totals, name: &str) -> Option<f64> {
    totals.0.iter().find(|(n, _)| n == name).map(|(_, value)| *value)
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

#[cfg(test)]
mod tests;
