//! A tree of classes. Leaves hold the packets; a class that is above its rate and below its ceiling
//! sends on the tokens of the nearest ancestor that is within its rate. Linux 6.12 `sch_htb`.

mod build;
mod feed;
mod schedule;

use std::collections::VecDeque;

use self::feed::Feed;
use super::class::Class;
use super::handle::ClassId;
use super::params::{ClassParams, LEVELS, Params};
use crate::aqm::{Backlog, Event, Log, Qdisc, Reason, Spec, Stats, spec};
use sojourn_core::grammar::Given;
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::Time;

/// Priorities, 0 first.
const PRIOS: usize = 8;

/// The queue of a class without children.
struct Leaf {
    qdisc: Box<dyn Qdisc>,
    quantum: u32,
    /// Bytes that it may still send in its turn, by the level of the lender.
    deficit: [i64; LEVELS],
    /// What the queue held, and when it wanted to be woken, after it was last called.
    held: Backlog,
    timer: Time,
    dropped: u64,
}

struct Node {
    id: ClassId,
    parent: Option<u16>,
    level: u8,
    params: ClassParams,
    class: Class,
    leaf: Option<Leaf>,
    /// Borrowers by priority, empty for a leaf.
    feeds: Vec<Feed>,
    /// Priorities at which it has something to send, as bits.
    active: u8,
    sent_packets: u64,
    sent_bytes: u64,
}

struct Level {
    nodes: Vec<u16>,
    /// Classes that may send on their own tokens, by priority.
    rows: Vec<Feed>,
    /// No mode at this level changes before.
    due: Time,
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Leaf(u16),
    Direct,
}

/// The discipline.
pub(super) struct Tree {
    /// As they were last set; those of the classes are also in `nodes`, those of a leaf in its queue.
    params: Params,
    /// In the order of their ids, which is that of their turns.
    nodes: Vec<Node>,
    /// `nodes` as they were written, parents first.
    order: Vec<u16>,
    levels: Vec<Level>,
    /// Where each filter and, last, the default leads.
    targets: Vec<Target>,
    direct: VecDeque<Packet>,
    direct_packets: u64,
    held: Backlog,
    /// Earliest wish of a leaf.
    timer: Time,
    watchdog: Time,
}

impl Tree {
    // Linux 6.12 `htb_classify`.
    #[inline]
    fn target(&self, pkt: &Packet) -> Target {
        let filters = &self.params.filters;
        let place = filters.iter().position(|filter| filter.matches(pkt));
        self.targets[place.unwrap_or(filters.len())]
    }

    fn direct_limit(&self) -> u32 {
        self.params.own.direct_qlen.unwrap_or(0)
    }

    fn leaf(&self, n: u16) -> &Leaf {
        self.nodes[n as usize].leaf.as_ref().expect("a leaf")
    }

    fn is_idle(&self, n: u16) -> bool {
        self.leaf(n).held.packets == 0
    }

    /// Calls the queue of leaf `n`, and keeps what the tree knows of it up to date.
    #[inline]
    fn with_leaf<T>(
        &mut self,
        n: u16,
        log: &mut Log,
        call: impl FnOnce(&mut dyn Qdisc, &mut Log) -> T,
    ) -> T {
        let leaf = self.nodes[n as usize].leaf.as_mut().expect("a leaf");
        let before = log.events().len();
        let result = call(leaf.qdisc.as_mut(), log);
        let is_drop = |event: &&Event| matches!(event, Event::Drop(..));
        leaf.dropped += log.events()[before..].iter().filter(is_drop).count() as u64;
        let (was, is) = (leaf.held, leaf.qdisc.backlog());
        leaf.held = is;
        self.held.packets = self.held.packets - was.packets + is.packets;
        self.held.bytes = self.held.bytes - was.bytes + is.bytes;
        let timer = leaf.qdisc.wake();
        if timer != leaf.timer {
            leaf.timer = timer;
            let timers = self.nodes.iter().filter_map(|node| node.leaf.as_ref());
            self.timer = timers.map(|leaf| leaf.timer).min().unwrap_or(Time::NEVER);
        }
        result
    }

    /// A packet of leaf `n`, which is not asked while it is empty.
    #[inline]
    fn take(&mut self, n: u16, now: Time, log: &mut Log) -> Option<Packet> {
        if self.is_idle(n) {
            return None;
        }
        self.with_leaf(n, log, |leaf, log| leaf.dequeue(now, log))
    }
}

impl Qdisc for Tree {
    // Linux 6.12 `htb_enqueue`.
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        match self.target(&pkt) {
            Target::Leaf(n) => {
                self.with_leaf(n, log, |leaf, log| leaf.enqueue(now, pkt, log));
                if !self.is_idle(n) {
                    self.activate(n);
                }
            }
            Target::Direct if self.direct.len() < self.direct_limit() as usize => {
                pkt.stamp = now;
                self.direct_packets += 1;
                self.held.add(&pkt);
                self.direct.push_back(pkt);
            }
            Target::Direct => log.drop(&pkt, Reason::TailLimit),
        }
    }

    // Linux 6.12 `htb_dequeue`.
    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        self.watchdog = Time::NEVER;
        if let Some(pkt) = self.direct.pop_front() {
            self.held.remove(&pkt);
            return Some(pkt);
        }
        if self.held.packets == 0 {
            return None;
        }
        let pkt = self.serve(now, log);
        if pkt.is_none() && self.held.packets > 0 {
            self.watchdog = self.levels.iter().map(|l| l.due).min().unwrap_or(Time::NEVER);
        }
        pkt
    }

    #[inline]
    fn wake(&self) -> Time {
        self.watchdog.min(self.timer)
    }

    fn on_wake(&mut self, now: Time, log: &mut Log) {
        if self.timer <= now {
            for n in 0..self.nodes.len() as u16 {
                if self.nodes[n as usize].leaf.as_ref().is_some_and(|leaf| leaf.timer <= now) {
                    self.with_leaf(n, log, |leaf, log| leaf.on_wake(now, log));
                    if !self.is_idle(n) {
                        self.activate(n);
                    }
                }
            }
        }
        if self.watchdog <= now {
            self.watchdog = Time::NEVER;
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.held
    }

    fn change(&mut self, now: Time, to: &Spec, _given: &Given, log: &mut Log) {
        if let Some(to) = to.params() {
            self.apply(now, to, log);
        }
    }

    fn spec(&self) -> Spec {
        let mut params = self.params.clone();
        for (class, n) in params.classes.iter_mut().zip(&self.order) {
            let leaf = self.nodes[*n as usize].leaf.as_ref();
            class.leaf = leaf.map(|leaf| leaf.qdisc.spec());
        }
        spec(&super::ENTRY, params)
    }

    fn stats(&self, out: &mut Stats) {
        let overlimits: u64 = self.nodes.iter().map(|node| node.class.overlimits).sum();
        out.put("overlimits", overlimits as f64);
        out.put("direct_packets_stat", self.direct_packets as f64);
        for node in self.order.iter().map(|n| &self.nodes[*n as usize]) {
            let (id, class) = (node.id, &node.class);
            let mut put = |name: &str, value: f64| out.put(format!("{id}.{name}"), value);
            put("sent_packets", node.sent_packets as f64);
            put("sent_bytes", node.sent_bytes as f64);
            put("overlimits", class.overlimits as f64);
            put("lended", class.lends as f64);
            put("borrowed", class.borrows as f64);
            put("giants", 0.0);
            let [tokens, ctokens] = class.ticks();
            put("tokens", tokens);
            put("ctokens", ctokens);
            if let Some(leaf) = &node.leaf {
                put("dropped", leaf.dropped as f64);
                put("backlog_packets", f64::from(leaf.held.packets));
                put("backlog_bytes", leaf.held.bytes as f64);
                put("quantum", f64::from(leaf.quantum));
                let mut inside = Stats::default();
                leaf.qdisc.stats(&mut inside);
                for (name, value) in inside.0 {
                    put(&format!("leaf.{name}"), value);
                }
            }
        }
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("direct_packets", "packets", self.direct_packets as f64);
        for node in self.order.iter().map(|n| &self.nodes[*n as usize]) {
            let id = node.id;
            let mut put = |name: &str, unit: &'static str, value: f64| {
                out.put(&format!("{id}.{name}"), unit, value);
            };
            put("rate", "Mbit/s", node.params.rate.as_mbps());
            put("sent_bytes", "bytes", node.sent_bytes as f64);
            put("tokens", "ms", node.class.tokens as f64 / 1e6);
            put("ctokens", "ms", node.class.ctokens as f64 / 1e6);
            if let Some(leaf) = &node.leaf {
                put("backlog_packets", "packets", f64::from(leaf.held.packets));
                leaf.qdisc.probe(&mut Probe::new(&mut put));
            }
        }
    }

    fn splits(&self, pkt: &Packet) -> bool {
        matches!(self.target(pkt), Target::Leaf(n) if self.leaf(n).qdisc.splits(pkt))
    }

    fn purge(&mut self, log: &mut Log) {
        for pkt in self.direct.drain(..) {
            self.held.remove(&pkt);
            log.drop(&pkt, Reason::Purge);
        }
        for n in 0..self.nodes.len() as u16 {
            if self.nodes[n as usize].leaf.is_some() {
                self.with_leaf(n, log, |leaf, log| leaf.purge(log));
                self.deactivate(n);
            }
        }
        self.watchdog = Time::NEVER;
    }
}

#[cfg(test)]
mod tests;
