//! What ends a run in which time stands still.

use std::fmt;

use sojourn_core::{Dur, Time};

use super::Simulation;
use crate::events::Slot;
use crate::link::Port;
use crate::sources::Source;

/// Events at one instant, or packets that one event sets off, of a run with this many sources of
/// events. A flow may open with a full send buffer, a few thousand packets.
pub(super) fn limit(sources: usize) -> usize {
    (1 << 20) + (sources << 12)
}

/// Time stands still: an element acts again and again at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standstill {
    /// Dotted name of the element, such as `flow.a` or `link.bneck`.
    pub element: String,
    /// The instant.
    pub at: Time,
    /// What it does, and what is missing.
    reason: String,
}

impl fmt::Display for Standstill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { element, at, reason } = self;
        write!(f, "{element}: time stands still at {at}: {reason}")
    }
}

impl std::error::Error for Standstill {}

impl Simulation {
    /// The owner of an event that never ends.
    pub(super) fn standstill_of(&self, slot: Slot) -> Standstill {
        let (element, reason) = match self.sources.get(slot) {
            Source::End(end) => return self.standstill_by(end as usize),
            Source::Queue(p) | Source::Wire(p) | Source::Line(p) => {
                let port = &self.ports[p as usize];
                let text = port.qdisc.describe();
                (format!("link.{}", port.name), format!("`{text}` serves packets in no time"))
            }
            _ => ("schedule".to_owned(), "too many changes, starts or stops".to_owned()),
        };
        Standstill { element, at: self.now, reason }
    }

    /// The end point that sends without end.
    pub(super) fn standstill_by(&self, end: usize) -> Standstill {
        let (flows, n) = (&self.scenario.flows, end / 2);
        let element = match flows.get(n) {
            Some(flow) => format!("flow.{}", flow.name),
            None => format!("ping.{}", self.scenario.pings[n - flows.len()].name),
        };
        let [there, back] = [end & !1, end | 1].map(|end| self.timeless_path(end));
        let reason = match (there, back) {
            (Some(mut links), Some(back)) => {
                links.extend(back);
                links.sort_unstable();
                links.dedup();
                let links = links.join(", ");
                format!(
                    "packets and answers cross {links} in no time; a rate or a delay is missing"
                )
            }
            _ => "it sends packets without a gap between them".to_owned(),
        };
        Standstill { element, at: self.now, reason }
    }

    /// The links that an end point's packets cross on a way that takes no time now, if there is one.
    fn timeless_path(&self, end: usize) -> Option<Vec<String>> {
        let mut routes = self.topology.flows.iter().chain(&self.topology.pings);
        let mut ways = routes.nth(end / 2)?.iter().map(|route| route.way(end.is_multiple_of(2)));
        let way = ways.find(|way| way.iter().all(|port| is_timeless(&self.ports[*port])))?;
        let link = |port: &usize| &self.scenario.links[self.ports[*port].link].name;
        Some(way.iter().map(|port| format!("link.{}", link(port))).collect())
    }
}

/// Whether a small packet that finds nobody before it is through at once.
fn is_timeless(port: &Port) -> bool {
    port.delay == Dur::ZERO && port.wire.is_none_or(|rate| rate.time_for(64) == Dur::ZERO)
}
