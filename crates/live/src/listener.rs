//! What passes a network interface, in both directions, as it passes: VLAN tags in their place, super-packets
//! whole, with the kernel's time.
//!
//! Source: packet(7), Linux `net/packet/af_packet.c`. A frame costs one system call, and one to wait for it.

use std::io;
use std::mem::size_of_val;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use libc::c_int;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::ioctl::Opcode;
use rustix::net::sockopt;
use sojourn_core::{Dur, Time};

use crate::error::Error;
use crate::ifreq::Request;
use crate::packet_socket::{bind, exists, overflowed, set, set_of, socket};
use crate::udp::BUFFER;
use crate::udp::batch::Controls;
use crate::wait::timespec;

/// A VLAN tag, and where in a frame it is.
const TAG: usize = 4;
const TAG_AT: usize = 12;

/// ARPHRD_RAWIP of Linux `if_arp.h`, which libc lacks.
const RAWIP: u16 = 519;

/// An interface that is listened to, until this value ends.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
    name: String,
    is_ethernet: bool,
    /// Room for a tag, then a frame.
    buffer: Vec<u8>,
}

/// A frame that passed.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// When, since 1970-01-01 00:00 UTC.
    pub time: Time,
    /// Its bytes.
    pub original_len: u32,
    /// Those that were kept.
    pub bytes: &'a [u8],
}

/// Time, length, and protocol and control information of the tag that the kernel has taken out.
type Received = (Time, usize, Option<(u16, u16)>);

/// Room for control messages: a time and a `struct tpacket_auxdata`, aligned as their headers.
#[repr(C, align(8))]
struct Control([u8; 128]);

impl Listener {
    /// Opens the interface `name` of the network namespace of this thread, and keeps `snap_len` bytes of each
    /// frame. On loopback, where each passes twice, the arrival counts.
    ///
    /// # Errors
    /// There is no such interface, it is down or carries neither Ethernet nor IP, or this user has no CAP_NET_RAW.
    pub fn open(name: &str, snap_len: u32) -> Result<Self, Error> {
        let mut request = Request::of(name).ok_or_else(|| Error::Name(name.to_owned()))?;
        let fd = socket().map_err(|error| match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => Error::NotRaw(name.to_owned()),
            _ => Error::System("a packet socket", error),
        })?;
        let none = |_| Error::NoDevice(name.to_owned());
        request.ask::<{ libc::SIOCGIFINDEX as Opcode }>(fd.as_fd()).map_err(none)?;
        let index = request.number() as c_int;
        request.ask::<{ libc::SIOCGIFFLAGS as Opcode }>(fd.as_fd()).map_err(none)?;
        let flags = request.number();
        if flags & libc::IFF_UP as u32 == 0 {
            return Err(Error::Down(name.to_owned()));
        }
        let on: c_int = 1;
        set(&fd, libc::PACKET_AUXDATA, &on).map_err(Error::of("PACKET_AUXDATA"))?;
        if flags & libc::IFF_LOOPBACK as u32 != 0 {
            set(&fd, libc::PACKET_IGNORE_OUTGOING, &on)
                .map_err(Error::of("PACKET_IGNORE_OUTGOING"))?;
        }
        let promiscuous = libc::packet_mreq {
            mr_ifindex: index,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set(&fd, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)
            .map_err(Error::of("PACKET_ADD_MEMBERSHIP"))?;
        set_of(&fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)
            .map_err(Error::of("SO_TIMESTAMPNS"))?;
        if sockopt::set_socket_recv_buffer_size_force(&fd, BUFFER).is_err() {
            sockopt::set_socket_recv_buffer_size(&fd, BUFFER).map_err(Error::of("SO_RCVBUF"))?;
        }
        let is_ethernet = match bind(&fd, index).map_err(Error::of("a packet socket: bind"))? {
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => true,
            // TUN devices, and those of mobile networks: IP without a header.
            libc::ARPHRD_NONE | RAWIP => false,
            _ => return Err(Error::NotEthernet(name.to_owned())),
        };
        // The longest super-packet has 512 KiB (GSO_MAX_SIZE).
        let most = (snap_len as usize).clamp(1, 1 << 20);
        Ok(Self { fd, name: name.to_owned(), is_ethernet, buffer: vec![0; TAG + most] })
    }

    /// Whether frames are Ethernet's; else they are IP packets alone.
    pub fn is_ethernet(&self) -> bool {
        self.is_ethernet
    }

    /// The next frame that passes. None if none does for so long, or a signal came.
    ///
    /// # Errors
    /// The interface was removed.
    pub fn next(&mut self, timeout: Dur) -> io::Result<Option<Frame<'_>>> {
        let Some((time, len, tag)) = self.receive(timeout)? else { return Ok(None) };
        let kept = len.min(self.buffer.len() - TAG);
        let Some((protocol, control)) = tag.filter(|_| kept >= TAG_AT) else {
            let bytes = &self.buffer[TAG..TAG + kept];
            return Ok(Some(Frame { time, original_len: len as u32, bytes }));
        };
        // The addresses move to the front, and leave the tag its place.
        self.buffer.copy_within(TAG..TAG + TAG_AT, 0);
        self.buffer[TAG_AT..TAG_AT + 2].copy_from_slice(&protocol.to_be_bytes());
        self.buffer[TAG_AT + 2..TAG_AT + 4].copy_from_slice(&control.to_be_bytes());
        let most = self.buffer.len() - TAG;
        let bytes = &self.buffer[..(kept + TAG).min(most)];
        Ok(Some(Frame { time, original_len: (len + TAG) as u32, bytes }))
    }

    /// Frames, since the last call, that passed and found no room in the socket's buffer.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn overflowed(&self) -> io::Result<u64> {
        overflowed(&self.fd)
    }

    /// Takes a frame, whose bytes are then behind the room for a tag.
    fn receive(&mut self, timeout: Dur) -> io::Result<Option<Received>> {
        let mut waiting = [PollFd::new(&self.fd, PollFlags::IN)];
        match poll(&mut waiting, Some(&timespec(timeout))) {
            Ok(0) | Err(Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut control = Control([0; 128]);
        let room = &mut self.buffer[TAG..];
        let mut part = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
        #[expect(unsafe_code, reason = "no crate here has packet sockets")]
        // SAFETY: every pointer is to a buffer above, with its length, that outlives the call.
        let (taken, message) = unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control.0) as _;
            let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
            (libc::recvmsg(self.fd.as_raw_fd(), &raw mut message, flags), message)
        };
        if taken < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => Ok(None),
                Some(libc::ENETDOWN) => exists(&self.fd, &self.name).map(|()| None),
                _ => Err(error),
            };
        }
        let (mut time, mut tag) = (Time::ZERO, None);
        for (level, kind, data) in Controls::of(&message) {
            match (level, kind) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let word =
                        |at: usize| data.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes);
                    let (seconds, rest) = (word(0).unwrap_or(0), word(8).unwrap_or(0));
                    time = Time(seconds.saturating_mul(1_000_000_000).saturating_add(rest));
                }
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => tag = vlan(data),
                _ => {}
            }
        }
        Ok(Some((time, taken as usize, tag)))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Protocol and control information of the tag that the kernel has taken out of a frame, from the 20 bytes of a
/// `struct tpacket_auxdata`.
fn vlan(data: &[u8]) -> Option<(u16, u16)> {
    let status = u32::from_ne_bytes(*data.first_chunk()?);
    let half = |at: usize| Some(u16::from_ne_bytes(*data.get(at..)?.first_chunk()?));
    let has = |flag| status & flag != 0;
    let protocol = if has(libc::TP_STATUS_VLAN_TPID_VALID) { half(18)? } else { 0x8100 };
    has(libc::TP_STATUS_VLAN_VALID).then_some((protocol, half(16)?))
}
