//! The command line: options after one dash (two are accepted as well), matched exactly, each with a
//! fixed number of values, and positional arguments before, between or behind them.

use sojourn_core::grammar::nearest;

/// One option of a program whose choices are an `O`.
pub(super) struct Opt<O: 'static> {
    usage: &'static str,
    help: &'static str,
    set: Set<O>,
}

/// Takes the values; the error says what was expected.
type Set<O> = fn(&mut O, &Values<'_>) -> Result<(), String>;

/// An option, `usage` as in `time|duration s`: its names without the dash, of which the help has
/// the first, and what each value is called.
pub(super) const fn opt<O>(usage: &'static str, help: &'static str, set: Set<O>) -> Opt<O> {
    Opt { usage, help, set }
}

impl<O> Opt<O> {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        let (names, _) = self.usage.split_once(' ').unwrap_or((self.usage, ""));
        names.split('|')
    }

    /// The first of its names.
    pub(super) fn name(&self) -> &'static str {
        self.names().next().unwrap_or_default()
    }

    fn values(&self) -> Vec<&'static str> {
        self.usage.split(' ').skip(1).collect()
    }
}

/// Options under a heading of the help.
pub(super) type Group<O> = (&'static str, &'static [Opt<O>]);

/// The values of one option, read strictly.
pub(super) struct Values<'a>(&'a [String]);

impl<'a> Values<'a> {
    pub(super) fn text(&self, at: usize) -> &'a str {
        &self.0[at]
    }

    /// A finite number between the limits, which are included.
    pub(super) fn number(&self, at: usize, least: f64, greatest: f64) -> Result<f64, String> {
        let text = self.text(at);
        let number = text.parse().ok().filter(|n: &f64| n.is_finite());
        number.filter(|n| (least..=greatest).contains(n)).ok_or_else(|| {
            let range = match (least, greatest) {
                (f64::MIN, f64::MAX) => String::new(),
                (_, f64::MAX) => format!(" of at least {least}"),
                _ => format!(" between {least} and {greatest}"),
            };
            format!("expected a number{range}, got `{text}`")
        })
    }

    /// A whole number between the limits, which are included.
    pub(super) fn whole<N: TryFrom<u64>>(
        &self,
        at: usize,
        least: u64,
        greatest: u64,
    ) -> Result<N, String> {
        whole(self.text(at), least, greatest)
    }

    /// Seconds, or none below 0, which is without end.
    pub(super) fn duration(&self, at: usize) -> Result<Option<f64>, String> {
        self.number(at, f64::MIN, 1e9).map(|s| (s >= 0.0).then_some(s))
    }

    /// Which of `choices` it is, by index.
    pub(super) fn choice(&self, at: usize, choices: &[&str]) -> Result<usize, String> {
        let text = self.text(at);
        choices
            .iter()
            .position(|w| *w == text)
            .ok_or_else(|| format!("expected {}, got `{text}`", choices.join(", ")))
    }
}

/// A whole number between the limits, which are included.
pub(super) fn whole<N: TryFrom<u64>>(text: &str, least: u64, greatest: u64) -> Result<N, String> {
    let number = text.parse().ok().filter(|n| (least..=greatest).contains(n));
    number.and_then(|n| N::try_from(n).ok()).ok_or_else(|| {
        format!("expected a whole number between {least} and {greatest}, got `{text}`")
    })
}

/// An option without a value was given.
#[expect(clippy::unnecessary_wraps, reason = "an option's answer")]
pub(super) fn flag(slot: &mut bool) -> Result<(), String> {
    *slot = true;
    Ok(())
}

/// What a command line holds: each option with its values, in order, and the other arguments.
pub(super) struct Parsed<O: 'static> {
    pub(super) options: Vec<(&'static Opt<O>, Vec<String>)>,
    pub(super) others: Vec<String>,
}

impl<O> Parsed<O> {
    /// Splits `args`, which do not hold the program's name.
    pub(super) fn new(args: &[String], groups: &'static [Group<O>]) -> Result<Self, String> {
        let mut parsed = Self { options: Vec::new(), others: Vec::new() };
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let Some(word) = option_word(arg) else {
                parsed.others.push(arg.clone());
                continue;
            };
            let (name, inline) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word, None),
            };
            let opt = find(name, groups)?;
            let wanted = opt.values().len();
            if inline.is_some() && wanted != 1 {
                return Err(format!("-{name}: takes {}, not =", count(wanted)));
            }
            // A value may begin with a dash: -ect -1.
            let values: Vec<String> =
                inline.into_iter().chain(rest.by_ref().cloned()).take(wanted).collect();
            if values.len() < wanted {
                return Err(format!("-{name}: expected {}", opt.values().join(" and ")));
            }
            parsed.options.push((opt, values));
        }
        Ok(parsed)
    }

    /// The values of the last option called `name`.
    pub(super) fn last(&self, name: &str) -> Option<&[String]> {
        let mut all = self.options.iter().rev();
        all.find(|(opt, _)| opt.names().any(|n| n == name)).map(|(_, values)| values.as_slice())
    }

    /// Carries out all options, in order.
    pub(super) fn apply(&self, chosen: &mut O) -> Result<(), String> {
        for (opt, values) in &self.options {
            (opt.set)(chosen, &Values(values)).map_err(|e| format!("-{}: {e}", opt.name()))?;
        }
        Ok(())
    }
}

/// A dash, or what documents make of it: the slides of 2020 have `–verbose`.
const DASHES: [char; 3] = ['-', '\u{2013}', '\u{2014}'];

/// The name in an argument that is an option: not a lone dash, not a negative number.
fn option_word(arg: &str) -> Option<&str> {
    let word = arg.strip_prefix(DASHES)?;
    let word = word.strip_prefix('-').unwrap_or(word);
    word.starts_with(|c: char| c.is_ascii_alphabetic()).then_some(word)
}

fn find<O>(name: &str, groups: &'static [Group<O>]) -> Result<&'static Opt<O>, String> {
    let all = || groups.iter().flat_map(|(_, options)| *options);
    all().find(|o| o.names().any(|n| n == name)).ok_or_else(|| {
        let names = || all().flat_map(Opt::names);
        let near = nearest(name, names()).or_else(|| {
            // -nopacing is in the original's documents.
            names().max_by_key(|n| common(name, n)).filter(|n| common(name, n) >= 5)
        });
        let hint = near.map_or(String::new(), |n| format!(" (did you mean -{n}?)"));
        format!("unknown option -{name}{hint}; -help lists all")
    })
}

/// Bytes that both begin with.
fn common(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

fn count(values: usize) -> String {
    match values {
        0 => "no value".into(),
        n => format!("{n} values"),
    }
}

/// The list of options in a help text.
pub(super) fn help<O>(groups: &[Group<O>]) -> String {
    let mut text = String::new();
    for (heading, options) in groups {
        text.push_str(&format!("\n{heading}\n"));
        for opt in *options {
            let head = format!("  -{} {}", opt.name(), opt.values().join(" "));
            let head = head.trim_end();
            // A head that fills its column is on a line of its own.
            let gap = if head.len() < 30 { String::new() } else { format!("\n{:30}", "") };
            let help = opt.help.replace('\n', &format!("\n{:31}", ""));
            text.push_str(&format!("{head:30}{gap} {help}\n"));
        }
    }
    text
}

/// The arguments in a line.
#[cfg(test)]
pub(super) fn split(line: &str) -> Vec<String> {
    line.split_whitespace().map(String::from).collect()
}

#[cfg(test)]
mod tests;
