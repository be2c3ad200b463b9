//! What IP packets come from and go to.

use std::io;
use std::os::fd::AsFd;

use sojourn_core::Time;

use crate::tun::{Read, Tun, Written};
use crate::unfinished::{Segments, Unfinished};

/// What is before an IP packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head {
    /// Bytes.
    pub len: usize,
    /// Of these, the first ones, which say what is unfinished; all zero, nothing is.
    pub unfinished: usize,
    /// How the packet is to be cut, if it is a super-packet.
    pub segments: Option<Segments>,
    /// Its transport checksum is that of the pseudo-header alone.
    pub is_partial: bool,
}

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

    /// What is before the IP packet in what was received, and unfinished in it. It leaves with the packet, by
    /// a device of the same kind.
    fn head(&self, _frame: &[u8]) -> Head {
        Head::default()
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

    fn head(&self, frame: &[u8]) -> Head {
        if !self.has_super_packets() {
            return Head::default();
        }
        let header = Unfinished::read(frame);
        let len = Unfinished::BYTES.min(frame.len());
        Head {
            len,
            unfinished: len,
            segments: header.segments(),
            is_partial: header.checksum().is_some(),
        }
    }
}
