//! The ports of a scenario and the ways through them, so that every engine builds the same network.

use std::ops::Range;

use sojourn_core::{Dur, Rate};
use sojourn_queue::aqm::Spec;

use crate::scenario::{Direction, Scenario, Tunnel};
use crate::tunnels::crossed;

/// All ports, and the route of every flow and ping.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Per link in file order: the forward direction's ingress elements and egress, then the
    /// reverse direction's. Then per tunnel: ingress and egress forward, ingress and egress back.
    pub ports: Vec<PortSpec>,
    /// Routes of [`Scenario::flows`], by index.
    pub flows: Vec<Route>,
    /// Routes of [`Scenario::pings`], by index.
    pub pings: Vec<Route>,
}

/// A queue that packets pass.
#[derive(Clone, Debug, PartialEq)]
pub struct PortSpec {
    /// `bneck`, `bneck.reverse`, `bneck.ingress0`, `bneck.reverse.ingress0`; `vpn.encap`,
    /// `vpn.decap`, `vpn.reverse.encap`, `vpn.reverse.decap`.
    pub name: String,
    /// Index into [`Scenario::links`]; of a tunnel's end the link inside it that it touches.
    pub link: usize,
    /// Whether it belongs to the forward direction.
    pub forward: bool,
    /// Its place in the direction.
    pub role: Role,
    /// Shaper around the queue; only at an egress.
    pub shaper: Option<Spec>,
    /// Size table around shaper and queue; only at an egress.
    pub stab: Option<Spec>,
    /// The queue; none at a tunnel's end.
    pub qdisc: Option<Spec>,
    /// Rate of the wire; `None` is infinitely fast. Only at an egress.
    pub wire: Option<Rate>,
    /// Propagation delay after the queue; zero at an ingress.
    pub delay: Dur,
    /// Bytes that each packet gains when it arrives here, before it is counted: a tunnel's outer
    /// headers at its ingress, less the same at its egress, zero at links.
    pub growth: i32,
}

/// Place of a port in its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The element with this index before the queue.
    Ingress(usize),
    /// The queue with its shaper, wire and propagation delay.
    Egress,
    /// The ingress of the tunnel with this index into [`Scenario::tunnels`]. The engine builds both
    /// ends of a direction as a pair.
    Encap(usize),
    /// The egress of the tunnel with this index; follows its ingress directly in the list.
    Decap(usize),
}

/// The ports that packets pass, in order, as indices into [`Topology::ports`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// From the end that opens the flow to the other.
    pub forward: Vec<usize>,
    /// Back: the links in the opposite order.
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
        let ends = ports.len();
        for (index, tunnel) in scenario.tunnels.iter().enumerate() {
            for forward in [true, false] {
                tunnel_ends(&mut ports, index, tunnel, forward);
            }
        }
        let routes = Routes { spans, ends };
        let tunnels = scenario.tunnels.iter().enumerate();
        let flows = scenario.flows.iter().enumerate().map(|(n, flow)| {
            let inside = tunnels.clone().filter(|(_, t)| t.flows.contains(&n));
            let Route { forward, reverse } = routes.route(&flow.path, inside);
            if flow.opens_far {
                Route { forward: reverse, reverse: forward }
            } else {
                Route { forward, reverse }
            }
        });
        let pings = scenario.pings.iter().enumerate().map(|(n, ping)| {
            routes.route(&ping.path, tunnels.clone().filter(|(_, t)| t.pings.contains(&n)))
        });
        Self { flows: flows.collect(), pings: pings.collect(), ports }
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

/// The positions of the ports of links and tunnels in the list.
struct Routes {
    /// Per link: ports of the forward and of the reverse direction.
    spans: Vec<(Range<usize>, Range<usize>)>,
    /// The first end of the first tunnel; each tunnel has four.
    ends: usize,
}

impl Routes {
    fn route<'t>(
        &self,
        path: &[usize],
        tunnels: impl Iterator<Item = (usize, &'t Tunnel)>,
    ) -> Route {
        let places =
            |(index, tunnel): (usize, &Tunnel)| Some((index, crossed(path, &tunnel.links)?));
        let mut tunnels: Vec<_> = tunnels.filter_map(places).collect();
        // The longest is entered first; of equal ones the first in the file.
        tunnels.sort_by_key(|(_, run)| std::cmp::Reverse(run.len()));
        let mut route = Route { forward: vec![], reverse: vec![] };
        for (place, link) in path.iter().enumerate() {
            let first = |(_, run): &&(usize, Range<usize>)| run.start == place;
            let last = |(_, run): &&(usize, Range<usize>)| run.end == place + 1;
            let end = |which: usize| move |(index, _): &(usize, _)| self.ends + 4 * index + which;
            let (forward, reverse) = self.spans[*link].clone();
            route.forward.extend(tunnels.iter().filter(first).map(end(0)));
            route.forward.extend(forward);
            route.forward.extend(tunnels.iter().rev().filter(last).map(end(1)));
            // Built from its end, to be turned round.
            route.reverse.extend(tunnels.iter().filter(first).map(end(3)));
            route.reverse.extend(reverse.rev());
            route.reverse.extend(tunnels.iter().rev().filter(last).map(end(2)));
        }
        route.reverse.reverse();
        route
    }
}

fn tunnel_ends(ports: &mut Vec<PortSpec>, index: usize, tunnel: &Tunnel, forward: bool) {
    let way = if forward { "" } else { ".reverse" };
    let (first, last) = (tunnel.links[0], tunnel.links[tunnel.links.len() - 1]);
    let (entry, exit) = if forward { (first, last) } else { (last, first) };
    let overhead = tunnel.overhead as i32;
    for (end, role, link, growth) in [
        ("encap", Role::Encap(index), entry, overhead),
        ("decap", Role::Decap(index), exit, -overhead),
    ] {
        ports.push(PortSpec {
            name: format!("{}{way}.{end}", tunnel.name),
            link,
            forward,
            role,
            shaper: None,
            stab: None,
            qdisc: None,
            wire: None,
            delay: Dur::ZERO,
            growth,
        });
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
            qdisc: Some(qdisc.clone()),
            wire: None,
            delay: Dur::ZERO,
            growth: 0,
        });
    }
    ports.push(PortSpec {
        name: name.to_owned(),
        link,
        forward,
        role: Role::Egress,
        shaper: way.shaper.clone(),
        stab: way.stab.clone(),
        qdisc: Some(way.qdisc.clone()),
        wire: way.wire,
        delay: way.delay,
        growth: 0,
    });
}
