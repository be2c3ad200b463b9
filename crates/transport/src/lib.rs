//! End points without sockets: state machines that take packets and the time, and give packets
//! and a deadline. The simulator and the live engine drive the same ones.

#![warn(missing_docs)]

pub mod app;
pub mod endpoint;
pub mod frame;
pub mod media;
pub mod ping;
pub mod tcp;
pub mod udp;

pub use endpoint::{Body, Datagram, Echo, Endpoint, FlowProbe, READING, Transmit};
pub use frame::{Frame, Pool, Segments};
