//! The simulator's network between real hosts.
//!
//! A [`Forwarder`] runs a scenario some of whose flows are what hosts outside send: packets come in by one
//! [`Device`], pass the queues, wires and delays of the path in real time, and leave by another. Everything
//! between the two is the simulator itself, so that a queue has one implementation, and a run gives the
//! same series and summary.

#![warn(missing_docs)]
#![cfg(target_os = "linux")]

mod bridge;
mod forwarder;
mod portal;

pub use bridge::{Frames, Port};
pub use forwarder::{Carried, Classifier, Error, Forwarder, Hosts, Report};
pub use sojourn_live::device::Device;
