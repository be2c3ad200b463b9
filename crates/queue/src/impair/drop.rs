//! `drop`: loses chosen packets: at random, periodically, by number, in bursts. aqm.md 14.4.

use std::convert::Infallible;

use super::element::{Element, InPath};
use super::select::{Rule, describe_rules, read_rules, rule_params};
use crate::aqm::{Kernel, Log, OldEntry, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::rng::Rng;

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "drop",
    summary: "Drops selected packets: at random, periodically, by number or in bursts",
    reference: "This project",
    kernel: Kernel::Nowhere,
    params: rule_params![],
    build: |args, env| {
        let drop = Drop { rules: read(args)?, rng: env.rng, dropped: 0 };
        Ok(Box::new(InPath::new(drop, env.txqueuelen)))
    },
};

/// A rule of this element has no other action.
type Rules = Vec<Rule<Infallible>>;

fn read(args: &mut Args<'_>) -> Result<Rules, GrammarError> {
    let rules = read_rules(args, |_, _| Ok(None))?;
    if rules.is_empty() {
        return Err(args.invalid("expected what to drop, such as `percent 1%` or `all`"));
    }
    Ok(rules)
}

struct Drop {
    rules: Rules,
    rng: Rng,
    dropped: u64,
}

impl Element for Drop {
    #[inline]
    fn pass(&mut self, pkt: &mut Packet, _log: &mut Log) -> Option<Reason> {
        // A packet that one rule drops is not counted by the next, as in a firewall's chain.
        let taken = self.rules.iter_mut().any(|rule| rule.select.takes(pkt, &mut self.rng));
        self.dropped += u64::from(taken);
        taken.then_some(Reason::Loss)
    }

    fn old_change(&mut self, args: &mut Args<'_>) -> Result<(), GrammarError> {
        if args.peek().is_some() {
            self.rules = read(args)?;
        }
        Ok(())
    }

    fn describe(&self) -> String {
        describe_rules("drop", &self.rules, |action| match *action {})
    }

    fn stats(&self, out: &mut Stats) {
        out.put("dropped", self.dropped as f64);
    }
}

#[cfg(test)]
mod tests;
