//! `htb`: a hierarchical token bucket, as one class around one leaf (here) or as a tree of classes
//! ([`tree`]). Linux 6.12 `sch_htb`; burst sizes as iproute2 7.3 computes them.
//!
//! One class is what nearly every scenario has as its shaper, so it pays for no tree.

mod class;
mod filter;
mod handle;
mod params;
mod tree;

use self::class::Class;
use self::params::{PARAMS, Params, Words};
use self::tree::Tree;
use super::{Backlog, Env, Fifo, Kernel, Log, OldEntry, Qdisc, Stats};
use sojourn_core::grammar::{Args, GrammarError};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::Time;

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "htb",
    summary: "Token-bucket shaper around a leaf, or a tree of classes that lend to each other",
    reference: "Linux 6.12 sch_htb",
    kernel: Kernel::Mainline("2.4.20"),
    params: PARAMS,
    build: |args, env| {
        let words = Words::read(args, |_| None)?;
        if words.is_tree() {
            return Ok(Box::new(Tree::new(words, args, env)?));
        }
        let leaf = Box::new(Fifo::pfifo(env.txqueuelen));
        Ok(Box::new(Htb::new(words, args, &env, leaf)?))
    },
};

/// The shaper with one class. It asks its leaf for a packet only if the leaf has some, as Linux does.
pub struct Htb {
    params: Params,
    r2q: Option<u32>,
    class: Class,
    watchdog: Time,
    leaf: Box<dyn Qdisc>,
}

impl Htb {
    /// The shaper that `args` describes (the words after `htb`), around `leaf`.
    pub fn around(
        args: &mut Args<'_>,
        env: &Env,
        leaf: Box<dyn Qdisc>,
    ) -> Result<Self, GrammarError> {
        let words = Words::read(args, |_| None)?;
        if words.is_tree() {
            return Err(args.invalid("around a queue it has one class; a tree is a queue itself"));
        }
        Self::new(words, args, env, leaf)
    }

    fn new(
        words: Words<'_>,
        args: &Args<'_>,
        env: &Env,
        leaf: Box<dyn Qdisc>,
    ) -> Result<Self, GrammarError> {
        let params = words.lone.ok_or_else(|| args.invalid("`rate` is required"))?;
        let class = Class::new(&params, env.now);
        Ok(Self { params, r2q: words.r2q, class, watchdog: Time::NEVER, leaf })
    }
}

impl Qdisc for Htb {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        self.leaf.enqueue(now, pkt, log);
    }

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

    fn old_change(
        &mut self,
        _now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        let words = Words::read(args, |_| Some(self.params.clone()))?;
        if words.is_tree() {
            return Err(args.invalid("this one has one class; use replace to make it a tree"));
        }
        self.r2q = words.r2q.or(self.r2q);
        if let Some(params) = words.lone {
            self.params = params;
            self.class.configure(&self.params);
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let r2q = self.r2q.map_or(String::new(), |r2q| format!(" r2q {r2q}"));
        format!("htb{}{r2q}", self.params)
    }

    fn stats(&self, out: &mut Stats) {
        let [tokens, ctokens] = self.class.ticks();
        out.put("overlimits", self.class.overlimits as f64);
        out.put("lended", self.class.lends as f64);
        out.put("borrowed", 0);
        out.put("giants", 0);
        out.put("tokens", tokens);
        out.put("ctokens", ctokens);
        out.put("quantum", self.params.quantum(self.r2q));
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
