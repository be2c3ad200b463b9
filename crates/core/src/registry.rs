//! Names and what they mean: the lines of this crate, and those that a program adds before its
//! runs. An added line never hides one of this crate, so that a text means the same everywhere.

use std::sync::{PoisonError, RwLock};

use crate::grammar::{GrammarError, nearest};

/// A line of a registry.
pub trait Line: Copy + Send + Sync + 'static {
    /// The name, as texts write it.
    fn name(&self) -> &'static str;
}

/// All lines of one sort.
pub struct Lines<E: 'static> {
    /// What the lines are, for messages.
    kind: &'static str,
    ours: &'static [E],
    /// Found by the few lookups of names that are not ours; no packet comes here.
    added: RwLock<Vec<&'static E>>,
}

impl<E: Line> Lines<E> {
    /// The lines of a crate; `kind` names one in messages.
    pub const fn new(kind: &'static str, ours: &'static [E]) -> Self {
        Self { kind, ours, added: RwLock::new(Vec::new()) }
    }

    /// Adds a line; refuses a name that is taken or not one word.
    pub fn register(&self, line: E) -> Result<(), GrammarError> {
        self.add(line, false)
    }

    /// As `register`, but replaces an earlier line from outside.
    pub fn redefine(&self, line: E) -> Result<(), GrammarError> {
        self.add(line, true)
    }

    fn add(&self, line: E, replaces: bool) -> Result<(), GrammarError> {
        let (kind, name) = (self.kind, line.name());
        // Texts are split at white space, and nested ones are in braces and quotes.
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_+.-".contains(c);
        if name.is_empty() || !name.chars().all(is_word) {
            let rule = "expected letters, digits and _ + . -";
            return Err(GrammarError(format!("{kind} `{name}`: {rule}")));
        }
        let taken = || GrammarError(format!("{kind} `{name}`: the name is already taken"));
        if self.ours.iter().any(|e| e.name() == name) {
            return Err(taken());
        }
        let mut added = self.added.write().unwrap_or_else(PoisonError::into_inner);
        match added.iter().position(|e| e.name() == name) {
            Some(_) if !replaces => return Err(taken()),
            // A line lives as long as the program: there is one for each definition.
            Some(at) => added[at] = Box::leak(Box::new(line)),
            None => added.push(Box::leak(Box::new(line))),
        }
        Ok(())
    }

    fn added(&self) -> Vec<&'static E> {
        self.added.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The crate's lines and the added ones, sorted by name.
    pub fn all(&self) -> Vec<&'static E> {
        let mut all: Vec<_> = self.ours.iter().chain(self.added()).collect();
        all.sort_by_key(|e| e.name());
        all
    }

    /// The line for `name`, if there is one.
    pub fn find(&self, name: &str) -> Option<&'static E> {
        let ours = self.ours.iter().find(|e| e.name() == name);
        ours.or_else(|| self.added().into_iter().find(|e| e.name() == name))
    }

    /// The line for `name`; the error lists the names and the nearest.
    pub fn entry(&self, name: &str) -> Result<&'static E, GrammarError> {
        self.find(name).ok_or_else(|| {
            let all: Vec<&str> = self.all().iter().map(|e| e.name()).collect();
            let near = nearest(name, all.iter().copied())
                .map_or(String::new(), |n| format!(" (did you mean `{n}`?)"));
            let (kind, valid) = (self.kind, all.join(", "));
            GrammarError(format!("unknown {kind} `{name}`{near}; valid: {valid}"))
        })
    }
}

#[cfg(test)]
mod tests;
