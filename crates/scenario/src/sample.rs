//! `[sample]`: points spread over ranges, beside the product of a sweep. Where the points of the unit
//! cube are, whoever expands the file says ([`Design`]); here they become values.

mod table;

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use sojourn_core::{Bytes, Dur, Quantity as _, Rate, math};

use crate::doc::{Doc, Node, Value};
use crate::error::{Origin, ScenarioError, place};
use crate::sweep::{Axes, Column, MAX_RUNS, steps};
pub(crate) use table::SampleTable;
use table::{DomainTable, Scale};

/// Whole numbers up to this one are exact.
const EXACT: i128 = 1 << 53;
/// Digits of a drawn value within its range: short enough to read.
const DIGITS: f64 = 4.0;

/// How points are spread.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// A Sobol' sequence: even in every power of two of points; more points keep those that are there.
    Sobol,
    /// Of as many equal parts of each range as there are points, one point in each.
    LatinHypercube,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sobol => "sobol",
            Self::LatinHypercube => "latin-hypercube",
        })
    }
}

/// What the points of the unit cube depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    /// How they are spread.
    pub method: Method,
    /// How many there are.
    pub points: usize,
    /// Seed of their positions.
    pub seed: u64,
    /// Dotted names, one a dimension.
    pub keys: Vec<String>,
}

/// The table with its values where they were written.
pub(crate) struct Sample {
    pub(crate) design: Design,
    dimensions: Vec<(String, Domain)>,
    /// Where the number of points was written.
    written: Origin,
}

/// Values that a share of the way from one end to the other stands for.
enum Domain {
    Choices(Vec<Node>),
    Range { low: Node, high: Node, ends: (f64, f64), unit: Unit, is_log: bool },
}

#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Whole,
    Real,
    Share,
    Rate,
    Time,
    Size,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Whole | Self::Real => "a number",
            Self::Share => "a share",
            Self::Rate => "a rate",
            Self::Time => "a time",
            Self::Size => "a size",
        }
    }

    #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "between two ends")]
    fn value(self, number: f64) -> Value {
        match self {
            Self::Whole => Value::Integer(number as i128),
            Self::Real => Value::Float(number),
            Self::Share => Value::Text(format!("{number}%")),
            Self::Rate => Value::Text(Rate(number as u64).to_string()),
            Self::Time => Value::Text(Dur(number as u64).to_string()),
            Self::Size => Value::Text(Bytes(number as u64).to_string()),
        }
    }
}

impl Sample {
    /// The sample of a table that was taken out of the document. An override of a sampled name is its
    /// only value, and leaves the others as they are.
    pub(crate) fn of(
        doc: &Doc,
        node: &Node,
        table: &SampleTable,
        overrides: &[(String, String)],
        axes: &Axes,
    ) -> Result<Self, ScenarioError> {
        let mut dimensions = Vec::new();
        let mut is_open = false;
        for (key, node) in node.entries() {
            if ["method", "points", "seed"].contains(&key.as_str()) {
                continue;
            }
            let shown = format!("sample.{key}");
            let fail = |message: &str| Err(doc.error(node.origin, &shown, message));
            if key.starts_with("sample.") || key.starts_with("sweep") {
                return fail("a sample cannot vary itself, nor a sweep");
            }
            if axes.iter().flatten().any(|(other, _)| other == key) {
                return fail("[sweep] varies it already");
            }
            let node = node.structured().unwrap_or_else(|| node.clone());
            let read = Domain::of(doc, &shown, &node, table.ranges.get(key))?;
            let mut probe = doc.clone();
            probe
                .set(key, read.first().clone())
                .map_err(|e| ScenarioError { key: shown.clone(), ..e })?;
            let given = overrides.iter().rev().find(|(name, _)| name == key);
            is_open |= given.is_none();
            let fixed = given.map(|(_, value)| Domain::Choices(vec![Node::raw(value)]));
            dimensions.push((key.clone(), fixed.unwrap_or(read)));
        }
        let points = table.points as usize;
        let runs = axes.iter().map(|axis| steps(axis)).product::<usize>();
        let written = node.entry("points").map_or(node.origin, |node| node.origin);
        if points == 0 || runs.saturating_mul(points) > MAX_RUNS {
            let message = format!("expected 1 to {} points", MAX_RUNS / runs.max(1));
            return Err(doc.error(written, "sample.points", message));
        }
        if dimensions.is_empty() {
            let example = "\"link.bneck.rate\" = { from = \"10Mbit\", to = \"1Gbit\" }";
            let message = format!("expected at least one name with its range, such as {example}");
            return Err(doc.error(node.origin, "sample", message));
        }
        let keys = dimensions.iter().map(|(key, _)| key.clone()).collect();
        let points = if is_open { points } else { 1 };
        let design = Design { method: table.method, points, seed: table.seed.unwrap_or(1), keys };
        Ok(Self { design, dimensions, written })
    }

    /// What is valid but may not be meant.
    pub(crate) fn warning(&self, doc: &Doc) -> Option<String> {
        let Design { method, points, .. } = self.design;
        if method != Method::Sobol || points.is_power_of_two() {
            return None;
        }
        let above = points.next_power_of_two();
        let place = place(&doc.file, self.written, "sample.points");
        Some(format!(
            "{place}Sobol' points are evenly spread in powers of two only, and {points} is none (write {} or {above})",
            above / 2
        ))
    }

    /// Values at the ends, for checks of what they say.
    pub(crate) fn ends(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.dimensions.iter().flat_map(|(key, domain)| {
            let nodes: Vec<&Node> = match domain {
                Domain::Choices(values) => values.iter().collect(),
                Domain::Range { low, high, .. } => vec![low, high],
            };
            nodes.into_iter().map(move |node| (key.as_str(), node))
        })
    }

    /// The points as an axis whose names advance together; `None` if the cube has other points than
    /// the design asks for.
    pub(crate) fn axis(&self, cube: &[Vec<f64>]) -> Option<Vec<Column>> {
        let fits = |point: &Vec<f64>| {
            point.len() == self.dimensions.len() && point.iter().all(|at| (0.0..1.0).contains(at))
        };
        if cube.len() != self.design.points || !cube.iter().all(fits) {
            return None;
        }
        let column = |(at, (key, domain)): (usize, &(String, Domain))| {
            (key.clone(), cube.iter().map(|point| domain.at(point[at])).collect())
        };
        Some(self.dimensions.iter().enumerate().map(column).collect())
    }
}

impl Domain {
    fn of(
        doc: &Doc,
        shown: &str,
        node: &Node,
        table: Option<&DomainTable>,
    ) -> Result<Self, ScenarioError> {
        let fail = |node: &Node, part: &str, message: String| {
            Err(doc.error(node.origin, &format!("{shown}{part}"), message))
        };
        let is_log = match table {
            Some(DomainTable::Range(range)) => range.scale == Scale::Log,
            _ => false,
        };
        if let Value::Array(values) = &node.value {
            if values.is_empty() {
                return fail(node, "", "expected at least one value".to_owned());
            }
            return Ok(Self::Choices(values.clone()));
        }
        let [Some(low), Some(high)] = ["from", "to"].map(|key| node.entry(key)) else {
            return fail(node, "", "expected `from` and `to`".to_owned());
        };
        let mut ends = Vec::new();
        for (node, part) in [(low, ".from"), (high, ".to")] {
            let Some(end) = end(&node.value) else {
                let got = node.value.shown();
                let wanted = "a number, or a text with a unit such as \"10Mbit\", \"20ms\", \"10Kb\" or \"1%\"";
                return fail(node, part, format!("expected {wanted}, got {got}"));
            };
            ends.push(end);
        }
        let [(least, first), (most, second)] = ends[..] else { unreachable!("two ends") };
        let unit = match (first, second) {
            (Unit::Whole, Unit::Real) | (Unit::Real, Unit::Whole) => Unit::Real,
            (first, second) if first == second => first,
            (first, _) => {
                let (is, got) = (first.name(), high.value.shown());
                return fail(high, ".to", format!("expected {is}, as `from` is, got {got}"));
            }
        };
        if least >= most {
            let (low, high) = (low.value.shown(), high.value.shown());
            return fail(
                node,
                ".to",
                format!("expected more than `from`, which is {low}, got {high}"),
            );
        }
        if is_log && least <= 0.0 {
            let message = "a logarithmic range begins above 0".to_owned();
            return fail(low, ".from", message);
        }
        let (low, high) = (low.clone(), high.clone());
        Ok(Self::Range { low, high, ends: (least, most), unit, is_log })
    }

    fn first(&self) -> &Node {
        match self {
            Self::Choices(values) => &values[0],
            Self::Range { low, .. } => low,
        }
    }

    /// The value at a share of the way, from 0 to below 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index"
    )]
    fn at(&self, share: f64) -> Node {
        match self {
            Self::Choices(values) => {
                values[((share * values.len() as f64) as usize).min(values.len() - 1)].clone()
            }
            Self::Range { low, ends: (least, most), unit, is_log, .. } => {
                // Every whole number has an equal part of the range.
                let is_whole = *unit == Unit::Whole;
                let beyond = most + f64::from(is_whole);
                let number = if *is_log {
                    math::exp(math::ln(*least) + share * (math::ln(beyond) - math::ln(*least)))
                } else {
                    least + share * (beyond - least)
                };
                let number = if is_whole { number.floor() } else { rounded(number, *least, *most) };
                Node { value: unit.value(number.clamp(*least, *most)), origin: low.origin }
            }
        }
    }
}

/// The number to `DIGITS` digits, and to as many more as all of a narrow range have in common.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "3 to 15")]
fn rounded(number: f64, least: f64, most: f64) -> f64 {
    let share = least.abs().max(most.abs()) / (most - least);
    let common = math::log10(share).floor().max(0.0);
    let behind_point = (DIGITS - 1.0 + common).min(15.0) as usize;
    // Through decimal text, which is exact where a product of powers of ten is not.
    format!("{number:.behind_point$e}").parse().unwrap_or(number)
}

/// An end of a range, in bit/s, ns or bytes where it has a unit.
#[expect(clippy::cast_precision_loss, reason = "a few digits are drawn")]
fn end(value: &Value) -> Option<(f64, Unit)> {
    match value {
        Value::Integer(number) if number.abs() <= EXACT => Some((*number as f64, Unit::Whole)),
        Value::Float(number) if number.is_finite() => Some((*number, Unit::Real)),
        Value::Text(text) => {
            if let Some(share) = text.strip_suffix('%') {
                let share = share.parse::<f64>().ok().filter(|number| number.is_finite())?;
                return Some((share, Unit::Share));
            }
            Rate::read(text)
                .map(|rate| (rate.0 as f64, Unit::Rate))
                .or_else(|_| Dur::read(text).map(|time| (time.0 as f64, Unit::Time)))
                .or_else(|_| Bytes::read(text).map(|size| (size.0 as f64, Unit::Size)))
                .ok()
        }
        _ => None,
    }
}
