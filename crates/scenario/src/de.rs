//! serde over the document tree: every error gets the dotted key and the line of the value that
//! caused it.

use std::fmt::Display;

use serde::de::value::{StrDeserializer, StringDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected,
    IntoDeserializer, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};

use crate::doc::{Doc, Node, Value, parse_value};
use crate::error::{Origin, ScenarioError, unknown};
use crate::sysctl;

/// Reads the document into the types of the file.
pub(crate) fn read<T: DeserializeOwned>(doc: &Doc) -> Result<T, ScenarioError> {
    T::deserialize(&doc.root).map_err(|mut e| {
        e.path.reverse();
        doc.error(e.origin.unwrap_or(doc.root.origin), &e.path.join("."), e.message)
    })
}

#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Error {
    message: String,
    /// Segments from the innermost outwards.
    path: Vec<String>,
    origin: Option<Origin>,
}

impl Error {
    fn date(text: &str) -> Self {
        Self::custom(format!("a date or time of day such as {text} is never a value"))
    }

    fn at(mut self, origin: Origin) -> Self {
        self.origin = self.origin.or(Some(origin));
        self
    }

    fn within(mut self, segment: &str) -> Self {
        if self.path.is_empty() {
            self.message = hinted(self.message, segment);
        }
        self.path.push(segment.to_owned());
        self
    }
}

/// Keys whose times are lengths and instants of the run, which people count in seconds.
const IN_SECONDS: [&str; 7] = ["duration", "from", "to", "start", "stop", "at", "over"];
/// Tables of which there may be several.
const REPEATED: [&str; 6] = ["link", "flow", "ping", "tunnel", "schedule", "capture"];

/// The message about the value of `key`, with what was most likely meant.
fn hinted(message: String, key: &str) -> String {
    if IN_SECONDS.contains(&key)
        && let Some(number) = message.strip_suffix("ms\")")
        && message.contains("without a unit")
    {
        return format!("{number}s\")");
    }
    match message.as_str() {
        "expected an array, got a table" if REPEATED.contains(&key) => {
            format!("there may be several: write [[{key}]], not [{key}]")
        }
        _ => message,
    }
}

impl serde::de::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self { message: message.to_string(), path: vec![], origin: None }
    }

    fn invalid_type(got: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format!("expected {}, got {}", plain(expected), shown(got)))
    }

    fn invalid_value(got: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(got, expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let message = unknown("key", field, expected);
        Self::custom(match sysctl::hint(field) {
            Some(hint) => format!("unknown key {field:?}: {hint}"),
            None => message,
        })
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(unknown("value", variant, expected))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom(format!("missing key {field:?}"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::custom(format!("duplicate key {field:?}"))
    }
}

/// serde's names of types in plain English.
fn plain(expected: &dyn Expected) -> String {
    match expected.to_string().as_str() {
        "u8" => "a whole number from 0 to 255".to_owned(),
        "u32" => "a whole number from 0 to 4294967295".to_owned(),
        "u64" => "a whole number from 0 to 18446744073709551615".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "an array".to_owned(),
        "a map" => "a table".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other => other.to_owned(),
    }
}

fn shown(got: Unexpected<'_>) -> String {
    match got {
        Unexpected::Str(text) => format!("{text:?}"),
        Unexpected::Signed(number) => number.to_string(),
        Unexpected::Unsigned(number) => number.to_string(),
        Unexpected::Float(number) => number.to_string(),
        Unexpected::Bool(flag) => flag.to_string(),
        Unexpected::Seq => "an array".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        other => other.to_string(),
    }
}

impl Node {
    /// The text of an override as the TOML value that a table or an array is written as.
    pub(crate) fn structured(&self) -> Option<Self> {
        let Value::Raw(text) = &self.value else { return None };
        parse_value(text).map(|value| Self { value, origin: self.origin })
    }
}

impl Value {
    /// The error where another type is wanted.
    fn mismatch(&self, expected: &dyn Expected) -> Error {
        let got = match self {
            Self::Text(text) | Self::Raw(text) => Unexpected::Str(text),
            Self::Integer(number) => match i64::try_from(*number) {
                Ok(number) => Unexpected::Signed(number),
                Err(_) => return Error::custom(format!("{number} is out of range")),
            },
            Self::Float(number) => Unexpected::Float(*number),
            Self::Bool(flag) => Unexpected::Bool(*flag),
            Self::Datetime(text) => return Error::date(text),
            Self::Array(_) => Unexpected::Seq,
            Self::Table(_) => Unexpected::Map,
        };
        Error::invalid_type(got, expected)
    }
}

macro_rules! override_as {
    ($($method:ident $visit:ident $type:ty),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match &self.value {
                Value::Raw(text) => match text.parse::<$type>() {
                    Ok(value) => visitor.$visit(value).map_err(|e: Error| e.at(self.origin)),
                    Err(_) => self.deserialize_any(visitor),
                },
                _ => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for &Node {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.value {
            Value::Text(text) | Value::Raw(text) => visitor.visit_str(text),
            Value::Integer(number) => match (u64::try_from(*number), i64::try_from(*number)) {
                (Ok(number), _) => visitor.visit_u64(number),
                (_, Ok(number)) => visitor.visit_i64(number),
                _ => Err(Error::custom(format!("{number} is out of range"))),
            },
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::Datetime(text) => Err(Error::date(text)),
            Value::Array(items) => visitor.visit_seq(Items(items.iter().enumerate())),
            Value::Table(entries) => {
                visitor.visit_map(Entries { entries: entries.iter(), current: None })
            }
        }
        .map_err(|e: Error| e.at(self.origin))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.structured() {
            Some(node) => node.deserialize_any(visitor),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    // A table only: the fields of a structure have names here.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let parsed = self.structured();
        match &parsed.as_ref().unwrap_or(self).value {
            Value::Table(entries) => {
                visitor.visit_map(Entries { entries: entries.iter(), current: None })
            }
            other => Err(other.mismatch(&visitor)),
        }
        .map_err(|e: Error| e.at(self.origin))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.value {
            Value::Text(text) | Value::Raw(text) => visitor.visit_enum(Word(text)),
            other => {
                Err(Error::custom(format!("expected a word in quotes, got {}", other.shown())))
            }
        }
        .map_err(|e| e.at(self.origin))
    }

    override_as! {
        deserialize_bool visit_bool bool,
        deserialize_u8 visit_u64 u64,
        deserialize_u16 visit_u64 u64,
        deserialize_u32 visit_u64 u64,
        deserialize_u64 visit_u64 u64,
        deserialize_i8 visit_i64 i64,
        deserialize_i16 visit_i64 i64,
        deserialize_i32 visit_i64 i64,
        deserialize_i64 visit_i64 i64,
        deserialize_f32 visit_f64 f64,
        deserialize_f64 visit_f64 f64,
    }

    serde::forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

/// The elements of an array; entries with a `name` go by it.
struct Items<'n>(std::iter::Enumerate<std::slice::Iter<'n, Node>>);

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let Some((index, node)) = self.0.next() else { return Ok(None) };
        let segment = node.name().map_or_else(|| index.to_string(), str::to_owned);
        seed.deserialize(node).map(Some).map_err(|e| e.within(&segment))
    }
}

struct Entries<'n> {
    entries: std::slice::Iter<'n, (String, Node)>,
    current: Option<&'n (String, Node)>,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        self.current = self.entries.next();
        let Some((key, node)) = self.current else { return Ok(None) };
        let key: StrDeserializer<'_, Error> = key.as_str().into_deserializer();
        seed.deserialize(key).map(Some).map_err(|e| e.at(node.origin))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        let (key, node) = self.current.expect("serde asks for a value after its key");
        seed.deserialize(node).map_err(|e| e.within(key))
    }
}

/// The variant of an enum, by its name.
struct Word<'n>(&'n str);

impl<'de> EnumAccess<'de> for Word<'_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let word: StringDeserializer<Error> = self.0.to_owned().into_deserializer();
        Ok((seed.deserialize(word)?, self))
    }
}

impl<'de> VariantAccess<'de> for Word<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _seed: T) -> Result<T::Value, Error> {
        Err(Error::custom("expected a plain word"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("expected a plain word"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Error> {
        Err(Error::custom("expected a plain word"))
    }
}
