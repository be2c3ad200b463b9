//! What a middlebox has done: at every interval, and at its end.

use std::sync::{Arc, Mutex};

use serde::Serialize;
use sojourn_core::{Dur, Time};
use sojourn_scenario::Scenario;
use sojourn_sim::Simulation;
use sojourn_trace::metrics::DelayStatistics;
use sojourn_trace::summary::{QueueSummary, Totals};

use super::Grants;
use super::settings::{LINK, Settings};
use crate::{Accounts, Carried, Frames, Port, Report};

/// Queues and sides at an instant. Counts are since the start; rates, sojourn times and lateness are of the
/// interval, at the end of the whole run.
#[derive(Debug, Serialize)]
pub struct Reading {
    schema: &'static str,
    /// Time since the start, s.
    pub t_s: f64,
    /// Length of the interval, s.
    pub interval_s: f64,
    /// By queue; of a link those of both directions.
    pub queues: Vec<Queue>,
    /// Left, then right.
    pub sides: Vec<Side>,
    /// Whether packets of the interval were later than the bound, at the 99th percentile.
    pub is_late: bool,
    /// Only at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}

/// A queue.
#[derive(Debug, Serialize)]
pub struct Queue {
    /// What left it, Mbit/s on layer 2.
    pub rate_mbps: f64,
    /// Accounts, with the sojourn times of the interval.
    #[serde(flatten)]
    pub summary: QueueSummary,
}

/// A device.
#[derive(Debug, Serialize)]
pub struct Side {
    /// Its name.
    pub device: String,
    /// Packets that came from it, by what they were.
    pub received: Totals,
    /// Of these, super-packets, which queues counted as one; without `--super-packets` there are none.
    pub super_packets: u64,
    /// Packets for it that it did not take.
    pub refused: u64,
    /// Frames that were treated in another way than ordinary packets; none on a TUN device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<Frames>,
    /// From the instant at which a packet for it was due to that at which it had it.
    pub lateness_ms: Option<DelayStatistics>,
}

/// How it went.
#[derive(Debug, Serialize)]
pub struct End {
    /// `on time`, or `late`: the delays are then of the machine, too.
    pub verdict: &'static str,
    /// The bound of the lateness at the 99th percentile.
    pub max_lateness_ms: f64,
    /// What the machine has granted the forwarding thread.
    pub granted: Vec<&'static str>,
    /// What it has refused, with the reasons.
    pub not_granted: Vec<String>,
}

/// The newest reading, for who asks.
pub(super) type Latest = Arc<Mutex<Option<Arc<Reading>>>>;

/// Takes readings, in the forwarding thread.
pub(super) struct Watch {
    interval: Dur,
    bound: Dur,
    devices: [String; 2],
    links: Vec<String>,
    ports: Option<[Arc<Port>; 2]>,
    latest: Latest,
    last: Time,
    /// Bytes that had left each queue at the last reading.
    sent: Vec<u64>,
    /// Left, then right, since the start.
    totals: [Carried; 2],
}

impl Watch {
    pub(super) fn new(
        settings: &Settings,
        scenario: &Scenario,
        ports: Option<[Arc<Port>; 2]>,
        latest: Latest,
    ) -> Self {
        Self {
            interval: settings.interval().unwrap_or(Dur::from_secs(1)),
            bound: settings.max_lateness().unwrap_or(Dur::MAX),
            devices: [settings.left.clone(), settings.right.clone()],
            links: scenario.links.iter().map(|link| link.name.clone()).collect(),
            ports,
            latest,
            last: Time::ZERO,
            sent: vec![],
            totals: Default::default(),
        }
    }

    /// A reading, if it is time for one.
    pub(super) fn look(
        &mut self,
        simulation: &mut Simulation,
        accounts: &Accounts,
    ) -> Option<Arc<Reading>> {
        let now = simulation.now();
        simulation.forget_series();
        if now.since(self.last) < self.interval {
            return None;
        }
        let recent = self.take(accounts.take());
        let queues = simulation.queues();
        let reading = Arc::new(self.reading(now, queues, &recent));
        self.last = now;
        // Who asks at this very moment gets the one before.
        if let Ok(mut latest) = self.latest.try_lock() {
            *latest = Some(Arc::clone(&reading));
        }
        Some(reading)
    }

    /// Of the whole run.
    pub(super) fn end(mut self, report: Report, grants: Grants) -> Reading {
        self.take(report.sides);
        (self.last, self.sent) = (Time::ZERO, vec![]);
        let now = Time((report.output.summary.duration_s * 1e9) as u64);
        let totals = self.totals.clone();
        let mut reading = self.reading(now, report.output.queues, &totals);
        reading.end = Some(End {
            verdict: if reading.is_late { "late" } else { "on time" },
            max_lateness_ms: self.bound.as_millis_f64(),
            granted: grants.granted,
            not_granted: grants.refused,
        });
        reading
    }

    /// Counts what the right and the left device have carried; gives it as left and right.
    fn take(&mut self, carried: Vec<Carried>) -> [Carried; 2] {
        let mut carried = carried.into_iter();
        let [right, left] = [(); 2].map(|()| carried.next().unwrap_or_default());
        let recent = [left, right];
        self.totals.iter_mut().zip(&recent).for_each(|(total, recent)| total.merge(recent));
        recent
    }

    fn reading(&mut self, now: Time, queues: Vec<QueueSummary>, recent: &[Carried; 2]) -> Reading {
        let interval_s = now.since(self.last).as_secs_f64();
        self.sent.resize(queues.len(), 0);
        let links = &self.links;
        let queue = |(summary, sent): (QueueSummary, &mut u64)| {
            let bytes = summary.sent_bytes.unwrap_or_default();
            let recent = bytes - std::mem::replace(sent, bytes);
            let rate_mbps = if interval_s > 0.0 { recent as f64 * 8e-6 / interval_s } else { 0.0 };
            Queue {
                rate_mbps,
                // The only flow is all that passes.
                summary: QueueSummary {
                    name: shown(&summary.name, links),
                    flows: vec![],
                    ..summary
                },
            }
        };
        let queues = queues.into_iter().zip(&mut self.sent).map(queue).collect();
        let side = |number: usize| {
            let total = &self.totals[number];
            Side {
                device: self.devices[number].clone(),
                received: total
                    .received
                    .named()
                    .into_iter()
                    .map(|(name, n)| (name, n as f64))
                    .collect(),
                super_packets: total.super_packets,
                refused: total.refused,
                // A device that is gone ends the run elsewhere.
                frames: self.ports.as_ref().and_then(|ports| ports[number].frames().ok()),
                lateness_ms: recent[number].lateness.statistics(),
            }
        };
        let is_late =
            |side: &Carried| side.lateness.quantile(0.99).is_some_and(|late| late > self.bound);
        Reading {
            schema: "sojourn/middlebox/1",
            t_s: now.as_secs_f64(),
            interval_s,
            queues,
            sides: [0, 1].map(side).into(),
            is_late: recent.iter().any(is_late),
            end: None,
        }
    }
}

/// The name of a port in the terms of a middlebox: of the only link `down` and `up`, of several `LINK.down`.
fn shown(port: &str, links: &[String]) -> String {
    let found = links.iter().find_map(|link| {
        let rest = port.strip_prefix(link.as_str())?;
        (rest.is_empty() || rest.starts_with('.')).then_some((link, rest))
    });
    let Some((link, rest)) = found else { return port.to_owned() };
    let rest = match rest.strip_prefix(".reverse") {
        Some(rest) => format!("up{rest}"),
        None => format!("down{rest}"),
    };
    if link == LINK { rest } else { format!("{link}.{rest}") }
}
