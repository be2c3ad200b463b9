//! Whether a kernel can do a scenario.

mod programs;

use std::fmt;

use sojourn_cc::{self as cc, Feedback};
use sojourn_core::Dur;
use sojourn_core::grammar::{Written, text};
use sojourn_core::spec::Kernel;
use sojourn_queue::aqm;
use sojourn_queue::impair::mangle;
use sojourn_scenario::{Change, Direction, Edit, Flow, Ping, Scenario, Stack};
use sojourn_transport::app::App;
use sojourn_transport::tcp::{Config, Overlay, Owner, PARAMETERS, Parameter};

pub(crate) use self::programs::check_programs;
use crate::capabilities::Capabilities;
use crate::job::Place;
use crate::network::{Network, watched};
use crate::run::Carrier;
use crate::tc::{Part, Spelled};

/// What a kernel cannot do of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The key of the scenario, such as `link.bneck.qdisc`.
    pub key: String,
    /// Why.
    pub reason: String,
}

impl Refusal {
    pub(crate) fn new(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { key: key.into(), reason: reason.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: not on this engine: {}", self.key, self.reason)
    }
}

/// Flows and pings have ports from [`FIRST_PORT`](crate::job) on, below those that the kernel gives itself.
const MOST_PORTS: usize = 27_000;

/// Parameters with which an algorithm says which version of it is meant.
pub(crate) const VERSIONS: [&str; 2] = ["version", "law"];

/// Refuses the first key of a scenario that cannot be done by the kernel, or with a middlebox between its
/// hosts.
pub fn check(
    scenario: &Scenario,
    kernel: &Capabilities,
    place: Place,
    carrier: Carrier,
) -> Result<(), Refusal> {
    if scenario.noise.is_some() {
        return Err(Refusal::new(
            "hosts.noise",
            "its hosts have their own, or in virtual time none",
        ));
    }
    if scenario.flows.len() + scenario.pings.len() > MOST_PORTS {
        let reason =
            format!("each has a port of its own: expected at most {MOST_PORTS} with pings");
        return Err(Refusal::new("flow", reason));
    }
    if carrier == Carrier::Kernel {
        check_network(scenario, kernel)?;
    }
    let stacks = stacks(scenario, kernel, place, carrier)?;
    let with_kernel = scenario.flows.iter().zip(&stacks);
    let with_kernel = with_kernel.filter(|(_, stack)| **stack == Stack::Kernel);
    check_alike(with_kernel.map(|(flow, _)| flow))?;
    let mtu = largest_mtu(scenario);
    scenario.pings.iter().try_for_each(|ping| check_ping(ping, mtu))?;
    match carrier {
        Carrier::Kernel => {
            watched::check(scenario)?;
            Network::of(scenario).map(drop)
        }
        Carrier::Middlebox { has_super_packets, .. } => {
            Network::of_hosts(scenario, &stacks, has_super_packets).map(drop)
        }
    }
}

fn largest_mtu(scenario: &Scenario) -> u32 {
    scenario.flows.iter().map(|flow| flow.tcp.mtu).max().unwrap_or(1500)
}

/// Whose end points each flow has: what it says, or else the kernel's if it has them, or ours.
pub(crate) fn stacks(
    scenario: &Scenario,
    kernel: &Capabilities,
    place: Place,
    carrier: Carrier,
) -> Result<Vec<Stack>, Refusal> {
    let mtu = largest_mtu(scenario);
    let of_flow = |flow: &Flow| match flow.stack {
        Some(own @ (Stack::Sojourn | Stack::Scream)) => {
            check_own(flow, own, mtu, carrier).map(|()| own)
        }
        None if flow.controls_udp() => {
            check_own(flow, Stack::Scream, mtu, carrier).map(|()| Stack::Scream)
        }
        stack => match check_flow(flow, mtu, kernel, place) {
            Ok(()) => Ok(Stack::Kernel),
            Err(_) if stack.is_none() && flow.exec.is_none() && carrier != Carrier::Kernel => {
                Ok(Stack::Sojourn)
            }
            Err(refusal) => Err(refusal),
        },
    };
    scenario.flows.iter().map(of_flow).collect()
}

/// A flow whose end points are ours.
fn check_own(flow: &Flow, stack: Stack, mtu: u32, carrier: Carrier) -> Result<(), Refusal> {
    let key = |name: &str| format!("flow.{}.{name}", flow.name);
    if stack == Stack::Sojourn && carrier == Carrier::Kernel {
        return Err(Refusal::new(key("stack"), "our end points need our queues"));
    }
    match flow.largest_media() {
        Some(largest) if largest > mtu => Err(Refusal::new(key("cc"), fragments(mtu))),
        _ => Ok(()),
    }
}

/// What the kernel does with packets on their way.
fn check_network(scenario: &Scenario, kernel: &Capabilities) -> Result<(), Refusal> {
    if let Some(tunnel) = scenario.tunnels.first() {
        let key = format!("tunnel.{}", tunnel.name);
        return Err(Refusal::new(key, "tunnels are in the simulator only"));
    }
    for link in &scenario.links {
        check_direction(&format!("link.{}", link.name), &link.forward, kernel)?;
        check_direction(&format!("link.{}.reverse", link.name), &link.reverse, kernel)?;
    }
    let delays = scenario
        .links
        .iter()
        .find(|link| [&link.forward, &link.reverse].iter().any(|way| way.delay > Dur::ZERO));
    if let (Some(link), false) = (delays, kernel.qdiscs.contains_key("netem")) {
        let origin = Kernel::Mainline("2.6");
        let key = format!("link.{}.delay", link.name);
        let lack = lack("netem", origin, &kernel.release);
        let reason = format!(
            "{lack}; a kernel has no other delay: expected 0s, or our queues and delays, --qdisc sojourn"
        );
        return Err(Refusal::new(key, reason));
    }
    for change in &scenario.schedule {
        if let Edit::Change(to, _) | Edit::Replace(to) | Edit::Ingress(_, to) = &change.edit {
            check_queue(&key_of(change, scenario), to, kernel)?;
        }
    }
    Ok(())
}

/// The key of a scheduled change, as the file names it.
pub(crate) fn key_of(change: &Change, scenario: &Scenario) -> String {
    let side = match (change.forward, change.reverse) {
        (true, false) => ".forward",
        (false, true) => ".reverse",
        _ => "",
    };
    let what = match &change.edit {
        Edit::Rate(_) => "rate".to_owned(),
        Edit::Delay(_) => "delay".to_owned(),
        Edit::Ingress(number, _) => format!("ingress{number}"),
        Edit::Change(..) | Edit::Replace(_) => "qdisc".to_owned(),
    };
    let (at, link) = (Dur(change.at.0), &scenario.links[change.link].name);
    format!("schedule at {at}: link.{link}{side}.{what}")
}

fn check_direction(key: &str, way: &Direction, kernel: &Capabilities) -> Result<(), Refusal> {
    for (name, spec) in [("shaper", way.shaper.as_ref()), ("stab", way.stab.as_ref())] {
        spec.map_or(Ok(()), |spec| check_queue(&format!("{key}.{name}"), spec, kernel))?;
    }
    check_queue(&format!("{key}.qdisc"), &way.qdisc, kernel)?;
    let mut elements = way.ingress.iter().enumerate();
    elements.try_for_each(|(n, spec)| check_queue(&format!("{key}.ingress{n}"), spec, kernel))
}

/// A queue, shaper or element.
fn check_queue(key: &str, spec: &aqm::Spec, kernel: &Capabilities) -> Result<(), Refusal> {
    let (kind, release) = (spec.name(), &kernel.release);
    let refuse = |reason: String| Err(Refusal::new(key, reason));
    if let Some(rewrites) = mangle::rewrites(spec) {
        let missing =
            ["pedit", "csum"].into_iter().find(|action| !kernel.actions.contains(*action));
        return match (rewrites, missing) {
            (Err(why), _) => refuse(format!("`mangle`: {why}")),
            (_, Some(action)) => {
                refuse(format!("Linux {release} or its tc has no action `{action}`"))
            }
            _ => Ok(()),
        };
    }
    let spelled = Spelled::of(spec);
    let is_there = match kind {
        "police" => kernel.actions.contains(kind),
        _ => kernel.qdiscs.contains_key(kind),
    };
    if !is_there {
        return refuse(lack(kind, spelled.kernel, release));
    }
    for part in spec.written().iter().filter(|part| VERSIONS.contains(&part.name)) {
        let version = part.text.split(' ').next_back().unwrap_or_default();
        if !kernel.has_version(kind, version) {
            return refuse(format!("Linux {release} has no `{}` of `{kind}`", part.text));
        }
    }
    if let Some(part) = spelled.left_out.iter().find(|part| !VERSIONS.contains(&part.name)) {
        return refuse(format!("no kernel knows `{}` of `{kind}`", part.text));
    }
    let refused = |part: &&Part| !part.is_default && kernel.refuses(kind, part.name);
    match spelled.parts.iter().find(refused) {
        Some(part) => refuse(format!(
            "Linux {release} or its tc refuses or ignores `{}` of `{kind}`",
            part.text
        )),
        None => Ok(()),
    }
}

/// Why an algorithm is not there.
fn lack(name: &str, origin: Kernel, release: &str) -> String {
    match origin {
        Kernel::Mainline(_) => format!("`{name}` is {origin}, and not in this Linux {release}"),
        _ => format!("`{name}` is in {origin}"),
    }
}

fn check_flow(flow: &Flow, mtu: u32, kernel: &Capabilities, place: Place) -> Result<(), Refusal> {
    let key = |name: &str| format!("flow.{}.{name}", flow.name);
    if let Some(spec) = &flow.cc {
        check_controller(&key("cc"), spec, kernel)?;
    }
    match flow.app.build() {
        App::Udp(_) if datagram(&flow.app.written()) > mtu => {
            return Err(Refusal::new(key("app"), fragments(mtu)));
        }
        _ => {}
    }
    if flow.hash_of.is_some() {
        return Err(Refusal::new(key("hash_of"), "the kernel chooses its own hashes"));
    }
    if flow.uses_kernel_tcp() {
        check_tcp(&key("tcp"), &flow.tcp, kernel, place)?;
    }
    Ok(())
}

/// IP bytes of the packets of an application over UDP, if it states them.
fn datagram(parts: &[Written]) -> u32 {
    let part = parts.iter().find(|part| part.name == "size");
    part.and_then(|part| part.text.split(' ').next_back()?.parse().ok()).unwrap_or(0)
}

fn fragments(mtu: u32) -> String {
    format!("the kernel would send more than the MTU of {mtu} bytes in fragments")
}

fn check_controller(key: &str, spec: &cc::Spec, kernel: &Capabilities) -> Result<(), Refusal> {
    let (name, origin) = (spec.name(), spec.entry().kernel);
    if !kernel.controllers.contains_key(name) {
        return Err(Refusal::new(key, lack(name, origin, &kernel.release)));
    }
    let short = spec.short();
    let parameters = short.strip_prefix(name).unwrap_or_default().trim();
    if name == "bbr" {
        let own = kernel.bbr();
        if text(&spec.written()) != format!("version {own} noecn") {
            let reason = format!("Linux {} has `bbr version {own}` only", kernel.release);
            return Err(Refusal::new(key, reason));
        }
        return Ok(());
    }
    // A tree's own is of the version that its builder chose.
    let is_version = matches!(origin, Kernel::Tree(_)) && parameters.starts_with("version ");
    if parameters.is_empty() || (is_version && parameters.split(' ').count() == 2) {
        return Ok(());
    }
    let reason =
        format!("the kernel's `{name}` takes no parameters, and does not know `{parameters}`");
    Err(Refusal::new(key, reason))
}

fn check_tcp(key: &str, tcp: &Config, kernel: &Capabilities, place: Place) -> Result<(), Refusal> {
    let flag = own_flags(tcp).next();
    let lacks = |setting: &str| !kernel.settings.contains(setting);
    let of_trees = "no mainline kernel has it";
    let reasons = [
        // This machine is as it is; another kernel would be started for another tick.
        (
            place == Place::Virtual && tcp.hz != kernel.hz,
            "hz",
            format!("the kernel is built with {}", kernel.hz),
        ),
        (
            flag.is_some(),
            flag.unwrap_or_default(),
            "the kernel does what its version does".to_owned(),
        ),
        (tcp.gso, "gso", "its devices have no offloads".to_owned()),
        (tcp.gro, "gro", "its devices have no offloads".to_owned()),
        (tcp.ecn_plus_plus, "ecn_plus_plus", of_trees.to_owned()),
        (tcp.ecn == Feedback::Sce && lacks("tcp_sce"), "ecn", of_trees.to_owned()),
        (
            tcp.ecn == Feedback::AccEcn && !kernel.accecn,
            "ecn",
            format!("Linux {} refuses AccECN (tcp_ecn=3)", kernel.release),
        ),
        (tcp.ecn_unsafe_cep && lacks("tcp_ecn_unsafe_cep"), "ecn_unsafe_cep", of_trees.to_owned()),
    ];
    match reasons.into_iter().find(|(is_wrong, ..)| *is_wrong) {
        Some((_, name, reason)) => Err(Refusal::new(format!("{key}.{name}"), reason)),
        None => Ok(()),
    }
}

/// Keys in which it differs from what the kernels of its era do.
pub(crate) fn own_flags(tcp: &Config) -> impl Iterator<Item = &'static str> {
    let differing = Overlay::from(tcp).differing(&Config::of(tcp.era)).into_iter();
    differing.filter(|name| PARAMETERS.iter().any(|p| p.key == *name && p.owner == Owner::Kernel))
}

/// Both hosts have one set of settings; each connection reads its own ECN, and an era none.
fn check_alike<'a>(mut flows: impl Iterator<Item = &'a Flow>) -> Result<(), Refusal> {
    let Some(first) = flows.next() else { return Ok(()) };
    for flow in flows {
        if let Some(name) = unlike(&flow.tcp, &first.tcp).next() {
            let value = serde_json::to_value(Overlay::from(&first.tcp)).unwrap_or_default();
            let key = format!("flow.{}.tcp.{name}", flow.name);
            let reason = format!("the kernel has one value for all flows, {}", value[name]);
            return Err(Refusal::new(key, reason));
        }
    }
    Ok(())
}

/// What a socket of its own may have.
const OF_A_SOCKET: [&str; 2] = ["ecn", "max_pacing_rate"];

/// Keys of both hosts' settings in which two configurations differ.
pub(crate) fn unlike(tcp: &Config, other: &Config) -> impl Iterator<Item = &'static str> {
    let of_host = |name: &&str| {
        let is_host = |p: &Parameter| p.owner == Owner::Host && !OF_A_SOCKET.contains(&p.key);
        PARAMETERS.iter().any(|p| p.key == *name && is_host(p))
    };
    Overlay::from(tcp).differing(other).into_iter().filter(of_host)
}

fn check_ping(ping: &Ping, mtu: u32) -> Result<(), Refusal> {
    // An echo request without payload, in IP bytes; over UDP its number has to be in the payload.
    let (least, protocol) = if ping.udp { (30, "UDP") } else { (28, "ICMP") };
    let key = format!("ping.{}.size", ping.name);
    if ping.size < least {
        let reason = format!("an echo request over {protocol} has {least} bytes at least");
        return Err(Refusal::new(key, reason));
    }
    if ping.size > mtu {
        return Err(Refusal::new(key, fragments(mtu)));
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
