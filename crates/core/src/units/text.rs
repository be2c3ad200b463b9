//! Quantities as files hold them: text in tc's grammar, where a number without its unit is an error.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};

use super::{Bytes, Dur, Rate};

/// A quantity that is written as a number and a unit.
pub trait Quantity: Copy + fmt::Display {
    /// What completes "expected ...".
    const EXPECTED: &'static str;
    /// The unit that a number without one most likely meant.
    const LIKELY: &'static str;

    /// Reads `text`, which needs a unit; the error completes a message.
    fn read(text: &str) -> Result<Self, String>;

    /// The message about a number without a unit, which the file writes as `shown`.
    fn bare(number: impl fmt::Display, shown: &str) -> String {
        let (expected, likely) = (Self::EXPECTED, Self::LIKELY);
        format!("expected {expected}, got {shown} without a unit (write \"{number}{likely}\")")
    }
}

struct QuantityVisitor<Q>(PhantomData<Q>);

impl<Q: Quantity> Visitor<'_> for QuantityVisitor<Q> {
    type Value = Q;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Q::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Q, E> {
        Q::read(text).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Q, E> {
        Err(E::custom(Q::bare(number, &number.to_string())))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Q, E> {
        Err(E::custom(Q::bare(number, &number.to_string())))
    }
}

macro_rules! quantities {
    ($($type:ident $name:literal $expected:literal $likely:literal $pattern:literal)*) => {$(
        impl Quantity for $type {
            const EXPECTED: &'static str = $expected;
            const LIKELY: &'static str = $likely;

            fn read(text: &str) -> Result<Self, String> {
                if text.parse::<f64>().is_ok() {
                    return Err(Self::bare(text, &format!("{text:?}")));
                }
                Self::parse_tc(text).ok_or_else(|| format!("expected {}, got {text:?}", $expected))
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(QuantityVisitor(PhantomData))
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern, "description": $expected })
            }
        }
    )*};
}

quantities! {
    Dur "Time" "a time such as \"20ms\"" "ms" "^[0-9.]+([mun]?s(ecs?)?|secs?)$"
    Rate "Rate" "a rate such as \"50Mbit\"" "Mbit" "^[0-9.]+([KkMmGgTt]i?)?(bit|bps)$"
    Bytes "Size" "a size such as \"1600b\" or \"32Mb\"" "b" "^[0-9.]+([KkMmGg](b|bit)?|b)$"
}

/// A rate, or `none`: infinitely fast, or without a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateOrNone(pub Option<Rate>);

impl<'de> Deserialize<'de> for RateOrNone {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OrNone;
        impl Visitor<'_> for OrNone {
            type Value = RateOrNone;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} or \"none\"", Rate::EXPECTED)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                if text == "none" {
                    return Ok(RateOrNone(None));
                }
                Rate::read(text).map(|rate| RateOrNone(Some(rate))).map_err(E::custom)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                Err(E::custom(Rate::bare(number, &number.to_string())))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
                Err(E::custom(Rate::bare(number, &number.to_string())))
            }
        }
        deserializer.deserialize_any(OrNone)
    }
}

impl Serialize for RateOrNone {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(rate) => serializer.collect_str(&rate),
            None => serializer.serialize_str("none"),
        }
    }
}

impl JsonSchema for RateOrNone {
    fn schema_name() -> Cow<'static, str> {
        "RateOrNone".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let rate = generator.subschema_for::<Rate>();
        json_schema!({ "anyOf": [rate, { "const": "none" }] })
    }
}
