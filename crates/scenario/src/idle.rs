//! Settings that cannot act because another one switches them off: valid, and perhaps not meant.

use sojourn_cc::{self as cc, Feedback, Needs};
use sojourn_core::grammar::split_name;
use sojourn_core::{Bytes, Dur};
use sojourn_transport::app::{self, App};

use crate::check::Key;
use crate::doc::Doc;
use crate::error::place;
use crate::file::{File, SceName, TcpTable};
use crate::scenario::{EcnMode, Flow, Scenario, Tcp};

/// A key of a `[tcp]` table.
struct Rule {
    key: &'static str,
    /// Whether the table gives it another value than the default, which a resolved file writes out.
    is_set: fn(&TcpTable) -> bool,
    /// Whether a connection can feel it.
    acts: fn(&Connection<'_>) -> bool,
    /// Why it does not.
    why: &'static str,
}

/// What decides whether a key acts.
struct Connection<'s> {
    tcp: &'s Tcp,
    cc: &'s str,
    needs: Needs,
}

impl Connection<'_> {
    fn is_paced(&self) -> bool {
        self.tcp.pacing || self.needs.pacing
    }

    fn has_accecn(&self) -> bool {
        self.tcp.ecn == EcnMode::AccEcn || self.needs.accecn_only
    }
}

const UNPACED: &str = "nothing is paced, since `tcp.pacing` is off and no controller asks for it \
                       (bursts are sized by it)";
const NO_ACCECN: &str = "no flow has `tcp.ecn = \"accecn\"`";

const RULES: &[Rule] = &[
    Rule {
        key: "pacing_ss_ratio",
        is_set: |table| table.pacing_ss_ratio.is_some_and(|percent| percent != 200),
        acts: |on| on.is_paced(),
        why: UNPACED,
    },
    Rule {
        key: "pacing_ca_ratio",
        is_set: |table| table.pacing_ca_ratio.is_some_and(|percent| percent != 120),
        acts: |on| on.is_paced(),
        why: UNPACED,
    },
    Rule {
        key: "limit_output_bytes",
        is_set: |table| table.limit_output_bytes.is_some_and(|size| size != Bytes(1 << 20)),
        acts: |on| on.tcp.tsq && !on.is_paced(),
        why: "it bounds unpaced flows with `tcp.tsq`, and there is none",
    },
    Rule {
        key: "gro_flush_timeout",
        is_set: |table| table.gro_flush_timeout.is_some_and(|time| time != Dur::from_micros(20)),
        acts: |on| on.tcp.gro,
        why: "`tcp.gro` is off",
    },
    Rule {
        key: "accecn_option",
        is_set: |table| table.accecn_option == Some(true),
        acts: |on| on.has_accecn(),
        why: NO_ACCECN,
    },
    Rule {
        key: "ecn_unsafe_cep",
        is_set: |table| table.ecn_unsafe_cep == Some(true),
        acts: |on| on.has_accecn(),
        why: NO_ACCECN,
    },
    Rule {
        key: "ace",
        is_set: |table| table.ace.is_some(),
        acts: |on| on.has_accecn(),
        why: NO_ACCECN,
    },
    Rule {
        key: "accecn_edge_acks",
        is_set: |table| table.accecn_edge_acks.is_some(),
        acts: |on| on.has_accecn(),
        why: NO_ACCECN,
    },
    Rule {
        key: "sce_feedback",
        is_set: |table| table.sce_feedback == Some(SceName::Dithered),
        acts: |on| on.tcp.ecn == EcnMode::Sce,
        why: "no flow has `tcp.ecn = \"sce\"`",
    },
    Rule {
        key: "ecn_plus_plus",
        is_set: |table| table.ecn_plus_plus == Some(true),
        acts: |on| on.tcp.ecn != EcnMode::Off,
        why: "`tcp.ecn` is \"off\"",
    },
    Rule {
        key: "hystart",
        is_set: |table| table.hystart.is_some(),
        // Whether one from outside reads it is not known.
        acts: |on| on.cc.starts_with("cubic") || !cc::REGISTRY.iter().any(|e| e.name == on.cc),
        why: "it is CUBIC's, and no flow runs that",
    },
    Rule {
        key: "prr",
        is_set: |table| table.prr.is_some(),
        acts: |on| !on.needs.owns_cwnd,
        why: "the controllers set the window in recovery themselves",
    },
];

/// One line for each setting that nothing in the scenario can feel.
pub(crate) fn idle(doc: &Doc, file: &File, scenario: &Scenario) -> Vec<String> {
    let flows: Vec<_> =
        file.flow.iter().map(|table| (table, made(&table.name, scenario))).collect();
    let connections: Vec<_> = flows
        .iter()
        .filter_map(|(table, flow)| Some((&table.tcp, connection(flow.as_ref()?)?)))
        .collect();
    let mut found = Vec::new();
    for rule in RULES {
        let mut feel = connections.iter().filter(|(own, _)| !(rule.is_set)(own)).peekable();
        if (rule.is_set)(&file.tcp) && feel.peek().is_some() && !feel.any(|(_, on)| (rule.acts)(on))
        {
            found.push(line(doc, &Key::top("tcp").field(rule.key), rule.why));
        }
    }
    for (index, (table, flow)) in flows.iter().enumerate() {
        let key = Key::entry("flow", index, &table.name).field("tcp");
        let Some(flow) = flow else { continue };
        let Some(on) = connection(flow) else {
            // Controllers over UDP read the MTU.
            let reads = flow.cc.is_some() && table.tcp.mtu.is_some();
            if table.tcp != TcpTable::default() && !reads && !is_resolved(&table.tcp) {
                let why = format!("`{}` does not use TCP", split_name(&flow.app).0);
                found.push(line(doc, &key, &why));
            }
            continue;
        };
        let silent = RULES.iter().filter(|rule| (rule.is_set)(&table.tcp) && !(rule.acts)(&on));
        found.extend(silent.map(|rule| line(doc, &key.field(rule.key), rule.why)));
    }
    for (index, link) in scenario.links.iter().enumerate() {
        let key = Key::entry("link", index, &link.name);
        let own = file.link[index].reverse.as_ref().is_some_and(|way| way.qdisc.is_some());
        let back = own.then(|| (key.field("reverse"), &link.reverse));
        for (key, way) in [(key, &link.forward)].into_iter().chain(back) {
            found.extend(queue(&way.qdisc).map(|why| line(doc, &key.field("qdisc"), &why)));
        }
    }
    found
}

/// A file that was written by us has all keys of the table.
fn is_resolved(table: &TcpTable) -> bool {
    table.era.is_some() && table.hz.is_some() && table.mtu.is_some()
}

/// The first flow that a table stands for.
fn made<'s>(name: &str, scenario: &'s Scenario) -> Option<&'s Flow> {
    let is_part = |flow: &&Flow| {
        flow.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let exact = scenario.flows.iter().find(|flow| flow.name == name);
    exact.or_else(|| scenario.flows.iter().find(is_part))
}

fn connection(flow: &Flow) -> Option<Connection<'_>> {
    let text = flow.cc.as_deref()?;
    if matches!(app::build(&flow.app), Ok(App::Media(_) | App::Udp(_)) | Err(_)) {
        return None;
    }
    let needs = cc::build(text).ok()?.needs();
    let over_udp = matches!(needs.feedback, Some(Feedback::Ccfb | Feedback::Counters));
    (!over_udp).then(|| Connection { tcp: &flow.tcp, cc: split_name(text).0, needs })
}

/// A parameter of a queue that another parameter, or its absence, switches off.
fn queue(text: &str) -> Option<String> {
    let (name, rest) = split_name(text);
    let has = |word: &str| rest.split(' ').any(|w| w == word);
    match name {
        "fq_codel" if has("ce_threshold_selector") && !has("ce_threshold") => Some(
            "`ce_threshold_selector` chooses packets for `ce_threshold`, which is not set".into(),
        ),
        "fq_pie" if has("ecn_prob") && !has("ecn") => {
            Some("`ecn_prob` bounds marks, and `ecn` is not set".into())
        }
        _ => None,
    }
}

fn line(doc: &Doc, key: &Key, why: &str) -> String {
    format!("{}no effect here: {why}", place(&doc.file, doc.origin(key.path()), key.shown()))
}
