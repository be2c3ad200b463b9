//! Text to scenario: overrides, then validation; and the expansion of a sweep.

use std::collections::BTreeSet;
use std::path::Path;

use crate::de::read;
use crate::doc::{Doc, Node, Value, is_parameter};
use crate::error::{ScenarioError, place};
use crate::file::File;
use crate::idle::idle;
use crate::resolve::resolve;
use crate::sample::{Design, Sample};
use crate::scenario::Scenario;
use crate::sweep::{self, Axes, Axis};
use crate::sysctl;
use crate::text::{bare_number_warnings, byte_rate_warnings};
use crate::traces::read_traces;

/// The format of scenario files that is written and read.
pub(crate) const FORMAT: u64 = 1;

/// A scenario file that was understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The scenario without its sweep.
    pub scenario: Scenario,
    /// What is valid but may not be meant; one line each.
    pub warnings: Vec<String>,
    /// The sweep's axes, the slowest first; empty if the file has none.
    pub axes: Vec<Axis>,
}

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPoint {
    /// Key and value of each axis.
    pub values: Vec<(String, String)>,
    /// The run.
    pub scenario: Scenario,
}

/// Reads a scenario file. `file_name` is for messages, and the names of trace files are relative to
/// its folder; `overrides` are dotted names with texts, applied in order before validation. An
/// override of a swept key is that axis's only value.
pub fn load(
    text: &str,
    file_name: &str,
    overrides: &[(String, String)],
) -> Result<Parsed, ScenarioError> {
    load_within(None, text, file_name, overrides)
}

/// The same for a text that is not trusted: no file outside of the folder `within` is read, nor by way of a
/// symbolic link.
pub fn load_within(
    within: Option<&Path>,
    text: &str,
    file_name: &str,
    overrides: &[(String, String)],
) -> Result<Parsed, ScenarioError> {
    let Prepared { mut doc, axes, sample } = prepare(text, file_name, overrides)?;
    doc.within = within.map(Path::to_owned);
    let (file, scenario) = scenario(&mut doc)?;
    // What does not act here may do so in other runs of the sweep.
    let points = sample.as_ref().map_or(1, |sample| sample.design.points);
    let is_one_run = points == 1 && axes.iter().all(|axis| sweep::steps(axis) == 1);
    let mut warnings = if is_one_run { idle(&doc, &file, &scenario) } else { vec![] };
    let mut clean = BTreeSet::new();
    warn(&doc, &doc.root, &mut String::new(), &mut warnings, &mut clean);
    for (key, values) in axes.iter().flatten() {
        for value in values {
            warn(&doc, value, &mut key.clone(), &mut warnings, &mut clean);
        }
    }
    for (key, end) in sample.iter().flat_map(Sample::ends) {
        warn(&doc, end, &mut key.to_owned(), &mut warnings, &mut clean);
    }
    warnings.extend(sample.and_then(|sample| sample.warning(&doc)));
    Ok(Parsed { scenario, warnings, axes: axes.into_iter().map(Axis::of).collect() })
}

/// What the points of the file's `[sample]` depend on; `None` if it has none.
pub fn design(
    text: &str,
    file_name: &str,
    overrides: &[(String, String)],
) -> Result<Option<Design>, ScenarioError> {
    Ok(prepare(text, file_name, overrides)?.sample.map(|sample| sample.design))
}

/// How many runs the file's sweep and sample make; without them one.
pub fn runs(
    text: &str,
    file_name: &str,
    overrides: &[(String, String)],
) -> Result<usize, ScenarioError> {
    let Prepared { axes, sample, .. } = prepare(text, file_name, overrides)?;
    let points = sample.map_or(1, |sample| sample.design.points);
    Ok(axes.iter().map(|axis| sweep::steps(axis)).fold(points, usize::saturating_mul))
}

/// All runs of the file's sweep, the first axis changing slowest; one run if it has no sweep. A file
/// with a `[sample]` needs [`expand_at`].
pub fn expand(
    text: &str,
    file_name: &str,
    overrides: &[(String, String)],
) -> Result<Vec<SweepPoint>, ScenarioError> {
    expand_at(text, file_name, overrides, &[])
}

/// The same with the points of the file's `[sample]`, which change fastest: as many points of the
/// unit cube as its [`design`] asks for, with a coordinate from 0 to below 1 for each of its names.
pub fn expand_at(
    text: &str,
    file_name: &str,
    overrides: &[(String, String)],
    cube: &[Vec<f64>],
) -> Result<Vec<SweepPoint>, ScenarioError> {
    expand_within(None, text, file_name, overrides, cube)
}

/// The same for a text that is not trusted, as [`load_within`].
pub fn expand_within(
    within: Option<&Path>,
    text: &str,
    file_name: &str,
    overrides: &[(String, String)],
    cube: &[Vec<f64>],
) -> Result<Vec<SweepPoint>, ScenarioError> {
    let Prepared { doc: mut first, mut axes, sample } = prepare(text, file_name, overrides)?;
    first.within = within.map(Path::to_owned);
    if let Some(sample) = sample {
        let axis = sample.axis(cube).ok_or_else(|| {
            let Design { method, points, keys, .. } = &sample.design;
            let names = keys.len();
            let message = format!("expected {points} {method} points of the cube of {names} names");
            first.error(first.root.origin, "sample", message)
        })?;
        axes.push(axis);
    }
    let runs = axes.iter().map(|axis| sweep::steps(axis)).product();
    let mut points = Vec::with_capacity(runs);
    for run in 0..runs {
        let mut doc = first.clone();
        let mut values = Vec::with_capacity(axes.len());
        let mut point = Vec::with_capacity(axes.len());
        let mut block = runs;
        for axis in &axes {
            block /= sweep::steps(axis);
            for (key, nodes) in axis {
                let node = &nodes[run / block % nodes.len()];
                values.push((key.clone(), node.value.plain()));
                point.push((key, node.clone()));
            }
        }
        // What was overridden of an algorithm's parameters is so whichever algorithm it is.
        point.extend(
            overrides
                .iter()
                .map(|(key, value)| (key, Node::raw(value)))
                .filter(|(key, _)| is_parameter(key)),
        );
        point.sort_by_key(|(key, _)| is_parameter(key));
        for (key, node) in point {
            doc.set(key, node)?;
        }
        points.push(SweepPoint { values, scenario: scenario(&mut doc)?.1 });
        // A trace is read once for all runs.
        first.traces = doc.traces;
    }
    Ok(points)
}

/// What a document without sweep describes.
fn scenario(doc: &mut Doc) -> Result<(File, Scenario), ScenarioError> {
    sysctl::lower(doc)?;
    let mut file = read::<File>(doc)?;
    read_traces(doc, &mut file)?;
    let scenario = resolve(doc, &file)?;
    Ok((file, scenario))
}

/// A document with its overrides and without its sweep and sample.
struct Prepared {
    doc: Doc,
    axes: Axes,
    sample: Option<Sample>,
}

fn prepare(
    text: &str,
    file_name: &str,
    overrides: &[(String, String)],
) -> Result<Prepared, ScenarioError> {
    let mut doc = Doc::parse(text, file_name)?;
    let (parameters, others): (Vec<_>, Vec<_>) =
        overrides.iter().partition(|(key, _)| is_parameter(key));
    for (key, value) in others.into_iter().chain(parameters) {
        doc.set(key, Node::raw(value))?;
    }
    format_number(&doc)?;
    quoted_names(&doc)?;
    let has = |key: &str| doc.root.entries().iter().any(|(name, _)| name == key);
    let file = (has("sweep") || has("sample")).then(|| read::<File>(&doc)).transpose()?;
    let swept = doc.take("sweep");
    let swept = swept.filter(|_| file.as_ref().is_some_and(|file| !file.sweep.is_empty()));
    let sampled = doc.take("sample").map(|node| node.structured().unwrap_or(node));
    let axes = swept.map_or(Ok(vec![]), |node| sweep::axes(&doc, node, overrides))?;
    let mut sample = None;
    if let (Some(node), Some(table)) = (sampled, file.and_then(|file| file.sample)) {
        sample = Some(Sample::of(&doc, &node, &table, overrides, &axes)?);
    }
    Ok(Prepared { doc, axes, sample })
}

/// Refuses a later format before its keys are looked at. Another type is refused with them.
fn format_number(doc: &Doc) -> Result<(), ScenarioError> {
    let Value::Table(entries) = &doc.root.value else { return Ok(()) };
    let format = entries.iter().find(|(key, _)| key == "format").map(|(_, node)| node);
    match format.map(|node| (node.origin, node.value.plain())) {
        Some((origin, number)) if number.parse::<u64>().is_ok_and(|n| n != FORMAT) => {
            let message = format!(
                "expected {FORMAT}, got {number}: the file is for another version of Sojourn"
            );
            Err(doc.error(origin, "format", message))
        }
        _ => Ok(()),
    }
}

/// An unquoted dotted name in `[sweep]`, `[sample]`, `set` or `replace` is a tree of tables in TOML.
fn quoted_names(doc: &Doc) -> Result<(), ScenarioError> {
    let mut tables = Vec::new();
    let is_range = |node: &Node| ["from", "to"].iter().any(|key| node.entry(key).is_some());
    for (key, node) in doc.root.entries() {
        match (key.as_str(), &node.value) {
            ("sweep", Value::Array(items)) => {
                let shown = |(index, item)| (format!("sweep.{index}"), item);
                tables.extend(items.iter().enumerate().map(shown));
            }
            ("sweep" | "sample", _) => tables.push((key.clone(), node)),
            ("schedule", Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    for (key, node) in item.entries() {
                        if key == "set" || key == "replace" {
                            tables.push((format!("schedule.{index}.{key}"), node));
                        }
                    }
                }
            }
            _ => {}
        }
    }
    for (shown, table) in tables {
        for (key, node) in table.entries() {
            if matches!(node.value, Value::Table(_)) && !(shown == "sample" && is_range(node)) {
                let message = "write the dotted name in quotes: \"link.bneck.rate\" = ...";
                return Err(doc.error(node.origin, &format!("{shown}.{key}"), message));
            }
        }
    }
    Ok(())
}

/// Warns about texts; those in `clean`, with the last parts of their keys, have nothing to be warned about.
fn warn<'d>(
    doc: &Doc,
    node: &'d Node,
    key: &mut String,
    warnings: &mut Vec<String>,
    clean: &mut BTreeSet<(String, &'d str)>,
) {
    let mut inside = |part: &str, node: &'d Node| {
        let length = key.len();
        if !key.is_empty() {
            key.push('.');
        }
        key.push_str(part);
        warn(doc, node, key, warnings, clean);
        key.truncate(length);
    };
    match &node.value {
        Value::Table(entries) => {
            for (part, node) in entries {
                if part != "name" && part != "description" {
                    inside(part, node);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                inside(item.name().unwrap_or(&index.to_string()), item);
            }
        }
        Value::Text(text) | Value::Raw(text) => {
            let last = key.rsplitn(3, '.').take(2).collect::<Vec<_>>().join(".");
            if clean.contains(&(last.clone(), text.as_str())) {
                return;
            }
            let before = warnings.len();
            let place = place(&doc.file, node.origin, key);
            let bare = bare_number_warnings(key, text);
            warnings.extend(byte_rate_warnings(text).chain(bare).map(|w| format!("{place}{w}")));
            if warnings.len() == before {
                clean.insert((last, text));
            }
        }
        Value::Integer(_) | Value::Float(_) | Value::Bool(_) | Value::Datetime(_) => {}
    }
}

impl Node {
    pub(crate) fn entries(&self) -> &[(String, Self)] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }
}

impl Value {
    /// The value as an override would write it.
    pub(crate) fn plain(&self) -> String {
        match self {
            Self::Text(text) | Self::Raw(text) => text.clone(),
            other => other.inline(),
        }
    }

    /// The value in a line of TOML.
    fn inline(&self) -> String {
        match self {
            Self::Array(items) => {
                let items: Vec<_> = items.iter().map(|item| item.value.inline()).collect();
                format!("[{}]", items.join(", "))
            }
            Self::Table(entries) => {
                let pairs = entries.iter().map(|(key, node)| (key, node.value.inline()));
                let pairs: Vec<_> =
                    pairs.map(|(key, value)| format!("{key:?} = {value}")).collect();
                format!("{{ {} }}", pairs.join(", "))
            }
            other => other.shown(),
        }
    }
}
