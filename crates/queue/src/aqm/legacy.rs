#![allow(missing_docs)]
//! Disciplines whose parameters are not declared yet.

use sojourn_core::Rng;
use sojourn_core::grammar::{Args, Given, GrammarError, Param, Parameter, Written};
use sojourn_core::spec::Held;
use sojourn_core::units::Rate;

use super::{Discipline, Env, OldEntry, Qdisc};
use crate::qdiscs;

/// A line of the registry for an old one.
#[macro_export]
macro_rules! legacy {
    ($entry:expr) => {
        $crate::aqm::Entry {
            name: $entry.name,
            summary: $entry.summary,
            reference: $entry.reference,
            kernel: $entry.kernel,
            table: |_| $crate::aqm::legacy::table($entry.params),
            parse: |args| $crate::aqm::legacy::Legacy::parse(&$entry, args),
        }
    };
}

#[derive(Clone, Debug)]
pub struct Legacy {
    pub entry: &'static OldEntry,
    pub words: String,
}

pub fn table(params: &[Param]) -> Vec<Parameter> {
    params.iter().map(Parameter::from).collect()
}

impl Legacy {
    pub fn parse(
        entry: &'static OldEntry,
        args: &mut Args<'_>,
    ) -> Result<Box<dyn Held<dyn Discipline>>, GrammarError> {
        let words = args.remainder().split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Box::new(Self { entry, words }))
    }

    pub fn try_build(&self, env: Env) -> Result<Box<dyn Qdisc>, GrammarError> {
        (self.entry.build)(
            &mut self.entry.args(&self.words),
            Env { registry: qdiscs::BY_NAME, ..env },
        )
    }

    fn text(&self) -> String {
        format!("{} {}", self.entry.name, self.words)
    }
}

impl Discipline for Legacy {
    fn check(&mut self, env: &Env) -> Result<(), String> {
        self.try_build(env.clone()).map(drop).map_err(|e| e.0)
    }

    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        self.try_build(env).expect("checked")
    }

    fn is_shaper(&self) -> bool {
        qdiscs::OLD_SHAPERS.contains(&self.entry.name)
    }

    fn around(&self, env: Env, leaf: Box<dyn Qdisc>) -> Box<dyn Qdisc> {
        qdiscs::old_shaped(&self.text(), leaf, &env).expect("checked")
    }

    fn set_rate(&mut self, rate: Rate) -> Result<(), String> {
        let words: Vec<&str> = self.words.split_whitespace().collect();
        if words.contains(&"class") {
            let name = self.entry.name;
            return Err(format!(
                "{name}: a tree has no single rate; change the queue's classes, such as \
                 `{name} class 1:1 rate {rate}`"
            ));
        }
        if !words.contains(&"rate") {
            return Err("there is no rate to change".to_owned());
        }
        let mut is_rate = false;
        let mut changed = Vec::new();
        for word in words {
            changed.push(if is_rate { rate.to_string() } else { word.to_owned() });
            is_rate = matches!(word, "rate" | "ceil");
        }
        self.words = changed.join(" ");
        Ok(())
    }

    fn capacity(&self) -> Option<Rate> {
        let env = Env::ethernet(Rng::named(0, "rate"));
        self.try_build(env).ok()?.capacity()
    }

    fn idle(&self) -> Option<&'static str> {
        let has = |word: &str| self.words.split(' ').any(|w| w == word);
        (self.entry.name == "fq_pie" && has("ecn_prob") && !has("ecn"))
            .then_some("`ecn_prob` bounds marks, and `ecn` is not set")
    }

    fn delays(&self) -> bool {
        self.words.contains("delay")
    }
}

impl Held<dyn Discipline> for Legacy {
    fn get(&self) -> &(dyn Discipline + 'static) {
        self
    }

    fn get_mut(&mut self) -> &mut (dyn Discipline + 'static) {
        self
    }

    fn copy(&self) -> Box<dyn Held<dyn Discipline>> {
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
