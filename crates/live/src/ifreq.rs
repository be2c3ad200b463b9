//! Requests to network devices (netdevice(7)).

use std::os::fd::BorrowedFd;

use rustix::ioctl::{Opcode, Updater, ioctl};

/// `IFNAMSIZ`, with the zero at the end.
const NAME: usize = 16;

/// `struct ifreq`: a device's name, and a value whose type the request says.
#[repr(C)]
pub(crate) struct Request {
    name: [u8; NAME],
    pub(crate) value: [u8; 24],
}

impl Request {
    /// With a name that `ip` takes without quotes and the kernel as it is: `%d` would be a number.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        let is_name = (1..NAME).contains(&name.len()) && name.bytes().all(is_plain);
        if !is_name || [".", ".."].contains(&name) {
            return None;
        }
        let mut request = Self { name: [0; NAME], value: [0; 24] };
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        Some(request)
    }

    #[expect(unsafe_code, reason = "no crate here has the requests of network devices")]
    pub(crate) fn ask<const WHAT: Opcode>(&mut self, fd: BorrowedFd<'_>) -> rustix::io::Result<()> {
        // SAFETY: all requests that are made here, TUNSETIFF, SIOCGIFMTU, SIOCGIFINDEX and SIOCGIFFLAGS, read
        // and write a `struct ifreq`, which this is.
        unsafe { ioctl(fd, Updater::<WHAT, Self>::new(self)) }
    }

    /// The value as the number that it is in most answers.
    pub(crate) fn number(&self) -> u32 {
        let [a, b, c, d, ..] = self.value;
        u32::from_ne_bytes([a, b, c, d])
    }
}

#[cfg(test)]
mod tests;
