//! How settings of a kernel mean parameters.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, IgnoredAny};

/// What the number of a setting says.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// The value.
    Number,
    /// A size in bytes.
    Bytes,
    /// A time in nanoseconds.
    Nanoseconds,
    /// 0 is false, and these are true; others have no form.
    Flag(&'static [i128]),
    /// The value's text, by number.
    Choice(&'static [&'static str]),
    /// The buffer in this place of three: least, first and largest.
    Buffer(usize),
    /// `tcp_adv_win_scale`: the share of a buffer that is window.
    WindowShare,
    /// `tcp_ecn`, to which `tcp_sce` belongs.
    Ecn,
}

/// Settings under the kernel's names, which the scenario turns into keys before anything reads them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sysctls;

impl<'de> Deserialize<'de> for Sysctls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl JsonSchema for Sysctls {
    fn schema_name() -> Cow<'static, str> {
        "Sysctls".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Settings under the kernel's names, with or without net.ipv4 before them",
            "type": "object",
            "additionalProperties": { "type": ["integer", "string", "boolean", "array", "object"] },
        })
    }
}
