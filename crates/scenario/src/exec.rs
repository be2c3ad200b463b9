//! Programs of the user's own as end points of a flow.

use std::fmt;
use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Deserialize as Read, Serialize};

use crate::check::Key;
use crate::doc::Doc;
use crate::error::ScenarioError;

/// The programs of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exec {
    /// Runs at the end that opens the flow, from its start on.
    pub client: Program,
    /// Runs at the other end, from before the start of the run.
    pub server: Option<Program>,
}

/// A command. No shell reads it; it is split as one would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    text: String,
    words: Vec<String>,
}

/// In the place of the flow's port.
const PORT: &str = "{port}";

impl Program {
    fn read(text: &str) -> Result<Self, String> {
        let words = shlex::split(text).ok_or("expected a command: a quote is not closed")?;
        match words.first() {
            None => Err("expected a command, such as \"curl http://{server}:{port}/\"".to_owned()),
            _ if text.contains('\0') => Err("expected a command without NUL".to_owned()),
            Some(_) => Ok(Self { text: text.to_owned(), words }),
        }
    }

    /// The program itself, a name or a path.
    pub fn name(&self) -> &str {
        &self.words[0]
    }

    /// Whether it names the flow's port.
    pub fn names_port(&self) -> bool {
        self.text.contains(PORT)
    }

    /// Its words, with the addresses of the hosts of client and server for `{client}` and `{server}`, and a
    /// port that nothing else uses for `{port}`.
    pub fn words(&self, client: Ipv4Addr, server: Ipv4Addr, port: u16) -> Vec<String> {
        let facts = [
            ("{client}", client.to_string()),
            ("{server}", server.to_string()),
            (PORT, port.to_string()),
        ];
        let filled = |word: &String| {
            facts.iter().fold(word.clone(), |word, (name, value)| word.replace(name, value))
        };
        self.words.iter().map(filled).collect()
    }
}

/// Words as a shell reads them.
pub fn command_line(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).expect("no word of a program has a NUL")
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The programs as the file writes them.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(untagged)]
pub(crate) enum ExecTable {
    Client(String),
    Both(Commands),
}

/// The commands of both ends.
#[derive(Clone, Debug, JsonSchema, Read, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Commands {
    /// The command at the end that opens the flow, which runs from `start` on.
    pub(crate) client: String,
    /// The command at the other end, which runs from before the start of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
}

impl<'de> Deserialize<'de> for ExecTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ExecTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a table")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ExecTable, E> {
                Ok(ExecTable::Client(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ExecTable, A::Error> {
                Commands::deserialize(MapAccessDeserializer::new(map)).map(ExecTable::Both)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// The programs that a flow names at `key`.
pub(crate) fn read(doc: &Doc, key: &Key, table: &ExecTable) -> Result<Exec, ScenarioError> {
    let program = |key: &Key, text: &str| Program::read(text).map_err(|e| doc.fail(key, e));
    match table {
        ExecTable::Client(text) => Ok(Exec { client: program(key, text)?, server: None }),
        ExecTable::Both(Commands { client, server }) => {
            let server = server.as_ref().map(|text| program(&key.field("server"), text));
            Ok(Exec { client: program(&key.field("client"), client)?, server: server.transpose()? })
        }
    }
}

impl From<&Exec> for ExecTable {
    fn from(exec: &Exec) -> Self {
        let Exec { client, server } = exec;
        match server {
            None => Self::Client(client.to_string()),
            Some(server) => Self::Both(Commands {
                client: client.to_string(),
                server: Some(server.to_string()),
            }),
        }
    }
}

#[cfg(test)]
mod tests;
