//! The `[tcp]` tables: values of the first table that has them, and their bounds.

use sojourn_cc::Feedback;
use sojourn_transport::tcp::{Config, Overlay};

use crate::check::Key;
use crate::doc::Doc;
use crate::error::ScenarioError;

/// The first of `tables` that holds a key gives its value, the era's default goes last; without one ECN is
/// what the controller needs.
pub(crate) fn tcp(
    doc: &Doc,
    key: &Key,
    tables: &[&Overlay],
    needed: Option<Feedback>,
) -> Result<Config, ScenarioError> {
    let none = Overlay { ecn: needed, ..Overlay::default() };
    let set = tables.iter().rev().fold(none, |below, table| table.over(&below));
    let config = Config::from(&set);
    config.check().map_err(|(field, expected)| doc.fail(&key.field(field), expected))?;
    Ok(config)
}
