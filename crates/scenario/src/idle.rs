//! Settings that cannot act because another one switches them off: valid, and perhaps not meant.

use std::collections::BTreeMap;

use sojourn_cc::{self as cc, Feedback, Needs};
use sojourn_core::Time;
use sojourn_transport::app::App;
use sojourn_transport::tcp::{Config, Era, Overlay};

use crate::check::Key;
use crate::doc::Doc;
use crate::error::place;
use crate::file::File;
use crate::scenario::{Flow, Scenario};

/// Keys of a `[tcp]` table, where they have another value than the era's.
struct Rule {
    keys: &'static [&'static str],
    /// Whether a connection can feel them.
    acts: fn(&Connection<'_>) -> bool,
    /// Why it does not.
    why: &'static str,
}

/// What decides whether a key acts.
struct Connection<'s> {
    tcp: &'s Config,
    cc: &'s cc::Spec,
    needs: Needs,
}

impl Connection<'_> {
    fn is_paced(&self) -> bool {
        self.tcp.is_paced() || self.needs.pacing
    }
}

const UNPACED: &str = "nothing is paced, since `tcp.pacing` is off and no controller asks for it \
                       (bursts are sized by it)";
const RULES: &[Rule] = &[
    Rule { keys: &["pacing_ss_ratio", "pacing_ca_ratio"], acts: |on| on.is_paced(), why: UNPACED },
    Rule {
        keys: &["limit_output_bytes"],
        acts: |on| (on.tcp.tsq || on.tcp.tsq_netem) && !on.is_paced(),
        why: "it bounds unpaced flows with `tcp.tsq` or `tcp.tsq_netem`, and there is none",
    },
    Rule { keys: &["max_tcp_header"], acts: |on| on.tcp.tsq_netem, why: "`tcp.tsq_netem` is off" },
    Rule { keys: &["gro_flush_timeout"], acts: |on| on.tcp.gro, why: "`tcp.gro` is off" },
    Rule {
        keys: &["accecn_option", "ecn_unsafe_cep", "ace", "ace_prediction", "accecn_edge_acks"],
        acts: |on| on.tcp.ecn == Feedback::AccEcn || on.needs.accecn_only,
        why: "no flow has `tcp.ecn = \"accecn\"`",
    },
    Rule {
        keys: &["sce_feedback"],
        acts: |on| on.tcp.ecn == Feedback::Sce,
        why: "no flow has `tcp.ecn = \"sce\"`",
    },
    Rule {
        keys: &["ecn_plus_plus"],
        acts: |on| on.tcp.ecn != Feedback::None,
        why: "`tcp.ecn` is \"off\"",
    },
    Rule {
        keys: &["hystart"],
        acts: |on| on.cc.follows_hystart(),
        why: "it is CUBIC's, and no flow runs that",
    },
    Rule {
        keys: &["prr"],
        acts: |on| !on.needs.owns_cwnd,
        why: "the controllers set the window in recovery themselves",
    },
];

/// The rules about keys to which the table gives another value than the era, which a resolved file writes
/// out.
fn rules(table: &Overlay, era: Era) -> impl Iterator<Item = (&'static str, &'static Rule)> {
    let set = table.differing(&Config::of(era));
    let all = RULES.iter().flat_map(|rule| rule.keys.iter().map(move |key| (*key, rule)));
    all.filter(move |(key, _)| set.contains(key))
}

/// One line for each setting that nothing in the scenario can feel.
pub(crate) fn idle(doc: &Doc, file: &File, scenario: &Scenario) -> Vec<String> {
    let names: BTreeMap<_, _> = scenario.flows.iter().rev().map(|f| (f.name.as_str(), f)).collect();
    let flows: Vec<_> = file.flow.iter().map(|table| (table, made(&table.name, &names))).collect();
    let connections: Vec<_> = flows
        .iter()
        .filter_map(|(table, flow)| Some((&table.tcp, connection(flow.as_ref()?)?)))
        .collect();
    let mut found = Vec::new();
    for (key, rule) in rules(&file.tcp, file.tcp.era.unwrap_or_default()) {
        let is_own = |(own, on): &&(&Overlay, Connection<'_>)| {
            rules(own, on.tcp.era).any(|(own, _)| own == key)
        };
        let mut feel = connections.iter().filter(|on| !is_own(on)).peekable();
        if feel.peek().is_some() && !feel.any(|(_, on)| (rule.acts)(on)) {
            found.push(line(doc, &Key::top("tcp").field(key), rule.why));
        }
    }
    for (index, (table, flow)) in flows.iter().enumerate() {
        let key = Key::entry("flow", index, &table.name).field("tcp");
        let Some(flow) = flow else { continue };
        let Some(on) = connection(flow) else {
            // Controllers over UDP read the MTU.
            // The hosts of programs have these settings.
            let reads = flow.exec.is_some() || (flow.cc.is_some() && table.tcp.mtu.is_some());
            if table.tcp != Overlay::default() && !reads && !is_resolved(&table.tcp) {
                let why = format!("`{}` does not use TCP", flow.app.name());
                found.push(line(doc, &key, &why));
            }
            continue;
        };
        let silent = rules(&table.tcp, on.tcp.era).filter(|(_, rule)| !(rule.acts)(&on));
        found.extend(silent.map(|(field, rule)| line(doc, &key.field(field), rule.why)));
    }
    let end = Time::ZERO + scenario.duration;
    for group in &scenario.groups {
        let members = &scenario.flows[group.members()];
        let late = members.iter().filter(|flow| flow.start >= end).count();
        if let (1.., Some(index)) = (late, file.flow.iter().position(|t| t.name == group.name)) {
            let key = Key::entry("flow", index, &group.name).field("interarrival");
            let (place, of) =
                (place(&doc.file, doc.origin(&key.path()), &key.shown()), group.flows);
            found.push(format!(
                "{place}{late} of the {of} flows would start after the end of the run"
            ));
        }
    }
    for (index, link) in scenario.links.iter().enumerate() {
        let key = Key::entry("link", index, &link.name);
        let own = file.link[index].reverse.as_ref().is_some_and(|way| way.qdisc.is_some());
        let back = own.then(|| (key.field("reverse"), &link.reverse));
        for (key, way) in [(key, &link.forward)].into_iter().chain(back) {
            found.extend(way.qdisc.idle().map(|why| line(doc, &key.field("qdisc"), why)));
        }
    }
    found
}

/// A file that was written by us has all keys of the table.
fn is_resolved(table: &Overlay) -> bool {
    table.era.is_some() && table.hz.is_some() && table.mtu.is_some()
}

/// The first flow of a table.
fn made<'s>(name: &str, names: &BTreeMap<&str, &'s Flow>) -> Option<&'s Flow> {
    let is_part = |of: &&str| of.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
    let exact = names.get(name).copied();
    exact.or_else(|| {
        names
            .range(name..)
            .take_while(|(of, _)| of.starts_with(name))
            .find(|(of, _)| is_part(of))
            .map(|(_, flow)| *flow)
    })
}

fn connection(flow: &Flow) -> Option<Connection<'_>> {
    let cc = flow.cc.as_ref()?;
    if matches!(flow.app.build(), App::Media(_) | App::Udp(_)) {
        return None;
    }
    (!cc.over_udp()).then(|| Connection { tcp: &flow.tcp, cc, needs: cc.needs() })
}

fn line(doc: &Doc, key: &Key, why: &str) -> String {
    format!("{}no effect here: {why}", place(&doc.file, doc.origin(&key.path()), &key.shown()))
}
