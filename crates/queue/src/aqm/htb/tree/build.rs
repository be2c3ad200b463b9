//! From parameters to a tree, and what a change does to a live one.

use super::super::class::Class;
use super::super::handle::ClassId;
use super::super::params::{LEVELS, Member, Params};
use super::feed::Feed;
use super::{Leaf, Level, Node, PRIOS, Target, Tree};
use crate::aqm::{Backlog, Env, Log, Spec};
use sojourn_core::rng::Rng;
use sojourn_core::units::Time;

impl Tree {
    /// The tree with these parameters.
    pub(in super::super) fn new(params: Params, mut env: Env) -> Self {
        let mut ids: Vec<ClassId> = params.classes.iter().map(|class| class.id).collect();
        ids.sort_unstable();
        let index = |id: ClassId| ids.binary_search(&id).expect("a class of this tree") as u16;
        let order = params.classes.iter().map(|class| index(class.id)).collect();
        let seed = env.rng.u64();
        let mut nodes = Vec::new();
        for class in &params.classes {
            let leaf = class.leaf.as_ref();
            nodes.push(Node {
                id: class.id,
                parent: class.parent.map(index),
                level: params.level(class) as u8,
                params: class.params.clone(),
                class: Class::new(&class.params, env.now),
                leaf: leaf.map(|spec| leaf_of(class, spec, params.own.r2q, &env, seed)),
                feeds: Vec::new(),
                active: 0,
                sent_packets: 0,
                sent_bytes: 0,
            });
        }
        nodes.sort_by_key(|node| node.id);
        for n in 0..nodes.len() {
            let children = nodes.iter().filter(|node| node.parent == Some(n as u16)).count();
            if children > 0 {
                nodes[n].feeds = (0..PRIOS).map(|_| Feed::new(children)).collect();
            }
        }
        let levels = (0..LEVELS).map(|level| {
            let members = nodes.iter().enumerate().filter(|(_, n)| usize::from(n.level) == level);
            let members: Vec<u16> = members.map(|(n, _)| n as u16).collect();
            let rows = (0..PRIOS).map(|_| Feed::new(members.len())).collect();
            Level { nodes: members, rows, due: Time::NEVER }
        });
        let mut tree = Self {
            params,
            levels: levels.collect(),
            nodes,
            order,
            targets: Vec::new(),
            direct: std::collections::VecDeque::new(),
            direct_packets: 0,
            held: Backlog::default(),
            timer: Time::NEVER,
            watchdog: Time::NEVER,
        };
        let timers = tree.nodes.iter().filter_map(|node| node.leaf.as_ref());
        tree.timer = timers.map(|leaf| leaf.timer).min().unwrap_or(Time::NEVER);
        tree.aim();
        tree
    }

    /// Resolves filters and default. As in Linux, a filter to the discipline itself means the
    /// direct queue; one to a class that is missing or has children leads to the default class;
    /// and if that is missing or has children, to the direct queue.
    fn aim(&mut self) {
        let leaf = |minor: u16, major: u16| {
            let wanted = ClassId { major, minor };
            let n = self.nodes.iter().position(|node| node.id == wanted && node.level == 0)?;
            Some(Target::Leaf(n as u16))
        };
        let own = self.nodes[0].id.major;
        let default = leaf(self.params.own.default.unwrap_or(0), own).unwrap_or(Target::Direct);
        let mut targets = Vec::new();
        for filter in &self.params.filters {
            let ClassId { major, minor } = filter.flowid;
            let is_self = major == own && minor == 0;
            let target = leaf(minor, major).unwrap_or(default);
            targets.push(if is_self { Target::Direct } else { target });
        }
        targets.push(default);
        self.targets = targets;
    }

    /// New values for the classes that the change names.
    pub(super) fn apply(&mut self, now: Time, to: &Params, log: &mut Log) {
        self.params = to.clone();
        self.aim();
        for at in 0..self.order.len() {
            let (n, class) = (self.order[at], &to.classes[at]);
            if !class.is_named {
                continue;
            }
            if let (Some(leaf), Some(stated)) = (&class.leaf, &class.stated) {
                self.with_leaf(n, log, |qdisc, log| qdisc.change(now, leaf, stated, log));
            }
            // It may be active at a priority that it has no more.
            self.deactivate(n);
            let node = &mut self.nodes[n as usize];
            node.params = class.params.clone();
            node.class.configure(&node.params);
            if node.leaf.as_ref().is_some_and(|leaf| leaf.held.packets > 0) {
                self.activate(n);
            }
        }
        for node in &mut self.nodes {
            if let Some(leaf) = &mut node.leaf {
                leaf.quantum = node.params.quantum(to.own.r2q);
            }
        }
    }
}

fn leaf_of(class: &Member, spec: &Spec, r2q: u32, env: &Env, seed: u64) -> Leaf {
    // Its own stream, so that one leaf does not disturb the dice of another.
    let rng = Rng::named(seed, &class.id.to_string());
    let qdisc = spec.build(Env { rng, ..env.clone() });
    let (timer, quantum) = (qdisc.wake(), class.params.quantum(r2q));
    Leaf { qdisc, quantum, deficit: [0; LEVELS], held: Backlog::default(), timer, dropped: 0 }
}
