//! What a scenario consists of, as a drawing of it needs that: which links lie between which nodes, and which
//! way each flow takes.

use serde::Serialize;
use sojourn_core::Rate;

use crate::scenario::{Direction, Hop, Path, Scenario};

/// A scenario, to be drawn. Every `name` is that of the file, so that `link.NAME` addresses it in an override.
#[derive(Clone, Debug, Serialize)]
pub struct Outline {
    /// Names of the nodes; empty for a chain of links.
    pub nodes: Vec<String>,
    /// In file order: in a chain, that of the path.
    pub links: Vec<LinkOutline>,
    /// One of each group of flows, and each flow that is in none.
    pub flows: Vec<FlowOutline>,
    /// Pings in file order.
    pub pings: Vec<FlowOutline>,
    /// Tunnels in file order.
    pub tunnels: Vec<TunnelOutline>,
    /// When links change, s, in ascending order.
    pub changes_s: Vec<f64>,
}

/// A link.
#[derive(Clone, Debug, Serialize)]
pub struct LinkOutline {
    /// Name.
    pub name: String,
    /// Indices of the nodes from and to which it runs forward; none in a chain.
    pub ends: Option<[usize; 2]>,
    /// Forward.
    pub forward: DirectionOutline,
    /// Back.
    pub reverse: DirectionOutline,
}

/// One direction of a link; texts as tc and the file have them, with every parameter.
#[derive(Clone, Debug, Serialize)]
pub struct DirectionOutline {
    /// Least of shaper and wire, bit/s; none is infinitely fast.
    pub rate_bps: Option<u64>,
    /// Propagation delay, ms.
    pub delay_ms: f64,
    /// The shaper.
    pub shaper: Option<String>,
    /// The queue.
    pub qdisc: String,
    /// Elements before the queue.
    pub ingress: Vec<String>,
}

/// A flow, a ping, or one of a group of flows that are alike.
#[derive(Clone, Debug, Serialize)]
pub struct FlowOutline {
    /// Name, of a group that of the group.
    pub name: String,
    /// Number of flows.
    pub count: usize,
    /// Controller without its parameters; empty if it has none.
    pub cc: String,
    /// Application without its parameters, or `ping`.
    pub app: String,
    /// Whether its data cross the links backward.
    pub up: bool,
    /// When it begins, s.
    pub start_s: f64,
    /// Ways that its packets may take.
    pub paths: Vec<Vec<HopOutline>>,
}

/// A link as a path crosses it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HopOutline {
    /// Index of the link.
    pub link: usize,
    /// Whether it is crossed forward on the way from the near end.
    pub forward: bool,
}

/// A tunnel.
#[derive(Clone, Debug, Serialize)]
pub struct TunnelOutline {
    /// Name.
    pub name: String,
    /// Links between its ends.
    pub links: Vec<HopOutline>,
}

impl Outline {
    /// Of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let link = |link: &crate::Link| LinkOutline {
            name: link.name.clone(),
            ends: link.ends,
            forward: direction(&link.forward),
            reverse: direction(&link.reverse),
        };
        let group =
            |number: usize| scenario.groups.iter().find(|group| group.members().contains(&number));
        let mut flows = Vec::new();
        let mut number = 0;
        while let Some(flow) = scenario.flows.get(number) {
            let group = group(number);
            let count = group.map_or(1, |group| group.members().len());
            flows.push(FlowOutline {
                name: group.map_or(&flow.name, |group| &group.name).clone(),
                count,
                cc: flow.cc.as_ref().map_or("", |cc| cc.name()).to_owned(),
                app: flow.app.name().to_owned(),
                up: flow.up,
                start_s: flow.start.as_secs_f64(),
                paths: paths(&flow.paths),
            });
            number += count;
        }
        let pings = scenario.pings.iter().map(|ping| FlowOutline {
            name: ping.name.clone(),
            count: 1,
            cc: String::new(),
            app: "ping".to_owned(),
            up: false,
            start_s: ping.start.as_secs_f64(),
            paths: paths(&ping.paths),
        });
        let tunnels = scenario
            .tunnels
            .iter()
            .map(|tunnel| TunnelOutline { name: tunnel.name.clone(), links: hops(&tunnel.links) });
        Self {
            nodes: scenario.nodes.clone(),
            links: scenario.links.iter().map(link).collect(),
            flows,
            pings: pings.collect(),
            tunnels: tunnels.collect(),
            changes_s: scenario.schedule.iter().map(|change| change.at.as_secs_f64()).collect(),
        }
    }
}

fn direction(direction: &Direction) -> DirectionOutline {
    DirectionOutline {
        rate_bps: direction.rate().into_iter().chain(direction.wire).min().map(|Rate(bps)| bps),
        delay_ms: direction.delay.0 as f64 / 1e6,
        shaper: direction.shaper.as_ref().map(ToString::to_string),
        qdisc: direction.qdisc.to_string(),
        ingress: direction.ingress.iter().map(ToString::to_string).collect(),
    }
}

fn paths(paths: &[Path]) -> Vec<Vec<HopOutline>> {
    paths.iter().map(|path| hops(&path.hops)).collect()
}

fn hops(hops: &[Hop]) -> Vec<HopOutline> {
    hops.iter().map(|hop| HopOutline { link: hop.link, forward: hop.forward }).collect()
}
