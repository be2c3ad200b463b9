//! What packets come from and go to.

use std::io;
use std::os::fd::AsFd;

use sojourn_live::tun::{Read, Tun, Written};

/// An end of a link that carries IP packets. `receive` does not wait.
pub trait Device: AsFd + Send + Sync {
    /// The next packet, if there is one.
    ///
    /// # Errors
    /// The device is gone.
    fn receive(&self, packet: &mut [u8]) -> io::Result<Read>;

    /// Sends a packet, and tells whether the host has it.
    ///
    /// # Errors
    /// The device is gone.
    fn send(&self, packet: &[u8]) -> io::Result<Written>;
}

impl Device for Tun {
    fn receive(&self, packet: &mut [u8]) -> io::Result<Read> {
        self.read(packet)
    }

    fn send(&self, packet: &[u8]) -> io::Result<Written> {
        self.write(packet)
    }
}
