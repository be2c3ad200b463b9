#![allow(missing_docs)]
//! Controllers whose parameters are not declared yet.

use std::fmt;

use sojourn_core::grammar::{Args, Given, GrammarError, Param, Parameter, Written};
use sojourn_core::spec::Held;

use super::{Algorithm, Controller, Needs, scream};

pub struct OldEntry {
    pub name: &'static str,
    pub summary: &'static str,
    pub reference: &'static str,
    pub params: &'static [Param],
    pub build: fn(&mut Args<'_>) -> Result<Box<dyn Controller>, GrammarError>,
}

impl fmt::Debug for OldEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OldEntry").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A line of the registry for an old one.
macro_rules! legacy {
    ($entry:expr, $kernel:expr) => {
        $crate::Entry {
            name: $entry.name,
            summary: $entry.summary,
            reference: $entry.reference,
            kernel: $kernel,
            table: |_| $crate::legacy::table($entry.params),
            parse: |args| $crate::legacy::Legacy::parse(&$entry, args),
        }
    };
}
pub(crate) use legacy;

#[derive(Clone, Debug)]
pub struct Legacy {
    entry: &'static OldEntry,
    words: String,
    needs: Needs,
    scream: Option<scream::Setup>,
}

pub fn table(params: &[Param]) -> Vec<Parameter> {
    params.iter().map(Parameter::from).collect()
}

impl Legacy {
    pub fn parse(
        entry: &'static OldEntry,
        args: &mut Args<'_>,
    ) -> Result<Box<dyn Held<dyn Algorithm>>, GrammarError> {
        let words = args.remainder().split_whitespace().collect::<Vec<_>>().join(" ");
        let controller = make(entry, &words)?;
        let (needs, scream) = (controller.needs(), controller.scream().cloned());
        Ok(Box::new(Self { entry, words, needs, scream }))
    }
}

fn make(entry: &OldEntry, words: &str) -> Result<Box<dyn Controller>, GrammarError> {
    (entry.build)(&mut Args::new(entry.name, entry.params, words))
}

impl Algorithm for Legacy {
    fn build(&self) -> Box<dyn Controller> {
        make(self.entry, &self.words).expect("it has been built before")
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn scream(&self) -> Option<&scream::Setup> {
        self.scream.as_ref()
    }

    fn follows_hystart(&self) -> bool {
        self.entry.name.starts_with("cubic")
    }
}

impl Held<dyn Algorithm> for Legacy {
    fn get(&self) -> &(dyn Algorithm + 'static) {
        self
    }

    fn get_mut(&mut self) -> &mut (dyn Algorithm + 'static) {
        self
    }

    fn copy(&self) -> Box<dyn Held<dyn Algorithm>> {
        Box::new(self.clone())
    }

    fn written(&self) -> Vec<Written> {
        let text = self.words.clone();
        (!text.is_empty()).then_some(Written { name: "", text, is_tc: true }).into_iter().collect()
    }

    fn read(&mut self, args: &mut Args<'_>) -> Result<Given, GrammarError> {
        args.remainder().clone_into(&mut self.words);
        Ok(Given::default())
    }
}
