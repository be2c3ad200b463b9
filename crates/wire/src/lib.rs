//! IP, TCP, UDP and ICMP as bytes, and where in an Ethernet frame they are.
//!
//! Two layers use them. A box between two links asks [`packet`] what a queue may know of a packet, writes
//! back what the queue has changed, and cuts super-packets with [`split`]. An end point turns what its
//! state machine sends and receives into packets: [`segment`], [`udp`], [`media`],
//! [`udp_prague`], [`icmp`].
//!
//! Functions that read take any bytes: they return an error, never panic, and allocate nothing.
//! Functions that write do so into the caller's buffer, and say if it is too small.

#![warn(missing_docs)]

pub mod checksum;
pub mod ethernet;
pub mod icmp;
pub mod ip;
pub mod media;
pub mod options;
pub mod packet;
pub mod segment;
pub mod split;
mod stamp;
pub mod tcp;
pub mod udp;
pub mod udp_prague;

pub use ip::{Addresses, Ip};
pub use stamp::BYTES as STAMP_BYTES;

/// The two bytes at `at`, in network order; the caller knows that they are there.
#[inline]
fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The four bytes at `at`, in network order; the caller knows that they are there.
#[inline]
fn be32(bytes: &[u8], at: usize) -> u32 {
    let word = &bytes[at..at + 4];
    u32::from_be_bytes([word[0], word[1], word[2], word[3]])
}

/// Writes `value` at `at` in network order; the caller knows that there is room.
#[inline]
fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Writes `value` at `at` in network order; the caller knows that there is room.
#[inline]
fn put32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}
