//! Which build of the original is followed: algorithm, defaults, columns.

use sojourn_cc::scream::Version;

/// A build of the original tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// 2020-03-20: SCReAM version 1, 13 columns.
    V2020,
    /// 2024-10-28: SCReAM version 2, 20 columns, a blank before the last.
    V2024,
    /// 2024-10-31: emulates CUBIC with L4S, too; a microburst is 0.5 ms.
    V2024b,
    /// 2026-06-30, with its defects fixed; a comma before the last column.
    #[default]
    V2026,
}

impl Generation {
    /// What `-generation` and `-logformat` take, in the order of [`Self::ALL`].
    pub const NAMES: [&'static str; 4] = ["2020-03-20", "2024-10-28", "2024-10-31", "2026-06-30"];
    /// All, from the oldest.
    pub const ALL: [Self; 4] = [Self::V2020, Self::V2024, Self::V2024b, Self::V2026];

    /// The name with its day.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Reads a name; the year alone means its first build.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let found = Self::NAMES.iter().position(|n| *n == text || n[..4] == *text);
        found.map(|at| Self::ALL[at]).ok_or_else(|| {
            format!("expected {} (the year is enough), got `{text}`", Self::NAMES.join(", "))
        })
    }

    /// The algorithm.
    pub fn version(self) -> Version {
        match self {
            Self::V2020 => Version::V2020,
            Self::V2024 => Version::V2024,
            Self::V2024b => Version::V2024b,
            Self::V2026 => Version::V2026,
        }
    }
}

#[cfg(test)]
mod tests;
