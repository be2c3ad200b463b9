//! Packets that pass places of the simulator's network, as capture files.
//!
//! A [`Recorder`] is the tap of a [`Simulation`](sojourn_sim::Simulation). Packets of the simulator's own end
//! points become bytes once, when they are sent, as a host would send them; where they are seen later, they have
//! what queues have changed. Packets of hosts outside are bytes already.
//!
//! What is written depends on scenario, seed and version alone: time 0 of a simulated run is [`EPOCH`].

#![warn(missing_docs)]

mod comment;
mod connections;
mod files;
mod network;
mod packets;
mod recorder;
mod tunnels;

pub use files::{File, Memory, Seen, Target};
pub use recorder::{Kept, Recorder, in_memory, into_folder, simulated};

use sojourn_core::Time;

/// When a run in virtual time begins: 2020-01-01 00:00 UTC.
pub const EPOCH: Time = Time(1_577_836_800_000_000_000);
