//! `htb`: a hierarchical token bucket, as one class around one leaf (here) or as a tree of classes
//! ([`tree`]). Linux 6.12 `sch_htb`; burst sizes as iproute2 7.3 computes them.
//!
//! One class is what nearly every scenario has as its shaper, so it pays for no tree.

mod class;
mod filter;
mod handle;
mod params;
mod parts;
mod tree;

use self::class::Class;
use self::params::{ClassParams, Own, Params};
pub use self::parts::{ClassPart, FilterPart, Parts, parts};
use self::tree::Tree;
use super::{
    Backlog, Discipline, Entry, Env, Fifo, Kernel, Log, Qdisc, Spec, Stats, TXQUEUELEN, entry, spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Rate, Time};

/// The line of the registry.
pub const ENTRY: Entry = entry::<Params>(
    "htb",
    "Token-bucket shaper around a leaf, or a tree of classes that lend to each other",
    "Linux 6.12 sch_htb",
    Kernel::Mainline("2.4.20"),
);

impl Discipline for Params {
    fn suits(&self, around: bool) -> Result<(), String> {
        if around && self.is_tree() {
            return Err("around a queue it has one class; a tree is a queue itself".to_owned());
        }
        Ok(())
    }

    fn check(&mut self, env: &Env) -> Result<(), String> {
        for class in &mut self.classes {
            let Some(leaf) = &mut class.leaf else { continue };
            leaf.check(env).map_err(|why| format!("class {}: {}: {why}", class.id, leaf.name()))?;
        }
        Ok(())
    }

    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        if self.is_tree() {
            return Box::new(Tree::new(self.clone(), env));
        }
        self.around(env, Box::new(Fifo::pfifo(TXQUEUELEN)))
    }

    fn is_shaper(&self) -> bool {
        true
    }

    fn around(&self, env: Env, leaf: Box<dyn Qdisc>) -> Box<dyn Qdisc> {
        let params = self.lone.clone().unwrap_or_default();
        let class = Class::new(&params, env.now);
        Box::new(Htb { own: self.own, params, class, watchdog: Time::NEVER, leaf })
    }

    fn set_rate(&mut self, rate: Rate) -> Result<(), String> {
        let Some(lone) = &mut self.lone else {
            return Err(format!(
                "a tree has no single rate; change the queue's classes, such as \
                 `htb class 1:1 rate {rate}`"
            ));
        };
        (lone.rate, lone.ceil) = (rate, lone.ceil.map(|_| rate));
        if lone.is_valid() { Ok(()) } else { Err("`rate` must be at least 8bit".to_owned()) }
    }

    fn capacity(&self) -> Option<Rate> {
        let roots = self.classes.iter().filter(|class| class.parent.is_none());
        let least = |class: &ClassParams| class.rate.0.min(class.ceil().0);
        let of_roots = || Rate(roots.map(|class| least(&class.params)).sum());
        Some(self.lone.as_ref().map_or_else(of_roots, |lone| lone.rate))
    }

    fn delays(&self) -> bool {
        self.classes.iter().filter_map(|class| class.leaf.as_ref()).any(|leaf| leaf.delays())
    }
}

/// The shaper with one class. It asks its leaf for a packet only if the leaf has some, as Linux does.
struct Htb {
    own: Own,
    params: ClassParams,
    class: Class,
    watchdog: Time,
    leaf: Box<dyn Qdisc>,
}

impl Qdisc for Htb {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        self.leaf.enqueue(now, pkt, log);
    }

    // Linux 6.12 `htb_dequeue`: what the tokens allow before the packet is charged may leave.
    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        self.watchdog = Time::NEVER;
        if self.leaf.backlog().packets == 0 {
            return None;
        }
        if !self.class.may_send(now) {
            self.watchdog = self.class.due;
            return None;
        }
        let pkt = self.leaf.dequeue(now, log)?;
        self.class.charge(now, pkt.len);
        self.class.lends += 1;
        self.class.set_mode(self.class.mode_at(now));
        Some(pkt)
    }

    #[inline]
    fn wake(&self) -> Time {
        self.watchdog.min(self.leaf.wake())
    }

    #[inline]
    fn is_asleep(&self, now: Time) -> bool {
        self.watchdog != Time::NEVER && self.watchdog > now && self.leaf.backlog().packets > 0
    }

    #[inline]
    fn on_wake(&mut self, now: Time, log: &mut Log) {
        if self.leaf.wake() <= now {
            self.leaf.on_wake(now, log);
        }
        if self.watchdog <= now {
            self.watchdog = Time::NEVER;
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.leaf.backlog()
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        let Some(to) = to.params::<Params>() else { return };
        self.own = to.own;
        if let Some(params) = &to.lone {
            self.params = params.clone();
            self.class.configure(params);
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, Params::lone(self.own, self.params.clone()))
    }

    fn stats(&self, out: &mut Stats) {
        let [tokens, ctokens] = self.class.ticks();
        out.put("overlimits", self.class.overlimits as f64);
        out.put("lended", self.class.lends as f64);
        out.put("borrowed", 0);
        out.put("giants", 0);
        out.put("tokens", tokens);
        out.put("ctokens", ctokens);
        out.put("quantum", self.params.quantum(self.own.r2q));
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("rate", "Mbit/s", self.params.rate.as_mbps());
        out.put("tokens", "ms", self.class.tokens as f64 / 1e6);
        out.put("ctokens", "ms", self.class.ctokens as f64 / 1e6);
        self.leaf.probe(out);
    }

    fn purge(&mut self, log: &mut Log) {
        self.leaf.purge(log);
        self.watchdog = Time::NEVER;
    }

    fn leaf(&self) -> Option<&dyn Qdisc> {
        Some(&*self.leaf)
    }

    fn leaf_mut(&mut self) -> Option<&mut Box<dyn Qdisc>> {
        Some(&mut self.leaf)
    }
}

#[cfg(test)]
mod tests;
