//! What is to be run: the scenario file, its validation and its schema, shared by the engines.
//!
//! [`load`] turns the text of a file into a [`Scenario`] without invalid states, [`expand`] into
//! the runs of its sweep; [`to_toml`] writes the resolved file, [`schema`] the JSON Schema of the
//! format; [`Topology`] is the network that engines build from it.

#![warn(missing_docs)]

mod captures;
mod check;
mod conditions;
mod de;
mod doc;
mod edit;
pub mod engine;
mod error;
mod exec;
mod file;
mod flows;
mod groups;
mod idle;
mod links;
mod load;
mod measure;
mod names;
pub mod noise;
pub mod outline;
mod paths;
mod ramp;
mod resolve;
mod sample;
pub mod scenario;
mod schedule;
mod sweep;
mod sysctl;
pub mod tables;
mod tcp;
mod text;
pub mod topology;
mod traces;
mod tunnels;
mod write;

pub use captures::{Capture, Place, Point};
pub use conditions::conditions;
pub use edit::{edit, edit_within};
pub use engine::{Engine, Run, Status, complete};
pub use error::{Origin, ScenarioError};
pub use exec::{Exec, Program, command_line};
pub use file::schema;
pub use groups::{FlowSeries, Group, Interarrival};
pub use load::{
    Parsed, SweepPoint, design, expand, expand_at, expand_within, load, load_within, runs,
};
pub use noise::{Noise, Quantiles};
pub use sample::{Design, Method};
pub use scenario::{
    Change, Direction, Edit, Flow, Hop, Link, Measure, Path, Ping, Scenario, Spread, Stack, Tunnel,
};
pub use sweep::Axis;
pub use topology::{PortSpec, Role, Route, Topology};
pub use write::{to_brief_toml, to_toml};
