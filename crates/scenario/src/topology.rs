//! The ports of a scenario and the ways through them, so that every engine builds the same network.

use sojourn_core::{Dur, Rate};

use crate::scenario::{Direction, Scenario};

/// All ports, and the route of every flow and ping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Per link in file order: the forward direction's ingress elements and egress, then the
    /// reverse direction's.
    pub ports: Vec<PortSpec>,
    /// Routes of [`Scenario::flows`], by index.
    pub flows: Vec<Route>,
    /// Routes of [`Scenario::pings`], by index.
    pub pings: Vec<Route>,
}

/// A queue that packets pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSpec {
    /// `bneck`, `bneck.reverse`, `bneck.ingress0`, `bneck.reverse.ingress0`.
    pub name: String,
    /// Index into [`Scenario::links`].
    pub link: usize,
    /// Whether it belongs to the link's forward direction.
    pub forward: bool,
    /// Its place in the direction.
    pub role: Role,
    /// Shaper around the queue; only at an egress.
    pub shaper: Option<String>,
    /// Size table around shaper and queue; only at an egress.
    pub stab: Option<String>,
    /// The queue.
    pub qdisc: String,
    /// Rate of the wire; `None` is infinitely fast. Only at an egress.
    pub wire: Option<Rate>,
    /// Propagation delay after the queue; zero at an ingress.
    pub delay: Dur,
}

/// Place of a port in its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The element with this index before the queue.
    Ingress(usize),
    /// The queue with its shaper, wire and propagation delay.
    Egress,
}

/// The ports that packets pass, in order, as indices into [`Topology::ports`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// From sender to receiver.
    pub forward: Vec<usize>,
    /// From receiver to sender: the links in the opposite order.
    pub reverse: Vec<usize>,
}

impl Topology {
    /// The ports and routes of `scenario`.
    pub fn new(scenario: &Scenario) -> Self {
        let mut ports = Vec::new();
        let mut spans = Vec::new();
        for (index, link) in scenario.links.iter().enumerate() {
            let start = ports.len();
            add(&mut ports, index, &link.name, true, &link.forward);
            let middle = ports.len();
            add(&mut ports, index, &format!("{}.reverse", link.name), false, &link.reverse);
            spans.push((start..middle, middle..ports.len()));
        }
        let route = |path: &[usize]| Route {
            forward: path.iter().flat_map(|link| spans[*link].0.clone()).collect(),
            reverse: path.iter().rev().flat_map(|link| spans[*link].1.clone()).collect(),
        };
        Self {
            flows: scenario.flows.iter().map(|flow| route(&flow.path)).collect(),
            pings: scenario.pings.iter().map(|ping| route(&ping.path)).collect(),
            ports,
        }
    }

    /// The egress port of a link's direction: the target of a scheduled change.
    pub fn egress(&self, link: usize, forward: bool) -> Option<usize> {
        self.port(link, forward, Role::Egress)
    }

    /// The port of a link's direction with this role.
    pub fn port(&self, link: usize, forward: bool, role: Role) -> Option<usize> {
        self.ports.iter().position(|p| p.link == link && p.forward == forward && p.role == role)
    }
}

fn add(ports: &mut Vec<PortSpec>, link: usize, name: &str, forward: bool, way: &Direction) {
    for (index, qdisc) in way.ingress.iter().enumerate() {
        ports.push(PortSpec {
            name: format!("{name}.ingress{index}"),
            link,
            forward,
            role: Role::Ingress(index),
            shaper: None,
            stab: None,
            qdisc: qdisc.clone(),
            wire: None,
            delay: Dur::ZERO,
        });
    }
    ports.push(PortSpec {
        name: name.to_owned(),
        link,
        forward,
        role: Role::Egress,
        shaper: way.shaper.clone(),
        stab: way.stab.clone(),
        qdisc: way.qdisc.clone(),
        wire: way.wire,
        delay: way.delay,
    });
}
