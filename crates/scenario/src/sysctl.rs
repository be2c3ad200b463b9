//! `tcp.sysctl`: settings under the kernel's names. They are put into the document as the keys of
//! ours that they mean, before anything reads it; the resolved file has ours only.
//!
//! Names and values: `Documentation/networking/ip-sysctl.rst` of Linux 7.2; `tcp_sce` and
//! `tcp_sce_feedback` of the tree chromi/sce; `tcp_ecn_unsafe_cep` of L4STeam/linux.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use sojourn_core::Bytes;
use sojourn_core::grammar::split_name;
use sojourn_transport::app::{self, App};

use crate::check::words;
use crate::doc::{Doc, Node, Value};
use crate::error::{Origin, ScenarioError, unknown};

/// What stands below `sysctl` has its own reader, [`lower`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Sysctls;

impl<'de> Deserialize<'de> for Sysctls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl JsonSchema for Sysctls {
    fn schema_name() -> Cow<'static, str> {
        "Sysctls".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Settings under the kernel's names, with or without net.ipv4 before them",
            "type": "object",
            "additionalProperties": { "type": ["integer", "string", "boolean", "array", "object"] },
        })
    }
}

/// What a setting means here.
#[derive(Clone, Copy)]
enum Meaning {
    /// ECN negotiation; with `tcp_sce` the feedback of SCE.
    Ecn,
    Sce,
    /// The flow's `cc`.
    Controller,
    /// A key that is true for these numbers and false for those; others have no form.
    Flag(&'static str, &'static [i128], &'static [i128]),
    Number(&'static str),
    Bytes(&'static str),
    Nanoseconds(&'static str),
    /// Least, first and largest buffer: keys of the last two.
    Buffer(Option<&'static str>, &'static str),
    SceFeedback,
    /// `tcp_adv_win_scale`: the share of a buffer that is window.
    WindowShare,
    /// What the model always does.
    Always(i128),
}

use Meaning::{
    Always, Buffer, Bytes as Size, Controller, Ecn, Flag, Nanoseconds, Number, Sce, SceFeedback,
    WindowShare,
};

const TABLE: [(&str, Meaning); 31] = [
    ("tcp_adv_win_scale", WindowShare),
    ("tcp_comp_sack_delay_ns", Always(1_000_000)),
    ("tcp_comp_sack_nr", Always(44)),
    ("tcp_comp_sack_rtt_percent", Number("comp_sack_rtt_percent")),
    ("tcp_comp_sack_slack_ns", Nanoseconds("comp_sack_slack")),
    ("tcp_congestion_control", Controller),
    ("tcp_dsack", Always(1)),
    ("tcp_early_retrans", Always(3)),
    ("tcp_ecn", Ecn),
    ("tcp_ecn_option", Flag("accecn_option", &[2, 3], &[0])),
    ("tcp_ecn_unsafe_cep", Flag("ecn_unsafe_cep", &[1], &[0])),
    ("tcp_frto", Flag("frto", &[1, 2], &[0])),
    ("tcp_limit_output_bytes", Size("limit_output_bytes")),
    ("tcp_min_tso_segs", Always(2)),
    ("tcp_moderate_rcvbuf", Always(1)),
    ("tcp_mtu_probing", Always(0)),
    ("tcp_no_metrics_save", Always(1)),
    ("tcp_notsent_lowat", Always(0xffff_ffff)),
    ("tcp_pacing_ca_ratio", Number("pacing_ca_ratio")),
    ("tcp_pacing_ss_ratio", Number("pacing_ss_ratio")),
    ("tcp_recovery", Always(1)),
    ("tcp_reordering", Always(3)),
    ("tcp_rmem", Buffer(Some("rmem_default"), "rmem_max")),
    ("tcp_sack", Always(1)),
    ("tcp_sce", Sce),
    ("tcp_sce_feedback", SceFeedback),
    ("tcp_slow_start_after_idle", Always(1)),
    ("tcp_timestamps", Flag("timestamps", &[1, 2], &[0])),
    ("tcp_tso_rtt_log", Number("tso_rtt_log")),
    ("tcp_window_scaling", Always(1)),
    ("tcp_wmem", Buffer(None, "wmem_max")),
];

/// For a key that is a name of the kernel: what to write instead.
pub(crate) fn hint(key: &str) -> Option<String> {
    if key == "net" || key == "sysctl" {
        let example = "sysctl = { tcp_ecn = 3 }";
        return Some(format!(
            "the kernel's names go below `tcp`, as `{example}` or `-s tcp.sysctl.tcp_ecn=3`"
        ));
    }
    let key = key.trim_start_matches("net.ipv4.");
    let (name, meaning) = TABLE.iter().find(|(name, _)| *name == key)?;
    let ours = match meaning {
        Ecn => "`tcp.ecn`".to_owned(),
        Sce => "`tcp.ecn = \"sce\"`".to_owned(),
        Controller => "a flow's `cc`".to_owned(),
        Flag(key, ..) | Number(key) | Size(key) | Nanoseconds(key) => format!("`tcp.{key}`"),
        Buffer(Some(first), most) => format!("`tcp.{first}` and `tcp.{most}`"),
        Buffer(None, most) => format!("`tcp.{most}`"),
        SceFeedback => "`tcp.sce_feedback`".to_owned(),
        WindowShare => "`tcp.window_share`".to_owned(),
        Always(value) => return Some(format!("this setting of the kernel is always {value} here")),
    };
    Some(format!("the kernel's name of {ours}; `tcp.sysctl.{name}` is read, too"))
}

/// Puts what `sysctl` says into the tables that have it, as keys of ours.
pub(crate) fn lower(doc: &mut Doc) -> Result<(), ScenarioError> {
    let file = doc.file.clone();
    let Value::Table(root) = &mut doc.root.value else { return Ok(()) };
    let mut common = Lowered::default();
    for (key, node) in root.iter_mut() {
        if key == "tcp" {
            common = table(node, &file, "tcp")?;
        }
    }
    let flows = root.iter_mut().find(|(key, _)| key == "flow");
    let Some((_, Node { value: Value::Array(flows), .. })) = flows else { return Ok(()) };
    for (index, flow) in flows.iter_mut().enumerate() {
        let shown = format!("flow.{}.tcp", flow.name().unwrap_or(&index.to_string()));
        let Value::Table(entries) = &mut flow.value else { continue };
        let mut own = Lowered::default();
        if let Some((_, node)) = entries.iter_mut().find(|(key, _)| key == "tcp") {
            own = table(node, &file, &shown)?;
        }
        let fail = |origin, message| ScenarioError {
            file: file.clone(),
            origin,
            key: format!("{shown}.sysctl.tcp_congestion_control"),
            message,
        };
        let text = |key: &str| {
            let (_, node) = entries.iter().find(|(name, _)| name == key)?;
            Some(node.value.plain())
        };
        let has_controller = {
            let app = app::build(&words(&text("app").unwrap_or_else(|| "bulk".to_owned())));
            app.is_ok_and(|app| app.has_controller() && !matches!(app, App::Media(_)))
        };
        let cc = text("cc");
        match (&own.controller, &cc) {
            (Some((origin, name)), Some(cc)) if split_name(cc).0 != name => {
                return Err(fail(*origin, format!("{name:?} contradicts cc = {cc:?}")));
            }
            (Some((origin, name)), None) if !has_controller => {
                return Err(fail(*origin, format!("{name:?}: this application is not TCP's")));
            }
            _ => {}
        }
        let given = own.controller.or_else(|| common.controller.clone());
        if let (None, Some((origin, name)), true) = (&cc, given, has_controller) {
            entries.push(("cc".to_owned(), Node { value: Value::Text(name), origin }));
        }
        // Linux reports every mark to DCTCP where RFC 3168 was negotiated.
        let is_dctcp = entries
            .iter()
            .any(|(key, node)| key == "cc" && split_name(&node.value.plain()).0 == "dctcp");
        if let Some(origin) = own.classic.or(common.classic).filter(|_| is_dctcp) {
            let tcp = entries.iter().position(|(key, _)| key == "tcp").unwrap_or(entries.len());
            if tcp == entries.len() {
                entries.push(("tcp".to_owned(), Node { value: Value::Table(vec![]), origin }));
            }
            let Value::Table(tcp) = &mut entries[tcp].1.value else { continue };
            let exact = Node { value: Value::Text("dctcp".to_owned()), origin };
            match tcp.iter_mut().find(|(key, _)| key == "ecn") {
                Some((_, node)) if own.classic.is_some() => *node = exact,
                Some(_) => {}
                None => tcp.push(("ecn".to_owned(), exact)),
            }
        }
    }
    Ok(())
}

/// What a table's settings say about things outside of it.
#[derive(Default)]
struct Lowered {
    controller: Option<(Origin, String)>,
    /// Where RFC 3168 was asked for.
    classic: Option<Origin>,
}

fn table(tcp: &mut Node, file: &str, shown: &str) -> Result<Lowered, ScenarioError> {
    if let Some(structured) = tcp.structured() {
        *tcp = structured;
    }
    let mut lowered = Lowered::default();
    let Value::Table(entries) = &mut tcp.value else { return Ok(lowered) };
    let Some(index) = entries.iter().position(|(key, _)| key == "sysctl") else {
        return Ok(lowered);
    };
    let (_, sysctl) = entries.remove(index);
    let sysctl = sysctl.structured().unwrap_or(sysctl);
    let fail = |origin, name: &str, message: String| {
        let key = format!("{shown}.sysctl{}{name}", if name.is_empty() { "" } else { "." });
        ScenarioError { file: file.to_owned(), origin, key, message }
    };
    if !matches!(sysctl.value, Value::Table(_)) {
        let message =
            format!("expected a table such as {{ tcp_ecn = 3 }}, got {}", sysctl.value.shown());
        return Err(fail(sysctl.origin, "", message));
    }
    let mut settings = Vec::new();
    flatten("", sysctl, &mut settings);
    let number_of = |wanted: &str| {
        let (_, node) = settings.iter().find(|(name, _)| name == wanted)?;
        numbers(&node.value)?.first().copied()
    };
    let (ecn, sce) = (number_of("tcp_ecn"), number_of("tcp_sce"));
    for (name, node) in &settings {
        let names = TABLE.map(|(name, _)| name);
        let Some((_, meaning)) = TABLE.iter().find(|(known, _)| known == name) else {
            return Err(fail(node.origin, "", unknown("setting", name, &names)));
        };
        let meant = match meaning {
            Controller => {
                let (Value::Text(text) | Value::Raw(text)) = &node.value else {
                    return Err(fail(node.origin, name, "expected a controller's name".to_owned()));
                };
                lowered.controller = Some((node.origin, text.trim().to_owned()));
                vec![]
            }
            meaning => meant(*meaning, &node.value, ecn, sce).map_err(|expected| {
                fail(node.origin, name, format!("{expected}, got {}", node.value.shown()))
            })?,
        };
        for (key, value) in meant {
            if key == "ecn" && value.is_text("rfc3168") {
                lowered.classic = Some(node.origin);
            }
            match entries.iter().find(|(own, _)| own == key) {
                Some((_, own)) if !is_same(&own.value, &value) => {
                    let message = format!(
                        "{} means {key} = {}, which contradicts {key} = {}",
                        node.value.shown(),
                        value.shown(),
                        own.value.shown()
                    );
                    return Err(fail(node.origin, name, message));
                }
                Some(_) => {}
                None => entries.push((key.to_owned(), Node { value, origin: node.origin })),
            }
        }
    }
    Ok(lowered)
}

/// Settings by name, without `net.ipv4.`; unquoted dotted names are tables within tables.
fn flatten(prefix: &str, node: Node, out: &mut Vec<(String, Node)>) {
    match node.value {
        Value::Table(entries) => {
            for (key, node) in entries {
                flatten(&format!("{prefix}{key}."), node, out);
            }
        }
        value => {
            let name = prefix.trim_end_matches('.').replace('/', ".");
            let name = name.strip_prefix("net.ipv4.").unwrap_or(&name).to_owned();
            out.push((name, Node { value, origin: node.origin }));
        }
    }
}

/// The numbers of a setting, written as one, as an array, or as a text with spaces between.
fn numbers(value: &Value) -> Option<Vec<i128>> {
    match value {
        Value::Integer(number) => Some(vec![*number]),
        Value::Bool(flag) => Some(vec![i128::from(*flag)]),
        Value::Text(text) | Value::Raw(text) => {
            let words = text.split([' ', '\t', ',', '[', ']']).filter(|word| !word.is_empty());
            words
                .map(|word| word.parse().ok())
                .collect::<Option<Vec<_>>>()
                .filter(|n| !n.is_empty())
        }
        Value::Array(items) => items
            .iter()
            .map(|item| match item.value {
                Value::Integer(number) => Some(number),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

/// Keys of ours and their values; the error is what was expected.
fn meant(
    meaning: Meaning,
    value: &Value,
    ecn: Option<i128>,
    sce: Option<i128>,
) -> Result<Vec<(&'static str, Value)>, String> {
    let given = numbers(value);
    let one = || match given.as_deref() {
        Some([number]) => Ok(*number),
        _ => Err("expected a whole number".to_owned()),
    };
    let size = |bytes: i128| Value::Text(format!("{bytes}b"));
    let text = |word: &str| Value::Text(word.to_owned());
    Ok(match meaning {
        Ecn => vec![(
            "ecn",
            text(match (one()?, sce) {
                (1, Some(1)) => "sce",
                // 2 and 5 accept ECN and do not ask for it: where both ends do so, nobody asks.
                (0 | 2 | 5, None | Some(0)) => "off",
                // 4 accepts AccECN and asks for RFC 3168.
                (1 | 4, None | Some(0)) => "rfc3168",
                (3, None | Some(0)) => "accecn",
                (0..=5, Some(1)) => return Err("tcp_sce = 1 needs tcp_ecn = 1".to_owned()),
                _ => return Err("expected 0 to 5".to_owned()),
            }),
        )],
        Sce => match (one()?, ecn) {
            (1, None) => vec![("ecn", text("sce"))],
            (0 | 1, Some(_)) => vec![],
            (0, None) => return Err("expected tcp_ecn beside it".to_owned()),
            _ => return Err("expected 0 or 1".to_owned()),
        },
        SceFeedback => vec![(
            "sce_feedback",
            text(match one()? {
                0 => "dithered",
                1 => "advanced",
                _ => return Err("expected 0 or 1".to_owned()),
            }),
        )],
        Flag(key, yes, no) => match one()? {
            number if yes.contains(&number) => vec![(key, Value::Bool(true))],
            number if no.contains(&number) => vec![(key, Value::Bool(false))],
            _ => {
                let list = |numbers: &[i128]| {
                    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
                };
                return Err(format!("expected {} or {}", list(no), list(yes)));
            }
        },
        Number(key) => vec![(key, Value::Integer(one()?))],
        Size(key) => vec![(key, size(one()?))],
        Nanoseconds(key) => vec![(key, Value::Text(format!("{}ns", one()?)))],
        Buffer(first_key, most_key) => match given.as_deref() {
            Some([least, first, most]) if least <= first && first <= most && *least >= 0 => {
                let mut keys = vec![(most_key, size(*most))];
                keys.extend(first_key.map(|key| (key, size(*first))));
                keys
            }
            _ => {
                return Err(
                    "expected three sizes that grow, such as \"4096 131072 6291456\"".to_owned()
                );
            }
        },
        WindowShare => match one()? {
            scale @ 1..=8 => vec![("window_share", Value::Integer(256 - (256 >> scale)))],
            scale @ -8..=0 => vec![("window_share", Value::Integer(256 >> -scale))],
            _ => return Err("expected -8 to 8".to_owned()),
        },
        Always(fixed) => match one()? {
            number if number == fixed => vec![],
            _ => return Err(format!("expected {fixed}, which the model always does")),
        },
        Controller => vec![],
    })
}

/// Whether a key of ours says the same, in whatever spelling.
fn is_same(own: &Value, meant: &Value) -> bool {
    let (own, meant) = (own.plain(), meant.plain());
    let bytes = |text: &str| Bytes::parse_tc(text);
    own == meant || bytes(&own).is_some_and(|size| Some(size) == bytes(&meant))
}
