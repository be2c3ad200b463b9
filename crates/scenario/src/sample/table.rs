//! The table as the file writes it.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::Method;
use crate::text::AxisValue;

/// Points spread over ranges. Every other key is a dotted name in quotes, with a range or a list of
/// choices.
#[derive(Clone, Debug, JsonSchema)]
pub(crate) struct SampleTable {
    /// "sobol" or "latin-hypercube".
    pub(super) method: Method,
    /// How many points; of "sobol" a power of two.
    pub(super) points: u32,
    /// Seed of the points' positions; default 1.
    pub(super) seed: Option<u64>,
    #[serde(flatten)]
    pub(super) ranges: BTreeMap<String, DomainTable>,
}

/// What a sampled name can be.
#[derive(Clone, Debug, JsonSchema)]
#[serde(untagged)]
pub(super) enum DomainTable {
    Choices(#[expect(dead_code, reason = "read from the document")] Vec<AxisValue>),
    Range(RangeTable),
}

/// A range, both ends included: numbers, or texts with a unit.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RangeTable {
    /// The least value.
    #[expect(dead_code, reason = "read from the document")]
    from: AxisValue,
    /// The largest value.
    #[expect(dead_code, reason = "read from the document")]
    to: AxisValue,
    /// "linear" (default), or "log": as many points between 1 and 10 as between 10 and 100.
    #[serde(default)]
    pub(super) scale: Scale,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scale {
    #[default]
    Linear,
    Log,
}

impl<'de> Deserialize<'de> for SampleTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = SampleTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SampleTable, A::Error> {
                let (mut method, mut points, mut seed) = (None, None, None);
                let mut ranges = BTreeMap::new();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "method" => method = Some(map.next_value()?),
                        "points" => points = Some(map.next_value()?),
                        "seed" => seed = Some(map.next_value()?),
                        _ => {
                            ranges.insert(key, map.next_value()?);
                        }
                    }
                }
                let missing = |key| A::Error::missing_field(key);
                Ok(SampleTable {
                    method: method.ok_or_else(|| missing("method"))?,
                    points: points.ok_or_else(|| missing("points"))?,
                    seed,
                    ranges,
                })
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

impl<'de> Deserialize<'de> for DomainTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = DomainTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a range { from = ..., to = ... }, or an array of choices")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DomainTable, A::Error> {
                RangeTable::deserialize(MapAccessDeserializer::new(map)).map(DomainTable::Range)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<DomainTable, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(DomainTable::Choices)
            }
        }
        deserializer.deserialize_map(Either)
    }
}
