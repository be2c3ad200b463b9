//! `drop`: loses chosen packets: at random, periodically, by number, in bursts.

use super::element::{Element, InPath};
use super::select::{Action, RULE, Rule, Rules};
use crate::aqm::{Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, entry, spec};
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::packet::Packet;
use sojourn_core::rng::Rng;

pub(crate) const ENTRY: Entry = entry::<Rules<Nothing>>(
    "drop",
    "Drops selected packets: at random, periodically, by number or in bursts",
    "This project",
    Kernel::Nowhere,
);

/// A rule of this element has no other action.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Nothing {}

impl Action for Nothing {
    const TABLE: &'static [[&'static str; 3]] = &[];

    fn read(_: &str, _: &mut Args<'_>) -> Result<Option<Self>, GrammarError> {
        Ok(None)
    }

    fn text(&self) -> String {
        match *self {}
    }

    fn check(rules: &[Rule<Self>]) -> Result<(), String> {
        let nothing = "expected what to drop, such as `percent 1%` or `all`";
        if rules.is_empty() { Err(nothing.to_owned()) } else { Ok(()) }
    }
}

impl Discipline for Rules<Nothing> {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(InPath::new(Drop { rules: self.clone(), rng: env.rng, dropped: 0 }))
    }
}

struct Drop {
    rules: Rules<Nothing>,
    rng: Rng,
    dropped: u64,
}

impl Element for Drop {
    // As rules of iptables' `statistic` match (Linux 6.12 xt_statistic).
    #[inline]
    fn pass(&mut self, pkt: &mut Packet, _log: &mut Log) -> Option<Reason> {
        // A packet that one rule drops is not counted by the next, as in a firewall's chain.
        let taken = self.rules.rules.iter_mut().any(|rule| rule.takes(pkt, &mut self.rng));
        self.dropped += u64::from(taken);
        taken.then_some(Reason::Loss)
    }

    fn change(&mut self, to: &Spec, given: &Given) {
        if let Some(to) = to.params::<Rules<Nothing>>().filter(|_| given.has(RULE)) {
            self.rules = to.clone();
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.rules.clone())
    }

    fn stats(&self, out: &mut Stats) {
        out.put("dropped", self.dropped as f64);
    }
}

#[cfg(test)]
mod tests;
