//! Changes one value of a scenario file and leaves its comments and its layout as they are.

use std::path::Path;

use toml_edit::{DocumentMut, InlineTable, Item, TableLike, Value};

use crate::doc::{ALGORITHMS, Doc, LISTS, is_parameter, parts, too_deep, with_parameter};
use crate::error::{Origin, ScenarioError, unknown};
use crate::load::load_within;

/// The text with another value at a dotted name, which addresses what an override of this name does; without a
/// value the entry is taken out. The new text means what the override would, and can be as wrong: [`load`](crate::load)
/// finds that, with its line.
///
/// # Errors
/// The text is not TOML, or has no place of this name.
pub fn edit(
    text: &str,
    file_name: &str,
    dotted: &str,
    value: Option<&str>,
) -> Result<String, ScenarioError> {
    edit_within(None, text, file_name, dotted, value)
}

/// The same for a text that is not trusted, as [`load_within`].
///
/// # Errors
/// As of [`edit`].
pub fn edit_within(
    within: Option<&Path>,
    text: &str,
    file_name: &str,
    dotted: &str,
    value: Option<&str>,
) -> Result<String, ScenarioError> {
    let fail = |message: String| ScenarioError {
        file: file_name.to_owned(),
        origin: Origin::Override,
        key: dotted.to_owned(),
        message,
    };
    // Refuses what would overflow the stack, and what is not TOML with its line.
    Doc::parse(text, file_name)?;
    if too_deep(dotted).is_some() || parts(dotted).contains(&"") {
        return Err(fail("expected a dotted name, such as link.bneck.rate".to_owned()));
    }
    let document: Result<DocumentMut, _> = text.parse();
    let document = document.map_err(|error| fail(error.message().to_owned()))?;
    let with = |value: Option<Value>| {
        let mut document = document.clone();
        let done = change(document.as_table_mut(), &parts(dotted), value);
        done.map(|()| document.to_string()).map_err(fail)
    };
    let Some(value) = value else { return with(None) };
    // A number, flag or array is written as one if it means that there.
    let literal = if is_parameter(dotted) || too_deep(value).is_some() {
        None
    } else {
        value.parse::<Value>().ok()
    };
    if let Some(literal) = literal {
        let written = with(Some(literal))?;
        let overridden =
            load_within(within, text, file_name, &[(dotted.to_owned(), value.to_owned())]);
        if let (Ok(read), Ok(wanted)) = (load_within(within, &written, file_name, &[]), overridden)
            && read.scenario == wanted.scenario
        {
            return Ok(written);
        }
    }
    with(Some(value.into()))
}

/// What a part of a dotted name leads to.
enum Place<'d> {
    Table(&'d mut dyn TableLike),
    /// Tables with names, of whichever form.
    List(Vec<(Option<String>, Place<'d>)>),
    Value(&'d mut Value),
}

impl<'d> From<&'d mut Value> for Place<'d> {
    fn from(value: &'d mut Value) -> Self {
        match value {
            Value::Array(array) => Self::List(
                array
                    .iter_mut()
                    .map(|own| {
                        let name =
                            own.as_inline_table().and_then(|table| table.get("name")?.as_str());
                        (name.map(str::to_owned), own.into())
                    })
                    .collect(),
            ),
            Value::InlineTable(table) => Self::Table(table),
            other => Self::Value(other),
        }
    }
}

impl<'d> From<&'d mut Item> for Place<'d> {
    fn from(item: &'d mut Item) -> Self {
        if item.is_none() {
            *item = InlineTable::new().into();
        }
        match item {
            Item::Value(value) => value.into(),
            Item::ArrayOfTables(tables) => Self::List(
                tables
                    .iter_mut()
                    .map(|table| {
                        let name = table.get("name").and_then(Item::as_str).map(str::to_owned);
                        (name, Self::Table(table))
                    })
                    .collect(),
            ),
            Item::Table(table) => Self::Table(table),
            Item::None => unreachable!("a table has taken its place"),
        }
    }
}

/// Sets the entry or takes it out; the error says what is wrong with its name.
fn change(root: &mut dyn TableLike, parts: &[&str], value: Option<Value>) -> Result<(), String> {
    let (last, way) = parts.split_last().expect("a text has a first part");
    let mut place = Place::Table(root);
    for part in way {
        place = match place {
            Place::Table(table) => {
                let is_missing = table.get(part).is_none();
                if is_missing && LISTS.contains(part) {
                    return Err(format!("the file has no [[{part}]]"));
                }
                if is_missing && value.is_none() {
                    return Ok(());
                }
                table.entry(part).or_insert(Item::None).into()
            }
            Place::List(list) => element(list, part)?,
            Place::Value(_) => return Err(format!("has no part {part:?}")),
        };
    }
    match place {
        Place::Table(table) => {
            match (table.get_mut(last), value) {
                (Some(Item::Value(old)), Some(new)) => replace(old, new),
                (Some(Item::ArrayOfTables(_)), Some(_)) => {
                    return Err("expected the name of a value".to_owned());
                }
                (_, Some(new)) => drop(table.insert(last, Item::Value(new))),
                (_, None) => drop(table.remove(last)),
            }
            Ok(())
        }
        Place::List(list) => match (element(list, last)?, value) {
            (Place::Value(old), Some(new)) => {
                replace(old, new);
                Ok(())
            }
            _ => Err("expected the name of a value".to_owned()),
        },
        Place::Value(text) => {
            let is_algorithm = way.last().is_some_and(|holder| ALGORITHMS.contains(holder));
            let old = text.as_str().filter(|_| is_algorithm);
            let old = old.ok_or_else(|| format!("has no part {last:?}"))?;
            let new = value.as_ref().map(|value| value.as_str().unwrap_or_default());
            let new = with_parameter(old, last, new);
            replace(text, new.into());
            Ok(())
        }
    }
}

/// The element with this name, or this number.
fn element<'d>(
    mut list: Vec<(Option<String>, Place<'d>)>,
    part: &str,
) -> Result<Place<'d>, String> {
    let by_number = || part.parse().ok().filter(|number| *number < list.len());
    let found = list.iter().position(|(name, _)| name.as_deref() == Some(part)).or_else(by_number);
    let names = || list.iter().filter_map(|(name, _)| name.as_deref()).collect::<Vec<_>>();
    let number = found.ok_or_else(|| unknown("name", part, &names()))?;
    Ok(list.swap_remove(number).1)
}

/// Another value with the old one's comments.
fn replace(old: &mut Value, mut new: Value) {
    *new.decor_mut() = old.decor().clone();
    *old = new;
}

#[cfg(test)]
mod tests;
