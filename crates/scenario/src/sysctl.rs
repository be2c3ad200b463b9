//! `tcp.sysctl`: settings under the kernel's names. They are put into the document as the keys of
//! ours that they mean, before anything reads it; the resolved file has ours only.
//!
//! Names and values: `Documentation/networking/ip-sysctl.rst` of Linux 7.2; `tcp_sce` and
//! `tcp_sce_feedback` of the tree chromi/sce; `tcp_ecn_unsafe_cep` of L4STeam/linux.

use sojourn_core::Bytes;
use sojourn_core::grammar::split_name;
use sojourn_transport::app::{self, App};
use sojourn_transport::tcp::{Form, PARAMETERS};

use crate::check::words;
use crate::doc::{Doc, Node, Value};
use crate::error::{Origin, ScenarioError, unknown};

/// The flow's `cc`.
const CONTROLLER: &str = "tcp_congestion_control";
/// With `tcp_ecn` the feedback of SCE.
const SCE: &str = "tcp_sce";
/// What the model always does.
const FIXED: [(&str, i128); 14] = [
    ("tcp_comp_sack_delay_ns", 1_000_000),
    ("tcp_comp_sack_nr", 44),
    ("tcp_dsack", 1),
    ("tcp_early_retrans", 3),
    ("tcp_min_tso_segs", 2),
    ("tcp_moderate_rcvbuf", 1),
    ("tcp_mtu_probing", 0),
    ("tcp_no_metrics_save", 1),
    ("tcp_notsent_lowat", 0xffff_ffff),
    ("tcp_recovery", 1),
    ("tcp_reordering", 3),
    ("tcp_sack", 1),
    ("tcp_slow_start_after_idle", 1),
    ("tcp_window_scaling", 1),
];

/// Keys of ours that a setting means, and how.
fn keys(name: &str) -> impl Iterator<Item = (&'static str, Form)> {
    let of = PARAMETERS.iter().filter_map(|p| p.sysctl.map(|(sysctl, form)| (sysctl, p.key, form)));
    of.filter(move |(sysctl, ..)| *sysctl == name).map(|(_, key, form)| (key, form))
}

fn fixed(name: &str) -> Option<i128> {
    FIXED.iter().find(|(fixed, _)| *fixed == name).map(|(_, value)| *value)
}

fn names() -> Vec<&'static str> {
    let of_keys = PARAMETERS.iter().filter_map(|p| p.sysctl.map(|(name, _)| name));
    let fixed = FIXED.iter().map(|(name, _)| *name);
    let mut names: Vec<_> = of_keys.chain(fixed).chain([CONTROLLER, SCE]).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// For a key that is a name of the kernel: what to write instead.
pub(crate) fn hint(key: &str) -> Option<String> {
    if key == "net" || key == "sysctl" {
        let example = "sysctl = { tcp_ecn = 3 }";
        return Some(format!(
            "the kernel's names go below `tcp`, as `{example}` or `-s tcp.sysctl.tcp_ecn=3`"
        ));
    }
    let name = key.trim_start_matches("net.ipv4.");
    if let Some(value) = fixed(name) {
        return Some(format!("this setting of the kernel is always {value} here"));
    }
    let ours = match name {
        SCE => "`tcp.ecn = \"sce\"`".to_owned(),
        CONTROLLER => "a flow's `cc`".to_owned(),
        _ => keys(name).map(|(key, _)| format!("`tcp.{key}`")).collect::<Vec<_>>().join(" and "),
    };
    let message = format!("the kernel's name of {ours}; `tcp.sysctl.{name}` is read, too");
    (!ours.is_empty()).then_some(message)
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
            key: format!("{shown}.sysctl.{CONTROLLER}"),
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
    let (ecn, sce) = (number_of("tcp_ecn"), number_of(SCE));
    let known = names();
    for (name, node) in &settings {
        if !known.contains(&name.as_str()) {
            return Err(fail(node.origin, "", unknown("setting", name, &known)));
        }
        if name == CONTROLLER {
            let (Value::Text(text) | Value::Raw(text)) = &node.value else {
                return Err(fail(node.origin, name, "expected a controller's name".to_owned()));
            };
            lowered.controller = Some((node.origin, text.trim().to_owned()));
            continue;
        }
        let meant = meant(name, &node.value, ecn, sce).map_err(|expected| {
            fail(node.origin, name, format!("{expected}, got {}", node.value.shown()))
        })?;
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
    name: &str,
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
    let either = |numbers: &[i128]| {
        let list: Vec<_> = numbers.iter().map(ToString::to_string).collect();
        format!("expected {}", list.join(" or "))
    };
    if let Some(fixed) = fixed(name) {
        let message = || format!("expected {fixed}, which the model always does");
        return if one()? == fixed { Ok(vec![]) } else { Err(message()) };
    }
    if name == SCE {
        return match (one()?, ecn) {
            (1, None) => Ok(vec![("ecn", text("sce"))]),
            (0 | 1, Some(_)) => Ok(vec![]),
            (0, None) => Err("expected tcp_ecn beside it".to_owned()),
            _ => Err(either(&[0, 1])),
        };
    }
    let of_form = |form| {
        Ok(match form {
            Form::Ecn => text(match (one()?, sce) {
                (1, Some(1)) => "sce",
                // 2 and 5 accept ECN and do not ask for it: where both ends do so, nobody asks.
                (0 | 2 | 5, None | Some(0)) => "off",
                // 4 accepts AccECN and asks for RFC 3168.
                (1 | 4, None | Some(0)) => "rfc3168",
                (3, None | Some(0)) => "accecn",
                (0..=5, Some(1)) => return Err("tcp_sce = 1 needs tcp_ecn = 1".to_owned()),
                _ => return Err("expected 0 to 5".to_owned()),
            }),
            Form::Choice(values) => {
                let value = usize::try_from(one()?).ok().and_then(|number| values.get(number));
                let numbers = || (0..values.len() as i128).collect::<Vec<_>>();
                text(value.ok_or_else(|| either(&numbers()))?)
            }
            Form::Flag(yes) => match one()? {
                0 => Value::Bool(false),
                number if yes.contains(&number) => Value::Bool(true),
                _ => return Err(either(&[&[0], yes].concat())),
            },
            Form::Number => Value::Integer(one()?),
            Form::Bytes => size(one()?),
            Form::Nanoseconds => Value::Text(format!("{}ns", one()?)),
            Form::Buffer(place) => match given.as_deref() {
                Some(sizes @ [least, _, _]) if *least >= 0 && sizes.is_sorted() => {
                    size(sizes[place])
                }
                _ => {
                    let example = "such as \"4096 131072 6291456\"";
                    return Err(format!("expected three sizes that grow, {example}"));
                }
            },
            Form::WindowShare => match one()? {
                scale @ 1..=8 => Value::Integer(256 - (256 >> scale)),
                scale @ -8..=0 => Value::Integer(256 >> -scale),
                _ => return Err("expected -8 to 8".to_owned()),
            },
        })
    };
    keys(name).map(|(key, form)| Ok((key, of_form(form)?))).collect()
}

/// Whether a key of ours says the same, in whatever spelling.
fn is_same(own: &Value, meant: &Value) -> bool {
    let (own, meant) = (own.plain(), meant.plain());
    let bytes = |text: &str| Bytes::parse_tc(text);
    own == meant || bytes(&own).is_some_and(|size| Some(size) == bytes(&meant))
}
