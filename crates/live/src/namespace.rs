//! Network namespaces without a name: each is a network of its own, with its own devices, addresses,
//! routes and settings of TCP.
//!
//! A file descriptor holds it, so that it ends with this process, however that ends; sockets, devices and
//! programs that are in it end it later. Source: namespaces(7), user_namespaces(7), setns(2).

use std::ffi::CStr;
use std::fmt::Display;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, write};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, UnshareFlags, capabilities, move_into_link_name_space,
    unshare_unsafe,
};

use crate::error::Error;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    fd: OwnedFd,
}

impl Namespace {
    /// Makes one, in which no device but loopback is switched on. [`claim`]s the right first.
    ///
    /// # Errors
    /// As of [`claim`]; no `ip`.
    pub fn new() -> Result<Self, Error> {
        claim()?;
        let made = apart(|| {
            unshare(UnshareFlags::NEWNET).map_err(Error::of("a network namespace"))?;
            File::open("/proc/thread-self/ns/net").map_err(Error::of("/proc/thread-self/ns/net"))
        })??;
        let namespace = Self { fd: made.into() };
        namespace.run("ip link set dev lo up")?;
        Ok(namespace)
    }

    /// What `inside` gives, which runs on a thread of its own inside: sockets and devices that it opens stay
    /// there, wherever they are used later.
    ///
    /// # Errors
    /// No thread, or this process has lost the right to enter.
    pub fn enter<T: Send>(&self, inside: impl FnOnce() -> T + Send) -> Result<T, Error> {
        apart(|| {
            move_into_link_name_space(self.fd.as_fd(), Some(LinkNameSpaceType::Network))
                .map_err(Error::of("setns"))?;
            Ok(inside())
        })?
    }

    /// Starts a program inside.
    ///
    /// # Errors
    /// As of [`Namespace::enter`], and of [`Command::spawn`].
    pub fn spawn(&self, command: &mut Command) -> Result<Child, Error> {
        self.enter(|| command.spawn())?.map_err(Error::of("a program in a namespace"))
    }

    /// Runs a line, or several, of the shell inside, such as `ip addr add 10.9.0.1/24 dev tun0`, and gives
    /// what it prints. The first command that fails ends it.
    ///
    /// # Errors
    /// As of [`Namespace::enter`]; [`Error::Command`] with what it printed on standard error.
    pub fn run(&self, line: impl Display) -> Result<String, Error> {
        let line = line.to_string();
        // Where `ip` is may not be in the path of a user.
        let text = format!("PATH=$PATH:/usr/sbin:/sbin\n{line}");
        let mut shell = Command::new("sh");
        shell.args(["-ec", &text]).stdin(Stdio::null());
        let done = self.enter(|| shell.output())?.map_err(Error::of("sh"))?;
        if done.status.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&done.stderr);
        let lines: Vec<_> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        Err(Error::Command { line, stderr: lines.join("; ") })
    }

    /// Names it to other programs while this value lives, as in `ip link set dev NAME netns PATH`.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.fd.as_raw_fd()).into()
    }
}

/// On a thread that ends afterwards: a namespace is a thread's, and the caller stays where it is.
fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("namespace".into()).spawn_scoped(scope, work);
        let thread = thread.map_err(Error::of("a thread"))?;
        Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Gets the right to make and enter network namespaces: if the process does not have it, it becomes root
/// of a user namespace, which is possible only while it has one thread. Outside of that it may do no more
/// than before.
///
/// # Errors
/// [`Error::Threads`]; [`Error::NoUserNamespace`], which names what forbids it.
pub fn claim() -> Result<(), Error> {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN;
    if capabilities(None).is_ok_and(|own| own.effective.contains(needed)) {
        return Ok(());
    }
    let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads > 1 {
        return Err(Error::Threads(threads));
    }
    Maps::default().enter().map_err(|error| no_user_namespace(&error.into()))
}

/// Moves this thread, and what it starts from now on, to a network of its own and a view of the file system
/// with an empty `/run/netns`, or an empty `/run` where that is missing. What `ip netns add` names there nobody else sees, and it ends with the last of
/// them, however they end. [`claim`]s the right first.
///
/// # Errors
/// As of [`claim`]; what the kernel refuses of it.
pub fn seclude() -> Result<(), Error> {
    claim()?;
    unshare(UnshareFlags::NEWNS | UnshareFlags::NEWNET).map_err(Error::of("namespaces"))?;
    let alone = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", alone).map_err(Error::of("a view of the file system"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let names = "/run/netns";
    let place = if Path::new(names).is_dir() { names } else { "/run" };
    mount("none", place, "tmpfs", flags, None).map_err(Error::of("an empty /run/netns"))
}

/// Starts a program as root of a user namespace of its own: what [`claim`] does, for a process that has
/// several threads and can do its work in a child.
///
/// # Errors
/// [`Error::NoUserNamespace`], or what [`Command::spawn`] says.
pub fn spawn_as_root(mut command: Command) -> Result<Child, Error> {
    let maps = Maps::default();
    #[expect(unsafe_code, reason = "between fork and exec")]
    // SAFETY: `enter` only makes system calls, with text that exists before the fork.
    unsafe {
        command.pre_exec(move || Ok(maps.enter()?));
    }
    command.spawn().map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::PERM | Errno::NOSPC | Errno::USERS | Errno::INVAL) => no_user_namespace(&error),
        _ => Error::System("a program in a user namespace", error),
    })
}

/// How the user and group of this process are called in a user namespace: root.
struct Maps {
    user: String,
    group: String,
}

impl Default for Maps {
    fn default() -> Self {
        let root = |id: u32| format!("0 {id} 1");
        Self { user: root(geteuid().as_raw()), group: root(getegid().as_raw()) }
    }
}

impl Maps {
    /// Moves this process into a new user namespace. It allocates nothing.
    fn enter(&self) -> rustix::io::Result<()> {
        unshare(UnshareFlags::NEWUSER)?;
        // user_namespaces(7): without CAP_SETGID outside, a group is mapped after this only.
        set(c"/proc/self/setgroups", "deny")?;
        set(c"/proc/self/uid_map", &self.user)?;
        set(c"/proc/self/gid_map", &self.group)
    }
}

fn set(file: &CStr, value: &str) -> rustix::io::Result<()> {
    let file = open(file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    write(file, value.as_bytes()).map(drop)
}

fn unshare(what: UnshareFlags) -> rustix::io::Result<()> {
    #[expect(unsafe_code, reason = "rustix has it so because of file descriptors")]
    // SAFETY: file descriptors stay shared between threads.
    unsafe {
        unshare_unsafe(what)
    }
}

/// Settings that forbid user namespaces to users, and their values that do.
const FORBIDDING: [(&str, &str); 3] = [
    ("user/max_user_namespaces", "0"),
    ("kernel/unprivileged_userns_clone", "0"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1"),
];

fn no_user_namespace(error: &io::Error) -> Error {
    if !fs::exists("/proc/self/ns/user").unwrap_or(true) {
        return Error::NoUserNamespace("the kernel has none (CONFIG_USER_NS)".to_owned());
    }
    let value = |key: &str| fs::read_to_string(format!("/proc/sys/{key}")).ok();
    Error::NoUserNamespace(forbidden(value).unwrap_or_else(|| error.to_string()))
}

/// Which setting forbids user namespaces.
fn forbidden(value: impl Fn(&str) -> Option<String>) -> Option<String> {
    let is_set =
        |(key, forbids): &&(&str, &str)| value(key).is_some_and(|is| is.trim() == *forbids);
    let (key, forbids) = FORBIDDING.iter().find(is_set)?;
    Some(format!("sysctl {}={forbids} forbids it", key.replace('/', ".")))
}

#[cfg(test)]
mod tests;
