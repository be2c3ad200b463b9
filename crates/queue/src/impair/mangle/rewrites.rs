//! The rules of a mangler as rewrites of the TOS byte, which filters of a kernel can do.

use super::{Action, Ecn};
use crate::aqm::Spec;
use crate::impair::select::{CODEPOINTS, Flags, Rule, Rules, Select};

const DSCP: u8 = 0xfc;
const ECN: u8 = 0x03;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// A rewrite of the TOS byte of packets with one kind of header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// `tcp`, `udp` or `icmp`; without one any.
    pub protocol: Option<&'static str>,
    /// Value and mask of the flags of TCP.
    pub flags: Option<[u8; 2]>,
    /// Value and mask of the TOS byte.
    pub tos: [u8; 2],
    /// Bits of the TOS byte that stay as they are.
    pub keep: u8,
    /// Those that are set besides.
    pub set: u8,
}

/// The rewrites of a mangler, each of which sees what the ones before it have made; none for another
/// element. The error names what no filter does.
pub fn rewrites(spec: &Spec) -> Option<Result<Vec<Rewrite>, String>> {
    let rules = spec.params::<Rules<Action>>()?;
    let parts: Result<Vec<_>, _> = rules.rules.iter().map(of_rule).collect();
    Some(parts.map(|parts| parts.concat()))
}

fn of_rule(rule: &Rule<Action>) -> Result<Vec<Rewrite>, String> {
    let select = &rule.select;
    if let Some(name) = beyond_headers(select) {
        return Err(format!("no filter selects by `{name}`"));
    }
    let flags: &[Option<[u8; 2]>] = match select.flags {
        None => &[None],
        Some(Flags::Syn) => &[Some([SYN, SYN | ACK])],
        Some(Flags::NonSyn) => &[Some([0, SYN]), Some([SYN | ACK, SYN | ACK])],
        Some(Flags::SynAck) => &[Some([SYN | ACK, SYN | ACK])],
        Some(Flags::Ack) => return Err("no filter selects by `ack`".to_owned()),
    };
    let protocol = if select.flags.is_some() { Some("tcp") } else { select.protocol() };
    let dscp = select.dscp.map_or([0, 0], |dscp| [dscp << 2, DSCP]);
    let selected = CODEPOINTS.map(|(_, ecn)| ecn).into_iter().filter(|ecn| select.has(*ecn));
    let of_codepoint = |ecn| effect(&rule.actions, ecn).map(|effect| (ecn as u8, effect));
    let effects = selected.map(of_codepoint).collect::<Result<Vec<_>, _>>()?;
    let are_alike =
        effects.len() == CODEPOINTS.len() && effects.windows(2).all(|w| w[0].1 == w[1].1);
    let found = if are_alike {
        vec![(dscp, effects[0].1)]
    } else {
        let of = |(ecn, effect): (u8, [u8; 2])| ([dscp[0] | ecn, dscp[1] | ECN], effect);
        in_order(effects)?.into_iter().map(of).collect()
    };
    let rewrite = |(tos, [keep, set]): ([u8; 2], [u8; 2])| {
        flags.iter().map(move |flags| Rewrite { protocol, flags: *flags, tos, keep, set })
    };
    Ok(found.into_iter().flat_map(rewrite).collect())
}

/// A selector that looks beyond the headers of a packet: at its payload, or at those before it.
fn beyond_headers(select: &Select) -> Option<&'static str> {
    let stated = [
        (select.data.is_some(), "data"),
        (select.percent.is_some(), "percent"),
        (select.every.is_some(), "every"),
        (select.nth.is_some(), "nth"),
        (select.list.is_some(), "list"),
    ];
    stated.into_iter().find_map(|(is_stated, name)| is_stated.then_some(name))
}

/// What actions together make of a TOS byte with this codepoint: the bits that they keep, and those that
/// they set.
fn effect(actions: &[Action], mut ecn: Ecn) -> Result<[u8; 2], String> {
    let (mut keep, mut set) = (u8::MAX, 0);
    for action in actions {
        let [kept, wanted] = match *action {
            Action::SetTos(tos) => [0, tos],
            Action::TosMask(mask) => [mask, 0],
            Action::SetEcn(ecn) => [DSCP, ecn as u8],
            Action::SetDscp(dscp) => [ECN, dscp << 2],
            Action::BleachEcn => [DSCP, 0],
            Action::BleachDscp => [ECN, 0],
            Action::CeEverything if ecn.is_capable() => [DSCP, Ecn::Ce as u8],
            Action::SceStrip if ecn == Ecn::Ect1 => [DSCP, Ecn::Ect0 as u8],
            Action::CeEverything | Action::SceStrip => [u8::MAX, 0],
            Action::ClearFlags(_) => return Err("no filter does `clear-flags`".to_owned()),
        };
        (keep, set) = (keep & kept, set & kept | wanted);
        ecn = Ecn::from_tos(ecn as u8 & kept | wanted);
    }
    Ok([keep, set])
}

/// Effects by codepoint in an order in which none sees what another one has made; without those that
/// change nothing.
fn in_order(mut effects: Vec<(u8, [u8; 2])>) -> Result<Vec<(u8, [u8; 2])>, String> {
    effects.retain(|(ecn, [keep, set])| {
        keep & DSCP != DSCP || set & DSCP != 0 || ecn & keep | set != *ecn
    });
    let mut ordered = Vec::new();
    while !effects.is_empty() {
        let makes = |(ecn, [keep, set]): &(u8, [u8; 2])| (ecn & keep | set) & ECN;
        let free = effects
            .iter()
            .position(|own| effects.iter().all(|other| other.0 == own.0 || other.0 != makes(own)));
        let free = free.ok_or("no filters exchange codepoints")?;
        ordered.push(effects.remove(free));
    }
    Ok(ordered)
}

#[cfg(test)]
mod tests;
