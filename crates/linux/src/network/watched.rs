//! Where in the network of a kernel the points of a capture are.

use sojourn_scenario::{Place, Point, Scenario};

use super::layout::device;
use super::{Host, Network};
use crate::check::Refusal;

/// An interface that is watched.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    pub(crate) namespace: String,
    pub(crate) device: String,
    pub(crate) shows: Shows,
}

/// What of its frames belongs to a point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shows {
    /// What the interface sends.
    outgoing: bool,
    /// What it receives.
    incoming: bool,
    /// Of this flow or ping alone.
    pub(crate) flow: Option<usize>,
}

impl Shows {
    /// Whether a frame in this direction is among it.
    pub(crate) fn direction(self, is_outgoing: bool) -> bool {
        if is_outgoing { self.outgoing } else { self.incoming }
    }
}

impl Network {
    /// The interface of a point.
    pub(crate) fn watched(&self, scenario: &Scenario, point: Point) -> Result<Watched, String> {
        let at_host = |host: &Host, flow| Watched {
            namespace: host.namespace.clone(),
            device: host.device.clone(),
            shows: Shows { outgoing: true, incoming: true, flow },
        };
        let host = |host: usize| self.hosts.get(host).ok_or("no such host");
        match point {
            Point::Link { link, forward, place } => {
                let is_out = place == Place::Out;
                Ok(Watched {
                    namespace: format!("mid-{}", scenario.links[link].name),
                    // What arrives comes by the device of the other direction.
                    device: device(forward == is_out).to_owned(),
                    shows: Shows { outgoing: is_out, incoming: !is_out, flow: None },
                })
            }
            Point::End { flow, sends } => {
                let pairs: Vec<_> = self.flows.iter().chain(&self.pings).collect();
                let [opener, peer] = *pairs.get(flow).ok_or("no such flow")?;
                let opener_sends = scenario.sending_end(flow).is_multiple_of(2);
                let end = if opener_sends == sends { *opener } else { *peer };
                Ok(at_host(host(end)?, Some(flow)))
            }
            Point::Host(_) => {
                let name = point.name(scenario);
                let names = [format!("host-{name}"), name];
                let found = self.hosts.iter().find(|host| names.contains(&host.namespace));
                Ok(at_host(found.ok_or("no such host")?, None))
            }
        }
    }
}

/// Refuses what a kernel does not show.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Refusal> {
    for capture in &scenario.captures {
        let hidden =
            capture.points.iter().find_map(|point| Some((point, hides(scenario, *point)?)));
        if let Some((point, reason)) = hidden {
            let key = format!("capture.{}.points", capture.name);
            return Err(Refusal::new(key, format!("{}: {reason}", point.name(scenario))));
        }
    }
    Ok(())
}

/// Why a kernel does not show a point: what its queues drop, and what arrives at a queue behind other elements.
pub(crate) fn hides(scenario: &Scenario, point: Point) -> Option<&'static str> {
    let Point::Link { link, forward, place } = point else { return None };
    let link = &scenario.links[link];
    let way = if forward { &link.forward } else { &link.reverse };
    match place {
        Place::Drop => Some("a kernel shows no packets that its queues drop"),
        Place::In if !way.ingress.is_empty() => {
            Some("a kernel shows no packets between the elements before a queue and the queue")
        }
        Place::In | Place::Out => None,
    }
}
