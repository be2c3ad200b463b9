//! Checks that name the key at fault, shared by all parts of the file.

use sojourn_core::aqm::{Env, Qdisc};
use sojourn_core::grammar::GrammarError;
use sojourn_core::{Rng, qdiscs};

use crate::doc::Doc;
use crate::error::ScenarioError;

/// A value's place in the document (array entries by index) and its name for the user (by name).
#[derive(Clone, Debug)]
pub(crate) struct Key {
    path: Vec<String>,
    shown: String,
}

impl Key {
    pub(crate) fn top(name: &str) -> Self {
        Self { path: vec![name.to_owned()], shown: name.to_owned() }
    }

    pub(crate) fn entry(table: &str, index: usize, name: &str) -> Self {
        let path = vec![table.to_owned(), index.to_string()];
        Self { path, shown: format!("{table}.{name}") }
    }

    pub(crate) fn field(&self, name: &str) -> Self {
        let mut path = self.path.clone();
        path.push(name.to_owned());
        Self { path, shown: format!("{}.{name}", self.shown) }
    }
}

impl Doc {
    pub(crate) fn fail(&self, key: &Key, message: impl Into<String>) -> ScenarioError {
        self.error(self.origin(&key.path), &key.shown, message)
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

    /// Builds the queue once, so that a bad text is found here.
    pub(crate) fn qdisc(&self, key: &Key, text: &str) -> Result<Box<dyn Qdisc>, ScenarioError> {
        self.grammar(key, qdiscs::build(text, self.env()))
    }

    pub(crate) fn shaper(
        &self,
        key: &Key,
        text: &str,
        leaf: Box<dyn Qdisc>,
    ) -> Result<Box<dyn Qdisc>, ScenarioError> {
        self.grammar(key, qdiscs::build_shaped(text, leaf, &self.env()))
    }

    fn env(&self) -> Env {
        let rng = Rng::named(0, "scenario.validation");
        Env { traces: self.traces.clone(), ..Env::ethernet(rng) }
    }
}

/// The words of an algorithm's text with single spaces.
pub(crate) fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
