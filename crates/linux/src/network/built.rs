//! A scenario's network while it is built: queues, delays, and the changes of the schedule.

use std::collections::BTreeSet;

use sojourn_core::Dur;
use sojourn_scenario::{self as scenario, Change, Direction, Edit, Role, Scenario, Topology};
use sojourn_transport::tcp::{Config, Era};

use super::commands::Hook;
use super::layout::{Function, Layout, Port, device};
use super::queues::{Device as Place, Queues, Spot, Way, police_of, policers, redirect};
use super::script::Script;
use super::{Device, QueuePlace};

/// A network as it is built.
pub(super) struct Built {
    pub(super) script: Script,
    pub(super) layout: Layout,
    queues: Queues,
    /// By link: forward and reverse.
    ways: Vec<[Way; 2]>,
}

impl Built {
    pub(super) fn new(layout: Layout, script: Script) -> Self {
        Self { script, layout, queues: Queues::default(), ways: Vec::new() }
    }

    /// The network, its queues and its delays.
    pub(super) fn build(&mut self, scenario: &Scenario) {
        let usual = Config::of(Era::default());
        let or_usual = |values: BTreeSet<u32>, usual: u32| {
            if values.is_empty() { [usual].into() } else { values }
        };
        let mtus = scenario.flows.iter().map(|flow| flow.tcp.mtu).collect();
        let mtus = or_usual(mtus, usual.mtu);
        let with_tcp = scenario.flows.iter().filter(|flow| flow.is_tcp());
        let windows = with_tcp.map(|flow| flow.tcp.initial_cwnd).collect();
        let windows = or_usual(windows, usual.initial_cwnd);
        self.layout.build(&mut self.script, &mtus, &windows);
        for (index, link) in scenario.links.iter().enumerate() {
            let ways = [true, false].map(|forward| {
                self.script.shell("");
                let space = self.layout.link(index);
                let chain = self.queues.open(Place::new(Some(space), device(forward)));
                let (own, what) = (way(link, forward), named(link, forward));
                self.queues.add_egress(&mut self.script, chain, own, &[], &what).0
            });
            self.ways.push(ways);
        }
        for space in 0..self.layout.spaces.len() {
            let ports = self.layout.ports(space);
            let ports: Vec<_> = ports.map(|(_, own, other)| (own.clone(), other.clone())).collect();
            for (own, other) in ports {
                self.add_arrivals(scenario, &own, &other);
            }
        }
        for tunnel in &scenario.tunnels {
            let [first, last] = [tunnel.links.first(), tunnel.links.last()]
                .map(|hop| hop.map_or("", |hop| scenario.links[hop.link].name.as_str()));
            let ends = format!("mid-{first} and mid-{last}");
            self.script.limit(&format!(
                "tunnel {} is left out; it would be an `ip link ... type ipip` between {ends}",
                tunnel.name
            ));
        }
    }

    /// What is between the arrival of packets at a device and their next queue: the delay of the link that
    /// they leave, and the elements of the one that they enter.
    fn add_arrivals(&mut self, scenario: &Scenario, own: &Port, other: &Port) {
        let role = |port: &Port| self.layout.spaces[port.space].role;
        let left = match role(other) {
            Function::Link(link) => Some((link, other.device == device(true))),
            _ => None,
        };
        let entered = match role(own) {
            Function::Link(link) => Some((link, own.device == device(false))),
            _ => None,
        };
        let delay =
            left.map(|(link, forward)| (link, forward, way(&scenario.links[link], forward).delay));
        let delay = delay.filter(|(link, forward, delay)| {
            *delay > Dur::ZERO
                || scenario.schedule.iter().any(|change| {
                    matches!(change.edit, Edit::Delay(_))
                        && change.link == *link
                        && concerns(change, *forward)
                })
        });
        let elements =
            entered.map_or(&[][..], |(link, forward)| &way(&scenario.links[link], forward).ingress);
        if elements.is_empty() && delay.is_none() {
            return;
        }
        let space = self.layout.spaces[own.space].name.clone();
        let at = Place::new(Some(&space), &own.device);
        let ifb = Place::new(Some(&space), &format!("ifb-{}", own.device));
        self.script.shell("");
        self.script.comment(&format!(
            "What arrives in {space} from the {} passes {} first",
            at.name, ifb.name
        ));
        ifb.add_ifb(&mut self.script);
        let chain = self.queues.open(ifb.clone());
        if let Some((link, forward, delay)) = delay {
            let what = format!("{}, propagation", named(&scenario.links[link], forward));
            let spot = self.queues.add_delay(&mut self.script, chain, &delay.to_string(), &what);
            self.ways[link][usize::from(!forward)].delay = spot;
        }
        let police = police_of(elements);
        let policers = policers(&mut self.script, &at, Hook::Ingress, police.len());
        if let Some((link, forward)) = entered {
            let what = named(&scenario.links[link], forward);
            let spots =
                self.queues.add_ingress(&mut self.script, chain, elements, &policers, 0, &what);
            self.ways[link][usize::from(!forward)].ingress = spots;
        }
        redirect(&mut self.script, &at, &ifb, &policers, elements);
    }

    /// A scheduled change, at its time.
    pub(super) fn change(&mut self, scenario: &Scenario, change: &Change) {
        self.script.pause_until(change.at);
        for forward in [true, false].into_iter().filter(|forward| concerns(change, *forward)) {
            let what =
                format!("at {}: {}", change.at, named(&scenario.links[change.link], forward));
            let way = &self.ways[change.link][usize::from(!forward)];
            self.queues.edit(&mut self.script, way, &change.edit, &what);
        }
    }

    /// The devices with the scenario's queues. A policer's count comes before that of the queue behind it.
    pub(super) fn devices(&self, topology: &Topology) -> Vec<Device> {
        let mut places = Vec::new();
        let directions = self.ways.iter().enumerate().flat_map(|(link, ways)| {
            ways.iter().zip([true, false]).map(move |(way, forward)| (link, way, forward))
        });
        for (link, way, forward) in directions {
            let mut add = |role, device, hook, depth| {
                let port = topology.port(link, forward, role);
                let port = port.map_or_else(String::new, |port| topology.ports[port].name.clone());
                places.push((hook, device, QueuePlace { port, depth }));
            };
            for own in &way.policers {
                add(Role::Egress, &own.device, Some(own.hook), own.place);
            }
            if let Some((chain, index)) = way.leaf() {
                add(Role::Egress, self.queues.device(chain), None, index);
            }
            for (number, spot) in way.ingress.iter().enumerate() {
                let role = Role::Ingress(number);
                match spot {
                    Spot::Chain(chain, index) => {
                        add(role, self.queues.device(*chain), None, *index);
                    }
                    Spot::Police(own) => add(role, &own.device, Some(own.hook), own.place),
                    Spot::Nowhere => {}
                }
            }
        }
        places.sort_by_key(|(hook, ..)| hook.is_none());
        let mut devices: Vec<Device> = Vec::new();
        for (hook, place, queue) in places {
            let (namespace, name) =
                (place.namespace.clone().unwrap_or_default(), place.name.clone());
            let same = |own: &&mut Device| {
                (&own.namespace, &own.name, own.hook) == (&namespace, &name, hook)
            };
            match devices.iter_mut().find(same) {
                Some(device) => device.queues.push(queue),
                None => devices.push(Device { namespace, name, hook, queues: vec![queue] }),
            }
        }
        devices
    }
}

pub(super) fn way(link: &scenario::Link, forward: bool) -> &Direction {
    if forward { &link.forward } else { &link.reverse }
}

/// A direction of a link in comments.
pub(super) fn named(link: &scenario::Link, forward: bool) -> String {
    format!("link {} {}", link.name, if forward { "forward" } else { "reverse" })
}

pub(super) fn concerns(change: &Change, forward: bool) -> bool {
    if forward { change.forward } else { change.reverse }
}
