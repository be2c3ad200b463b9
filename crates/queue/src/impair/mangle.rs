//! `mangle`: rewrites TOS byte and TCP ECN flags as middleboxes do, after iptables' TOS and DSCP
//! targets and nftables' `ip dscp set`.

use super::element::{Element, InPath};
use super::select::{self, CODEPOINTS, RULE, Rule, Rules, small};
use crate::aqm::{Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, entry, spec};
use sojourn_core::ecn::Ecn;
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;

pub(crate) const ENTRY: Entry = entry::<Rules<Action>>(
    "mangle",
    "Rewrites DSCP, ECN and TCP's ECN flags of selected packets",
    "iptables TOS and DSCP targets; RFC 3168, RFC 9768",
    Kernel::Nowhere,
);

impl Discipline for Rules<Action> {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        let (rules, rng) = (self.clone(), env.rng);
        Box::new(InPath::new(Mangle { rules, rng, matched: 0, rewritten: 0 }))
    }
}

/// TCP's ECN flags in [`Packet::ace`].
const FLAGS: [(&str, u8); 3] = [("ae", 0b100), ("cwr", 0b010), ("ece", 0b001)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    SetTos(u8),
    TosMask(u8),
    SetEcn(Ecn),
    SetDscp(u8),
    BleachEcn,
    BleachDscp,
    CeEverything,
    SceStrip,
    /// Bits of [`Packet::ace`].
    ClearFlags(u8),
}

impl Action {
    // As Linux 6.12 xt_DSCP (iptables' TOS and DSCP targets) and nftables' `ip dscp set`.
    #[inline]
    fn apply(self, pkt: &mut Packet) {
        match self {
            Self::SetTos(tos) => pkt.tos = tos,
            Self::TosMask(mask) => pkt.tos &= mask,
            Self::SetEcn(ecn) => pkt.set_ecn(ecn),
            Self::SetDscp(dscp) => pkt.tos = pkt.ecn().on_tos(dscp << 2),
            Self::BleachEcn => pkt.set_ecn(Ecn::NotEct),
            Self::BleachDscp => pkt.tos = pkt.ecn() as u8,
            Self::CeEverything if pkt.ecn().is_capable() => pkt.set_ecn(Ecn::Ce),
            Self::SceStrip if pkt.ecn() == Ecn::Ect1 => pkt.set_ecn(Ecn::Ect0),
            Self::CeEverything | Self::SceStrip => {}
            Self::ClearFlags(flags) => pkt.ace &= !flags,
        }
    }
}

impl select::Action for Action {
    const TABLE: &'static [[&'static str; 3]] = &[
        ["set-tos", "BYTE", "Replaces the whole TOS byte, DSCP and ECN."],
        ["tos-mask", "BYTE", "Clears the bits of the TOS byte that the mask lacks."],
        ["set-ecn", "not-ect|ect0|ect1|ce", "Sets the codepoint and keeps the DSCP."],
        ["set-dscp", "NUMBER", "Sets the DSCP, 0 to 63, and keeps the codepoint."],
        ["bleach-ecn|bleach-dscp", "", "Zeroes the codepoint, or the DSCP."],
        ["ce-everything", "", "Turns ECT(0) and ECT(1) into CE."],
        ["sce-strip", "", "Turns ECT(1) into ECT(0), which SCE forbids."],
        [
            "clear-flags",
            "ae,cwr,ece",
            "Clears these flags of TCP packets; AE was NS and is SCE's ESCE.",
        ],
    ];

    fn read(key: &str, args: &mut Args<'_>) -> Result<Option<Self>, GrammarError> {
        Ok(Some(match key {
            "set-tos" => Self::SetTos(small(args, 255)?),
            "tos-mask" => Self::TosMask(small(args, 255)?),
            "set-ecn" => Self::SetEcn(CODEPOINTS[args.choice(&CODEPOINTS.map(|(n, _)| n))?].1),
            "set-dscp" => Self::SetDscp(small(args, 63)?),
            "bleach-ecn" => Self::BleachEcn,
            "bleach-dscp" => Self::BleachDscp,
            "ce-everything" => Self::CeEverything,
            "sce-strip" => Self::SceStrip,
            "clear-flags" => {
                Self::ClearFlags(args.value("flags such as `ae,cwr,ece`", |words| {
                    let bit = |word: &str| FLAGS.iter().find(|(name, _)| *name == word);
                    words.split(',').try_fold(0, |bits, word| Some(bits | bit(word)?.1))
                })?)
            }
            _ => return Ok(None),
        }))
    }

    fn text(&self) -> String {
        match *self {
            Self::SetTos(tos) => format!("set-tos {tos:#04x}"),
            Self::TosMask(mask) => format!("tos-mask {mask:#04x}"),
            Self::SetEcn(ecn) => {
                let (name, _) = CODEPOINTS.iter().find(|(_, e)| *e == ecn).expect("all are there");
                format!("set-ecn {name}")
            }
            Self::SetDscp(dscp) => format!("set-dscp {dscp}"),
            Self::BleachEcn => "bleach-ecn".into(),
            Self::BleachDscp => "bleach-dscp".into(),
            Self::CeEverything => "ce-everything".into(),
            Self::SceStrip => "sce-strip".into(),
            Self::ClearFlags(flags) => {
                let names = FLAGS.iter().filter(|(_, bit)| flags & bit != 0).map(|(name, _)| *name);
                format!("clear-flags {}", names.collect::<Vec<_>>().join(","))
            }
        }
    }
    fn check(rules: &[Rule<Self>]) -> Result<(), String> {
        if rules.iter().any(|rule| rule.actions.is_empty()) {
            return Err("a rule needs an action such as `set-tos 0x01`".to_owned());
        }
        Ok(())
    }
}

mod rewrites;

pub use rewrites::{Rewrite, rewrites};

struct Mangle {
    rules: Rules<Action>,
    rng: Rng,
    /// Packets on which a rule acted.
    matched: u64,
    /// Packets that left with another TOS byte or other flags.
    rewritten: u64,
}

impl Element for Mangle {
    #[inline]
    fn pass(&mut self, pkt: &mut Packet, log: &mut Log) -> Option<Reason> {
        let (tos, ace, ecn) = (pkt.tos, pkt.ace, pkt.ecn());
        let mut matched = false;
        for rule in &mut self.rules.rules {
            if rule.takes(pkt, &mut self.rng) {
                matched = true;
                rule.actions.iter().for_each(|action| action.apply(pkt));
            }
        }
        self.matched += u64::from(matched);
        self.rewritten += u64::from((tos, ace) != (pkt.tos, pkt.ace));
        if pkt.ecn() != ecn {
            log.mark(pkt, Reason::Middlebox);
        }
        None
    }

    fn change(&mut self, to: &Spec, given: &Given) {
        if let Some(to) = to.params::<Rules<Action>>().filter(|_| given.has(RULE)) {
            self.rules = to.clone();
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.rules.clone())
    }

    fn stats(&self, out: &mut Stats) {
        out.put("matched", self.matched as f64);
        out.put("rewritten", self.rewritten as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("rewritten", "packets", self.rewritten as f64);
    }
}

#[cfg(test)]
mod tests;
