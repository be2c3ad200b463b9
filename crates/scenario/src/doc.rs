//! The TOML document as a tree that remembers where each value was written. Overrides and sweep
//! values are put into it before anything is validated.

use std::path::PathBuf;

use sojourn_queue::traces::Traces;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Origin, ScenarioError, unknown};

/// A value and where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i128),
    Float(f64),
    Bool(bool),
    /// A TOML date or time: never valid here, kept for the message.
    Datetime(String),
    Array(Vec<Node>),
    /// Entries in file order.
    Table(Vec<(String, Node)>),
    /// The text of an override: read as whatever type its key has.
    Raw(String),
}

/// A parsed file.
#[derive(Clone, Debug)]
pub(crate) struct Doc {
    pub(crate) file: String,
    pub(crate) root: Node,
    /// The traces that its elements name.
    pub(crate) traces: Traces,
    /// The folder outside of which they may not be; `None` where they may be anywhere.
    pub(crate) within: Option<PathBuf>,
}

impl Doc {
    pub(crate) fn parse(text: &str, file: &str) -> Result<Self, ScenarioError> {
        let lines = Lines::new(text);
        let fail = |at: usize, message: String| ScenarioError {
            file: file.to_owned(),
            origin: Origin::Line(lines.of(at)),
            key: String::new(),
            message,
        };
        if let Some(at) = too_deep(text) {
            return Err(fail(at, "a dotted name with too many parts".to_owned()));
        }
        let table = DeTable::parse(text).map_err(|e| {
            let message = e.message().lines().collect::<Vec<_>>().join("; ");
            fail(e.span().map_or(0, |s| s.start), message)
        })?;
        let span = table.span();
        let root = Node {
            value: table_of(table.into_inner(), &lines)
                .map_err(|at| fail(at, "integer out of range".to_owned()))?,
            origin: Origin::Line(lines.of(span.start)),
        };
        Ok(Self { file: file.to_owned(), root, traces: Traces::default(), within: None })
    }

    /// An error about `shown`.
    pub(crate) fn error(
        &self,
        origin: Origin,
        shown: &str,
        message: impl Into<String>,
    ) -> ScenarioError {
        ScenarioError {
            file: self.file.clone(),
            origin,
            key: shown.to_owned(),
            message: message.into(),
        }
    }

    /// Where the value at `path` was written, or the nearest thing around it. Array entries are
    /// addressed by their index.
    pub(crate) fn origin(&self, path: &[String]) -> Origin {
        let mut node = &self.root;
        for segment in path {
            let next = match &node.value {
                Value::Table(entries) => entries.iter().find(|(k, _)| k == segment).map(|e| &e.1),
                Value::Array(items) => segment.parse::<usize>().ok().and_then(|i| items.get(i)),
                _ => None,
            };
            let Some(next) = next else { break };
            node = next;
        }
        node.origin
    }

    /// Removes and returns a top-level entry.
    pub(crate) fn take(&mut self, key: &str) -> Option<Node> {
        let Value::Table(entries) = &mut self.root.value else { return None };
        let index = entries.iter().position(|(k, _)| k == key)?;
        Some(entries.remove(index).1)
    }

    /// Sets the value with this dotted name; array entries are addressed by their `name`, or by
    /// their index. Tables on the way are created, entries of arrays are not. Below an algorithm are
    /// its parameters.
    pub(crate) fn set(&mut self, dotted: &str, value: Node) -> Result<(), ScenarioError> {
        let origin = value.origin;
        if too_deep(dotted).is_some() {
            let message = "a dotted name with too many parts";
            return Err(self.error(origin, dotted, message));
        }
        let parts = parts(dotted);
        if let ["link", link, "forward", key] = parts[..] {
            return self.set_forward(dotted, [link, key], &value);
        }
        let mut node = &mut self.root;
        for (at, part) in parts.iter().enumerate() {
            let holder = parts[..at].last().unwrap_or(&"");
            if let (true, [name], Value::Text(text) | Value::Raw(text)) =
                (ALGORITHMS.contains(holder), &parts[at..], &node.value)
            {
                let text = with_parameter(text, name, Some(&value.value.plain()));
                *node = Node { value: Value::Text(text), origin };
                return Ok(());
            }
            node = match child(node, part, origin) {
                Ok(child) => child,
                Err(message) => {
                    let file = self.file.clone();
                    return Err(ScenarioError { file, origin, key: dotted.to_owned(), message });
                }
            };
        }
        *node = value;
        Ok(())
    }
}

impl Doc {
    /// `link.NAME.forward.KEY`, as in `[[schedule]]`: what the way back inherits from the file stays.
    fn set_forward(
        &mut self,
        dotted: &str,
        [link, key]: [&str; 2],
        value: &Node,
    ) -> Result<(), ScenarioError> {
        let origin = value.origin;
        let (file, shown) = (self.file.clone(), dotted.to_owned());
        let fail = |message| ScenarioError { file, origin, key: shown, message };
        let mut set = || -> Result<(), String> {
            let default = DEFAULTS.iter().find(|(name, _)| *name == key).map(|(_, text)| *text);
            let default =
                default.ok_or_else(|| unknown("key", key, &DEFAULTS.map(|(name, _)| name)))?;
            let node = child(child(&mut self.root, "link", origin)?, link, origin)?;
            let before = node.entry(key).cloned();
            let reverse = child(node, "reverse", origin)?;
            if let Some(table) = reverse.structured() {
                *reverse = table;
            }
            // No rate on the way back means neither shaper nor size table there.
            let is_bare = reverse.entry("rate").is_some_and(|rate| rate.value.is_text("none"));
            let inherits = !(is_bare && ["shaper", "stab"].contains(&key));
            if reverse.entry(key).is_none() {
                let kept = before.filter(|_| inherits).unwrap_or_else(|| Node::raw(default));
                *child(reverse, key, origin)? = kept;
            }
            *child(node, key, origin)? = value.clone();
            Ok(())
        };
        set().map_err(fail)
    }
}

/// Keys of a direction of a link, and what they are if they are absent.
const DEFAULTS: [(&str, &str); 6] = [
    ("rate", "none"),
    ("shaper", "none"),
    ("stab", "none"),
    ("qdisc", "pfifo"),
    ("ingress", "[]"),
    ("delay", "0s"),
];

/// Keys whose texts are an algorithm with its parameters, which a dotted name reaches into.
pub(crate) const ALGORITHMS: [&str; 5] = ["qdisc", "shaper", "cc", "app", "noise"];

/// Tables of the file that are lists, in which an override creates no element.
pub(crate) const LISTS: [&str; 5] = ["link", "flow", "ping", "schedule", "capture"];

/// Whether a dotted name is a parameter of an algorithm, so that it counts after the algorithm itself.
pub(crate) fn is_parameter(dotted: &str) -> bool {
    matches!(parts(dotted)[..], [.., holder, _] if ALGORITHMS.contains(&holder))
}

/// The text of an algorithm with this value of a parameter, or without the parameter.
pub(crate) fn with_parameter(text: &str, name: &str, value: Option<&str>) -> String {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let mut depth = 0_usize;
    // The parameters of a leaf, in braces, are not the shaper's.
    let place = words.iter().skip(1).position(|word| {
        match *word {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && *word == name
    });
    let place = place.map(|before| before + 1);
    match (place, value) {
        (Some(at), Some(value)) if at + 1 < words.len() => words[at + 1] = value,
        (_, Some(value)) => words.extend([name, value]),
        (Some(at), None) => drop(words.drain(at..words.len().min(at + 2))),
        (None, None) => {}
    }
    words.join(" ")
}

/// The parts of a dotted name. The keys of `[sweep]`, `[sample]`, `set` and `replace` are themselves dotted.
pub(crate) fn parts(dotted: &str) -> Vec<&str> {
    match dotted.split_once('.') {
        Some(("sweep" | "sample", _)) => dotted.splitn(2, '.').collect(),
        Some(("schedule", _)) => dotted.splitn(4, '.').collect(),
        _ => dotted.split('.').collect(),
    }
}

/// The child called `head`; an absent table is created.
fn child<'n>(node: &'n mut Node, head: &str, origin: Origin) -> Result<&'n mut Node, String> {
    if head.is_empty() {
        return Err("empty part in a dotted name".to_owned());
    }
    match &mut node.value {
        Value::Table(entries) => {
            let index = entries.iter().position(|(k, _)| k == head).unwrap_or(entries.len());
            if index == entries.len() {
                if LISTS.contains(&head) {
                    return Err(format!("the file has no [[{head}]]"));
                }
                entries.push((head.to_owned(), Node { value: Value::Table(vec![]), origin }));
            }
            Ok(&mut entries[index].1)
        }
        Value::Array(items) => {
            let names: Vec<&str> = items.iter().filter_map(Node::name).collect();
            let index = items
                .iter()
                .position(|item| item.name() == Some(head))
                .or_else(|| head.parse().ok().filter(|i| *i < items.len()))
                .ok_or_else(|| unknown("name", head, &names))?;
            Ok(&mut items[index])
        }
        _ => Err(format!("has no part {head:?}")),
    }
}

impl Node {
    /// The `name` of an array entry.
    pub(crate) fn name(&self) -> Option<&str> {
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().find(|(k, _)| k == "name").and_then(|(_, v)| match &v.value {
            Value::Text(text) | Value::Raw(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The entry of a table.
    pub(crate) fn entry(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(k, _)| k == key).map(|(_, node)| node)
    }

    /// The text of an override.
    pub(crate) fn raw(text: &str) -> Self {
        Self { value: Value::Raw(text.to_owned()), origin: Origin::Override }
    }
}

impl Value {
    /// Whether it is this text.
    pub(crate) fn is_text(&self, wanted: &str) -> bool {
        matches!(self, Self::Text(text) | Self::Raw(text) if text == wanted)
    }

    /// What a user would call it, for "got ...".
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Text(text) | Self::Raw(text) => format!("{text:?}"),
            Self::Integer(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Bool(flag) => flag.to_string(),
            Self::Datetime(text) => text.clone(),
            Self::Array(_) => "an array".to_owned(),
            Self::Table(_) => "a table".to_owned(),
        }
    }
}

/// The value that the text of an override denotes where a table or an array is wanted.
pub(crate) fn parse_value(text: &str) -> Option<Value> {
    if too_deep(text).is_some() {
        return None;
    }
    let value = DeValue::parse(text).ok()?;
    let value = value_of(value, &Lines::new(text)).ok()?.value;
    Some(overridden(value))
}

/// Where a dotted name begins that would overflow the stack. The TOML parser bounds the nesting of
/// brackets but not of dotted names; this bounds the parts of long names in the whole text.
pub(crate) fn too_deep(text: &str) -> Option<usize> {
    let mut budget = 500_usize;
    let mut at = 0;
    for piece in text.split(|c| "=,[]{}#\n".contains(c)) {
        let dots = piece.bytes().filter(|b| *b == b'.').count();
        match budget.checked_sub(if dots > 8 { dots } else { 0 }) {
            Some(rest) => budget = rest,
            None => return Some(at),
        }
        at += piece.len() + 1;
    }
    None
}

fn overridden(value: Value) -> Value {
    let origin = Origin::Override;
    let node = |n: Node| Node { value: overridden(n.value), origin };
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(node).collect()),
        Value::Table(entries) => {
            Value::Table(entries.into_iter().map(|(k, n)| (k, node(n))).collect())
        }
        other => other,
    }
}

fn table_of(table: DeTable<'_>, lines: &Lines) -> Result<Value, usize> {
    // `DeTable` sorts by key; the file's order is in the spans.
    let mut entries: Vec<_> = table.into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
        .into_iter()
        .map(|(key, value)| Ok((key.into_inner().into_owned(), value_of(value, lines)?)))
        .collect::<Result<_, _>>()
        .map(Value::Table)
}

/// The error is the offset of an integer that does not fit.
fn value_of(spanned: Spanned<DeValue<'_>>, lines: &Lines) -> Result<Node, usize> {
    let at = spanned.span().start;
    let value = match spanned.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => {
            Value::Integer(i128::from_str_radix(number.as_str(), number.radix()).map_err(|_| at)?)
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().map_err(|_| at)?),
        DeValue::Boolean(flag) => Value::Bool(flag),
        DeValue::Datetime(datetime) => Value::Datetime(datetime.to_string()),
        DeValue::Array(items) => Value::Array(
            items.into_iter().map(|item| value_of(item, lines)).collect::<Result<_, _>>()?,
        ),
        DeValue::Table(table) => table_of(table, lines)?,
    };
    Ok(Node { value, origin: Origin::Line(lines.of(at)) })
}

/// Offsets at which lines start.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(breaks).collect())
    }

    fn of(&self, at: usize) -> usize {
        self.0.partition_point(|start| *start <= at)
    }
}
