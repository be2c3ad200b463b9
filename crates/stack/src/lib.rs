//! The simulator's end points as a host of real packets.
//!
//! A [`Host`] drives end points of a scenario over devices: what they send becomes IP packets, and what
//! arrives is theirs, as a kernel does it for its sockets. The state machines, what is recorded of them
//! and what it amounts to are those of the simulator. The peer is another [`Host`] or any kernel.
//!
//! DEVIATION: no control connection precedes a flow's (`control_rtts`). The half of a connection that carries
//! responses is a connection of its own, which the server opens.

#![warn(missing_docs)]
#![cfg(target_os = "linux")]

mod absent;
mod host;
mod run;
mod seat;
mod socket;
mod sockets;

pub use host::{Counts, Error, Host, Side};
pub use run::Report;
pub use seat::{FIRST_PORT, Seat};
