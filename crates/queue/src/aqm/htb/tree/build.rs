//! From words to a tree and back, and what a change does to a live one.

use std::fmt::Write as _;

use super::super::class::Class;
use super::super::handle::ClassId;
use super::super::params::{ClassWords, Words};
use super::feed::Feed;
use super::{LEVELS, Leaf, Level, Node, PRIOS, Target, Tree};
use crate::aqm::{Backlog, Env, Fifo, Log, Qdisc};
use sojourn_core::grammar::{Args, GrammarError};
use sojourn_core::rng::Rng;
use sojourn_core::units::Time;

impl Tree {
    /// The tree that `words` describe.
    pub(in super::super) fn new(
        words: Words<'_>,
        args: &Args<'_>,
        mut env: Env,
    ) -> Result<Self, GrammarError> {
        if words.classes.is_empty() {
            return Err(args.invalid("a tree needs at least one `class`"));
        }
        check_parents(&words.classes).map_err(|why| args.invalid(why))?;
        let mut ids: Vec<ClassId> = words.classes.iter().map(|class| class.id).collect();
        ids.sort_unstable();
        let index = |id: ClassId| ids.binary_search(&id).expect("a class of this tree") as u16;
        let order = words.classes.iter().map(|class| index(class.id)).collect();
        let seed = env.rng.u64();
        let mut nodes = Vec::new();
        for class in &words.classes {
            let level = level(&words.classes, class);
            let leaf = match level {
                0 => Some(leaf(class, &words, args, &env, seed)?),
                _ => None,
            };
            nodes.push(Node {
                id: class.id,
                parent: class.parent.map(index),
                level: level as u8,
                params: class.params.clone(),
                class: Class::new(&class.params, env.now),
                leaf,
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
            env,
            default: words.default.unwrap_or(0),
            r2q: words.r2q,
            direct_qlen: words.direct_qlen,
            levels: levels.collect(),
            nodes,
            order,
            filters: words.filters,
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
        Ok(tree)
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
        let default = leaf(self.default, own).unwrap_or(Target::Direct);
        let mut targets = Vec::new();
        for filter in &self.filters {
            let ClassId { major, minor } = filter.flowid;
            let is_self = major == own && minor == 0;
            let target = leaf(minor, major).unwrap_or(default);
            targets.push(if is_self { Target::Direct } else { target });
        }
        targets.push(default);
        self.targets = targets;
    }

    /// New values for the classes that `words` name. An error changes nothing.
    pub(super) fn apply(
        &mut self,
        now: Time,
        words: Words<'_>,
        log: &mut Log,
    ) -> Result<(), String> {
        if words.lone.is_some() {
            return Err("this one is a tree; name the class: `class 1:10 rate 5Mbit`".into());
        }
        let mut changes = Vec::new();
        for class in &words.classes {
            let n = self.nodes.iter().position(|node| node.id == class.id);
            let n = n.ok_or_else(|| format!("there is no class {} to change", class.id))?;
            let parent = self.nodes[n].parent.map(|parent| self.nodes[parent as usize].id);
            if class.parent.is_some_and(|given| Some(given) != parent) {
                return Err(format!("class {} keeps its parent", class.id));
            }
            if let Some(text) = class.leaf {
                self.rehearse(n, text).map_err(|why| format!("class {}: {why}", class.id))?;
            }
            changes.push((n as u16, class));
        }
        self.default = words.default.unwrap_or(self.default);
        self.direct_qlen = words.direct_qlen.or(self.direct_qlen);
        self.r2q = words.r2q.or(self.r2q);
        if !words.filters.is_empty() {
            self.filters = words.filters;
        }
        self.aim();
        let registry = self.env.registry;
        for (n, class) in changes {
            if let Some(text) = class.leaf {
                self.with_leaf(n, log, |leaf, log| registry.change(leaf, now, text, log))
                    .map_err(|why| why.0)?;
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
                leaf.quantum = node.params.quantum(self.r2q);
            }
        }
        Ok(())
    }

    /// Tries a change of a leaf's queue on a copy of that queue.
    fn rehearse(&self, n: usize, text: &str) -> Result<(), GrammarError> {
        let leaf = self.nodes[n].leaf.as_ref();
        let leaf = leaf.ok_or_else(|| GrammarError("it has children, so no leaf".into()))?;
        let registry = self.env.registry;
        let mut copy = registry.build(&leaf.qdisc.describe(), self.env.clone())?;
        registry.change(copy.as_mut(), self.env.now, text, &mut Log::default())
    }

    /// The tree in tc's words.
    pub(super) fn text(&self) -> String {
        let mut text = String::from("htb");
        let mut add = |words: std::fmt::Arguments<'_>| {
            text.write_fmt(words).expect("a string takes all");
        };
        if self.default != 0 {
            add(format_args!(" default {:#x}", self.default));
        }
        if let Some(r2q) = self.r2q {
            add(format_args!(" r2q {r2q}"));
        }
        if let Some(limit) = self.direct_qlen {
            add(format_args!(" direct_qlen {limit}"));
        }
        for node in self.order.iter().map(|n| &self.nodes[*n as usize]) {
            add(format_args!(" class {}", node.id));
            if let Some(parent) = node.parent {
                add(format_args!(" parent {}", self.nodes[parent as usize].id));
            }
            add(format_args!("{}", node.params));
            if let Some(leaf) = &node.leaf {
                add(format_args!(" leaf {{ {} }}", leaf.qdisc.describe()));
            }
        }
        for filter in &self.filters {
            add(format_args!(" {filter}"));
        }
        text
    }
}

fn check_parents(classes: &[ClassWords<'_>]) -> Result<(), String> {
    for (at, ClassWords { id, parent, .. }) in classes.iter().enumerate() {
        if let Some(parent) = parent
            && !classes[..at].iter().any(|class| class.id == *parent)
        {
            return Err(format!("class {id}: its parent {parent} is not a class before it"));
        }
        if depth(classes, &classes[at]) >= LEVELS {
            return Err(format!("class {id}: the tree is deeper than {LEVELS} classes"));
        }
    }
    for class in classes {
        let has_children = classes.iter().any(|child| child.parent == Some(class.id));
        if has_children && class.leaf.is_some() {
            return Err(format!("class {}: a class with children has no leaf", class.id));
        }
    }
    Ok(())
}

/// Ancestors of a class whose parents stand before it.
fn depth(classes: &[ClassWords<'_>], class: &ClassWords<'_>) -> usize {
    let parent = classes.iter().find(|other| Some(other.id) == class.parent);
    parent.map_or(0, |parent| 1 + depth(classes, parent))
}

fn level(classes: &[ClassWords<'_>], class: &ClassWords<'_>) -> usize {
    let has_children = classes.iter().any(|child| child.parent == Some(class.id));
    if has_children { LEVELS - 1 - depth(classes, class) } else { 0 }
}

fn leaf(
    class: &ClassWords<'_>,
    words: &Words<'_>,
    args: &Args<'_>,
    env: &Env,
    seed: u64,
) -> Result<Leaf, GrammarError> {
    let qdisc: Box<dyn Qdisc> = match class.leaf {
        Some(text) => {
            // Its own stream, so that one leaf does not disturb the dice of another.
            let rng = Rng::named(seed, &class.id.to_string());
            env.registry
                .build(text, Env { rng, ..env.clone() })
                .map_err(|why| args.invalid(format_args!("class {}: {why}", class.id)))?
        }
        None => Box::new(Fifo::pfifo(env.txqueuelen)),
    };
    let timer = qdisc.wake();
    let quantum = class.params.quantum(words.r2q);
    let deficit = [0; LEVELS];
    Ok(Leaf { qdisc, quantum, deficit, held: Backlog::default(), timer, dropped: 0 })
}
