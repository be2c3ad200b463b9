//! What IP packets come from and go to.

use std::io;
use std::os::fd::AsFd;

use crate::tun::{Read, Tun, Written};
use sojourn_core::Time;

/// An end of a link that carries IP packets, each after the link's header if it has one. `receive` does not
/// wait.
pub trait Device: AsFd + Send + Sync {
    /// The next packet, if there is one.
    ///
    /// # Errors
    /// The device is gone.
    fn receive(&self, packet: &mut [u8]) -> io::Result<Read>;

    /// Sends a packet; gives whether the host has it.
    ///
    /// # Errors
    /// The device is gone.
    fn send(&self, packet: &[u8]) -> io::Result<Written>;

    /// Bytes before the IP packet in what was received. They leave with it, by a device of the same kind.
    fn header(&self, _frame: &[u8]) -> usize {
        0
    }

    /// Called for each packet that enters the network from here, with the instant of the network.
    fn entered(&self, _at: Time, _packet: &[u8]) {}

    /// Called for each packet that leaves the network to here, before it is sent.
    fn left(&self, _at: Time, _packet: &[u8]) {}
}

impl Device for Tun {
    fn receive(&self, packet: &mut [u8]) -> io::Result<Read> {
        self.read(packet)
    }

    fn send(&self, packet: &[u8]) -> io::Result<Written> {
        self.write(packet)
    }
}
