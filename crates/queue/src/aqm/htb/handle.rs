//! How tc names a class.

use std::fmt;

use sojourn_core::grammar::{Args, GrammarError};

/// tc's handle of a class, two hexadecimal numbers; a minor number of 0 is the discipline itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClassId {
    pub(super) major: u16,
    pub(super) minor: u16,
}

impl ClassId {
    pub(super) fn read(args: &mut Args<'_>) -> Result<Self, GrammarError> {
        args.value("a class such as `1:10`", |w| {
            let (major, minor) = w.split_once(':')?;
            let minor = if minor.is_empty() { "0" } else { minor };
            Some(Self { major: hexadecimal(major)?, minor: hexadecimal(minor)? })
        })
    }
}

impl fmt::Display for ClassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}:{:x}", self.major, self.minor)
    }
}

/// A number that tc reads in base 16, with or without `0x`.
pub(super) fn hexadecimal(word: &str) -> Option<u16> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let valid = digits.starts_with(|c: char| c.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| valid)
}
