//! Real time and real packets.
//!
//! The state machines are those of the simulator; here they get a clock and sockets. [`udp`] is UDP
//! with the ECN field in both directions and packets in batches, [`scream_tool`] the two ends of the
//! SCReAM bandwidth test tool.

#![warn(missing_docs)]

#[cfg(target_os = "linux")]
pub mod clock;
pub mod scream_tool;
#[cfg(target_os = "linux")]
pub mod udp;
#[cfg(target_os = "linux")]
mod wait;
