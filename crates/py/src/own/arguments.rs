//! The parameters of an algorithm in Python: keyword arguments of its class, read in tc's grammar.

use std::ops::RangeInclusive;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_core::grammar::{Args, Given, GrammarError, Parameter, Written};

use super::Definition;

/// How the value of a parameter is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A flag without value: `ecn` and `noecn`.
    Flag,
    /// A whole number.
    Whole,
    /// A decimal number.
    Decimal,
    /// A time in tc's units; seconds for Python.
    Time,
    /// A rate in tc's units; bit/s for Python.
    Rate,
    /// A size in tc's units; bytes for Python.
    Size,
    /// Any word.
    Text,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Flag(bool),
    Whole(i64),
    Decimal(f64),
    Text(String),
}

const NUMBERS: RangeInclusive<f64> = f64::MIN..=f64::MAX;

/// Name, value, kind and default of each parameter as a table of the registry. It lives as long as the
/// program: there is one for each definition.
pub(super) fn params(
    parameters: Vec<(String, String, String, String)>,
) -> Result<(Vec<Parameter>, Vec<Kind>), String> {
    let mut params = Vec::new();
    let mut kinds = Vec::new();
    for (name, kind, default, doc) in parameters {
        let (kind, value) = match kind.as_str() {
            "flag" => (Kind::Flag, ""),
            "int" => (Kind::Whole, "NUMBER"),
            "float" => (Kind::Decimal, "NUMBER"),
            "time" => (Kind::Time, "TIME"),
            "rate" => (Kind::Rate, "RATE"),
            "size" => (Kind::Size, "BYTES"),
            "text" => (Kind::Text, "WORD"),
            _ => return Err(format!("{name}: no kind of value is called {kind:?}")),
        };
        let name = if kind == Kind::Flag { format!("{name}|no{name}") } else { name };
        let (name, doc) = (name.leak(), doc.leak());
        params.push(Parameter { name, value, default, doc, is_tc: true });
        kinds.push(kind);
    }
    Ok((params, kinds))
}

/// The parameters that a text states after an algorithm's name.
#[derive(Clone, Debug)]
pub(super) struct Arguments {
    name: &'static str,
    /// Name in the table, value, and the text as written; each once.
    set: Vec<(&'static str, Value, String)>,
}

impl Arguments {
    /// None.
    pub(super) fn none(name: &'static str) -> Self {
        Self { name, set: Vec::new() }
    }

    /// Reads the parameters in `args`, by the table of a definition.
    pub(super) fn read(
        args: &mut Args<'_>,
        Definition { params, kinds, .. }: &Definition,
    ) -> Result<Self, GrammarError> {
        let mut arguments = Self { name: args.algorithm(), set: Vec::new() };
        while let Some(key) = args.key() {
            let place = params.iter().position(|p| p.name.split('|').any(|name| name == key));
            let place = place.ok_or_else(|| args.unknown())?;
            let name = params[place].name;
            let text = args.peek().unwrap_or_default();
            let value = match kinds[place] {
                Kind::Flag => Value::Flag(key == keyword(name)),
                Kind::Whole => Value::Whole(args.value("a whole number", |w| w.parse().ok())?),
                Kind::Decimal => Value::Decimal(args.decimal(NUMBERS)?),
                Kind::Time => Value::Decimal(args.time()?.as_secs_f64()),
                Kind::Rate => Value::Decimal(args.rate()?.0 as f64),
                Kind::Size => Value::Whole(args.size()?.0 as i64),
                Kind::Text => Value::Text(args.word()?.to_owned()),
            };
            let written =
                if kinds[place] == Kind::Flag { key.to_owned() } else { format!("{key} {text}") };
            arguments.put(name, value, written);
        }
        Ok(arguments)
    }

    fn put(&mut self, keyword: &'static str, value: Value, written: String) {
        match self.set.iter_mut().find(|(name, ..)| *name == keyword) {
            Some(earlier) => *earlier = (keyword, value, written),
            None => self.set.push((keyword, value, written)),
        }
    }

    /// These parameters, overridden by those that `others` state.
    pub(super) fn changed_by(&self, others: &Self) -> Self {
        let mut arguments = self.clone();
        for (keyword, value, written) in &others.set {
            arguments.put(keyword, value.clone(), written.clone());
        }
        arguments
    }

    /// The algorithm's name.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Which parameters they state.
    pub(super) fn given(&self) -> Given {
        let mut given = Given::default();
        self.set.iter().for_each(|(name, ..)| given.add(name));
        given
    }

    /// Keyword arguments for Python.
    pub(super) fn keywords<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let keywords = PyDict::new(py);
        for (name, value, _) in &self.set {
            match value {
                Value::Flag(on) => keywords.set_item(keyword(name), on)?,
                Value::Whole(n) => keywords.set_item(name, n)?,
                Value::Decimal(x) => keywords.set_item(name, x)?,
                Value::Text(text) => keywords.set_item(name, text)?,
            }
        }
        Ok(keywords)
    }

    /// The parameters as they would be written.
    pub(super) fn written(&self) -> Vec<Written> {
        let part = |(name, _, text): &(&'static str, Value, String)| Written {
            name,
            text: text.clone(),
            is_tc: false,
        };
        self.set.iter().map(part).collect()
    }
}

/// The keyword argument of a name in the table.
fn keyword(name: &str) -> &str {
    name.split('|').next().unwrap_or(name)
}
