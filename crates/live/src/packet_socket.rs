//! The frames of a network interface: all that arrive there, whomever they are for, and a way to send others.
//!
//! What the interface's own host sends is among them for who watches. Source: packet(7), Linux
//! `net/packet/af_packet.c`. A frame costs one system call.
//! TPACKET_V3 would hand frames over in blocks, up to 1 ms late.

use std::io;
use std::mem::{size_of, size_of_val};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::{c_int, c_void};
use rustix::io::Errno;
use rustix::ioctl::Opcode;
use rustix::net::sockopt;

use crate::error::Error;
use crate::ifreq::Request;
use crate::tun::Written;
use crate::udp::BUFFER;
use crate::unfinished::Unfinished;

/// An interface in promiscuous mode, until this value ends.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
    name: String,
}

/// What arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// A frame, in the first bytes of the buffer.
    Frame(Arrival),
    /// It would block: nothing more has arrived.
    Nothing,
    /// A frame that the buffer is too short for, or whose form the kernel cannot describe; it is lost.
    Unreadable,
}

/// A frame that arrived, and what is unfinished in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Bytes.
    pub len: usize,
    /// Protocol and control information of a VLAN tag, which the kernel has taken out of the frame.
    pub tag: Option<(u16, u16)>,
    /// What is left to who receives it.
    pub unfinished: Unfinished,
    /// The interface's own host sends it.
    pub is_outgoing: bool,
    /// When it passed, in nanoseconds of Unix time; only for who watches.
    pub unix_ns: Option<u64>,
}

/// Room for the control message of one frame, `struct tpacket_auxdata`, aligned as its header.
#[repr(C, align(8))]
struct Control([u8; 64]);

impl PacketSocket {
    /// Opens the interface `name` of the network namespace of this thread. The value then works from any
    /// thread.
    ///
    /// # Errors
    /// There is no such interface, it is down or carries no Ethernet, or this user has no CAP_NET_RAW.
    pub fn open(name: &str) -> Result<Self, Error> {
        Self::open_as(name, false)
    }

    /// The same for who watches: what its own host sends is among the frames, and each has its time.
    ///
    /// # Errors
    /// As of [`PacketSocket::open`].
    pub fn watch(name: &str) -> Result<Self, Error> {
        Self::open_as(name, true)
    }

    fn open_as(name: &str, watches: bool) -> Result<Self, Error> {
        let mut request = Request::of(name).ok_or_else(|| Error::Name(name.to_owned()))?;
        // Without a protocol it receives nothing before it is bound.
        let fd = socket().map_err(|error| match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => Error::NotRaw(name.to_owned()),
            _ => Error::System("a packet socket", error),
        })?;
        let asked = request.ask::<{ libc::SIOCGIFINDEX as Opcode }>(fd.as_fd());
        let none = |_| Error::NoDevice(name.to_owned());
        asked.map_err(none)?;
        let index = request.number() as c_int;
        let flags = request.ask::<{ libc::SIOCGIFFLAGS as Opcode }>(fd.as_fd());
        flags.map_err(none)?;
        if request.number() & libc::IFF_UP as u32 == 0 {
            return Err(Error::Down(name.to_owned()));
        }
        let on: c_int = 1;
        let promiscuous = libc::packet_mreq {
            mr_ifindex: index,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        if watches {
            set_of(&fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)
                .map_err(Error::of("SO_TIMESTAMPNS"))?;
        } else {
            set(&fd, libc::PACKET_IGNORE_OUTGOING, &on)
                .map_err(Error::of("PACKET_IGNORE_OUTGOING"))?;
        }
        set(&fd, libc::PACKET_AUXDATA, &on).map_err(Error::of("PACKET_AUXDATA"))?;
        set(&fd, libc::PACKET_VNET_HDR, &on).map_err(Error::of("PACKET_VNET_HDR"))?;
        set(&fd, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)
            .map_err(Error::of("PACKET_ADD_MEMBERSHIP"))?;
        // Beyond the system's limit for those who may; the limit for the others.
        if sockopt::set_socket_recv_buffer_size_force(&fd, BUFFER).is_err() {
            sockopt::set_socket_recv_buffer_size(&fd, BUFFER).map_err(Error::of("SO_RCVBUF"))?;
        }
        if sockopt::set_socket_send_buffer_size_force(&fd, BUFFER).is_err() {
            sockopt::set_socket_send_buffer_size(&fd, BUFFER).map_err(Error::of("SO_SNDBUF"))?;
        }
        if bind(&fd, index).map_err(Error::of("a packet socket: bind"))? != libc::ARPHRD_ETHER {
            return Err(Error::NotEthernet(name.to_owned()));
        }
        Ok(Self { fd, name: name.to_owned() })
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes the next frame that has arrived.
    ///
    /// # Errors
    /// The interface was removed.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        let mut unfinished = Unfinished::default();
        let mut control = Control([0; 64]);
        let mut parts = [
            part(&mut unfinished),
            libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() },
        ];
        #[expect(unsafe_code, reason = "no crate here has packet sockets")]
        // SAFETY: every pointer is to a buffer above, with its length, that outlives the call.
        let (taken, message, from) = unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            let mut from: libc::sockaddr_ll = std::mem::zeroed();
            message.msg_name = (&raw mut from).cast();
            message.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            message.msg_iov = parts.as_mut_ptr();
            message.msg_iovlen = parts.len() as _;
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = control.0.len() as _;
            let taken = libc::recvmsg(self.fd.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT);
            (taken, message, from)
        };
        if taken < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => Ok(Received::Nothing),
                // Down, and perhaps gone; while it is down nothing arrives.
                Some(libc::ENETDOWN) => self.exists().map(|()| Received::Nothing),
                // The kernel has no virtio header for such a super-packet.
                Some(libc::EINVAL) => Ok(Received::Unreadable),
                _ => Err(error),
            };
        }
        let len = (taken as usize).saturating_sub(Unfinished::BYTES);
        if message.msg_flags & libc::MSG_TRUNC != 0 {
            return Ok(Received::Unreadable);
        }
        let (tag, unix_ns) = said(&message);
        let is_outgoing = from.sll_pkttype == libc::PACKET_OUTGOING;
        Ok(Received::Frame(Arrival { len, tag, unfinished, is_outgoing, unix_ns }))
    }

    /// Sends a whole frame, of which all is finished but this.
    ///
    /// # Errors
    /// The interface was removed.
    pub fn send(&self, mut unfinished: Unfinished, frame: &[u8]) -> io::Result<Written> {
        let mut parts = [
            part(&mut unfinished),
            libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() },
        ];
        #[expect(unsafe_code, reason = "no crate here has packet sockets")]
        // SAFETY: the pointers are to the two buffers, which the kernel only reads, with their lengths.
        let sent = unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = parts.as_mut_ptr();
            message.msg_iovlen = parts.len() as _;
            libc::sendmsg(self.fd.as_raw_fd(), &raw const message, libc::MSG_DONTWAIT)
        };
        if sent >= 0 {
            return Ok(Written::Taken);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENETDOWN) => self.exists().map(|()| Written::Down),
            Some(libc::EAGAIN | libc::EINTR | libc::ENOBUFS | libc::ENOMEM) => Ok(Written::Full),
            Some(libc::EMSGSIZE) => Ok(Written::TooLong),
            Some(libc::EINVAL) => Ok(Written::Malformed),
            _ => Err(error),
        }
    }

    /// Frames, since the last call, that arrived and found no room in the socket's buffer.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn overflowed(&self) -> io::Result<u64> {
        overflowed(&self.fd)
    }

    fn exists(&self) -> io::Result<()> {
        exists(&self.fd, &self.name)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Frames that found no room in the buffer, since the last time.
pub(crate) fn overflowed(fd: &OwnedFd) -> io::Result<u64> {
    let mut counts = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut len = size_of_val(&counts) as libc::socklen_t;
    #[expect(unsafe_code, reason = "no crate here has packet sockets")]
    // SAFETY: the kernel writes at most `len` bytes into `counts`.
    let done = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut counts).cast(),
            &raw mut len,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(counts.tp_drops.into()) }
}

/// An error if the interface `name` is no more.
pub(crate) fn exists(fd: &OwnedFd, name: &str) -> io::Result<()> {
    let gone = || io::Error::other(format!("`{name}` was removed or renamed"));
    let mut request = Request::of(name).ok_or_else(gone)?;
    request.ask::<{ libc::SIOCGIFINDEX as Opcode }>(fd.as_fd()).map_err(|error| match error {
        Errno::NODEV => gone(),
        other => other.into(),
    })
}

fn part(header: &mut Unfinished) -> libc::iovec {
    libc::iovec { iov_base: (&raw mut *header).cast(), iov_len: Unfinished::BYTES }
}

pub(crate) fn socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    #[expect(unsafe_code, reason = "no crate here has packet sockets")]
    // SAFETY: the descriptor is new, and nobody else's.
    unsafe {
        let fd = libc::socket(libc::AF_PACKET, kind, 0);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

pub(crate) fn set<T>(fd: &OwnedFd, option: c_int, value: &T) -> io::Result<()> {
    set_of(fd, libc::SOL_PACKET, option, value)
}

pub(crate) fn set_of<T>(fd: &OwnedFd, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    #[expect(unsafe_code, reason = "no crate here has packet sockets")]
    // SAFETY: the kernel reads as many bytes as the value has.
    let done = unsafe {
        let value: *const c_void = (&raw const *value).cast();
        let len = size_of::<T>() as libc::socklen_t;
        libc::setsockopt(fd.as_raw_fd(), level, option, value, len)
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// From now on frames of all protocols arrive. Gives the interface's type (`ARPHRD_`).
pub(crate) fn bind(fd: &OwnedFd, index: c_int) -> io::Result<u16> {
    #[expect(unsafe_code, reason = "no crate here has packet sockets")]
    // SAFETY: the address is ours, and its length is given.
    unsafe {
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index;
        let mut len = size_of_val(&address) as libc::socklen_t;
        let own: *mut libc::sockaddr = (&raw mut address).cast();
        if libc::bind(fd.as_raw_fd(), own, len) < 0
            || libc::getsockname(fd.as_raw_fd(), own, &raw mut len) < 0
        {
            return Err(io::Error::last_os_error());
        }
        Ok(address.sll_hatype)
    }
}

/// The VLAN tag and the time in a message's control data.
fn said(message: &libc::msghdr) -> (Option<(u16, u16)>, Option<u64>) {
    let (mut tag, mut unix_ns) = (None, None);
    #[expect(unsafe_code, reason = "no crate here has control messages of packet sockets")]
    // SAFETY: the kernel has written the control data, whose headers the macros walk; what is read is as long as
    // its header says, and read without regard to its alignment.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = next.as_ref() {
            let data = libc::CMSG_DATA(header);
            // A `size_t` in glibc, a `socklen_t` in musl.
            let has = |len: usize| header.cmsg_len >= libc::CMSG_LEN(len as u32) as _;
            match (header.cmsg_level, header.cmsg_type) {
                (libc::SOL_PACKET, libc::PACKET_AUXDATA)
                    if has(size_of::<libc::tpacket_auxdata>()) =>
                {
                    tag = tag_of(&data.cast::<libc::tpacket_auxdata>().read_unaligned());
                }
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) if has(size_of::<libc::timespec>()) => {
                    let at = data.cast::<libc::timespec>().read_unaligned();
                    let seconds = (at.tv_sec as u64).saturating_mul(1_000_000_000);
                    unix_ns = Some(seconds.saturating_add(at.tv_nsec as u64));
                }
                _ => {}
            }
            next = libc::CMSG_NXTHDR(message, header);
        }
    }
    (tag, unix_ns)
}

fn tag_of(data: &libc::tpacket_auxdata) -> Option<(u16, u16)> {
    let has = |flag: libc::__u32| data.tp_status & flag != 0;
    let protocol = if has(libc::TP_STATUS_VLAN_TPID_VALID) { data.tp_vlan_tpid } else { 0x8100 };
    has(libc::TP_STATUS_VLAN_VALID).then_some((protocol, data.tp_vlan_tci))
}
