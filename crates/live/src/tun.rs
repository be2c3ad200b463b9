//! TUN devices: what the kernel routes to one is read here as IP packets, and what is written here
//! arrives from it.
//!
//! Source: Linux `Documentation/networking/tuntap.rst` and `drivers/net/tun.c` (for the errors). A packet
//! costs one system call, 2.7 us; up to 4 Gbit/s fit into one core.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read, write};
use rustix::ioctl::{IntegerSetter, Opcode, ioctl};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::error::Error;
use crate::ifreq::Request;

/// An open device of IP packets, without a header before them unless it has super-packets. It exists,
/// switched off, from [`Tun::open`] to the end of this value.
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
    name: String,
    /// For questions to the device, in its namespace.
    control: OwnedFd,
    has_super_packets: bool,
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// A packet of this many bytes; one that is as long as the buffer may have been cut.
    Packet(usize),
    /// It would block: the kernel has sent nothing more. To a device that is switched off it sends nothing.
    Nothing,
}

/// What became of a packet that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The kernel has it.
    Taken,
    /// The device is switched off; the packet is lost.
    Down,
    /// The kernel has no memory for it now; the packet is lost unless it is written again.
    Full,
    /// It is neither IPv4 nor IPv6, or no Ethernet frame, and lost.
    Malformed,
    /// It is longer than the device's MTU, and lost.
    TooLong,
}

impl Tun {
    /// Makes the device `name` in the network namespace of this thread. The value then works from any
    /// thread, whatever its namespace.
    ///
    /// # Errors
    /// What is missing: `/dev/net/tun`, the right to open it, or CAP_NET_ADMIN in the namespace; a
    /// name that is in use, or is none.
    pub fn open(name: &str) -> Result<Self, Error> {
        Self::open_with(name, false)
    }

    /// The same, of super-packets: the kernel hands over up to 64 kB at once, cut and completed by whoever
    /// receives them, with a header before each packet that says what is unfinished
    /// ([`crate::device::Head`]); and it takes such packets.
    ///
    /// # Errors
    /// As of [`Tun::open`]; a kernel that cannot.
    pub fn open_for_super_packets(name: &str) -> Result<Self, Error> {
        Self::open_with(name, true)
    }

    fn open_with(name: &str, has_super_packets: bool) -> Result<Self, Error> {
        let mut request = Request::of(name).ok_or_else(|| Error::Name(name.to_owned()))?;
        let header = if has_super_packets { libc::IFF_VNET_HDR } else { 0 };
        let kind = libc::IFF_TUN | libc::IFF_NO_PI | header;
        request.value[..2].copy_from_slice(&(kind as u16).to_ne_bytes());
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = open(c"/dev/net/tun", flags, Mode::empty()).map_err(|error| match error {
            Errno::NOENT | Errno::NODEV | Errno::NXIO => Error::NoTun,
            Errno::ACCESS | Errno::PERM => Error::TunForbidden,
            other => Error::System("/dev/net/tun", other.into()),
        })?;
        request.ask::<{ libc::TUNSETIFF as Opcode }>(fd.as_fd()).map_err(|error| match error {
            Errno::PERM => Error::NotAdmin(name.to_owned()),
            Errno::BUSY => Error::Busy(name.to_owned()),
            other => Error::System("/dev/net/tun: TUNSETIFF", other.into()),
        })?;
        let control =
            socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
                .map_err(Error::of("socket"))?;
        if has_super_packets {
            offload(&fd, TCP | UDP)
                .or_else(|_| offload(&fd, TCP))
                .map_err(|error| Error::System("/dev/net/tun: TUNSETOFFLOAD", error.into()))?;
        }
        Ok(Self { fd, name: name.to_owned(), control, has_super_packets })
    }

    /// Whether a header is before each packet.
    pub fn has_super_packets(&self) -> bool {
        self.has_super_packets
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Longest IP packet, bytes; 1500 unless `ip link set` says another.
    ///
    /// # Errors
    /// The device was removed or renamed.
    pub fn mtu(&self) -> io::Result<u32> {
        let mut request = Request::of(&self.name).ok_or(io::ErrorKind::NotFound)?;
        request.ask::<{ libc::SIOCGIFMTU as Opcode }>(self.control.as_fd())?;
        Ok(request.number())
    }

    /// Takes the next packet that the kernel sent; `buffer` has room for the MTU.
    ///
    /// # Errors
    /// The device was removed (`EBADFD`).
    #[inline]
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Read> {
        match read(&self.fd, buffer) {
            Ok(length) => Ok(Read::Packet(length)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Read::Nothing),
            Err(error) => Err(error.into()),
        }
    }

    /// Has an IP packet arrive. The kernel's work on it, such as TCP's, is done within this call.
    ///
    /// # Errors
    /// The device was removed (`EBADFD`).
    #[inline]
    pub fn write(&self, packet: &[u8]) -> io::Result<Written> {
        match write(&self.fd, packet) {
            Ok(_) => Ok(Written::Taken),
            Err(Errno::IO) => Ok(Written::Down),
            Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS | Errno::NOMEM) => Ok(Written::Full),
            Err(Errno::INVAL) => Ok(Written::Malformed),
            Err(error) => Err(error.into()),
        }
    }
}

/// What is left to the reader (`include/uapi/linux/if_tun.h`): checksums, and the segmentation of TCP, with CWR
/// in the first segment only; of UDP as well since Linux 6.2.
const TCP: libc::c_uint =
    libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
const UDP: libc::c_uint = libc::TUN_F_USO4 | libc::TUN_F_USO6;

fn offload(fd: &OwnedFd, what: libc::c_uint) -> rustix::io::Result<()> {
    #[expect(unsafe_code, reason = "no crate here has this request")]
    // SAFETY: TUNSETOFFLOAD takes a number, no pointer.
    unsafe {
        let request = IntegerSetter::<{ libc::TUNSETOFFLOAD as Opcode }>::new_usize(what as usize);
        ioctl(fd, request)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests;
