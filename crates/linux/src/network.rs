//! The network of a scenario on a Linux machine, as typed commands: namespaces joined by veth pairs, and
//! shapers, queues and delays on their devices.

mod built;
mod commands;
mod interface;
mod layout;
mod outside;
mod queues;
mod script;
mod timeline;
pub(crate) mod watched;

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use sojourn_cc::Feedback;
use sojourn_scenario::{Flow, Scenario, Topology};
use sojourn_transport::app::App;
use sojourn_transport::tcp::Config;

use self::built::Built;
pub use self::commands::{
    Action, Command, Destination, End, Handle, Hook, Link, Police, Route, Tc, Verb, Wire,
};
pub use self::interface::script_on;
use self::layout::{Address, Layout, Nodes, hops};
pub use self::outside::Outside;
pub use self::script::Script;
pub use self::timeline::script;
use crate::check::Refusal;

/// The network of a scenario, and what of it is sampled.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Network {
    /// Commands in order.
    pub commands: Vec<Command>,
    /// Devices whose queues are sampled.
    pub devices: Vec<Device>,
    /// Addresses of hosts.
    pub hosts: Vec<Host>,
    /// Of each flow, the index of the host that opens it, and of the other one.
    pub flows: Vec<[usize; 2]>,
    /// Of each ping, the index of the host that asks, and of the one that answers.
    pub pings: Vec<[usize; 2]>,
}

/// An address of a host.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Host {
    /// Its namespace.
    pub namespace: String,
    /// The address.
    pub address: Ipv4Addr,
    /// Its device.
    pub device: String,
}

/// A device, and which of the disciplines on it are queues of the scenario.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Device {
    /// Its namespace.
    pub namespace: String,
    /// Its name there.
    pub name: String,
    /// Of policers, which are actions of a filter: where that filter is.
    pub hook: Option<Hook>,
    /// Queues on it.
    pub queues: Vec<QueuePlace>,
}

/// Where a queue is attached to its device.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct QueuePlace {
    /// Name of the port, as in [`PortSpec`](sojourn_scenario::PortSpec).
    pub port: String,
    /// Disciplines above it: 0 at the root. Of a policer: actions before it.
    pub depth: usize,
}

impl Network {
    /// The network in which flows and pings of `scenario` run, with nothing else on its wires.
    pub fn of(scenario: &Scenario) -> Result<Self, Refusal> {
        let topology = Topology::new(scenario);
        let nodes = Nodes::of(scenario);
        let flows = scenario.flows.iter().map(|flow| format!("flow.{}.path", flow.name));
        let pings = scenario.pings.iter().map(|ping| format!("ping.{}.path", ping.name));
        let (mut ways, mut with_host) = (Vec::new(), BTreeSet::new());
        for (key, routes) in flows.chain(pings).zip(topology.flows.iter().chain(&topology.pings)) {
            let refused = |reason: &str| Refusal::new(&key, reason);
            let [route] = &routes[..] else {
                return Err(refused("a kernel chooses one path for all packets of a flow"));
            };
            let way = [&route.forward, &route.reverse].map(|ports| hops(&topology, ports));
            let ends = nodes.ends(&way[0]);
            with_host
                .extend(ends.ok_or_else(|| refused("expected links that follow one another"))?);
            ways.push((key, way));
        }
        let refused = |reason| Refusal { key: scenario.name.clone(), reason };
        let mut layout = Layout::new(scenario, nodes, with_host).map_err(refused)?;
        let mut network = Self::default();
        let mut addresses: Vec<_> = layout.hosts().map(Address::first).collect();
        let mut index = |address: Address| {
            let known = addresses.iter().position(|known| *known == address);
            known.unwrap_or_else(|| {
                addresses.push(address);
                addresses.len() - 1
            })
        };
        for (number, (key, way)) in ways.into_iter().enumerate() {
            let pair = layout.connect(&way);
            let pair = pair.map_err(|reason| Refusal { key, reason })?.map(&mut index);
            let of_flow = number < scenario.flows.len();
            if of_flow { &mut network.flows } else { &mut network.pings }.push(pair);
        }
        let mut built = Built::new(layout, Script::checked());
        built.build(scenario);
        scenario.schedule.iter().for_each(|change| built.change(scenario, change));
        if let Some(limit) = built.script.limits().first() {
            return Err(refused(limit.clone()));
        }
        let host = |address: &Address| Host {
            namespace: built.layout.spaces[address.host].name.clone(),
            address: built.layout.written(*address),
            device: built.layout.device(address.host).to_owned(),
        };
        network.hosts = addresses.iter().map(host).collect();
        network.devices = built.devices(&topology);
        network.commands = built.script.commands().flat_map(quiet).collect();
        let layout = &built.layout;
        let hosts: Vec<&str> =
            layout.hosts().map(|host| layout.spaces[host].name.as_str()).collect();
        network.commands.extend(tuned(&scenario.flows, &hosts));
        network.commands.extend(paced(scenario, layout, &network));
        network.commands.sort_by_key(|command| command.at_ns);
        Ok(network)
    }

    /// The namespaces that its commands make.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.commands.iter().filter_map(|command| match &command.action {
            Action::AddNamespace(name) => Some(name.as_str()),
            _ => None,
        })
    }
}

/// A command, and those after which nothing is on the wires that it adds but the flows.
fn quiet(command: &Command) -> Vec<Command> {
    let mut all = vec![command.clone()];
    let mut add = |namespace: &str, action| {
        let namespace = Some(namespace.to_owned());
        all.push(Command { at_ns: command.at_ns, namespace, action });
    };
    match (&command.action, &command.namespace) {
        (Action::AddNamespace(name), _) => {
            add(name, Action::DisableIpv6);
            add(name, Action::KeepHashes);
        }
        (Action::AddAddress(device, address), Some(namespace)) => {
            let link = Link { device: device.clone(), ..Link::default() };
            let [a, b, wire, end] = address.octets();
            let other = Ipv4Addr::new(a, b, wire, 3 - end);
            add(namespace, Action::SetLink(Link { address: Some(*address), ..link.clone() }));
            add(namespace, Action::SetLink(Link { is_up: true, ..link }));
            add(namespace, Action::SetNeighbour(device.clone(), other));
        }
        _ => {}
    }
    all
}

/// Settings of hosts, by their namespaces. They accept whatever ECN a flow asks for; what it asks for is
/// its own.
fn tuned<'a>(flows: impl IntoIterator<Item = &'a Flow>, hosts: &[&str]) -> Vec<Command> {
    let flows: Vec<_> = flows.into_iter().filter(|flow| flow.uses_kernel_tcp()).collect();
    let Some(first) = flows.first() else { return Vec::new() };
    let mut chosen = settings(&first.tcp);
    let modes = flows.iter().map(|flow| tcp_ecn(flow.tcp.ecn));
    chosen[0].1 = vec![modes.max().unwrap_or_default().into()];
    if flows.iter().any(|flow| flow.tcp.ecn == Feedback::AccEcn) {
        chosen.push(("tcp_ecn_option", vec![if first.tcp.accecn_option { 2 } else { 0 }]));
    }
    if flows.iter().any(|flow| matches!(flow.app.build(), App::Short(_))) {
        // Connections that come and go are not to run out of ports.
        chosen.push(("ip_local_port_range", vec![20_000, 65_535]));
        chosen.push(("tcp_tw_reuse", vec![1]));
    }
    let mut commands = Vec::new();
    for host in hosts {
        for (key, values) in &chosen {
            commands.push(now(host, Action::Sysctl((*key).to_owned(), values.clone())));
        }
    }
    commands
}

/// What paces the packets of the hosts that send data, if TCP is to be paced.
fn paced(scenario: &Scenario, layout: &Layout, network: &Network) -> Vec<Command> {
    let mut flows = scenario.flows.iter().filter(|flow| flow.is_tcp());
    if !flows.next().is_some_and(|first| first.tcp.pacing) {
        return Vec::new();
    }
    let pairs = scenario.flows.iter().zip(&network.flows).filter(|(flow, _)| flow.is_tcp());
    let senders = pairs.map(|(flow, pair)| pair[usize::from(flow.up != flow.opens_far)]);
    let senders: BTreeSet<&str> =
        senders.map(|host| network.hosts[host].namespace.as_str()).collect();
    let paced = layout.hosts().filter(|host| senders.contains(&*layout.spaces[*host].name));
    let command =
        |host: usize| now(&layout.spaces[host].name, Action::Tc(pace(layout.device(host))));
    paced.map(command).collect()
}

/// A command in a namespace before the run.
fn now(namespace: &str, action: Action) -> Command {
    Command { at_ns: 0, namespace: Some(namespace.to_owned()), action }
}

/// The discipline that paces what a host sends.
fn pace(device: &str) -> Tc {
    Tc::Qdisc {
        verb: Verb::Replace,
        device: device.to_owned(),
        parent: None,
        handle: None,
        stab: None,
        qdisc: "fq".to_owned(),
    }
}

/// Settings of both hosts for a flow, below `net.ipv4`.
fn settings(tcp: &Config) -> Vec<(&'static str, Vec<u64>)> {
    vec![
        ("tcp_ecn", vec![tcp_ecn(tcp.ecn).into()]),
        ("tcp_timestamps", vec![tcp.timestamps.into()]),
        ("tcp_rmem", vec![4096, tcp.rmem_default.0, tcp.rmem_max.0]),
        ("tcp_wmem", vec![4096, 16_384, tcp.wmem_max.0]),
        ("tcp_pacing_ss_ratio", vec![tcp.pacing_ss_ratio.into()]),
        ("tcp_pacing_ca_ratio", vec![tcp.pacing_ca_ratio.into()]),
    ]
}

/// `tcp_ecn` of a host whose connections ask for this feedback.
pub(crate) fn tcp_ecn(feedback: Feedback) -> u8 {
    match feedback {
        Feedback::Rfc3168 | Feedback::Dctcp | Feedback::Sce => 1,
        Feedback::AccEcn => 3,
        Feedback::None | Feedback::Ccfb | Feedback::Counters => 0,
    }
}

#[cfg(test)]
mod tests;
