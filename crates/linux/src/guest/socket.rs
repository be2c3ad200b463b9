//! Sockets of the two hosts.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::{
    set_ip_tos, set_socket_recv_buffer_size_force, set_socket_send_buffer_size_force,
    set_tcp_congestion, socket_error,
};
use rustix::net::{
    AddressFamily, Protocol, SendFlags, SocketFlags, SocketType, accept_with, bind, connect,
    listen, send, socket_with,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::clock::{Clock, timespec};
use super::outcome::{Outcome, failed};
use crate::job::FlowJob;

/// What an application hands over or takes at once.
pub(super) const CHUNK: usize = 128 << 10;
/// Connections that wait for their application.
const BACKLOG: i32 = 4096;
/// Of a UDP socket: packets that arrive at one instant wait there for their application.
pub(super) const UDP_BUFFER: usize = 64 << 20;
pub(super) const TCP_ECN: &str = "/proc/sys/net/ipv4/tcp_ecn";

/// Moves this thread into a namespace.
pub(super) fn enter(namespace: &str) -> Outcome {
    let file = File::open(format!("/run/netns/{namespace}")).map_err(failed("namespace"))?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(failed("namespace"))
}

/// A socket of IPv4, which no program that is started gets.
pub(super) fn socket(kind: SocketType, protocol: Option<Protocol>) -> Result<OwnedFd, String> {
    socket_with(AddressFamily::INET, kind, SocketFlags::CLOEXEC, protocol).map_err(failed("socket"))
}

fn tcp() -> Result<OwnedFd, String> {
    socket(SocketType::STREAM, None)
}

/// The controller and the TOS byte of a flow.
fn set_options(fd: &OwnedFd, job: &FlowJob) -> Outcome {
    set_tcp_congestion(fd, &job.cc).map_err(|e| format!("controller `{}`: {e}", job.cc))?;
    if let Some(most) = job.max_pacing {
        bound_pacing(fd, most).map_err(failed("pacing"))?;
    }
    set_ip_tos(fd, job.tos).map_err(failed("tos"))
}

/// Bounds the pacing rate to `most` bytes/s (SO_MAX_PACING_RATE).
#[expect(unsafe_code, reason = "no crate here knows this option")]
fn bound_pacing(fd: &OwnedFd, most: u64) -> std::io::Result<()> {
    // SAFETY: the kernel reads the eight bytes of `most`, which outlives the call.
    let status = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw const most).cast(),
            size_of_val(&most) as libc::socklen_t,
        )
    };
    if status == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Where a flow's connections arrive.
pub(super) fn listener(job: &FlowJob) -> Result<OwnedFd, String> {
    let listener = tcp()?;
    // Both ends, as `iperf3 -C` has it: a DCTCP receiver echoes each mark, and only to such a listener does an
    // ECN-capable SYN not look as if the network had set its bits.
    set_options(&listener, job)?;
    bind(&listener, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, job.port)).map_err(failed("bind"))?;
    listen(&listener, BACKLOG).map_err(failed("listen"))?;
    Ok(listener)
}

/// The next connection that arrives.
pub(super) fn accept(listener: &OwnedFd) -> Result<OwnedFd, String> {
    accept_with(listener, SocketFlags::CLOEXEC).map_err(failed("accept"))
}

/// Begins to connect to the other end of a flow: writable when connected or failed, and not blocking
/// until [`settle`].
pub(super) fn connect_flow(job: &FlowJob, to: Ipv4Addr) -> Result<OwnedFd, String> {
    let data = tcp()?;
    // Before it connects, since the controller decides what ECN it asks for.
    set_options(&data, job)?;
    begin_to_connect(data, job, to)
}

/// The same without controller and TOS byte: a control connection.
pub(super) fn connect_plainly(job: &FlowJob, to: Ipv4Addr) -> Result<OwnedFd, String> {
    begin_to_connect(tcp()?, job, to)
}

/// Connections of a host may differ in what ECN they ask for, which is a setting of the host: it holds
/// for the instant of the SYN. At rest a host accepts whatever any flow asks for.
fn begin_to_connect(fd: OwnedFd, job: &FlowJob, to: Ipv4Addr) -> Result<OwnedFd, String> {
    static SETTING: Mutex<()> = Mutex::new(());
    ioctl_fionbio(&fd, true).map_err(failed("connect"))?;
    let _alone = SETTING.lock().unwrap_or_else(PoisonError::into_inner);
    let rest = fs::read_to_string(TCP_ECN).map_err(failed("tcp_ecn"))?;
    let wanted = job.ecn.to_string();
    let differs = rest.trim() != wanted;
    if differs {
        fs::write(TCP_ECN, wanted).map_err(failed("tcp_ecn"))?;
    }
    let begun = connect(&fd, &SocketAddrV4::new(to, job.port));
    if differs {
        fs::write(TCP_ECN, rest).map_err(failed("tcp_ecn"))?;
    }
    match begun {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(fd),
        Err(error) => Err(format!("connect: {error}")),
    }
}

/// Whether a connection that has become writable was made.
pub(super) fn is_made(fd: &OwnedFd) -> Outcome {
    socket_error(fd).and_then(|outcome| outcome).map_err(failed("connect"))
}

/// Waits until a connection is made; from then on it blocks.
pub(super) fn settle(fd: &OwnedFd, clock: Clock) -> Outcome {
    wait_for(fd.as_fd(), PollFlags::OUT, None, clock)?;
    is_made(fd)?;
    ioctl_fionbio(fd, false).map_err(failed("connect"))
}

/// Sends `left` bytes, however long it takes.
pub(super) fn send_all(fd: &OwnedFd, mut left: u64) -> Outcome {
    let buffer = vec![0_u8; left.min(CHUNK as u64) as usize];
    while left > 0 {
        let chunk = &buffer[..left.min(CHUNK as u64) as usize];
        match send(fd, chunk, SendFlags::NOSIGNAL) {
            Ok(sent) => left -= sent as u64,
            Err(Errno::INTR) => {}
            Err(error) => return Err(format!("send: {error}")),
        }
    }
    Ok(())
}

/// A UDP socket that loses nothing to its own buffers.
pub(super) fn udp(tos: u8) -> Result<OwnedFd, String> {
    let fd = socket(SocketType::DGRAM, None)?;
    set_ip_tos(&fd, tos).map_err(failed("tos"))?;
    set_socket_recv_buffer_size_force(&fd, UDP_BUFFER).map_err(failed("buffer"))?;
    set_socket_send_buffer_size_force(&fd, UDP_BUFFER).map_err(failed("buffer"))?;
    Ok(fd)
}

/// Waits until `fd` is ready: false once `until` has come.
pub(super) fn wait_for(
    fd: BorrowedFd<'_>,
    events: PollFlags,
    until: Option<u64>,
    clock: Clock,
) -> Result<bool, String> {
    wait_for_any(&mut [PollFd::new(&fd, events)], until, clock)
}

/// Waits until one of them is ready: false once `until` has come.
pub(super) fn wait_for_any(
    fds: &mut [PollFd<'_>],
    until: Option<u64>,
    clock: Clock,
) -> Result<bool, String> {
    let left = until.map(|until| until.saturating_sub(clock.now()));
    if left == Some(0) {
        return Ok(false);
    }
    match poll(fds, left.map(timespec).as_ref()) {
        Ok(0) => Ok(false),
        Ok(_) | Err(Errno::INTR) => Ok(true),
        Err(error) => Err(format!("poll: {error}")),
    }
}
