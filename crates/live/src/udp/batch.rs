//! Many datagrams a system call: `recvmmsg` with ECN, arrival time and bundles (`UDP_GRO`), and
//! `sendmmsg` with pieces that the kernel or the card cuts (`UDP_SEGMENT`). All of this module's
//! `unsafe` is there because no crate here has these calls with control messages.

use std::io;
use std::mem::{self, MaybeUninit};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use sojourn_core::{Dur, Ecn, Time};

use super::canonical;
use crate::clock::{Clock, unix_ns};

/// Room for control messages of one datagram: TOS, traffic class, bundle, time and drops take 120
/// bytes. If it were too small, the kernel would leave the codepoint out.
const CONTROL: usize = 256;
/// Older than this is no time of arrival: the wall clock was set.
const OLDEST: u64 = 1_000_000_000;
/// What the kernel takes as one piece to cut.
const GSO_BYTES: usize = 65_000;

/// Aligned as control messages have to be.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL]);

/// A datagram that came.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Its payload.
    pub bytes: &'a [u8],
    /// Where it came from.
    pub from: SocketAddr,
    /// Its ECN field.
    pub ecn: Ecn,
    /// When the kernel got it.
    pub at: Time,
}

/// What the kernel reported of one buffer.
#[derive(Clone, Copy)]
struct Message {
    len: usize,
    /// Bytes of each datagram in the buffer; the last may be shorter.
    stride: usize,
    from: SocketAddr,
    ecn: Ecn,
    at: Time,
}

/// Buffers that datagrams are received into.
pub struct Inbox {
    size: usize,
    bytes: Vec<u8>,
    names: Vec<libc::sockaddr_storage>,
    controls: Vec<Control>,
    messages: Vec<Message>,
    /// What the kernel dropped for want of a buffer since the socket was opened.
    overflowed: u32,
    truncated: u64,
    /// Arrival of the last datagram: none is earlier than the one before.
    last: Time,
}

impl Inbox {
    /// `count` buffers of `size` bytes.
    pub fn new(count: usize, size: usize) -> Self {
        Self {
            size,
            bytes: vec![0; count * size],
            names: vec![no_name(); count],
            controls: vec![Control([0; CONTROL]); count],
            messages: Vec::with_capacity(count),
            overflowed: 0,
            truncated: 0,
            last: Time::ZERO,
        }
    }

    /// Fills the buffers with what has come, and says how many it filled; none is no error.
    pub fn receive(&mut self, fd: BorrowedFd<'_>, clock: Clock) -> io::Result<usize> {
        self.messages.clear();
        let count = self.names.len().min(BATCH);
        let mut pieces = [EMPTY_IOVEC; BATCH];
        let mut heads = [const { MaybeUninit::<libc::mmsghdr>::zeroed() }; BATCH];
        for (at, buffer) in self.bytes.chunks_exact_mut(self.size).take(count).enumerate() {
            pieces[at] =
                libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
            let head = heads[at].as_mut_ptr();
            let name: *mut libc::sockaddr_storage = &raw mut self.names[at];
            let control: *mut Control = &raw mut self.controls[at];
            set_head(head, |h| {
                h.msg_name = name.cast();
                h.msg_namelen = mem::size_of::<libc::sockaddr_storage>() as libc::socklen_t;
                h.msg_iov = &raw mut pieces[at];
                h.msg_iovlen = 1;
                h.msg_control = control.cast();
                h.msg_controllen = CONTROL as _;
            });
        }
        #[expect(unsafe_code, reason = "no crate here has recvmmsg")]
        // SAFETY: the first `count` heads point to buffers, names and control buffers of the lengths
        // given there, which outlive the call and which nothing else uses meanwhile.
        let filled = unsafe {
            libc::recvmmsg(
                fd.as_raw_fd(),
                heads.as_mut_ptr().cast(),
                count as u32,
                libc::MSG_DONTWAIT as _,
                ptr::null_mut(),
            )
        };
        if filled < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(0),
                _ => Err(error),
            };
        }
        let (now, unix) = both_clocks(clock);
        for head in &heads[..filled as usize] {
            #[expect(unsafe_code, reason = "no crate here has recvmmsg")]
            // SAFETY: it was zeroed, then written by us and by the kernel.
            let head = unsafe { head.assume_init_ref() };
            self.note(head, now, unix);
        }
        Ok(filled as usize)
    }

    /// Reads what the kernel reported of one buffer.
    fn note(&mut self, head: &libc::mmsghdr, now: Time, unix: u64) {
        let len = head.msg_len as usize;
        let mut message = Message {
            len,
            stride: len,
            from: (Ipv4Addr::UNSPECIFIED, 0).into(),
            ecn: Ecn::NotEct,
            at: now,
        };
        if head.msg_hdr.msg_flags & libc::MSG_TRUNC != 0 {
            self.truncated += 1;
            message.len = 0;
        }
        if let Some(from) = address(&self.names[self.messages.len()]) {
            message.from = canonical(from);
        }
        for (level, kind, data) in Controls::of(&head.msg_hdr) {
            match (level, kind) {
                (libc::IPPROTO_IP, libc::IP_TOS) => message.ecn = Ecn::from_tos(data[0]),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    message.ecn = Ecn::from_tos(first_int(data) as u8);
                }
                (libc::SOL_UDP, libc::UDP_GRO) => message.stride = first_int(data).max(1) as usize,
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => self.overflowed = first_int(data) as u32,
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) if data.len() >= 16 => {
                    let word = |at: usize| {
                        u64::from_ne_bytes(data[at..at + 8].try_into().expect("eight bytes"))
                    };
                    let stamp = word(0).saturating_mul(1_000_000_000).saturating_add(word(8));
                    let age = unix.saturating_sub(stamp);
                    message.at = if age < OLDEST { now - Dur(age) } else { now };
                }
                _ => {}
            }
        }
        message.at = message.at.max(self.last);
        self.last = message.at;
        self.messages.push(message);
    }

    /// The datagrams of the last call, in order of arrival.
    pub fn datagrams(&self) -> impl Iterator<Item = Datagram<'_>> {
        let buffers = self.bytes.chunks_exact(self.size);
        self.messages.iter().zip(buffers).flat_map(|(message, buffer)| {
            let cut = buffer[..message.len].chunks(message.stride.max(1));
            cut.map(|bytes| Datagram {
                bytes,
                from: message.from,
                ecn: message.ecn,
                at: message.at,
            })
        })
    }

    /// Whether the last call filled all buffers, so that there may be more.
    pub fn is_full(&self) -> bool {
        self.messages.len() == self.names.len().min(BATCH)
    }

    /// Datagrams that the kernel dropped because the receive buffer was full.
    pub fn overflowed(&self) -> u32 {
        self.overflowed
    }

    /// Datagrams that were larger than a buffer, and left out.
    pub fn truncated(&self) -> u64 {
        self.truncated
    }
}

/// The session's clock and Unix time of one moment: not of two between which others had the CPU.
fn both_clocks(clock: Clock) -> (Time, u64) {
    let mut before = clock.now();
    for _ in 0..3 {
        let unix = unix_ns();
        let after = clock.now();
        if after.since(before) < TOGETHER {
            return (after, unix);
        }
        before = after;
    }
    (before, unix_ns())
}

/// Readings of the clocks that are so near are of one moment.
const TOGETHER: Dur = Dur::from_micros(5);
/// Datagrams a call, at most.
const BATCH: usize = 64;
const EMPTY_IOVEC: libc::iovec = libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 };

#[expect(unsafe_code, reason = "libc has no constructor")]
fn no_name() -> libc::sockaddr_storage {
    // SAFETY: numbers only; all zero is an address of no family.
    unsafe { mem::zeroed() }
}

/// Fills the inner head of a zeroed `mmsghdr`.
fn set_head(head: *mut libc::mmsghdr, set: impl FnOnce(&mut libc::msghdr)) {
    #[expect(unsafe_code, reason = "musl's head has private padding, so that it begins as zeros")]
    // SAFETY: the head is zeroed, which is a valid one, and nothing else refers to it.
    set(unsafe { &mut (*head).msg_hdr });
}

/// The address in `name`.
fn address(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match libc::c_int::from(name.ss_family) {
        libc::AF_INET => {
            #[expect(unsafe_code, reason = "C's sockaddr")]
            // SAFETY: its family says that it is this one; a sockaddr_storage is larger and aligned.
            let v4 = unsafe { &*ptr::from_ref(name).cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Some((ip, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 => {
            #[expect(unsafe_code, reason = "C's sockaddr")]
            // SAFETY: as above.
            let v6 = unsafe { &*ptr::from_ref(name).cast::<libc::sockaddr_in6>() };
            let port = u16::from_be(v6.sin6_port);
            let ip = v6.sin6_addr.s6_addr.into();
            Some(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// `addr` as C has it, and its length.
fn name(addr: SocketAddr) -> (libc::socklen_t, libc::sockaddr_storage) {
    let mut name = no_name();
    let len = match addr {
        SocketAddr::V4(v4) => {
            let v4 = libc::sockaddr_in {
                sin_family: libc::AF_INET as _,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(*v4.ip()).to_be() },
                sin_zero: [0; 8],
            };
            #[expect(unsafe_code, reason = "C's sockaddr")]
            // SAFETY: a sockaddr_storage is larger, aligned for it, and nothing else refers to it.
            unsafe {
                ptr::from_mut(&mut name).cast::<libc::sockaddr_in>().write(v4);
            }
            mem::size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            let v6 = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as _,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            #[expect(unsafe_code, reason = "C's sockaddr")]
            // SAFETY: as above.
            unsafe {
                ptr::from_mut(&mut name).cast::<libc::sockaddr_in6>().write(v6);
            }
            mem::size_of::<libc::sockaddr_in6>()
        }
    };
    (len as libc::socklen_t, name)
}

/// The control messages of a head that the kernel filled.
pub(crate) struct Controls<'a> {
    head: &'a libc::msghdr,
    next: *const libc::cmsghdr,
}

impl<'a> Controls<'a> {
    pub(crate) fn of(head: &'a libc::msghdr) -> Self {
        #[expect(unsafe_code, reason = "C's macro")]
        // SAFETY: the head's control buffer is ours, of the length that the kernel wrote there.
        let next = unsafe { libc::CMSG_FIRSTHDR(head) };
        Self { head, next }
    }
}

impl<'a> Iterator for Controls<'a> {
    type Item = (libc::c_int, libc::c_int, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.next.is_null() {
            return None;
        }
        #[expect(unsafe_code, reason = "C's macros")]
        // SAFETY: the kernel wrote whole messages into the aligned buffer; the macros stay inside of
        // it; a message's length counts its head.
        let (message, data) = unsafe {
            let message = &*self.next;
            let data = libc::CMSG_DATA(self.next);
            #[allow(clippy::unnecessary_cast, reason = "32 bits on some C libraries")]
            let len = message.cmsg_len as usize - (data as usize - self.next as usize);
            self.next = libc::CMSG_NXTHDR(self.head, self.next);
            (message, std::slice::from_raw_parts(data, len))
        };
        if data.is_empty() {
            return None;
        }
        Some((message.cmsg_level, message.cmsg_type, data))
    }
}

fn first_int(data: &[u8]) -> i32 {
    data.first_chunk().map_or(0, |b| i32::from_ne_bytes(*b))
}

/// Packets that wait to be sent, each a head of twelve bytes and a payload.
pub struct Outbox {
    heads: Vec<[u8; 12]>,
    /// Payload bytes of each.
    lens: Vec<u32>,
    /// How many at the front have been sent.
    sent: usize,
    /// What all payloads are made of.
    payload: Vec<u8>,
    pieces: Vec<libc::iovec>,
    dropped: u64,
    is_gso_refused: bool,
    /// Of an unconnected socket: its length in bytes, and the address.
    to: Option<(libc::socklen_t, libc::sockaddr_storage)>,
}

/// What the kernel is given as one datagram, or as one piece to cut.
#[derive(Clone, Copy, Default)]
struct Train {
    first: usize,
    packets: usize,
}

impl Outbox {
    /// For `count` packets of at most `greatest` payload bytes.
    pub fn new(count: usize, greatest: usize) -> Self {
        // Bits that neither compress nor tell anything of this machine's memory.
        let mut bits = sojourn_core::Rng::named(0, "payload");
        let payload = (0..greatest.div_ceil(8)).flat_map(|_| bits.u64().to_le_bytes()).collect();
        Self {
            heads: Vec::with_capacity(count),
            lens: Vec::with_capacity(count),
            sent: 0,
            payload,
            pieces: Vec::with_capacity(2 * BATCH),
            dropped: 0,
            is_gso_refused: false,
            to: None,
        }
    }

    /// All packets go to `to`: for a socket of its family that is not connected.
    pub fn address(&mut self, to: SocketAddr) {
        self.to = Some(name(to));
    }

    /// Adds a packet.
    pub fn push(&mut self, head: [u8; 12], payload: u32) {
        debug_assert!(payload as usize <= self.payload.len());
        self.heads.push(head);
        self.lens.push(payload);
    }

    /// Packets that wait.
    pub fn len(&self) -> usize {
        self.heads.len() - self.sent
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is room for no more.
    pub fn is_full(&self) -> bool {
        self.heads.len() == self.heads.capacity()
    }

    /// Packets that the kernel refused.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Sends what waits, in pieces of at most `gso` packets. `false`: the
    /// socket is full, and some wait still.
    ///
    /// # Errors
    /// The kernel's error for a packet, which then counts as dropped.
    pub fn send(&mut self, fd: BorrowedFd<'_>, gso: usize) -> io::Result<bool> {
        let mut result = Ok(());
        while !self.is_empty() {
            let gso = if self.is_gso_refused { 1 } else { gso };
            let (trains, count) = self.trains(gso);
            match self.hand_over(fd, &trains[..count]) {
                Ok(taken) => self.sent += trains[..taken].iter().map(|t| t.packets).sum::<usize>(),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return result.map(|()| false),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // The answer to an earlier packet: nobody listened there.
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => result = Err(e),
                Err(e) if trains[0].packets > 1 && !self.is_gso_refused => {
                    let cannot = [libc::EIO, libc::EINVAL, libc::EMSGSIZE, libc::ENOPROTOOPT];
                    self.is_gso_refused = e.raw_os_error().is_some_and(|n| cannot.contains(&n));
                    if !self.is_gso_refused {
                        self.give_up(trains[0].packets);
                        result = Err(e);
                    }
                }
                Err(e) => {
                    self.give_up(1);
                    result = Err(e);
                }
            }
        }
        self.heads.clear();
        self.lens.clear();
        self.sent = 0;
        result.map(|()| true)
    }

    fn give_up(&mut self, packets: usize) {
        self.sent += packets;
        self.dropped += packets as u64;
    }

    /// The next packets as pieces: of one size each, of which the last packet may be shorter.
    fn trains(&self, gso: usize) -> ([Train; BATCH], usize) {
        let mut trains = [Train::default(); BATCH];
        let (mut count, mut at, mut packets) = (0, self.sent, 0);
        // Two pieces of memory a packet; more than this is left for the next call.
        while at < self.lens.len() && count < BATCH && packets < BATCH {
            let size = self.lens[at];
            let most = gso.min(GSO_BYTES / (size as usize + 12)).clamp(1, BATCH - packets);
            let rest = &self.lens[at..];
            let equal = rest.iter().take(most).take_while(|l| **l == size).count();
            let tail = equal < most && rest.get(equal).is_some_and(|l| *l < size);
            let train = Train { first: at, packets: equal + usize::from(tail) };
            trains[count] = train;
            count += 1;
            at += train.packets;
            packets += train.packets;
        }
        (trains, count)
    }

    /// Gives the kernel these pieces, and says how many it took.
    fn hand_over(&mut self, fd: BorrowedFd<'_>, trains: &[Train]) -> io::Result<usize> {
        let mut heads = [const { MaybeUninit::<libc::mmsghdr>::zeroed() }; BATCH];
        let mut controls = [const { MaybeUninit::<SegmentControl>::zeroed() }; BATCH];
        self.pieces.clear();
        for train in trains {
            for at in train.first..train.first + train.packets {
                let (head, len) = (&self.heads[at], self.lens[at] as usize);
                self.pieces.push(piece(head));
                self.pieces.push(piece(&self.payload[..len]));
            }
        }
        let mut first = self.pieces.as_mut_ptr();
        for (at, train) in trains.iter().enumerate() {
            let pieces = train.packets * 2;
            let size = self.lens[train.first] as u16 + 12;
            let control = controls[at].as_mut_ptr();
            let name = self.to.as_ref().map(|(len, name)| (*len, ptr::from_ref(name)));
            set_head(heads[at].as_mut_ptr(), |h| {
                h.msg_iov = first;
                h.msg_iovlen = pieces as _;
                if let Some((len, name)) = name {
                    h.msg_name = name.cast_mut().cast();
                    h.msg_namelen = len;
                }
                if train.packets > 1 {
                    set_segment(control, size);
                    h.msg_control = control.cast();
                    h.msg_controllen = mem::size_of::<SegmentControl>() as _;
                }
            });
            first = first.wrapping_add(pieces);
        }
        #[expect(unsafe_code, reason = "no crate here has sendmmsg with UDP_SEGMENT")]
        // SAFETY: the first heads point to pieces of heads and payload and to control messages, all
        // of which outlive the call; the kernel only reads them.
        let taken = unsafe {
            libc::sendmmsg(
                fd.as_raw_fd(),
                heads.as_mut_ptr().cast(),
                trains.len() as u32,
                libc::MSG_DONTWAIT as _,
            )
        };
        if taken < 0 { Err(io::Error::last_os_error()) } else { Ok(taken as usize) }
    }
}

/// The control message with the size to cut: its head, two bytes, and padding.
#[repr(C, align(8))]
struct SegmentControl {
    head: libc::cmsghdr,
    size: u16,
    padding: [u8; 6],
}

fn set_segment(control: *mut SegmentControl, size: u16) {
    #[expect(unsafe_code, reason = "a control message has padding on some C libraries")]
    // SAFETY: it is zeroed, which is a valid one, and nothing else refers to it.
    let control = unsafe { &mut *control };
    control.head.cmsg_level = libc::SOL_UDP;
    control.head.cmsg_type = libc::UDP_SEGMENT;
    control.head.cmsg_len = (mem::size_of::<libc::cmsghdr>() + 2) as _;
    control.size = size;
}

/// The kernel reads from it only.
fn piece(bytes: &[u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

/// Arrival times and drops with each datagram; bundles on request.
pub(super) fn prepare(fd: BorrowedFd<'_>, gro: bool) -> io::Result<()> {
    set(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32.to_ne_bytes())?;
    set(fd, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &1_i32.to_ne_bytes())?;
    if gro {
        // Kernels before 5.0 do not have it, and it is a matter of speed only.
        let _ = set(fd, libc::SOL_UDP, libc::UDP_GRO, &1_i32.to_ne_bytes());
    }
    Ok(())
}

pub(super) fn bind_to_device(fd: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    set(fd, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, name.as_bytes())
}

#[expect(unsafe_code, reason = "no crate here knows these options")]
fn set(fd: BorrowedFd<'_>, level: i32, option: i32, value: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes as the slice has.
    let status = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            option,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
