//! The ports of a scenario and the ways through them, so that every engine builds the same network.

use std::ops::Range;

use sojourn_core::{Dur, Rate};

use crate::scenario::{Direction, Scenario, Tunnel};
use crate::tunnels::crossed;

/// All ports, and the route of every flow and ping.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub shaper: Option<String>,
    /// The queue.
    pub qdisc: String,
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
    /// The ingress of the tunnel with this index into [`Scenario::tunnels`]. [`PortSpec::qdisc`]
    /// of a tunnel's end is empty: the engine builds both ends of a direction as a pair.
    Encap(usize),
    /// The egress of the tunnel with this index; stands directly behind its ingress in the list.
    Decap(usize),
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
        let ends = ports.len();
        for (index, tunnel) in scenario.tunnels.iter().enumerate() {
            for forward in [true, false] {
                tunnel_ends(&mut ports, index, tunnel, forward);
            }
        }
        let route = |path: &[usize], tunnels: &[usize]| {
            let tunnels = by_length(scenario, path, tunnels);
            let way = |forward: bool, place: usize| {
                let span = &spans[path[place]];
                let span = if forward { span.0.clone() } else { span.1.clone() };
                // The longest tunnel is entered first and left last.
                let entered = tunnels
                    .iter()
                    .filter(move |(_, run)| place == if forward { run.start } else { run.end - 1 });
                let left = tunnels
                    .iter()
                    .rev()
                    .filter(move |(_, run)| place == if forward { run.end - 1 } else { run.start });
                let first = ends + if forward { 0 } else { 2 };
                let encap = entered.map(move |(tunnel, _)| first + 4 * tunnel);
                let decap = left.map(move |(tunnel, _)| first + 4 * tunnel + 1);
                encap.chain(span).chain(decap).collect::<Vec<_>>()
            };
            Route {
                forward: (0..path.len()).flat_map(|place| way(true, place)).collect(),
                reverse: (0..path.len()).rev().flat_map(|place| way(false, place)).collect(),
            }
        };
        let within = |is_member: &dyn Fn(&Tunnel) -> bool| -> Vec<usize> {
            let tunnels = scenario.tunnels.iter().enumerate();
            tunnels.filter(|(_, tunnel)| is_member(tunnel)).map(|(index, _)| index).collect()
        };
        let flows = scenario.flows.iter().enumerate();
        let flows = flows.map(|(n, f)| route(&f.path, &within(&|t| t.flows.contains(&n))));
        let pings = scenario.pings.iter().enumerate();
        let pings = pings.map(|(n, p)| route(&p.path, &within(&|t| t.pings.contains(&n))));
        let (flows, pings) = (flows.collect(), pings.collect());
        Self { ports, flows, pings }
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

/// The tunnels with their places in `path`, the longest first; of equal ones the first in the file.
fn by_length(scenario: &Scenario, path: &[usize], tunnels: &[usize]) -> Vec<(usize, Range<usize>)> {
    let run = |tunnel: usize| crossed(path, &scenario.tunnels[tunnel].links);
    let mut tunnels: Vec<_> =
        tunnels.iter().filter_map(|tunnel| Some((*tunnel, run(*tunnel)?))).collect();
    tunnels.sort_by_key(|(_, run)| std::cmp::Reverse(run.len()));
    tunnels
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
            qdisc: String::new(),
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
            qdisc: qdisc.clone(),
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
        qdisc: way.qdisc.clone(),
        wire: way.wire,
        delay: way.delay,
        growth: 0,
    });
}
