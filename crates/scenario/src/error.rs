//! Errors that speak to the user: one line with place, key, what is allowed, the nearest match.

use std::fmt;

use sojourn_core::grammar::nearest;

/// Where a value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Line of the file, from 1.
    Line(usize),
    /// An override (`-s key=value`).
    Override,
}

/// A scenario that cannot be run. Its text is exactly one line:
/// `FILE:LINE: link.bneck.rate: expected a rate such as "50Mbit", got "fifty"`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// Name of the file as the caller gave it.
    pub file: String,
    /// Where the value was written.
    pub origin: Origin,
    /// Dotted name of the value, empty for a syntax error.
    pub key: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl ScenarioError {
    /// Line of the file, from 1; `None` if the value came from an override.
    pub fn line(&self) -> Option<usize> {
        match self.origin {
            Origin::Line(line) => Some(line),
            Origin::Override => None,
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&place(&self.file, self.origin, &self.key))?;
        f.write_str(&one_line(&self.message))
    }
}

/// The beginning of a message: `FILE:LINE: KEY: `, or `-s KEY: ` for an override.
pub(crate) fn place(file: &str, origin: Origin, key: &str) -> String {
    let key = one_line(key);
    match origin {
        Origin::Line(line) if key.is_empty() => format!("{}:{line}: ", one_line(file)),
        Origin::Line(line) => format!("{}:{line}: {key}: ", one_line(file)),
        Origin::Override => format!("-s {key}: "),
    }
}

/// `unknown WHAT "WORD" (did you mean "NEAR"?); valid: ...`
pub(crate) fn unknown(what: &str, word: &str, valid: &[&str]) -> String {
    let mut text = format!("unknown {what} {word:?}");
    if let Some(near) = nearest(word, valid.iter().copied()) {
        text += &format!(" (did you mean {near:?}?)");
    }
    text += &if valid.is_empty() {
        "; there is none".to_owned()
    } else {
        format!("; valid: {}", valid.join(", "))
    };
    text
}

/// Escapes what would break the line or the terminal.
pub(crate) fn one_line(text: &str) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    if !text.contains(breaks) {
        return text.to_owned();
    }
    text.chars().fold(String::new(), |mut out, c| {
        if breaks(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
        out
    })
}
