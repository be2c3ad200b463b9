//! `[sweep]`, whose names are axes of their own, and `[[sweep]]`, whose tables are axes with names that
//! advance together.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::doc::{Doc, Node, Value};
use crate::error::ScenarioError;
use crate::text::AxisValue;

/// An axis of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Dotted names of what varies, such as `link.bneck.rate`: one, or those that advance together.
    pub keys: Vec<String>,
    /// The values of each key in its order, as an override would write them; all have as many.
    pub values: Vec<Vec<String>>,
}

impl Axis {
    pub(crate) fn of(columns: Vec<Column>) -> Self {
        let plain = |values: Vec<Node>| values.iter().map(|v| v.value.plain()).collect();
        let (keys, values) = columns.into_iter().map(|(key, values)| (key, plain(values))).unzip();
        Self { keys, values }
    }
}

/// The axes as the file writes them.
#[derive(Clone, Debug, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Sweep {
    Product(BTreeMap<String, Vec<AxisValue>>),
    Zipped(Vec<BTreeMap<String, Vec<AxisValue>>>),
}

impl Default for Sweep {
    fn default() -> Self {
        Self::Product(BTreeMap::new())
    }
}

impl Sweep {
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Product(axes) => axes.is_empty(),
            Self::Zipped(axes) => axes.iter().all(BTreeMap::is_empty),
        }
    }
}

impl<'de> Deserialize<'de> for Sweep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Sweep;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table [sweep], or tables [[sweep]]")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Sweep, A::Error> {
                BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(Sweep::Product)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Sweep, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Sweep::Zipped)
            }
        }
        deserializer.deserialize_map(Either)
    }
}

/// A dotted name and its values.
pub(crate) type Column = (String, Vec<Node>);

/// The slowest first; the columns of an axis are of one length, which is not zero.
pub(crate) type Axes = Vec<Vec<Column>>;

/// Values that an axis takes.
pub(crate) fn steps(axis: &[Column]) -> usize {
    axis.first().map_or(1, |(_, values)| values.len())
}

/// More runs than this are a slip.
pub(crate) const MAX_RUNS: usize = 100_000;

/// An override of a swept name is that axis's only value, under which a run has the same name as
/// beside the others. Of names that advance together it picks the step with that value; a value that
/// no step has replaces that of all steps.
fn fix(axis: &mut Vec<Column>, key: &str, value: &str) {
    let Some(at) = axis.iter().position(|(name, _)| name == key) else { return };
    let given = Node::raw(value);
    let is_it: Vec<bool> = axis[at].1.iter().map(|node| node.value.plain() == value).collect();
    if axis.len() == 1 {
        axis[at].1 = vec![given];
    } else if is_it.contains(&true) {
        for (_, values) in axis {
            let mut kept = is_it.iter();
            values.retain(|_| kept.next().is_some_and(|it| *it));
        }
    } else {
        axis[at].1.fill(given);
    }
}

/// The axes of a sweep that was taken out of the document.
pub(crate) fn axes(
    doc: &Doc,
    node: Node,
    overrides: &[(String, String)],
) -> Result<Axes, ScenarioError> {
    let node = node.structured().unwrap_or(node);
    let tables: Vec<(String, Vec<(String, Node)>)> = match node.value {
        Value::Table(entries) => {
            entries.into_iter().map(|entry| ("sweep".to_owned(), vec![entry])).collect()
        }
        Value::Array(items) => {
            let entries =
                |(index, item): (usize, Node)| (format!("sweep.{index}"), item.entries().to_vec());
            items.into_iter().enumerate().map(entries).collect()
        }
        _ => vec![],
    };
    let mut axes = Axes::new();
    for (shown, entries) in tables {
        let mut axis: Vec<Column> = Vec::new();
        for (key, node) in entries {
            let shown = format!("{shown}.{key}");
            let node = node.structured().unwrap_or(node);
            let Value::Array(values) = node.value else {
                return Err(doc.error(node.origin, &shown, "expected an array"));
            };
            let fail = |message: &str| Err(doc.error(node.origin, &shown, message));
            if key == "sweep" || key.starts_with("sweep.") {
                return fail("a sweep cannot vary itself");
            }
            if axes.iter().flatten().any(|(other, _)| *other == key) {
                return fail("another axis varies it already");
            }
            let Some(first) = values.first() else {
                return fail("expected at least one value");
            };
            if let Some((other, column)) = axis.first()
                && column.len() != values.len()
            {
                let (want, got) = (column.len(), values.len());
                return fail(&format!(
                    "expected {want} values, as many as {other:?} has, which advances together with it; got {got}"
                ));
            }
            let mut probe = doc.clone();
            probe
                .set(&key, first.clone())
                .map_err(|e| ScenarioError { key: shown.clone(), ..e })?;
            axis.push((key, values));
        }
        for (key, value) in overrides {
            fix(&mut axis, key, value);
        }
        if axis.is_empty() {
            continue;
        }
        let (shown, at) = (format!("{shown}.{}", axis[0].0), axis[0].1[0].origin);
        axes.push(axis);
        let runs = axes.iter().try_fold(1_usize, |n, axis| n.checked_mul(steps(axis)));
        if runs.is_none_or(|runs| runs > MAX_RUNS) {
            let message = format!("expected at most {MAX_RUNS} runs in a sweep");
            return Err(doc.error(at, &shown, message));
        }
    }
    Ok(axes)
}
