//! Namespaces, the wires between them, and the ways over these: a namespace for each link, one for each
//! host, and a router at each node where more than two of them meet.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::Ipv4Addr;

use sojourn_scenario::{Hop, Role, Scenario, Topology};

use super::commands::{Action, Destination, End, Link, Route, Wire};
use super::script::Script;

/// MTU of an Ethernet device.
const ETHERNET_MTU: u32 = 1500;

/// A namespace.
#[derive(Clone, Debug)]
pub(super) struct Space {
    pub(super) name: String,
    pub(super) role: Function,
}

/// What a namespace is there for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Function {
    Host,
    Router,
    /// The link with this index: its forward queue is on the device `right`, the other one on `left`.
    Link(usize),
}

/// A device and the index of its namespace.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Port {
    pub(super) space: usize,
    pub(super) device: String,
}

/// The device of a link's namespace by which packets leave in this direction.
pub(super) fn device(forward: bool) -> &'static str {
    if forward { "right" } else { "left" }
}

/// An address of a host: the host's namespace, and a number, from 0, which tells apart the ways to it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Address {
    pub(super) host: usize,
    number: u8,
}

impl Address {
    /// The address of a host that the nearest ways lead to.
    pub(super) fn first(host: usize) -> Self {
        Self { host, number: 0 }
    }
}

/// The hops from the end that opens a flow to the other one, and back.
pub(super) type Ways = [Vec<Hop>; 2];

/// The links that a route's ports belong to, in the order in which they are crossed.
pub(super) fn hops(topology: &Topology, ports: &[usize]) -> Vec<Hop> {
    let ports = ports.iter().map(|port| &topology.ports[*port]);
    let ports = ports.filter(|port| port.role == Role::Egress);
    ports.map(|port| Hop { link: port.link, forward: port.forward }).collect()
}

/// Where links meet.
#[derive(Debug)]
pub(super) struct Nodes {
    /// The nodes between which each link runs forward.
    ends: Vec<[usize; 2]>,
    /// What host and router of each node are called.
    names: Vec<[String; 2]>,
}

impl Nodes {
    pub(super) fn of(scenario: &Scenario) -> Self {
        let links = scenario.links.iter().enumerate();
        let ends = links.map(|(index, link)| link.ends.unwrap_or([index, index + 1]));
        let last = scenario.links.len();
        let chained = (0..=last).map(|node| match node {
            0 => ["cli".to_owned(), "node-0".to_owned()],
            _ if node == last => ["srv".to_owned(), format!("node-{node}")],
            _ => [format!("host-{node}"), format!("node-{node}")],
        });
        let named =
            scenario.nodes.iter().map(|name| [format!("host-{name}"), format!("node-{name}")]);
        let names = if scenario.nodes.is_empty() { chained.collect() } else { named.collect() };
        Self { ends: ends.collect(), names }
    }

    /// The nodes from which and to which a hop leads.
    fn of_hop(&self, hop: Hop) -> [usize; 2] {
        let [from, to] = self.ends[hop.link];
        if hop.forward { [from, to] } else { [to, from] }
    }

    /// Where a path begins and ends, if its links follow one another.
    pub(super) fn ends(&self, hops: &[Hop]) -> Option<[usize; 2]> {
        let ways: Vec<_> = hops.iter().map(|hop| self.of_hop(*hop)).collect();
        let follow = ways.windows(2).all(|pair| pair[0][1] == pair[1][0]);
        follow.then_some([ways.first()?[0], ways.last()?[1]])
    }

    /// Ends of links at a node.
    fn degree(&self, node: usize) -> usize {
        self.ends.iter().flatten().filter(|end| **end == node).count()
    }
}

/// The network as namespaces and wires.
#[derive(Debug)]
pub(super) struct Layout {
    nodes: Nodes,
    pub(super) spaces: Vec<Space>,
    /// Both ends of each wire.
    pub(super) wires: Vec<[Port; 2]>,
    /// By node.
    hosts: BTreeMap<usize, usize>,
    routers: BTreeMap<usize, usize>,
    /// By link: its own namespace.
    links: Vec<usize>,
    /// By wire and namespace: the wire that leads there over the fewest others.
    next: Vec<Vec<usize>>,
    /// By address and namespace: the wire that leads there, where a path does not take the nearest way.
    detours: BTreeMap<(Address, usize), usize>,
    /// Paths between two addresses which are not the first of their hosts.
    pairs: Vec<[Address; 2]>,
}

impl Layout {
    /// The network of a scenario, with a host at each of these nodes and where only one link ends.
    pub(super) fn new(
        scenario: &Scenario,
        nodes: Nodes,
        mut with_host: BTreeSet<usize>,
    ) -> Result<Self, String> {
        with_host.extend((0..nodes.names.len()).filter(|node| nodes.degree(*node) == 1));
        let (hosts, routers, links) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let (detours, pairs) = (BTreeMap::new(), Vec::new());
        let (spaces, wires, next) = (Vec::new(), Vec::new(), Vec::new());
        let mut layout = Self { nodes, spaces, wires, hosts, routers, links, next, detours, pairs };
        for (index, link) in scenario.links.iter().enumerate() {
            layout.add_node(layout.nodes.ends[index][0], &with_host);
            let space = layout.add(format!("mid-{}", link.name), Function::Link(index));
            layout.links.push(space);
        }
        for node in 0..layout.nodes.names.len() {
            layout.add_node(node, &with_host);
        }
        for node in 0..layout.nodes.names.len() {
            layout.join(node);
        }
        if layout.wires.len() > 256 {
            return Err(format!("expected at most 256 wires, got {}", layout.wires.len()));
        }
        layout.next = (0..layout.wires.len()).map(|wire| layout.toward(wire)).collect();
        Ok(layout)
    }

    /// The host and the router of a node, unless they are there.
    fn add_node(&mut self, node: usize, with_host: &BTreeSet<usize>) {
        let has_host = with_host.contains(&node);
        let [host, router] = self.nodes.names[node].clone();
        if has_host && !self.hosts.contains_key(&node) {
            let space = self.add(host, Function::Host);
            self.hosts.insert(node, space);
        }
        let members = self.nodes.degree(node) + usize::from(has_host);
        if members > 2 && !self.routers.contains_key(&node) {
            let space = self.add(router, Function::Router);
            self.routers.insert(node, space);
        }
    }

    fn add(&mut self, name: String, role: Function) -> usize {
        self.spaces.push(Space { name, role });
        self.spaces.len() - 1
    }

    /// Wires between what meets at a node: one between two, or each to the router.
    fn join(&mut self, node: usize) {
        let port = |space: usize, device: &str| Port { space, device: device.to_owned() };
        let links = |end: usize| {
            let links = self.links.iter().zip(&self.nodes.ends);
            links.filter(move |(_, ends)| ends[end] == node).map(|(space, _)| *space)
        };
        let mut ports: Vec<_> = links(1).map(|space| port(space, device(true))).collect();
        let leaving: Vec<_> = links(0).map(|space| port(space, device(false))).collect();
        let host = self.hosts.get(&node);
        ports.extend(host.map(|host| port(*host, device(!leaving.is_empty()))));
        ports.extend(leaving);
        match (self.routers.get(&node), <[Port; 2]>::try_from(ports.clone())) {
            (None, Ok(pair)) => self.wires.push(pair),
            (None, Err(_)) => {}
            (Some(router), _) => {
                for own in ports {
                    let name = format!("w{}", self.wires.len());
                    self.wires.push([own, Port { space: *router, device: name }]);
                }
            }
        }
    }

    /// By namespace: the wire over which the fewest others lead to this one.
    fn toward(&self, wire: usize) -> Vec<usize> {
        let mut next = vec![wire; self.spaces.len()];
        let mut reached: VecDeque<usize> = self.wires[wire].iter().map(|port| port.space).collect();
        let mut seen: BTreeSet<usize> = reached.iter().copied().collect();
        while let Some(space) = reached.pop_front() {
            for (index, _, other) in self.ports(space) {
                if self.spaces[space].role != Function::Host && seen.insert(other.space) {
                    next[other.space] = index;
                    reached.push_back(other.space);
                }
            }
        }
        next
    }

    /// The wires of a namespace, each with its own port and the one at the other end.
    pub(super) fn ports(&self, space: usize) -> impl Iterator<Item = (usize, &Port, &Port)> {
        self.wires.iter().enumerate().filter_map(move |(index, [one, other])| {
            match (one.space == space, other.space == space) {
                (true, _) => Some((index, one, other)),
                (_, true) => Some((index, other, one)),
                _ => None,
            }
        })
    }

    /// The address of a namespace on a wire.
    fn address(&self, wire: usize, space: usize) -> Ipv4Addr {
        Wire(wire as u8).end(u8::from(self.wires[wire][1].space == space))
    }

    /// The namespace of a link.
    pub(super) fn link(&self, link: usize) -> &str {
        &self.spaces[self.links[link]].name
    }

    /// The next hop from a namespace over one of its wires.
    fn hop(&self, space: usize, wire: usize) -> Ipv4Addr {
        let other = usize::from(self.wires[wire][0].space == space);
        self.address(wire, self.wires[wire][other].space)
    }

    /// The wire of a host, and its device there.
    fn access(&self, host: usize) -> (usize, &Port) {
        let mut ports = self.ports(host);
        let (wire, own, _) = ports.next().expect("a host has one wire");
        (wire, own)
    }

    /// The device of a host.
    pub(super) fn device(&self, host: usize) -> &str {
        &self.access(host).1.device
    }

    /// An address as it is written.
    pub(super) fn written(&self, address: Address) -> Ipv4Addr {
        let (wire, _) = self.access(address.host);
        match address.number {
            0 => self.address(wire, address.host),
            number => Ipv4Addr::new(10, 9, wire as u8, 100 + number),
        }
    }

    /// The hosts, in the order in which they were made.
    pub(super) fn hosts(&self) -> impl Iterator<Item = usize> {
        (0..self.spaces.len()).filter(|space| self.spaces[*space].role == Function::Host)
    }

    /// The namespaces that a path passes, each with the wire to the next one, and the host behind.
    fn steps(&self, hops: &[Hop]) -> (Vec<(usize, usize)>, usize) {
        let (mut passed, mut last) = (Vec::new(), 0);
        for hop in hops {
            let [from, to] = self.nodes.of_hop(*hop);
            passed.extend(self.routers.get(&from));
            passed.push(self.links[hop.link]);
            last = to;
        }
        passed.extend(self.routers.get(&last));
        let host = self.hosts[&last];
        let behind = passed.iter().skip(1).chain([&host]);
        let wire = |(own, next): (&usize, &usize)| {
            let found = self.ports(*own).find(|(.., other)| other.space == *next);
            (*own, found.expect("neighbours on a path have a wire").0)
        };
        (passed.iter().zip(behind).map(wire).collect(), host)
    }

    /// The addresses of the two ends of a path: data from the first to the second take `there`, the others
    /// `back`. Kernels choose the way by the destination, so each way that differs from the nearest one has
    /// an address of its own.
    pub(super) fn connect(&mut self, [there, back]: &Ways) -> Result<[Address; 2], String> {
        let ((there, far), (back, near)) = (self.steps(there), self.steps(back));
        let suits = |number: &u8| {
            [(&there, far), (&back, near)].into_iter().all(|(steps, host)| {
                let address = Address { host, number: *number };
                steps.iter().all(|(space, wire)| match self.detours.get(&(address, *space)) {
                    None if *number == 0 => self.next[self.access(host).0][*space] == *wire,
                    chosen => chosen.is_none_or(|chosen| chosen == wire),
                })
            })
        };
        let number =
            (0..=99).find(suits).ok_or("more than 99 other paths end at one of its hosts")?;
        let pair = [near, far].map(|host| Address { host, number });
        if number > 0 && !self.pairs.contains(&pair) {
            self.pairs.push(pair);
            for (address, steps) in pair.into_iter().zip([back, there]) {
                self.detours.extend(steps.iter().map(|(space, wire)| ((address, *space), *wire)));
            }
        }
        Ok(pair)
    }

    /// The commands that build it; `window` is the initial window of connections, in segments.
    pub(super) fn build(&self, script: &mut Script, mtus: &BTreeSet<u32>, windows: &BTreeSet<u32>) {
        let name = |space: usize| Some(self.spaces[space].name.as_str());
        for space in &self.spaces {
            script.run(None, Action::AddNamespace(space.name.clone()));
            let link = Link { device: "lo".to_owned(), is_up: true, ..Link::default() };
            script.run(Some(&space.name), Action::SetLink(link));
        }
        if mtus.len() > 1 {
            let mtus = mtus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            script.limit(&format!("flows have MTUs of {mtus}; every device gets the largest"));
        }
        for (wire, ports) in self.wires.iter().enumerate() {
            script.run(
                None,
                Action::AddVeth(ports.clone().map(|port| End {
                    namespace: self.spaces[port.space].name.clone(),
                    device: port.device,
                })),
            );
            for Port { space, device } in ports {
                let link = Link { device: device.clone(), ..Link::default() };
                // A bottleneck's device is as Ethernet's at least, whatever the hosts send: disciplines spare what one
                // packet of its MTU takes (`psched_mtu`).
                let is_host = self.spaces[*space].role == Function::Host;
                let mtu =
                    mtus.last().map(|mtu| if is_host { *mtu } else { (*mtu).max(ETHERNET_MTU) });
                let has_queue = true;
                let address = self.address(wire, *space);
                for action in [
                    Action::SetLink(Link { mtu, has_queue, ..link.clone() }),
                    Action::DisableOffloads(device.clone()),
                    Action::AddAddress(device.clone(), address),
                    Action::SetLink(Link { is_up: true, ..link }),
                ] {
                    script.run(name(*space), action);
                }
            }
        }
        if windows.len() > 1 {
            script.limit("flows have different initial windows; the routes give each the largest");
        }
        let initial_window = windows.last().copied();
        for host in self.hosts() {
            let via = self.hop(host, self.access(host).0);
            let route = Route { to: Destination::Any, via, from: None, initial_window };
            script.run(name(host), Action::AddRoute(route));
        }
        for space in (0..self.spaces.len()).filter(|s| self.spaces[*s].role != Function::Host) {
            script.run(name(space), Action::Sysctl("ip_forward".to_owned(), vec![1]));
            for (wire, next) in self.next.iter().enumerate() {
                if next[space] != wire {
                    let (to, via) =
                        (Destination::Wire(Wire(wire as u8)), self.hop(space, next[space]));
                    let route = Route { to, via, from: None, initial_window: None };
                    script.run(name(space), Action::AddRoute(route));
                }
            }
        }
        for [near, far] in &self.pairs {
            for (own, other) in [(near, far), (far, near)] {
                let (wire, port) = self.access(own.host);
                let from = self.written(*own);
                script.run(name(own.host), Action::AddAlias(port.device.clone(), from));
                let (to, via) = (Destination::Host(self.written(*other)), self.hop(own.host, wire));
                let route = Route { to, via, from: Some(from), initial_window };
                script.run(name(own.host), Action::AddRoute(route));
            }
        }
        for ((address, space), wire) in &self.detours {
            let (to, via) = (Destination::Host(self.written(*address)), self.hop(*space, *wire));
            let route = Route { to, via, from: None, initial_window: None };
            script.run(name(*space), Action::AddRoute(route));
        }
        for host in self.hosts() {
            script.run(name(host), Action::Sysctl("tcp_no_metrics_save".to_owned(), vec![1]));
        }
    }
}
