//! The deterministic event engine: a scenario in, a trace out, in virtual time.

#![warn(missing_docs)]

mod agenda;
mod build;
mod ends;
mod engine;
mod events;
mod host;
mod link;
mod noise;
mod simulator;
mod slab;
mod sources;
mod split;
mod tap;

pub use agenda::{Item, agenda};
pub use ends::Ends;
pub use engine::{Simulation, Standstill};
pub use host::hosts;
pub use simulator::{Simulator, Tapper, run};
pub use tap::{Passage, Queued, Sight, Tap};
