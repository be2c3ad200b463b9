//! Waiting for a socket, a signal or a moment: [`wait`] without polling in between, [`Hybrid`] more exactly.

mod hybrid;

pub use hybrid::{Hybrid, LONGEST_SPIN, Ready};

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use sojourn_core::{Dur, Time};

use crate::clock::Clock;

/// What came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// The socket has something to read.
    pub is_readable: bool,
    /// It has room to write.
    pub is_writable: bool,
    /// A signal asks for the end.
    pub is_stopped: bool,
}

/// What a socket is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Only its errors.
    Nothing,
    /// Something to read.
    Reading,
    /// Something to read, or room to write.
    Both,
}

/// Waits until the socket has what it is waited for, a signal is there, or it is `until`; `None` waits
/// for ever.
pub fn wait(
    socket: BorrowedFd<'_>,
    stop: Option<&StopSignal>,
    interest: Interest,
    until: Option<Time>,
    clock: Clock,
) -> io::Result<Woken> {
    let timeout = until.map(|until| timespec(until.since(clock.now())));
    let wanted = match interest {
        Interest::Nothing => PollFlags::empty(),
        Interest::Reading => PollFlags::IN,
        Interest::Both => PollFlags::IN | PollFlags::OUT,
    };
    let stop_fd = stop.map_or(socket, StopSignal::fd);
    let mut fds = [
        PollFd::from_borrowed_fd(socket, wanted),
        PollFd::from_borrowed_fd(stop_fd, PollFlags::IN),
    ];
    let watched = if stop.is_some() { 2 } else { 1 };
    match poll(&mut fds[..watched], timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(e) => return Err(e.into()),
    }
    let came = fds[0].revents();
    Ok(Woken {
        // An error of the socket is read, too.
        is_readable: came.intersects(PollFlags::IN | PollFlags::ERR | PollFlags::HUP),
        is_writable: came.contains(PollFlags::OUT),
        is_stopped: watched == 2 && fds[1].revents().contains(PollFlags::IN),
    })
}

pub(crate) fn timespec(Dur(ns): Dur) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ }
}

/// SIGINT, SIGTERM and, unless it is ignored as under nohup, SIGHUP as something to wait for. While it
/// lives they do nothing else in this thread; after it they end the program as usual, so that a second
/// one ends a slow farewell.
#[derive(Debug)]
pub struct StopSignal {
    fd: OwnedFd,
    before: libc::sigset_t,
}

impl StopSignal {
    /// Takes the signals from this thread on.
    #[expect(unsafe_code, reason = "no crate here has signalfd")]
    pub fn new() -> io::Result<Self> {
        // SAFETY: sets and action are ours and written before they are read; no handler is set.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGINT);
            libc::sigaddset(&raw mut set, libc::SIGTERM);
            // A blocked signal comes even if it is ignored.
            let mut hang_up: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGHUP, std::ptr::null(), &raw mut hang_up);
            if hang_up.sa_sigaction != libc::SIG_IGN {
                libc::sigaddset(&raw mut set, libc::SIGHUP);
            }
            let error = libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
            if error != 0 {
                return Err(io::Error::from_raw_os_error(error));
            }
            let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                let error = io::Error::last_os_error();
                libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
                return Err(error);
            }
            Ok(Self { fd: OwnedFd::from_raw_fd(fd), before })
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.fd)
    }
}

impl Drop for StopSignal {
    #[expect(unsafe_code, reason = "no crate here has signal masks")]
    fn drop(&mut self) {
        // The signal that was seen is taken, so that it does not end the program now.
        let mut seen = [0_u8; 128];
        // SAFETY: the buffer has the length that is given, and the mask is what it was before.
        unsafe {
            libc::read(self.fd.as_raw_fd(), seen.as_mut_ptr().cast(), seen.len());
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}

/// Wakes this thread when asked, not up to 50 us later.
pub fn exact_timers() {
    // Without it waiting is only coarser.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}
