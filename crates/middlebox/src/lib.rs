//! The simulator's network between real hosts.
//!
//! A [`Forwarder`] runs a scenario some of whose flows are what hosts outside send: packets come in by one
//! [`Device`], pass the queues, wires and delays of the path in real time, and leave by another. Everything
//! between the two is the simulator itself, so that a queue has one implementation, and a run gives the
//! same series and summary. A [`session`] is that between two devices of this machine until somebody ends it.

#![warn(missing_docs)]
#![cfg(target_os = "linux")]

mod bridge;
mod forwarder;
mod portal;
pub mod session;

pub use bridge::{Frames, Port};
pub use forwarder::{Accounts, Carried, Classifier, Error, Forwarder, Hosts, Report};
pub use sojourn_live::device::Device;
