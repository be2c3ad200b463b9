//! Real time and real packets.
//!
//! The state machines are those of the simulator; here they get a clock, sockets and devices. [`udp`] is
//! UDP with the ECN field in both directions and packets in batches. [`tun`] gives the packets of a kernel
//! to a program, [`packet_socket`] the frames of an interface, [`listener`] what passes one, [`namespace`] keeps that kernel's network
//! apart from the machine's, [`realtime`] and [`wait`] have a thread run on time, [`lateness`] counts how
//! late it was, and [`trial`] finds out before. [`confine`] gives up the rights that this took.

#![warn(missing_docs)]

#[cfg(target_os = "linux")]
pub mod clock;
#[cfg(target_os = "linux")]
pub mod confine;
#[cfg(target_os = "linux")]
pub mod device;
#[cfg(target_os = "linux")]
pub mod error;
#[cfg(target_os = "linux")]
mod ifreq;
pub mod lateness;
#[cfg(target_os = "linux")]
pub mod listener;
#[cfg(target_os = "linux")]
pub mod namespace;
#[cfg(target_os = "linux")]
pub mod packet_socket;
#[cfg(target_os = "linux")]
pub mod realtime;
#[cfg(target_os = "linux")]
pub mod trial;
#[cfg(target_os = "linux")]
pub mod tun;
#[cfg(target_os = "linux")]
pub mod udp;
#[cfg(target_os = "linux")]
pub mod unfinished;
#[cfg(target_os = "linux")]
pub mod wait;
