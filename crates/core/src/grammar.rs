//! tc's argument grammar, shared by queues and controllers: `name key value flag ...`.
//!
//! An algorithm declares its parameters once, with [`parameters!`](crate::parameters).

pub mod forms;
mod parameters;

use std::fmt;

pub use parameters::{
    Field, Given, Keyword, Line, Parameter, Parameters, Slot, Visit, Written, read, stated_over,
    table, written,
};

use crate::units::{Bytes, Dur, Rate};

impl Parameter {
    /// What its value words are, in their order; an optional one is written in brackets.
    fn kinds(&self) -> impl Iterator<Item = &'static str> {
        self.value.split_whitespace().map(|word| word.trim_matches(['[', ']']))
    }
}

/// A word that the grammar does not allow. Its text is one line for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrammarError(pub String);

impl fmt::Display for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GrammarError {}

/// The words of one algorithm's argument string, read from left to right.
pub struct Args<'a> {
    algorithm: &'static str,
    table: &'a dyn Fn() -> Vec<Parameter>,
    /// What has not been read yet.
    rest: &'a str,
    key: &'a str,
}

impl<'a> Args<'a> {
    /// Reads `text`, the part after the algorithm's name, by the parameters of `table`.
    pub fn of(
        algorithm: &'static str,
        table: &'a dyn Fn() -> Vec<Parameter>,
        text: &'a str,
    ) -> Self {
        Self { algorithm, table, rest: text, key: "" }
    }

    /// The name before the words.
    pub fn algorithm(&self) -> &'static str {
        self.algorithm
    }

    /// The next keyword, remembered for the messages of the value readers.
    pub fn key(&mut self) -> Option<&'a str> {
        self.key = self.next_word()?;
        Some(self.key)
    }

    fn next_word(&mut self) -> Option<&'a str> {
        let word = self.peek()?;
        self.rest = &self.rest.trim_start()[word.len()..];
        Some(word)
    }

    /// The word after the current one, not consumed: for optional values.
    pub fn peek(&self) -> Option<&'a str> {
        self.rest.split_whitespace().next()
    }

    /// The value word of the current keyword.
    pub fn word(&mut self) -> Result<&'a str, GrammarError> {
        self.next_word().ok_or_else(|| {
            GrammarError(format!("{}: `{}` needs a value", self.algorithm, self.key))
        })
    }

    /// The text between the braces that follow the current keyword, `{ ... }`; braces within it
    /// come in pairs.
    pub fn group(&mut self) -> Result<&'a str, GrammarError> {
        let Some(inside) = self.rest.trim_start().strip_prefix('{') else {
            return Err(self.invalid(format_args!("`{}` needs a text in `{{ }}`", self.key)));
        };
        let mut depth = 1_usize;
        for (at, brace) in inside.match_indices(['{', '}']) {
            depth = if brace == "{" { depth + 1 } else { depth - 1 };
            if depth == 0 {
                self.rest = &inside[at + 1..];
                return Ok(inside[..at].trim());
            }
        }
        Err(self.invalid(format_args!("the `{{` after `{}` is never closed", self.key)))
    }

    /// All that has not been read yet.
    pub fn remainder(&mut self) -> &'a str {
        std::mem::take(&mut self.rest).trim()
    }

    /// A time such as `5ms`; a bare number is microseconds, as in tc.
    pub fn time(&mut self) -> Result<Dur, GrammarError> {
        self.value("a time such as `5ms` or `500us`", Dur::parse_tc)
    }

    /// A time whose bare number is nanoseconds, as tc's netem reads it.
    pub fn time64(&mut self) -> Result<Dur, GrammarError> {
        self.value("a time such as `5ms` or `500us`", Dur::parse_tc64)
    }

    /// A rate such as `50Mbit`; `mbps` is megabytes per second, as in tc.
    pub fn rate(&mut self) -> Result<Rate, GrammarError> {
        self.value("a rate such as `50Mbit`", Rate::parse_tc)
    }

    /// A size such as `1600b` or `32Mb` (powers of 1024, as in tc).
    pub fn size(&mut self) -> Result<Bytes, GrammarError> {
        self.value("a size such as `1600b` or `32Mb`", Bytes::parse_tc)
    }

    /// An integer within `range`; a trailing `p` (packets) is accepted, as tc prints it.
    pub fn number(&mut self, range: std::ops::RangeInclusive<u64>) -> Result<u64, GrammarError> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        self.value(&expected, |w| {
            w.strip_suffix('p').unwrap_or(w).parse().ok().filter(|n| range.contains(n))
        })
    }

    /// A decimal number within `range`.
    pub fn decimal(&mut self, range: std::ops::RangeInclusive<f64>) -> Result<f64, GrammarError> {
        let expected = format!("a number from {} to {}", range.start(), range.end());
        self.value(&expected, |w| w.parse().ok().filter(|n| range.contains(n)))
    }

    /// A share such as `10%`, returned as a fraction from 0 to 1.
    pub fn percent(&mut self) -> Result<f64, GrammarError> {
        self.value("a percentage such as `10%`", |w| {
            let percent: f64 = w.strip_suffix('%')?.parse().ok()?;
            (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
        })
    }

    /// One of `allowed`; gives its index.
    pub fn choice(&mut self, allowed: &[&str]) -> Result<usize, GrammarError> {
        let expected = format!("one of {}", allowed.join(", "));
        self.value(&expected, |w| allowed.iter().position(|a| *a == w))
    }

    /// A value read by `parse`; `expected` completes the sentence "expected ...".
    pub fn value<T>(
        &mut self,
        expected: &str,
        parse: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<T, GrammarError> {
        let word = self.word()?;
        parse(word).ok_or_else(|| {
            GrammarError(format!("{}: `{} {word}`: expected {expected}", self.algorithm, self.key))
        })
    }

    /// The error for the current keyword: lists the valid ones and the nearest.
    pub fn unknown(&self) -> GrammarError {
        let names: Vec<&str> = (self.table)().iter().map(|p| p.name).collect();
        let words: Vec<&str> = names.iter().flat_map(|name| name.split('|')).collect();
        let mut text = format!("{}: unknown parameter `{}`", self.algorithm, self.key);
        if let Some(near) = nearest(self.key, words.iter().copied()) {
            text += &format!(" (did you mean `{near}`?)");
        }
        text += &if words.is_empty() {
            "; it takes none".into()
        } else {
            format!("; valid: {}", words.join(", "))
        };
        GrammarError(text)
    }

    /// An error about the combination of values, in the algorithm's name.
    pub fn invalid(&self, why: impl fmt::Display) -> GrammarError {
        GrammarError(format!("{}: {why}", self.algorithm))
    }
}

/// A number without a unit in the place of a time or a rate, which is read in tc's own unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bare {
    /// The words, such as `target 5`.
    pub words: String,
    /// How they are read, such as `5us`.
    pub reading: String,
    /// What was probably meant, such as `5ms`.
    pub likely: String,
}

/// Times and rates without a unit in the parameters of an algorithm. `name` begins another one among the
/// words, as the queue behind a size table or in a class: it gives its table.
pub fn bare_numbers(text: &str, table: &dyn Fn(&str) -> Option<Vec<Parameter>>) -> Vec<Bare> {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || "{}".contains(c)).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let (mut algorithm, mut params) = ("", Vec::new());
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let param =
            params.iter().find(|p: &&Parameter| p.name.split('|').any(|name| name == *word));
        let Some(param) = param else {
            if let Some(other) = table(word) {
                (algorithm, params) = (*word, other);
            }
            continue;
        };
        let values =
            words[at + 1..].iter().take_while(|w| w.starts_with(|c: char| c.is_ascii_digit()));
        for (value, kind) in values.zip(param.kinds()) {
            let is_bare = value.parse::<f64>().is_ok_and(|number| number > 0.0);
            if let Some((reading, unit)) =
                reading(algorithm, param.name, kind, value).filter(|_| is_bare)
            {
                let (words, likely) = (format!("{word} {value}"), format!("{value}{unit}"));
                found.push(Bare { words, reading, likely });
            }
        }
    }
    found
}

/// How a number without a unit is read, and the unit that was probably meant. tc keeps times of netem
/// and the slack of fq in 64 bits of nanoseconds, all others in microseconds.
fn reading(algorithm: &str, key: &str, kind: &str, number: &str) -> Option<(String, &'static str)> {
    match kind {
        "TIME" | "TIME|PACKETS" | "JITTER" | "MIN" | "MAX" => {
            let in_ns = algorithm == "netem" || (algorithm, key) == ("fq", "timer_slack");
            let time = if in_ns { Dur::parse_tc64(number) } else { Dur::parse_tc(number) };
            Some((time?.to_string(), "ms"))
        }
        "RATE" => Some((Rate::parse_tc(number)?.to_string(), "Mbit")),
        _ => None,
    }
}

/// The candidate closest to `word` by edit distance, if it is close enough to be a slip.
pub fn nearest<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    candidates
        .map(|c| (edit_distance(word, c), c))
        .filter(|(d, c)| *d <= 1 + c.len() / 4)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let cost = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Splits `"fq_codel flows 1"` into the algorithm's name and the rest.
pub fn split_name(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once(char::is_whitespace).unwrap_or((text, ""))
}

/// The parameters as one text.
pub fn text(parts: &[Written]) -> String {
    parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// The usage text of an algorithm in tc's style, with defaults.
pub fn usage(name: &str, params: &[Parameter]) -> String {
    let mut text = format!("... {name}");
    for p in params {
        text += &if p.value.is_empty() {
            format!(" [ {} ]", p.name)
        } else {
            format!(" [ {} {} ]", p.name, p.value)
        };
    }
    for p in params {
        let head = format!("{} {}", p.name, p.value);
        text += &format!("\n  {head:<34} {} (default {})", p.doc, p.default);
    }
    text
}

#[cfg(test)]
mod tests;
