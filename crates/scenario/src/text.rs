//! Scalars of the file, and warnings about quantities in its texts.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use sojourn_cc as cc;
use sojourn_core::Rate;
use sojourn_core::grammar::{Bare, bare_numbers};
use sojourn_core::spec::Family as _;
use sojourn_queue::aqm;
use sojourn_transport::app;

/// A TOS byte: a number or text such as `0x10`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tos(pub(crate) u8);

impl<'de> Deserialize<'de> for Tos {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TosVisitor;
        impl Visitor<'_> for TosVisitor {
            type Value = Tos;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a TOS byte from 0 to 255 such as \"0x10\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Tos, E> {
                match text.strip_prefix("0x") {
                    Some(hex) if !hex.starts_with('+') => u8::from_str_radix(hex, 16).ok(),
                    _ => text.parse().ok(),
                }
                .map(Tos)
                .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Tos, E> {
                u8::try_from(number)
                    .map(Tos)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
            }
        }
        deserializer.deserialize_any(TosVisitor)
    }
}

impl Serialize for Tos {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#04x}", self.0))
    }
}

impl JsonSchema for Tos {
    fn schema_name() -> Cow<'static, str> {
        "Tos".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A TOS byte: a number from 0 to 255, or text such as \"0x10\"",
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": 255 },
                { "type": "string", "pattern": "^(0x[0-9A-Fa-f]{1,2}|[0-9]{1,3})$" },
            ],
        })
    }
}

/// One value of a sweep axis: anything that a key of the scenario can hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AxisValue;

impl<'de> Deserialize<'de> for AxisValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl JsonSchema for AxisValue {
    fn schema_name() -> Cow<'static, str> {
        "AxisValue".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer", "number", "boolean", "array"] })
    }
}

/// Warnings about units that mean bytes per second to tc: `50mbps` is 400Mbit.
pub(crate) fn byte_rate_warnings(text: &str) -> impl Iterator<Item = String> {
    text.split_whitespace().filter_map(|word| {
        let bits = word.get(..word.len().checked_sub(3)?)?;
        let unit = word.get(bits.len()..)?;
        let rate = unit.eq_ignore_ascii_case("bps").then(|| Rate::parse_tc(word)).flatten()?;
        let meant = Rate::parse_tc(&format!("{bits}bit"))?;
        Some(format!(
            "{word:?} is {rate} (bps means bytes per second in tc); for {meant} write \"{meant}\""
        ))
    })
}

/// Warnings about times and rates without a unit in the parameters of an algorithm, if the value with
/// this dotted name is one.
pub(crate) fn bare_number_warnings(key: &str, text: &str) -> Vec<String> {
    let queues = |name: &str| <dyn aqm::Discipline>::lines().find(name).map(aqm::Entry::table);
    let mut parts = key.rsplit('.');
    let (last, before) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let found = match last {
        "qdisc" | "shaper" => bare_numbers(text, &queues),
        "stab" => bare_numbers(&format!("stab {text}"), &queues),
        "cc" => bare_numbers(text, &|name| {
            <dyn cc::Algorithm>::lines().find(name).map(cc::Entry::table)
        }),
        "app" => bare_numbers(text, &|name| {
            <dyn app::Application>::lines().find(name).map(app::Entry::table)
        }),
        _ if before == "ingress" || last.starts_with("ingress") => bare_numbers(text, &queues),
        _ => vec![],
    };
    let warning = |bare: Bare| {
        let Bare { words, reading, likely } = bare;
        let (key, _) = words.split_once(' ').unwrap_or((&words, ""));
        format!(
            "{words:?} is {reading}, as tc reads a number without a unit (write \"{key} {likely}\" if you mean that)"
        )
    };
    found.into_iter().map(warning).collect()
}
