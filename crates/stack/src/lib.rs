//! The simulator's end points as a host of real packets.
//!
//! A [`Host`] drives end points of a scenario over devices: what they send becomes IP packets, and what
//! arrives is theirs, as a kernel does it for its sockets. The state machines, what is recorded of them
//! and what it amounts to are those of the simulator. The peer is another [`Host`] or any kernel.
//!
//! DEVIATION: both ends of a media flow are at one host: what is measured of a frame is not in its packets.
//! No control connection precedes a flow's (`control_rtts`).

#![warn(missing_docs)]
#![cfg(target_os = "linux")]

mod absent;
mod host;
mod media;
mod run;
mod seat;
mod socket;
mod sockets;
mod udp_port;

pub use host::{Counts, Error, Host, Side};
pub use run::Report;
pub use seat::{FIRST_PORT, Seat, port};
pub use udp_port::UdpPort;
