//! Hosts alone, each with a TUN device that leads to a middlebox, which has the rest of the network.

use std::net::Ipv4Addr;

use sojourn_scenario::{Path, Scenario, Stack};

use super::commands::{Action, Command, End, Link, Wire};
use super::{Host, Network, now, tuned};
use crate::check::Refusal;
use crate::job::Seat;

/// The device that leads to the middlebox.
const UPLINK: &str = "uplink";
/// The addresses of all hosts.
const WIRE: Wire = Wire(0);
/// The device that leads to end points of ours, and their addresses.
const STACK: &str = "stack";
const OWN_WIRE: Wire = Wire(1);

/// Of a super-packet: as few as a byte counts, and 64 kB of full packets have.
const MOST_SEGMENTS: u8 = 64;

/// Flows and pings: their ports are below those that a kernel chooses.
const MOST_FLOWS: usize = 10_000;

/// Hosts, and their devices.
#[derive(Debug)]
pub struct Outside {
    /// What makes the hosts.
    pub network: Network,
    /// The device of each by which it sends what is for another one.
    pub uplinks: Vec<End>,
    /// Where end points of ours are at each; empty if no flow has them.
    pub seats: Vec<Seat>,
}

impl Network {
    /// The hosts at the ends of the paths of `scenario`, whose flows have these end points. Without
    /// super-packets each of their packets is one segment.
    ///
    /// # Errors
    /// More hosts than addresses, or more flows than ports.
    pub fn of_hosts(
        scenario: &Scenario,
        stacks: &[Stack],
        has_super_packets: bool,
    ) -> Result<Outside, Refusal> {
        let names = names(scenario);
        let numbered = scenario.flows.len() + scenario.pings.len();
        if numbered > MOST_FLOWS {
            let reason = format!("expected at most {MOST_FLOWS} flows and pings, got {numbered}");
            return Err(Refusal::new(&scenario.name, reason));
        }
        if names.len() > 254 {
            let reason = format!("expected at most 254 hosts, got {}", names.len());
            return Err(Refusal::new(&scenario.name, reason));
        }
        let host = |(number, name): (usize, &String)| Host {
            namespace: name.clone(),
            address: WIRE.end(number as u8),
            device: UPLINK.to_owned(),
        };
        let mut network =
            Self { hosts: names.iter().enumerate().map(host).collect(), ..Self::default() };
        let flows = scenario.flows.iter();
        network.flows = flows.map(|flow| pair(scenario, flow.path(), flow.opens_far)).collect();
        let pings = scenario.pings.iter();
        network.pings = pings.map(|ping| pair(scenario, &ping.paths[0], false)).collect();
        let is_own = |stack: &Stack| *stack == Stack::Sojourn;
        let seat = |(number, host): (usize, &Host)| Seat {
            end: End { namespace: host.namespace.clone(), device: STACK.to_owned() },
            address: OWN_WIRE.end(number as u8),
        };
        let seats = network.hosts.iter().enumerate().map(seat);
        let seats: Vec<Seat> = seats.filter(|_| stacks.iter().any(is_own)).collect();
        let of_kernel = || {
            let flows = scenario.flows.iter().zip(stacks);
            let flows = flows.filter(|(_, stack)| **stack == Stack::Kernel);
            flows.map(|(flow, _)| flow)
        };
        let mtu = scenario.flows.iter().map(|flow| flow.tcp.mtu).max();
        let with_tcp = of_kernel().filter(|flow| flow.uses_kernel_tcp());
        let window = with_tcp.map(|flow| flow.tcp.initial_cwnd).max();
        for host in &network.hosts {
            let segments = if has_super_packets { MOST_SEGMENTS } else { 1 };
            network.commands.extend(commands(mtu, window, segments, &host.namespace, host.address));
        }
        network.commands.extend(seats.iter().flat_map(|seat| forwarding(mtu, seat)));
        let spaces: Vec<&str> = network.hosts.iter().map(|host| host.namespace.as_str()).collect();
        network.commands.extend(tuned(of_kernel(), &spaces));
        let uplink =
            |host: &Host| End { namespace: host.namespace.clone(), device: UPLINK.to_owned() };
        let uplinks = network.hosts.iter().map(uplink).collect();
        Ok(Outside { network, uplinks, seats })
    }
}

/// Names of the hosts: of the nodes of a graph, or of the two ends of a chain.
fn names(scenario: &Scenario) -> Vec<String> {
    if scenario.nodes.is_empty() {
        return ["cli", "srv"].map(str::to_owned).to_vec();
    }
    let name = |node: usize| format!("host-{}", scenario.nodes[node]);
    scenario.hosts().into_iter().map(name).collect()
}

/// The hosts from which and to which a path is opened.
fn pair(scenario: &Scenario, path: &Path, opens_far: bool) -> [usize; 2] {
    let place = |node| scenario.hosts().iter().position(|host| *host == node);
    let [near, far] = match scenario.ends(path) {
        None => [0, 1],
        Some(nodes) => nodes.map(|node| place(node).expect("an end of a path is a host")),
    };
    if opens_far { [far, near] } else { [near, far] }
}

/// The commands that make a host.
fn commands(
    mtu: Option<u32>,
    initial_window: Option<u32>,
    segments: u8,
    namespace: &str,
    address: Ipv4Addr,
) -> Vec<Command> {
    let device = UPLINK.to_owned();
    let loopback = Link { device: "lo".to_owned(), is_up: true, ..Link::default() };
    let link =
        Link { device: device.clone(), mtu, has_queue: true, is_up: true, ..Link::default() };
    let make =
        Command { at_ns: 0, namespace: None, action: Action::AddNamespace(namespace.to_owned()) };
    let inside = [
        Action::SetLink(loopback),
        Action::AddTun(device.clone()),
        Action::DisableIpv6,
        Action::KeepHashes,
        Action::SendSegments(device.clone(), segments),
        Action::AddAlias(device.clone(), address),
        Action::SetLink(link),
        Action::RouteAll(device, initial_window),
        Action::Sysctl("tcp_no_metrics_save".to_owned(), vec![1]),
    ];
    let inside = inside.map(|action| now(namespace, action));
    std::iter::once(make).chain(inside).collect()
}

/// The commands that have a host forward packets of end points of ours.
fn forwarding(mtu: Option<u32>, seat: &Seat) -> Vec<Command> {
    let End { namespace, device } = &seat.end;
    let link =
        Link { device: device.clone(), mtu, has_queue: true, is_up: true, ..Link::default() };
    let set = |key: &str, value| Action::Sysctl(key.to_owned(), vec![value]);
    let actions = [
        Action::AddTun(device.clone()),
        Action::SetLink(link),
        Action::RouteTo(device.clone(), seat.address),
        set("ip_forward", 1),
        // The way back of an address is not always that by which its packets come.
        set("conf.all.rp_filter", 0),
        set(&format!("conf.{device}.rp_filter"), 0),
        set(&format!("conf.{UPLINK}.rp_filter"), 0),
    ];
    actions.map(|action| now(namespace, action)).into()
}

#[cfg(test)]
mod tests;
