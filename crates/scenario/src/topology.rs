//! The ports of a scenario and the ways through them, so that every engine builds the same network.

use std::collections::BTreeMap;
use std::ops::Range;

use sojourn_core::{Dur, Rate, Rng};
use sojourn_queue::aqm::Spec;

use crate::scenario::{Direction, Flow, Path, Scenario, Spread, Tunnel};
use crate::tunnels::crossed;

/// All ports, and the route of every flow and ping.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Per link in file order: the forward direction's ingress elements and egress, then the
    /// reverse direction's. Then per tunnel: ingress and egress forward, ingress and egress back.
    pub ports: Vec<PortSpec>,
    /// Routes of [`Scenario::flows`], by index: one, or those that packets take in turn.
    pub flows: Vec<Vec<Route>>,
    /// Routes of [`Scenario::pings`], the same.
    pub pings: Vec<Vec<Route>>,
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
    /// Its share of the packets beside the other routes of a flow.
    pub weight: u32,
}

impl Route {
    /// The ports on the way from the end that opens the flow, or back.
    pub fn way(&self, is_forward: bool) -> &[usize] {
        if is_forward { &self.forward } else { &self.reverse }
    }

    /// Makes the other end the one that opens the flow.
    fn reverse(&mut self) {
        std::mem::swap(&mut self.forward, &mut self.reverse);
    }
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
        let network = Network { scenario, spans, ends };
        let inside = |list: fn(&Tunnel) -> &[usize], n: usize| {
            move |tunnel: &Tunnel| list(tunnel).binary_search(&n).is_ok()
        };
        let flows = scenario.flows.iter().enumerate().map(|(n, flow)| {
            let mut routes = network.routes(&flow.paths, inside(|tunnel| &tunnel.flows, n));
            if flow.opens_far {
                routes.iter_mut().for_each(Route::reverse);
            }
            let hash = &scenario.flows[flow.hash_of.unwrap_or(n)].name;
            network.taken(routes, flow.spread, hash)
        });
        let pings = scenario.pings.iter().enumerate().map(|(n, ping)| {
            let routes = network.routes(&ping.paths, inside(|tunnel| &tunnel.pings, n));
            network.taken(routes, ping.spread, &ping.name)
        });
        Self { flows: flows.collect(), pings: pings.collect(), ports }
    }

    /// The ways of the data of `flow`, which is number `n`: one for each route.
    pub fn data_ways(&self, flow: &Flow, n: usize) -> Vec<&[usize]> {
        let is_forward = flow.up == flow.opens_far;
        let ways = self.flows[n].iter().map(|route| route.way(is_forward));
        ways.collect()
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

/// What these ways carry together, where `rate` is what a port carries; none if that of one has no
/// limit. Each way adds what those before it leave of its narrowest port, so that a bottleneck that ways
/// share counts once. `narrow` is called with each way's narrowest ports.
pub fn carried(
    ways: &[&[usize]],
    rate: impl Fn(usize) -> Option<Rate>,
    mut narrow: impl FnMut(usize),
) -> Option<Rate> {
    let mut taken = BTreeMap::<usize, u64>::new();
    let mut sum = 0;
    for way in ways {
        let left = |port: &usize| Some(rate(*port)?.0 - taken.get(port).unwrap_or(&0));
        let least = way.iter().filter_map(left).min()?;
        way.iter().filter(|port| left(port) == Some(least)).for_each(|port| narrow(*port));
        way.iter().for_each(|port| *taken.entry(*port).or_default() += least);
        sum += least;
    }
    Some(Rate(sum))
}

/// A scenario's links and tunnels, with the positions of their ports in the list.
struct Network<'s> {
    scenario: &'s Scenario,
    /// Per link: ports of the forward and of the reverse direction.
    spans: Vec<(Range<usize>, Range<usize>)>,
    /// The first end of the first tunnel; each tunnel has four.
    ends: usize,
}

impl Network<'_> {
    /// The routes over these paths, within the tunnels of which it is a member.
    fn routes(&self, paths: &[Path], is_inside: impl Fn(&Tunnel) -> bool) -> Vec<Route> {
        let tunnels = self.scenario.tunnels.iter().enumerate().filter(|(_, t)| is_inside(t));
        let tunnels: Vec<_> = tunnels.collect();
        let route = |path| {
            let crossed = |(index, tunnel): &(_, &Tunnel)| {
                crossed(path, &tunnel.links).map(|(run, along)| (*index, run, along))
            };
            let mut crossed: Vec<_> = tunnels.iter().filter_map(crossed).collect();
            // The longest is entered first; of equal ones the first in the file.
            crossed.sort_by_key(|(_, run, _)| std::cmp::Reverse(run.len()));
            self.route(path, &crossed)
        };
        paths.iter().map(route).collect()
    }

    /// The route over this path, within tunnels around these places of it, which it may cross backward.
    fn route(&self, path: &Path, tunnels: &[(usize, Range<usize>, bool)]) -> Route {
        let (mut forward, mut reverse) = (vec![], vec![]);
        for (place, hop) in path.hops.iter().enumerate() {
            let first = tunnels.iter().filter(|(_, run, _)| run.start == place);
            let last = tunnels.iter().rev().filter(|(_, run, _)| run.end == place + 1);
            // Ingress and egress of a tunnel in the direction of the path, then back.
            let end = |which: usize| {
                move |(index, _, along): &(usize, _, bool)| {
                    self.ends + 4 * index + if *along { which } else { (which + 2) % 4 }
                }
            };
            let (there, back) = self.spans[hop.link].clone();
            let (there, back) = if hop.forward { (there, back) } else { (back, there) };
            forward.extend(first.clone().map(end(0)));
            forward.extend(there);
            forward.extend(last.clone().map(end(1)));
            // Built from its end, to be turned round.
            reverse.extend(first.map(end(3)));
            reverse.extend(back.rev());
            reverse.extend(last.map(end(2)));
        }
        reverse.reverse();
        Route { forward, reverse, weight: path.weight }
    }

    /// The routes that packets take whose flow has the hash of this name.
    fn taken(&self, routes: Vec<Route>, spread: Spread, hash: &str) -> Vec<Route> {
        if spread == Spread::ByPacket || routes.len() == 1 {
            return routes;
        }
        // RFC 2992 section 2: each path has a region of the hashes, here as large as its weight. The
        // two directions of a flow have a hash each.
        let mut rng = Rng::named(self.scenario.seed, &format!("flow.{hash}.path"));
        let total: u64 = routes.iter().map(|route| u64::from(route.weight)).sum();
        let mut drawn = || {
            let (place, mut end) = ((u64::from(rng.u32()) * total) >> 32, 0);
            let mut is_in_region = |route: &&Route| {
                end += u64::from(route.weight);
                place < end
            };
            routes.iter().find(|route| is_in_region(route)).expect("regions fill the whole")
        };
        let (forward, reverse) = (drawn().forward.clone(), drawn().reverse.clone());
        vec![Route { forward, reverse, weight: 1 }]
    }
}

fn tunnel_ends(ports: &mut Vec<PortSpec>, index: usize, tunnel: &Tunnel, forward: bool) {
    let way = if forward { "" } else { ".reverse" };
    let (first, last) = (tunnel.links[0].link, tunnel.links[tunnel.links.len() - 1].link);
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
