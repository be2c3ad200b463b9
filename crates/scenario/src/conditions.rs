//! What a run is made under, from topology and schedule alone: capacity, RTT of the empty path,
//! bottlenecks.

use std::collections::BTreeSet;

use sojourn_core::{Dur, Rate, Rng, Time};
use sojourn_queue::aqm::{Env, Log, Qdisc, Spec};
use sojourn_queue::qdiscs;
use sojourn_trace::summary::{Capacity, Conditions, Span};

use crate::scenario::{Change, Edit, Link, Scenario};
use crate::topology::{PortSpec, Role, Route, Topology, carried};
use crate::write::Style;

/// A port as its rate goes, with its disciplines built for this purpose; a tunnel's end has none.
struct Port<'s> {
    spec: &'s PortSpec,
    wire: Option<Rate>,
    qdisc: Option<Box<dyn Qdisc>>,
    wrappers: usize,
    env: Env,
}

impl<'s> Port<'s> {
    fn new(spec: &'s PortSpec, scenario: &Scenario) -> Self {
        let at_ingress = matches!(spec.role, Role::Ingress(_));
        let rng = Rng::named(scenario.seed, "conditions");
        let env = Env { at_ingress, traces: scenario.traces.clone(), ..Env::ethernet(rng) };
        let wrappers: Vec<_> = spec.shaper.iter().chain(&spec.stab).collect();
        let around = |leaf, wrapper: &&Spec| wrapper.around(env.clone(), leaf);
        let leaf = spec.qdisc.as_ref().map(|leaf| leaf.build(env.clone()));
        let qdisc = leaf.map(|leaf| wrappers.iter().fold(leaf, around));
        Self { spec, wire: spec.wire, qdisc, wrappers: wrappers.len(), env }
    }

    /// The disciplines of the port, from the outermost to the leaf.
    fn layers(&self) -> impl Iterator<Item = &dyn Qdisc> {
        std::iter::successors(self.qdisc.as_deref(), |outer| outer.leaf())
    }

    /// The least rate of the wire, a shaper and a queue that shapes.
    fn capacity(&self) -> Option<Rate> {
        self.wire.into_iter().chain(self.layers().filter_map(Qdisc::capacity)).min()
    }

    /// Whether the queue holds a rate below that of wire and shaper.
    fn shapes(&self) -> bool {
        let shaper = usize::from(self.spec.shaper.is_some());
        // A size table has the rate of what is inside.
        let outer = self.layers().skip(self.wrappers - shaper).take(shaper);
        let link = outer.filter_map(Qdisc::capacity).chain(self.wire).min();
        let inner = self.layers().skip(self.wrappers).filter_map(Qdisc::capacity).min();
        inner.is_some_and(|rate| link.is_none_or(|link| rate < link))
    }

    /// What the port adds to the RTT: propagation, and the mean delay of its elements.
    fn delay(&self) -> Dur {
        self.layers().map(Qdisc::delay).fold(self.spec.delay, |sum, delay| sum + delay)
    }

    fn concerns(&self, change: &Change) -> bool {
        let wanted = if self.spec.forward { change.forward } else { change.reverse };
        let role = match change.edit {
            Edit::Ingress(index, _) => Role::Ingress(index),
            _ => Role::Egress,
        };
        wanted && self.spec.link == change.link && self.spec.role == role
    }

    fn edit(&mut self, change: &Change) {
        let (Some(qdisc), mut log) = (&mut self.qdisc, Log::default()) else { return };
        match (&change.edit, &mut self.wire) {
            (Edit::Delay(_), _) => {}
            (Edit::Rate(rate), Some(wire)) => *wire = *rate,
            (Edit::Rate(rate), None) => {
                let changed = qdiscs::change_rate(qdisc.as_mut(), change.at, *rate, &mut log);
                changed.expect("the scenario's check has rehearsed it");
            }
            (Edit::Change(to, given), _) => {
                qdiscs::change_at(qdisc, self.wrappers, change.at, to, given, &mut log);
            }
            (Edit::Replace(to) | Edit::Ingress(_, to), _) => {
                let fresh = to.build(self.env.clone());
                qdiscs::replace_at(qdisc, self.wrappers, fresh, &mut log);
            }
        }
    }
}

/// The conditions of a scenario.
pub fn conditions(scenario: &Scenario) -> Conditions {
    let topology = Topology::new(scenario);
    let mut ports: Vec<_> = topology.ports.iter().map(|p| Port::new(p, scenario)).collect();
    let paths = paths(scenario, &topology);
    // Of several routes, the shortest there and the shortest back.
    let delays: Vec<Dur> = ports.iter().map(Port::delay).collect();
    let round_trip = |routes: &Vec<Route>| {
        let delay = |way: &[usize]| way.iter().fold(Dur::ZERO, |sum, n| sum + delays[*n]);
        let least = |is_forward| routes.iter().map(|route| delay(route.way(is_forward))).min();
        let least = [true, false].map(|is_forward| least(is_forward).unwrap_or(Dur::ZERO));
        (least[0] + least[1]).as_millis_f64()
    };
    let routes = if topology.flows.is_empty() { &topology.pings } else { &topology.flows };
    let rtts: Vec<f64> = routes.iter().map(round_trip).collect();
    let base_rtt_ms = Span {
        least: rtts.iter().copied().reduce(f64::min).unwrap_or(0.0),
        greatest: rtts.iter().copied().fold(0.0, f64::max),
    };
    let mut egresses = ports.iter().filter(|port| port.spec.role == Role::Egress);
    let crossings = crossings(scenario);
    let is_crossed = |port: &PortSpec| crossings[port.link].unwrap_or(true) == port.forward;
    let queue_shapes = egresses.any(|port| is_crossed(port.spec) && port.shapes());
    let mut bottlenecks = vec![false; ports.len()];
    let mut capacity: Vec<Capacity> = vec![];
    let starts = scenario.schedule.iter().map(|change| change.at);
    let mut changes = scenario.schedule.iter().peekable();
    for at in std::iter::once(Time::ZERO).chain(starts) {
        while let Some(change) = changes.next_if(|change| change.at <= at) {
            ports.iter_mut().filter(|p| p.concerns(change)).for_each(|p| p.edit(change));
        }
        let rates: Vec<_> = ports.iter().map(Port::capacity).collect();
        let leasts =
            paths.iter().map(|ways| carried(ways, |n| rates[n], |port| bottlenecks[port] = true));
        let mbps = leasts.flatten().min().map(|rate| rate.0 as f64 / 1e6);
        if capacity.last().is_none_or(|last| last.mbps != mbps) {
            capacity.push(Capacity { from_s: at.as_secs_f64(), mbps });
        }
    }
    let named = topology.ports.iter().zip(bottlenecks).filter(|(_, is)| *is);
    let bottlenecks = named.map(|(port, _)| port.name.clone()).collect();
    let queues = queues(scenario, &crossings);
    Conditions { capacity, base_rtt_ms, bottlenecks, queue_shapes, queues }
}

/// Queues that no device has by itself, each with its shaper, on the links that a flow crosses; without
/// any the first link's. In a graph where flows take different paths, one text of all these links with
/// their nodes.
fn queues(scenario: &Scenario, crossings: &[Option<bool>]) -> Vec<String> {
    let all = scenario.flows.is_empty();
    let is_graph = !scenario.nodes.is_empty();
    let mut paths = scenario.flows.iter().flat_map(|flow| flow.paths.iter());
    let only = paths.next().filter(|first| paths.all(|path| path.hops == first.hops));
    let links: Vec<usize> = match only {
        Some(path) if is_graph => path.links().collect(),
        _ => (0..scenario.links.len()).collect(),
    };
    let crossed = links.into_iter().filter_map(|index| {
        let link = &scenario.links[index];
        let is_forward = crossings[index].or_else(|| all.then_some(true))?;
        let way = if is_forward { &link.forward } else { &link.reverse };
        let qdisc = way.qdisc.short();
        let queue = match &way.shaper {
            Some(shaper) => {
                let rate = shaper.capacity().map_or_else(|| "none".to_owned(), |r| r.to_string());
                Some(format!("{}({rate})+{qdisc}", Style::Brief.shaper(shaper)))
            }
            None => (!matches!(qdisc.as_str(), "pfifo" | "pfifo_fast")).then_some(qdisc),
        };
        Some((link, is_forward, queue))
    });
    if is_graph && only.is_none() {
        let drawn = crossed.map(|(Link { name, ends, .. }, is_forward, queue)| {
            let node = |end: usize| ends.map_or("", |ends| &scenario.nodes[ends[end]]);
            let [from, to] = [!is_forward, is_forward].map(|end| node(usize::from(end)));
            let queue = queue.map_or_else(String::new, |queue| format!(": {queue}"));
            format!("{name} from {from} to {to}{queue}")
        });
        return vec![drawn.collect::<Vec<_>>().join("; ")];
    }
    let shown: Vec<_> = crossed.filter_map(|(_, _, queue)| queue).collect();
    let first = scenario.links.first().map(|link| link.forward.qdisc.short());
    if shown.is_empty() { first.into_iter().collect() } else { shown }
}

/// Of each link, whether the first flow over it crosses it forward from the near end of its path; none if
/// no flow crosses it.
fn crossings(scenario: &Scenario) -> Vec<Option<bool>> {
    let mut crossings = vec![None; scenario.links.len()];
    for hop in scenario.flows.iter().flat_map(|flow| flow.paths.iter()).flat_map(|path| &path.hops)
    {
        crossings[hop.link].get_or_insert(hop.forward);
    }
    crossings
}

/// The ways of the flows' data, of each flow one or several: of those forward if there are any, else of
/// those back.
fn paths<'t>(scenario: &Scenario, topology: &'t Topology) -> BTreeSet<Vec<&'t [usize]>> {
    let all_up = scenario.flows.iter().all(|flow| flow.up);
    let flows = scenario.flows.iter().enumerate().filter(|(_, flow)| flow.up == all_up);
    let data = flows.map(|(n, flow)| topology.data_ways(flow, n));
    let pings = topology.pings.iter();
    let pings = pings.map(|routes| routes.iter().map(|route| route.way(true)).collect());
    if scenario.flows.is_empty() { pings.collect() } else { data.collect() }
}
