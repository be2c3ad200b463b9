//! What is to be run: the scenario file, its validation and its schema, shared by the engines.

#![warn(missing_docs)]

pub mod scenario;

pub use scenario::{
    Change, Direction, EcnMode, Edit, Era, Flow, Link, Measure, Ping, Scenario, Tcp,
};
