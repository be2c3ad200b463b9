//! `[measure]`: the window of the summary, and windows with names.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use sojourn_core::Time;

use crate::check::{Key, instant, name};
use crate::doc::Doc;
use crate::error::{ScenarioError, unknown};
use crate::file::{File, MeasureTable, WindowTable};
use crate::scenario::Measure;

/// The main window, and those with a name.
pub(crate) fn measure(
    doc: &Doc,
    file: &File,
    end: Time,
) -> Result<(Measure, Vec<(String, Measure)>), ScenarioError> {
    let key = Key::top("measure");
    let MeasureTable { from, to, windows } = &file.measure;
    let main = window(doc, &key, &WindowTable { from: *from, to: *to }, end)?;
    let mut named = Vec::new();
    for (label, table) in windows {
        let key = key.field(label);
        name(doc, &key, label, std::iter::empty())?;
        named.push((label.clone(), window(doc, &key, table, end)?));
    }
    Ok((main, named))
}

fn window(doc: &Doc, key: &Key, table: &WindowTable, end: Time) -> Result<Measure, ScenarioError> {
    let from = table.from.map_or(Time::ZERO, instant);
    let to = table.to.map_or(end, instant);
    let outside = |what: Time| format!("{what} is outside the run, which ends at {end}");
    doc.check(to <= end, &key.field("to"), &outside(to))?;
    doc.check(from < end, &key.field("from"), &outside(from))?;
    let order = format!("the window ends at {to}, which is not after its start {from}");
    doc.check(from < to, &key.field("to"), &order)?;
    Ok(Measure { from, to })
}

impl<'de> Deserialize<'de> for MeasureTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = MeasureTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MeasureTable, A::Error> {
                let mut table = MeasureTable::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "from" => table.from = map.next_value()?,
                        "to" => table.to = map.next_value()?,
                        _ => {
                            let window = map.next_value_seed(Window(&key))?;
                            table.windows.insert(key, window);
                        }
                    }
                }
                Ok(table)
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

/// The table of the window with this name; what is no table was meant as another key.
struct Window<'k>(&'k str);

impl<'de> de::DeserializeSeed<'de> for Window<'_> {
    type Value = WindowTable;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<WindowTable, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Window<'_> {
    type Value = WindowTable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a table with `from` and `to`")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WindowTable, A::Error> {
        WindowTable::deserialize(MapAccessDeserializer::new(map))
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<WindowTable, E> {
        let what = unknown("key", self.0, &["from", "to"]);
        Err(E::custom(format!("{what}, or a window: [measure.{}]", self.0)))
    }
}
