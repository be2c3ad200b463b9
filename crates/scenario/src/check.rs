//! Checks that name the key at fault, shared by all parts of the file.

use std::rc::Rc;

use sojourn_core::grammar::GrammarError;
use sojourn_core::{Dur, Rate, Rng, Time};
use sojourn_queue::aqm::{Env, Spec};
use sojourn_queue::qdiscs;

use crate::doc::Doc;
use crate::error::ScenarioError;

/// A value's place in the document (array entries by index) and its name for the user (by name). Checks make
/// many, and messages need few of them.
#[derive(Clone, Debug)]
pub(crate) struct Key(Rc<Part>);

#[derive(Debug)]
struct Part {
    parent: Option<Key>,
    name: String,
    /// In an array.
    index: Option<usize>,
}

impl Key {
    pub(crate) fn top(name: &str) -> Self {
        Self(Rc::new(Part { parent: None, name: name.to_owned(), index: None }))
    }

    pub(crate) fn entry(table: &str, index: usize, name: &str) -> Self {
        let (parent, index) = (Some(Self::top(table)), Some(index));
        Self(Rc::new(Part { parent, name: name.to_owned(), index }))
    }

    pub(crate) fn field(&self, name: &str) -> Self {
        let parent = Some(self.clone());
        Self(Rc::new(Part { parent, name: name.to_owned(), index: None }))
    }

    pub(crate) fn path(&self) -> Vec<String> {
        let mut path = self.0.parent.as_ref().map_or_else(Vec::new, Self::path);
        path.push(self.0.index.map_or_else(|| self.0.name.clone(), |index| index.to_string()));
        path
    }

    pub(crate) fn shown(&self) -> String {
        match &self.0.parent {
            Some(parent) => format!("{}.{}", parent.shown(), self.0.name),
            None => self.0.name.clone(),
        }
    }
}

impl Doc {
    pub(crate) fn fail(&self, key: &Key, message: impl Into<String>) -> ScenarioError {
        self.error(self.origin(&key.path()), &key.shown(), message)
    }

    pub(crate) fn check(&self, ok: bool, key: &Key, message: &str) -> Result<(), ScenarioError> {
        if ok { Ok(()) } else { Err(self.fail(key, message)) }
    }

    pub(crate) fn grammar<T>(
        &self,
        key: &Key,
        built: Result<T, GrammarError>,
    ) -> Result<T, ScenarioError> {
        built.map_err(|e| self.fail(key, e.0))
    }

    /// The discipline that `text` describes, checked against its surroundings.
    pub(crate) fn qdisc(&self, key: &Key, text: &str) -> Result<Spec, ScenarioError> {
        self.grammar(key, qdiscs::read(text, &self.env()))
    }

    pub(crate) fn env(&self) -> Env {
        let rng = Rng::named(0, "scenario.validation");
        Env { traces: self.traces.clone(), ..Env::ethernet(rng) }
    }
}

/// A faster link sends a packet of 64 bytes in less than 0.1 ns.
const MAX_RATE: Rate = Rate(10_000_000_000_000);

/// A link's rate within its bounds; the error completes a message.
pub(crate) fn link_rate(rate: Rate) -> Result<Rate, String> {
    match rate {
        Rate(0) => Err("expected more than zero".to_owned()),
        rate if rate > MAX_RATE => Err(format!("expected at most {MAX_RATE}, got {rate}")),
        rate => Ok(rate),
    }
}

/// More samples or pings than this are a slip of the unit.
pub(crate) const MAX_EVENTS: u64 = 10_000_000;

/// Refuses an interval at which an echo train makes too many requests.
pub(crate) fn interval(
    doc: &Doc,
    key: &Key,
    interval: Dur,
    duration: Dur,
) -> Result<(), ScenarioError> {
    doc.check(interval > Dur::ZERO, key, "expected more than zero")?;
    let few = duration.0 / interval.0 <= MAX_EVENTS;
    doc.check(few, key, &format!("expected at most {MAX_EVENTS} requests in the run"))
}

/// An algorithm's text with single spaces.
pub(crate) fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn instant(offset: Dur) -> Time {
    Time::ZERO + offset
}

/// A name must work as a part of a dotted name, of a file name and of a column.
pub(crate) fn word(doc: &Doc, key: &Key, name: &str) -> Result<(), ScenarioError> {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let valid = name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(good);
    doc.check(valid, key, &format!("expected letters, digits, `_` and `-`, got {name:?}"))
}

/// Refuses a name that is taken.
pub(crate) fn name<'n>(
    doc: &Doc,
    key: &Key,
    name: &str,
    mut before: impl Iterator<Item = &'n str>,
) -> Result<(), ScenarioError> {
    let key = key.field("name");
    word(doc, &key, name)?;
    doc.check(before.all(|b| b != name), &key, &format!("the name {name:?} is already taken"))
}

pub(crate) fn between(
    doc: &Doc,
    key: &Key,
    field: &str,
    value: u64,
    low: u64,
    high: u64,
) -> Result<(), ScenarioError> {
    let message = format!("expected {low} to {high}, got {value}");
    doc.check((low..=high).contains(&value), &key.field(field), &message)
}

pub(crate) fn start_stop(
    doc: &Doc,
    key: &Key,
    start: Dur,
    stop: Option<Dur>,
    end: Time,
) -> Result<(Time, Option<Time>), ScenarioError> {
    let (start, stop) = (instant(start), stop.map(instant));
    let late = format!("{start} is not before the end of the run at {end}");
    doc.check(start < end, &key.field("start"), &late)?;
    if let Some(stop) = stop {
        let order = format!("{stop} is not after the start at {start}");
        doc.check(stop > start, &key.field("stop"), &order)?;
    }
    Ok((start, stop))
}
