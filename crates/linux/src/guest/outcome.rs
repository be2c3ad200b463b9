//! How work inside ends: well, or with one line that says what failed.

use std::fmt::Display;

pub(super) type Outcome = Result<(), String>;

/// Puts what failed before why.
pub(super) fn failed<E: Display>(what: &'static str) -> impl Fn(E) -> String {
    move |error| format!("{what}: {error}")
}
