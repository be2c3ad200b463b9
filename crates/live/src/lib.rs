//! Real time and real packets.
//!
//! The state machines are those of the simulator; here they get a clock and sockets. [`udp`] is UDP
//! with the ECN field in both directions and packets in batches.

#![warn(missing_docs)]

#[cfg(target_os = "linux")]
pub mod clock;
#[cfg(target_os = "linux")]
pub mod udp;
#[cfg(target_os = "linux")]
pub mod wait;
