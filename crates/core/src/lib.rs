//! What a packet, a queue discipline and a congestion controller are.
//!
//! Nothing in this crate performs I/O, owns a clock or starts a thread: every method that needs
//! the time takes `now` first, so the same code runs in virtual and in real time.

#![warn(missing_docs)]

pub mod ecn;
pub mod grammar;
pub mod jiffies;
pub mod math;
pub mod packet;
pub mod probe;
pub mod registry;
pub mod rng;
pub mod spec;
pub mod units;
pub mod wire;

pub use ecn::Ecn;
pub use packet::{FlowId, Kind, Packet};
pub use probe::Probe;
pub use rng::Rng;
pub use units::{Bytes, Dur, Quantity, Rate, RateOrNone, Time};
